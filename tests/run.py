#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the tests of the given build directories and adds up their TAP results.

usage: run.py [--jobs N] [--suite SUITE]... [--test TEST]... [--without TEST]... [--first-failure] [--near WORD]...
              [--coverage FOLDER] [--emulate-all] [--list] BUILD...

Tests that wait for something leave their processor to others, so one more runs than there are processors. A test of
suite "live" looks at the running kernel, where another of these would disturb it: one of them runs at a time, beside
others. A test that is not parallel at all runs alone, at the end.

Each test's line is printed as it ends, and every half minute what is still running. A test that takes
longer than twice its timeout (in its meson.build; machines differ by that much; KMEMSCOPE_TIMEOUTS=3 makes it three times) is
stopped with everything that it started, and its output shown. Its clock stands still between the lines
"# preparing: ..." and "# prepared", where a test makes what later runs find in the cache.

Tests of the running kernel need tracefs. Where nobody has mounted it, root does here, for as long as the tests run.

A test of the running kernel or of a guest's depends on what else happens on the machine. When it fails, it runs once more,
alone, after all others; only that outcome counts, and the lines before the last one name each test that needed this. A test
that was stopped, or that showed a sanitizer's report, has no second try.

With --first-failure the quickest tests start first, and the first one that fails ends the run: for whoever
wants to know whether anything fails, and no more. Tests whose name has a WORD start before all others. A test
whose duration is known from an earlier run then counts as hanging when it takes ten times as long.

With --coverage the tests of a build with gcov leave their counts apart from each other: in FOLDER/TEST.

The last line is "N passed, N failed, N skipped" over every single check of every test. A test that dies,
hangs, or does not print the results that it planned, is a failed check.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
from emulate import Emulator  # noqa: E402 (a folder of ours)

RESULT = re.compile(r"^\s*(not )?ok\b(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*SKIP\b(.*))?", re.I)
PREPARING_MAX = 5400 # seconds: a kernel on a slow machine
SAY_EVERY = 30
TIMEOUT_OF_DURATION = 5 # times
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")
# A test starts with no signal ignored, whatever this was started by: nohup ignores SIGHUP, some runners
# SIGPIPE or SIGINT, and what is ignored stays so in all children.
SIGNALS = ["env", "--default-signal"]


class Outcome:
    """What a test printed, as counts."""

    def __init__(self, lines, status, stopped):
        self.passed = self.failed = self.skipped = 0
        self.skips, self.troubles, plan = [], [], None
        for line in lines:
            match = RESULT.match(line)
            if match and "# SKIP" in match.group(2).upper():
                self.skipped += 1
                self.skips.append(match.group(2).strip())
            elif match and match.group(1):
                self.failed += 1
            elif match:
                self.passed += 1
            elif PLAN.match(line):
                plan = int(PLAN.match(line).group(1))
        total = self.passed + self.failed + self.skipped
        self.stopped = bool(stopped)
        if stopped:
            self.trouble(stopped)
        elif status < 0:
            self.trouble(f"died of {signal.Signals(-status).name}")
        elif plan is None or plan != total:
            self.trouble(f"printed {total} results, and planned {plan}")
        elif status and not self.failed:
            self.trouble(f"exit status {status}")

    def trouble(self, what):
        self.troubles.append(what)
        self.failed += 1


