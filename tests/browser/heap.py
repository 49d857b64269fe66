#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The heap's part of the HTML report in a real browser: heap.py KMEMSCOPE MKSNAP. Prints TAP.

Numbers are read from the page and compared with those that "kmemscope heap" prints as JSON of the same snapshots; those
of the small heap in tests/heap/shop.txt were also worked out by hand.
"""
import json
import random
import subprocess
import sys

from page import PageTests, ROOT, main

SHOP = ROOT / "tests" / "heap" / "shop.txt"
SAMPLE = ROOT / "tests" / "data" / "sample.log"
HOSTILE = ["<img/src=x/onerror=hacked=1>", "</script><script>hacked=2</script>", "<svg/onload=hacked=3>"]
TYPES = "main > .card:nth-of-type(4)"
LEAVES = """[...document.querySelectorAll(".treemap .leaf")].map(leaf => Number(leaf.dataset.value))"""


def many_types(rng, hostile=()):
    """A heap with more caches and types than a page names, some of them with names that are no names."""
    lines = ["kernel 6.18.0 x86_64 box boot-1", "taken 1700000100000000000 1 1", "total 1000000"]
    addr, names = 0xffff888000000000, []
    for i in range(60):
        lines.append(f"cache {hostile[i % len(hostile)] if hostile and i < 3 else 'cache'}-{i} {64 << i % 5} 64")
    for i in range(700):
        names.append(f"{hostile[i % len(hostile)] if hostile and i < 6 else 'type'}_{i}")
        lines.append(f"type {names[-1]} 64")
    caches = [line.split()[1] for line in lines if line.startswith("cache")]
    objects = []
    for i, name in enumerate(names):
        for _ in range(rng.randrange(1, 30)):
            addr += 4096
            lines.append(f"object {addr:#x} {caches[i % 60]} {name} field 0 {rng.randrange(2**32)}")
            objects.append(addr)
    lines.append(f"root 0 {hostile[0] if hostile else 'init'} 0xffffffff82000000")
    lines += [f"rootref 8 {objects[0]:#x}"]
    lines += [f"ref {one:#x} {rng.randrange(8) * 8} {objects[rng.randrange(len(objects))]:#x}" for one in objects]
    return "\n".join(lines) + "\n"


class HeapTests(PageTests):
    title = "the heap in a browser"

    def snapshot(self, name, text):
        path = self.scratch / name
        subprocess.run([self.kmemgen, path], input=text, text=True, check=True)
        return path

    def numbers(self):
        return self.browser.run("""Object.fromEntries([...document.querySelectorAll(".big[data-number]")]
            .map(one => [one.dataset.number, Number(one.dataset.value)]))""")

    def test_types(self, name, page, snap):
        self.open(page, "#heap")
        got = {(row["type"], row["cache"]): (row["objects"], row["bytes"]) for row in self.rows(TYPES)}
        want = {}
        for row in self.json("heap", "types", "--from", snap)["types"]:
            want[row["type"], row["cache"]] = (row["objects"], row["bytes"])
        problems = [f"{key}: {got[key]}, not {want[key]}" for key in got.keys() & want.keys() if got[key] != want[key]]
        if sum(row[1] for row in got.values()) != sum(row[1] for row in want.values()):
            problems.append("bytes do not add up")
        if len(got) != min(len(want), 601) or got.keys() - want.keys() - {("(others)", "(others)")}:
            problems.append(f"{len(got)} rows, {len(want)} types: {list(got.keys() - want.keys())[:3]}")
        areas = self.browser.run(LEAVES)
        if sum(areas) != sum(row[1] for row in want.values()):
            problems.append(f"the areas add up to {sum(areas)}")
        outside = self.browser.run("""[...document.querySelectorAll(".treemap .group, .treemap > .leaf")].filter(box => {
            const a = box.getBoundingClientRect(), b = document.querySelector(".treemap").getBoundingClientRect();
            return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1; }).length""")
        shown = self.text()
        if outside or "NaN" in shown or "undefined" in shown:
            problems.append(f"{outside} areas are outside, or something is no number")
        if self.numbers()["Objects"] != sum(row[0] for row in want.values()):
            problems.append(f"numbers: {self.numbers()}")
        self.shot(f"heap-{name}")
        self.check(f"{name}: types and areas have the numbers of heap types --json", problems + self.trouble())

    def test_areas(self, page):
        """Areas are to each other as their bytes are."""
        self.open(page, "#heap")
        got = self.browser.run("""[...document.querySelectorAll(".treemap .group")].map(group => {
            const box = group.getBoundingClientRect();
            return [box.width * box.height, [...group.querySelectorAll(".leaf")].reduce((sum, leaf) => sum + Number(leaf.dataset.value), 0)]; })""")
        ratios = [area / value for area, value in got]
        self.check("areas are in proportion to bytes", [f"{got}"] if len(got) != 4 or max(ratios) > min(ratios) * 1.02 else [])

    def test_panel(self, page, snap):
        self.open(page, "#heap")
        self.browser.run("""[...document.querySelectorAll(".treemap .leaf")].find(leaf => leaf.dataset.name === "file").click()""")
        want = self.json("heap", "holders", "file", "--from", snap)
        got = [(row["holder"], row["objects"], row["references"], row["holders"]) for row in self.rows("#panel")]
        wanted = [(row["holder"] + ("." if row["field"][:1].isalpha() else "") + row["field"], row["objects"], row["references"], row["holders"])
                  for row in want["holders"]]
        by_hand = [("task_struct.files", 2, 2, 2), ("task_struct+0x408", 1, 1, 1)]
        problems = [] if got == wanted == by_hand else [f"{got}, not {wanted}"]
        way = self.browser.run("""[...document.querySelectorAll("#panel ol.way li")].map(step => step.innerText.trim())""")
        if way != ["variable init_task +0x48", "task_struct.files", "file"]:
            problems.append(f"the way: {way}")
        text = self.text("#panel")
        if want["retained"] != 896 or "896 B" not in text:
            problems.append(f"retained: {want['retained']}, {text}")
        hash_ = self.browser.run("location.hash")
        self.open(page, hash_)
        if self.rows("#panel") == []:
            problems.append(f"{hash_} does not bring back the panel")
        self.browser.key("Escape")
        if not self.browser.run("document.getElementById('panel').hidden"):
            problems.append("Escape leaves the panel open")
        self.check("a click on a type shows its holders, the way from a root and what it retains", problems + self.trouble())

    def test_zoom(self, page):
        self.open(page, "#heap")
        self.browser.run("""[...document.querySelectorAll(".treemap .head")].find(head => head.innerText === "task_struct").click()""")
        problems = []
        if self.browser.run(LEAVES) != [8192] or "zoom=task_struct" not in self.browser.run("location.hash"):
            problems.append(f"{self.browser.run(LEAVES)}, {self.browser.run('location.hash')}")
        self.browser.key("Escape")
        if len(self.browser.run(LEAVES)) != 5:
            problems.append("Escape does not zoom out")
        self.browser.run("""(search => { search.value = "char"; search.dispatchEvent(new Event("input")); })(document.getElementById("search"))""")
        if [row["type"] for row in self.rows(TYPES)] != ["char[]"]:
            problems.append(f"the search finds {self.rows(TYPES)}")
        if self.browser.run("""document.querySelectorAll(".treemap .leaf:not(.dim)").length""") != 1:
            problems.append("the search dims the wrong areas")
        self.check("zoom, Escape and search", problems + self.trouble())

    def test_unreachable(self, page, snap):
        self.open(page, "#heap")
        got = [(row["type"], row["cache"], row["objects"], row["bytes"], row["example"]) for row in self.rows("main > .card:nth-of-type(5)")]
        want = [(row["type"], row["cache"], row["objects"], row["bytes"], row["example"])
                for row in self.json("heap", "unreachable", "--from", snap)["unreachable"]]
        self.check("what no root leads to", [] if got == want == [("?", "kmalloc-64", 1, 64, "0xffff8880000020c0")] else
                   [f"{got}, not {want}"] + self.trouble())

    def test_diff(self, name, page, *snaps):
        self.open(page, "#heapdiff")
        columns = {"delta": "bytes_change", "before": "objects_before", "after": "objects_after", "fresh": "new", "changed": "changed", "gone": "gone"}
        got = {(row["type"], row["cache"]): {column: row[column] for column in columns if column in row} for row in self.rows("main > .card:nth-of-type(2)")}
        want = {}
        for row in self.json("heap", "diff", *snaps)["types"]:
            want[row["type"], row["cache"]] = {column: row[member] for column, member in columns.items() if member in row}
        self.shot(f"heap-{name}")
        self.check(f"{name}: the difference has the numbers of heap diff --json",
                   ([] if got == want and got else [f"{got}, not {want}"]) + self.trouble())

    def test_with_capture(self, shop):
        page = self.make_page("both.html", "--heap", shop, SAMPLE)
        self.open(page)
        tabs = self.browser.run("[...document.querySelectorAll('#tabs button')].map(tab => tab.innerText)")
        problems = [] if "Summary" in tabs and "Heap" in tabs and "Heap diff" not in tabs else [f"{tabs}"]
        if self.browser.run("document.getElementById('strip').hidden"):
            problems.append("there is no overview of time")
        self.browser.key("h")
        if not self.browser.run("document.querySelector('.treemap') !== null"):
            problems.append("the key h does not show the heap")
        self.check("with a capture, the heap is one more view", problems + self.trouble())

    def run(self):
        text = SHOP.read_text(encoding="ascii")
        shop = self.snapshot("shop.snap", text)
        later = self.snapshot("later.snap", text.replace("object 0xffff888000001300 filp file cache 2 13\n", "")
                              .replace("ref 0xffff888000001300 16 0xffff888000002040 8\n", "")
                              .replace("ref 0xffff888000005000 1024 0xffff888000001300\n", "")
                              .replace("taken 1700000000000000000", "taken 1700000060000000000") +
                              "object 0xffff888000001500 filp file cache 2 13\nobject 0xffff888000001600 filp file cache 2 13\n")
        other = self.snapshot("other.snap", text.replace("11111111-2222", "3333"))
        flat = self.snapshot("flat.snap", "\n".join(line for line in text.splitlines() if line.split()[:1] not in (["ref"], ["root"], ["rootref"])))
        large = self.snapshot("large.snap", many_types(random.Random(3)))
        page = self.make_page("heap.html", "--heap", shop)
        self.check_size(page)
        self.test_types("by hand", page, shop)
        self.test_areas(page)
        self.test_panel(page, shop)
        self.test_zoom(page)
        self.test_unreachable(page, shop)
        self.test_types("many types", self.make_page("large.html", "--heap", large), large)
        self.test_types("no references", self.make_page("flat.html", "--heap", flat), flat)
        self.test_diff("a minute later", self.make_page("diff.html", "--heap", shop, "--heap", later), shop, later)
        changed = self.snapshot("changed.snap", text.replace("11111111-2222", "3333").replace("object 0xffff888000001300 filp", "object 0xffff888000001700 filp")
                                .replace("0xffff888000001300", "0xffff888000001700") + "object 0xffff888000001900 filp file cache\n")
        self.test_diff("another boot", self.make_page("boot.html", "--heap", shop, "--heap", changed), shop, changed)
        same = self.make_page("same.html", "--heap", shop, "--heap", other)
        self.open(same, "#heapdiff")
        self.check("a difference that is none", ([] if "Nothing here" in self.text() else [self.text()]) + self.trouble())
        self.test_with_capture(shop)
        hostile = self.make_page("hostile.html", "--heap", self.snapshot("hostile.snap", many_types(random.Random(4), HOSTILE)))
        self.check("names are text and nothing else", self.hostility(hostile, "#heap") + self.hostility(hostile, "#heap?type=0") +
                   self.hostility(hostile, "#heap?zoom=" + HOSTILE[0]))
        data = self.scratch / "data.json"
        self.run_program("html", "--data", "--heap", large, "-o", data)
        size, rows = data.stat().st_size, json.loads(data.read_text())["heap"]["types"]["rows"]
        self.check("the data is bounded", [] if rows == 601 and size < 200_000 else [f"{rows} rows, {size} bytes"])


if __name__ == "__main__":
    sys.exit(main(HeapTests))
