#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each allocation of each command fails in turn: every-command.py KMEMSCOPE KMEMGEN MAKE_TREE. Speaks TAP.

KMEMSCOPE is the program linked with tests/lib/nomem.c. On a small input, allocation 1, 2, 3, ... fails, once
or from there on. The command must exit with 1 and a line on standard error that says what it lacks, or do
without and print what it always prints; no crash, no temporary file left behind; and no leak, where the
program is built with ASan. Where a command makes more allocations than the budget permits, the first ones
are tried and the rest sampled, by seed. NOMEM_RUNS=N is the budget for a command, 0 tries them all.
NOMEM_ONLY=NAME tries one command.

Not here: "kmap listen" and "kmap record", which wait for a sender and a module, and "lab", whose work is
done by the guest that it starts.
"""
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE, MAP = ROOT / "tests" / "data" / "sample.log", ROOT / "tests" / "data" / "sample.kmap"
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
    "gate": ["gate", "--budget", "BUDGET", "LOG"],
    "check": ["check", CORPUS / "tracedat" / "v7-recorder"],
    "static": ["static", "-k", "TREE"],
    "static, symbols": ["static", "-k", "TREE", "--by", "symbol", "--json"],
    "rings": ["rings", "-k", "TREE", "LOG", "-o", "OUT.svg"],
    "export, pprof": ["export", "--format", "pprof", "-o", "OUT", "LOG"],
    "export, speedscope": ["export", "--format", "speedscope", "-o", "OUT", "LOG"],
    "export, chrome": ["export", "--format", "chrome", "-o", "OUT", "LOG"],
    "export, objects": ["export", "--format", "parquet", "--table", "objects", "-o", "OUT", "LOG"],
    "kmap report": ["kmap", "report", MAP],
    "kmap accesses": ["kmap", "matrix", MAP],
    "kmap matrix": ["kmap", "matrix", "-o", "OUT.svg", MAP],
    "kmap privilege": ["kmap", "privilege", MAP],
    "kmap diff": ["kmap", "diff", MAP, MAP],
    "kmap convert": ["kmap", "convert", "--to", "binary", "-o", "OUT", MAP],
    "kmap convert to a DB": ["kmap", "convert", "--to", "ksdb", "-o", "OUT", MAP],
    "kmap stream": ["kmap", "stream", "--spool", "OUT.spool", "--to", "OUT", MAP],
}
# What matters in them is done by a few allocations in the middle: all are tried.
WHOLE = {"report, perf.data with nodes"}
# Of this machine: what they print differs from run to run, and they need rights and a kernel that has it all.
LIVE = {
    "doctor": ["doctor"],
    "heap": ["heap", "--top", "3"],
    "record": ["record", "-o", "OUT", "--", "true"],
}


class Bench:
    def __init__(self, program, kmemgen, make_tree, scratch):
        self.program, self.scratch = program, scratch
        self.inputs = {"LOG": scratch / "log", "DB": scratch / "db", "TREE": scratch / "tree" / "src",
                       "BUDGET": scratch / "budget"}
        with open(self.inputs["LOG"], "wb") as log:
            subprocess.run([kmemgen, "--events", "400", "--seed", "2"], stdout=log, check=True)
        self.inputs["BUDGET"].write_text("total live 1G\n", encoding="ascii")
        subprocess.run([make_tree, scratch / "tree"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tap.run(program, "import", "-o", self.inputs["DB"], self.inputs["LOG"])

    def run(self, args, env):
        """Exit status, standard output and error, and the files left over."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as out:
            words = [str(self.inputs.get(word, f"{out}/{word}" if str(word).startswith("OUT") else word)) for word in args]
            try:
                done = subprocess.run([self.program, *words], env={**os.environ, "LC_ALL": "C", **env}, cwd=out,
                                      capture_output=True, text=True, errors="replace", timeout=60, check=False)
            except subprocess.TimeoutExpired:
                return "a hang", "", "", []
            return done.returncode, done.stdout.replace(out, ""), done.stderr, os.listdir(out)

    def count(self, args):
        file = self.scratch / "count"
        status, out, err, _ = self.run(args, {"NOMEM_COUNT": str(file)})
        return (int(file.read_text(encoding="ascii")), out, "") if status == 0 else (0, "", f"status {status}: {err}")

    def trial(self, args, wanted, nr, more):
        status, out, err, left = self.run(args, {"NOMEM_AT": str(nr), **({"NOMEM_ON": "1"} if more else {})})
        what = f"allocation {nr}{' and all after it' if more else ''}: "
        if status == 0 and wanted in (out, None): # it did without, such as with a thread less
            return None
        if status != 1:
            return what + f"status {status}: {err.strip()[:300]}"
        if "memory" not in err and "ENOMEM" not in err:
            return what + f"no word of memory: {err.strip()[:300]}"
        if [name for name in left if name not in map(str, args)]: # a whole file may be there
            return what + f"left {left}"
        return None


def sample(total, budget, rng):
    """The first third in a row, the rest by chance over all."""
    if not budget or total <= budget:
        return list(range(1, total + 1))
    first = budget // 3
    return [*range(1, first + 1), *sorted(rng.sample(range(first + 1, total + 1), budget - first))]


def main():
    program, kmemgen, make_tree = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    rng = random.Random(12)
    with tempfile.TemporaryDirectory(prefix="kmemscope-nomem-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bench = Bench(program, kmemgen, make_tree, pathlib.Path(scratch))
        for name, args in {**COMMANDS, **LIVE}.items():
            if os.environ.get("NOMEM_ONLY", name) != name:
                continue
            total, wanted, trouble = bench.count(args)
            if trouble and name in LIVE:
                tap.skip(name, "it cannot run here")
                continue
            if trouble:
                tap.check(name, False, trouble)
                continue
            if name in LIVE:
                wanted = None
            # A recording takes as long as twenty reports.
            budget = 0 if name in WHOLE else min(RUNS, 15) if name in LIVE else RUNS
            trials = [(nr, nr % 8 == 0) for nr in sample(total, budget, rng)]
            problems = [problem for problem in pool.map(lambda t, a=args, w=wanted: bench.trial(a, w, *t), trials) if problem]
            tap.check_none(f"{name}: {len(trials)} of {total} allocations fail", problems[:12])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
