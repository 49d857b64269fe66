#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Questions to a fleet of a thousand hosts with one leaking build: questions.py KMEMSCOPE FLEETSIM. Speaks TAP.

The leak, the build and its first day are what the simulator was told to plant. Other answers are compared with
statements over the plain rows. A directory that an agent filled with the same rows must give the answers of the server.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import clickhouse  # noqa: E402

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HOURS, LEAK_BYTES = 34, 300000
LAST = 1700006400 + (HOURS - 1) * 3600
SERIES = {"cache": "cache-3", "type": "struct thing_3", "site": "make_thing_3+0x1c"}
BUILD = "6.12.3-fleet #4"


class Bench:
    def __init__(self, server, scratch):
        self.server, self.scratch, self.number = server, scratch, 0

    def run(self, *words, status=0):
        return tap.run(KMEMSCOPE, "fleet", *words, "--server", self.server.url, status=status)

    def ask(self, *words):
        return json.loads(self.run(*words, "--json").stdout)

    def fill(self, *words):
        """Fills the database. What was sent is one message in a spool of its own, too."""
        self.number += 1
        spool = self.scratch / f"spool{self.number}"
        spool.mkdir()
        message = spool / f"{1:020}.msg"
        with open(message, "wb") as out:
            subprocess.run([FLEETSIM, *map(str, words)], stdout=out, stderr=subprocess.DEVNULL, check=True)
        tap.run(KMEMSCOPE, "fleet", "push", message, "--server", self.server.url)
        self.run("rollup", "--keep", "36500")
        return spool


def test_leaks(bench):
    leaks = bench.ask("leaks")["leaks"]
    tap.check("the planted leak is named, and nothing else", len(leaks) == 1 and leaks[0]["build"] == BUILD and
              all(leaks[0][key] == name for key, name in SERIES.items()), leaks)
    leak = leaks[0] if leaks else {}
    tap.check("with its first day", leak.get("first_seen", "").startswith("2023-11-16") and leak.get("since", "").startswith("2023-11-16"), leak)
    tap.check("with its size", abs(leak.get("growth_per_host_hour", 0) - LEAK_BYTES) < 0.1 * LEAK_BYTES, leak)
    tap.check("and on all hosts of that build", leak.get("hosts") == 250 and leak.get("growing") == 250, leak)
    tap.check("a threshold above it names nothing", not bench.ask("leaks", "--least", "1M")["leaks"])
    tap.check("nor does another build", not bench.ask("leaks", "--build", "6.12.1-fleet #2")["leaks"])
    alone = bench.ask("leaks", "--hosts-alone")["hosts"]
    tap.check("the host with a leak of its own is named, and no other", {row["host"] for row in alone} == {"host0007"} and
              {row["type"] for row in alone} == {"struct thing_5"}, alone)
    text = bench.run("leaks").stdout
    tap.check("for people", "make_thing_3+0x1c" in text and BUILD in text, text)


def test_others(bench):
    last = f"ts >= toDateTime({LAST}) AND ts < toDateTime({LAST + 3600})"
    live = {int(kind): (int(b), int(o)) for kind, b, o in bench.server.rows(
        f"SELECT type, sum(b), sum(o) FROM (SELECT host, type, argMax(live_bytes, ts) AS b, argMax(live_objects, ts) AS o FROM kmemscope.rows FINAL "
        f"WHERE {last} GROUP BY host, boot, type) GROUP BY type")}
    names = {name: int(number) for number, name in bench.server.rows("SELECT id, name FROM kmemscope.names FINAL WHERE kind = 4")}
    top = bench.ask("top", "--by", "type")["groups"]
    tap.check("top has what is live", {names[row["type"]]: (row["live_bytes"], row["live_objects"]) for row in top} == live, (top, live))
    tap.check("the leaks grow most", [row["type"] for row in top[:2]] == ["struct thing_3", "struct thing_5"], top)
    tap.check("a limit", len(bench.ask("top", "--by", "site", "--top", "2")["groups"]) == 2)
    types = bench.ask("types")["types"]
    tap.check("types, the most bytes first", [row["live_bytes"] for row in types] == sorted((b for b, _ in live.values()), reverse=True) and
              {row["builds"] for row in types} == {4} and {row["first_seen"] for row in types} == {"2023-11-15 00:00:00"}, types)
    history = bench.ask("history", "--type", "struct thing_3", "--build", BUILD)["hours"]
    tap.check("history is that of the build alone, newest first", len(history) == 10 and history[0]["hosts"] == 250 and
              [row["hour"] for row in history] == sorted((row["hour"] for row in history), reverse=True) and
              {row["build"] for row in history} == {BUILD}, history)
    host = bench.ask("host", "host0007")["series"]
    want = {names_of: int(b) for names_of, b in bench.server.rows(
        f"SELECT type, argMax(live_bytes, ts) FROM kmemscope.rows FINAL WHERE {last} AND host = "
        "(SELECT id FROM kmemscope.names FINAL WHERE kind = 0 AND name = 'host0007') GROUP BY type")}
    tap.check("a host's rows", {str(names[row["type"]]): row["live_bytes"] for row in host} == want and host[0]["type"] == "struct thing_5", (host, want))
    diff = bench.ask("diff", "6.12.0-fleet #1", BUILD)["series"]
    most = diff[0] if diff else {}
    tap.check("two builds differ by the leak, first of all", most.get("type") == "struct thing_3" and most.get("sigmas", 0) > 20, diff)
    same = bench.ask("diff", "6.12.0-fleet #1", "6.12.2-fleet #3")["series"]
    tap.check("two others do not grow apart", all(abs(row["sigmas"]) < 6 for row in same) and len(same) == 6, same)
    for words in (("host", "host9999"), ("leaks", "--type", "x'; DROP TABLE kmemscope.rows; --"), ("diff", BUILD, "7.0")):
        wrong = bench.run(*words, status=1)
        tap.check(f"{words[0]} of a name that is not there is an error", "is known" in wrong.stderr, wrong.stderr)
    csv = bench.run("top", "--csv").stdout.splitlines()
    tap.check("CSV", csv[0] == "growth_bytes,live_bytes,live_objects,type" and len(csv) == 7, csv)


