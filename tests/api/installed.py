#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The library as it is installed: installed.py BUILD SNAPSHOT. Prints TAP.

It is installed below a scratch directory and found there by pkg-config. Every header compiles alone, as C and as C++; the programs of
the manual compile, run, and print what the manual says; the headers, the list of symbols, the library and the manual have the same
functions; and the interface is that of libkmemscope.abi, to which things may only be added.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "lib"))
import tap  # noqa: E402

PAGES = sorted((ROOT / "docs" / "man").glob("*.3.rst"))
HEADERS = sorted((ROOT / "include" / "kmemscope").glob("*.h"))
ABI = HERE / "libkmemscope.abi"
STRICT = ["-Wall", "-Wextra", "-Werror"]


def blocks(text):
    """The literal blocks of the section EXAMPLES, each with the line above it."""
    inside = text.split("\nEXAMPLES\n========\n", 1)[-1].split("\nSEE ALSO\n", 1)[0]
    found = re.findall(r"^([^\n]*)::\n\n((?:(?: {4}[^\n]*)?\n)+)", inside, re.M)
    return [(head, re.sub(r"^ {4}", "", block, flags=re.M).strip("\n") + "\n") for head, block in found]


class Installed:
    """What was installed, and how to compile against it."""

    def __init__(self, build, dest):
        self.dest = dest
        self.env = dict(os.environ, DESTDIR=str(dest))
        self.done = tap.run("meson", "install", "--no-rebuild", "--quiet", "-C", build, env=self.env)
        self.pc = next(iter(dest.rglob("libkmemscope.pc")), None)
        self.library = next(iter(dest.rglob("libkmemscope.so.0")), None)
        self.env = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.pc.parent if self.pc else dest), PKG_CONFIG_SYSROOT_DIR=str(dest),
                        LD_LIBRARY_PATH=str(self.library.parent if self.library else dest))

    def flags(self, *what):
        said = tap.run("pkg-config", *what, "libkmemscope", env=self.env).stdout
        return shlex.split(said)

    def compile(self, compiler, *words):
        return tap.run(*compiler, *STRICT, *words, env=self.env, status=None)


def check_headers(installed, scratch):
    """Each header needs no other before it."""
    cflags = installed.flags("--cflags")
    tap.check("all headers are installed",
              sorted(p.name for p in (installed.dest).rglob("include/kmemscope/*.h")) == [p.name for p in HEADERS])
    for compiler in (["gcc", "-std=c99", "-pedantic"], ["g++", "-x", "c++", "-std=c++11", "-pedantic"], ["clang", "-std=c11"],
                     ["clang++", "-x", "c++", "-std=c++17"]):
        if not shutil.which(compiler[0]):
            tap.skip(f"headers: {' '.join(compiler)}", f"no {compiler[0]}")
            continue
        problems = []
        for header in HEADERS:
            source = scratch / "one.c"
            source.write_text(f"#include <kmemscope/{header.name}>\n#include <kmemscope/{header.name}>\nint one;\n", encoding="utf-8")
            done = installed.compile(compiler, "-fsyntax-only", *cflags, source)
            if done.returncode:
                problems.append(f"{header.name}: {done.stderr}")
        tap.check_none(f"headers compile alone: {' '.join(compiler)}", problems)


def check_examples(installed, scratch, sample, snapshot):
    """The programs of the manual."""
    for page in PAGES:
        found = blocks(page.read_text(encoding="utf-8"))
        programs = [i for i, (_, block) in enumerate(found) if "int main(" in block]
        problems = [] if programs else ["it has none"]
        for i in programs:
            source, program = scratch / "example.c", scratch / "example"
            source.write_text(found[i][1], encoding="utf-8")
            done = installed.compile(["gcc", "-std=gnu11"], *installed.flags("--cflags"), source, "-o", program,
                                     *installed.flags("--libs"))
            if done.returncode:
                problems.append(done.stderr)
                continue
            given = snapshot if "ks_heap_open" in found[i][1] else sample.with_suffix(".kmap") if "ks_map_open" in found[i][1] else sample
            done = tap.run(program, given, env=installed.env)
            shown = found[i + 1] if i + 1 < len(found) and found[i + 1][0].endswith("prints") else None
            if shown and done.stdout != shown[1]:
                problems.append(f"prints something else:\n{done.stdout}")
            if not done.stdout:
                problems.append("prints nothing")
        tap.check_none(f"the {len(programs)} programs of {page.stem}", problems)


