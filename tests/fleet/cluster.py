#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A fleet in a cluster of two shards with two replicas, and ZooKeeper: cluster.py KMEMSCOPE FLEETSIM. Speaks TAP.

A relay stores each host's rows on its shard. What must be there is what the simulator says; what the cluster answers is
compared with what a directory of the same rows answers.
"""
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
import clickhouse  # noqa: E402

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
TOKEN = "a-token-of-all-the-hosts"
BUILD = "6.12.3-fleet #4"


def arrives(server, want):
    for _ in range(1200):
        if server.sums("kmemscope") == want:
            return True
        time.sleep(0.1)
    return False


def start_relay(cluster, scratch):
    """One that stores on a replica of each shard. The process, and its port."""
    (scratch / "tokens").write_text(TOKEN + " *\n", encoding="ascii")
    (scratch / "token").write_text(TOKEN + "\n", encoding="ascii")
    words = [KMEMSCOPE, "relay", *(word for shard in cluster.servers for word in ("--to", shard[0].url)), "--database", "kmemscope_local",
             "--tokens", scratch / "tokens", "--spool", scratch / "relay", "--bind", "127.0.0.1:0", "--rate", "1000000", "--oldest", "100000h"]
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    found = re.search(r": port (\d+)$", process.stderr.readline())
    if not found:
        raise clickhouse.Error("the relay does not start: " + process.stderr.read())
    return process, int(found.group(1))


def test_cluster(cluster, scratch):
    server, other = cluster.servers[0][0], cluster.servers[1][1]
    told = tap.run(KMEMSCOPE, "fleet", "setup", "--cluster", "fleet", "--server", server.url)
    tap.check("the tables are made on all servers", "were made" in told.stdout and all(
        one.number("SELECT count() FROM system.tables WHERE database IN ('kmemscope', 'kmemscope_local')") == 24 for shard in cluster.servers for one in shard))
    for _ in range(1200): # a replica may be late
        if other.number("SELECT max(version) FROM kmemscope.meta") == 2:
            break
        time.sleep(0.1)
    again = tap.run(KMEMSCOPE, "fleet", "setup", "--cluster", "fleet", "--server", other.url)
    tap.check("another server says that they are there", "were there already" in again.stdout, again.stdout)
    relay, port = start_relay(cluster, scratch)
    try:
        spool, copy = scratch / "spool", scratch / "copy"
        for where in (spool, copy):
            where.mkdir()
        done = subprocess.run([FLEETSIM, "--hosts", "40", "--hours", "30", "--span", "1200", "--series", "6", "--leak"], capture_output=True, check=True)
        want = {key: int(value) for key, value in (word.split("=") for word in done.stderr.decode().split())}
        for where in (spool, copy):
            (where / f"{1:020}.msg").write_bytes(done.stdout)
        to = ["--to", f"relay+http://127.0.0.1:{port}", "--token-file", scratch / "token"]
        tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, *to)
        tap.check("the cluster has all rows", arrives(server, want), (server.sums("kmemscope"), want))
        parts = [shard[0].sums("kmemscope_local")["rows"] for shard in cluster.servers]
        hosts = [set(shard[0].query("SELECT DISTINCT host FROM kmemscope_local.rows").split()) for shard in cluster.servers]
        tap.check("each host is on one shard, and each shard has some", all(parts) and sum(parts) == want["rows"] and not hosts[0] & hosts[1], parts)
        for _ in range(1200):
            if [shard[1].sums("kmemscope_local")["rows"] for shard in cluster.servers] == parts:
                break
            time.sleep(0.1)
        tap.check("the other replicas have it, too", [shard[1].sums("kmemscope_local")["rows"] for shard in cluster.servers] == parts)
        (spool / f"{2:020}.msg").write_bytes(done.stdout)
        tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, *to)
        time.sleep(1)
        tap.check("twice is once", arrives(other, want), (other.sums("kmemscope"), want))
    finally:
        relay.terminate()
        relay.communicate()
    return copy


def test_answers(cluster, scratch, spool):
    where = scratch / "files"
    tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, "--to", f"file:{where}")
    tap.run(KMEMSCOPE, "fleet", "rollup", "--keep", "36500", "--server", cluster.servers[0][0].url)
    sizes = "SELECT (SELECT count() FROM kmemscope_local.hour), (SELECT count() FROM kmemscope_local.host_hour)"
    for _ in range(1200): # until both replicas of a shard have what the other one has
        if all(shard[0].rows(sizes) == shard[1].rows(sizes) for shard in cluster.servers):
            break
        time.sleep(0.1)
    cluster.servers[1][0].kill() # one replica of a shard: the other one answers
    url = cluster.servers[0][1].url
    for words in (("leaks",), ("leaks", "--hosts-alone"), ("top", "--by", "cache"), ("top", "--by", "label:role"), ("top", "--label", "role=web"), ("types",),
                  ("history", "--since", "4h"), ("host", "host0007"), ("diff", "6.12.0-fleet #1", BUILD), ("quality", "--since", "3h")):
        want = json.loads(tap.run(KMEMSCOPE, "fleet", *words, "--from", where, "--json").stdout)
        got = json.loads(tap.run(KMEMSCOPE, "fleet", *words, "--server", url, "--json").stdout)
        tap.check(f"the cluster answers with a replica dead: {' '.join(words)}", not answers.differ(want, got), (answers.differ(want, got), want, got))


def main():
    root = clickhouse.unpacked()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as where:
        scratch = pathlib.Path(where)
        try:
            cluster = clickhouse.Cluster(root, scratch / "cluster") if root else None
        except clickhouse.Error as error:
            print(f"# {error}")
            cluster = None
        if not cluster:
            tap.skip("a cluster", "no clickhouse-server or no ZooKeeper can be had here")
            return tap.finish()
        try:
            spool = test_cluster(cluster, scratch)
            test_answers(cluster, scratch, spool)
        finally:
            cluster.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
