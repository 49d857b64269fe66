#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What make demo-fleet shows: demo-runs.py KMEMSCOPE FLEETSIM. Speaks TAP."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import clickhouse  # noqa: E402


def main():
    if not clickhouse.unpacked():
        tap.skip("the demo", "no clickhouse-server can be had here")
        return tap.finish()
    done = subprocess.run([sys.executable, pathlib.Path(__file__).parent / "demo.py", *sys.argv[1:3]], capture_output=True, text=True, check=False)
    tap.check("the demo ends well", done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:]))
    answers = dict(re.findall(r"^\$ kmemscope fleet (.*?) --no-pager\n(.*?)(?=^\$|\Z)", done.stdout, re.M | re.S))
    leaks = [line for line in answers.get("leaks", "").splitlines() if "struct thing_" in line]
    tap.check("it names the build that leaks, and no other", len(leaks) == 1 and "6.12.3-fleet #4" in leaks[0] and "struct thing_3" in leaks[0], answers)
    hosts = {word for line in answers.get("leaks --hosts-alone", "").splitlines() for word in line.split() if word.startswith("host0")}
    tap.check("and the host, and no other", hosts == {"host0007"}, answers)
    tap.check("all questions have answers", len(answers) >= 8 and "growth over the fleet" in answers.get("top --top 5", ""), answers.keys())
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
