#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What recording costs those who are recorded: record-cost.py KMEMSCOPE [ROUNDS]. Needs root and tracefs.

Each round runs three loads without a recorder and then beside one, in each of four ways. Figures are the CPU time of a load,
divided by that of the same round without a recorder: the median, the least and the most. So what else runs on the
machine matters little. kmemscope-record(1) has the figures.
"""
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

KMEMSCOPE = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
WAYS = {"no recorder": None, "--slab": ["--slab"], "all": [], "--cache": ["--slab", "--cache", "radix_tree_node"],
        "--slab --stack": ["--slab", "--stack"]}
OPEN_AND_CLOSE = """#include <fcntl.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 60000; i++) close(open("/dev/null", O_RDONLY)); }
"""


def cpu_time(pid):
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime


def run(command):
    return cpu_time(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)


def start(options, capture):
    capture.unlink(missing_ok=True)
    recorder = subprocess.Popen([KMEMSCOPE, "record", "-q", "-o", capture, *options])
    while not capture.exists():
        time.sleep(0.05)
    time.sleep(0.3)
    return recorder


def main():
    with tempfile.TemporaryDirectory(prefix="kmemscope-cost-") as name:
        scratch = pathlib.Path(name)
        source = scratch / "open.c"
        source.write_text(OPEN_AND_CLOSE)
        subprocess.run(["cc", "-O2", "-o", scratch / "open", source], check=True)
        loads = {"open and close": [scratch / "open"], "find": ["find", "/usr/share", "-xdev", "-size", "+1"],
                 "compiler": ["cc", "-O2", "-c", "-o", "/dev/null", source]}
        for load in loads.values():
            run(load) # into the page cache
        times = {way: {load: [] for load in [*loads, "recorder"]} for way in WAYS}
        for _ in range(ROUNDS):
            for way, options in WAYS.items():
                recorder = None if options is None else start(options, scratch / "a.dat")
                for load, command in loads.items():
                    times[way][load].append(run(command))
                if recorder:
                    recorder.send_signal(signal.SIGINT)
                    times[way]["recorder"].append(cpu_time(recorder.pid))
    for load in loads:
        for way in WAYS:
            ratios = [mine / plain for mine, plain in zip(times[way][load], times["no recorder"][load])]
            print(f"{load:16} {way:16} {statistics.median(ratios):5.2f}  {min(ratios):5.2f} to {max(ratios):5.2f}")
    for way in list(WAYS)[1:]:
        print(f"{'recorder itself':16} {way:16} {statistics.median(times[way]['recorder']):5.2f} s")


main()
