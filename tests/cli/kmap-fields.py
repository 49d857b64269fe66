# SPDX-License-Identifier: GPL-2.0-only
"""Writes a binary map as kmemscope-kmap(5) lays it out: kmap-fields.py FILE [old], accesses from standard input.

Lines "object ADDR SIZE ALLOC_IP [CACHE]" and, below each, "IP r|w COUNT LENGTH OFFSET CPU [offset|length]", where the last says what
varies. With "old", accesses are as they were before they had offsets.
"""
import struct
import sys

old = len(sys.argv) > 2
objects = []
for line in sys.stdin:
    words = line.split()
    if not words:
        continue
    if words[0] == "object":
        objects.append((words[1:], []))
    else:
        objects[-1][1].append(words)

with open(sys.argv[1], "wb") as out:
    size = 48 if old else 56
    out.write(struct.pack("<IHHIIQQQ24sII", 0x4D5A4B31, 1, 72, 128, 4000000, 10**9, 1000, 0, b"", size, 0))
    for (addr, length, ip, *cache), accesses in objects:
        kind = 2 if cache else 1
        out.write(struct.pack("<7QIiiHBBII16s32s", int(addr, 16), int(ip, 16), 1, 5, 9, int(length), int(length),
                              0, 7, 7, 0, kind, 0, 1, len(accesses), b"test",
                              cache[0].encode() if cache else b""))
        for code, way, count, length, offset, cpu, *varies in accesses:
            count, length = int(count), int(length)
            writes, reads = (count, 0) if way == "w" else (0, count)
            record = struct.pack("<5QiB", int(code, 16), writes, reads, writes * length, reads * length, 7, 0)
            if old:
                record += bytes(3)
            else:
                flags = 1 | 2 * ("offset" in varies) | 4 * ("length" in varies)
                record += struct.pack("<BHII", flags, int(cpu), int(offset), 0)
            out.write(record)
