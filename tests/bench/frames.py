#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How long a frame of the HTML report takes while a range is dragged: frames.py KMEMSCOPE KMEMGEN [PAGE].

Makes a report with 5,000 call sites (or opens the page that is named), drags over the overview in every
view, and measures each frame in the page: from the first callback of the frame to the end of layout. Since
other work on the machine is in these times, it also asks the browser for the CPU time of its main thread.
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
DRAG = """(async () => {
    const chart = document.querySelector("#strip .chart"), box = chart.getBoundingClientRect(), times = [];
    chart.setPointerCapture = () => {};
    const send = (kind, part) => chart.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerId: 1,
        clientX: box.left + box.width * part, clientY: box.top + 5 }));
    send("pointerdown", 0.2);
    for (let i = 0; i < 60; i++) {
        let begin;
        requestAnimationFrame(() => { begin = performance.now(); });
        send("pointermove", 0.25 + 0.7 * i / 60);
        await new Promise(done => requestAnimationFrame(() => {
            document.body.offsetHeight;
            times.push(performance.now() - begin);
            done();
        }));
    }
    send("pointerup", 0.95);
    return times.sort((a, b) => a - b);
})()"""


FRAMES = 60


def cpu_seconds(browser):
    metrics = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]


def measure(page):
    print(f"{page.stat().st_size / 1e6:.1f} MB; a frame while dragging, in milliseconds")
    with Browser() as browser:
        browser.call("Performance.enable", timeDomain="threadTicks")
        for view in VIEWS:
            begin = time.monotonic()
            browser.open(f"{page.resolve().as_uri()}#{view}")
            opened = time.monotonic() - begin
            before = cpu_seconds(browser)
            times = browser.run(DRAG)
            cpu = (cpu_seconds(browser) - before) * 1000 / FRAMES
            print(f"{view:14} opened in {opened:4.1f} s; CPU {cpu:5.1f}; median {times[30]:5.1f}, nine of ten below {times[54]:5.1f}, worst {times[59]:5.1f}")


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