def differ(one, other):
    """Where two answers differ. Sums of floating-point numbers depend on their order: by one byte, or the last digits."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [key for key in one if differ(one[key], other[key])]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for a, b in zip(one, other) for found in differ(a, b)]
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return [] if abs(one - other) <= 1 or abs(one - other) < 1e-9 * abs(one) else [(one, other)]
    return [] if one == other else [(one, other)]


def test_files(bench, spool):
    """The same rows without a server."""
    where = bench.scratch / "files"
    for _ in range(2): # the second time nothing is new
        message = next(spool.glob("*.msg"))
        again = message.read_bytes()
        tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, "--to", f"file:{where}")
        message.write_bytes(again)
    tap.check("a file for each hour, and nothing else", len(list((where / "rows").iterdir())) == HOURS and
              len(list((where / "reports").iterdir())) == HOURS, list(where.rglob("*"))[:9])
    tap.check("nobody else may read them", all(not file.stat().st_mode & 0o77 for file in where.rglob("*")))
    for words in (("leaks",), ("leaks", "--hosts-alone"), ("leaks", "--build", BUILD), ("top", "--by", "cache"),
                  ("top", "--by", "site", "--top", "2"), ("top", "--by", "build", "--since", "3h"), ("types", "--build", BUILD),
                  ("history", "--since", "4h"), ("history", "--type", "struct thing_3", "--build", BUILD), ("host", "host0007"), ("host", "host0003", "--cache", "cache-1"),
                  ("diff", "6.12.0-fleet #1", BUILD), ("quality",), ("quality", "--build", BUILD, "--since", "2h")):
        want = bench.ask(*words)
        got = json.loads(tap.run(KMEMSCOPE, "fleet", *words, "--from", where, "--json").stdout)
        tap.check(f"a directory answers like the server: {' '.join(words)}", not differ(want, got), (differ(want, got), want, got))
    wrong = tap.run(KMEMSCOPE, "fleet", "host", "host9999", "--from", where, status=1)
    tap.check("a name that is not there is an error", "is known" in wrong.stderr, wrong.stderr)
    file = sorted((where / "rows").iterdir())[-1]
    whole = file.read_bytes()
    file.write_bytes(whole[:len(whole) // 2] + bytes(64) + whole[len(whole) // 2 + 64:])
    bad = tap.run(KMEMSCOPE, "fleet", "top", "--from", where, status=3)
    tap.check("a damaged file is named", file.name in bad.stderr and "damaged" in bad.stderr, bad.stderr)
    file.write_bytes(whole)
    empty = tap.run(KMEMSCOPE, "fleet", "top", "--from", bench.scratch, status=1)
    tap.check("a directory of something else is an error that says what to do", "--to file:" in empty.stderr, empty.stderr)


def test_quality(bench):
    bench.server.query("TRUNCATE TABLE kmemscope.reports")
    bench.fill("--hosts", 20, "--hours", 1, "--start", 1700200800)
    bench.fill("--hosts", 19, "--hours", 1, "--start", 1700200800 + 3600)
    hosts = {row["host"]: row for row in bench.ask("quality")["hosts"]}
    tap.check("a host that fell silent is told", hosts["host0019"]["silent_seconds"] == 3600 and hosts["host0018"]["silent_seconds"] == 0, hosts)
    tap.check("rows of the past are late, but none is missing", {row["missing"] for row in hosts.values()} == {0} and hosts["host0018"]["late"] == 120, hosts)
    bench.server.query("ALTER TABLE kmemscope.reports DELETE WHERE toMinute(ts) = 30")
    for _ in range(200):
        if not bench.server.number("SELECT count() FROM kmemscope.reports WHERE toMinute(ts) = 30"):
            break
        time.sleep(0.1)
    hosts = {row["host"]: row for row in bench.ask("quality")["hosts"]}
    tap.check("intervals that are missing are counted", hosts["host0018"]["missing"] == 2 and hosts["host0019"]["missing"] == 1, hosts)


def main():
    root = clickhouse.unpacked()
    if not root:
        tap.skip("a real server", "no clickhouse-server can be had here")
        return tap.finish()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None # each file is synced: that is not what is tested here
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-") as where, \
            tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as scratch:
        server = clickhouse.Server(root, pathlib.Path(where) / "server")
        try:
            bench = Bench(server, pathlib.Path(scratch))
            bench.run("setup")
            empty = bench.run("leaks")
            tap.check("an empty fleet has no leaks", "no build leaks" in empty.stdout, empty.stdout)
            spool = bench.fill("--hosts", 1000, "--hours", HOURS, "--span", 1800, "--series", 6, "--leak")
            test_leaks(bench)
            test_others(bench)
            test_files(bench, spool)
            test_quality(bench)
        finally:
            server.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
