#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Questions to a fleet of a thousand hosts with one leaking build: questions.py KMEMSCOPE FLEETSIM. Speaks TAP.

The leak, the build and its first day are what the simulator was told to plant. Other answers are compared with
statements over the plain rows. A directory that an agent filled with the same rows must give the answers of the server.

The server is Debian's. With ENGINE=chdb it is today's engine, by npm's chdb, in a process that answers like a server.
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import answers  # noqa: E402
import chdb  # noqa: E402
import clickhouse  # noqa: E402

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HOURS, LEAK_BYTES = 34, 300000
LAST = 1700006400 + (HOURS - 1) * 3600
SERIES = {"cache": "cache-3", "type": "struct thing_3", "site": "make_thing_3+0x1c"}
BUILD = "6.12.3-fleet #4"


class Bench:
    def __init__(self, server, scratch):
        self.server, self.scratch, self.number = server, scratch, 0
        self.database = "kmemscope"

    def run(self, *words, status=0):
        return tap.run(KMEMSCOPE, "fleet", *words, "--server", self.server.url, "--database", self.database, status=status)

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
        self.run("push", message)
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
    tap.check("for people, with units", "make_thing_3+0x1c" in text and BUILD in text and re.search(r"\d KiB", text), text)
    tap.check("and with all digits for who wants them", str(leak.get("growth_per_host_hour")) in bench.run("leaks", "--bytes").stdout)


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
        tap.check(f"a directory answers like the server: {' '.join(words)}", not answers.differ(want, got), (answers.differ(want, got), want, got))
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


def test_few(bench):
    """Few hosts may be alike by chance: none of them is accused for that, and a real leak still is."""
    for hosts in (5, 9, 14, 20):
        for seed in (1, 2):
            for leak in ([], ["--leak"])[:1 + (hosts >= 20)]:
                spool, where = bench.scratch / f"few-{hosts}-{seed}-{len(leak)}", bench.scratch / f"few-files-{hosts}-{seed}-{len(leak)}"
                spool.mkdir()
                with open(spool / f"{1:020}.msg", "wb") as out:
                    subprocess.run([FLEETSIM, "--hosts", str(hosts), "--hours", "36", "--span", "900", "--series", "8", "--seed", str(seed), *leak],
                                   stdout=out, stderr=subprocess.DEVNULL, check=True)
                tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, "--to", f"file:{where}")
                hosts_alone, builds = (json.loads(tap.run(KMEMSCOPE, "fleet", "leaks", *words, "--from", where, "--json").stdout)
                                       for words in (["--hosts-alone"], []))
                named = {(row["host"], row["type"]) for row in hosts_alone["hosts"]}, {(row["build"], row["type"]) for row in builds["leaks"]}
                want = ({("host0007", "struct thing_5")}, {(BUILD, "struct thing_3")}) if leak else (set(), set())
                tap.check(f"{hosts} hosts{' with a leak' if leak else ''}, seed {seed}: what is planted is named, and nothing else", named == want, named)


