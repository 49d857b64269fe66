#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How far a fleet goes on this machine: scale.py KMEMSCOPE FLEETSIM. Prints figures, asserts nothing.

Debian's ClickHouse, a relay and the simulated hosts share the machine, on loopback. PARTS=ingest,disk,day,agent chooses; HOSTS, MINUTES and
POINTS (intervals an hour of the day) make it smaller. Nothing stays but what is printed.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import clickhouse

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PARTS = os.environ.get("PARTS", "ingest,disk,day,agent").split(",")
HOSTS, MINUTES, POINTS, CALM = (int(os.environ.get(name, value)) for name, value in (("HOSTS", 10000), ("MINUTES", 3), ("POINTS", 3), ("CALM", 70)))
SERIES, SENDERS, START = 300, 16, 1700006400
TOKEN = "a-token-for-this-measurement"
TICKS = os.sysconf("SC_CLK_TCK")


def row(name, value, aim=""):
    print(f"{name:<66} {value:>16}{'   (aim: ' + aim + ')' if aim else ''}", flush=True)


def cpu(pid):
    """Seconds of CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def setup(server, database):
    subprocess.run([KMEMSCOPE, "fleet", "setup", "--server", server.url, "--database", database], stdout=subprocess.DEVNULL, check=True)


def start_relay(server, database, scratch):
    (scratch / "tokens").write_text(TOKEN + " *\n", encoding="ascii")
    (scratch / "token").write_text(TOKEN + "\n", encoding="ascii")
    words = [KMEMSCOPE, "relay", "--to", server.url, "--database", database, "--tokens", scratch / "tokens", "--spool", scratch / "relay", "--bind", "127.0.0.1:0",
             "--rate", "1000000"]
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    return process, int(re.search(r": port (\d+)$", process.stderr.readline()).group(1))


def numbers(line):
    return {key: int(value) for key, value in (word.split("=") for word in line.split())}


def disk(server, database, table):
    """Bytes a row, once the server has merged what it has."""
    for _ in range(60):
        for partition, in server.rows(f"SELECT DISTINCT splitByChar('_', name)[1] FROM system.parts WHERE active AND database = '{database}' AND table = '{table}'"):
            server.query(f"OPTIMIZE TABLE {database}.{table} PARTITION ID '{partition}' FINAL")
        if not server.rows(f"SELECT partition FROM system.parts WHERE active AND database = '{database}' AND table = '{table}' GROUP BY partition HAVING count() > 1"):
            break
        time.sleep(1)
    stored, rows = map(int, server.rows(f"SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND database = '{database}' AND table = '{table}'")[0])
    return stored / rows


def ingest(server, scratch):
    """All hosts by the relay, at the pace of agents."""
    setup(server, "ingest")
    relay, port = start_relay(server, "ingest", scratch)
    start = int(time.time()) // 3600 * 3600 - 7200
    hosts = HOSTS // SENDERS
    relay_cpu, server_cpu, begin = cpu(relay.pid), cpu(server.process.pid), time.monotonic()
    senders = [subprocess.Popen([str(word) for word in (FLEETSIM, "--hosts", hosts, "--first", hosts * number, "--series", SERIES, "--calm", CALM, "--start", start,
                                                        "--span", 60, "--hours", 1, "--minutes", MINUTES, "--relay", f"http://127.0.0.1:{port}/", "--token", TOKEN)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for number in range(SENDERS)]
    told = [sender.communicate()[1] for sender in senders]
    seconds = time.monotonic() - begin
    want = [numbers(line) for line in told]
    total = sum(one["rows"] for one in want)
    while server.number("SELECT count() FROM ingest.rows") < total:
        time.sleep(0.1)
    behind = time.monotonic() - begin - seconds
    got = [int(word) for word in server.rows("SELECT count(), sum(live_bytes), sum(allocs) FROM ingest.rows FINAL")[0]]
    row(f"rows a second of {HOSTS} hosts by the relay, for {seconds:.0f} s", f"{total / seconds:.0f}", f"{HOSTS * SERIES // 60}")
    row("of them in the database, to the row, with the same sums", "all" if got == [sum(one[key] for one in want) for key in ("rows", "bytes", "allocs")] else "NOT ALL")
    row("seconds until the last one was there", f"{behind:.1f}")
    row("bytes a minute and host on the wire", f"{sum(one['sent'] for one in want) / (MINUTES * hosts * SENDERS):.0f}", "20000")
    row("share of a core: relay", f"{(cpu(relay.pid) - relay_cpu) / seconds:.1%}")
    row("share of a core: server, sums included", f"{(cpu(server.process.pid) - server_cpu) / seconds:.1%}")
    relay.terminate()
    relay.communicate()


def fill(server, database, hosts, *words):
    """Rows go straight in, by two processes."""
    half = hosts // 2
    begin = time.monotonic()
    told, pushes = [], []
    for number in range(2):
        sim = subprocess.Popen([str(word) for word in (FLEETSIM, "--hosts", half, "--first", half * number, "--series", SERIES, "--calm", CALM, *words)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pushes.append(subprocess.Popen([KMEMSCOPE, "fleet", "push", "/dev/stdin", "--server", server.url, "--database", database], stdin=sim.stdout, stdout=subprocess.DEVNULL))
        sim.stdout.close()
        told.append(sim)
    want = [numbers(sim.communicate()[1].decode()) for sim in told]
    if any(push.wait() for push in pushes):
        raise clickhouse.Error("fleet push failed")
    return sum(one["rows"] for one in want), time.monotonic() - begin


def size(server, _scratch):
    setup(server, "disk")
    rows, _ = fill(server, "disk", 600, "--hours", 1, "--span", 60, "--start", START)
    row(f"bytes a row on disk, of {rows / 1e6:.1f} M rows of an hour", f"{disk(server, 'disk', 'rows'):.2f}", "8")
    server.query("DROP DATABASE disk")


def copy(server, times):
    """Each host gets others that are like it: the server copies rows far faster than they can be made up. Verdicts mean nothing then."""
    columns = {table: [name for name, in server.rows(f"SELECT name FROM system.columns WHERE database = 'kmemscope' AND table = '{table}'")] for table in ("rows", "reports", "labels")}
    for table, names in columns.items():
        hours = [f" AND ts >= toDateTime({START + hour * 3600}) AND ts < toDateTime({START + hour * 3600 + 3600})" for hour in range(24)] if table == "rows" else [""]
        hosts = "host IN (SELECT id FROM kmemscope.names WHERE kind = 0 AND name LIKE 'host%')"
        for hour in hours:
            values = ", ".join("cityHash64(host, k)" if name == "host" else name for name in names)
            server.query(f"INSERT INTO kmemscope.{table} ({', '.join(names)}) SELECT {values} FROM kmemscope.{table} ARRAY JOIN range({times}) AS k WHERE {hosts}{hour}")
    server.query(f"INSERT INTO kmemscope.names (kind, id, name) SELECT kind, cityHash64(id, k), concat('copy', toString(k), '-', name) FROM kmemscope.names "
                 f"ARRAY JOIN range({times}) AS k WHERE kind = 0")


def day(server, _scratch):
    """Questions about a day of all hosts: a tenth of them is made up and sent, the others are copies."""
    setup(server, "kmemscope")
    rows, seconds = fill(server, "kmemscope", HOSTS // 10, "--hours", 24, "--span", 3600 // POINTS, "--start", START, "--update", 8, "--leak")
    row(f"{rows / 1e6:.1f} M rows stored by fleet push: rows a second", f"{rows / seconds:.0f}")
    begin = time.monotonic()
    copy(server, 9)
    rows = server.number("SELECT count() FROM kmemscope.rows")
    row(f"rows of {HOSTS} hosts in a day, nine in ten copied in {time.monotonic() - begin:.0f} s", f"{rows}", "200 M")
    begin = time.monotonic()
    subprocess.run([KMEMSCOPE, "fleet", "rollup", "--keep", "36500", "--server", server.url], stdout=subprocess.DEVNULL, check=True)
    row("seconds to add them up, by minute and by hour", f"{time.monotonic() - begin:.0f}")
    row("bytes a row on disk: rows", f"{disk(server, 'kmemscope', 'rows'):.2f}")
    row("bytes a row on disk: sums by host and hour", f"{disk(server, 'kmemscope', 'host_hour'):.2f}")
    for words, aim in ((("leaks",), "0.2"), (("leaks", "--hosts-alone"), "0.2"), (("top",), "0.2"), (("top", "--by", "build"), "0.2"), (("types",), "0.2"), (("history",), "0.2"),
                       (("diff", "6.12.0-fleet #1", "6.12.3-fleet #4"), "0.2"), (("quality",), "0.2"), (("host", "host0007"), "0.2"), (("host", "host0007", "--since", "1h"), "0.1"),
                       (("top", "--by", "host", "--since", "1h"), ""), (("top", "--by", "host"), ""), (("top", "--label", "role=web"), ""), (("leaks", "--label", "role=web"), ""),
                       (("top", "--by", "stack", "--since", "1h"), "10")):
        times = []
        while len(times) < 5 and sum(times) < 60:
            begin = time.monotonic()
            subprocess.run([KMEMSCOPE, "fleet", *words, "--server", server.url, "--json"], stdout=subprocess.DEVNULL, check=True)
            times.append(time.monotonic() - begin)
        row(f"seconds: fleet {' '.join(words)} (median of {len(times)}, worst {max(times):.2f})", f"{statistics.median(times):.3f}", aim)
    times = []
    for _ in range(5):
        begin = time.monotonic()
        server.query("SELECT ts, cache, type, live_bytes FROM kmemscope.rows FINAL WHERE ts >= toDateTime(1700046000) AND ts < toDateTime(1700049600) AND "
                     "host = (SELECT id FROM kmemscope.names WHERE kind = 0 AND name = 'host0007' LIMIT 1)")
        times.append(time.monotonic() - begin)
    row("seconds: one host's hour from rows (median of 5)", f"{statistics.median(times):.3f}", "0.1")


def agent(server, scratch):
    """A real agent on this machine, by the relay."""
    if os.geteuid():
        row("the agent", "needs root")
        return
    setup(server, "agents")
    relay, port = start_relay(server, "agents", scratch)
    for words in ((), ("--types",), ("--level", "sampled")):
        process = subprocess.Popen([str(word) for word in (KMEMSCOPE, "agent", "--to", f"relay+http://127.0.0.1:{port}", "--token-file", scratch / "token", "--spool",
                                                           scratch / f"agent{len(words)}{words[-1] if words else ''}", "--interval", "60s", *words)], stderr=subprocess.DEVNULL)
        time.sleep(61)
        before = cpu(process.pid)
        time.sleep(60 * MINUTES)
        row(f"share of a core: agent {' '.join(words) or 'as it comes'}, {MINUTES} minutes", f"{(cpu(process.pid) - before) / (60 * MINUTES):.3%}", "0.1 %")
        process.terminate()
        process.wait()
    relay.terminate()
    relay.communicate()


def main():
    root = clickhouse.unpacked()
    if not root:
        sys.exit("scale: no clickhouse-server can be had here")
    with tempfile.TemporaryDirectory(prefix="kmemscope-scale-", dir=os.environ.get("BENCH_DIR")) as where:
        scratch = pathlib.Path(where)
        server = clickhouse.Server(root, scratch / "server")
        try:
            for name, part in (("ingest", ingest), ("disk", size), ("day", day), ("agent", agent)):
                if name in PARTS:
                    part(server, scratch)
        finally:
            server.close()


if __name__ == "__main__":
    main()
