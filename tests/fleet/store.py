#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is stored on a real server, and how it is added up: store.py KMEMSCOPE FLEETSIM. Speaks TAP.

What must be there is what the simulated fleet says of itself; sums are compared with sums over the plain rows, and
slopes with a least-squares fit written out here.
"""
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import clickhouse  # noqa: E402

START = 1700006400
KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])


class Bench:
    def __init__(self, server, scratch):
        self.server, self.scratch = server, scratch

    def fleet(self, *words, status=0, database="kmemscope", **more):
        return tap.run(KMEMSCOPE, "fleet", *words, "--server", self.server.url, "--database", database, status=status, **more)

    def sim(self, name, *words):
        """A file of batches, and the numbers that the simulator says of it."""
        file = self.scratch / name
        with open(file, "wb") as out:
            done = subprocess.run([FLEETSIM, *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True, check=True)
        return file, {key: int(value) for key, value in (word.split("=") for word in done.stderr.split())}

    def sums(self, final="FINAL", database="kmemscope"):
        return self.server.sums(database, final)

    def settle(self):
        """Until the server's clock has left the second of the last report: sums that are made then stay as they are."""
        while not self.server.number("SELECT toUInt32(now()) > toUInt32(max(stored)) + 1 FROM kmemscope.reports"):
            time.sleep(0.1)


def test_setup(bench):
    statements = bench.fleet("setup", "--dry-run").stdout
    tap.check("a dry run prints statements and makes nothing", statements.startswith("CREATE DATABASE") and
              not bench.server.rows("SELECT name FROM system.databases WHERE name = 'kmemscope'"), statements)
    told = json.loads(bench.fleet("setup", "--hosts", "10000", "--json").stdout)
    cost = {row["what"]: row["amount"] for row in told["cost"]}
    tap.check("the tables are made, and the cost is told", told["version_before"] == 0 and cost["rows a second"] == 50000, told)
    tap.check("a second time nothing is made", json.loads(bench.fleet("setup", "--json").stdout)["version_before"] == 2)
    tap.check("all tables of the dry run are there", {line.split()[5].split(".")[1] for line in statements.splitlines() if " TABLE " in line} ==
              {row[0] for row in bench.server.rows("SHOW TABLES FROM kmemscope")})
    bench.server.query("INSERT INTO kmemscope.meta (version) VALUES (99)")
    newer = bench.fleet("setup", status=3)
    tap.check("tables of a newer program are left alone", "version 99" in newer.stderr, newer.stderr)
    bench.server.query("DROP DATABASE kmemscope")
    bench.fleet("setup")


def test_push(bench):
    file, want = bench.sim("two-hours", "--hosts", 20, "--hours", 2)
    told = json.loads(bench.fleet("push", file, "--json").stdout)
    tap.check("all rows are stored", bench.sums() == want and told["rows"] == want["rows"], (bench.sums(), want))
    bench.fleet("push", file)
    tap.check("sent again, nothing counts twice", bench.sums() == want, (bench.sums(), want))
    tap.check("every id has its name", not bench.server.rows(
        "SELECT DISTINCT type FROM kmemscope.rows WHERE type NOT IN (SELECT id FROM kmemscope.names WHERE kind = 4)"))
    tap.check("labels are there", bench.server.rows("SELECT value, count() FROM kmemscope.labels FINAL GROUP BY value ORDER BY value") ==
              [["db", "10"], ["web", "10"]])
    data = file.read_bytes()
    (bench.scratch / "cut").write_bytes(data[:-3])
    cut = bench.fleet("push", bench.scratch / "cut", status=3)
    tap.check("a file that is cut off is refused, with the place", "from byte" in cut.stderr, cut.stderr)
    (bench.scratch / "text").write_bytes(b"no batch\n")
    tap.check("a file of another kind is refused", bench.fleet("push", bench.scratch / "text", status=None).returncode in (1, 3))
    # A newer version of an interval replaces the older one, in whatever order they come.
    bench.fleet("push", file)
    tap.check("names are stored once", bench.server.number("SELECT count() - uniqExact(kind, id) FROM kmemscope.names FINAL") == 0)


STACKS = """          prog-1234    [000] .....   100.000001: kmalloc: call_site=make_thing+0x1c/0x40 ptr=00000000aaaa0001 bytes_req=60 bytes_alloc=64 gfp_flags=GFP_KERNEL node=-1 accounted=false
          prog-1234    [000] .....   100.000002: <stack trace>
 => make_thing+0x1c/0x40
 => do_call+0x10/0x20
 => entry_point+0x5/0x9
          prog-1234    [000] .....   100.000003: kmalloc: call_site=make_thing+0x1c/0x40 ptr=00000000aaaa0002 bytes_req=60 bytes_alloc=64 gfp_flags=GFP_KERNEL node=-1 accounted=false
          prog-1234    [000] .....   100.000004: <stack trace>
 => make_thing+0x1c/0x40
 => do_call+0x10/0x20
 => entry_point+0x5/0x9
          prog-1234    [000] .....   102.500000: kfree: call_site=drop_thing+0x8/0x10 ptr=00000000aaaa0001
"""


