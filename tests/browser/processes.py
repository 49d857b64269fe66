# SPDX-License-Identifier: GPL-2.0-only
"""A process that is picked in the HTML report: every view must show what the commands say with --comm."""
import json
import urllib.parse

COLUMNS = {"live": "live_bytes", "peak": "peak_bytes", "bytes": "total_bytes", "objects": "live_objects", "allocs": "allocs",
           "frees": "frees", "implied": "implied_frees", "paged": "page_frees", "censused": "census_frees"}


class ProcessTests:
    """Mixed into tests that have a page."""

    def pick(self, name):
        """Picks a process as a user does, in the list at the head of the page."""
        self.browser.run(f"""(select => {{
            select.value = [...select.options].find(option => option.text === {json.dumps(name)}).value;
            select.dispatchEvent(new Event("change")); }})(document.querySelector("#who select"))""")

    def process_problems(self, capture, name):
        problems = []
        for by in ("site", "cache", "cpu"):
            self.open(self.process_page, f"#sites?by={by}")
            self.pick(name)
            wanted = self.json("report", "--by", by, "--comm", name, capture)["rows"]
            key = next(member for member in wanted[0] if member in (by, "label", "name"))
            problems += self.compare_rows(self.rows(), wanted, key, COLUMNS)
        return problems

    def leak_problems(self, capture, name):
        leaks = self.json("leaks", "--comm", name, capture)
        self.open(self.process_page, "#leaks")
        self.pick(name)
        return self.compare_leaks(leaks, {"keptBytes": "bytes", "kept": "objects", "oldest": "oldest"})

    def total_problems(self, capture, name):
        total = self.json("report", "--comm", name, capture)["total"]
        self.open(self.process_page)
        self.pick(name)
        shown = self.browser.run("""Object.fromEntries([...document.querySelectorAll("[data-number]")]
            .map(e => [e.dataset.number, Number(e.dataset.value)]))""")
        want = {"Live at the end": "live_bytes", "Peak": "peak_bytes", "Allocations": "allocs", "Frees seen": "frees"}
        return [f"{name}: {shown.get(number)}, not {total[member]}" for number, member in want.items()
                if shown.get(number) != total[member]]

    def test_tabs_of_process(self, page, name, tabs):
        """Whatever tab is open, picking redraws it; the address leads to the same picture."""
        problems = []
        for tab in tabs:
            self.open(page, "#" + tab)
            self.pick(name)
            drawn, hash_ = self.text(), self.browser.run("location.hash")
            self.open(page, hash_)
            if "process=" not in hash_ or self.text() != drawn:
                problems.append(f"{tab}: {hash_} shows something else")
            problems += self.trouble()
        self.check("the address of each view has the process", problems)

    def test_finding_process(self, capture, page, name):
        self.open(page, "#sites")
        self.browser.run(f"""(input => {{ input.focus(); input.value = {json.dumps(name)};
            input.dispatchEvent(new Event("input")); }})(document.getElementById("search"))""")
        self.browser.key("Enter")
        wanted = self.json("report", "--by", "site", "--comm", name, capture)["rows"]
        self.check("search finds a process, and Enter picks it", self.compare_rows(self.rows(), wanted, "site", {"allocs": "allocs"}))
        self.browser.run("document.querySelector('main tbody tr').click()")
        label = self.text("#panel h2")
        self.pick("all")
        self.check("the details stay with their site", [] if self.text("#panel h2") == label else [label, self.text("#panel")[:80]])
        self.browser.run("[...document.querySelectorAll('#panel tbody tr')].find(tr => tr.dataset.label === "
                         f"{json.dumps(name)} || tr.innerText.startsWith({json.dumps(name)})).click()")
        self.check("in the details, a process that holds memory can be picked",
                   [] if "process=" in self.browser.run("location.hash") else [self.browser.run("location.hash")])
        self.browser.key("Escape")
        self.check("Escape shows all processes again",
                   ["still one"] if "process" in self.browser.run("location.hash") else [])

    def below(self, page, metric, *path):
        """What the flame graph has below a path: {name: value}."""
        self.open(page, f"#flame?metric={metric}&zoom=" + urllib.parse.quote("\n".join(path)))
        self.browser.run("""new Promise(done => { const details = document.querySelector("main details");
            details.addEventListener("toggle", () => setTimeout(done)); details.open = true; })""")
        return {row["name"]: row["value"] for row in self.rows("main details")}

    def tree_problems(self, capture, page, metric, column, names):
        """Processes have what report --comm says, and the others what is left; caches and sites below them add up."""
        report = lambda by, *args: {row[by]: row[column] for row in self.json("report", "--by", by, *args, capture)["rows"] if row[column]}
        wanted = {name: value for name, value in report("comm").items() if name in names}
        rest = sum(report("comm").values()) - sum(wanted.values())
        found = self.below(page, metric)
        problems = [] if found == {**wanted, **({"other processes": rest} if rest else {})} else [f"{found}, not {wanted} and {rest}"]
        name = max(wanted, key=wanted.get)
        caches, known = self.below(page, metric, name), report("cache", "--comm", name)
        problems += [f"{name}: {cache} has {value}, not {known.get(cache)}" for cache, value in caches.items()
                     if cache != "several caches" and value > known.get(cache, 0)]
        problems += [] if sum(caches.values()) == wanted[name] else [f"{name}: caches have {sum(caches.values())}, not {wanted[name]}"]
        sites, known = {}, report("site", "--comm", name)
        for cache in caches:
            sites.update(self.below(page, metric, name, cache))
        return problems + ([] if sites == known else [f"{name}: {sites}, not {known}"]) + self.trouble()

    def test_trees(self, capture, page):
        """Without stacks and a kernel tree, flame graph and rings are by process, cache and site, and nothing is missing."""
        self.open(page, "#sites")
        names = self.browser.run("[...document.querySelectorAll('#who option')].slice(1).map(option => option.text)")
        for metric, column in (("allocs", "allocs"), ("live", "live_bytes")):
            self.check(f"without stacks the flame graph is by process, cache and site: {metric}",
                       self.tree_problems(capture, page, metric, column, names))
        self.open(page, "#rings?metric=allocs")
        drawn = self.browser.run("[...document.querySelectorAll('.rings path')].map(path => path.getAttribute('aria-label') || '')")
        self.check("so are the rings", [] if any(label.startswith(name + ", ") for label in drawn for name in names) else drawn[:5])

    def test_picking(self, capture, page, tabs):
        self.process_page = page
        names = [row["comm"] for row in self.json("report", "--by", "comm", capture)["rows"] if row["allocs"]]
        name = names[0]
        self.check(f"{name} alone has the numbers of report --comm", self.process_problems(capture, name))
        self.check(f"{name} alone has the leaks of leaks --comm, in this order", self.leak_problems(capture, name))
        for name in names[:2]:
            self.check(f"{name} alone has the totals of report --comm", self.total_problems(capture, name))
        self.test_trees(capture, page)
        self.test_tabs_of_process(page, names[0], tabs)
        self.test_finding_process(capture, page, names[0])
