#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The HTML report in a real browser: html.py KMEMSCOPE KMEMGEN. Speaks TAP.

Numbers are read from the tables of the page and compared with those that the other commands print as
JSON. With KMEMSCOPE_SHOTS=DIR, a picture of every view is left there.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from cdp import Browser, find_chromium

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "tests" / "data" / "sample.log"
TABS = ["summary", "sites", "flame", "rings", "timeline", "leaks", "fragmentation", "lifetimes",
        "cpu", "quality"]
PAGE_LIMIT = 400_000

# Column of the page's table, member of the JSON of "kmemscope report".
COLUMNS = {"live": "live_bytes", "peak": "peak_bytes", "bytes": "total_bytes", "liveWaste": "waste",
           "objects": "live_objects", "allocs": "allocs", "frees": "frees", "implied": "implied_frees"}

HOSTILE = "</script><b>"
HOSTILE_LOG = f"""\
 {HOSTILE}-77 [000] ..... 10.000001: kmem_cache_alloc: call_site=<img/src=x/onerror=hacked=1> ptr=ffff888000001000 name=<svg/onload=hacked=2> bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL
 {HOSTILE}-77 [000] ..... 10.000002: kmalloc: call_site=</script><script>hacked=3</script> ptr=ffff888000002000 bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL
 a-1 [000] ..... 10.000003: kmalloc: call_site=<b>&quot;"'+0x1/0x2 ptr=ffff888000003000 bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL
 what is <img src=x onerror=hacked=4> this
 a-1 [000] ..... 10.000009: kfree: call_site=good+0x1/0x2 ptr=ffff888000001000
"""

ROWS = """[...document.querySelectorAll("main > .card:SELECTOR table tbody tr")].map(tr =>
    Object.fromEntries([...[...tr.querySelectorAll("td[data-value]")]
        .map(td => [td.dataset.column, Number(td.dataset.value)]), ["label", tr.dataset.label]]))"""
MORE = """document.querySelectorAll("button.more").forEach(button => button.click())"""


