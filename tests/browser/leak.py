#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A leak of a real kernel, found from the summary alone: leak.py KMEMSCOPE. Speaks TAP.

Records the same load twice with stacks. The first time it closes every pipe that it opens; the second time
it keeps the pipes open, in a process that outlives the recording. The summary of the second must name the
function of the kernel that allocates pipes, and the comparison of both must name it first.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from cdp import Browser, find_chromium

# Opens pipes all through the run, among files that come and go. Pipes that are kept are kept by a child,
# which waits until it is told to end or, if nobody does, ends on its own.
LOAD = """
import os, resource, sys, time
keep = sys.argv[1] == "keep"
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
STEPS, PIPES, SECONDS = 60, 8, 2.4
kept = []
for step in range(STEPS):
    for _ in range(PIPES):
        ends = os.pipe()
        if keep:
            kept.append(ends)
        else:
            os.close(ends[0]), os.close(ends[1])
    for _ in range(20):
        os.close(os.open("/proc/self/status", os.O_RDONLY))
    time.sleep(SECONDS / STEPS)
if keep:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        for fd in (0, 1, 2):
            os.dup2(os.open("/dev/null", os.O_RDWR), fd)
        os.write(writer, b".")
        time.sleep(60)
        os._exit(0)
    os.read(reader, 1)
    open(sys.argv[2], "w").write(str(child))
os._exit(0)
"""

count, failed = 0, False


def check(name, problems):
    global count, failed
    count += 1
    failed |= bool(problems)
    for problem in problems[:6]:
        print("# " + str(problem)[:600].replace("\n", "\n# "))
    print(f"{'not ok' if problems else 'ok'} {count} - {name}", flush=True)


def end_child(pid_file):
    """The one that keeps the pipes: it lives for a minute, so its number is still its own."""
    if pid_file.exists():
        os.kill(int(pid_file.read_text(encoding="ascii")), signal.SIGKILL)


def record(kmemscope, scratch, what):
    """A DB of the load; None and why where nothing can be recorded here."""
    load, capture, db = scratch / "load.py", scratch / f"{what}.dat", scratch / f"{what}.ksdb"
    load.write_text(LOAD, encoding="utf-8")
    pid_file = scratch / "pid"
    done = subprocess.run([kmemscope, "record", "-q", "--slab", "--stack", "--buffer-size", "32768", "-o", capture, "--",
                           sys.executable, load, what, pid_file], capture_output=True, text=True, check=False)
    end_child(pid_file)
    if done.returncode:
        return None, done.stderr.strip()[:100] or f"status {done.returncode}"
    subprocess.run([kmemscope, "import", "-o", db, capture], check=True, stdout=subprocess.DEVNULL)
    return db, ""


def is_pipe(site):
    return re.match(r"(alloc_pipe_info|pipe_resize_ring|create_pipe_files)\b", site)


def look(kmemscope, scratch, first, second, browser):
    page, compared = scratch / "leak.html", scratch / "diff.html"
    subprocess.run([kmemscope, "html", second, "-o", page], check=True)
    subprocess.run([kmemscope, "html", "--diff", first, second, "-o", compared], check=True)
    findings = """[...document.querySelectorAll('.findings li[data-mark="!"]')].map(li => li.innerText)"""
    browser.open(page.as_uri())
    said = [text for text in browser.run(findings) if "keeps growing" in text]
    check("the summary names who keeps growing, and first of all what makes pipes",
          [] if said and is_pipe(said[0]) else said or ["nothing"])
    check("it says how many, and that none was freed",
          [] if said and re.search(r" in (4[89]\d|5\d\d) objects .*None was freed", said[0]) else said[:1] or ["nothing"])
    browser.run("document.querySelector('.findings li[data-mark=\"!\"] button').click()")
    callers = browser.run("document.querySelector('#panel').innerText")
    check("its detail has the system call that led there",
          [] if re.search(r"(do_pipe2|sys_pipe2?)\b", callers) else [callers[:400]])
    browser.open(compared.as_uri())
    said = browser.run(findings)
    check("compared with the load that closes its pipes, the summary begins with them",
          [] if said and re.match(r"Compared with close.ksdb, (alloc_pipe_info|pipe_resize_ring)", said[0]) else said or ["nothing"])
    check("the page is silent", browser.complaints())


def main():
    if not find_chromium():
        print("1..1\nok 1 - a leak of this kernel # SKIP no Chromium here")
        return 0
    with tempfile.TemporaryDirectory(prefix="kmemscope leak ") as name:
        scratch, kmemscope = pathlib.Path(name), sys.argv[1]
        first, why = record(kmemscope, scratch, "close")
        second, why = record(kmemscope, scratch, "keep") if first else (None, why)
        if not second:
            print(f"1..1\nok 1 - a leak of this kernel # SKIP cannot record here: {why}")
            return 0
        diff = json.loads(subprocess.run([kmemscope, "diff", "--json", first, second], capture_output=True, text=True,
                                         check=True).stdout)
        rows = diff["rows"][:3]
        check("diff names first what makes pipes", [] if is_pipe(rows[0]["site"]) and rows[0]["after"] > rows[0]["before"] else rows)
        leaks = json.loads(subprocess.run([kmemscope, "leaks", "--stacks", "--json", second], capture_output=True, text=True,
                                          check=True).stdout)["sites"][:3]
        check("so does leaks, with the stack", [] if is_pipe(leaks[0]["site"]) and any("pipe2" in f for f in leaks[0]["stack"]) else leaks)
        with Browser() as browser:
            look(kmemscope, scratch, first, second, browser)
    print(f"1..{count}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
