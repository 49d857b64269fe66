#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The agent on this machine, and spools of simulated hosts whose senders and servers are killed: agent.py KMEMSCOPE FLEETSIM.
Speaks TAP.

FAULTS=N kills senders and servers N times; SEED=N chooses the moments.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import clickhouse  # noqa: E402

KMEMSCOPE, FLEETSIM, CLOCKSTEP = (pathlib.Path(word).resolve() for word in (*sys.argv[1:3], pathlib.Path(sys.argv[2]).parent / "libclockstep.so"))
FAULTS, SEED = int(os.environ.get("FAULTS", "6")), int(os.environ.get("SEED", "16"))


class Bench:
    def __init__(self, server, scratch):
        self.server, self.scratch = server, scratch
        self.database, self.number = None, 0

    def command(self, *words):
        return [str(word) for word in (KMEMSCOPE, "agent", "--to", self.server.url, "--database", self.database, *words)]

    def agent(self, *words, status=0):
        return tap.run(*self.command(*words), status=status)

    def fleet(self, *words):
        return tap.run(KMEMSCOPE, "fleet", *words, "--server", self.server.url, "--database", self.database)

    def sim(self, *words):
        done = subprocess.run([FLEETSIM, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        return {key: int(value) for key, value in (word.split("=") for word in done.stderr.split())}

    def sums(self):
        return self.server.sums(self.database)

    def clear(self):
        """A new database: what 18.16 truncates may be there again after kill -9."""
        self.number += 1
        self.database = f"fleet{self.number}"
        tap.run(KMEMSCOPE, "fleet", "setup", "--server", self.server.url, "--database", self.database)


def test_live(bench):
    if os.geteuid():
        tap.skip("the agent on this machine", "needs root")
        return
    spool = bench.scratch / "live"
    told = json.loads(bench.agent("--once", "--spool", spool, "--host", "it's me", "--label", "role=test", "--json").stdout)
    tap.check("one look is sent", told["spooled"] == 0, told)
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    who = bench.server.rows(f"SELECT DISTINCT kind, name FROM {bench.database}.names FINAL WHERE kind < 3 ORDER BY kind")
    tap.check("host, boot and build are those of this machine", [row[1] for row in who] ==
              ["it\\'s me", boot, f"{os.uname().release} {os.uname().version}"], who)
    caches = {row[0]: int(row[1]) for row in bench.server.rows(
        f"SELECT name, objects FROM (SELECT cache AS id, sum(live_objects) AS objects FROM {bench.database}.rows FINAL GROUP BY id) "
        f"ANY INNER JOIN (SELECT id, name FROM {bench.database}.names FINAL WHERE kind = 3) USING id")}
    now = {line.split()[0]: int(line.split()[1]) for line in
           pathlib.Path("/proc/slabinfo").read_text(encoding="ascii").splitlines() if not line.startswith(("#", "slabinfo"))}
    big = [name for name, count in now.items() if count > 5000 and name in caches]
    tap.check("large caches are there, with about what slabinfo has", len(caches) > 50 and len(big) > 3 and
              sum(abs(caches[name] - now[name]) < now[name] / 2 for name in big) >= len(big) * 0.8, [(n, caches[n], now[n]) for n in big])
    tap.check("labels", ["role", "test"] in bench.server.rows(f"SELECT label, value FROM {bench.database}.labels FINAL"))
    with subprocess.Popen(bench.command("--spool", spool, "--interval", "1s", "--host", "it's me"), stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600):
            if bench.server.number(f"SELECT uniqExact(ts) FROM {bench.database}.reports") >= 4:
                break
            time.sleep(0.1)
        busy = bench.agent("--drain", "--spool", spool, status=1)
        process.terminate()
        err = process.stderr.read()
    tap.check("it goes on, and ends with a signal", process.returncode == 0 and bench.server.number(f"SELECT uniqExact(ts) FROM {bench.database}.reports") >= 4, err)
    tap.check("a spool has one agent", "another process" in busy.stderr, busy.stderr)


def test_sites(bench):
    """With probes: rows have sites, and sums by cache are still those of the kernel."""
    if os.geteuid() or tap.run(KMEMSCOPE, "top", "--once", "--level", "sampled", status=None).returncode:
        tap.skip("rows by site", "needs root, and a kernel that permits probes")
        return
    bench.clear()
    spool = bench.scratch / "sites"
    with subprocess.Popen(bench.command("--spool", spool, "--interval", "1s", "--level", "sampled"), stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600): # programs that start allocate enough for samples
            if bench.server.number(f"SELECT count() FROM {bench.database}.rows WHERE site != 0") > 50:
                break
            for _ in range(10):
                subprocess.run(["true"], check=True)
            time.sleep(0.05)
        process.terminate()
        err = process.stderr.read()
    sampled = f"SELECT uniqExact(site), uniqExact(stack), max(std_error) > 0 FROM {bench.database}.rows FINAL WHERE site != 0"
    sites, stacks, errors = map(int, bench.server.rows(sampled)[0])
    tap.check("rows by site and stack, with their errors", process.returncode == 0 and sites and stacks >= sites and errors, (sites, stacks, errors, err))
    names = bench.server.rows(f"SELECT name FROM {bench.database}.names FINAL WHERE kind = 6 LIMIT 50")
    tap.check("a stack begins with the outermost frame", names and all(" <- " not in row[0] for row in names) and
              any(row[0].startswith(("entry_SYSCALL", "ret_from_fork", "asm_")) for row in names), names[:3])
    caches = {row[0]: int(row[1]) for row in bench.server.rows(
        f"SELECT name, objects FROM (SELECT cache AS id, sum(live_objects) AS objects FROM {bench.database}.rows FINAL WHERE ts = "
        f"(SELECT max(ts) FROM {bench.database}.reports) GROUP BY id) ANY INNER JOIN (SELECT id, name FROM {bench.database}.names FINAL WHERE kind = 3) USING id")}
    now = {line.split()[0]: int(line.split()[1]) for line in
           pathlib.Path("/proc/slabinfo").read_text(encoding="ascii").splitlines() if not line.startswith(("#", "slabinfo"))}
    big = [name for name, count in now.items() if count > 5000 and name in caches]
    tap.check("sums by cache are about what slabinfo has", len(big) > 3 and
              sum(abs(caches[name] - now[name]) < now[name] / 2 for name in big) >= len(big) * 0.8, [(n, caches[n], now[n]) for n in big])


def test_away(bench):
    bench.clear()
    spool = bench.scratch / "away"
    want = bench.sim("--hosts", 5, "--hours", 1, "--spool", spool)
    bench.server.kill()
    gone = bench.agent("--drain", "--spool", spool, status=1)
    tap.check("without a server all stays in the spool", len(list(spool.glob("*.msg"))) == 300, gone.stderr)
    bench.server.start()
    bench.agent("--drain", "--spool", spool)
    tap.check("and is stored when it is back", bench.sums() == want and not list(spool.glob("*.msg")), (bench.sums(), want))
    (spool / "00000000000000000400.msg").write_bytes(b"KSFB but damaged")
    told = json.loads(bench.agent("--drain", "--spool", spool, "--json").stdout)
    tap.check("what is damaged is set aside and told", told["refused"] == 1 and (spool / "00000000000000000400.refused").exists(), told)
    bench.server.query(f"RENAME TABLE {bench.database}.rows TO {bench.database}.rows2")
    bench.sim("--hosts", 1, "--hours", 1, "--spool", spool)
    lost = bench.agent("--drain", "--spool", spool, status=1)
    tap.check("without tables nothing is refused for good", "Code: 60" in lost.stderr and len(list(spool.glob("*.msg"))) == 60, lost.stderr)
    bench.server.query(f"RENAME TABLE {bench.database}.rows2 TO {bench.database}.rows")


def test_config(bench):
    bench.clear()
    spool, config = bench.scratch / "config", bench.scratch / "agent.conf"
    want = bench.sim("--hosts", 2, "--hours", 1, "--spool", spool)
    config.write_text(f"# where to\nto = http://127.0.0.1:1/\ndatabase = {bench.database}\nspool = {spool}\nlabel = a=b\ndrain = yes\n", encoding="utf-8")
    tap.run(KMEMSCOPE, "agent", "--config", config, "--to", bench.server.url)
    tap.check("settings of a file, and the command line counts more", bench.sums() == want, (bench.sums(), want))
    config.write_text("to = http://127.0.0.1:1/\n\nnonsense = 1\n", encoding="ascii")
    wrong = tap.run(KMEMSCOPE, "agent", "--config", config, status=3)
    tap.check("what is no setting is named, with its line", "nonsense" in wrong.stderr and f"{config}:3" in wrong.stderr, wrong.stderr)
    etc = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging" / "etc"
    tap.run(KMEMSCOPE, "agent", "--config", etc / "agent.conf", "--drain", "--spool", spool, "--to", f"file:{bench.scratch / 'tables'}")
    refused = tap.run(KMEMSCOPE, "relay", "--config", etc / "relay.conf", "--spool", spool, "--tokens", bench.scratch / "none", status=1)
    tap.check("the examples are understood", "none: cannot read" in refused.stderr, refused.stderr)


def test_bound(bench):
    spool = bench.scratch / "bound"
    bench.sim("--hosts", 10, "--hours", 1, "--spool", spool, "--spool-size", 65536)
    left = list(spool.glob("*.msg"))
    dropped = 600 - len(left)
    tap.check("a spool has a bound", sum(file.stat().st_size for file in left) <= 65536 and dropped > 100, len(left))
    tap.check("the oldest were dropped", min(file.name for file in left) == f"{dropped + 1:020}.msg")
    tap.check("and counted", (spool / "dropped").read_text(encoding="ascii").split()[0] == str(dropped))
    # Killed after the count and before the removal: the message is removed later, and not counted again.
    shutil.copy(left[0], spool / f"{dropped:020}.msg")
    bench.clear()
    if not os.geteuid():
        bench.agent("--once", "--spool", spool, "--host", "lossy")
        got = bench.server.number(f"SELECT max(lost) FROM {bench.database}.reports")
        tap.check("the next report says how many", got == dropped, (got, dropped))
    else:
        bench.agent("--drain", "--spool", spool)
    got = bench.server.number(f"SELECT count() FROM {bench.database}.reports FINAL WHERE lost = 0")
    tap.check("what was left arrived", got == len(left), (got, len(left)))


def test_clock(bench):
    """The clock of the day is set back and forth: each look is stored, or counted as lost."""
    if os.geteuid():
        tap.skip("clock steps", "needs root")
        return
    bench.clear()
    spool, step, begin = bench.scratch / "clock", bench.scratch / "step", 1700006400
    library = bench.scratch / CLOCKSTEP.name # a blank in its path would make two of it
    library.symlink_to(CLOCKSTEP)
    env = {**os.environ, "LD_PRELOAD": str(library), "CLOCKSTEP": str(step), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    words = [str(word) for word in (KMEMSCOPE, "agent", "--to", "http://127.0.0.1:1/", "--spool", spool, "--interval", "1s")]

    def looks():
        return len(list(spool.glob("*.msg")))

    process, seconds = None, (0, 1, 2, 0, 1, 120) # it goes on, is set back, and forward
    for second in seconds:
        (bench.scratch / "new").write_text(str((begin + second) * 10**9 + 5 * 10**8), encoding="ascii")
        (bench.scratch / "new").rename(step) # at once, as a clock is
        process = process or subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
        before = looks()
        for _ in range(2400): # the second look after it sees it for sure
            if looks() >= before + 2:
                break
            time.sleep(0.05)
    process.terminate()
    process.wait()
    made = looks()
    bench.agent("--drain", "--spool", spool)
    intervals, skipped = map(int, bench.server.rows(f"SELECT count(), max(skipped) FROM {bench.database}.reports FINAL")[0])
    tap.check("a clock that is set back replaces intervals", intervals == len(set(seconds)) and made >= 2 * len(seconds), (made, intervals))
    tap.check("and they are counted", skipped >= made - intervals, (made, intervals, skipped))
    missing = json.loads(bench.fleet("quality", "--since", "1h", "--json").stdout)["hosts"]
    tap.check("what it jumped over is told as missing", missing and missing[0]["missing"] == 121 - intervals and missing[0]["skipped"] > 0, missing)


def test_faults(bench):
    """Senders and servers die at any moment: what the simulator counted is in the database, to the row."""
    rng = random.Random(SEED)
    bench.clear()
    spool = bench.scratch / "faults"
    want, start = {"rows": 0, "bytes": 0, "allocs": 0}, 1700006400
    for fault in range(FAULTS):
        more = bench.sim("--hosts", 20, "--hours", 1, "--span", 120, "--start", start + fault * 3600, "--spool", spool)
        want = {key: want[key] + more[key] for key in want}
        with subprocess.Popen(bench.command("--drain", "--spool", spool), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(rng.random() * 0.5)
            if fault % 2:
                bench.server.kill()
            process.kill()
        if fault % 2:
            bench.server.start()
    bench.agent("--drain", "--spool", spool)
    tap.check(f"sums are right after {FAULTS} kills", bench.sums() == want, (bench.sums(), want))
    tap.check("and every interval has its report", bench.server.number(f"SELECT count() FROM {bench.database}.reports FINAL") == FAULTS * 30 * 20)


def main():
    root = clickhouse.unpacked()
    if not root:
        tap.skip("a real server", "no clickhouse-server can be had here")
        return tap.finish()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None # spools sync each message: that is not what is tested here
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-") as where, \
            tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as scratch:
        server = clickhouse.Server(root, pathlib.Path(where) / "server")
        try:
            bench = Bench(server, pathlib.Path(scratch))
            bench.clear()
            for test in (test_live, test_sites, test_away, test_config, test_bound, test_clock, test_faults):
                test(bench)
        finally:
            server.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
