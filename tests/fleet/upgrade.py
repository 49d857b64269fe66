#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An upgrade of the database, from Debian's ClickHouse to today's, while agents go on: upgrade.py KMEMSCOPE FLEETSIM. Speaks TAP.

The old server's parts are frozen, as for a backup, and attached to the new one's tables. Before, while no server is there, and after that
hosts make batches; the last one that the old server got is sent to the new one again. Then the new one has all rows, each once, and answers
what a directory of the same batches answers.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import answers  # noqa: E402
import chdb  # noqa: E402
import clickhouse  # noqa: E402

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
START, HOURS = 1700006400, 10
TABLES = ("rows", "reports", "names", "labels") # what can't be made again


class Hosts:
    """Simulated hosts, whose batches go to a spool and to a copy of it."""
    def __init__(self, scratch):
        self.spool, self.copy = scratch / "spool", scratch / "copy"
        self.spool.mkdir()
        self.copy.mkdir()
        self.want, self.hour, self.last = {"rows": 0, "bytes": 0, "allocs": 0}, 0, None

    def go_on(self, hours):
        for _ in range(hours):
            done = subprocess.run([FLEETSIM, "--hosts", "40", "--hours", "1", "--span", "1200", "--series", "6", "--leak", "--start", str(START + self.hour * 3600)],
                                  capture_output=True, check=True)
            more = {key: int(value) for key, value in (word.split("=") for word in done.stderr.decode().split())}
            self.want = {key: self.want[key] + more[key] for key in self.want}
            self.last = f"{self.hour + 1:020}.msg"
            for where in (self.spool, self.copy):
                (where / self.last).write_bytes(done.stdout)
            self.hour += 1

    def send(self, to, status=0):
        return tap.run(KMEMSCOPE, "agent", "--drain", "--spool", self.spool, "--to", to, status=status)


def freeze(server, where):
    """Copies of all parts of each table."""
    for table in TABLES:
        server.query(f"ALTER TABLE kmemscope.{table} FREEZE")
    for number in (server.dir / "data" / "shadow").iterdir():
        for table in TABLES:
            for part in number.glob(f"data/kmemscope/{table}/*"):
                shutil.copytree(part, where / table / part.name)


def attach(engine, where):
    for table in TABLES:
        home, = engine.rows(f"SELECT arrayElement(data_paths, 1) FROM system.tables WHERE database = 'kmemscope' AND name = '{table}'")[0]
        for part in (where / table).iterdir():
            shutil.copytree(part, pathlib.Path(home) / "detached" / part.name)
            engine.query(f"ALTER TABLE kmemscope.{table} ATTACH PART '{part.name}'")


def test_upgrade(server, engine, scratch):
    hosts = Hosts(scratch)
    tap.run(KMEMSCOPE, "fleet", "setup", "--server", server.url)
    hosts.go_on(4)
    hosts.send(server.url)
    tap.check("the old server has what was sent", server.sums("kmemscope") == hosts.want and not list(hosts.spool.glob("*.msg")), hosts.want)
    again = hosts.last
    freeze(server, scratch / "backup")
    server.kill()
    hosts.go_on(3)
    hosts.send(server.url, status=1)
    tap.check("while there is none, agents keep it", len(list(hosts.spool.glob("*.msg"))) == 3)

    tap.run(KMEMSCOPE, "fleet", "setup", "--server", engine.url)
    attach(engine, scratch / "backup")
    tap.check("the new one reads the old one's parts", engine.number("SELECT count() FROM kmemscope.rows") > 0)
    shutil.copy(hosts.copy / again, hosts.spool / again)
    hosts.go_on(3)
    hosts.send(engine.url)
    tap.check("it has all rows, each once", engine.sums("kmemscope") == hosts.want, (engine.sums("kmemscope"), hosts.want))
    tap.check("and a report of each interval", engine.number("SELECT count() FROM kmemscope.reports FINAL") == 40 * 3 * HOURS)
    tap.run(KMEMSCOPE, "fleet", "rollup", "--keep", "36500", "--server", engine.url)
    tap.run(KMEMSCOPE, "agent", "--drain", "--spool", hosts.copy, "--to", f"file:{scratch / 'files'}")
    for words in (("leaks",), ("top", "--by", "cache"), ("top", "--label", "role=web"), ("types",), ("history",), ("host", "host0007"), ("quality", "--since", "3h")):
        want = json.loads(tap.run(KMEMSCOPE, "fleet", *words, "--from", scratch / "files", "--json").stdout)
        got = json.loads(tap.run(KMEMSCOPE, "fleet", *words, "--server", engine.url, "--json").stdout)
        tap.check(f"and answers as a directory of them: {' '.join(words)}", not answers.differ(want, got), (answers.differ(want, got), want, got))


def main():
    root = clickhouse.unpacked()
    fetched = subprocess.run([sys.executable, pathlib.Path(__file__).resolve().parent.parent / "exports" / "fetch.py", "@chdb/lib-linux-x64-gnu"],
                             stdout=subprocess.PIPE, text=True, check=False)
    if not root or fetched.returncode:
        tap.skip("an upgrade", "no clickhouse-server or no chdb can be had here")
        return tap.finish()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as where:
        scratch = pathlib.Path(where)
        server = clickhouse.Server(root, scratch / "server")
        engine = chdb.Engine(pathlib.Path(fetched.stdout.strip()) / "libchdb.so", scratch / "engine")
        try:
            test_upgrade(server, engine, scratch)
        finally:
            server.close()
            engine.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
