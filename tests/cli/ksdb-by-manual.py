#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""kmemscope-ksdb(5) is enough to read a DB: ksdb-by-manual.py KMEMSCOPE. Speaks TAP.

Reads a DB with a reader written from the manual page alone, and compares it with the text log that it
was made from, event by event.
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "captures"), str(TESTS / "lib")]
from packed import Bytes  # noqa: E402
import tap  # noqa: E402
import build  # noqa: E402

SAMPLE = TESTS / "data" / "sample.log"
KINDS = ["kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free", "mm_page_alloc", "mm_page_free"]


def unzigzag(v):
    return v >> 1 if v % 2 == 0 else -(v + 1) // 2


def frame(data, offset, stored, raw):
    done = subprocess.run(["zstd", "-dcq"], input=data[offset:offset + stored], check=True,
                          capture_output=True)
    assert len(done.stdout) == raw
    return done.stdout


def numbers(raw, code):
    """A column in byte planes: all lowest bytes, then all next ones."""
    count = len(raw) // struct.calcsize(code)
    planes = [raw[i:i + count] for i in range(0, len(raw), count or 1)]
    return struct.unpack(f"<{count}{code}", bytes(byte for number in zip(*planes) for byte in number))


def read_tail(data):
    magic, version, size, features, at, length = struct.unpack_from("<8sIIQQI", data)
    assert magic == b"KSDB\r\n\x1a\n" and (version, size) == (2, 40) and features < 16
    sections = 3 + bin(features).count("1")
    assert length == 24 * sections + 4
    assert struct.unpack_from("<I", data, 36)[0] == zlib.crc32(data[:36])
    tail = data[at:at + length]
    assert len(data) == at + length and struct.unpack("<I", tail[-4:])[0] == zlib.crc32(tail[:-4])
    found = [Bytes(frame(data, *struct.unpack_from("<QQQ", tail, 24 * i))) for i in range(sections)]
    more = [found.pop(3) if features & bit else None for bit in (1, 2, 4, 8)][:3]
    return found, *more


def read_shapes(table):
    shapes = []
    for _ in range(table.varint()):
        kind, op, level, flags = table.take(4)
        site, cache, gfp, stack, node, req, alloc = table.varints(7)
        shapes.append((kind, op, level, flags, site, cache, gfp, stack, unzigzag(node), req, alloc))
    tasks = [tuple(table.varints(3)) for _ in range(table.varint())]
    assert table.done()
    return shapes, tasks


def read_block(data, index, names, addresses):
    offset, count, flags, now, least, greatest = index.varints(6)
    columns = []
    for _ in range(6):
        stored, raw = index.varints(2)
        columns.append(frame(data, offset, stored, raw))
        offset += stored
    shapes, tasks = read_shapes(Bytes(columns[0]))
    shape_of, task_of = numbers(columns[1], "H"), numbers(columns[2], "H")
    times = numbers(columns[3], "Q" if flags & 1 else "I")
    slots, pointers = iter(numbers(columns[4], "I")), iter(numbers(columns[5], "Q"))
    pointer, seen = 0, []
    for i in range(count):
        kind, op, level, _, site, cache, gfp, stack, node, req, alloc = shapes[shape_of[i]]
        names[4].append(stack)
        pid, comm, cpu = tasks[task_of[i]]
        now += unzigzag(times[i])
        seen.append(now)
        if op == 2:
            address = addresses[level].pop(next(slots))
        else:
            pointer ^= next(pointers)
            address = pointer
        if op == 1:
            addresses[level][next(slots)] = address
        yield (now, KINDS[kind], names[2][comm - 1], pid - 1, cpu, address,
               names[0][site - 1] if site else None, names[1][cache - 1] if cache else None,
               names[3][gfp - 1] if gfp else None, node, req, alloc)
    assert (min(seen), max(seen)) == (least, greatest)
    assert next(slots, None) is None and next(pointers, None) is None


def read_db(data):
    (table, summary, index), host, stacks, nodes = read_tail(data)
    names = [[table.string() for _ in range(table.varint())] for _ in range(4)] + [[]]
    assert table.done()
    total, slots_slab, slots_pages, blocks = index.varints(4)
    addresses = ({}, {})
    events = []
    for _ in range(blocks):
        events += read_block(data, index, names, addresses)
        assert all(slot < slots_slab for slot in addresses[0])
        assert all(slot < slots_pages for slot in addresses[1])
    assert index.done() and len(events) == total
    return events, summary, host, read_stacks(stacks, names[4]), nodes, names[1]


