# SPDX-License-Identifier: GPL-2.0-only
"""Which tests run a line, by gcov. Counts are kept by test; a line is known by its function and its text, so that counts
still serve when other lines of the file have changed."""
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

NAME = re.compile(r"(\w+)\(")
GCOV_FILES = 200 # a call


def functions_of(text):
    """For each line the name of the function that it is in, or "": kernel style, where these alone begin at the margin."""
    names, name, head = [], "", ""
    for line in text.split("\n"):
        if line[:1] == "{":
            name = head
        elif line[:1] == "}":
            name = ""
        elif line[:1].isalpha() and not name:
            found = NAME.search(line)
            head = found.group(1) if found else head
        names.append(name)
    return names


@functools.lru_cache(maxsize=64)
def lines_of(file):
    text = file.read_text(encoding="utf-8")
    return list(zip(functions_of(text), (line.strip() for line in text.split("\n"))))


class Coverage:
    """The counts of the tests of the build "build-cov", which it moves from gcov's files to one of its own for each test."""

    def __init__(self, tree, folder):
        self.tree, self.build, self.folder = tree, tree / "build-cov", folder
        self.raw = folder / "raw" # what tests leave
        self.known = {}

    def file(self, test):
        return self.folder / f"{test}.json"

    def fingerprint(self, record, sources):
        """Of what the test itself is made of; it is counted again when that changes."""
        own = {word for word in record["cmd"] if word.startswith(str(self.tree / "tests"))} | set(sources)
        digest = hashlib.sha256()
        for name in sorted(own):
            if os.path.isfile(name):
                digest.update(pathlib.Path(name).read_bytes())
        return digest.hexdigest()

    def load(self, test):
        if test not in self.known:
            self.known[test] = json.loads(self.file(test).read_text(encoding="utf-8")) if self.file(test).exists() else None
            if self.known[test]:
                self.known[test]["ran"] = {path: set(lines) for path, lines in self.known[test]["ran"].items()}
        return self.known[test]

    def is_known(self, test, fingerprint):
        return self.load(test) is not None and self.load(test)["of"] == fingerprint

    def failed(self, test):
        return self.load(test)["failed"]

    def keep(self, test, fingerprint, failed):
        """Reads what a test left."""
        ran = {}
        left = self.raw / test
        files = sorted(left.rglob("*.gcda"))
        for file in files:
            notes = file.with_suffix(".gcno")
            notes.unlink(missing_ok=True)
            notes.symlink_to("/" + str(notes.relative_to(left)))
        for start in range(0, len(files), GCOV_FILES):
            done = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, files[start:start + GCOV_FILES])],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, cwd=self.build)
            for line in done.stdout.splitlines():
                self.add(ran, json.loads(line)["files"])
        shutil.rmtree(left, ignore_errors=True)
        ran = {path: sorted(lines) for path, lines in ran.items()}
        self.folder.mkdir(exist_ok=True)
        self.file(test).write_text(json.dumps({"of": fingerprint, "failed": failed, "ran": ran}), encoding="utf-8")
        self.known.pop(test, None)

    def add(self, ran, files):
        for file in files:
            path = (self.build / file["file"]).resolve()
            if not path.is_relative_to(self.tree / "src"):
                continue
            text = lines_of(path)
            run = {"\t".join(text[line["line_number"] - 1]) for line in file["lines"] if line["count"]}
            ran.setdefault(str(path.relative_to(self.tree)), set()).update(run)

    def runs(self, test, place):
        """Whether the test runs the place; also where that is not known: in tables outside of functions."""
        known = self.load(test)
        if not known:
            return True
        ran = known["ran"].get(str(place.path))
        if not ran:
            return False
        text = lines_of(self.tree / place.path)
        function = text[place.nr][0]
        # A statement of several lines is counted where it begins, or where a part of it is evaluated.
        nr = place.nr
        while nr and text[nr][0] == function and text[nr][1][:1] not in ("{", "}"):
            if "\t".join(text[nr]) in ran:
                return True
            if nr < place.nr and text[nr][1].endswith(";"):
                break
            nr -= 1
        return not function
