# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium, controlled over its DevTools pipe, as far as the tests of the HTML report need it."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--disable-extensions", "--force-color-profile=srgb"]


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One browser with one page. All messages and requests of the page are kept in events."""

    def __init__(self, width=1400, height=900):
        self.profile = tempfile.mkdtemp(prefix="kmemscope-browser-")
        # Chromium reads from descriptor 3 and writes to 4, so our own descriptors must be other numbers.
        ends = os.pipe() + os.pipe()
        to_read, self.to, self.back, from_write = (
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in ends)
        for fd in ends:
            os.close(fd)
        flags = FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])
        command = f"exec 3<&{to_read} 4>&{from_write} {to_read}<&- {from_write}>&- && exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", command, "browser", find_chromium(), *flags, "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.session = None
        self.call("Browser.close")
        os.close(self.to)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.buffer:
            got = os.read(self.back, 1 << 16)
            if not got:
                raise RuntimeError("the browser went away")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events if "method" in event):
            self.events.append(self._message())

    def open(self, url):
        """Loads the page; True if its script ran to the end."""
        self.events = [e for e in self.events if e.get("method") != "Page.loadEventFired"]
        self.call("Page.navigate", url="about:blank")
        self.wait_for("Page.loadEventFired")
        self.events = []
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")
        return self.run("document.documentElement.dataset.ready === 'yes'")

    def run(self, expression):
        """The value of a JavaScript expression, after the page has finished drawing."""
        wrapped = ("(async () => { const frame = () => new Promise(requestAnimationFrame);"
                   " do { await frame(); await frame(); } while (document.documentElement.dataset.busy);"
                   f" return ({expression}); }})()")
        result = self.call("Runtime.evaluate", expression=wrapped, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def key(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key,
                  **({"text": key} if len(key) == 1 else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1,
                  buttons=0 if kind == "mouseReleased" else 1)

    def drag(self, x1, x2, y, release=True):
        self.mouse("mousePressed", x1, y)
        for step in range(1, 6):
            self.mouse("mouseMoved", x1 + (x2 - x1) * step / 5, y)
        if release:
            self.mouse("mouseReleased", x2, y)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def complaints(self):
        """Errors and warnings of the console, and exceptions, as text."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"])[:1000])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(json.dumps(params["args"])[:1000])
            elif method == "Log.entryAdded":
                found.append(json.dumps(params["entry"])[:1000])
        return found

    def requests(self):
        """Addresses that the page requested."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