def read_stacks(table, of_events):
    """By event: the frames, innermost first."""
    if not table:
        assert not any(of_events)
        return []
    frames = [table.string() for _ in range(table.varint())]
    stacks = [[frames[i] for i in table.varints(table.varint())] for _ in range(table.varint())]
    assert table.done() and len({tuple(stack) for stack in stacks}) == len(stacks)
    return [stacks[i - 1] if i else None for i in of_events]


def read_log(path):
    """The same from the text, by regular expressions that fit this one log."""
    line = re.compile(r"^ *(.+)-(\d+) +\[(\d+)\] \S+ +(\d+)\.(\d{6}): (\w+): (.*)$")
    for text in path.read_text(encoding="utf-8").splitlines():
        match = line.match(text)
        if not match:
            continue
        comm, pid, cpu, seconds, micro, event, rest = match.groups()
        field = dict(re.findall(r"(\w+)=(\S+)", rest))
        page = event.startswith("mm_page")
        size = 4096 << int(field["order"]) if page else 0
        yield (int(seconds + micro) * 1000, event, comm, int(pid), int(cpu),
               int(field["pfn"] if page else field["ptr"], 16), field.get("call_site"),
               field.get("name"), field.get("gfp_flags"), int(field.get("node", -1)),
               int(field.get("bytes_req", 0 if event == "mm_page_free" else size)), int(field.get("bytes_alloc", size)))


def read_summary(summary, events, caches):
    assert summary.varint() == 12
    assert summary.string() == "ftrace text" and summary.string() == "seconds"
    assert summary.varint() == 0
    first, last, lines, comments, others, stacks, dropped = summary.varints(7)
    assert (first, last) == (events[0][0], max(event[0] for event in events))
    assert lines == comments + len(events) and (others, stacks, dropped) == (0, 0, 0)
    kinds = summary.varints(summary.varint())
    assert kinds == [sum(event[1] == kind for event in events) for kind in KINDS] + [0]
    assert len(summary.varints(summary.varint())) == 16
    for _ in range(summary.varint()):
        summary.varints(6)
    for _ in range(summary.varint()):
        summary.string()
    assert summary.varint() == 16
    for allocating in (("kmalloc", "kmem_cache_alloc"), ("mm_page_alloc",)):
        sums = summary.varints(16)
        made = [event for event in events if event[1] in allocating]
        assert sums[0] == len(made) and sums[4] == sum(event[11] for event in made)
        groups = [summary.varints(17) for _ in range(summary.varint())]
        assert sum(group[1] for group in groups) == len(made)
        assert sum(group[8] for group in groups) == sums[7]
    counts = [summary.varints(3) for _ in range(summary.varint())]
    assert {caches[cache - 1] if cache else None: row for cache, *row in counts} == strays(events) != {}
    assert summary.done()


def strays(events):
    """By cache: frees of slab objects that were not seen allocated, and among these those of what was freed last."""
    last, found = {}, {}
    for event in events:
        kind, address, cache = event[1], event[5], event[7]
        if kind not in ("kfree", "kmem_cache_free"):
            last[address] = "alloc" if kind in ("kmalloc", "kmem_cache_alloc") else last.get(address)
        elif address > 16:
            if last.get(address) != "alloc":
                found.setdefault(cache, [0, 0])[last.get(address) == "free"] += 1
            last[address] = "free"
    return found