class Test:
    def __init__(self, build, record):
        self.build, self.record = build, record
        self.name = f"{build}: {record['name']}"
        self.is_alone = not record["is_parallel"]
        suites = [suite.split(":")[-1] for suite in record["suite"]]
        self.is_live = "live" in suites
        self.depends_on_machine = self.is_alone or self.is_live or "kernel" in suites
        self.tries = 0
        self.timeout = record["timeout"] * float(os.environ.get("KMEMSCOPE_TIMEOUTS", "2"))
        self.forget()

    def forget(self):
        """What an earlier try left here."""
        self.lines, self.errors = [], []
        self.process = self.started = self.outcome = None
        self.cpu = 0 # seconds, of all its processes that were waited for
        self.preparing = None # since when
        self.prepared = 0 # seconds
        self.doing = ""

    def nearness(self, words):
        return len(set(words) & set(self.record["name"].split("-")))

    def start(self):
        self.tries += 1
        env = dict(os.environ, **self.record["env"])
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            SIGNALS + self.record["cmd"], env=env, cwd=self.record["workdir"] or self.build, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True)
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True) for pair in
                        ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for reader in self.readers:
            reader.start()

    def read(self, stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))
            if line.startswith("# preparing:") and not self.preparing:
                self.doing, self.preparing = line[12:].strip(), time.monotonic()
            elif line.startswith("# prepared") and self.preparing:
                self.prepared += time.monotonic() - self.preparing
                self.preparing = None

    def seconds(self):
        """How long it ran, without what it prepared."""
        now = time.monotonic()
        return now - self.started - self.prepared - (now - self.preparing if self.preparing else 0)

    def has_ended(self):
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        return True

    def overdue(self):
        if self.preparing:
            return time.monotonic() - self.preparing > PREPARING_MAX
        return self.seconds() > self.timeout

    def stop(self):
        """With all that it started in its session's process group; cleaning up takes a moment."""
        for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def finish(self, stopped=None):
        for reader in self.readers: # who holds the pipes open longer is not waited for
            reader.join(5)
        took = time.monotonic() - self.started
        self.outcome = Outcome(list(self.lines), self.process.returncode or 0, stopped)
        log = {"name": self.record["name"], "result": "FAIL" if self.outcome.failed else "OK",
               "duration": took, "cpu": self.cpu, "command": self.record["cmd"], "stdout": "\n".join(self.lines),
               "stderr": "\n".join(self.errors)}
        with open(pathlib.Path(self.build, "meson-logs", "suite.json"), "a", encoding="utf-8") as file:
            file.write(json.dumps(log) + "\n")
        return took

    def may_try_again(self):
        return (self.depends_on_machine and self.tries == 1 and bool(self.outcome.failed) and not self.outcome.stopped
                and not any(SANITIZER.search(line) for line in self.lines + self.errors))

    def show(self, took, nr, total):
        out = self.outcome
        print(f"[{nr:{len(str(total))}}/{total}] {'FAIL' if out.failed else 'ok  '} {self.name}: {out.passed} passed"
              + (f", {out.failed} FAILED" if out.failed else "")
              + (f", {out.skipped} skipped" if out.skipped else "")
              + f" ({took:.1f} s, CPU {self.cpu:.1f} s)")
        for skip in out.skips:
            print(f"     skipped: {skip}")
        for trouble in out.troubles:
            print(f"     {trouble}")
        if out.failed:
            print("\n".join(self.lines)[-6000:])
            print("\n".join(self.errors)[-6000:])
        sys.stdout.flush()


# Of a build for another architecture; the rest of its tests is for --emulate-all.
EMULATED_SUITES = ["unit", "captures"]


def tests_of(build, suites, names, without, emulate_all):
    found = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout)
    emulator = Emulator(build)
    if emulator.words and not suites and not emulate_all:
        suites = EMULATED_SUITES
    wanted = [Test(build, emulator.apply(record)) for record in found
              if record["name"] not in without
              and (not suites + names or record["name"] in names
                   or any(suite.split(":")[-1] in suites for suite in record["suite"]))]
    return wanted


def begin_log(build):
    log = pathlib.Path(build, "meson-logs", "suite.json")
    log.parent.mkdir(exist_ok=True)
    log.unlink(missing_ok=True)


class Times:
    """How long tests took the last time: the longest start first, so that none is left over at the end."""

    def __init__(self, builds):
        self.files = {build: pathlib.Path(build, "meson-logs", "durations.json") for build in builds}
        self.of = {build: json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
                   for build, file in self.files.items()}

    def get(self, test):
        return self.of[test.build].get(test.record["name"], test.record["timeout"] / TIMEOUT_OF_DURATION)

    def set(self, test, seconds):
        self.of[test.build][test.record["name"]] = round(seconds, 1)
        self.files[test.build].write_text(json.dumps(self.of[test.build]), encoding="utf-8")


