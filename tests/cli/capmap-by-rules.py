# SPDX-License-Identifier: GPL-2.0-only
"""Reads a CAPMAP as uSCOPE's own reader does, by its rules: what that refuses is an error here.

usage: capmap-by-rules.py FILE TEXT-START TEXT-END

Prints objects, bytes, reads, writes and calls that it keeps, objects it leaves out for want of code that allocates, live
objects, and the sum of the lives that it believes.
"""
import sys

KNOWN = """STACK STACK_PAGE GEN_HEAP UFO_HEAP GLOBAL KMALLOC KMALLOC_ND KMEM_CACHE KMEM_CACHE_ND VMALLOC ALLOC_PAGES
INDUCED_ALLOC BOOTMEM MEMBLOCK UFO_MEMBLOCK MEMORIZER USER BUG UFO_GLOBAL UFO_NONE NONE""".split()
HEAP = "GEN_HEAP KMALLOC KMALLOC_ND KMEM_CACHE KMEM_CACHE_ND VMALLOC ALLOC_PAGES INDUCED_ALLOC".split()
BELIEVED = 10**11

path, start, end = sys.argv[1], int(sys.argv[2], 16), int(sys.argv[3], 16)


def instruction(text):
    ip = int(text, 16)
    assert start <= ip < end, f"no code of the kernel: {text}"
    return ip


objects = size = reads = writes = calls = left_out = live = lives = 0
kept = None  # whether the last object is kept; "nothing" objects take their accesses with them
for line in open(path):
    line = line.rstrip("\n")
    if line.startswith("#"):
        continue
    if line.startswith(" "):
        fields = line.strip().split(",")
        assert len(fields) == 3, line
        assert kept is not False, f"an access to an object that is left out: {line}"
        instruction(fields[0])
        if kept:
            writes += int(fields[1])
            reads += int(fields[2])
    elif "," in line:
        fields = line.split(",")
        assert len(fields) == 10, line
        alloc, _, addr, nbytes, begin, ended, free, kind = fields[:8]
        assert kind in KNOWN, line
        int(addr, 16)
        begin, ended = int(begin), int(ended)
        if "null" not in free and "deadbeef" not in free:
            instruction(free)
        assert ended < BELIEVED and begin < BELIEVED, f"a time that is not believed: {line}"
        if kind == "NONE":
            kept = "nothing" and None
            continue
        if kind in HEAP:
            if "null" in alloc or "feedbeef" in alloc:
                kept = False
                left_out += 1
                continue
            instruction(alloc)
        kept = True
        objects += 1
        size += int(nbytes)
        live += not ended
        lives += ended - begin if ended else 0
    else:
        caller, callee, count = line.split()
        instruction(caller), instruction(callee)
        calls += int(count)
print(objects, size, reads, writes, calls, left_out, live, lives)
