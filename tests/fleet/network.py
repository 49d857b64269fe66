#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A fleet over a bad network: network.py KMEMSCOPE FLEETSIM. Speaks TAP.

All of it runs in a network namespace of its own, whose loopback is cut and slowed down while agents send; agents, relays and the server are
killed, too. One agent's batches go to two relays. FAULTS=N does that N times; SEED=N chooses the moments.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import relay

OWN = "KMEMSCOPE_OWN_NETWORK"
FAULTS, SEED = int(os.environ.get("FAULTS", "5")), int(os.environ.get("SEED", "16"))
SLOW = "root tbf rate 2mbit burst 32k latency 400ms".split()


def enter():
    """Starts this program again, in a namespace of its own. False where that is not permitted."""
    if os.environ.get(OWN):
        return True
    if subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode:
        return False
    os.environ[OWN] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, __file__, *sys.argv[1:]])


def link(state):
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


class Faults:
    """One fault of each kind; what it breaks is whole again when it returns."""
    def __init__(self, bench, relays, rng):
        self.bench, self.relays, self.rng = bench, relays, rng
        self.kinds = [self.cut, self.kill_server, self.slow, self.kill_relay, self.cut_and_kill]

    def pause(self):
        time.sleep(self.rng.random() * 0.5)

    def cut(self):
        link("down")
        self.pause()
        link("up")

    def slow(self):
        if subprocess.run(["tc", "qdisc", "add", "dev", "lo", *SLOW], capture_output=True, check=False).returncode:
            self.cut() # this kernel can't
            return
        self.pause()
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)

    def kill_server(self):
        self.bench.server.kill()
        self.pause()
        self.bench.server.start()

    def kill_relay(self):
        one = self.rng.choice(self.relays)
        one.kill()
        self.pause()
        one.start()

    def cut_and_kill(self):
        link("down")
        self.kill_relay()
        self.bench.server.kill()
        link("up")
        self.bench.server.start()


def test_network(bench):
    rng = random.Random(SEED)
    bench.clear()
    relays = [relay.Relay(bench, name) for name in ("one", "two")]
    faults = Faults(bench, relays, rng)
    spools = [bench.scratch / name for name in ("agent0", "agent1", "twin")]
    want = {"rows": 0, "bytes": 0, "allocs": 0}
    for fault in range(FAULTS):
        for number, spool in enumerate(spools[:2]):
            _, more = bench.sim("--hosts", 20, "--hours", 1, "--span", 300, "--start", relay.START + (fault * 2 + number) * 3600, "--spool", spool)
            want = {key: want[key] + more[key] for key in want}
        spools[2].mkdir(exist_ok=True)
        for message in spools[1].glob("*.msg"):
            shutil.copy(message, spools[2])
        agents = [subprocess.Popen(bench.drain(to, spool), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                  for to, spool in zip((relays[0], relays[0], relays[1]), spools)]
        time.sleep(rng.random() * 0.4)
        faults.kinds[fault % len(faults.kinds)]()
        if rng.random() < 0.5:
            agents[0].kill()
        for agent in agents:
            agent.wait()
    for one in relays: # what waits after a failure need not wait any longer
        one.kill()
        one.start()
    for to, spool in zip((relays[0], relays[0], relays[1]), spools):
        relay.tap.run(*bench.drain(to, spool))
    relay.tap.check(f"sums are right, to the row, after {FAULTS} faults", bench.arrives(want), (bench.sums(), want))
    intervals = FAULTS * 2 * 20 * 12
    for _ in range(1200): # reports come after their rows
        reports = bench.server.number(f"SELECT count() FROM {bench.database}.reports FINAL")
        if reports == intervals:
            break
        time.sleep(0.1)
    relay.tap.check("every interval has its report", reports == intervals, reports)
    relay.tap.check("both relays end with a signal", [one.stop() for one in relays] == [0, 0])


def main():
    root = relay.clickhouse.unpacked() # before the network is gone
    if not root:
        relay.tap.skip("a real server", "no clickhouse-server can be had here")
        return relay.tap.finish()
    if not enter():
        relay.tap.skip("a bad network", "no network namespace can be made here")
        return relay.tap.finish()
    link("up")
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None # as in agent.py
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-") as where, \
            tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as scratch:
        server = relay.clickhouse.Server(root, pathlib.Path(where) / "server")
        try:
            test_network(relay.Bench(server, pathlib.Path(scratch)))
        finally:
            server.close()
    return relay.tap.finish()


if __name__ == "__main__":
    sys.exit(main())