class Runner:
    def __init__(self, tests, jobs, times, first_failure, near):
        self.times, self.first_failure = times, first_failure
        # Tests that must run alone come last, when nothing else is left. Those of which one runs at a time come first, as
        # they would be left over otherwise.
        sign = 1 if first_failure else -1
        self.waiting = sorted(tests, key=lambda test: (test.is_alone, sign * test.is_live, -test.nearness(near),
                                                       sign * times.get(test)))
        if first_failure:
            for test in tests:
                test.timeout = min(test.timeout, 60 + 10 * times.get(test))
        self.jobs, self.total, self.done = jobs, len(tests), 0
        self.running, self.totals, self.failed, self.again = [], [0, 0, 0], [], []
        self.said = time.monotonic()

    def next(self):
        """The test that may start now, or None. Of several that prepare something most wait for the lock of one that
        prepares the same, so all of these count as one."""
        preparing = sum(bool(test.preparing) for test in self.running)
        if len(self.running) - preparing + bool(preparing) >= self.jobs or len(self.running) >= 2 * self.jobs:
            return None
        live = any(test.is_live for test in self.running)
        test = next((test for test in self.waiting if not (live and test.is_live)), None)
        if not test or self.running and (test.is_alone or self.running[0].is_alone):
            return None
        return test

    def end(self, test, stopped=None):
        self.running.remove(test)
        took = test.finish(stopped)
        self.done += 1
        test.show(took, self.done, self.total)
        self.said = time.monotonic()
        if test.may_try_again() and not self.first_failure:
            print("     it runs once more, alone, after all others", flush=True)
            self.done -= 1
            self.again.append(test)
            test.forget()
            test.is_alone = True
            self.waiting.append(test)
            return
        if not self.first_failure: # a test that fails may take less time than usual, or much more
            self.times.set(test, took - test.prepared)
        for i, value in enumerate((test.outcome.passed, test.outcome.failed, test.outcome.skipped)):
            self.totals[i] += value
        if test.outcome.failed:
            self.failed.append(test.name)

    def say(self):
        self.said = time.monotonic()
        what = [f"{test.name} ({time.monotonic() - test.started:.0f} s{', preparing: ' + test.doing if test.preparing else ''})"
                for test in self.running]
        print(f"     running: {', '.join(what)}", flush=True)

    def step(self):
        while test := self.next():
            self.waiting.remove(test)
            test.start()
            self.running.append(test)
        for test in list(self.running):
            if test.has_ended():
                self.end(test)
            elif test.overdue():
                test.stop()
                self.end(test, f"stopped: it took longer than {test.timeout:.0f} s")
        if time.monotonic() - self.said > SAY_EVERY:
            self.say()

    def run(self):
        try:
            while self.running or self.waiting:
                self.step()
                if self.failed and self.first_failure:
                    for test in self.running:
                        test.stop()
                    return
                time.sleep(0.02)
        except KeyboardInterrupt:
            for test in self.running:
                print(f"     stopping {test.name}", flush=True)
                test.stop()
            raise


@contextlib.contextmanager
def mounted_tracefs(where="/sys/kernel/tracing"):
    """Without it the outcome would depend on which test came first: some of them mount it, and leave it there."""
    mounts = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    ours = (os.geteuid() == 0 and os.path.isdir(where) and " tracefs " not in mounts
            and subprocess.run(["mount", "-t", "tracefs", "nodev", where], check=False).returncode == 0)
    try:
        yield
    finally:
        if ours:
            subprocess.run(["umount", "--lazy", where], check=False)


def interrupt(number, frame):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() + 1)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--test", action="append", default=[])
    parser.add_argument("--without", action="append", default=[], metavar="TEST")
    parser.add_argument("--first-failure", action="store_true")
    parser.add_argument("--near", action="append", default=[], metavar="WORD")
    parser.add_argument("--coverage", metavar="FOLDER")
    parser.add_argument("--emulate-all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("builds", nargs="+", metavar="BUILD")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, interrupt)
    tests = [test for build in args.builds for test in tests_of(build, args.suite, args.test, args.without, args.emulate_all)]
    for test in tests if args.coverage else []:
        test.record["env"]["GCOV_PREFIX"] = os.path.join(os.path.abspath(args.coverage), test.record["name"])
    if args.list:
        print("\n".join(test.name for test in tests))
        return 0
    for build in args.builds:
        begin_log(build)
    runner = Runner(tests, args.jobs, Times(args.builds), args.first_failure, args.near)
    try:
        with mounted_tracefs():
            runner.run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 130
    for test in runner.again:
        if not test.outcome.failed:
            print(f"passed only when it ran alone, after a failure: {test.name}")
    for name in runner.failed:
        print(f"failed: {name}")
    passed, failed, skipped = runner.totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
