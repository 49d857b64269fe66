#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Changes one operator in src/ at a time, by seed, and reports the share of the changes that tests notice.

usage: mutate.py [--mutants N] [--seed N] [--aim PERCENT] [--under FOLDER] [--until STAGE] [--without STAGE|TEST]... [--jobs N]
                 [FILE:LINE:COLUMN]...

Every line of code that has operators is as likely as any other. A mutant that does not compile is drawn again, and so is
one that leaves the code as it was. The mutants meet the tests in stages, the quickest first: unit tests, the program,
sanitizers, stores and agents, the running kernel, failing allocations, the browser, guests. What one stage notices, the
next does not see. In a stage a mutant meets the tests that run its line, as gcov counted them in a build of its own: those
that are named after its file first, then the transcripts, which show most, then the quickest; the first failure ends it. A failure of more than a unit test
counts when it happens twice, and where others on this machine could be its cause only if the test passes without the
change then.

Works in build-mutate/, a copy of the tree, which is kept: the next run builds what has changed, and counts the tests that
have. build-mutate/log has the output of the tests.

With places as arguments, which are those of the lines that it prints, these are the mutants: for a second look at
survivors. Survivors that tests/mutate/equivalent.txt lists, with the reason why nobody can tell them from the
original, do not count. Ends with one line "N passed, N failed, N skipped": noticed, survived, equivalent;
survivors are no failures where the aim is reached.
"""
import argparse
import contextlib
import filecmp
import fnmatch
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent)]
import run  # noqa: E402 (of tests/)
from coverage import Coverage  # noqa: E402
from places import ROOT, all_lines  # noqa: E402

EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")
WORK = ROOT / "build-mutate"
TREE = WORK / "tree"
LOG = WORK / "log"
BUILDS = {"build": [], "build-cov": ["-Db_coverage=true", "-Dbuildtype=debug"],
          "build-san": ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=debugoptimized",
                        "-Dc_args=-fno-sanitize-recover=all"]}
# What looks at the kernel of this machine.
LIVE = ["census-by-manual", "cli-heap", "cli-heap-graph", "cli-heap-snapshot", "cli-kmap-record", "cli-leaks-live",
        "cli-record", "cli-record-cgroup", "cli-record-churn", "cli-record-filter", "cli-record-rotate", "cli-slab-grows",
        "cli-top", "cli-trace-analyze", "cli-watch-live", "live-kernel", "cli-serve"]
# What is tested by a machine, not by the program.
NOT_OF_IT = ["package", "cli-install", "cli-completion"]
# Guests run a program of their own, whose counts are not seen here: the tests are chosen by the folder.
GUESTS = {"heap": ["kernel-heap-6.12"], "capture": ["kernel-record-6.12"], "lab": ["kernel-lab"], "kmap": ["kernel-stock-6.12"]}
SHOWN = ["report", "serve", "heap", "cli"] # folders of which a browser shows more than other tests see
FIRST = 4 # tests that are built and run before the others are
MEMORY_MAX = 6 << 30 # of a process of a test: a mutant may ask for memory without an end


class Stage:
    """Tests that a mutant meets together."""

    def __init__(self, name, build, suites, names=(), without=(), folders=None, shared=False, counted=True):
        self.name, self.build, self.shared, self.counted, self.folders = name, build, shared, counted, folders
        self.wanted = lambda record: record["name"] not in without and record["name"] not in NOT_OF_IT and (
            record["name"] in names or any(suite.split(":")[-1] in suites for suite in record["suite"]))
        self.tests = []


STAGES = [Stage("unit", "build", ["unit", "fuzz"]),
          Stage("program", "build", ["captures", "cli"], without=LIVE),
          Stage("sanitized", "build-san", ["unit", "fuzz"]),
          Stage("fleet", "build", ["fleet"], shared=True),
          Stage("live", "build", [], LIVE, shared=True),
          Stage("nomem", "build", ["nomem"], counted=False),
          Stage("browser", "build", ["browser"], folders=SHOWN, shared=True),
          Stage("guests", "build", ["kernel"], folders=GUESTS, shared=True, counted=False)]


def call(*command):
    return subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False)


class Runner(run.Runner):
    """Says when a test has ended: a run may be interrupted, and what it counted is kept."""

    def __init__(self, *args, ended=None):
        super().__init__(*args)
        self.ended = ended

    def end(self, test, stopped=None):
        super().end(test, stopped)
        if self.ended:
            self.ended(test.record["name"], bool(test.outcome.failed))


class Suite:
    """The tests of one build, and how to run them."""

    def __init__(self, build, jobs):
        self.build, self.jobs = build, jobs
        done = subprocess.run(["tools/build.sh", build, *BUILDS[build]], cwd=TREE, env=dict(os.environ, TARGETS="build.ninja"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.exit(f"mutate: {build} can't be set up:\n{done.stdout[-3000:]}")
        told = subprocess.run(["meson", "introspect", "--tests", "--targets", build], cwd=TREE, check=True,
                              stdout=subprocess.PIPE, text=True)
        told = json.loads(told.stdout)
        self.tests = {record["name"]: record for record in told["tests"]}
        if len(self.tests) < len(told["tests"]):
            sys.exit("mutate: two tests have the same name")
        self.targets = {target["id"]: target for target in told["targets"]}

    def make(self, names):
        """Builds what these tests run."""
        targets = {os.path.relpath(file, TREE / self.build) for name in names for target in self.tests[name]["depends"]
                   for file in self.targets[target]["filename"]}
        done = call("ninja", "-C", self.build, f"-j{self.jobs}", *sorted(targets))
        return not done.returncode

    def must_make(self, names):
        if not self.make(names):
            sys.exit(f"mutate: {self.build} does not build")

    def sources(self, name):
        """What is compiled for a test alone."""
        return [file for target in self.tests[name]["depends"] for part in self.targets[target]["target_sources"]
                for file in part.get("sources", []) if file.startswith(str(TREE / "tests"))]

    def run(self, names, first_failure, raw=None, bounds=None, ended=None):
        """The names of the tests that fail; with raw, what gcov counts goes to its folders. Calls ended(name, failed).
        With bounds, which has the seconds that tests take, those that ask for too much memory or time are stopped."""
        build = str(TREE / self.build)
        tests = [run.Test(build, dict(self.tests[name], env=dict(self.tests[name]["env"]))) for name in names]
        times = run.Times([build])
        for test in tests:
            name = test.record["name"]
            if raw:
                test.record["env"]["GCOV_PREFIX"] = str(raw / name)
            if bounds:
                seconds = bounds.get(name, times.get(test))
                test.record["cmd"] = ["prlimit", f"--data={MEMORY_MAX}", f"--cpu={10 + 3 * seconds:.0f}", *test.record["cmd"]]
                test.timeout = min(test.timeout, 30 + 10 * seconds)
            elif first_failure:
                test.timeout = min(test.timeout, 20 + 10 * times.get(test))
        runner = Runner(tests, self.jobs, times, first_failure, [], ended=ended)
        with open(LOG, "a", encoding="utf-8") as log, contextlib.redirect_stdout(log), run.mounted_tracefs():
            runner.run()
        return [name.split(": ", 1)[1] for name in runner.failed]

    def seconds(self):
        return run.Times([str(TREE / self.build)]).of[str(TREE / self.build)]


class Program:
    """The tree that mutants live in, and which of its tests run what."""

    def __init__(self, jobs, without):
        sync()
        self.jobs, self.without, self.suites, self.seconds, self.includers = jobs, without, {}, {}, None
        self.coverage = Coverage(TREE, WORK / "coverage")

    def suite(self, build):
        if build not in self.suites:
            self.suites[build] = Suite(build, self.jobs)
        return self.suites[build]

    def count(self, stage):
        """Runs those of the stage's tests once without any change whose counts are not known: what fails is left out."""
        suite = self.suite("build-cov")
        of = {name: self.coverage.fingerprint(suite.tests[name], suite.sources(name)) for name in stage.tests if name in suite.tests}
        new = [name for name in of if not self.coverage.is_known(name, of[name])]
        if new:
            print(f"mutate: counting {len(new)} tests of stage {stage.name}", flush=True)
            suite.must_make(new)
            suite.run(new, False, self.coverage.raw, ended=lambda name, failed: self.coverage.keep(name, of[name], failed))
        self.seconds.update(suite.seconds())
        return [name for name in of if self.coverage.failed(name)]

    def prepare(self, stage):
        suite = self.suite(stage.build)
        stage.tests = [name for name, record in suite.tests.items() if stage.wanted(record) and name not in self.without]
        for name in self.count(stage) if stage.counted else []:
            print(f"mutate: left out, since it fails without any change: {name}", flush=True)
            stage.tests.remove(name)

    def tests_for(self, stage, place):
        """The tests of a stage that run a place: those that are named after its file first, then transcripts, then the quickest."""
        folder = place.path.parent.name
        if stage.folders is not None and folder not in stage.folders:
            return []
        if stage.name == "guests":
            return [name for name in GUESTS[folder] if name in stage.tests]
        words = {folder, *place.path.stem.split("-")} - {"cli", "cmd"}
        found = [name for name in stage.tests if not stage.counted or self.coverage.runs(name, place)]
        return sorted(found, key=lambda name: (-len(words & set(name.split("-"))), not name.startswith("transcript-"),
                                               self.seconds.get(name, 60)))

    def objects_of(self, path):
        """What a source file is compiled to, relative to the build; for a header three objects that include it: that of
        the same name and those of its folder first, which use what is inline."""
        build, source = TREE / "build", str(path)
        if path.suffix == ".c":
            found = [*(build / path.parent).glob(f"*.p/{path.name}.o"), *build.glob(f"kmemscope.p/{source.replace('/', '_')}.o")]
            return [os.path.relpath(file, build) for file in found]
        if self.includers is None:
            self.includers = {}
            for block in call("ninja", "-C", "build", "-t", "deps").stdout.split("\n\n"):
                target, *deps = block.split("\n")
                for dep in deps if target.startswith("src/") else []:
                    self.includers.setdefault(dep.strip().removeprefix("../"), []).append(target.split(":")[0])
        return sorted(self.includers.get(source, ["kmemscope"]),
                      key=lambda name: (not name.endswith(f"/{path.stem}.c.o"), not name.startswith(f"{path.parent}/"), name))[:3]

    def object_of(self, path):
        """The code that a file is compiled to; None where it does not compile."""
        names = self.objects_of(path)
        if not names: # for machines without a library that this one has
            return None
        if call("ninja", "-C", "build", f"-j{self.jobs}", *names).returncode:
            return None
        bare, code = WORK / "bare.o", b""
        for name in names:
            subprocess.run(["objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", TREE / "build" / name, bare], check=True)
            code += bare.read_bytes()
        return code

    def notices(self, stage, mutant):
        """The test of the stage that notices the mutant, or None; second, how many run it."""
        suite = self.suite(stage.build)
        tests = self.tests_for(stage, mutant.place)
        for part in (tests[:FIRST], tests[FIRST:]):
            if not part:
                break
            with mutant.alive():
                builds = suite.make(part)
                # A sanitizer's shadow memory would count, and browsers and servers have more.
                bounds = self.seconds if stage.build == "build" and not stage.shared else None
                failed = suite.run(part, True, bounds=bounds)[:1] if builds else []
                if failed and stage.name not in ("unit", "sanitized"):
                    failed = suite.run(failed, False)
            if not builds:
                suite.must_make(part)
                return f"{suite.build}, which does not build", len(tests)
            if failed and stage.shared:
                suite.must_make(failed)
                if suite.run(failed, False):
                    print(f"mutate: {failed[0]} fails without any change, too", flush=True)
                    failed = []
            if failed:
                return failed[0], len(tests)
        return None, len(tests)


