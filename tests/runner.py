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


class Bench:
    """Tests by name and suite that run until release(), and a runner of them."""

    def __init__(self, place, jobs, *tests):
        (place / "meson-logs").mkdir(parents=True)
        self.end, self.begun = place / "end", [] # each that began, with what ran then
        records = [{"name": name, "suite": [f"kmemscope:{suite}"], "is_parallel": suite != "alone", "timeout": 300, "env": {}, "workdir": None,
                    "cmd": ["sh", "-c", PREPARE if suite == "prepares" else WAIT, str(self.end)]} for name, suite in tests]
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
                      ("alone", "alone"), ("a", "cli"), ("b", "cli"), ("one", "live"), ("two", "live"), ("c", "cli"))
        first = bench.step()
        silently(bench.release)
        tap.check("a test of the running kernel begins, beside two others", first == {"one", "a", "b"}, first)
        tap.check("two of these never run together", not any({"one", "two"} <= {name} | others for name, others in bench.begun), bench.begun)
        tap.check("the one that must be alone begins last, when nothing runs", bench.begun[-1] == ("alone", set()), bench.begun)
        tap.check("all of them pass", bench.runner.totals == [6, 0, 0], bench.runner.totals)

        bench = Bench(pathlib.Path(scratch, "prepares"), 2, ("a", "prepares"), ("b", "prepares"), ("c", "cli"), ("d", "cli"))
        together = silently(bench.step_prepared)
        silently(bench.release)
        tap.check("those that prepare something count as one", together == {"a", "b", "c"}, together)
        tap.check("all of these pass, too", bench.runner.totals == [4, 0, 0], bench.runner.totals)
    return tap.finish()


sys.exit(main())