def with_stacks(scratch):
    """A trace.dat that is made here, with stacks, the name of its kernel, and nodes; what its DB says of them."""
    machine = build.Machine()
    ring, want = build.Ring(machine), []
    for i in range(200):
        frames = [machine.text + 0x123, machine.text + (0x310, 0x320, 0x330)[i % 3]][:1 + i % 2]
        ring.add(1000 + i, machine.payload({"kind": "kmalloc", "pid": 10, "ptr": 0x1000 + 64 * i, "req": 10,
                                            "alloc": 16, "site": machine.text + 0x123}))
        if i % 5:
            ring.add(1000 + i, machine.stack(10, frames))
        want.append([f"{name}+{frame - base:#x}/{size:#x}" for frame, (name, base, size) in
                     zip(frames, [("first_function", machine.text + 0x100, 0x200),
                                  ("second_function", machine.text + 0x300, 0x500)])] if i % 5 else None)
    capture, path = pathlib.Path(scratch) / "stacks.dat", pathlib.Path(scratch) / "stacks.ksdb"
    capture.write_bytes(build.trace_dat_v7(
        machine, [("", {0: ring.done()})], {10: "alpha"},
        extra=build.option(machine, 5, b"Linux name 6.1.2 riscv64\0") + build.option(machine, 8, machine.pack("I", 5)) +
        build.option(machine, 9, b"kmemscope 1 nodes=0,3,200,0\0")))
    tap.run(sys.argv[1], "import", "-o", path, capture)
    data = path.read_bytes()
    _, _, host, stacks, nodes, _ = read_db(data)
    of_cpus = nodes.varints(nodes.varint())
    assert nodes.done()
    check_refusals(path, data)
    return (host.string(), host.string(), host.varint(), host.done()), stacks, want, of_cpus


def section(data, number):
    at, length = struct.unpack_from("<QI", data, 24)
    return frame(data, *struct.unpack_from("<QQQ", data[at:at + length], 24 * number))


def with_section(data, number, content):
    """The DB with another content of a section, and checksums that are right."""
    at, length = struct.unpack_from("<QI", data, 24)
    tail = bytearray(data[at:at + length - 4])
    stored = subprocess.run(["zstd", "-cq"], input=content, check=True, capture_output=True).stdout
    struct.pack_into("<QQQ", tail, 24 * number, at, len(stored), len(content))
    head = data[:24] + struct.pack("<QI", at + len(stored), length)
    return (head + struct.pack("<I", zlib.crc32(head)) + data[40:at] + stored + tail + struct.pack("<I", zlib.crc32(tail)))


def check_refusals(path, data):
    """Of sections that are a byte too long or too short, and of a stack with a frame that is not there."""
    stacks = section(data, 4)
    table = Bytes(stacks)
    frames = [table.string() for _ in range(table.varint())]
    # Of the first stack: behind the number of stacks and its own length, all of which are one byte.
    at = table.at + 2
    wrong = stacks[:at] + bytes([len(frames)]) + stacks[at + 1:]
    names = ["names", "summary", "index", "host", "stacks", "nodes"]
    # A summary may have more behind what is known of it, or less than today's.
    cases = [(f"{name}, {what}", number, change(section(data, number)), status) for number, name in enumerate(names)
             for what, change, status in (("as it is", lambda raw: raw, 0), ("and a byte more", lambda raw: raw + b"\0", 3),
                                          ("but for a byte", lambda raw: raw[:-1], 3)) if not status or name != "summary"]
    for what, number, content, status in cases + [("a stack of a frame behind the last", 4, wrong, 3)]:
        path.write_bytes(with_section(data, number, content))
        done = subprocess.run([sys.argv[1], "account", path], capture_output=True, check=False, text=True)
        tap.check(f"{'refused' if status else 'read'}: {what}", done.returncode == status, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "sample.ksdb"
        tap.run(sys.argv[1], "import", "-o", path, SAMPLE)
        events, summary, host, stacks, nodes, caches = read_db(path.read_bytes())
        made_host, made_stacks, want_stacks, made_nodes = with_stacks(scratch)
    wanted = list(read_log(SAMPLE))
    differs = next((f"got  {got}\nwant {want}" for got, want in zip(events, wanted) if got != want), "")
    tap.check("the events of a DB are those of the log", events == wanted and len(wanted) > 500,
              f"{len(events)} events, {len(wanted)} lines\n{differs}")
    read_summary(summary, events, caches)
    tap.check("the summary is as the manual says and agrees with the events", True)
    tap.check("the machine, where the capture tells of it",
              made_host == ("6.1.2", "riscv64", 5, True) and host is None, made_host)
    tap.check("the stack of each event, where the capture has stacks", made_stacks == want_stacks and not stacks,
              f"got {made_stacks[:6]}\nwant {want_stacks[:6]}")
    tap.check("the node of each CPU, where there is more than one", made_nodes == [0, 3, 200, 0] and nodes is None, made_nodes)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
