#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Changes one operator in src/ at a time, by seed, and reports the share of the changes that tests notice.

usage: mutate.py [--mutants N] [--seed N] [--aim PERCENT] [--under FOLDER] [--fast-only] [FILE:LINE:COLUMN]...

Works in a copy of the tree, built once and then step by step. The fast suites run first, in the plain build,
and no further than to the first failure; the first tests are those that are named after the changed file or
its folder, then the quickest; a test that runs none of the programs that changed is left out. Only a mutant that
passes them meets what looks at the running kernel, failing allocations, the browser, and then the sanitized build.
A mutant that does not compile is drawn again, and so is one that leaves the program as it was. With
places as arguments, which are those of the lines that it prints, these are the mutants: for a second look at
survivors. Survivors that tests/mutate/equivalent.txt lists, with the reason why nobody can tell them from the
original, do not count. Ends with one line "N passed, N failed, N skipped": noticed, survived, equivalent;
survivors are no failures where the aim is reached.
"""
import argparse
import fnmatch
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

STAMP = "mutate.stamp" # in the copy of the tree: when the mutant was made
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")
SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "+=": "-=", "-=": "+=", "true": "false", "false": "true", "<<": ">>", ">>": "<<", "|=": "&="}
# Surrounded by blanks: the style sets binary operators apart, so that pointers and signs are left alone.
OPERATOR = re.compile(r"(?<= )(" + "|".join(re.escape(op) for op in sorted(SWAPS, key=len, reverse=True)
                                            if not op.isalpha()) + r")(?= )|\b(true|false)\b")
SANITIZED = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=debugoptimized",
             "-Dc_args=-fno-sanitize-recover=all"]
# What looks at the kernel of this machine, or takes minutes to say what other tests have said before.
SLOW = ["nomem", "cli-heap", "cli-heap-graph", "cli-heap-snapshot", "cli-kmap-record", "cli-leaks-live", "cli-record",
        "cli-slab-grows", "cli-top", "live-kernel", "package"]
STAGES = [("build", ["--suite", "unit", "--suite", "fuzz", "--suite", "captures", "--suite", "cli"], SLOW),
          ("build", ["--suite", "browser"] + [f"--test={name}" for name in SLOW], ["package"]),
          ("build-san", ["--suite", "unit", "--suite", "fuzz", "--suite", "captures", "--suite", "cli"], ["package"])]


def places():
    """(file, line number, column, operator) of all that can be changed: code, no comments, no strings."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.c")):
        comment = False
        for nr, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            text = line.strip()
            comment = comment or text.startswith("/*")
            if not comment and not text.startswith(("#", "//", "_Static_assert")):
                masked = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|/\*.*?\*/', lambda m: "_" * len(m.group()), line)
                found += [(path.relative_to(ROOT), nr, match.start(), match.group()) for match in OPERATOR.finditer(masked)]
            comment = comment and "*/" not in text
    return found


def call(tree, *command, timeout=1800):
    try:
        return subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return None


def run_tests(tree, build, suites, without, *more):
    leave_out = [f"--without={name}" for name in without]
    return call(tree, sys.executable, "tests/run.py", *suites, *leave_out, *more, build)


def made_here(folder, names):
    """What is in the root of the tree but not of it, for copytree()."""
    return fnmatch.filter(names, "build*") + fnmatch.filter(names, "*-out") + [".git"] if pathlib.Path(folder) == ROOT else []


def code_of(tree):
    """The program without what only debuggers read, which has the columns of operators in it."""
    stripped = tree / "build" / "kmemscope.stripped"
    subprocess.run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", tree / "build" / "kmemscope", stripped], check=True)
    return stripped.read_bytes()


