#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The HTML report in a real browser: views.py KMEMSCOPE KMEMGEN. Prints TAP.

Numbers are read from the tables of the page and compared with those that the other commands print as
JSON.
"""
import re
import subprocess
import sys

from page import MORE, PageTests, ROOT, main
from processes import ProcessTests

SAMPLE = ROOT / "tests" / "data" / "sample.log"
TABS = ["summary", "sites", "flame", "rings", "timeline", "leaks", "fragmentation", "lifetimes",
        "cpu", "quality"]

# Column of the page's table, member of the JSON of "kmemscope report".
COLUMNS = {"live": "live_bytes", "peak": "peak_bytes", "bytes": "total_bytes", "liveWaste": "waste",
           "objects": "live_objects", "allocs": "allocs", "frees": "frees", "implied": "implied_frees",
           "paged": "page_frees", "censused": "census_frees"}

# Everything that is visible in the view.
DRAWN = """[...document.querySelectorAll("main *")].filter(e => e.checkVisibility()).map(e => [e.tagName, e.getAttribute("class"), e.dataset.value,
    e.title, e.getAttribute("d"), e.getAttribute("fill"), e.style.left, e.style.width, e.style.top, e.style.background,
    [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("")].map(x => x ?? "").join("|"))"""
# The text of the rows that are in sight.
IN_SIGHT = """[...document.querySelectorAll("main tbody tr")].filter(tr => { const { top, bottom, height } = tr.getBoundingClientRect();
    return height && bottom > 0 && top < innerHeight; }).map(tr => tr.innerText)"""

HOSTILE = "</script><b>"
HOSTILE_LOG = f"""\
 {HOSTILE}-77 [000] ..... 10.000001: kmem_cache_alloc: call_site=<img/src=x/onerror=hacked=1> ptr=ffff888000001000 name=<svg/onload=hacked=2> bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL
 {HOSTILE}-77 [000] ..... 10.000002: kmalloc: call_site=</script><script>hacked=3</script> ptr=ffff888000002000 bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL
 a-1 [000] ..... 10.000003: kmalloc: call_site=<b>&quot;"'+0x1/0x2 ptr=ffff888000003000 bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL
 what is <img src=x onerror=hacked=4> this
 a-1 [000] ..... 10.000009: kfree: call_site=good+0x1/0x2 ptr=ffff888000001000
"""


class ViewTests(ProcessTests, PageTests):
    title = "the HTML report in a browser"

    def report(self, capture, *options):
        return self.make_page(capture.stem + ".html", capture, *options)

    def test_tabs(self, page, name, *, theme="light"):
        self.browser.theme(theme)
        for number, tab in enumerate(TABS):
            self.open(page)
            self.browser.key(str((number + 1) % 10))
            problems = []
            if self.browser.run("location.hash") != "#" + tab and tab != "summary":
                problems.append(f"the key leads to {self.browser.run('location.hash')}")
            text = self.text()
            if len(text) < 40:
                problems.append(f"shows only {text!r}")
            if re.search(r"\bNaN\b|undefined|\[object|Infinity", text):
                problems.append(f"shows something that is no number: {text[:300]}")
            self.shot(f"{name}-{theme}-{tab}")
            self.check(f"{name}, {theme}: {tab} is drawn, silently", problems + self.trouble())
        self.browser.theme("light")

    def test_groups(self, capture, page):
        for by in ("site", "cache", "size", "comm", "cpu"):
            self.open(page, f"#sites?by={by}")
            got = self.rows()
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
        self.open(page, "#leaks")
        problems = self.compare_leaks(self.json("leaks", capture),
                                      {"keptBytes": "bytes", "kept": "objects", "oldest": "oldest", "allocs": "allocs", "frees": "frees"})
        self.check(f"{capture.name}: leaks are those of leaks --json, in this order", problems)

    def test_frag(self, capture, page):
        frag = self.json("report", "--frag", capture)
        columns = {"bytes": "allocated", "asked": "requested", "waste": "wasted", "allocs": "allocs"}
        self.open(page, "#fragmentation")
        got = self.rows()
        key = "size" if "size" in frag["sizes"][0] else "label"
        wanted = [{**row, "name": str(row[key])} for row in frag["sizes"]]
        problems = self.compare_rows(got, wanted, "name", columns)
        crossing = [row for row in frag["sites"] if row["cross_cpu_frees"]]
        self.open(page, "#cpu")
        got = self.rows("main > .card:last-child")
        problems += self.compare_rows(got, crossing, "site", {"cross": "cross_cpu_frees"})
        self.check(f"{capture.name}: fragmentation and CPUs are those of report --frag --json", problems)

    def drag(self, first, last, release=True):
        """Drags over the overview from one fraction of its width to another, between the middles of two buckets."""
        left, width, y, buckets = self.browser.run("""(chart => { const box = chart.getBoundingClientRect();
            return [box.left, box.width, box.top + box.height / 2, Number(chart.getAttribute("aria-valuemax"))];
            })(document.querySelector("#strip .chart"))""")
        first, last = int(first * buckets), int(last * buckets)
        x1, x2 = (left + width * (bucket + 0.5) / buckets for bucket in (first, last))
        self.browser.drag(x1, x2, y, release)
        self.await_range(min(first, last) / buckets * 100, (abs(last - first) + 1) / buckets * 100)
        return x2, y

    def await_range(self, left, width):
        """Waits until the page has handled the moves of the pointer, which are asynchronous."""
        for _ in range(100):
            got = self.browser.run("(s => [parseFloat(s.left), parseFloat(s.width)])(document.querySelector('#strip .range').style)")
            if abs(got[0] - left) < 0.01 and abs(got[1] - width) < 0.01:
                return
        raise RuntimeError(f"the range is {got}, not {left} and {width}")

    def test_dragging(self, page):
        """The view that is drawn in steps during a drag must be the same as the view drawn at once from the address."""
        for tab in TABS:
            problems = []
            self.open(page, "#" + tab)
            for first, last in ((0.2, 0.9), (0.5, 0.3)):
                x, y = self.drag(first, last, release=False)
                dragged = self.browser.run(IN_SIGHT)
                self.browser.mouse("mouseReleased", x, y)
                drawn, hash_ = self.browser.run(DRAWN), self.browser.run("location.hash")
                self.open(page, hash_)
                want, sight = self.browser.run(DRAWN), self.browser.run(IN_SIGHT)
                if "from=" not in hash_ and tab != "quality":
                    problems.append(f"no range in {hash_}")
                if dragged != sight:
                    problems.append(f"{hash_}: {len(dragged)} rows in sight while dragging, not {len(sight)}: "
                                    f"{[pair for pair in zip(dragged, sight) if pair[0] != pair[1]][:2]}")
                if drawn != want:
                    problems.append(f"{hash_}: {len(drawn)} elements, not {len(want)}: "
                                    f"{[pair for pair in zip(drawn, want) if pair[0] != pair[1]][:2]}")
            self.check(f"{tab}: a range that is dragged is drawn as one from the address", problems + self.trouble())

    def test_range(self, capture, page):
        """Drags over the overview, and compares with the commands for the same window."""
        self.open(page, "#sites")
        self.drag(0.3, 0.6)
        chosen = re.search(r"from=(\d+)&to=(\d+)", self.browser.run("location.hash"))
        if not chosen:
            self.check("dragging chooses a range", [self.browser.run("location.hash")])
            return
        data = self.browser.run("JSON.parse(document.getElementById('data').textContent)")
        first, width = int(data["first_ts"]), data["width"]
        edges = [first + int(bucket) * width for bucket in chosen.groups()]
        since, until = (f"{edge // 10**9}.{edge % 10**9:09}" for edge in edges)
        got = [row for row in self.rows() if row["allocs"]]
        wanted = self.json("report", "--by", "site", "--since", since, "--until", until, capture)
        problems = self.compare_rows(got, wanted["rows"], "site", {"bytes": "total_bytes", "allocs": "allocs"})
        # The objects that are live at an edge are those that are live when the capture ends there.
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

    def test_window(self, capture):
        """A report that ends before its capture does not call itself the whole capture."""
        whole = self.json("info", capture)
        half = (whole["last_ts"] - whole["first_ts"]) // 2
        self.open(self.make_page("window.html", capture, "--until", f"+{half // 10**9}.{half % 10**9:09}"))
        said = self.browser.run("document.querySelector('#strip .said').textContent")
        self.check("a report of a window says how much of the capture it shows",
                   [] if re.match(r"the first .* of ", said) else [said])

    def test_hostile(self):
        page = self.report(self.write("hostile.log", HOSTILE_LOG))
        problems = []
        for hash_ in ["#" + tab for tab in TABS] + ["#sites?by=comm", "#sites?by=cache", "#sites?site=0",
                                                    "#sites?site=1", "#sites?q=<img src=x onerror=hacked=5>",
                                                    "#flame?zoom=<img src=x onerror=hacked=6>"]:
            problems += self.hostility(page, hash_)
        self.open(page, "#sites?by=comm")
        labels = [row["label"] for row in self.rows()]
        if HOSTILE not in labels:
            problems.append(f"it is not shown as it is: {labels}")
        self.check("hostile names stay text", problems)

    def test_small(self):
        page = self.report(self.write("small.log", " a-1 [000] ..... 10.000009: kfree: call_site=good+0x1/0x2 "
                                                   "ptr=ffff888000001000\n"))
        problems = []
        for tab in TABS:
            self.open(page, "#" + tab)
            text = self.text()
            problems += [f"{tab}: {line}" for line in text.splitlines() if re.search(r"\b1 [a-z]{3,}s\b", line)]
            bare = self.browser.run("""[...document.querySelectorAll("main .card")].filter(card => card.checkVisibility() && card.querySelector("h2") &&
                card.innerText.trim() === card.querySelector("h2").innerText.trim()).map(card => card.innerText)""")
            problems += [f"{tab}: nothing below {title!r}" for title in bare] + self.trouble()
        self.open(page, "#timeline")
        for labels in self.browser.run("[...document.querySelectorAll('.axis')].map(axis => [...axis.children].map(e => e.textContent))"):
            if len(set(labels)) != len(labels):
                problems.append(f"an axis with {labels}")
        self.open(page, "#sites?q=nobody")
        if "Nothing here matches “nobody”." not in self.text():
            problems.append(f"a search for nothing says {self.text()[-60:]!r}")
        self.check("a capture of one free has a report too, and says what is empty", problems)

    def test_times(self, page):
        """The axis of time has round numbers, the same distance apart."""
        self.open(page, "#timeline")
        problems = []
        axes = self.browser.run("""[...document.querySelectorAll('.times')].map(axis =>
            [...axis.children].map(e => [e.textContent, parseFloat(e.style.left)]))""")
        for axis in axes:
            labels, places = zip(*axis)
            if len(axis) < 3 or re.sub(r"[^0-9]", "", labels[1]).strip("0") not in ("1", "2", "25", "4", "5"):
                problems.append(f"labels {labels}")
            if any(abs(place - places[1] * i) > 0.01 for i, place in enumerate(places)):
                problems.append(f"places {places}")
        self.check("the times below a chart are round", problems or ([] if axes else ["there are none"]))

    def test_state(self, page):
        run = self.browser.run
        self.open(page, "#sites")
        run("[...document.querySelectorAll('th button')].find(b => b.textContent === 'allocs').click()")
        allocs = [row["allocs"] for row in self.rows()]
        problems = [] if allocs == sorted(allocs, reverse=True) else ["not sorted by allocs"]
        run("document.querySelector('tbody tr').click()")
        hash_ = run("location.hash")
        title = run("document.querySelector('#panel h2')?.textContent")
        if title != run("document.querySelector('tbody tr').dataset.label"):
            problems.append(f"the panel shows {title}")
        self.open(page, hash_)
        again = [row["allocs"] for row in self.rows()]
        if again != allocs or run("document.querySelector('#panel h2')?.textContent") != title:
            problems.append(f"{hash_} does not bring back order and panel")
        self.check("order and chosen site live in the address", problems + self.trouble())

        self.browser.key("Escape")
        self.browser.key("/")
        for letter in "alloc_inode":
            self.browser.key(letter)
        labels = [row["label"] for row in self.rows()]
        problems = [label for label in labels if "alloc_inode" not in label]
        self.check("search leaves what matches", problems or ([] if labels else ["nothing left"]))

    def test_diff(self, first, second):
        """Compares the Diff view with kmemscope diff, by every key, measure and scale."""
        page = self.make_page("compared.html", second, "--diff", first)
        self.test_narrow(page)
        self.test_keyboard(page)
        self.test_print(page)
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
        """Compares the details of a site with filters of the report: processes, pids, CPUs, sizes."""
        self.open(page, "#sites?site=0")
        site = self.browser.run("document.querySelector('#panel h2').textContent")
        shown = self.browser.run("""Object.fromEntries([...document.querySelectorAll("#panel h3")].map(h3 => [h3.textContent,
            h3.nextElementSibling?.querySelectorAll ? [...h3.nextElementSibling.querySelectorAll("tbody tr")].map(tr =>
                [...tr.querySelectorAll("td")].map(td => td.dataset.value ?? td.textContent)) : []]))""")
        problems = []
        for by, title in (("comm", "process"), ("pid", "pid"), ("cpu", "CPU"), ("size", "size")):
            rows = self.json("report", "--by", by, "--site", site, capture)["rows"]
            want = {str(row[by]): (row["live_bytes"], row["live_objects"], row["allocs"], row["total_bytes"])
                    for row in rows if row["allocs"]}
            got = {cells[0].split(" ")[0] if by == "pid" else cells[0]: tuple(int(cells[i]) for i in (1, 3, 4, 5))
                   for cells in shown.get("By " + title, [])}
            held = [numbers[0] for numbers in got.values()]
            if held != sorted(held, reverse=True):
                problems.append(f"by {title}, those who hold most are not first: {held}")
            problems += [f"{title} {name}: {numbers}, not {want.get(name)}" for name, numbers in got.items()
                         if numbers != want.get(name)]
            if len(got) != min(8, len(want)):
                problems.append(f"{len(got)} rows by {title}, of {len(want)}")
        self.check(f"{capture.name}: the detail of a site has the numbers of report --json", problems + self.trouble())

    def test_processes(self):
        """From a process to its sites, by a click and by the search."""
        lines = []
        for i in range(300):
            common = "bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL"
            lines.append(f" leakyd-7 [000] ..... 1.{i:03}001: kmalloc: call_site=leaky+0x1/0x2 ptr=ffff8881{i:08x} {common}")
            lines.append(f" find-8 [000] ..... 1.{i:03}002: kmalloc: call_site=busy+0x1/0x2 ptr=ffff888000001000 {common}")
            lines.append(f" find-8 [000] ..... 1.{i:03}003: kfree: call_site=busy+0x2/0x2 ptr=ffff888000001000")
            lines.append(f" find-8 [000] ..... 1.{i:03}004: kmalloc: call_site=both+0x1/0x2 ptr=ffff888000002000 {common}")
            lines.append(f" find-8 [000] ..... 1.{i:03}005: kfree: call_site=both+0x2/0x2 ptr=ffff888000002000")
        lines.append(f" leakyd-7 [000] ..... 1.900001: kmalloc: call_site=both+0x1/0x2 ptr=ffff888000003000 {common}")
        page = self.report(self.write("processes.log", "\n".join(lines) + "\n"))
        self.open(page, "#sites?by=comm")
        self.browser.run("[...document.querySelectorAll('tbody tr')].find(tr => tr.textContent.includes('leakyd')).click()")
        clicked = sorted(row["label"] for row in self.rows())
        self.open(page, "#leaks?q=leakyd")
        leaks = [row["label"] for row in self.rows()]
        self.open(page, "#sites?q=both")
        self.browser.run("document.querySelector('tbody tr').click()")
        holders = self.browser.run("""[...[...document.querySelectorAll("#panel h3")].find(h3 => h3.textContent === "By process")
            .nextElementSibling.querySelectorAll("tbody tr")].map(tr => tr.cells[0].textContent)""")
        self.check("a process leads to its sites, and a site to those who hold its memory",
                   [f"{got}, not {want}" for got, want in ((clicked, ["both+0x1", "leaky+0x1"]), (leaks, ["leaky+0x1", "both+0x1"]),
                                                           (holders, ["leakyd", "find"])) if got != want])

    def test_narrow(self, page):
        """In small windows too, nothing is cut off, and the selected tab is visible."""
        for width in (1400, 700, 390):
            problems = []
            self.browser.resize(width, 844)
            for tab in TABS + ["diff", "sites?site=0"]:
                self.open(page, "#" + tab)
                wide = self.browser.run("document.documentElement.scrollWidth")
                if wide > width:
                    problems.append(f"{tab} is {wide} wide")
                problems += self.browser.run("""[...document.querySelectorAll("header button:not([role=tab]), header input, [aria-selected=true], #badge, h2, .close")]
                    .filter(e => e.checkVisibility()).filter(e => { const box = e.getBoundingClientRect(); return box.left < 0 || box.right > innerWidth; })
                    .map(e => "cut off: " + e.outerHTML.slice(0, 80))""")
            self.open(page, "#leaks")
            self.browser.run("scrollTo(0, document.querySelector('tbody').rows[30].getBoundingClientRect().top)")
            head, bar = self.browser.run("[document.querySelector('th').getBoundingClientRect().top, document.querySelector('header').getBoundingClientRect().bottom]")
            if width == 1400 and abs(head - bar) > 2:
                problems.append(f"the head of the table is at {head}, not below {bar}")
            self.check(f"{width} pixels wide, nothing is cut off", problems + self.trouble())
        self.browser.resize(1400, 900)

    def test_print(self, page):
        self.browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.open(page, "#rings")
        drawn = self.browser.run("""["main", "nav", ".tools select", ".hint", ".rings path"].map(s => document.querySelector(s).checkVisibility())""")
        title = self.browser.run("getComputedStyle(document.querySelector('main'), '::before').content")
        paper = self.browser.run("getComputedStyle(document.body).backgroundColor")
        self.browser.call("Emulation.setEmulatedMedia", media="")
        self.check("on paper it is white, without what nobody can press, and says which view it is",
                   [str(got) for got, want in ((drawn, [True, False, True, False, True]), (title, '"Rings"'), (paper, "rgb(255, 255, 255)")) if got != want])

    def test_keyboard(self, page):
        """Users of the keyboard keep their place."""
        run = self.browser.run
        focus = "document.activeElement.dataset.key || document.activeElement.dataset.label || document.activeElement.textContent"
        problems = []
        for tab, key in (("sites", "Group by"), ("rings", "Size is"), ("flame", "invert"), ("lifetimes", "Count"), ("diff", "kind same")):
            self.open(page, "#" + tab)
            run(f"""(() => {{ const e = document.querySelector('[data-key="{key}"]'); e.focus();
                if (e.tagName === "BUTTON") e.click(); else {{ e.selectedIndex = 1; e.dispatchEvent(new Event("change")); }} }})()""")
            if run(focus) != key:
                problems.append(f"{tab}: after {key} the focus is on {run(focus)!r}")
        self.open(page, "#sites")
        run("[...document.querySelectorAll('th button')].find(b => b.textContent === 'allocs').focus()")
        run("document.activeElement.click()")
        if not run(focus).startswith("allocs"):
            problems.append(f"after sorting the focus is on {run(focus)!r}")
        run("document.querySelector('tbody tr').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
            self.browser.key(key)
        second = run("document.querySelectorAll('tbody tr')[1].dataset.label")
        if run(focus) != second:
            problems.append(f"arrows lead to {run(focus)!r}, not {second}")
        self.browser.key("Enter")
        if run("document.activeElement.className") != "close" or run("document.querySelector('#panel h2').textContent") != second:
            problems.append("Enter does not lead into the panel")
        self.browser.key("Escape")
        if run(focus) != second:
            problems.append(f"behind the panel the focus is on {run(focus)!r}")
        self.open(page, "#flame")
        run("document.querySelectorAll('.frame')[1].focus()")
        name = run("document.activeElement.getAttribute('aria-label')").split(",")[0]
        self.browser.key("Enter")
        if not run("document.activeElement.getAttribute('aria-label')").startswith(name):
            problems.append("a frame that is zoomed loses the focus")
        unnamed = run("""[...document.querySelectorAll("[tabindex='0'], button, select, input, [role=img]")].filter(e => e.checkVisibility() &&
            !(e.getAttribute("aria-label") || e.innerText || e.closest("label"))).map(e => e.outerHTML.slice(0, 90))""")
        self.check("the keyboard's focus stays where it is useful, and all it reaches has a name", problems + [f"no name: {e}" for e in unnamed] + self.trouble())

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
        """One site that never frees, among many that do."""
        lines = []
        for i in range(4000):
            at = f"{100 + i // 1000}.{i % 1000:03}"
            common = "bytes_req=512 bytes_alloc=512 gfp_flags=GFP_KERNEL"
            lines.append(f" a-1 [000] ..... {at}001: kmalloc: call_site=busy+0x1/0x2 ptr=ffff88800000{i % 16:x}000 {common}")
            if i % 20 == 0:
                lines.append(f" a-1 [000] ..... {at}002: kmalloc: call_site=leaky+0x1/0x2 ptr=ffff8881{i:08x} {common}")
            lines.append(f" a-1 [000] ..... {at}003: kfree: call_site=busy+0x2/0x2 ptr=ffff88800000{i % 16:x}000")
        marked = "[...document.querySelectorAll('.findings li[data-mark=\"!\"]')].map(li => li.innerText)"
        self.open(self.report(self.write("leak.log", "\n".join(lines) + "\n")))
        said = self.browser.run(marked)
        wanted = "leaky+0x1 keeps growing: 100 KiB in 200 objects"
        self.check("the summary names a planted leak, and nothing else",
                   [] if len(said) == 1 and said[0].startswith(wanted) else said or ["nothing"])
        lines = [re.sub(r"kmalloc: (.*) bytes_req", r"kmem_cache_alloc: \1 name=ext4_inode_cache bytes_req", line) if "leaky" in line else line for line in lines]
        self.open(self.report(self.write("kept.log", "\n".join(lines) + "\n")))
        self.check("what the kernel may give back never keeps growing", self.browser.run(marked))

    def test_stacks(self):
        """In a recording of this machine, the allocations of all stacks add up to the total."""
        name = "with stacks, the flame graph is of call stacks, and no allocation is missing from it"
        capture = self.scratch / "stacks.dat"
        done = subprocess.run([self.kmemscope, "record", "-q", "--slab", "--stack", "-o", str(capture), "--",
                               "ls", "/"], capture_output=True, text=True, check=False)
        if done.returncode:
            self.skip(name, "cannot record here: " + done.stderr.strip()[:80])
            return
        self.open(self.report(capture), "#flame?metric=allocs")
        frames = self.browser.run("[...document.querySelectorAll('.frame')].map(f => f.textContent)")
        total = self.json("report", "--by", "site", capture)["total"]["allocs"]
        problems = [] if frames[0] == f"all  {total:,}" else [f"{frames[0]!r}, not {total}"]
        if not any("do_syscall" in frame or "syscall" in frame.lower() for frame in frames):
            problems.append(f"no system call among {frames[:6]}")
        self.check(name, problems + self.trouble())

    def test_colors(self, page):
        """A name has the same hue in the page and in the charts of the program; neighbours differ."""
        chart = self.scratch / "timeline.svg"
        self.run_program("timeline", "--by", "site", "-o", chart, SAMPLE)
        text = chart.read_text()
        boxes = re.findall(r'<rect[^>]* y="([\d.]+)" width="11.00"[^>]* fill="#(\w+)"', text)
        names = {float(y): name for y, name in re.findall(r'translate\(818.00 ([\d.]+)\)[^>]*>([^<]+)<', text)}
        drawn = {names[float(y) + 5.5]: tuple(bytes.fromhex(fill)) for y, fill in boxes}
        self.open(page, "#timeline")
        legends = self.browser.run("""[...document.querySelectorAll(".legend")].map(legend => [...legend.children].map(one =>
            [one.textContent, getComputedStyle(one.querySelector("i")).backgroundColor]))""")
        problems, common = [], 0
        known = {}
        for legend in legends:
            fills = [fill for _, fill in legend]
            if any(a == b for a, b in zip(fills, fills[1:])):
                problems.append(f"neighbours are alike: {legend}")
            for name, fill in legend[:-1]:
                if known.setdefault(name, fill) != fill:
                    problems.append(f"{name} has two colours")
        for name, fill in legends[0][:-1]:
            common += name in drawn
            if name in drawn and drawn[name] != tuple(map(int, re.findall(r"\d+", fill))):
                problems.append(f"{name}: {drawn[name]} in the chart, {fill} in the page")
        if common < 4:
            problems.append(f"only {common} names in both: {sorted(drawn)}, {legends[0]}")
        self.check("a name has its colour in all charts", problems + self.trouble())

    def run(self):
        sample = self.report(SAMPLE)
        made = self.make_log("made.log", "--events", "60000", "--sites", "230", "--live", "700")
        page = self.report(made)
        self.check_size(sample)
        self.test_tabs(sample, "sample")
        self.test_tabs(page, "made", theme="dark")
        for capture, its_page in ((SAMPLE, sample), (made, page)):
            self.test_totals(capture, its_page)
            self.test_groups(capture, its_page)
            self.test_leaks(capture, its_page)
            self.test_frag(capture, its_page)
            self.test_detail(capture, its_page)
        self.test_diff(self.make_log("first.log", "--events", "30000", "--sites", "200", "--seed", "4", "--clean"), made)
        self.test_range(made, page)
        self.test_window(made)
        self.test_dragging(page)
        self.test_colors(sample)
        self.test_times(sample)
        self.test_state(sample)
        self.test_flame(sample)
        self.test_leak_is_found()
        self.test_processes()
        self.test_picking(SAMPLE, sample, ["flame", "timeline", "lifetimes", "cpu"])
        self.test_stacks()
        self.test_hostile()
        self.test_small()


if __name__ == "__main__":
    sys.exit(main(ViewTests))
