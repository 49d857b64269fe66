# SPDX-License-Identifier: GPL-2.0-only
"""TAP for tests in Python: as tests/lib/tap.sh, whose comments say why.

A test calls check, check_none or skip for each case, runs programs with run, and ends with
sys.exit(finish()).
"""
import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

_results = []
_failed_runs = []
_reports = pathlib.Path(tempfile.mkdtemp(prefix="kmemscope-tap-"))
atexit.register(shutil.rmtree, _reports, ignore_errors=True)


def _set_up():
    """No signal is ignored in what is run, and sanitizers report to files."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN: # SIGPIPE is reset by subprocess
            signal.signal(number, signal.SIG_DFL)
    common = f"log_path=\"{_reports / 'sanitizer'}\":exitcode=99:abort_on_error=0:halt_on_error=1"
    for name, more in (("ASAN", common), ("UBSAN", common + ":print_stacktrace=1"), ("TSAN", common), ("LSAN", "exitcode=99")):
        before = os.environ.get(name + "_OPTIONS")
        os.environ[name + "_OPTIONS"] = (before + ":" if before else "") + more


_set_up()


def check(name, ok, note=""):
    """One case; the note is shown when it failed."""
    _results.append(bool(ok))
    print(f"{'ok' if ok else 'not ok'} {len(_results)} - {name}", flush=True)
    if not ok:
        print("\n".join("# " + line for line in str(note).splitlines()[:60]), flush=True)


def check_none(name, problems):
    """One case, which passes when there are no problems; those that there are are shown."""
    problems = [str(problem) for problem in problems]
    check(name, not problems, "\n".join(problems))


def skip(name, why):
    _results.append(True)
    print(f"ok {len(_results)} - {name} # SKIP {why}", flush=True)


def run(*command, status=0, **more):
    """Runs a command, which must exit with the status given (None: any); what it printed is in the result."""
    done = subprocess.run([str(word) for word in command], **{"capture_output": True, "text": True, "check": False, **more})
    if status is not None and done.returncode != status:
        _failed_runs.append(f"status {done.returncode}, expected {status}: {' '.join(map(str, command))}\n{done.stderr or ''}")
    return done


def finish():
    """Prints the plan; the exit status of the test."""
    if _failed_runs:
        check_none("commands outside of checks end as they should", _failed_runs)
    for report in sorted(_reports.glob("sanitizer.*")):
        check("no sanitizer reports anything", False, report.read_text(encoding="utf-8", errors="replace"))
    print(f"1..{len(_results)}", flush=True)
    return 0 if _results and all(_results) else 1
