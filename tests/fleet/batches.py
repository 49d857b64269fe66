# SPDX-License-Identifier: GPL-2.0-only
"""Batches written by hand, as kmemscope-fleet(5) says, sound or not."""
import struct
import subprocess

HOST, BOOT, BUILD, CACHE = range(4)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def string(data):
    return varint(len(data)) + data


def identity(kind, name):
    """The id of a name."""
    h, mask = 0xcbf29ce484222325, (1 << 64) - 1
    for byte in bytes([kind]) + name:
        h = (h ^ byte) * 0x100000001b3 & mask
    h ^= h >> 32
    h = h * 0x9e3779b97f4a7c15 & mask
    h ^= h >> 29
    h = h * 0xd6e8feb86659fd93 & mask
    return h ^ h >> 32


def frame(body, room=None):
    packed = subprocess.run(["zstd", "-q", "-c"], input=body, stdout=subprocess.PIPE, check=True).stdout
    return b"KSFB" + struct.pack("<II", len(packed), len(body) if room is None else room) + packed


def row(cache, live, error=0.0):
    """All but the cache is as in the row before: not known."""
    return varint(0b11110) + struct.pack("<Q", cache) + varint(live * 2) + varint(live // 64 * 2) + varint(1) + varint(1) + struct.pack("<f", error) + b"\0"


def batch(host, at, names=(), labels=(), rows=None, label_count=None, **more):
    """One batch of a host. Names are pairs of kind and bytes, labels pairs of bytes."""
    names = [(HOST, host), (BOOT, b"boot"), (BUILD, b"6.0 #1"), (CACHE, b"kmalloc-64"), *names]
    rows = row(identity(CACHE, b"kmalloc-64"), 6400) if rows is None else rows
    body = struct.pack("<HQQQQIIIB", 1, identity(HOST, host), identity(BOOT, b"boot"), identity(BUILD, b"6.0 #1"), at * 10**9, at, 60, 9000, 0) + varint(0) * 3
    body += varint(len(names)) + b"".join(bytes([kind]) + string(name) for kind, name in names)
    body += varint(len(labels) if label_count is None else label_count) + b"".join(string(name) + string(value) for name, value in labels)
    return frame(body + varint(1) + rows, **more)
