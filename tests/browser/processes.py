# SPDX-License-Identifier: GPL-2.0-only
"""A process that is picked in the HTML report: every view must show what the commands say with --comm."""
import json

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

    def test_picking(self, capture, page, tabs):
        self.process_page = page
        names = [row["comm"] for row in self.json("report", "--by", "comm", capture)["rows"] if row["allocs"]]
        name = names[0]
        self.check(f"{name} alone has the numbers of report --comm", self.process_problems(capture, name))
        self.check(f"{name} alone has the leaks of leaks --comm, in this order", self.leak_problems(capture, name))
        for name in names[:2]:
            self.check(f"{name} alone has the totals of report --comm", self.total_problems(capture, name))
        self.test_tabs_of_process(page, names[0], tabs)
        self.test_finding_process(capture, page, names[0])