def test_by(bench):
    """By stack, cgroup, host and label; some of the hosts: compared with statements over the plain rows."""
    start, bench.database = 1700300000 // 3600 * 3600, "by"
    bench.run("setup")
    spool = bench.fill("--hosts", 24, "--hours", 3, "--span", 600, "--series", 6, "--stacks", "--start", start)
    where = bench.scratch / "by"
    tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, "--to", f"file:{where}")
    last = f"ts >= toDateTime({start + 7200}) AND ts < toDateTime({start + 10800})"
    names = {(int(kind), int(number)): name for kind, number, name in bench.server.rows("SELECT kind, id, name FROM by.names FINAL")}
    for by, kind in (("stack", 6), ("cgroup", 7), ("host", 0)):
        want = {names[(kind, int(number))]: int(b) for number, b in bench.server.rows(
            f"SELECT {by}, sum(b) FROM (SELECT host, boot, type, {by + ',' if by != 'host' else ''} argMax(live_bytes, ts) AS b FROM by.rows FINAL "
            f"WHERE {last} GROUP BY host, boot, type{', ' + by if by != 'host' else ''}) GROUP BY {by}")}
        got = bench.ask("top", "--by", by, "--since", "3h")
        tap.check(f"top by {by}", {row[by]: row["live_bytes"] for row in got["groups"]} == want and len(want) == {"stack": 6, "cgroup": 3, "host": 24}[by], (got, want))
    roles = {value: int(b) for value, b in bench.server.rows(
        "SELECT value, sum(b) FROM (SELECT host, type, argMax(live_bytes, ts) AS b FROM by.rows FINAL "
        f"WHERE {last} GROUP BY host, boot, type) AS r ANY LEFT JOIN (SELECT host, value FROM by.labels FINAL WHERE label = 'role') AS l USING host GROUP BY value")}
    got = bench.ask("top", "--by", "label:role", "--since", "3h")["groups"]
    tap.check("top by a label", {row["label"]: row["live_bytes"] for row in got} == roles and set(roles) == {"web", "db"}, (got, roles))
    total = sum(row["live_bytes"] for row in bench.ask("top", "--label", "role=web", "--since", "3h")["groups"])
    tap.check("hosts with a label alone", total == roles.get("web"), (total, roles))
    tap.check("a label that nobody has", not bench.ask("top", "--label", "role='; DROP TABLE x", "--since", "3h")["groups"])
    for words in (("top", "--by", "stack"), ("top", "--by", "cgroup", "--build", "6.12.1-fleet #2"), ("top", "--by", "host", "--top", "5"), ("top", "--by", "label:role"),
                  ("top", "--label", "role=web"), ("history", "--label", "role=db"), ("types", "--label", "role=db"), ("leaks", "--label", "role=web", "--sigmas", "1", "--least", "1"),
                  ("diff", "6.12.0-fleet #1", "6.12.1-fleet #2", "--label", "role=web"), ("quality", "--label", "role=web")):
        want = bench.ask(*words, "--since", "3h")
        got = json.loads(tap.run(KMEMSCOPE, "fleet", *words, "--since", "3h", "--from", where, "--json").stdout)
        tap.check(f"a directory answers like the server: {' '.join(words)}", not answers.differ(want, got), (answers.differ(want, got), want, got))
    test_dashboards(bench, start)
    wrong = bench.run("top", "--by", "nonsense", status=2)
    tap.check("what is none of these is an error", "label:NAME" in wrong.stderr, wrong.stderr)
    wrong = bench.run("top", "--label", "role", status=2)
    tap.check("a label without a value is an error", "NAME=VALUE" in wrong.stderr, wrong.stderr)
    bench.database = "kmemscope"


def fields(data):
    """The fields of a protocol buffer's message: (number, value)."""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    at = 0
    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            at += size
            yield tag >> 3, data[at - size:at]
        else:
            yield tag >> 3, varint()


