#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A relay between simulated hosts and a real server, and what strangers send it: relay.py KMEMSCOPE FLEETSIM. Speaks TAP.

FAULTS=N kills relays, senders and servers N times; SEED=N chooses the moments.
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402
import batches  # noqa: E402
import clickhouse  # noqa: E402

KMEMSCOPE, FLEETSIM = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FAULTS, SEED = int(os.environ.get("FAULTS", "6")), int(os.environ.get("SEED", "16"))
ANY, ONE = "any-host-may-use-this-one", "only-for-the-host-number-3"
START = 1700006400


class Relay:
    """The program, with a spool of its own. It listens where it did before when it is started again."""
    def __init__(self, bench, name, *options, prefix=(), tokens=True):
        self.bench, self.name, self.options, self.prefix = bench, name, (*options, *(("--tokens", bench.tokens) if tokens else ())), prefix
        self.port, self.process = clickhouse.free_ports(1)[0], None
        self.start()

    def start(self):
        words = [*self.prefix, KMEMSCOPE, "relay", "--to", self.bench.server.url, "--bind", f"127.0.0.1:{self.port}",
                 "--spool", self.bench.scratch / self.name, "--oldest", "100000h", "--rate", "1000000",
                 "--database", self.bench.database, *self.options]
        self.process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.search(r": port (\d+)$", line)
        if not found:
            raise clickhouse.Error("the relay does not start: " + line + self.process.stderr.read())
        self.port = int(found.group(1))

    def post(self, data, token=ANY, path="v1/batches", secure=False):
        """Status and text of the answer."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", data, {"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error: # it was closed before all was sent
            return 0, str(error)

    def health(self):
        return json.loads(self.post(None, path="health")[1])

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def stop(self):
        self.process.terminate()
        self.process.communicate()
        return self.process.returncode


class Bench:
    def __init__(self, server, scratch):
        self.server, self.scratch, self.tokens = server, scratch, scratch / "tokens"
        self.database, self.number = None, 0
        self.tokens.write_text(f"# who may send\n{ANY} *\n{ONE} host0003\n", encoding="ascii")
        (scratch / "token").write_text(ANY + "\n", encoding="ascii")
        (scratch / "wrong").write_text("guess-guess-guess-guess\n", encoding="ascii")

    def drain(self, relay, spool, *words, token="token"):
        return [str(word) for word in (KMEMSCOPE, "agent", "--drain", "--to", f"relay+http://127.0.0.1:{relay.port}", "--spool", spool,
                                       "--token-file", self.scratch / token, *words)]

    def sim(self, *words):
        """What it prints, and what it says of it."""
        done = subprocess.run([FLEETSIM, *map(str, words)], capture_output=True, check=True)
        return done.stdout, {key: int(value) for key, value in (word.split("=") for word in done.stderr.decode().split())}

    def sums(self):
        return self.server.sums(self.database)

    def arrives(self, want):
        """Whether the database has this in the end."""
        for _ in range(1200):
            if self.sums() == want:
                return True
            time.sleep(0.1)
        return False

    def clear(self):
        """A new database: what 18.16 truncates may be there again after kill -9."""
        self.number += 1
        self.database = f"fleet{self.number}"
        tap.run(KMEMSCOPE, "fleet", "setup", "--server", self.server.url, "--database", self.database)


def test_way(bench):
    relay = Relay(bench, "way")
    spool = bench.scratch / "hosts"
    _, want = bench.sim("--hosts", 10, "--hours", 1, "--spool", spool)
    denied = tap.run(*bench.drain(relay, spool, token="wrong"), status=1)
    tap.check("without a token that is known nothing is taken, and nothing is lost", "401" in denied.stderr and len(list(spool.glob("*.msg"))) == 600, denied.stderr)
    told = json.loads(tap.run(*bench.drain(relay, spool, "--json")).stdout)
    tap.check("the relay takes all", told["spooled"] == 0, told)
    tap.check("and stores it", bench.arrives(want), (bench.sums(), want))
    data, _ = bench.sim("--hosts", 10, "--hours", 1)
    for _ in range(2):
        relay.post(data[:1 << 20])
    status = relay.post(data)
    tap.check("twice is once", status[0] == 200 and bench.arrives(want), (status, bench.sums()))
    other = Relay(bench, "other")
    tap.check("also by another relay", other.post(data)[0] == 200 and bench.arrives(want))
    health = relay.health()
    tap.check("it says what it did", health["accepted"] >= 1200 and health["denied"] == 1 and health["rows"] >= 2 * want["rows"], health)
    tap.check("it ends with a signal", other.stop() == 0)
    return relay


def test_strangers(bench, relay):
    data, _ = bench.sim("--hosts", 1, "--hours", 1, "--span", 1800)
    before, accepted = bench.sums(), relay.health()["accepted"]
    cases = [("no token", data, None, 401), ("a wrong token", data, "x" * 40, 401), ("the beginning of a token", data, ANY[:-1], 401),
             ("a token of another host", data, ONE, 422), ("no batch", b"", ANY, 422), ("noise", os.urandom(1000), ANY, 422),
             ("a batch that is cut off", data[:-1], ANY, 422), ("SQL", b"DROP TABLE kmemscope.rows", ANY, 422)]
    for name, body, token, wanted in cases:
        got = relay.post(body, token)
        tap.check(f"{name}: status {wanted}", got[0] == wanted and got[1].strip(), got)
    got = relay.post(bytes(9 << 20))
    tap.check("what is too large is refused", got[0] in (0, 413), got)
    future, _ = bench.sim("--hosts", 1, "--hours", 1, "--span", 1800, "--start", int(time.time()) // 3600 * 3600 + 14400)
    got = relay.post(future)
    tap.check("intervals of the future are refused", got[0] == 422 and "future" in got[1], got)
    tap.check("other paths are not there", relay.post(data, path="../etc/passwd")[0] == 404)
    tap.check("nothing of it was taken", bench.sums() == before and relay.health()["accepted"] == accepted, (bench.sums(), before))
    strict = Relay(bench, "strict", "--rate", "2", "--oldest", "24h")
    got = [strict.post(data)[0] for _ in range(4)]
    tap.check("old ones are refused, and then there were too many", got == [422, 422, 429, 429], got)
    strict.stop()
    several, _ = bench.sim("--hosts", 4, "--hours", 1, "--span", 3600)
    own = several[several.rindex(b"KSFB"):]
    tap.check("a token of one host is for that host alone", relay.post(several, ONE)[0] == 422 and relay.post(own, ONE)[0] == 200)
    for text, error in (("short *\n", "16 characters"), (f"{ANY} *\n{ANY} x\n", "already"), ("", "no token")):
        (bench.scratch / "bad").write_text(text, encoding="ascii")
        bad = tap.run(KMEMSCOPE, "relay", "--to", bench.server.url, "--tokens", bench.scratch / "bad", "--spool", bench.scratch / "bad-spool",
                      "--bind", "127.0.0.1:0", status=3)
        tap.check(f"tokens: {error}", error in bad.stderr, bad.stderr)


def test_hostile(bench, relay):
    """What an agent with a token may send that means harm. The batches are written by hand, as the manual says."""
    before = bench.sums()
    sql = b"x'); DROP TABLE " + bench.database.encode() + b".rows; --\t\\' UNION"
    cases = {
        "a name that is no UTF-8": batches.batch(b"bad", START, names=[(batches.CACHE, b"dentry\xff\xfe")]),
        "a label that is no UTF-8": batches.batch(b"bad", START, labels=[(b"role", b"\xc0\xaf")]),
        "a name with a zero byte": batches.batch(b"bad", START, names=[(batches.CACHE, b"den\0try")]),
        "a name of 5000 bytes": batches.batch(b"bad", START, names=[(batches.CACHE, b"x" * 5000)]),
        "a kind of names that is none": batches.batch(b"bad", START, names=[(200, b"x")]),
        "a million labels": batches.batch(b"bad", START, labels=[(b"label%d" % number, b"x") for number in range(1000000)]),
        "a million labels that are not there": batches.batch(b"bad", START, label_count=1000000),
        "names without rows": batches.batch(b"bad", START, names=[(batches.CACHE, b"cache%d" % number) for number in range(200000)]),
        "an error that is no number": batches.batch(b"bad", START, rows=batches.row(batches.identity(batches.CACHE, b"kmalloc-64"), 64, float("nan"))),
        "what unpacks to gigabytes": batches.frame(b"\0" * 1000, room=0xfffffff0),
        "what unpacks to more than it says": batches.frame(b"\0" * (64 << 20), room=1000),
        "a year in the future": batches.batch(b"bad", int(time.time()) + 365 * 86400),
    }
    for name, body in cases.items():
        got = relay.post(body)
        tap.check(f"{name}: refused, with a reason", got[0] == 422 and got[1].strip() and not got[1].startswith("out of"), got)
    tap.check("it still serves, and nothing of that was stored", relay.health()["refused"] >= len(cases) and bench.sums() == before, bench.sums())
    got = relay.post(batches.batch(sql, START, labels=[(b"role", sql)]))
    want = {"rows": before["rows"] + 1, "bytes": before["bytes"] + 6400, "allocs": before["allocs"] + 1}
    tap.check("SQL in a host's name is a name", got[0] == 200 and bench.arrives(want), (got, bench.sums(), want))
    fleet = [KMEMSCOPE, "fleet", "--server", bench.server.url, "--database", bench.database]
    tap.run(*fleet[:2], "rollup", "--keep", "36500", *fleet[2:])
    host = json.loads(tap.run(*fleet[:2], "host", sql.decode(), "--since", "100000h", "--json", *fleet[2:]).stdout)["series"]
    tap.check("that can be asked for", [(row["cache"], row["live_bytes"]) for row in host] == [("kmalloc-64", 6400)], host)
    group = json.loads(tap.run(*fleet[:2], "top", "--by", "host", "--label", f"role={sql.decode()}", "--since", "100000h", "--json", *fleet[2:]).stdout)["groups"]
    tap.check("and whose label can", [row["host"] for row in group] == [sql.decode()], group)


def test_full(bench, relay):
    """A spool with a bound, and a disk that is full: nothing is acknowledged that is not kept."""
    relay.stop()
    bench.clear()
    ways = [("a spool that is full", ("--spool-size", 65536), ())]
    if not os.geteuid():
        small = bench.scratch / "disk"
        small.mkdir()
        # Both take what is refused back in the same way: the short run has the harder one.
        ways = ways[:FAULTS > 6] + [("a disk that is full", (), ("unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=256k none "{small}" && exec "$@"', "sh"))]
    for name, options, prefix in ways:
        spool = bench.scratch / name.replace(" ", "-")
        _, want = bench.sim("--hosts", 20, "--hours", 1, "--spool", spool, "--series", 30)
        bench.server.kill()
        narrow = Relay(bench, "disk/spool" if prefix else "narrow", *options, prefix=prefix)
        refused = tap.run(*bench.drain(narrow, spool), status=1)
        left = len(list(spool.glob("*.msg")))
        tap.check(f"{name} takes no more", "507" in refused.stderr and 0 < left < 1200, (refused.stderr, left))
        bench.server.start()
        for _ in range(600):
            if subprocess.run(bench.drain(narrow, spool), capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.1)
        tap.check(f"{name}: later all arrives", bench.arrives(want), (bench.sums(), want))
        narrow.stop()
        bench.clear()


def test_faults(bench):
    """Relays, agents and servers die at any moment: sums are right, to the row."""
    rng = random.Random(SEED)
    bench.clear()
    relay = Relay(bench, "faults")
    spools = [bench.scratch / f"agent{number}" for number in range(3)]
    want = {"rows": 0, "bytes": 0, "allocs": 0}
    for fault in range(FAULTS):
        for number, spool in enumerate(spools):
            _, more = bench.sim("--hosts", 20, "--hours", 1, "--span", 300, "--start", START + (fault * 3 + number) * 3600, "--spool", spool)
            want = {key: want[key] + more[key] for key in want}
        agents = [subprocess.Popen(bench.drain(relay, spool), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for spool in spools]
        time.sleep(rng.random() * 0.4)
        if fault % 3 == 1:
            bench.server.kill()
        if fault % 3 != 2:
            relay.kill()
        agents[0].kill()
        for agent in agents:
            agent.wait()
        if fault % 3 == 1:
            bench.server.start()
        if fault % 3 != 2:
            relay.start()
    for spool in spools:
        tap.run(*bench.drain(relay, spool))
    tap.check(f"sums are right after {FAULTS} rounds of kills", bench.arrives(want), (bench.sums(), want))
    for _ in range(1200): # reports come after their rows
        reports = bench.server.number(f"SELECT count() FROM {bench.database}.reports FINAL")
        if reports == FAULTS * 3 * 20 * 12:
            break
        time.sleep(0.1)
    tap.check("every interval has its report", reports == FAULTS * 3 * 20 * 12, reports)
    relay.stop()


def test_tls(bench):
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=relay", "-addext",
                           "subjectAltName=IP:127.0.0.1", "-keyout", bench.scratch / "key.pem", "-out", bench.scratch / "cert.pem"],
                          capture_output=True, check=False)
    if made.returncode:
        tap.skip("TLS", "no openssl")
        return
    bench.clear()
    relay = Relay(bench, "tls", "--tls-cert", bench.scratch / "cert.pem", "--tls-key", bench.scratch / "key.pem")
    spool = bench.scratch / "tls-agent"
    _, want = bench.sim("--hosts", 2, "--hours", 1, "--spool", spool)
    words = [word.replace("relay+http:", "relay+https:") for word in bench.drain(relay, spool)]
    unknown = tap.run(*words, status=1)
    tap.check("a certificate that nobody vouches for is not trusted", "certificate" in unknown.stderr, unknown.stderr)
    tap.run(*words, "--ca", bench.scratch / "cert.pem")
    tap.check("with it all arrives", bench.arrives(want), (bench.sums(), want))
    relay.stop()
    test_certificates(bench)


def certify(where, signer, name):
    """A key and a certificate of @name, by a signer, which is made if it is not there."""
    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], cwd=where, capture_output=True, check=True)
    if not (where / f"{signer}.pem").exists():
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={signer}", "-keyout", f"{signer}.key", "-out", f"{signer}.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{signer}-{name}.key", "-out", "request")
    openssl("x509", "-req", "-in", "request", "-CA", f"{signer}.pem", "-CAkey", f"{signer}.key", "-CAcreateserial", "-days", 2, "-out", f"{signer}-{name}.pem")
    return ["--cert", where / f"{signer}-{name}.pem", "--key", where / f"{signer}-{name}.key"]


def test_certificates(bench):
    """Hosts that show a certificate need no token, and speak for themselves alone."""
    bench.clear()
    own, stranger = certify(bench.scratch, "signer", "host0003"), certify(bench.scratch, "other", "host0003")
    relay = Relay(bench, "certificates", "--tls-cert", bench.scratch / "cert.pem", "--tls-key", bench.scratch / "key.pem", "--tls-clients", bench.scratch / "signer.pem",
                  tokens=False)
    spool, others = bench.scratch / "host3", bench.scratch / "host2"
    _, want = bench.sim("--hosts", 1, "--first", 3, "--hours", 1, "--spool", spool)
    bench.sim("--hosts", 1, "--first", 2, "--minutes", 1, "--spool", others)
    to = ["--to", f"relay+https://127.0.0.1:{relay.port}", "--ca", bench.scratch / "cert.pem"]
    for name, words in (("without a certificate", []), ("with that of another signer", stranger)):
        denied = tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, *to, *words, status=1)
        tap.check(f"{name} nothing is taken, and nothing is lost", "401" in denied.stderr and len(list(spool.glob("*.msg"))) == 60, denied.stderr)
    tap.run(KMEMSCOPE, "agent", "--drain", "--spool", spool, *to, *own)
    tap.check("with its own all arrives", bench.arrives(want), (bench.sums(), want))
    told = json.loads(tap.run(KMEMSCOPE, "agent", "--drain", "--spool", others, *to, *own, "--json").stdout)
    tap.check("a certificate is of one host", told["refused"] == 1 and bench.arrives(want), told)
    relay.stop()


def main():
    root = clickhouse.unpacked()
    if not root:
        tap.skip("a real server", "no clickhouse-server can be had here")
        return tap.finish()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None # as in agent.py
    with tempfile.TemporaryDirectory(prefix="kmemscope-fleet-") as where, \
            tempfile.TemporaryDirectory(prefix="kmemscope-fleet-", dir=memory) as scratch:
        server = clickhouse.Server(root, pathlib.Path(where) / "server")
        try:
            bench = Bench(server, pathlib.Path(scratch))
            bench.clear()
            relay = test_way(bench)
            test_strangers(bench, relay)
            test_hostile(bench, relay)
            test_full(bench, relay)
            test_faults(bench)
            test_tls(bench)
        finally:
            server.close()
            shutil.rmtree(scratch, ignore_errors=True)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