def prepare(tree, fast_only):
    """Builds, and runs the fast tests once: they must pass, and then it is known how long each takes. Returns the program."""
    for build, options in (("build", []), ("build-san", SANITIZED))[:1 if fast_only else 2]:
        done = call(tree, "tools/build.sh", build, *options)
        if not done or done.returncode:
            sys.exit(f"mutate: {build} does not build")
    done = run_tests(tree, *STAGES[0])
    if not done or done.returncode:
        sys.exit("mutate: the suite fails without any change:\n" + (done.stdout[-3000:] if done else "a hang"))
    return code_of(tree)


def near(path):
    """The words by which tests are named after a file: src/cli/cmd-kmap-stream.c is near cli-kmap-stream."""
    return [f"--near={word}" for word in {path.parent.name, *path.stem.split("-")} - {"cli", "cmd"}]


def noticed(tree, path, unchanged, fast_only):
    """The test that noticed, None for a survivor, or "" where the mutant does not compile, or to the same program."""
    for build, suites, without in STAGES[:1] if fast_only else STAGES:
        if call(tree, "ninja", "-C", build).returncode or code_of(tree) == unchanged:
            return ""
        done = run_tests(tree, build, suites, without, "--first-failure", "--newer-than", STAMP, *near(path))
        if done is None or done.returncode:
            failed = re.search(r"^failed: (.*)$", done.stdout, re.M) if done else None
            return failed.group(1) if failed else "a hang" if done is None else "a suite that names no test"
    return None


def mutate(tree, place):
    """Writes the mutant; returns the line before, the line after, and the file's text as it was."""
    path, nr, column, operator = place
    file = tree / path
    original = file.read_text(encoding="utf-8")
    lines = original.split("\n")
    before = lines[nr]
    (tree / STAMP).touch()
    lines[nr] = before[:column] + SWAPS[operator] + before[column + len(operator):]
    file.write_text("\n".join(lines), encoding="utf-8")
    return before.strip(), lines[nr].strip(), original


def equivalents():
    """The changed lines that are known to be as good as the original, with their files."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return {tuple(part.strip() for part in line.split("|", 2)[:2]) for line in lines if line and not line.startswith("#")}


def again(names, candidates):
    """The places of these names."""
    by_name = {f"{path}:{nr + 1}:{column + 1}": (path, nr, column, operator) for path, nr, column, operator in candidates}
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
    parser.add_argument("--fast-only", action="store_true")
    parser.add_argument("places", nargs="*", metavar="FILE:LINE:COLUMN")
    args = parser.parse_args()
    rng, known, counts = random.Random(args.seed), equivalents(), {"noticed": 0, "survived": 0, "equivalent": 0}
    candidates = [place for place in places() if place[0].is_relative_to(pathlib.Path("src", args.under))]
    wanted = len(args.places) or args.mutants
    rng.shuffle(candidates) # each place at most once
    with tempfile.TemporaryDirectory(prefix="kmemscope-mutate-") as scratch:
        tree = pathlib.Path(scratch, "tree")
        shutil.copytree(ROOT, tree, ignore=made_here)
        unchanged = prepare(tree, args.fast_only)
        draw = again(args.places, candidates) if args.places else candidates
        for place in draw:
            before, after, original = mutate(tree, place)
            by = noticed(tree, place[0], unchanged, args.fast_only)
            (tree / place[0]).write_text(original, encoding="utf-8")
            if by == "":
                continue
            kind = "noticed" if by else "equivalent" if (str(place[0]), after) in known else "survived"
            counts[kind] += 1
            where = f"{place[0]}:{place[1] + 1}:{place[2] + 1}"
            print(f"[{sum(counts.values())}/{wanted}] {kind}{' by ' + by if by else ''}: {where}: {before} -> {after}", flush=True)
            if sum(counts.values()) == wanted:
                break
    share = 100 * counts["noticed"] / max(1, counts["noticed"] + counts["survived"])
    print(f"noticed: {share:.0f} % (aim: {args.aim:.0f} %)")
    failed, skipped = counts["survived"], counts["equivalent"]
    if share >= args.aim:
        failed, skipped = 0, failed + skipped
    print(f"{counts['noticed']} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    sys.exit(main())