def test_captures(bench):
    """A capture is an interval. What it must hold is counted in its text."""
    log = pathlib.Path(__file__).resolve().parent.parent / "data" / "sample.log"
    bench.fleet("setup", database="captures")
    words = ("push", log, "--host", "web1", "--build", "6.1 #1")
    for lacking, option in ((words[:2], "--host"), (words, "--at")):
        told = bench.fleet(*lacking, status=None, database="captures")
        tap.check(f"a capture that needs {option} says so", told.returncode in (1, 2) and option in told.stderr, told.stderr)
    live, allocs = {}, 0
    for name, ptr, size in re.findall(r": (kmalloc|kmem_cache_alloc|kfree|kmem_cache_free)(?:_node)?: .*?ptr=(\S+)(?:.*bytes_alloc=(\d+))?", log.read_text(encoding="ascii")):
        allocs += bool(size)
        if size:
            live[ptr] = int(size)
        else:
            live.pop(ptr, None)
    bench.fleet(*words, "--at", START, database="captures")
    bench.fleet(*words, "--at", START, database="captures")
    got = bench.sums(database="captures")
    tap.check("its allocations are there, once, and what lives", got["allocs"] == allocs and got["bytes"] == sum(live.values()), (got, allocs, sum(live.values())))
    (bench.scratch / "stacks.log").write_text(STACKS, encoding="ascii")
    bench.fleet("push", bench.scratch / "stacks.log", "--host", "web2", "--build", "6.1 #1", "--at", START, database="captures")
    rows = bench.server.rows("SELECT live_bytes, live_objects, allocs, frees, span, name FROM captures.rows FINAL ANY LEFT JOIN "
                             "(SELECT id AS stack, name FROM captures.names WHERE kind = 6) USING stack WHERE stack != 0")
    tap.check("with stacks, outermost first", rows == [["64", "1", "2", "1", "3", "entry_point;do_call;make_thing+0x1c"]], rows)
    bench.fleet("rollup", "--keep", "36500", database="captures")
    hosts = json.loads(bench.fleet("top", "--by", "host", "--json", database="captures").stdout)["groups"]
    tap.check("and questions know it", {row["host"]: row["live_bytes"] for row in hosts} == {"web1": sum(live.values()), "web2": 64}, hosts)


def fit(points):
    """The slope of the least-squares line through (hours, bytes)."""
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    return sum((p[0] - x) * (p[1] - y) for p in points) / sum((p[0] - x) ** 2 for p in points)


def test_rollup(bench):
    bench.settle()
    told = json.loads(bench.fleet("rollup", "--keep", "36500", "--json").stdout)
    tap.check("all minutes and hours are added up", (told["minutes"], told["hours"]) == (120, 2), told)
    by_rows = bench.server.rows("SELECT ts, type, sum(live_bytes), sum(live_objects), sum(allocs), uniqExact(host) FROM kmemscope.rows FINAL "
                                "GROUP BY ts, type ORDER BY ts, type")
    by_sums = bench.server.rows("SELECT ts, type, sum(live_bytes), sum(live_objects), sum(allocs), sum(hosts) FROM kmemscope.minute FINAL "
                                "GROUP BY ts, type ORDER BY ts, type")
    tap.check("sums by minute are those of the rows", by_rows == by_sums and len(by_rows) == 120 * 12, (by_rows[:2], by_sums[:2]))
    host, series = bench.server.rows("SELECT host, type FROM kmemscope.rows ORDER BY host, type LIMIT 1")[0]
    points = [(int(at) / 3600, int(live)) for at, live in bench.server.rows(
        f"SELECT toUInt32(ts) - {START}, live_bytes FROM kmemscope.rows FINAL WHERE host = {host} AND type = {series} AND ts < toDateTime({START + 3600})")]
    got = float(bench.server.query(f"SELECT growth FROM kmemscope.host_hour FINAL WHERE host = {host} AND type = {series} AND hour = toDateTime({START})"))
    tap.check("growth of a host is that of a least-squares fit", abs(got - fit(points)) < 1e-6 * abs(got) + 1e-3, (got, fit(points)))
    sums = bench.server.rows("SELECT a.1, a.2 FROM (SELECT arrayJoin([(sum(growth), sum(growth * growth))]) AS a FROM kmemscope.host_hour FINAL)")[0]
    hours = bench.server.rows("SELECT sum(growth), sum(growth_sq) FROM kmemscope.hour FINAL")[0]
    tap.check("sums by build are those of the hosts", all(abs(float(a) - float(b)) <= 1e-9 * abs(float(a)) for a, b in zip(sums, hours)), (sums, hours))
    late, _ = bench.sim("late", "--hosts", 21, "--hours", 1, "--span", 1800)
    before = bench.server.rows("SELECT hour, max(hosts) FROM kmemscope.hour FINAL GROUP BY hour ORDER BY hour")
    bench.fleet("push", late)
    told = json.loads(bench.fleet("rollup", "--keep", "36500", "--json").stdout)
    after = bench.server.rows("SELECT hour, sum(hosts) FROM kmemscope.hour FINAL WHERE type = (SELECT min(type) FROM kmemscope.hour) GROUP BY hour ORDER BY hour")
    tap.check("late rows are added up again, and only where they are", told["hours"] == 1 and told["minutes"] == 2 and
              [row[1] for row in after] == ["21", "20"], (told, before, after))