def varints(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def test_reports(bench, spool):
    """Answers in files. What they hold is compared with what the question prints."""
    where, page, profile, table = (bench.scratch / name for name in ("files", "page.html", "profile.pb.gz", "table.parquet"))
    tap.run(KMEMSCOPE, "fleet", "html", "leaks", "--from", where, "-o", page)
    text = page.read_text(encoding="utf-8")
    tap.check("a page has the leak, and a line for each build", all(name in text for name in (*SERIES.values(), BUILD)) and text.count("<polyline") == 4, text[-3000:])
    tap.check("without scripts, and nobody else may read it", "<script" not in text and "default-src 'none'" in text and not page.stat().st_mode & 0o77)
    stacks = bench.scratch / "stacks"
    with open(bench.scratch / "stacks.batch", "wb") as out:
        subprocess.run([FLEETSIM, "--hosts", "4", "--hours", "2", "--span", "1800", "--stacks"], stdout=out, stderr=subprocess.DEVNULL, check=True)
    message = next(spool.glob("*.msg"), spool / f"{1:020}.msg")
    message.write_bytes((bench.scratch / "stacks.batch").read_bytes())
    tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, "--to", f"file:{stacks}")
    tap.run(KMEMSCOPE, "fleet", "export", "top", "--by", "stack", "--format", "pprof", "--from", stacks, "-o", profile)
    want = {row["stack"]: [row["live_objects"], row["live_bytes"]] for row in
            json.loads(tap.run(KMEMSCOPE, "fleet", "top", "--by", "stack", "--from", stacks, "--json").stdout)["groups"]}
    parts = list(fields(gzip.decompress(profile.read_bytes())))
    strings = [value.decode() for number, value in parts if number == 6]
    functions = {dict(fields(value))[1]: strings[dict(fields(value))[2]] for number, value in parts if number == 5}
    places = {dict(fields(value))[1]: functions[dict(fields(dict(fields(value))[4]))[1]] for number, value in parts if number == 4}
    got = {}
    for number, value in parts:
        if number == 2:
            sample = dict(fields(value))
            got[";".join(places[place] for place in reversed(varints(sample[1])))] = varints(sample[2])
    tap.check("a profile has the stacks, outermost last, with objects and bytes", got == want and len(want) == 12, (got, want))
    tap.run(KMEMSCOPE, "fleet", "export", "top", "--from", stacks, "-o", table)
    data = table.read_bytes()
    tap.check("a Parquet file", data[:4] == b"PAR1" and data[-4:] == b"PAR1" and b"growth_bytes" in data, data[:40])
    for words, error in ((["html", "leaks"], "-o FILE"), (["export", "leaks", "--format", "pprof", "-o", page], "--by stack"), (["html", "setup"], "setup")):
        wrong = tap.run(KMEMSCOPE, "fleet", *words, "--from", stacks, status=2)
        tap.check(f"{' '.join(map(str, words[:2]))}: {error}", error in wrong.stderr, wrong.stderr)


def test_dashboards(bench, start):
    """The statements of the dashboards, with what Grafana would put in: they say what the commands say."""
    values = {"type": "struct thing_3", "host": "host0003"}
    panels = {}
    for file in sorted((pathlib.Path(__file__).resolve().parent.parent.parent / "packaging" / "grafana" / "dashboards").glob("*.json")):
        board = json.loads(file.read_text(encoding="utf-8"))
        for name, query in [(panel["title"], target) for panel in board["panels"] for target in panel["targets"]] + \
                [(variable["name"], variable["query"]) for variable in board["templating"]["list"]]:
            if "rawSql" in query:
                sql = query["rawSql"].replace("kmemscope.", f"{bench.database}.").replace("$__fromTime", f"toDateTime({start})").replace("$__toTime", f"toDateTime({start + 10800})")
                panels[file.stem, name] = bench.server.rows(re.sub(r"\$\{(\w+):sqlstring\}", lambda found: f"'{values[found.group(1)]}'", sql))
    since = ("--since", "3h")
    history, typed = (bench.ask("history", *since, *words)["hours"] for words in ((), ("--type", values["type"])))
    stacks = bench.ask("top", "--by", "stack", *since)["groups"]
    host = bench.ask("host", values["host"], *since)["series"]

    def lines(rows, column):
        return sorted((row["hour"], row["build"], row[column]) for row in rows)

    def numbers(rows):
        return sorted((time, build, int(float(value))) for time, build, value in rows)

    def of_top(by):
        return [[str(row[key]) for key in ("growth_bytes", "live_bytes", "live_objects", by)] for row in bench.ask("top", "--by", by, *since)["groups"]]

    wanted = {
        ("fleet", "Live memory by build"): lambda rows: numbers(rows) == lines(history, "live_bytes"),
        ("fleet", "Hosts that report"): lambda rows: rows == [["24"]],
        ("fleet", "Intervals lost by agents"): lambda rows: rows == [["0"]],
        ("fleet", "Growth by type"): lambda rows: rows == of_top("type"),
        ("fleet", "Growth by cache"): lambda rows: rows == of_top("cache"),
        ("fleet", "Silent hosts"): lambda rows: not rows,
        ("builds", "Live bytes a host"): lambda rows: numbers(rows) == lines(typed, "live_per_host"),
        ("builds", "Growth a host, bytes an hour"): lambda rows: numbers(rows) == lines(typed, "growth_per_host"),
        ("builds", "Hosts"): lambda rows: numbers(rows) == lines(typed, "hosts"),
        ("builds", "type"): lambda rows: [values["type"]] in rows and len(rows) == 6,
        ("host", "Live memory by cache"): lambda rows: sum(int(float(value)) for time, _, value in rows if time == rows[-1][0]) == sum(row["live_bytes"] for row in host),
        ("host", "Live memory by type"): lambda rows: {row[3]: int(row[0]) for row in rows} == {row["type"]: row["live_bytes"] for row in host},
        ("host", "Last report"): lambda rows: rows[0][0] == bench.server.query(f"SELECT toDateTime({start + 10200}, 'UTC')").strip(),
        ("host", "host"): lambda rows: len(rows) == 24,
        ("flame", "Live bytes by stack"): lambda rows: int(rows[0][2]) == sum(row["live_bytes"] for row in stacks) and
            sorted(int(row[3]) for row in rows if int(row[3])) == sorted(row["live_bytes"] for row in stacks) and [row[0] for row in rows[:3]] == ["0", "1", "2"],
    }
    tap.check("every statement of the dashboards is held against a command", panels.keys() == wanted.keys(), panels.keys() ^ wanted.keys())
    for key in sorted(panels.keys() & wanted.keys()):
        tap.check(f"dashboard {key[0]}: {key[1]}", wanted[key](panels[key]), panels[key][:20])


