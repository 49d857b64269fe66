#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""kmemscope-heap(5) is enough to read a snapshot: heap-by-manual.py MKSNAP. Speaks TAP.

Reads a snapshot with a reader written from the manual page alone, and compares it with the description that it was
made from, object by object.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "lib"))
from packed import Bytes  # noqa: E402
import tap  # noqa: E402

SHOP = TESTS / "heap" / "shop.txt"


def unzigzag(v):
    return v >> 1 if v % 2 == 0 else -(v + 1) // 2


def frame(data, offset, stored, raw):
    done = subprocess.run(["zstd", "-dcq"], input=data[offset:offset + stored], check=True, capture_output=True)
    assert len(done.stdout) == raw
    return Bytes(done.stdout)


class Snapshot:
    def __init__(self, data):
        magic, version, size, features, tail, tail_size, crc = struct.unpack_from("<8sIIQQII", data)
        assert (magic, version, size, crc) == (b"KSHS\r\n\x1a\n", 1, 40, zlib.crc32(data[:36]))
        self.data, self.graph = data, features == 1
        tail = data[tail:tail + tail_size]
        assert struct.unpack("<I", tail[-4:])[0] == zlib.crc32(tail[:-4])
        sections = [frame(data, *struct.unpack_from("<QQQ", tail, at)) for at in range(0, len(tail) - 4, 24)]
        self.read_facts(sections[0])
        self.read_index(sections[1])
        if self.graph:
            self.read_roots(sections[2])

    def read_facts(self, b):
        self.kernel = [b.string() for _ in range(4)]
        self.taken, self.uptime, self.duration = b.varints(3)
        b.string()
        b.varint()
        self.memory = {b.string(): b.varint() for _ in range(b.varint())}
        self.total = b.varint()
        self.counters = b.varints(b.varint())
        self.nodes = [b.varints(5) for _ in range(b.varint())]
        self.caches = []
        for _ in range(b.varint()):
            name, size, object_size, flags = b.string(), *b.varints(3)
            self.caches.append({"name": name, "size": size, "object_size": object_size, "flags": flags, "sums": b.varints(11),
                                "slabinfo": b.varint() - 1, "merged": b.strings()})
        self.ways = b.strings()
        self.types = [(b.string(), b.varint(), [(b.varint(), b.string()) for _ in range(b.varint())])
                      for _ in range(b.varint())]
        self.cgroups = b.strings()
        for _ in range(b.varint()):
            b.varint(), b.string()
        b.end()

    def columns(self, index, offset, count):
        found = []
        for _ in range(count):
            stored, raw = index.varints(2)
            found.append(frame(self.data, offset, stored, raw))
            offset += stored
        return found

    def read_index(self, b):
        count = b.varint()
        refs, self.root_count = b.varints(2) if self.graph else (0, 0)
        self.objects, self.refs, self.root_refs = [], [], []
        while len(self.objects) < count:
            offset = b.varint()
            here = b.varint() if self.graph else 0
            before = len(self.refs)
            self.read_block(self.columns(b, offset, 10 if self.graph else 6), min(count - len(self.objects), 65536))
            assert len(self.refs) == before + here
        assert len(self.refs) == refs
        while len(self.root_refs) < self.root_count:
            self.read_root_block(*self.columns(b, b.varint(), 3))
        b.end()

    def read_block(self, columns, count):
        first, addr, last = len(self.objects), 0, {}
        for number in range(first, first + count):
            cache, kind, way, cgroup = [column.varint() for column in columns[:4]]
            checksum, = struct.unpack("<I", columns[4].take(4))
            step = columns[5].varint()
            addr += step * self.caches[cache]["size"] if step else columns[5].varint()
            self.objects.append((addr, self.caches[cache]["name"], self.types[kind][0], self.ways[way], cgroup, checksum))
            at = 0
            for _ in range(columns[6].varint() if self.graph else 0):
                at += columns[7].varint()
                to = last.get((cache, kind, at), number) + unzigzag(columns[8].varint())
                last[cache, kind, at] = to
                self.refs.append((number, at, to, columns[9].varint()))
        for column in columns:
            column.end()

    def read_root_block(self, places, targets, insides):
        at = to = 0
        for _ in range(min(self.root_count - len(self.root_refs), 262144)):
            at = (at + places.varint()) % 65536
            to += unzigzag(targets.varint())
            self.root_refs.append((at, to, insides.varint()))

    def read_roots(self, b):
        self.root_bytes = b.varints(b.varint())
        self.roots, addr, at = [], 0, 0
        for _ in range(b.varint()):
            kind, name = b.varint(), b.string()
            addr = (addr + unzigzag(b.varint())) % 2**64
            count = b.varint()
            self.roots.append((kind, name, addr, self.root_refs[at:at + count]))
            at += count
        assert at == len(self.root_refs)
        b.end()


