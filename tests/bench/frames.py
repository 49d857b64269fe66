#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The time of a frame of the HTML report while a range is dragged: frames.py KMEMSCOPE KMEMGEN [PAGE].

Makes a report with 5,000 call sites (or opens PAGE), drags over the overview in every view, at least one bucket per
frame, and after each frame asks the browser for the CPU time of its main thread: scripts, style, layout and
painting. Wall time would include other work on the machine. The question itself costs some tenths of a millisecond.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
from cdp import Browser, find_chromium  # noqa: E402

VIEWS = ["summary", "sites", "flame", "rings", "timeline", "leaks", "fragmentation", "lifetimes", "cpu"]
FRAMES = 60
SEND = """((kind, bucket) => {
    const chart = document.querySelector("#strip .chart"), box = chart.getBoundingClientRect();
    chart.setPointerCapture = () => {};
    chart.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerId: 1, clientY: box.top + 5,
        clientX: box.left + box.width * (bucket + 0.5) / chart.getAttribute("aria-valuemax") }));
    return new Promise(done => requestAnimationFrame(() => setTimeout(done)));
})"""


def cpu(browser, names):
    metrics = {m["name"]: m["value"] * 1000 for m in browser.call("Performance.getMetrics")["metrics"]}
    return [metrics[name] for name in names]


def send(browser, kind, bucket):
    browser.call("Runtime.evaluate", expression=f"{SEND}({kind!r}, {bucket})", awaitPromise=True)


def drag(browser):
    """Milliseconds of CPU time for each frame: all of it, and the part of scripts."""
    names = ("TaskDuration", "ScriptDuration")
    buckets = int(browser.run("document.querySelector('#strip .chart').getAttribute('aria-valuemax')"))
    frames, before = [], cpu(browser, names)
    send(browser, "pointerdown", buckets // 8)
    for i in range(FRAMES):
        send(browser, "pointermove", buckets // 4 + i * 7 * buckets // 40 % (3 * buckets // 4))
        after = cpu(browser, names)
        frames.append([b - a for a, b in zip(before, after)])
        before = after
    send(browser, "pointerup", buckets // 2)
    return ([sorted(times) for times in zip(*frames)])


def measure(page):
    print(f"{page.stat().st_size / 1e6:.1f} MB; CPU of a frame while dragging, in milliseconds")
    with Browser() as browser:
        browser.call("Performance.enable", timeDomain="threadTicks")
        for view in VIEWS:
            begin = time.monotonic()
            browser.open(f"{page.resolve().as_uri()}#{view}")
            opened = time.monotonic() - begin
            all_, script = drag(browser)
            print(f"{view:14} opened in {opened:4.1f} s; median {all_[30]:5.1f}, nine of ten below {all_[54]:5.1f}, worst {all_[59]:5.1f};"
                  f" of scripts {script[30]:5.1f}, {script[54]:5.1f}, {script[59]:5.1f}", flush=True)


def main():
    if not find_chromium():
        print("no Chromium here")
        return 1
    if len(sys.argv) > 3:
        measure(pathlib.Path(sys.argv[3]))
        return 0
    with tempfile.TemporaryDirectory() as name:
        page = pathlib.Path(name) / "report.html"
        made = subprocess.Popen([sys.argv[2], "--events", "2000000", "--sites", "5000"], stdout=subprocess.PIPE)
        subprocess.run([sys.argv[1], "html", "-", "-o", page], stdin=made.stdout, check=True)
        made.wait()
        measure(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
