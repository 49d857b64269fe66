#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sums that are made of sums, by host, by label and of reports: sums.py KMEMSCOPE FLEETSIM. Speaks TAP.

Answers from them are compared with the answers to the same questions without them, and with a directory of the same rows. Then the tables that
they are made of are emptied, so that an answer shows where it comes from. Tables of version 1 are brought up to date.
"""
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import answers  # noqa: E402
import questions  # noqa: E402

START, HOURS = 1699992000, 8 # over midnight
SHORT = ("host_sum", "label_hour", "host_reports")
BUILDS = ("6.12.0-fleet #1", "6.12.3-fleet #4")
WEB = ("--label", "role=web")
OF_LABELS = [(*words, *WEB) for words in (("leaks",), ("leaks", "--hosts-alone"), ("top", "--by", "cache"), ("top", "--by", "type", "--site", "make_thing_1+0x1c"), ("types",), ("history",),
                                          ("diff", *BUILDS))]
OF_HOSTS = [("top", "--by", "host"), ("top", "--by", "label:role"), ("top", "--by", "host", *WEB), ("top", "--by", "label:machine"), ("top", "--by", "host", "--build", BUILDS[1]),
            ("top", "--by", "label:serial", "--top", "5")]
OF_SOME_SERIES = [("top", "--by", "host", "--cache", "cache-3"), ("top", "--by", "label:role", "--type", "struct thing_3", "--build", BUILDS[1])]
OF_REPORTS = [("quality",), ("quality", "--since", "7h"), ("quality", "--build", BUILDS[1]), ("quality", *WEB)]


def empty(bench, *tables):
    for table in tables:
        bench.server.query(f"TRUNCATE TABLE kmemscope.{table}")


def again(bench, table, hours=HOURS):
    """What is in a table of these hours comes once more, so that it is added up again."""
    names = [name for name, in bench.server.rows(f"SELECT name FROM system.columns WHERE database = 'kmemscope' AND table = '{table}' AND name != 'stored'")]
    bench.server.query(f"INSERT INTO kmemscope.{table} ({', '.join(names)}) SELECT {', '.join(names)} FROM kmemscope.{table} WHERE ts < toDateTime({START + hours * 3600})")


def rollup(bench):
    bench.run("rollup", "--keep", "36500")


def all_of(bench):
    return {words: bench.ask(*words) for words in (*OF_LABELS, *OF_HOSTS, *OF_SOME_SERIES, *OF_REPORTS)}


def compare(name, want, got):
    for words, answer in want.items():
        tap.check(f"{name}: {' '.join(words)}", not answers.differ(answer, got[words]), (answers.differ(answer, got[words]), answer, got[words]))


def test_paths(bench, spool):
    """From the sums, without them, and from files."""
    with_sums = all_of(bench)
    tap.check("the leak of the web hosts is found by their sums", [row["type"] for row in with_sums[OF_LABELS[0]]["leaks"]] == ["struct thing_3"], with_sums[OF_LABELS[0]])
    where = bench.scratch / "files"
    tap.run(questions.KMEMSCOPE, "agent", "--drain", "--spool", spool, "--to", f"file:{where}")
    files = {words: json.loads(tap.run(questions.KMEMSCOPE, "fleet", *words, "--from", where, "--json").stdout) for words in with_sums if "label:serial" not in words and "label:machine" not in words}
    compare("as a directory", files, with_sums)
    empty(bench, *SHORT, "rollups")
    without = {words: bench.ask(*words) for words in (*OF_LABELS, *OF_HOSTS, *OF_REPORTS)}
    compare("as without sums", without, with_sums)
    again(bench, "reports")
    empty(bench, "host_reports")
    rollup(bench)
    return {words: bench.ask(*words) for words in with_sums}


def test_used(bench, want):
    """What is not there can't be asked."""
    empty(bench, "host_hour")
    bench.server.query("ALTER TABLE kmemscope.reports DROP PARTITION 20231114")
    got = all_of(bench)
    tap.check("sums by host and hour are asked where series are", all(not got[words]["groups"] for words in OF_SOME_SERIES))
    compare("from the sums alone", {words: want[words] for words in (*OF_LABELS, *OF_HOSTS)}, got)
    for words in OF_REPORTS:
        tap.check(f"from the sums alone: {' '.join(words)}", not answers.differ(want[words], got[words]), (want[words], got[words]))


