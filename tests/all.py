#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs commands one after the other, each to its end, and adds up the lines "N passed, N failed, N skipped" that they close with.

usage: all.py COMMAND...

A command without such a line, or that fails although its line has no failure, is one failure. Ends with one
such line over everything.
"""
import re
import subprocess
import sys

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")


def run(command):
    """Shows what the command prints; returns its three numbers."""
    found = None
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            match = CLOSING.match(line)
            found = match or found
            print(f"{command}: {line}" if match else line, end="", flush=True)
    counts = [int(number) for number in found.groups()] if found else [0, 1, 0]
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
