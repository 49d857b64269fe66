#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs commands one after the other, each to its end, and adds up the lines "N passed, N failed, N skipped" that they close with.

usage: all.py COMMAND...

A single test, which prints TAP and closes with its plan, counts by its results. A command with neither, or that
fails although it names no failure, is one failure. Ends with one such line over everything.
"""
import re
import subprocess
import sys

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
RESULT = re.compile(r"^(not )?ok \d+(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)$")


class Tap:
    """The results of a command that prints TAP."""

    def __init__(self):
        self.counts, self.planned = [0, 0, 0], None

    def take(self, line):
        result, plan = RESULT.match(line), PLAN.match(line)
        if result:
            self.counts[2 if "# SKIP" in result.group(2) else 1 if result.group(1) else 0] += 1
        self.planned = int(plan.group(1)) if plan else self.planned

    def complete(self):
        return self.planned and self.planned == sum(self.counts)


def run(command):
    """Shows what the command prints; returns its three numbers."""
    found, tap = None, Tap()
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            match = CLOSING.match(line)
            found = match or found
            tap.take(line)
            print(f"{command}: {line}" if match else line, end="", flush=True)
    counts = [int(number) for number in found.groups()] if found else tap.counts if tap.complete() else [0, 1, 0]
    if process.returncode and not counts[1]:
        counts[1] = 1
    if counts[1]:
        print(f"failed: {command}", flush=True)
    return counts


def main():
    passed, failed, skipped = map(sum, zip(*map(run, sys.argv[1:])))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