def words(lines, what):
    return [[int(word, 0) if word[0].isdigit() else word for word in line.split()[1:]] for line in lines if line.split()[:1] == [what]]


def expected_refs(lines, addrs, s):
    """References by number of their holder, as the description has them."""
    wanted = []
    for holder, offset, to, *inside in words(lines, "ref"):
        wanted.append((addrs.index(holder), offset // 8, addrs.index(to), inside[0] // 8 if inside else 0))
    return sorted(wanted) == s.refs


def expected_roots(lines, addrs):
    roots = []
    for line in lines:
        kind, *rest = line.split() or [""]
        if kind == "root":
            roots.append((int(rest[0]), rest[1], int(rest[2], 0), []))
        elif kind == "rootref":
            numbers = [int(word, 0) for word in rest]
            roots[-1][3].append((numbers[0] // 8, addrs.index(numbers[1]), numbers[2] // 8 if len(numbers) > 2 else 0))
    return roots


def main():
    mksnap, text = sys.argv[1], SHOP.read_text(encoding="ascii")
    with tempfile.TemporaryDirectory(prefix="kmemscope-heap-") as scratch:
        file = pathlib.Path(scratch) / "shop.snap"
        subprocess.run([mksnap, file], input=text, text=True, check=True)
        s = Snapshot(file.read_bytes())
        plain = "\n".join(line for line in text.splitlines() if line.split()[:1] not in (["ref"], ["root"], ["rootref"]))
        subprocess.run([mksnap, file], input=plain, text=True, check=True)
        small = Snapshot(file.read_bytes())
    lines = text.splitlines()
    objects = sorted(words(lines, "object"))
    addrs = [row[0] for row in objects]
    tap.check("the kernel and the time", s.kernel == ["6.18.0", "x86_64", "box", "11111111-2222"] and
              [s.taken, s.uptime, s.duration] == words(lines, "taken")[0], str(s.kernel))
    tap.check("memory by kind", {k: v for k, v in s.memory.items() if v} == {"free": 1000, "slab": 20, "other kernel": 5},
              str(s.memory))
    tap.check("caches", [[c["name"], c["size"], c["object_size"]] for c in s.caches] ==
              [row[:3] for row in words(lines, "cache")], str(s.caches))
    tap.check("their flags, names and slabinfo", [(c["flags"], c["merged"], c["slabinfo"]) for c in s.caches] ==
              [(1, [], 4), (0, ["fs_cache"], 4), (0, [], 2), (2, [], -1)], str(s.caches))
    tap.check("types and fields", s.types[1:] == [
        ("file", 232, [(16, "f_inode"), (64, "f_path.dentry")]), ("char[]", 0, []), ("task_struct", 3900, [(1024, "files")])],
        str(s.types))
    tap.check("cgroups", s.cgroups == ["", "/shop", "/shop/till"], str(s.cgroups))
    tap.check("objects", [list(row) for row in s.objects] == objects, str(s.objects))
    tap.check("references", expected_refs(lines, addrs, s), str(s.refs))
    tap.check("roots", s.roots == expected_roots(lines, addrs), str(s.roots))
    tap.check("without the graph, the same objects", small.objects == s.objects and not small.graph, str(small.objects))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
