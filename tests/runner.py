#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which tests run.py starts beside which, on tests that do nothing. Speaks TAP."""
import os
import pathlib
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent / "lib")]
import run  # noqa: E402
import tap  # noqa: E402

WAIT = 'until [ -e "$0" ]; do sleep 0.02; done; echo ok 1; echo 1..1' # for a file
PREPARE = f'echo "# preparing: it"; {WAIT}'
FAIL_ONCE = 'if mkdir "$0.$1" 2>/dev/null; then echo not ok 1; else echo ok 1; fi; echo 1..1'
FAIL = "echo not ok 1; echo 1..1"
REPORT = FAIL_ONCE + "; echo ERROR: AddressSanitizer: heap-use-after-free >&2"


class Bench:
    """Tests by name, suite and script, which run until release(), and a runner of them."""

    def __init__(self, place, jobs, *tests):
        (place / "meson-logs").mkdir(parents=True)
        self.end, self.begun = place / "end", [] # each that began, with what ran then
        records = [{"name": name, "suite": [f"kmemscope:{suite}"], "is_parallel": suite != "alone", "timeout": 300, "env": {}, "workdir": None,
                    "cmd": ["sh", "-c", script, str(self.end), name]} for name, suite, script in tests]
        self.runner = run.Runner([self.watched(run.Test(str(place), record)) for record in records], jobs, run.Times([str(place)]),
                                 False, [])

    def watched(self, test):
        start = test.start

        def begin():
            self.begun.append((test.record["name"], self.names()))
            start()
        test.start = begin
        return test

    def names(self):
        return {test.record["name"] for test in self.runner.running}

    def step(self):
        self.runner.step()
        return self.names()

    def step_prepared(self):
        """What runs as soon as two tests prepare something."""
        while sum(bool(test.preparing) for test in self.runner.running) < 2 and self.step():
            time.sleep(0.02)
        return self.step()

    def release(self):
        self.end.touch()
        self.runner.run()


def silently(function):
    """The runner prints a line for each test, which is not of this one."""
    out, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(null, 1)
    try:
        return function()
    finally:
        sys.stdout.flush()
        os.dup2(out, 1)
        os.close(out)
        os.close(null)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(pathlib.Path(scratch, "live"), 3,
                      *((name, suite, WAIT) for name, suite in (("alone", "alone"), ("a", "cli"), ("b", "cli"), ("one", "live"),
                                                                ("two", "live"), ("c", "cli"))))
        first = bench.step()
        silently(bench.release)
        tap.check("a test of the running kernel begins, beside two others", first == {"one", "a", "b"}, first)
        tap.check("two of these never run together", not any({"one", "two"} <= {name} | others for name, others in bench.begun), bench.begun)
        tap.check("the one that must be alone begins last, when nothing runs", bench.begun[-1] == ("alone", set()), bench.begun)
        tap.check("all of them pass", bench.runner.totals == [6, 0, 0], bench.runner.totals)

        bench = Bench(pathlib.Path(scratch, "prepares"), 2, ("a", "cli", PREPARE), ("b", "cli", PREPARE), ("c", "cli", WAIT),
                      ("d", "cli", WAIT))
        together = silently(bench.step_prepared)
        silently(bench.release)
        tap.check("those that prepare something count as one", together == {"a", "b", "c"}, together)
        tap.check("all of these pass, too", bench.runner.totals == [4, 0, 0], bench.runner.totals)

        bench = Bench(pathlib.Path(scratch, "again"), 3, ("guest", "kernel", FAIL_ONCE), ("live", "live", FAIL_ONCE), ("alone", "alone", FAIL),
                      ("report", "live", REPORT), ("unit", "unit", FAIL_ONCE), ("good", "live", WAIT))
        silently(bench.release)
        names = [name for name, _ in bench.begun]
        tap.check("tests that depend on the machine have a second try, others and those with a report have none",
                  {name for name in names if names.count(name) > 1} == {"guest", "live", "alone"}, names)
        tap.check("it is alone", all(not others for name, others in bench.begun[-3:]), bench.begun)
        tap.check("what counts is the second try", bench.runner.totals == [3, 3, 0], bench.runner.totals)
        tap.check("who failed twice has failed", {name.split(": ")[1] for name in bench.runner.failed} == {"alone", "report", "unit"},
                  bench.runner.failed)
    return tap.finish()


sys.exit(main())
