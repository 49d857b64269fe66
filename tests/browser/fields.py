#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The fields of an access map in the HTML report, in a real browser: fields.py KMEMSCOPE. Prints TAP.

Numbers are read from the page and compared with those that "kmemscope kmap fields" prints as JSON.
"""
import random
import re
import subprocess
import sys

from page import PageTests, ROOT, main

STRUCT, TYPES = "#struct", "main > .card:nth-of-type(5)"
HOSTILE = "<img/src=x/onerror=hacked=1>"
TYPE_COLUMNS = {"size": "size", "objects": "objects", "reads": "reads", "writes": "writes", "holes": "holes"}
FIELD_COLUMNS = {"offset": "offset", "size": "size", "reads": "reads", "writes": "writes"}


def accesses(rng, offsets):
    """Lines for kmap-fields.py: instructions that read or write at one of the offsets each."""
    return "".join(f"{0xffffffff81000000 + rng.randrange(40) * 256 + 8:x} {rng.choice('rw')} {rng.randrange(1, 900)} "
                   f"{rng.choice((4, 8))} {rng.choice(offsets)} {rng.randrange(4)}\n" for _ in range(40))


def make_map():
    rng = random.Random(7)
    lines = []
    for cache, size, objects in (("widgets", 1024, 6), ("gadgets", 128, 3), (HOSTILE, 64, 1)):
        # Of a widget, the lines in the middle are not touched.
        offsets = [o for o in range(0, size - 8, 8) if not 256 <= o < 896]
        for i in range(objects):
            lines.append(f"object {0xffff888000001000 + i * 4096:x} {size} ffffffff81000100 {cache}\n" + accesses(rng, offsets))
    lines.append("object ffff888000100000 4096 ffffffff81000900\n" + accesses(rng, range(0, 4000, 8)))
    return "".join(lines) + "ffffffff81000230 r 6 1 40 0 offset\n"


class FieldTests(PageTests):
    title = "fields in a browser"

    def struct(self, page, number):
        self.open(page, f"#objects?struct={number}")
        return self.rows(STRUCT + " > .scroll:nth-of-type(2)")

    def test_types(self, page, types):
        self.open(page, "#objects")
        got = self.rows(TYPES)
        columns = {key: member for key, member in TYPE_COLUMNS.items() if types[0].get(member) is not None}
        problems = self.compare_rows(got, types, "type", columns)
        # A click shows another type, and the address has it.
        self.browser.run(f"""[...document.querySelectorAll("{TYPES} tbody tr")]
            .find(tr => tr.dataset.label === {types[1]["type"]!r}).click()""")
        if types[1]["type"] not in self.text(STRUCT) or "struct=1" not in self.browser.run("location.hash"):
            problems.append("a click does not show the type: " + self.text(STRUCT)[:100])
        self.check("types have the numbers of kmap fields --json", problems + self.trouble())

    def test_struct(self, page, number, name, *args):
        wanted = self.json("kmap", "fields", *args[:-1], name, args[-1])
        got = self.struct(page, number)
        rows = [{key: row[key] for key in FIELD_COLUMNS} | {"field": row["field"], "verdict": row["verdict"]} for row in got]
        want = [{key: row.get(member, "–") for key, member in FIELD_COLUMNS.items()} | {"field": row["field"], "verdict": row["verdict"]}
                for row in wanted["fields"]]
        problems = [f"{a}, not {b}" for a, b in zip(rows, want) if a != b]
        if len(rows) != len(want) or not rows:
            problems.append(f"{len(rows)} rows, not {len(want)}")
        pairs = [row["label"] for row in self.rows(STRUCT + " > .scroll:nth-of-type(3)")]
        if pairs != [pair["read"] for pair in wanted["sharing"]]:
            problems.append(f"pairs: {pairs}")
        # Each field that is accessed is drawn in its line, and as wide as it is.
        drawn = self.browser.run("""[...document.querySelectorAll("#struct .line")].flatMap(line => [...line.querySelectorAll("[data-field]")]
            .map(box => [box.dataset.field, Math.round(parseFloat(box.style.width) * 64 / 100), box.style.background.includes("rgb")]))""")
        width = {}
        for field, size, hot in drawn:
            width[field] = (width.get(field, (0,))[0] + size, hot)
        for row in wanted["fields"]:
            if row.get("reads", 0) + row.get("writes", 0) and width.get(row["field"]) != (row["size"], True):
                problems.append(f"{row['field']}: drawn {width.get(row['field'])}, not {row['size']} bytes")
        self.shot(f"fields-{number}")
        self.check(f"{name}: its fields, their picture and its pairs are those of kmap fields --json", problems + self.trouble())

    def test_typed(self, symbols):
        """With types: a struct of a module that is compiled here has names and holes."""
        source = self.write("mod.c", "extern void *get_memory(unsigned long);\nextern void use(void *);\n"
                            "struct widget { long first; char small; long last[4]; };\n"
                            "struct widget *make_widget(void)\n{\n\tstruct widget *w = get_memory(sizeof(*w));\n\n"
                            "\tif (w)\n\t\tw->first = 1;\n\tuse(w);\n\treturn w;\n}\n")
        module = self.scratch / "mod.ko"
        try:
            subprocess.run(["gcc", "-g", "-O2", "-fno-pic", "-c", "-o", module, source], check=True)
            code = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", module], check=True, capture_output=True, text=True).stdout
            back = code[code.index("get_memory"):].splitlines()[1].split(":")[0].strip()
        except (OSError, ValueError, subprocess.CalledProcessError):
            return self.skip("fields have names", "no compiler here")
        kmap = self.scratch / "typed.bin"
        text = (f"object ffff888000001000 48 {0xffffffffa0000000 + int(back, 16):x}\nffffffffa0001010 r 900 8 0 0\n"
                "ffffffffa0001020 w 500 8 16 1\nffffffffa0001020 w 2 1 8 1\n")
        subprocess.run([sys.executable, ROOT / "tests/cli/kmap-fields.py", kmap], input=text, text=True, check=True)
        args = ("-k", symbols, "--types", module)
        page = self.make_page("typed.html", "--kmap", kmap, *args)
        wanted = self.json("kmap", "fields", *args, kmap)["types"]
        if [row["type"] for row in wanted] != ["widget"]:
            return self.skip("fields have names", f"the types here are {wanted}")
        self.test_struct(page, 0, "widget", *args, kmap)
        holes = self.browser.run("document.querySelectorAll('#struct .hole').length")
        return self.check("holes are drawn", [] if holes == 1 else [f"{holes} of them"])

    def test_without(self):
        page = self.make_page("text.html", "--kmap", ROOT / "tests/data/sample.kmap")
        self.open(page, "#objects?struct=3")
        self.check("a map without offsets has no such card",
                   ([] if self.browser.run("document.getElementById('struct') === null") else ["it has it"]) + self.trouble())

    def test_timeless(self):
        """Of a stock kernel's map no times are known: nothing has a rate, or came within some time."""
        shown = ROOT / "docs/reading-a-kmap"
        page = self.make_page("stock.html", "--kmap", shown / "stock.kmap.zst", "-k", shown / "stock.syms", "--types", shown / "stock.btf")
        self.open(page, "#summary")
        text = self.text("body")
        problems = [text[:500]] if text.count("no times are known") != 3 or re.search(r"B/s|\b[01] ns\b|within", text) else []
        self.check("a map without times has no rates", problems + self.trouble())
        self.open(page, "#objects")
        self.check("nor sites: what stands for all of them is of several caches", [] if "task_struct and others" in self.text("body") else ["it is not"])

    def run(self):
        symbols = self.write("kallsyms", "ffffffff81000000 T _text\n" + "".join(
            f"{0xffffffff81000000 + f * 256:x} t func_{f}\n" for f in range(40)) +
            "ffffffffa0000000 t make_widget\t[mod]\nffffffffa0001000 t reader\t[mod]\nffffffffa0002000 t end\t[mod]\n")
        kmap = self.scratch / "made.bin"
        subprocess.run([sys.executable, ROOT / "tests/cli/kmap-fields.py", kmap], input=make_map(), text=True, check=True)
        page = self.make_page("made.html", "--kmap", kmap, "-k", symbols)
        types = self.json("kmap", "fields", "-k", symbols, "--top", 0, kmap)["types"]
        self.test_types(page, types)
        for number, row in enumerate(types):
            self.test_struct(page, number, row["type"], "-k", symbols, kmap)
        cold = self.text(STRUCT + " .struct") if self.struct(page, [row["size"] for row in types].index(1024)) else ""
        self.check("lines that nobody accesses are one", [] if "10 cache lines that are not accessed" in cold else [cold[:300]])
        hostile = [row["type"] for row in types].index(f"[cache {HOSTILE}]")
        self.check("a hostile name stays text", self.hostility(page, f"#objects?struct={hostile}") +
                   self.hostility(page, "#objects?struct=-1") + self.hostility(page, "#objects?struct=99"))
        self.browser.theme("dark")
        self.open(page, "#objects")
        self.shot("fields-dark")
        self.check("dark, it is silent too", self.trouble())
        self.test_typed(symbols)
        self.test_without()
        self.test_timeless()
        log = ROOT / "tests" / "data" / "sample.log"
        both = self.make_page("both.html", log, "--kmap", kmap, "-k", symbols)
        self.open(both, "#objects")
        self.check("beside a capture it is there, too", [] if self.rows(TYPES) else ["no types"])


if __name__ == "__main__":
    sys.exit(main(FieldTests))
