#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each allocation of each command fails in turn: every-command.py KMEMSCOPE KMEMGEN MAKE_TREE MKSNAP. Speaks TAP.

KMEMSCOPE is the program linked with tests/lib/nomem.c. On a small input, allocation 1, 2, 3, ... fails, once
or from there on. The command must exit with 1 and a line on standard error that says what it lacks, or do
without and print what it always prints; no crash, no temporary file left behind; and no leak, where the
program is built with ASan. Where a command makes more allocations than the budget permits, the first ones
are tried and the rest sampled, by seed. NOMEM_RUNS=N is the budget for a command, 0 tries them all.
NOMEM_ONLY=NAME tries one command.

"kmap record" gets a directory that looks like the module's, and "kmap listen" a sender, after which it is
ended. What needs the running kernel is tried by root where tracefs is there, and "lab run" where its kernel
was built before; there it must work.
"""
import concurrent.futures
import http.server
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIELDS = ROOT / "tests" / "data" / "fields.kmap"
CALLS = ROOT / "tests" / "data" / "calls.kmap"
SAMPLE, MAP = ROOT / "tests" / "data" / "sample.log", ROOT / "tests" / "data" / "sample.kmap"
CPM = ROOT / "tests" / "fuzz" / "corpus" / "cpm" / "published"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
RUNS = int(os.environ.get("NOMEM_RUNS", "60"))

# Arguments by name. OUT is a file in a directory of its own, which must be empty afterwards; the rest of the
# words in capitals are inputs.
COMMANDS = {
    "account": ["account", "LOG"],
    "account, tree": ["account", "-k", "TREE", "LOG"],
    "account, JSON": ["account", "--json", "LOG"],
    "account of a DB": ["account", "--malloc", "DB"],
    "account, file": ["account", "-c", "OUT", "LOG"],
    "report": ["report", "--by", "cache", "--csv", "LOG"],
    "report, fragmentation": ["report", "--frag", "LOG"],
    "report, tasks": ["report", "--by", "comm", "LOG"],
    "report, helpers": ["report", "--skip-helpers", "LOG"],
    "info": ["info", "LOG"],
    "info, trace.dat": ["info", CORPUS / "tracedat" / "v7-recorder"],
    "report, trace.dat": ["report", CORPUS / "tracedat" / "v7-stacks"],
    "report, before": ["report", "--before", CORPUS / "tracedat" / "v7-census"],
    "report, zstd": ["report", CORPUS / "tracedat" / "v7z-le64"],
    "report, perf.data": ["report", CORPUS / "perfdata" / "le64"],
    "report, perf.data with nodes": ["report", "--frag", "--json", CORPUS / "perfdata" / "nodes"],
    "import": ["import", "-o", "OUT", "LOG"],
    "leaks": ["leaks", "--stacks", "LOG"],
    "leaks of a DB": ["leaks", "DB"],
    "timeline": ["timeline", "LOG"],
    "timeline, SVG": ["timeline", "-o", "OUT.svg", "LOG"],
    "flame": ["flame", "-o", "OUT.svg", "LOG"],
    "html": ["html", "-o", "OUT", "LOG"],
    "html, map": ["html", "-o", "OUT", "--kmap", MAP, "LOG"],
    "html, diff": ["html", "-o", "OUT", "--diff", "LOG", "DB"],
    "diff": ["diff", "LOG", "DB"],
    "diff of three": ["diff", "--markdown", "--before", "LOG", "--before", "LOG", "--after", "DB"],
    "gate": ["gate", "--budget", "BUDGET", "--junit", "OUT", "LOG"],
    "gate, Markdown": ["gate", "--markdown", "-v", "--budget", "BUDGET", "LOG"],
    "gate, init": ["gate", "--init", "-o", "OUT", "LOG", "DB"],
    "gate, init of a heap": ["gate", "--init", "SNAP"],
    "check": ["check", CORPUS / "tracedat" / "v7-recorder"],
    "static": ["static", "-k", "TREE"],
    "static, symbols": ["static", "-k", "TREE", "--by", "symbol", "--json"],
    "rings": ["rings", "-k", "TREE", "LOG", "-o", "OUT.svg"],
    "export, pprof": ["export", "--format", "pprof", "-o", "OUT", "LOG"],
    "export, speedscope": ["export", "--format", "speedscope", "-o", "OUT", "LOG"],
    "export, chrome": ["export", "--format", "chrome", "-o", "OUT", "LOG"],
    "export, objects": ["export", "--format", "parquet", "--table", "objects", "-o", "OUT", "LOG"],
    "info, heap": ["info", "SNAP"],
    "heap from a file": ["heap", "--from", "SNAP", "--by", "cgroup"],
    "heap types from a file": ["heap", "types", "--from", "SNAP"],
    "heap unreachable, sites": ["heap", "unreachable", "--from", "SNAP", "--each", "--capture", "LOG"],
    "heap diff": ["heap", "diff", "SNAP", "SNAP"],
    "html, heap": ["html", "--heap", "SNAP", "--heap", "SNAP", "-o", "OUT"],
    "kmap report": ["kmap", "report", MAP],
    "kmap accesses": ["kmap", "matrix", MAP],
    "kmap matrix": ["kmap", "matrix", "-o", "OUT.svg", MAP],
    "kmap calls": ["kmap", "calls", "-o", "OUT.svg", CALLS],
    "kmap convert with calls": ["kmap", "convert", "--to", "binary", "-o", "OUT", CALLS],
    "kmap fields": ["kmap", "fields", FIELDS],
    "kmap fields of a type": ["kmap", "fields", "-o", "OUT.svg", "[cache widgets]", FIELDS],
    "kmap lives": ["kmap", "lives", MAP],
    "kmap sharing": ["kmap", "sharing", FIELDS],
    "kmap privilege": ["kmap", "privilege", MAP],
    "kmap privilege, published": ["kmap", "privilege", "--model", "uscope", "--cut", CPM, MAP],
    "kmap compartments": ["kmap", "compartments", "--number", "2", "-o", "OUT", MAP],
    "kmap score": ["kmap", "score", CPM],
    "kmap diff": ["kmap", "diff", MAP, MAP],
    "kmap convert": ["kmap", "convert", "--to", "binary", "-o", "OUT", MAP],
    "kmap convert for CAPMAPs": ["kmap", "convert", "--to", "uscope", "-o", "OUT", MAP],
    "kmap convert to a DB": ["kmap", "convert", "--to", "ksdb", "-o", "OUT", MAP],
    "kmap stream": ["kmap", "stream", "--spool", "OUT.spool", "--to", "OUT", MAP],
    "kmap record": ["kmap", "record", "--text", "-o", "OUT", "--", "true"],
}
# These ask a server that has an answer to everything (see Answers). SERVER is its address.
FLEET = {
    "fleet setup": ["fleet", "setup", "--server", "SERVER"],
    "fleet rollup": ["fleet", "rollup", "--server", "SERVER"],
    "fleet top": ["fleet", "top", "--server", "SERVER"],
    "fleet top of a label": ["fleet", "top", "--server", "SERVER", "--by", "host", "--label", "role=web"],
    "fleet leaks": ["fleet", "leaks", "--server", "SERVER", "--json"],
    "fleet quality": ["fleet", "quality", "--server", "SERVER"],
    "fleet push": ["fleet", "push", "--server", "SERVER", CORPUS / "fleet" / "four", "SNAP"],
    "fleet push of a capture": ["fleet", "push", "--server", "SERVER", "--host", "h", "--build", "b", "--at", "1700006400", SAMPLE],
}
# What matters in them is done by a few allocations in the middle: all are tried.
WHOLE = {"report, perf.data with nodes"}
# Of this machine: what they print differs from run to run, and they need rights and a kernel that has it all.
LIVE = {
    "doctor": ["doctor"],
    "heap": ["heap", "--top", "3"],
    "serve": ["serve", "--config", "/dev/null", "--listen", "127.0.0.1:0", "--duration", "100ms"],
    "top": ["top", "--once", "--by", "type"],
    "watch": ["watch", "--for", "3s"],
    "heap save": ["heap", "save", "--no-graph", "-o", "OUT"],
    "record": ["record", "-o", "OUT", "--", "true"],
    "agent": ["agent", "--once", "--to", "SERVER", "--spool", "OUT.spool"],
    "lab": ["lab", "run", "-q", "-o", "OUT", "--", "true"],
}
FAILED = {"lab": 125} # that of lab run itself; all others are those of its command
LISTEN_TRIALS = 24 # more than "kmap listen" and the process that serves a sender allocate
RELAY_ALLOCATIONS = 360 # of a relay that stores one batch and takes two
HANG = 300 # seconds, which a machine with thirty times its load needs for a command that takes one
STREAM_ID = b"0123456789abcdef" * 2


class Answers(http.server.BaseHTTPRequestHandler):
    """A server with the shape of ClickHouse: numbers of the kind that each statement wants."""
    ROWS = [("version()", "18.16.1"), ("max(version)", "0"), ("any(name)", "5\tname"), ("GROUP BY build, cache, type, site HAVING", "1\t" * 5 + "a\tb\t5\t5\t5\t5"),
            ("AS silent,", "a\t" + "1\t" * 7 + "5\t5"), ("toInt64(sum(growth)) AS g", "1\t2\t3\t5"), ("toInt64(sum(grown)) AS g", "1\t2\t3\t5")]

    def do_POST(self): # noqa: N802 # the name is the base class's
        sql = self.rfile.read(int(self.headers["Content-Length"])).decode(errors="replace")
        answer = next((text for what, text in self.ROWS if what in sql), "7200" if sql.startswith("SELECT") else "")
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer) + 1))
        self.end_headers()
        self.wfile.write(answer.encode() + b"\n")

    def log_message(self, *_):
        pass


def why_not(name):
    """The reason why a command of LIVE can't run here, or None."""
    if name == "lab":
        cache = os.environ.get("KMEMSCOPE_CACHE") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kmemscope")
        return None if os.path.exists(os.path.join(cache, "lab-6.12-um")) else "the lab's kernel was not built"
    if name == "doctor":
        return None
    if os.geteuid():
        return "needs root"
    return None if any(os.path.isdir(d) for d in ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")) else "no tracefs"


class Bench:
    def __init__(self, program, kmemgen, make_tree, mksnap, scratch):
        self.program, self.scratch = self.install(program, scratch / "bin"), scratch
        self.inputs = {"LOG": scratch / "log", "DB": scratch / "db", "TREE": scratch / "tree" / "src",
                       "BUDGET": scratch / "budget", "SNAP": scratch / "snap"}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.inputs["SERVER"] = f"http://127.0.0.1:{self.server.server_address[1]}/"
        with open(self.inputs["LOG"], "wb") as log:
            subprocess.run([kmemgen, "--events", "400", "--seed", "2"], stdout=log, check=True)
        with open(ROOT / "tests" / "heap" / "shop.txt", "rb") as shop:
            subprocess.run([mksnap, self.inputs["SNAP"]], stdin=shop, check=True)
        self.inputs["BUDGET"].write_text("total live 1G\n", encoding="ascii")
        subprocess.run([make_tree, scratch / "tree"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tap.run(program, "import", "-o", self.inputs["DB"], self.inputs["LOG"])
        self.make_memorizer(scratch / "memorizer")

    @staticmethod
    def install(program, where):
        """A copy that has beside it what "lab" looks for there."""
        where.mkdir()
        for helpers in program.parent.parent.glob("lab-h*"):
            (where / helpers.name).symlink_to(helpers)
        return pathlib.Path(shutil.copy2(program, where))

    def make_memorizer(self, where):
        """The module's files. Its stream has nothing as long as somebody holds the other end."""
        where.mkdir()
        for name, text in (("memorizer_enabled", "0 off\n"), ("clear_dead_objects", ""),
                           ("show_stats", "state: ok\ndropped_full: 0\ndropped_nmi: 0\nmarks_lost: 0\n")):
            (where / name).write_text(text, encoding="ascii")
        os.mkfifo(where / "kmap_stream")
        self.stream = os.open(where / "kmap_stream", os.O_RDWR | os.O_NONBLOCK)
        os.environ["MEMORIZER_DIR"] = str(where)

    def listen(self, nr):
        """What is wrong where allocation @nr of a listener fails, or of the process that serves a sender."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as out:
            with subprocess.Popen([self.program, "kmap", "listen", "--bind", "127.0.0.1:0", "-o", out], text=True,
                                  env={**os.environ, "LC_ALL": "C", "NOMEM_AT": str(nr)}, stderr=subprocess.PIPE) as process:
                line = process.stderr.readline()
                port = re.search(r": port (\d+)$", line)
                served = send_one(int(port.group(1))) if port else False
                if port:
                    process.terminate()
                err = line + process.stderr.read()
                status = process.wait(HANG)
        if status != (-15 if port else 1):
            return f"allocation {nr}: status {status}: {err}"
        return None if served or "memory" in err else f"allocation {nr}: no word of memory: {err}"

    def relay(self, nr):
        """What is wrong where allocation @nr of a relay fails: at its start, while it takes a batch, or while it stores it."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as out:
            (pathlib.Path(out) / "tokens").write_text("a-token-for-every-host *\n", encoding="ascii")
            (pathlib.Path(out) / "spool").mkdir(mode=0o700)
            shutil.copy(CORPUS / "fleet" / "four", f"{out}/spool/{1:020}.msg") # stored as soon as it starts
            command = [self.program, "relay", "--to", self.inputs["SERVER"], "--tokens", f"{out}/tokens", "--spool", f"{out}/spool",
                       "--bind", "127.0.0.1:0", "--oldest", "100000h"]
            with subprocess.Popen(command, text=True, stderr=subprocess.PIPE,
                                  env={**os.environ, "LC_ALL": "C", "NOMEM_AT": str(nr)}) as process:
                err, port = "", None
                while not port: # the thread that stores may complain first
                    line = process.stderr.readline()
                    if not line:
                        break
                    err += line
                    port = re.search(r": port (\d+)$", line)
                answers = [post_batch(int(port.group(1))) for _ in range(2)] if port else []
                if port:
                    process.terminate()
                try:
                    err += process.communicate(timeout=HANG)[1]
                except subprocess.TimeoutExpired:
                    process.kill()
                    return f"allocation {nr}: a hang"
        if process.returncode != (0 if port else 1):
            return f"allocation {nr}: status {process.returncode}: {err}"
        if not port and "memory" not in err:
            return f"allocation {nr}: no word of memory: {err}"
        # One request may fail, by an answer that makes the agent try again; the other is taken.
        return None if not port or (200 in answers and set(answers) <= {200, 503, 0}) else f"allocation {nr}: answers {answers}: {err}"

    def run(self, args, env):
        """Exit status, standard output and error, and the files left over."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as out:
            words = [str(self.inputs.get(word, f"{out}/{word}" if str(word).startswith("OUT") else word)) for word in args]
            try:
                done = subprocess.run([self.program, *words], env={**os.environ, "LC_ALL": "C", **env}, cwd=out,
                                      capture_output=True, text=True, errors="replace", timeout=HANG, check=False)
            except subprocess.TimeoutExpired:
                return "a hang", "", "", []
            return done.returncode, done.stdout.replace(out, ""), done.stderr, os.listdir(out)

    def count(self, args):
        file = self.scratch / "count"
        status, out, err, _ = self.run(args, {"NOMEM_COUNT": str(file)})
        return (int(file.read_text(encoding="ascii")), out, "") if status == 0 else (0, "", f"status {status}: {err}")

    def trial(self, args, wanted, failed, nr, more):
        status, out, err, left = self.run(args, {"NOMEM_AT": str(nr), **({"NOMEM_ON": "1"} if more else {})})
        what = f"allocation {nr}{' and all after it' if more else ''}: "
        if status == 0 and wanted in (out, None): # it did without, such as with a thread less
            return None
        if status != failed:
            return what + f"status {status}: {err.strip()[:300]}"
        if "memory" not in err and "ENOMEM" not in err:
            return what + f"no word of memory: {err.strip()[:300]}"
        if [name for name in left if name not in map(str, args)]: # a whole file may be there
            return what + f"left {left}"
        return None


def send_one(port):
    """Sends a frame of four bytes; whether they were acknowledged."""
    with socket.create_connection(("127.0.0.1", port), HANG) as sender:
        try:
            sender.sendall(b"KSKN" + struct.pack("<HH", 1, 32) + STREAM_ID)
            first = sender.recv(8, socket.MSG_WAITALL)
            sender.sendall(struct.pack("<QI", 0, 4) + b"data")
            return first == struct.pack("<Q", 0) and sender.recv(8, socket.MSG_WAITALL) == struct.pack("<Q", 4)
        except (ConnectionResetError, BrokenPipeError):
            return False


def post_batch(port):
    """Sends a batch to a relay: the status of its answer, 0 where it closed the connection."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/batches", (CORPUS / "fleet" / "four").read_bytes(),
                                     {"Authorization": "Bearer a-token-for-every-host"})
    try:
        with urllib.request.urlopen(request, timeout=HANG) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def sample(total, budget, rng):
    """The first third in a row, the rest by chance over all."""
    if not budget or total <= budget:
        return list(range(1, total + 1))
    first = budget // 3
    return [*range(1, first + 1), *sorted(rng.sample(range(first + 1, total + 1), budget - first))]


def main():
    program, kmemgen, make_tree, mksnap = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
    rng = random.Random(12)
    with tempfile.TemporaryDirectory(prefix="kmemscope-nomem-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bench = Bench(program, kmemgen, make_tree, mksnap, pathlib.Path(scratch))
        for name, args in {**COMMANDS, **FLEET, **LIVE}.items():
            if os.environ.get("NOMEM_ONLY", name) != name:
                continue
            if name in LIVE and why_not(name):
                tap.skip(name, why_not(name))
                continue
            total, wanted, trouble = bench.count(args)
            if trouble:
                tap.check(name, False, trouble)
                continue
            if name in LIVE:
                wanted = None
            # A recording takes as long as twenty reports.
            budget = 0 if name in WHOLE else min(RUNS, 15) if name in LIVE else RUNS
            trials = [(nr, nr % 8 == 0) for nr in sample(total, budget, rng)]
            problems = [problem for problem in pool.map(lambda t, a=args, w=wanted, f=FAILED.get(name, 1): bench.trial(a, w, f, *t), trials) if problem]
            tap.check_none(f"{name}: {len(trials)} of {total} allocations fail", problems[:12])
        if os.environ.get("NOMEM_ONLY", "kmap listen") == "kmap listen":
            problems = [problem for problem in pool.map(bench.listen, range(1, LISTEN_TRIALS + 1)) if problem]
            tap.check_none(f"kmap listen: {LISTEN_TRIALS} allocations fail", problems)
        if os.environ.get("NOMEM_ONLY", "relay") == "relay":
            trials = sample(RELAY_ALLOCATIONS, RUNS, rng)
            problems = [problem for problem in pool.map(bench.relay, trials) if problem]
            tap.check_none(f"relay: {len(trials)} of {RELAY_ALLOCATIONS} allocations fail", problems)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