def test_labels(bench):
    """Values come and go, and some labels have too many."""
    tap.check("labels with few values have sums", {label for label, in bench.server.rows("SELECT DISTINCT label FROM kmemscope.label_hour")} == {"role", "machine"})
    one = bench.server.rows("SELECT id, name FROM kmemscope.names FINAL WHERE kind = 0 AND name = 'host0011'")[0][0]
    serial = bench.ask("top", "--by", "cache", "--label", f"serial={one}")["groups"]
    host = bench.ask("host", "host0011")["series"]
    tap.check("a label with many is asked of the sums by host", sum(row["live_bytes"] for row in serial) == sum(row["live_bytes"] for row in host) > 0, (serial, host))
    before = sum(row["live_bytes"] for row in bench.ask("top", *WEB)["groups"])
    bench.server.query(f"INSERT INTO kmemscope.labels (host, label, value, ver) VALUES ({one}, 'role', 'db', {2 ** 63})")
    again(bench, "reports")
    rollup(bench)
    after = sum(row["live_bytes"] for row in bench.ask("top", *WEB)["groups"])
    tap.check("a host that is no longer one of them does not count", before - after == sum(row["live_bytes"] for row in host), (before, after, host))
    for number, value in ((1, "db"), (2, "web")): # where nobody has a value, no sum replaces the old one
        bench.server.query(f"INSERT INTO kmemscope.labels (host, label, value, ver) SELECT DISTINCT host, 'role', '{value}', toUInt64({2 ** 62 + number}) FROM kmemscope.labels "
                           "WHERE label = 'role' AND value = 'web'")
        time.sleep(1.1) # times of sums have whole seconds
        again(bench, "reports")
        rollup(bench)
        rows = bench.ask("top", *WEB)["groups"]
        tap.check(f"all of them are {value}", bool(rows) == (value == "web"), rows)


def test_migration(bench, want):
    for table in SHORT:
        bench.server.query(f"DROP TABLE kmemscope.{table}")
    levels = bench.server.rows("SELECT level, toUInt32(bucket), toUInt32(made), ver FROM kmemscope.rollups FINAL WHERE level < 2")
    empty(bench, "rollups", "meta")
    bench.server.query("INSERT INTO kmemscope.rollups (level, bucket, made, ver) VALUES " + ", ".join(f"({', '.join(row)})" for row in levels))
    bench.server.query("INSERT INTO kmemscope.meta (version) VALUES (1)")
    told = json.loads(bench.run("setup", "--json").stdout)
    tap.check("tables of version 1 are brought up to date", told["version_before"] == 1 and told["version"] == 2, told)
    text = bench.run("setup").stdout
    tap.check("and then they are there", "were there already" in text, text)
    rollup(bench)
    counts = [bench.server.number(f"SELECT count() FROM kmemscope.{table}") for table in SHORT]
    tap.check("what version 1 added up is added up further", all(counts), counts)
    got = all_of(bench)
    compare("after version 1", want, got)


def main():
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as where:
        scratch = pathlib.Path(where)
        server = questions.start(scratch)
        if not server:
            tap.skip("a real server", "none can be had here")
            return tap.finish()
        try:
            bench = questions.Bench(server, scratch)
            bench.run("setup")
            spool = bench.fill("--hosts", 120, "--hours", HOURS, "--span", 900, "--series", 8, "--update", 1, "--leak", "--start", START)
            bench.server.query("INSERT INTO kmemscope.labels (host, label, value, ver) SELECT host, 'machine', 'x86_64', ver FROM kmemscope.labels WHERE label = 'role'")
            bench.server.query("INSERT INTO kmemscope.labels (host, label, value, ver) SELECT host, 'serial', toString(host), ver FROM kmemscope.labels WHERE label = 'role'")
            again(bench, "reports")
            rollup(bench)
            want = test_paths(bench, spool)
            test_migration(bench, want)
            test_labels(bench)
            want = all_of(bench)
            test_used(bench, want)
        finally:
            server.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