def test_examples(bench):
    """packaging/clickhouse: what comes with it is what the server of this test runs with."""
    bench.server.query("CREATE TABLE kmemscope.digits (x UInt64) ENGINE = MergeTree() ORDER BY tuple()")
    bench.server.query("INSERT INTO kmemscope.digits SELECT sipHash64(number) % 16 FROM system.numbers LIMIT 1000000")
    size = bench.server.number("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'digits'")
    bench.server.query("DROP TABLE kmemscope.digits")
    tap.check("rows are compressed by zstd", size < 1500000, size) # 748 kB; lz4 makes 2.8 MB of it
    secret = bench.scratch / "example"
    secret.write_text("change-me\n", encoding="ascii")
    reader, writer = (("--user", f"kmemscope_{name}", "--password-file", secret) for name in ("reader", "writer"))
    bench.fleet("top", *reader)
    file, _ = bench.sim("one", "--hosts", 1, "--minutes", 1)
    denied = bench.fleet("push", file, *reader, status=1)
    tap.check("who asks may not store", "readonly" in denied.stderr, denied.stderr)
    bench.fleet("push", file, *writer)
    tap.check("who stores may", True)


def test_rights(bench):
    (bench.scratch / "password").write_text("s3cr&t\n", encoding="ascii")
    (bench.scratch / "wrong").write_text("guess\n", encoding="ascii")
    ok = bench.fleet("setup", "--user", "fleet", "--password-file", bench.scratch / "password")
    tap.check("a user with a password", "already" in ok.stdout, ok.stdout)
    wrong = bench.fleet("setup", "--user", "fleet", "--password-file", bench.scratch / "wrong", status=1)
    tap.check("a wrong password is told, but not which", "Code: 19" in wrong.stderr and "guess" not in wrong.stderr, wrong.stderr)
    bad = bench.fleet("setup", database="a;DROP TABLE x", status=2)
    tap.check("a name that is none gets into no statement", "is no name of a database" in bad.stderr, bad.stderr)
    none = tap.run(KMEMSCOPE, "fleet", "setup", "--server", "ftp://x/", status=2)
    tap.check("only http and https", "http" in none.stderr, none.stderr)


def test_death(bench):
    want = bench.sums()
    bench.server.kill()
    gone = bench.fleet("setup", status=1)
    tap.check("a server that is away is told", "127.0.0.1" in gone.stderr, gone.stderr)
    bench.server.start()
    tap.check("what was stored is there after kill -9", bench.sums() == want, (bench.sums(), want))


def test_silence():
    """A server that takes a statement and says nothing: who waits for it ends with a signal all the same."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        words = (KMEMSCOPE, "fleet", "rollup", "--every", "60s", "--server", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            connection, _ = silent.accept()
            connection.recv(1)
            process.terminate()
            _, said = process.communicate()
        connection.close()
    tap.check("a signal ends it while a server says nothing", process.returncode == 0 and not said, (process.returncode, said))


def main():
    root = clickhouse.unpacked()
    if not root:
        tap.skip("a real server", "no clickhouse-server can be had here")
        return tap.finish()
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-") as scratch:
        server = clickhouse.Server(root, pathlib.Path(scratch) / "server")
        try:
            bench = Bench(server, pathlib.Path(scratch))
            for test in (test_setup, test_push, test_captures, test_rollup, test_rights, test_examples, test_death):
                test(bench)
            test_silence()
        finally:
            server.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