def made_here(folder, names):
    """What is in the root of the tree but not of it."""
    return fnmatch.filter(names, "build*") + fnmatch.filter(names, "*-out") + [".git"] if pathlib.Path(folder) == ROOT else []


def sync():
    """Brings the copy of the tree up to date; files that are the same keep their times. What is older than the last time, here
    and there, is not looked at."""
    stamp = WORK / "synced"
    before, start = stamp.stat().st_mtime if stamp.exists() else 0, time.time()
    for folder, folders, names in os.walk(ROOT):
        leave = {"__pycache__", *made_here(folder, folders + names)}
        folders[:] = [name for name in folders if name not in leave]
        here = TREE / pathlib.Path(folder).relative_to(ROOT)
        here.mkdir(parents=True, exist_ok=True)
        there = set(os.listdir(here))
        for name in set(names) - leave:
            ours, theirs = pathlib.Path(folder, name), here / name
            if ours.is_symlink():
                theirs.unlink(missing_ok=True)
                theirs.symlink_to(os.readlink(ours))
            elif name not in there or max(ours.stat().st_mtime, theirs.stat().st_mtime) >= before and \
                    not filecmp.cmp(ours, theirs, shallow=False):
                shutil.copyfile(ours, theirs)
                shutil.copymode(ours, theirs)
        for name in there - set(os.listdir(folder)) - set(BUILDS) - {"__pycache__"}:
            gone = here / name
            shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    stamp.touch()
    os.utime(stamp, (start, start))


