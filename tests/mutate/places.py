# SPDX-License-Identifier: GPL-2.0-only
"""Where src/ has an operator that can be exchanged for another."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "+=": "-=", "-=": "+=", "true": "false", "false": "true", "<<": ">>", ">>": "<<", "|=": "&="}
# Surrounded by blanks: the style sets binary operators apart, so that pointers and signs are left alone.
OPERATOR = re.compile(r"(?<= )(" + "|".join(re.escape(op) for op in sorted(SWAPS, key=len, reverse=True)
                                            if not op.isalpha()) + r")(?= )|\b(true|false)\b")
OPAQUE = re.compile(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|/\*.*?\*/')


class Place(collections.namedtuple("Place", "path nr column operator")):
    """Line and column count from 0."""

    def __str__(self):
        return f"{self.path}:{self.nr + 1}:{self.column + 1}"

    def changed(self, tree):
        """The line before, the line after, the file's text with it, and the file's text as it is."""
        original = (tree / self.path).read_text(encoding="utf-8")
        lines = original.split("\n")
        before = lines[self.nr]
        lines[self.nr] = before[:self.column] + SWAPS[self.operator] + before[self.column + len(self.operator):]
        return before.strip(), lines[self.nr].strip(), "\n".join(lines), original


def lines_of(path):
    """For each line of code with operators: its places. Comments, strings and directives are left alone, and
    so are assertions, which say something only where another line is wrong."""
    comment, directive = False, False
    for nr, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        text = line.strip()
        comment = comment or text.startswith("/*")
        directive = directive or text.startswith("#")
        if not comment and not directive and not text.startswith(("//", "_Static_assert", "assert(")):
            masked = OPAQUE.sub(lambda m: "_" * len(m.group()), line)
            found = [Place(path.relative_to(ROOT), nr, m.start(), m.group()) for m in OPERATOR.finditer(masked)]
            if found:
                yield found
        comment = comment and "*/" not in text
        directive = directive and text.endswith("\\")


def all_lines(under):
    folder = ROOT / "src" / under
    return [line for path in sorted(folder.rglob("*.[ch]")) for line in lines_of(path)]