def declared():
    """The functions of the headers."""
    text = "".join(p.read_text(encoding="utf-8") for p in HEADERS)
    return set(re.findall(r"^KS_API [^;(]*?\b(ks_\w+)\(", text, re.M))


def check_symbols(installed):
    said = tap.run("nm", "-D", "--defined-only", installed.library).stdout
    exported = {line.split()[-1] for line in said.splitlines()} - {"KMEMSCOPE_0"}
    functions = declared()
    tap.check("there are functions", len(functions) > 40)
    tap.check_none("the library has the functions of its headers and nothing else",
                   sorted(exported ^ {f"{name}@@KMEMSCOPE_0" for name in functions}))
    synopses = "".join(re.findall(r"SYNOPSIS\n=+\n(.*?)\nDESCRIPTION", p.read_text(encoding="utf-8"), re.S)[0] for p in PAGES)
    tap.check_none("the manual has the functions of the headers and no others",
                   sorted(functions ^ set(re.findall(r"\b(ks_\w+)\(", synopses))))
    needed = tap.run("readelf", "-d", installed.library).stdout
    tap.check("its name is libkmemscope.so.0", "[libkmemscope.so.0]" in needed)
    undefined = tap.run("nm", "-D", "--undefined-only", installed.library).stdout
    tap.check_none("it has no means to load programs into the kernel or to end the process",
                   re.findall(r"\b(?:bpf_\w+|exit|_exit|abort|printf|puts)\b@", undefined))


def check_abi(installed, scratch):
    """Against libkmemscope.abi, which "installed.py --update BUILD" writes anew after a change that is meant."""
    if not shutil.which("abidiff"):
        tap.skip("the interface is the one that was promised", "no abidiff")
        return
    machine = tap.run("readelf", "-h", installed.library).stdout.lower()
    compiler = tap.run("readelf", "--debug-dump=info", "--dwarf-depth=1", installed.library).stdout
    if "x86-64" not in machine or "GNU C" not in compiler:
        tap.skip("the interface is the one that was promised", "libkmemscope.abi is of gcc for x86-64")
        return
    now = scratch / "now.abi"
    write_abi(installed, now)
    done = tap.run("abidiff", "--no-added-syms", ABI, now, status=None)
    tap.check("the interface is the one that was promised", done.returncode == 0, done.stdout)
    gone = scratch / "gone.abi"
    gone.write_text(now.read_text(encoding="utf-8").replace("ks_table_u64", "ks_table_u65"), encoding="utf-8")
    tap.check("a function that goes would be noticed", tap.run("abidiff", ABI, gone, status=None).returncode & 8)
    tap.check_none("and every function is in it", [f for f in declared() if f"'{f}'" not in ABI.read_text(encoding="utf-8")])


def write_abi(installed, path):
    headers = next(installed.dest.rglob("include/kmemscope"))
    tap.run("abidw", "--headers-dir", headers, "--drop-private-types", "--exported-interfaces-only", "--no-elf-needed", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
            "--out-file", path, installed.library.resolve())


def main():
    update = sys.argv[1] == "--update"
    build = pathlib.Path(sys.argv[2 if update else 1]).resolve()
    with tempfile.TemporaryDirectory(prefix="kmemscope api ") as place:
        scratch = pathlib.Path(place)
        # A directory of scratch that has no blanks: pkg-config's sysroot can't have them.
        with tempfile.TemporaryDirectory(prefix="kmemscope-api-") as root:
            installed = Installed(build, pathlib.Path(root))
            if update:
                write_abi(installed, ABI)
                return 0
            tap.check("installs", installed.done.returncode == 0 and installed.pc and installed.library, installed.done.stderr)
            version = tap.run("pkg-config", "--modversion", "libkmemscope", env=installed.env).stdout.strip()
            tap.check("pkg-config knows its version", re.fullmatch(r"\d+\.\d+\.\d+", version), version)
            check_headers(installed, scratch)
            check_examples(installed, scratch, ROOT / "tests" / "data" / "sample.log", sys.argv[2])
            check_symbols(installed)
            check_abi(installed, scratch)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
