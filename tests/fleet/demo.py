#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A fleet to look at: demo.py KMEMSCOPE FLEETSIM. Starts Debian's ClickHouse and a relay on loopback, has twenty simulated hosts and, as
root, this machine send to it, and prints what the questions answer. One of four kernel builds leaks, and one host by itself.
Nothing stays: the server, its rows and the spools are in a directory that is removed at the end.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import clickhouse

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HOSTS, HOURS = 20, 36
TOKEN = "a-token-for-this-demo-only"
SECONDS = 60 # to wait for the relay, at most


def say(text):
    print(text, flush=True)


def run(*words, **more):
    """Shows a command and what it prints."""
    words = [str(word) for word in words]
    say("\n$ " + shlex.join(["kmemscope", *words[1:]]))
    return subprocess.run(words, check=False, **more).returncode


def start_relay(server, scratch):
    """The process, and its port."""
    (scratch / "tokens").write_text(TOKEN + " *\n", encoding="ascii")
    words = [KMEMSCOPE, "relay", "--to", server.url, "--tokens", scratch / "tokens", "--spool", scratch / "relay", "--bind", "127.0.0.1:0", "--rate", "1000000"]
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        found = re.search(r": port (\d+)$", line)
        if found:
            return process, int(found.group(1))
    raise clickhouse.Error("the relay does not start")


def send(server, port, scratch):
    """All hosts send; True when the database has them."""
    start = (int(time.time()) // 3600 - HOURS + 1) * 3600 # the last hour is that of this machine's look
    (scratch / "hosts").mkdir()
    with open(scratch / "hosts" / f"{1:020}.msg", "wb") as message: # as their agents would
        told = subprocess.run([FLEETSIM, "--hosts", str(HOSTS), "--hours", str(HOURS), "--span", "600", "--series", "8", "--leak", "--start", str(start)],
                              stdout=message, stderr=subprocess.PIPE, text=True, check=True).stderr
    say(f"{HOSTS} simulated hosts send {HOURS} hours: {told.strip()}")
    (scratch / "token").write_text(TOKEN + "\n", encoding="ascii")
    to = ["--to", f"relay+http://127.0.0.1:{port}/", "--token-file", scratch / "token"]
    if run(KMEMSCOPE, "agent", "--drain", "--spool", scratch / "hosts", *to):
        return False
    hosts = HOSTS
    if os.geteuid() == 0:
        say("\nand this machine, one look:")
        hosts += run(KMEMSCOPE, "agent", "--once", "--spool", scratch / "here", *to) == 0
    else:
        say("\n(this machine itself is left out: that needs root)")
    for _ in range(SECONDS * 5):
        if server.number("SELECT uniqExact(host) FROM kmemscope.reports") >= hosts:
            return True
        time.sleep(0.2)
    return False


def main():
    root = clickhouse.unpacked()
    if not root:
        sys.exit("demo: no clickhouse-server can be had here; kmemscope agent --to file:DIR works without one")
    with tempfile.TemporaryDirectory(prefix="kmemscope-demo-") as where:
        scratch = pathlib.Path(where)
        server, relay = clickhouse.Server(root, scratch / "server"), None
        try:
            os.environ["KMEMSCOPE_FLEET"] = server.url
            say(f"ClickHouse {server.query('SELECT version()').strip()} at {server.url}")
            run(KMEMSCOPE, "fleet", "setup", "--hosts", "20", "--no-pager")
            relay, port = start_relay(server, scratch)
            if not send(server, port, scratch):
                sys.exit("demo: not all has arrived in time")
            run(KMEMSCOPE, "fleet", "rollup", "--keep", "30", "--no-pager")
            status = [run(KMEMSCOPE, "fleet", *words, "--no-pager") for words in (
                ["leaks"], ["leaks", "--hosts-alone"], ["top", "--top", "5"], ["diff", "6.12.0-fleet #1", "6.12.3-fleet #4", "--top", "3"],
                ["host", "host0007", "--top", "3"], ["history", "--type", "struct thing_3", "--top", "4"], ["quality", "--top", "3"])]
            say("\nThe leak of build 6.12.3 and that of host0007 were planted. docs/fleet.md says how to set up a fleet of your own.")
            return max(status)
        finally:
            if relay:
                relay.terminate()
                relay.wait()
            server.close()


if __name__ == "__main__":
    sys.exit(main())