class Tests:
    def __init__(self, kmemscope, kmemgen, scratch, browser):
        self.kmemscope, self.kmemgen = kmemscope, kmemgen
        self.scratch, self.browser = scratch, browser
        self.count = 0
        self.failed = False

    # --- Helpers ---

    def check(self, name, problems):
        self.count += 1
        for problem in problems[:8]:
            print("# " + str(problem)[:600].replace("\n", "\n# "))
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}", flush=True)
        self.failed |= bool(problems)

    def json(self, *args):
        done = subprocess.run([self.kmemscope, *map(str, args), "--json"], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    def report(self, capture, *options):
        page = self.scratch / (capture.stem + ".html")
        subprocess.run([self.kmemscope, "html", str(capture), "-o", str(page), *options], check=True)
        return page

    def log(self, name, *options):
        path = self.scratch / name
        with open(path, "wb") as f:
            subprocess.run([self.kmemgen, *options], stdout=f, check=True)
        return path

    def open(self, page, hash_=""):
        if not self.browser.open(page.resolve().as_uri() + hash_):
            raise RuntimeError(f"{page}{hash_} did not start: {self.browser.complaints()}")

    def trouble(self):
        """What a page must not do: complain, or ask for anything but itself."""
        requests = [url for url in self.browser.requests() if not url.startswith("file:")]
        return self.browser.complaints() + [f"request: {url}" for url in requests[:3]] + (
            ["it asked for more than itself"] if len(self.browser.requests()) > 1 else [])

    def rows(self, page, hash_, card="nth-of-type(1)"):
        self.open(page, hash_)
        self.browser.run(MORE)
        return self.browser.run(ROWS.replace("SELECTOR", card))

    # --- Tests ---

    def test_size(self, page):
        text = page.read_bytes()
        data = re.search(rb'id="data">(.*?)</script>', text, re.S).group(1)
        problems = []
        if len(text) - len(data) > PAGE_LIMIT:
            problems.append(f"{len(text) - len(data)} bytes")
        json.loads(data)
        self.check(f"without its data, the page has at most {PAGE_LIMIT} bytes", problems)

    def test_tabs(self, page, name, *, theme="light"):
        shots = os.environ.get("KMEMSCOPE_SHOTS")
        self.browser.theme(theme)
        for number, tab in enumerate(TABS):
            self.open(page)
            self.browser.key(str((number + 1) % 10))
            problems = []
            if self.browser.run("location.hash") != "#" + tab and tab != "summary":
                problems.append(f"the key leads to {self.browser.run('location.hash')}")
            text = self.browser.run("document.querySelector('main').innerText")
            if len(text) < 40:
                problems.append(f"shows only {text!r}")
            if re.search(r"\bNaN\b|undefined|\[object|Infinity", text):
                problems.append(f"shows something that is no number: {text[:300]}")
            if shots:
                self.browser.screenshot(f"{shots}/{name}-{theme}-{tab}.png")
            self.check(f"{name}, {theme}: {tab} is drawn, silently", problems + self.trouble())
        self.browser.theme("light")

    def compare_rows(self, got, wanted, key, columns):
        problems = []
        have = {row["label"]: row for row in got}
        want = {row[key]: row for row in wanted if row.get("allocs", 1)}
        if len(have) != len(got):
            problems.append("labels are there twice")
        if have.keys() != want.keys():
            problems.append(f"only in one: {sorted(have.keys() ^ want.keys())[:5]}")
        for label in have.keys() & want.keys():
            for column, member in columns.items():
                if have[label][column] != want[label][member]:
                    problems.append(f"{label}: {column} is {have[label][column]}, not {want[label][member]}")
        return problems or ([] if got else ["no rows"])

    def test_groups(self, capture, page):
        for by in ("site", "cache", "size", "comm", "cpu"):
            got = self.rows(page, f"#sites?by={by}")
            wanted = self.json("report", "--by", by, capture)["rows"]
            key = next(name for name in wanted[0] if name in (by, "label", "name"))
            self.check(f"{capture.name}: by {by}, the page has the numbers of report --json",
                       self.compare_rows(got, wanted, key, COLUMNS))

    def test_totals(self, capture, page):
        self.open(page)
        shown = self.browser.run("""Object.fromEntries([...document.querySelectorAll("[data-number]")]
            .map(e => [e.dataset.number, Number(e.dataset.value)]))""")
        total = self.json("report", "--by", "site", capture)["total"]
        want = {"Live at the end": "live_bytes", "Peak": "peak_bytes", "Allocated": "total_bytes",
                "Allocations": "allocs", "Frees seen": "frees", "Wasted, live": "waste"}
        self.check(f"{capture.name}: the summary has the totals of report --json",
                   [f"{name}: {shown.get(name)}, not {total[member]}" for name, member in want.items()
                    if shown.get(name) != total[member]])

    def test_leaks(self, capture, page):
        leaks = self.json("leaks", capture)
        columns = {"keptBytes": "bytes", "kept": "objects", "oldest": "oldest", "frees": "frees"}
        problems = self.compare_rows(self.rows(page, "#leaks"), leaks["sites"], "site", columns)
        if leaks["unseen"]:
            problems += self.compare_rows(self.rows(page, "#leaks", "nth-of-type(2)"),
                                          leaks["unseen"], "site", columns)
        self.check(f"{capture.name}: leaks are those of leaks --json", problems)

    def test_frag(self, capture, page):
        frag = self.json("report", "--frag", capture)
        columns = {"bytes": "allocated", "asked": "requested", "waste": "wasted", "allocs": "allocs"}
        got = self.rows(page, "#fragmentation")
        key = "size" if "size" in frag["sizes"][0] else "label"
        wanted = [{**row, "name": str(row[key])} for row in frag["sizes"]]
        problems = self.compare_rows(got, wanted, "name", columns)
        crossing = [row for row in frag["sites"] if row["cross_cpu_frees"]]
        got = self.rows(page, "#cpu", "last-child")
        problems += self.compare_rows(got, crossing, "site", {"cross": "cross_cpu_frees"})
        self.check(f"{capture.name}: fragmentation and CPUs are those of report --frag --json", problems)

    def test_range(self, capture, page):
        """Drags over the overview; the CLI is asked for the same window."""
        self.open(page, "#sites")
        box = self.browser.run("""(({left, width, top, height}) => [left, width, top + height / 2])
            (document.querySelector("#strip .chart").getBoundingClientRect())""")
        self.browser.drag(box[0] + box[1] * 0.3, box[0] + box[1] * 0.6, box[2])
        chosen = re.search(r"from=(\d+)&to=(\d+)", self.browser.run("location.hash"))
        if not chosen:
            self.check("dragging chooses a range", [self.browser.run("location.hash")])
            return
        data = self.browser.run("JSON.parse(document.getElementById('data').textContent)")
        first, width = int(data["first_ts"]), data["width"]
        edges = [first + int(bucket) * width for bucket in chosen.groups()]
        since, until = (f"{edge // 10**9}.{edge % 10**9:09}" for edge in edges)
        self.browser.run(MORE)
        got = [row for row in self.browser.run(ROWS.replace("SELECTOR", "nth-of-type(1)")) if row["allocs"]]
        wanted = self.json("report", "--by", "site", "--since", since, "--until", until, capture)
        problems = self.compare_rows(got, wanted["rows"], "site", {"bytes": "total_bytes", "allocs": "allocs"})
        # What lives at an edge is what lives when the capture ends there.
        ended = self.json("report", "--by", "site", "--until", until, capture)
        live = {row["site"]: row["live_bytes"] for row in ended["rows"]}
        problems += [f"{row['label']}: live {row['live']}, not {live.get(row['label'])}" for row in got
                     if row["live"] != live.get(row["label"])]
        if not 5 < int(chosen.group(1)) < int(chosen.group(2)) < data["buckets"]:
            problems.append(f"of {data['buckets']} buckets it took {chosen.group()}")
        self.check("a range that is dragged has the numbers of --since and --until", problems)

        self.browser.key("Escape")
        self.check("Escape shows the whole capture again",
                   ["still a range"] if "from" in self.browser.run("location.hash") else [])

    def test_hostile(self):
        capture = self.scratch / "hostile.log"
        capture.write_text(HOSTILE_LOG, encoding="utf-8")
        page = self.report(capture)
        problems = []
        for hash_ in ["#" + tab for tab in TABS] + ["#sites?by=comm", "#sites?by=cache", "#sites?site=0",
                                                    "#sites?site=1", "#sites?q=<img src=x onerror=hacked=5>",
                                                    "#flame?zoom=<img src=x onerror=hacked=6>"]:
            self.open(page, hash_)
            if self.browser.run("typeof hacked !== 'undefined'"):
                problems.append(f"{hash_}: it ran")
            if self.browser.run("document.querySelectorAll('img, svg svg, b, main script').length"):
                problems.append(f"{hash_}: it became an element")
            problems += self.trouble()
        labels = [row["label"] for row in self.rows(page, "#sites?by=comm")]
        if HOSTILE not in labels:
            problems.append(f"it is not shown as it is: {labels}")
        self.check("hostile names stay text", problems)

    def test_small(self):
        capture = self.scratch / "small.log"
        capture.write_text(" a-1 [000] ..... 10.000009: kfree: call_site=good+0x1/0x2 "
                           "ptr=ffff888000001000\n", encoding="utf-8")
        page = self.report(capture)
        problems = []
        for tab in TABS:
            self.open(page, "#" + tab)
            problems += self.trouble()
        self.check("a capture of one free has a report too", problems)

    def test_state(self, page):
        run = self.browser.run
        self.open(page, "#sites")
        run("[...document.querySelectorAll('th button')].find(b => b.textContent === 'allocs').click()")
        allocs = [row["allocs"] for row in run(ROWS.replace("SELECTOR", "nth-of-type(1)"))]
        problems = [] if allocs == sorted(allocs, reverse=True) else ["not sorted by allocs"]
        run("document.querySelector('tbody tr').click()")
        hash_ = run("location.hash")
        title = run("document.querySelector('#panel h2')?.textContent")
        if title != run("document.querySelector('tbody tr').dataset.label"):
            problems.append(f"the panel shows {title}")
        self.open(page, hash_)
        again = [row["allocs"] for row in run(ROWS.replace("SELECTOR", "nth-of-type(1)"))]
        if again != allocs or run("document.querySelector('#panel h2')?.textContent") != title:
            problems.append(f"{hash_} does not bring back order and panel")
        self.check("order and chosen site live in the address", problems + self.trouble())

        self.browser.key("Escape")
        self.browser.key("/")
        for letter in "alloc_inode":
            self.browser.key(letter)
        labels = [row["label"] for row in run(ROWS.replace("SELECTOR", "nth-of-type(1)"))]
        problems = [label for label in labels if "alloc_inode" not in label]
        self.check("search leaves what matches", problems or ([] if labels else ["nothing left"]))

    def test_diff(self, first, second):
        """The Diff view against kmemscope diff, by every key, measure and scale."""
        page = self.report(second, "--diff", first)
        self.open(page, "#diff")
        problems = self.trouble()
        asked = [(by, "live", "none") for by in ("site", "function", "cache", "module")]
        asked += [("site", measure, "none") for measure in ("waste", "objects", "peak", "total", "allocs")]
        asked += [("site", "total", "time"), ("cache", "allocs", "events"), ("function", "live", "time")]
        for by, measure, normal in asked:
            self.open(page, f"#diff?by={by}&measure={measure}&normal={normal}")
            self.browser.run(MORE)
            got = self.browser.run("""[...document.querySelectorAll("main tbody tr")].map(tr => {
                const cell = key => tr.querySelector(`[data-column="${key}"]`);
                return [cell("label").textContent, cell("change").textContent, Number(cell("before").dataset.value), Number(cell("after").dataset.value)];
            })""")
            doc = self.json("diff", "--by", by, "--measure", measure, "--normalize", normal, first, second)
            want = [[row[by], row["change"], row["before"], row["after"]] for row in doc["rows"]]
            if got != want:
                wrong = [pair for pair in zip(got, want) if pair[0] != pair[1]][:2]
                problems.append(f"{by}, {measure}, {normal}: {len(got)} rows, not {len(want)}: {wrong}")
            problems += self.trouble()
        self.check("the diff has the rows of diff --json, in their order", problems)
        counts = self.browser.run("""[...document.querySelectorAll("main button[aria-pressed]")].map(b => b.textContent)""")
        kinds = [row["change"] for row in self.json("diff", "--by", "function", "--normalize", "time", first, second)["rows"]]
        want = [f"all {len(kinds)}"] + [f"{kind} {kinds.count(kind)}" for kind in ("new", "grown", "shrunk", "gone", "same")]
        self.open(page)
        said = self.browser.run("document.querySelector('.findings li[data-mark=\"!\"] button').textContent")
        top = next(row["site"] for row in self.json("diff", first, second)["rows"] if row["after"] > row["before"])
        self.browser.key("d")
        self.check("it counts the kinds of change, and the summary names the first of those that grew",
                   ([] if counts == want else [f"{counts}, not {want}"]) + ([] if said == top else [f"{said}, not {top}"]) +
                   ([] if self.browser.run("location.hash") == "#diff" else ["d does not lead to it"]))

    def test_detail(self, capture, page):
        """The detail of a site against filters of the report: processes, pids, CPUs, sizes."""
        self.open(page, "#sites?site=0")
        site = self.browser.run("document.querySelector('#panel h2').textContent")
        shown = self.browser.run("""Object.fromEntries([...document.querySelectorAll("#panel h3")].map(h3 => [h3.textContent,
            h3.nextElementSibling?.querySelectorAll ? [...h3.nextElementSibling.querySelectorAll("tbody tr")].map(tr =>
                [...tr.querySelectorAll("td")].map(td => td.dataset.value ?? td.textContent)) : []]))""")
        problems = []
        for by, title in (("comm", "process"), ("pid", "pid"), ("cpu", "CPU"), ("size", "size")):
            rows = self.json("report", "--by", by, "--site", site, capture)["rows"]
            want = {str(row[by]): (row["allocs"], row["total_bytes"]) for row in rows if row["allocs"]}
            got = {cells[0].split(" ")[0] if by == "pid" else cells[0]: (int(cells[1]), int(cells[2]))
                   for cells in shown.get("By " + title, [])}
            problems += [f"{title} {name}: {numbers}, not {want.get(name)}" for name, numbers in got.items()
                         if numbers != want.get(name)]
            if len(got) != min(8, len(want)):
                problems.append(f"{len(got)} rows by {title}, of {len(want)}")
        self.check(f"{capture.name}: the detail of a site has the numbers of report --json", problems + self.trouble())

    def test_flame(self, page):
        run = self.browser.run
        self.open(page, "#flame")
        names = run("[...document.querySelectorAll('.frame')].map(f => f.textContent)")
        run("document.querySelectorAll('.frame')[1].click()")
        hash_ = run("location.hash")
        problems = [] if "zoom=" in hash_ else [f"no zoom in {hash_}"]
        run("[...document.querySelectorAll('button')].find(b => b.textContent === 'Zoom out').click()")
        if run("[...document.querySelectorAll('.frame')].map(f => f.textContent)") != names:
            problems.append("zooming out shows something else")
        self.browser.key("i")
        if run("[...document.querySelectorAll('.frame')].map(f => f.textContent)") == names:
            problems.append("inverting changes nothing")
        self.check("the flame graph zooms and inverts", problems + self.trouble())

    def test_leak_is_found(self):
        """Among much that comes and goes, a site that only takes."""
        lines = []
        for i in range(4000):
            at = f"{100 + i // 1000}.{i % 1000:03}"
            common = "bytes_req=512 bytes_alloc=512 gfp_flags=GFP_KERNEL"
            lines.append(f" a-1 [000] ..... {at}001: kmalloc: call_site=busy+0x1/0x2 ptr=ffff88800000{i % 16:x}000 {common}")
            if i % 20 == 0:
                lines.append(f" a-1 [000] ..... {at}002: kmalloc: call_site=leaky+0x1/0x2 ptr=ffff8881{i:08x} {common}")
            lines.append(f" a-1 [000] ..... {at}003: kfree: call_site=busy+0x2/0x2 ptr=ffff88800000{i % 16:x}000")
        capture = self.scratch / "leak.log"
        capture.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.open(self.report(capture))
        said = self.browser.run("[...document.querySelectorAll('.findings li[data-mark=\"!\"]')].map(li => li.innerText)")
        wanted = "leaky+0x1 keeps growing: 100 KiB in 200 objects"
        self.check("the summary names a planted leak, and nothing else",
                   [] if len(said) == 1 and said[0].startswith(wanted) else said or ["nothing"])

    def test_stacks(self):
        """A recording of this machine: what all stacks allocated is what was allocated in all."""
        name = "with stacks, the flame graph is of call stacks, and no allocation is missing from it"
        capture = self.scratch / "stacks.dat"
        done = subprocess.run([self.kmemscope, "record", "-q", "--slab", "--stack", "-o", str(capture), "--",
                               "ls", "/"], capture_output=True, text=True, check=False)
        if done.returncode:
            self.count += 1
            print(f"ok {self.count} - {name} # SKIP cannot record here: {done.stderr.strip()[:80]}")
            return
        self.open(self.report(capture), "#flame?metric=allocs")
        frames = self.browser.run("[...document.querySelectorAll('.frame')].map(f => f.textContent)")
        total = self.json("report", "--by", "site", capture)["total"]["allocs"]
        problems = [] if frames[0] == f"all  {total:,}" else [f"{frames[0]!r}, not {total}"]
        if not any("do_syscall" in frame or "syscall" in frame.lower() for frame in frames):
            problems.append(f"no system call among {frames[:6]}")
        self.check(name, problems + self.trouble())

    def run(self):
        sample = self.report(SAMPLE)
        made = self.log("made.log", "--events", "60000", "--sites", "230", "--live", "700")
        page = self.report(made)
        self.test_size(sample)
        self.test_tabs(sample, "sample")
        self.test_tabs(page, "made", theme="dark")
        for capture, its_page in ((SAMPLE, sample), (made, page)):
            self.test_totals(capture, its_page)
            self.test_groups(capture, its_page)
            self.test_leaks(capture, its_page)
            self.test_frag(capture, its_page)
            self.test_detail(capture, its_page)
        self.test_diff(self.log("first.log", "--events", "30000", "--sites", "200", "--seed", "4", "--clean"), made)
        self.test_range(made, page)
        self.test_state(sample)
        self.test_flame(sample)
        self.test_leak_is_found()
        self.test_stacks()
        self.test_hostile()
        self.test_small()
        print(f"1..{self.count}")
        return self.failed


def main():
    if not find_chromium():
        print("1..1\nok 1 - the HTML report in a browser # SKIP no Chromium here")
        return 0
    with tempfile.TemporaryDirectory(prefix="kmemscope html ") as scratch, Browser() as browser:
        return Tests(sys.argv[1], sys.argv[2], pathlib.Path(scratch), browser).run()


if __name__ == "__main__":
    sys.exit(main())
