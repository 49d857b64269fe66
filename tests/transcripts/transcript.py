#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the program prints, in full: transcript.py FILE KMEMSCOPE KMEMGEN MKSNAP FLEETSIM. Speaks TAP.

transcript.py --update BUILD [FILE...] writes what the program of a build prints into these files, or into all.

FILE has commands, each a line that begins with "$ ", and below it what the command must print: standard output and error,
and [N] where the exit status N is not 0. What comes before the first command is a comment. The commands are run by a shell
in a directory of their own, where data/ and corpus/ are those of tests/; log, other.log and log.ksdb are made up, and
shop.snap and later.snap are of tests/heap/.

Other tests know from elsewhere what numbers must come out, and look at some of them. Transcripts have all that is
printed, and are read by people: when a command is to print something else, the files are updated, and their change is
reviewed as any other.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "lib"))
import tap  # noqa: E402

COMMAND = "$ "
FONTS = "<fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>{}</cachedir></fontconfig>" # all that pictures may use


def parse(text):
    """What comes before the first command, and the commands with their output."""
    head, parts = "", []
    for line in text.splitlines(keepends=True):
        if line.startswith(COMMAND):
            parts.append([line[len(COMMAND):].rstrip("\n"), ""])
        elif parts:
            parts[-1][1] += line
        else:
            head += line
    return head, parts


def prepare(programs, where):
    program, kmemgen, mksnap, _ = programs
    (where / "bin").mkdir()
    for each in programs:
        (where / "bin" / each.name).symlink_to(each)
    (where / "data").symlink_to(TESTS / "data")
    (where / "corpus").symlink_to(TESTS / "fuzz" / "corpus")
    for name, seed in (("log", "2"), ("other.log", "3")):
        (where / name).write_text(tap.run(kmemgen, "--events", "300", "--sites", "24", "--seed", seed, "--era", "3").stdout, encoding="utf-8")
    for name, source in (("shop.snap", "shop.txt"), ("later.snap", "shop-later.txt")):
        tap.run(mksnap, where / name, input=(TESTS / "heap" / source).read_text(encoding="utf-8"))
    (where / "fonts.conf").write_text(FONTS.format(where / "fonts"), encoding="ascii")
    tap.run(program, "import", "-o", where / "log.ksdb", where / "log")


def say(command, where):
    """What the command prints."""
    env = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "FONTCONFIG_FILE": str(where / "fonts.conf"),
           "PATH": f"{where}/bin:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600, check=False)
    text = done.stdout.decode("utf-8", "backslashreplace").replace(str(where), ".")
    if text and not text.endswith("\n"):
        text += "(no newline)\n"
    return text + (f"[{done.returncode}]\n" if done.returncode else "")


def first_difference(got, want):
    got, want = got.splitlines(), want.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
    return f"line {at + 1}:\n want: {''.join(want[at:at + 1])[:500]}\n got:  {''.join(got[at:at + 1])[:500]}"


def update(file, parts, where):
    head, _ = parse(file.read_text(encoding="utf-8"))
    file.write_text(head + "".join(f"{COMMAND}{command}\n{say(command, where)}" for command, _ in parts), encoding="utf-8")


def test(file, parts, where):
    wrong = 0
    for command, want in parts:
        got = say(command, where)
        wrong += got != want
        tap.check(command.replace("#", " "), got == want, first_difference(got, want))
    if wrong:
        print(f"# If this is meant to be: {pathlib.Path(__file__).name} --update build; git diff {file.name}")


def main():
    updating = sys.argv[1] == "--update"
    if updating:
        build = pathlib.Path(sys.argv[2]).resolve()
        programs = [build / name for name in ("kmemscope", "tests/kmemgen", "tests/heap/mksnap", "tests/fleet/fleetsim")]
        files = map(pathlib.Path, sys.argv[3:] or sorted(pathlib.Path(__file__).parent.glob("*.txt")))
    else:
        files, programs = [pathlib.Path(sys.argv[1])], [pathlib.Path(word).resolve() for word in sys.argv[2:]]
    for file in files:
        with tempfile.TemporaryDirectory(prefix="kmemscope-transcript-") as scratch:
            where = pathlib.Path(scratch)
            prepare(programs, where)
            (update if updating else test)(file, parse(file.read_text(encoding="utf-8"))[1], where)
    return 0 if updating else tap.finish()


if __name__ == "__main__":
    sys.exit(main())
