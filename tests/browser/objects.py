#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The Objects tab of the HTML report in a real browser: objects.py KMEMSCOPE KMEMGEN. Prints TAP.

Numbers are read from the page and compared with those that "kmemscope kmap" prints as JSON.
"""
import random
import sys

from page import PageTests, ROOT, main

SAMPLE = ROOT / "tests" / "data" / "sample.kmap"
TEXT_BASE, MODULE_BASE, FUNCTIONS = 0xffffffff81000000, 0xffffffffc0000000, 40

# Column of the page's table, member of the JSON of "kmemscope kmap report".
SITE_COLUMNS = {"objects": "objects", "bytes": "bytes", "live_bytes": "live_bytes", "mean_bytes": "mean_bytes",
                "reads": "reads", "writes": "writes", "foreign_accesses": "foreign_accesses",
                "irq_accesses": "irq_accesses", "cold_bytes": "cold_bytes", "unread_bytes": "unread_bytes",
                "write_only_bytes": "write_only_bytes"}
LINK_COLUMNS = {"reads": "reads", "writes": "writes", "foreign_accesses": "foreign_accesses",
                "irq_accesses": "irq_accesses", "frees": "frees"}

HOSTILE = ["<img/src=x/onerror=hacked=1>", "</script><script>hacked=2</script>", "<svg/onload=hacked=3>"]

SITES, MATRIX = "main > .card:nth-of-type(3)", "main details"


def address(function, offset):
    """Every fifth function is in a module."""
    base = MODULE_BASE if function % 5 == 0 else TEXT_BASE
    return base + function * 256 + offset


def kallsyms():
    lines = [f"{address(f, 0):016x} t func_{f}{' ' + chr(9) + '[mod_a]' if f % 5 == 0 else ''}" for f in range(FUNCTIONS)]
    return "\n".join(line.replace(" \t", "\t") for line in sorted(lines)) + "\n"


def make_map(objects):
    rng = random.Random(11)
    lines = []
    for i in range(objects):
        site = rng.randrange(25)
        end = 0 if rng.random() < 0.1 else i + rng.randrange(1, 300)
        size = 8 << rng.randrange(10)
        lines.append(f"{address(site, 16 + site % 3):016x},{100 + i % 7},{0xffff888000000000 + i * 4096:016x},{size},"
                     f"{i},{end},{address(39, 4) if end else 0:016x},KMALLOC,cmd,kmalloc-{size},")
        for j in range(rng.randrange(5)):
            pid = rng.choice([100 + i % 7, 100 + i % 7, 42, -1])
            lines.append(f"  {address(rng.randrange(10, FUNCTIONS), 8 + j):016x},{rng.randrange(9)},"
                         f"{rng.randrange(40)},{pid}")
    return "\n".join(lines) + "\n"


class ObjectTests(PageTests):
    title = "the Objects tab in a browser"

    def test_sites(self, name, page, *args):
        self.open(page, "#objects")
        got = self.rows(SITES)
        wanted = self.json("kmap", "report", "--by", "site", "--top", 0, *args)
        columns = {key: member for key, member in SITE_COLUMNS.items() if any(key in row for row in got)}
        shown = self.text()
        problems = self.compare_rows(got, wanted["groups"], "group", columns)
        # A column may be missing only if it is zero in all rows.
        problems += [f"{key} is missing" for key, member in SITE_COLUMNS.items()
                     if key not in columns and any(row[member] for row in wanted["groups"])]
        if "NaN" in shown or "undefined" in shown:
            problems.append("something that is no number")
        self.shot(f"objects-{name}")
        self.check(f"{name}: sites have the numbers of kmap report --json", problems + self.trouble())

    def test_matrix(self, name, page, levels, *args):
        for level in levels:
            wanted = {(cell["code"], cell["owner"]): cell for cell in
                      self.json("kmap", "matrix", "--by", level, "--top", 0, *args)["cells"]}
            problems = []
            for heat in ("accesses", "reads", "writes"):
                self.open(page, f"#objects?level={level}&heat={heat}")
                self.browser.run("document.querySelector('main details').open = true")
                got = {(row["code"], row["owner"]): row["value"] for row in self.rows(MATRIX)}
                want = {key: cell["reads"] + cell["writes"] if heat == "accesses" else cell[heat]
                        for key, cell in wanted.items()}
                want = {key: value for key, value in want.items() if value}
                if got != want or not got:
                    problems.append(f"{heat}: {len(got)} cells, {len(want)} wanted")
                picture = self.browser.run("""[...document.querySelectorAll("table.heat td[data-value]")]
                    .reduce((sum, td) => sum + Number(td.dataset.value), 0)""")
                if picture != sum(want.values()):
                    problems.append(f"{heat}: the picture adds up to {picture}, not {sum(want.values())}")
            self.check(f"{name}: the matrix by {level} is that of kmap matrix --json", problems + self.trouble())

    def panel(self, selector, label):
        """Clicks the row of that name."""
        self.browser.run(f"""[...document.querySelectorAll("{selector} tbody tr")]
            .find(tr => tr.dataset.label === {label!r}).click()""")
        return self.rows("#panel")

    def test_panels(self, name, page, *args):
        self.open(page, "#objects")
        site = self.rows(SITES)[0]["label"]
        got = self.panel(SITES, site)
        wanted = self.json("kmap", "accesses", "--top", 0, site, *args)["accesses"]
        columns = {key: member for key, member in LINK_COLUMNS.items() if got and key in got[0]}
        problems = self.compare_rows(got, wanted, "code", columns)
        self.shot(f"objects-{name}-site")
        self.check(f"{name}: a click on a site shows who touches its objects, as kmap accesses --json",
                   problems + self.trouble())
        code = got[0]["label"]
        got = self.panel("#panel", code)
        wanted = self.json("kmap", "touches", "--top", 0, code, *args)["touches"]
        columns = {key: member for key, member in LINK_COLUMNS.items() if got and key in got[0]}
        problems = self.compare_rows(got, wanted, "site", columns)
        hash_ = self.browser.run("location.hash")
        self.open(page, hash_)
        if self.rows("#panel") != got:
            problems.append(f"{hash_} does not bring back the panel")
        self.browser.key("Escape")
        if not self.browser.run("document.getElementById('panel').hidden"):
            problems.append("Escape leaves the panel open")
        self.check(f"{name}: and a click on a function whose objects it touches, as kmap touches --json",
                   problems + self.trouble())

    def test_alone(self, page):
        """Without a capture, the other tabs show the objects of the map."""
        self.open(page, "#sites")
        got = self.rows()
        db = self.scratch / "alone.ksdb"
        self.run_program("kmap", "convert", "--to", "ksdb", "-k", self.scratch / "kallsyms", "-o", db,
                         self.scratch / "made.kmap")
        wanted = self.json("report", "--by", "site", db)["rows"]
        self.check("of a map alone, the other tabs are of its objects",
                   self.compare_rows(got, wanted, "site", {"live": "live_bytes", "bytes": "total_bytes",
                                                           "allocs": "allocs", "frees": "frees"}))
        self.open(page, "#summary")
        self.browser.key("o")
        said = self.browser.run("location.hash")
        self.open(page, "#summary")
        text = self.text()
        problems = [] if said == "#objects" else [f"the key leads to {said}"]
        if "never touched" not in text:
            problems.append("the summary says nothing of the map")
        self.check("the key o leads there, and the summary speaks of it", problems + self.trouble())

    def test_joined(self, kmap):
        label = "func_1+0x11"
        capture = self.write("joined.log", "".join(
            f" ls-1 [000] ..... 1.{i:06}: kmalloc: call_site={label}/0x100 ptr=ffff8880000{i:02}000 "
            f"bytes_req=70 bytes_alloc=96 gfp_flags=GFP_KERNEL\n" for i in range(9)))
        page = self.make_page("joined.html", capture, "--kmap", kmap, "-k", self.scratch / "kallsyms")
        self.open(page, "#objects")
        row = next(row for row in self.rows(SITES) if row["label"] == label)
        problems = [] if row["waste"] == 9 * 26 else [f"waste is {row['waste']}"]
        self.open(page, "#sites?site=0")
        panel = self.text("#panel")
        if label not in panel or "Who touches its objects" not in panel:
            problems.append(f"the panel of the site: {panel[:200]}")
        self.check("a capture and a map of the same run meet at their sites", problems + self.trouble())

    def test_plain(self):
        page = self.make_page("plain.html", ROOT / "tests" / "data" / "sample.log")
        self.open(page, "#objects")
        problems = [] if self.browser.run("document.getElementById('tab-objects') === null") else ["it has the tab"]
        empty = self.write("no-accesses.kmap", "".join(
            line + "\n" for line in make_map(50).splitlines() if not line.startswith(" ")))
        self.open(self.make_page("empty.html", "--kmap", empty), "#objects")
        text = self.text()
        if "no access in the map" not in text.lower() or "never touched" in text.lower():
            problems.append(f"without accesses: {text[:200]}")
        self.check("no map, no tab; no accesses, nothing is called cold", problems + self.trouble())

    def test_hostile_map(self):
        kmap = self.write("hostile.kmap", "".join(
            f"ffffffff8100{i:04x},1,ffff88800000{i:04x},64,{i},{i + 5},ffffffff81000900,{HOSTILE[0] if i else 'KMALLOC'},{HOSTILE[1]},{HOSTILE[2]},\n"
            f"  ffffffff8100f000,1,2,3\n" for i in range(3)))
        page = self.make_page("hostile.html", "--kmap", kmap)
        problems = []
        for hash_ in ("#objects", "#objects?object=0", "#objects?code=0", "#objects?level=<img src=x>&heat=<img src=x>",
                      "#objects?object=99", "#objects?code=-1", "#summary"):
            problems += self.hostility(page, hash_)
        self.open(page, "#objects")
        if HOSTILE[2] not in self.text():
            problems.append("it is not shown as it is")
        self.check("hostile names in a map stay text", problems)

    def run(self):
        symbols = self.write("kallsyms", kallsyms())
        kmap = self.write("made.kmap", make_map(3000))
        binary = self.scratch / "made.bin"
        self.run_program("kmap", "convert", "--to", "binary", "-o", binary, kmap)
        sample = self.make_page("sample.html", "--kmap", SAMPLE)
        made = self.make_page("made.html", "--kmap", kmap, "-k", symbols)
        self.check_size(made)
        self.test_sites("sample", sample, SAMPLE)
        self.test_sites("made", made, "-k", symbols, kmap)
        self.test_sites("binary", self.make_page("binary.html", "--kmap", binary, "-k", symbols), "-k", symbols, binary)
        self.test_matrix("sample", sample, ["function"], SAMPLE)
        self.test_matrix("made", made, ["function", "file", "dir", "topdir", "module"], "-k", symbols, kmap)
        self.test_panels("sample", sample, SAMPLE)
        self.test_panels("made", made, "-k", symbols, kmap)
        self.test_alone(made)
        self.test_joined(kmap)
        self.test_plain()
        self.test_hostile_map()
        self.browser.theme("dark")
        self.open(made, "#objects")
        self.shot("objects-made-dark")
        self.check("dark, it is silent too", self.trouble())


if __name__ == "__main__":
    sys.exit(main(ObjectTests))
