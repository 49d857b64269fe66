# SPDX-License-Identifier: GPL-2.0-only
"""Reads the packed numbers and strings of our files, from what the manuals say of them and not from the program."""


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        assert self.at <= len(self.data)
        return self.data[self.at - n:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def varints(self, n):
        return [self.varint() for _ in range(n)]

    def string(self):
        return self.take(self.varint()).decode()

    def strings(self):
        return [self.string() for _ in range(self.varint())]

    def done(self):
        return self.at == len(self.data)

    def end(self):
        assert self.done(), "bytes are left over"
