# SPDX-License-Identifier: GPL-2.0-only
"""Tests of a build for another architecture: its programs run under an emulator.

tools/cross.sh leaves a file "emulator" in such a build directory. Wherever a test's command or its environment names a
program of the build, it gets a script instead that starts the program under the emulator: tests start programs by
their path, and need not know.
"""
import pathlib
import shlex


def is_program(path):
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


class Emulator:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        file = self.build / "emulator"
        self.words = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []

    def script(self, program):
        """The name stays, as programs look at it and tests at what is printed."""
        script = self.build / "emulated" / program.name
        if not script.exists():
            script.parent.mkdir(exist_ok=True)
            words = ['"$0"' if word == "$0" else shlex.quote(word) for word in [*self.words, str(program)]]
            script.write_text("#!/bin/sh\nexec " + " ".join(words) + ' "$@"\n', encoding="utf-8")
            script.chmod(0o755)
        return str(script)

    def word(self, word):
        path = self.build / word # which is the word itself where that is absolute
        inside = self.build in path.parents
        return self.script(path) if inside and is_program(path) else word

    def apply(self, record):
        """A test with what it runs and hands over."""
        if not self.words:
            return record
        return dict(record, cmd=[self.word(word) for word in record["cmd"]],
                    env={name: self.word(value) for name, value in record["env"].items()})
