#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A leak of a real kernel, found from the summary alone: leak.py KMEMSCOPE. Prints TAP.

Records the same load twice with stacks. The first time it closes every pipe that it opens; the second time
it keeps the pipes open, in a process that outlives the recording. The summary of the second must name the
function of the kernel that allocates pipes, and the comparison of both must name it first.
"""
import os
import re
import signal
import subprocess
import sys

from page import PageTests, main

# Opens pipes throughout the run, among files that are opened and closed. A child keeps the pipes open. It waits
# for the request to end, and otherwise ends on its own.
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

def end_child(pid_file):
    """Ends the child that keeps the pipes. It lives for a minute, so its pid has not been reused."""
    if pid_file.exists():
        os.kill(int(pid_file.read_text(encoding="ascii")), signal.SIGKILL)


def is_pipe(site):
    return re.match(r"(alloc_pipe_info|pipe_resize_ring|create_pipe_files)\b", site)


class LeakTests(PageTests):
    title = "a leak of this kernel"

    def record(self, what):
        """A DB of the load; None and the reason if nothing can be recorded here."""
        load, capture, db = self.write("load.py", LOAD), self.scratch / f"{what}.dat", self.scratch / f"{what}.ksdb"
        pid_file = self.scratch / "pid"
        done = subprocess.run([self.kmemscope, "record", "-q", "--slab", "--stack", "--buffer-size", "32768", "-o", capture,
                               "--", sys.executable, load, what, pid_file], capture_output=True, text=True, check=False)
        end_child(pid_file)
        if done.returncode:
            return None, done.stderr.strip()[:100] or f"status {done.returncode}"
        self.run_program("import", "-o", db, capture)
        return db, ""

    def test_commands(self, first, second):
        rows = self.json("diff", first, second)["rows"][:3]
        self.check("diff names first what makes pipes",
                   [] if is_pipe(rows[0]["site"]) and rows[0]["after"] > rows[0]["before"] else rows)
        leaks = self.json("leaks", "--stacks", second)["sites"][:3]
        self.check("so does leaks, with the stack",
                   [] if is_pipe(leaks[0]["site"]) and any("pipe2" in f for f in leaks[0]["stack"]) else leaks)

    def findings(self):
        return self.browser.run("""[...document.querySelectorAll('.findings li[data-mark="!"]')].map(li => li.innerText)""")

    def test_summary(self, second):
        self.open(self.make_page("leak.html", second))
        said = [text for text in self.findings() if "keeps growing" in text]
        self.check("the summary names who keeps growing, and first of all what makes pipes",
                   [] if said and is_pipe(said[0]) else said or ["nothing"])
        self.check("it says how many, and that none was freed",
                   [] if said and re.search(r" in (4[89]\d|5\d\d) objects .*None was freed", said[0]) else said[:1] or ["nothing"])
        self.browser.run("document.querySelector('.findings li[data-mark=\"!\"] button').click()")
        callers = self.text("#panel")
        self.check("its detail has the system call that led there",
                   [] if re.search(r"(do_pipe2|sys_pipe2?)\b", callers) else [callers[:400]])

    def test_comparison(self, first, second):
        self.open(self.make_page("diff.html", "--diff", first, second))
        said = self.findings()
        self.check("compared with the load that closes its pipes, the summary begins with them",
                   [] if said and re.match(r"Compared with close.ksdb, (alloc_pipe_info|pipe_resize_ring)", said[0]) else said or ["nothing"])
        self.check("the page is silent", self.trouble())

    def run(self):
        first, why = self.record("close")
        second, why = self.record("keep") if first else (None, why)
        if not second:
            self.skip(self.title, "cannot record here: " + why)
            return
        self.test_commands(first, second)
        self.test_summary(second)
        self.test_comparison(first, second)


if __name__ == "__main__":
    sys.exit(main(LeakTests))
