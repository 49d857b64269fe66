#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the test suites of the given build directories and adds up their TAP results.

The last line is "N passed, N failed, N skipped" over every single check of every program that ran.
A program that dies, or prints no result at all, is one failed check.
"""
import json
import pathlib
import re
import subprocess
import sys

RESULT = re.compile(r"^\s*(not )?ok\b(.*)$")


def count(record):
    passed = failed = skipped = 0
    skips = []
    for line in record.get("stdout", "").splitlines():
        match = RESULT.match(line)
        if not match:
            continue
        if "# SKIP" in match.group(2).upper():
            skipped += 1
            skips.append(match.group(2).strip())
        elif match.group(1):
            failed += 1
        else:
            passed += 1
    died = record["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")
    if (died and not failed) or passed + failed + skipped == 0:
        failed += 1
    return passed, failed, skipped, skips


def run(build):
    subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--quiet", "--logbase", "suite",
                    "--timeout-multiplier", "20"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    totals = [0, 0, 0]
    log = pathlib.Path(build, "meson-logs", "suite.json")
    for line in log.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        passed, failed, skipped, skips = count(record)
        print(f"{'FAIL' if failed else 'ok  '} {build}: {record['name']}: {passed} passed"
              + (f", {failed} FAILED" if failed else "")
              + (f", {skipped} skipped" if skipped else "")
              + f" ({record['duration']:.1f} s)", flush=True)
        for skip in skips:
            print(f"     skipped: {skip}")
        if failed:
            print(record.get("stdout", "")[-6000:])
            print(record.get("stderr", "")[-6000:])
        for i, value in enumerate((passed, failed, skipped)):
            totals[i] += value
    return totals


def main():
    totals = [0, 0, 0]
    for build in sys.argv[1:]:
        log = pathlib.Path(build, "meson-logs", "suite.json")
        log.unlink(missing_ok=True)
        for i, value in enumerate(run(build)):
            totals[i] += value
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
