#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""lab-terminal.py KMEMSCOPE: "kmemscope lab shell" on a terminal. Exits with 0 on success."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time


class Terminal:
    def __init__(self, command, size):
        self.said = b""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(SHELL="/bin/sh", TERM="dumb", PS1="prompt> ", LC_ALL="C")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.execv(command[0], command)

    def resize(self, size):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys)

    def expect(self, what):
        """Reads until the text has appeared; the rest stays for later."""
        end = time.monotonic() + 60
        while what not in self.said:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                chunk = os.read(self.fd, 4096) if ready else b""
            except OSError:  # the other side is closed
                chunk = b""
            if not chunk:
                sys.exit(f"expected {what!r}, got {self.said!r}")
            self.said += chunk
        self.said = self.said.split(what, 1)[1]

    def status(self):
        """Reads to the end, so that no writer blocks."""
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    term = Terminal([sys.argv[1], "lab", "shell"], (33, 77))
    term.expect(b"prompt> ")
    term.type(b"stty size; tty; uname -n\r")
    term.expect(b"33 77\r\n/dev/pts/0\r\nlab\r\n")
    term.expect(b"prompt> ")
    # The size arrives some time after it has changed.
    term.resize((44, 88))
    term.type(b"until [ \"$(stty size)\" = '44 88' ]; do sleep 0.1; done; echo re''sized\r")
    term.expect(b"resized\r\n")
    # Ctrl-C ends the guest's command, not the guest.
    term.type(b"echo wa''iting; sleep 1000\r")
    term.expect(b"waiting\r\n")
    time.sleep(0.3)
    term.type(b"\x03")
    term.expect(b"prompt> ")
    term.type(b"cat /sys/kernel/debug/memorizer/memorizer_enabled\r")
    term.expect(b"0 - off\r\n")
    term.type(b"exit 5\r")
    status = term.status()
    if status != 5:
        sys.exit(f"exits with {status}, not with 5")


if __name__ == "__main__":
    main()