class Mutant:
    def __init__(self, place):
        self.place, self.by, self.ran = place, None, 0
        self.before, self.after, self.text, self.original = place.changed(TREE)

    def __str__(self):
        return f"{self.place}: {self.before} -> {self.after}"

    @contextlib.contextmanager
    def alive(self):
        file = TREE / self.place.path
        file.write_text(self.text, encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(self.original, encoding="utf-8")


def draw(program, places, wanted):
    """The first mutants that compile to something else."""
    found = []
    for place in places:
        unchanged, mutant = program.object_of(place.path), Mutant(place)
        with mutant.alive():
            code = unchanged and program.object_of(place.path)
        if code and code != unchanged:
            found.append(mutant)
        if len(found) == wanted:
            break
    return found


def equivalents():
    """The changed lines that are known to be as good as the original, with their files."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return {tuple(part.strip() for part in line.split("|", 2)[:2]) for line in lines if line and not line.startswith("#")}


def meet(program, stage, mutants):
    """Shows the mutants to the tests of a stage."""
    program.prepare(stage)
    for mutant in mutants:
        start = time.monotonic()
        mutant.by, ran = program.notices(stage, mutant)
        mutant.ran += ran
        told = f"noticed by {mutant.by}" if mutant.by else f"not noticed by {ran} tests"
        print(f"{stage.name}: {told} ({time.monotonic() - start:.0f} s): {mutant}", flush=True)


def places_of(names):
    by_name = {str(place): place for line in all_lines("") for place in line}
    for name in names:
        if name not in by_name:
            sys.exit(f"mutate: nothing to change at {name}")
    return [by_name[name] for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--aim", type=float, default=90)
    parser.add_argument("--under", default="", metavar="FOLDER", help="of src/, say heap")
    parser.add_argument("--until", default=STAGES[-1].name, choices=[stage.name for stage in STAGES])
    parser.add_argument("--without", action="append", default=[], metavar="STAGE|TEST")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("places", nargs="*", metavar="FILE:LINE:COLUMN")
    args = parser.parse_args()
    rng, lines = random.Random(args.seed), all_lines(args.under)
    rng.shuffle(lines)
    places = places_of(args.places) or [rng.choice(line) for line in lines]
    program = Program(args.jobs, args.without)
    program.suite("build")
    # Places that are given were drawn before.
    mutants = [Mutant(place) for place in places] if args.places else draw(program, places, args.mutants)
    known, rest = equivalents(), mutants
    for stage in [stage for stage in STAGES if stage.name not in args.without]:
        meet(program, stage, rest)
        rest = [mutant for mutant in rest if not mutant.by]
        print(f"after {stage.name}: {len(mutants) - len(rest)} of {len(mutants)} noticed", flush=True)
        if stage.name == args.until or not rest:
            break
    survived = [mutant for mutant in rest if (str(mutant.place.path), mutant.after) not in known]
    for mutant in rest:
        print(f"{'survived' if mutant in survived else 'equivalent'}{'' if mutant.ran else ', never run'}: {mutant}")
    noticed = len(mutants) - len(rest)
    share = 100 * noticed / max(1, noticed + len(survived))
    print(f"noticed: {share:.0f} % (aim: {args.aim:.0f} %)")
    failed, skipped = len(survived), len(rest) - len(survived)
    if share >= args.aim:
        failed, skipped = 0, len(rest)
    print(f"{noticed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    sys.exit(main())