def test_quality(bench):
    def forget_sums():
        for table in ("host_reports", "rollups"):
            bench.server.query(f"TRUNCATE TABLE kmemscope.{table}")

    bench.server.query("TRUNCATE TABLE kmemscope.reports")
    forget_sums()
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
    forget_sums()
    hosts = {row["host"]: row for row in bench.ask("quality")["hosts"]}
    tap.check("intervals that are missing are counted", hosts["host0018"]["missing"] == 2 and hosts["host0019"]["missing"] == 1, hosts)


def start(where):
    """A server, or None where there can be none."""
    if os.environ.get("ENGINE") != "chdb":
        root = clickhouse.unpacked()
        return clickhouse.Server(root, where / "server") if root else None
    fetched = subprocess.run([sys.executable, pathlib.Path(__file__).resolve().parent.parent / "exports" / "fetch.py", "@chdb/lib-linux-x64-gnu"],
                             stdout=subprocess.PIPE, text=True, check=False)
    if fetched.returncode:
        return None
    engine = chdb.Engine(pathlib.Path(fetched.stdout.strip()) / "libchdb.so", where / "engine")
    known = {name for name, in engine.rows("SELECT name FROM system.settings")}
    tap.check("it knows the settings that come with inserts", chdb.SETTINGS - {"wait_end_of_query"} <= known, known)
    codecs = engine.number("SELECT toInt32(value) FROM (SELECT splitByChar('.', version())[1] AS value)")
    tap.check("it is of today, with codecs", codecs >= 20, codecs)
    return engine


def main():
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None # each file is synced: that is not what is tested here
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-") as where, \
            tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as scratch:
        server = start(pathlib.Path(where))
        if not server:
            tap.skip("a real server", "none can be had here")
            return tap.finish()
        try:
            bench = Bench(server, pathlib.Path(scratch))
            bench.run("setup")
            empty = bench.run("leaks")
            tap.check("an empty fleet has no leaks", "no build leaks" in empty.stdout, empty.stdout)
            spool = bench.fill("--hosts", 1000, "--hours", HOURS, "--span", 1800, "--series", 6, "--leak")
            test_leaks(bench)
            test_others(bench)
            test_files(bench, spool)
            test_few(bench)
            test_reports(bench, spool)
            test_by(bench)
            test_quality(bench)
        finally:
            server.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
