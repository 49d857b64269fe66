#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The live page of kmemscope serve, opened and used in a browser: page.py KMEMSCOPE [PICTURES]. Prints TAP.

PICTURES is a directory for screenshots.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE / "lib"), str(HERE / "browser")]
import cdp  # noqa: E402
import tap  # noqa: E402

PATIENCE = 120


def until(browser, expression):
    """Waits for the page."""
    end = time.monotonic() + PATIENCE
    while not browser.run(expression) and time.monotonic() < end:
        time.sleep(0.1)
    return browser.run(expression)


def names(browser):
    return browser.run("[...document.querySelectorAll('#rows td.text')].map(cell => cell.textContent)")


def use(browser, base, pictures):
    browser.open(base)
    tap.check("rows appear", until(browser, "document.querySelectorAll('#rows tr').length > 20"), browser.run("document.body.innerText"))
    with urllib.request.urlopen(base + "live.json", timeout=PATIENCE) as answer:
        served = {row["name"] for row in json.load(answer)["rows"]}
    shown = names(browser)
    tap.check("they are the rows that are served", len(set(shown) & served) > 0.9 * len(shown), set(shown) ^ served)
    tap.check("three sums with a curve each", browser.run("document.querySelectorAll('#sums polyline').length") == 3)
    if pictures:
        until(browser, "document.querySelector('#sums polyline').getAttribute('points').split(' ').length > 4")
        browser.screenshot(pictures / "live.png")
    before = browser.run("document.getElementById('status').textContent")
    tap.check("it refreshes by itself", until(browser, f"document.getElementById('status').textContent !== {json.dumps(before)}"), before)

    browser.run("document.querySelector('[data-key=name]').click()")
    shown = names(browser)
    tap.check("sorted by name", shown == sorted(shown) and len(shown) > 20, shown)
    browser.run("document.querySelector('[data-key=name]').click()")
    shown = names(browser)
    tap.check("and the other way around", shown == sorted(shown, reverse=True), shown)

    browser.run("(() => { const box = document.getElementById('search'); box.value = 'DENT'; box.oninput(); })()")
    tap.check("a search", names(browser) and all("dent" in name.lower() for name in names(browser)), names(browser))
    browser.run("(() => { const box = document.getElementById('search'); box.value = ''; box.oninput(); })()")

    browser.run("(() => { const by = document.getElementById('by'); by.value = 'process'; by.onchange(); })()")
    tap.check("by process: what this level can't tell is said", until(browser, "!document.getElementById('absent').hidden"))
    tap.check("and says the level", "census" in browser.run("document.getElementById('absent').textContent"))
    browser.run("document.getElementById('pause').click()")
    tap.check("pause is a switch", browser.run("document.getElementById('pause').getAttribute('aria-pressed')") == "true")
    tap.check_none("no complaint of the browser", browser.complaints())
    browser.resize(400, 800)
    tap.check("a narrow window needs no sideways scrolling of the sums",
              browser.run("document.getElementById('sums').scrollWidth <= document.documentElement.clientWidth"))
    if pictures:
        browser.screenshot(pictures / "live-narrow.png")


def main():
    if not cdp.find_chromium():
        tap.skip("the live page", "no chromium")
        return
    with tempfile.NamedTemporaryFile("w+") as log:
        process = subprocess.Popen([sys.argv[1], "serve", "--listen", "127.0.0.1:0", "--interval", "500ms"], stderr=log,
                                   stdin=subprocess.DEVNULL)
        port, end = None, time.monotonic() + PATIENCE
        while port is None and process.poll() is None and time.monotonic() < end:
            said = pathlib.Path(log.name).read_text(encoding="utf-8")
            port = re.search(r"port (\d+)", said)
            time.sleep(0.05)
        if port is None:
            tap.skip("the live page", said.strip().replace("\n", " ")[:200])
            return
        try:
            with cdp.Browser() as browser:
                use(browser, f"http://127.0.0.1:{port[1]}/", pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None)
        finally:
            process.terminate()
            process.wait(PATIENCE)


main()
sys.exit(tap.finish())
