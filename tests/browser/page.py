# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the HTML report share: a page in a browser, numbers read from its tables, and TAP.

With KMEMSCOPE_SHOTS=DIR, pictures are left there.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import tap  # noqa: E402
from cdp import Browser, find_chromium  # noqa: E402

PAGE_LIMIT = 400_000

# The rows of the tables below an element: the cells of each by column, and the label of the row.
ROWS = """[...document.querySelectorAll("SELECTOR tbody tr")].map(tr =>
    Object.fromEntries([...[...tr.querySelectorAll("td[data-column]")]
        .map(td => [td.dataset.column, td.dataset.value === undefined ? td.innerText : Number(td.dataset.value)]),
        ["label", tr.dataset.label]]))"""
MORE = """document.querySelectorAll("button.more:not([hidden])").forEach(button => button.click())"""


class PageTests:
    """Tests of pages that KMEMSCOPE makes; run() has them all."""
    title = None

    def __init__(self, programs, scratch, browser):
        self.kmemscope, self.kmemgen = (*programs, None)[:2]
        self.scratch, self.browser = scratch, browser

    def run(self):
        raise NotImplementedError

    # --- Results ---

    def check(self, name, problems):
        tap.check_none(name, [str(problem)[:600] for problem in problems[:8]])

    def skip(self, name, why):
        tap.skip(name, why)

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

    def compare_leaks(self, leaks, columns):
        """What the tab of leaks lists, by site and process, is what the command lists, in its order."""
        problems = []
        for card, table in enumerate(("sites", "kept", "unseen"), 1):
            rows = self.rows(f"main > .card:nth-of-type({card})")
            got = [[row["label"], row["process"], *(row[column] for column in columns)] for row in rows]
            want = [[row["site"], " ".join(str(part) for part in (row["comm"] or "unknown", row.get("pid", "")) if part != ""),
                     *(row[member] for member in columns.values())] for row in leaks[table]]
            problems += [f"{table}: {a}, not {b}" for a, b in zip(got, want) if a != b][:3]
            if len(got) < min(len(want), 100):
                problems.append(f"{table} has {len(got)} rows, not {len(want)}")
        return problems

    # --- Programs ---

    def run_program(self, *args):
        tap.run(self.kmemscope, *args)

    def json(self, *args):
        return json.loads(tap.run(self.kmemscope, *args, "--json").stdout)

    def make_page(self, name, *options):
        page = self.scratch / name
        self.run_program("html", *options, "-o", page)
        return page

    def make_log(self, name, *options):
        path = self.scratch / name
        with open(path, "wb") as f:
            subprocess.run([self.kmemgen, *options], stdout=f, check=True)
        return path

    def write(self, name, text):
        path = self.scratch / name
        path.write_text(text, encoding="utf-8")
        return path

    # --- Pages ---

    def open(self, page, hash_=""):
        if not self.browser.open(page.resolve().as_uri() + hash_):
            raise RuntimeError(f"{page}{hash_} did not start: {self.browser.complaints()}")

    def text(self, selector="main"):
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def rows(self, selector="main > .card:nth-of-type(1)"):
        """All rows of the tables there, in the page that is open."""
        self.browser.run(MORE)
        return self.browser.run(ROWS.replace("SELECTOR", selector))

    def trouble(self):
        """What a page must not do: complain, or ask for anything but itself."""
        requests = [url for url in self.browser.requests() if not url.startswith("file:")]
        return self.browser.complaints() + [f"request: {url}" for url in requests[:3]] + (
            ["it asked for more than itself"] if len(self.browser.requests()) > 1 else [])

    def hostility(self, page, hash_):
        """What came of text that would be a script or an element, if the page let it."""
        problems = []
        self.open(page, hash_)
        if self.browser.run("typeof hacked !== 'undefined'"):
            problems.append(f"{hash_}: it ran")
        if self.browser.run("document.querySelectorAll('img, svg svg, b, main script').length"):
            problems.append(f"{hash_}: it became an element")
        return problems + self.trouble()

    def check_size(self, page):
        text = page.read_bytes()
        data = re.search(rb'id="data">(.*?)</script>', text, re.S).group(1)
        problems = []
        if len(text) - len(data) > PAGE_LIMIT:
            problems.append(f"{len(text) - len(data)} bytes")
        json.loads(data)
        self.check(f"without its data, the page has at most {PAGE_LIMIT} bytes", problems)

    def shot(self, name):
        shots = os.environ.get("KMEMSCOPE_SHOTS")
        if shots:
            self.browser.screenshot(f"{shots}/{name}.png")


def main(tests):
    """Runs the tests of a class with the programs of the command line."""
    if not find_chromium():
        tap.skip(tests.title, "no Chromium here")
        return tap.finish()
    with tempfile.TemporaryDirectory(prefix="kmemscope page ") as scratch, Browser() as browser:
        tests(sys.argv[1:], pathlib.Path(scratch), browser).run()
    return tap.finish()
