#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Heaps drawn by seed, and every question to them: heap-by-model.py KMEMSCOPE MKSNAP. Speaks TAP.

The answers are compared with those of a plain model, which knows the description of the heap, not the file, and
works out what hangs on an object by taking the object away.
"""
import collections
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402

KMEMSCOPE, MKSNAP = sys.argv[1:3]
CACHES = {"filp": 256, "kmalloc-64": 64, "dentry": 192, "task_struct": 4096}
FIELDS = {"file": {16: "f_inode", 64: "f_path.dentry", 72: "f_op"}, "dentry": {8: "d_parent", 32: "d_name"},
          "char[]": {}, "task_struct": {1024: "files", 1032: "fs"}}
KINDS = {0: "variable", 2: "stack"}
Object = collections.namedtuple("Object", "addr cache type known_by cgroup checksum")


class Heap:
    """Objects by address; references from an object, or from a root, as (from, offset, to, inside)."""

    def __init__(self, rng, count=70):
        addrs = sorted(rng.sample(range(400), count))
        self.objects, self.refs, self.roots, self.root_refs = {}, [], [], []
        for place in addrs:
            cache = rng.choice(list(CACHES))
            type_ = "?" if rng.random() < 0.1 else rng.choice(list(FIELDS))
            self.add(Object(0xffff888000000000 + place * 4096, cache, type_, "unknown" if type_ == "?" else rng.choice(["cache", "field"]),
                            rng.randrange(3), rng.randrange(1, 1000)))
        for _ in range(count * 5 // 4):
            a, b = rng.sample(list(self.objects), 2)
            offset = rng.choice(list(FIELDS.get(self.objects[a].type, {})) + [24, 40])
            if not any(ref[:2] == (a, offset) for ref in self.refs) and offset < CACHES[self.objects[a].cache]:
                inside = rng.choice([0, 0, 8])
                self.refs.append((a, offset, b, inside))
        for i in range(4):
            root = (rng.choice(list(KINDS)), f"root_{i}", 0xffffffff82000000 + i * 4096)
            self.roots.append(root)
            for offset, to in zip(range(8, 40, 8), rng.sample(list(self.objects), 3)):
                self.root_refs.append((root[2], offset, to, 0))

    def add(self, obj):
        self.objects[obj.addr] = obj

    def text(self, taken):
        lines = ["kernel 6.18.0 x86_64 box 1111-2222", f"taken {taken} 90000000000 1500000000"]
        lines += [f"cache {name} {size} {size}" for name, size in CACHES.items()]
        for name, fields in FIELDS.items():
            lines += [f"type {name} 64"] + [f"field {name} {at} {field}" for at, field in fields.items()]
        lines += ["cgroup /a", "cgroup /a/b"]
        lines += [f"object {o.addr:#x} {o.cache} {o.type} {o.known_by} {o.cgroup} {o.checksum}" for o in self.objects.values()]
        lines += [f"ref {a:#x} {offset} {b:#x} {inside}" for a, offset, b, inside in sorted(self.refs)]
        for kind, name, addr in self.roots:
            lines.append(f"root {kind} {name} {addr:#x}")
            lines += [f"rootref {offset} {to:#x} {inside}" for at, offset, to, inside in self.root_refs if at == addr]
        return "\n".join(lines) + "\n"

    def reached(self, without=()):
        """All that roots lead to, if these objects and roots were not there."""
        todo = [to for at, _, to, _ in self.root_refs if at not in without]
        seen = set()
        while todo:
            addr = todo.pop()
            if addr in seen or addr in without:
                continue
            seen.add(addr)
            todo += [to for at, _, to, _ in self.refs if at == addr]
        return seen

    def bytes_of(self, addrs):
        return sum(CACHES[self.objects[addr].cache] for addr in addrs)

    def retained(self, addrs):
        """The objects, and what goes with those that roots lead to."""
        return self.bytes_of(set(addrs) & set(self.objects) | (self.reached() - self.reached(set(addrs))))

    def field(self, addr, offset):
        """Arrays have none."""
        obj = self.objects.get(addr)
        if obj and obj.type == "char[]":
            return ""
        return FIELDS.get(obj.type, {}).get(offset, f"+{offset:#x}") if obj else f"+{offset:#x}"

    def what(self, addr):
        """As holders and ways name it: by its type, or by its cache."""
        obj = self.objects[addr]
        return obj.type if obj.type != "?" else obj.cache


def ask(snapshot, *words):
    return json.loads(tap.run(KMEMSCOPE, "heap", *words, "--from", snapshot, "--json").stdout)


def sums(heap, key):
    found = collections.defaultdict(lambda: [0, 0])
    for obj in heap.objects.values():
        found[key(obj)][0] += 1
        found[key(obj)][1] += CACHES[obj.cache]
    return {key: tuple(value) for key, value in found.items()}


def falling(rows, key="bytes"):
    return all(a[key] >= b[key] for a, b in zip(rows, rows[1:]))


def compare(problems, what, ours, theirs):
    if ours != theirs:
        problems.append(f"{what}: {ours} and not {theirs}")


def check_sums(heap, snapshot):
    problems = []
    rows = ask(snapshot)["caches"]
    compare(problems, "caches", {r["cache"]: (r["objects"], r["bytes"]) for r in rows}, sums(heap, lambda o: o.cache))
    if not falling(rows):
        problems.append("caches are out of order")
    doc = ask(snapshot, "types")
    compare(problems, "types", {(r["type"], r["cache"], r["known_by"]): (r["objects"], r["bytes"]) for r in doc["types"]},
            sums(heap, lambda o: (o.type, o.cache, o.known_by)))
    for row in doc["types"]:
        example = heap.objects[int(row["example"], 16)]
        compare(problems, "example", (example.type, example.cache, example.known_by), (row["type"], row["cache"], row["known_by"]))
    if not falling(doc["types"]):
        problems.append("types are out of order")
    doc = ask(snapshot, "--by", "cgroup")
    names = ["(charged to none)", "/a", "/a/b"]
    compare(problems, "cgroups", {r["cgroup"]: (r["objects"], r["bytes"]) for r in doc["cgroups"]}, sums(heap, lambda o: names[o.cgroup]))
    compare(problems, "charges", {(r["cgroup"], r["cache"]): (r["objects"], r["bytes"]) for r in doc["charges"]},
            {key: value for key, value in sums(heap, lambda o: (names[o.cgroup], o.cache)).items() if key[0] != names[0]})
    return problems


def holders_of(heap, addrs):
    rows = collections.defaultdict(lambda: (set(), [], set()))
    for at, offset, to, _ in heap.refs:
        if to in addrs:
            objects, references, holders = rows[heap.objects[at].type, heap.what(at), heap.field(at, offset)]
            objects.add(to)
            references.append(at)
            holders.add(at)
    for kind, word in KINDS.items(): # the name of a root where it is the only one
        names = {addr: name for root_kind, name, addr in heap.roots if root_kind == kind}
        refs = [(at, to) for at, _, to, _ in heap.root_refs if at in names and to in addrs]
        holders = {at for at, _ in refs}
        if refs:
            rows["root", word, names[min(holders)] if len(holders) == 1 else ""] = ({to for _, to in refs}, refs, holders)
    return sorted((what, field, len(objects), len(references), len(holders)) for (_, what, field), (objects, references, holders) in rows.items())


def check_way(heap, way, problems):
    """It begins at a root, each step holds the next by the field that is named, and retains what goes with it."""
    places = [int(step["address"], 16) for step in way]
    if places[0] not in [addr for _, _, addr in heap.roots]:
        problems.append(f"a way begins at {places[0]:#x}")
    for step, at, to in zip(way, places, places[1:]):
        fields = [heap.field(a, offset) for a, offset, b, _ in heap.refs + heap.root_refs if (a, b) == (at, to)]
        if step["field"] not in fields:
            problems.append(f"{at:#x} holds {to:#x} by {fields}, not by {step['field']}")
    for step, at in zip(way, places):
        compare(problems, f"what {at:#x} retains", step["retained"], heap.retained({at}))


def check_holders(heap, snapshot, rng):
    problems, reached = [], heap.reached()
    questions = [(type_, {o.addr for o in heap.objects.values() if o.type == type_}) for type_ in FIELDS]
    questions += [(f"{addr + 5:#x}", {addr}) for addr in rng.sample(sorted(heap.objects), 8)]
    for name, addrs in questions:
        doc = ask(snapshot, "holders", name)
        compare(problems, name, (doc["objects"], doc["bytes"]), (len(addrs), heap.bytes_of(addrs)))
        if addrs <= reached:
            compare(problems, f"{name} retains", doc["retained"], heap.retained(addrs))
        ours = sorted((r["holder"], r["field"], r["objects"], r["references"], r["holders"]) for r in doc["holders"])
        compare(problems, f"holders of {name}", ours, holders_of(heap, addrs))
        if [r["objects"] for r in doc["holders"]] != sorted([r["objects"] for r in doc["holders"]], reverse=True):
            problems.append(f"holders of {name} are out of order")
        if addrs & reached:
            check_way(heap, doc["way"], problems)
        else:
            compare(problems, f"the way to {name}", [int(step["address"], 16) in addrs for step in doc["way"]], [True])
        culprit = doc.get("alone_held_by")
        if culprit:
            gone = reached - heap.reached({int(culprit["address"], 16)})
            compare(problems, f"held alone of {name}", culprit["bytes"], heap.bytes_of(gone & addrs))
    return problems


def check_unreachable(heap, snapshot):
    problems, lost = [], set(heap.objects) - heap.reached()
    doc = ask(snapshot, "unreachable")
    compare(problems, "unreachable", (doc["unreachable_objects"], doc["unreachable_bytes"], doc["all_objects"]),
            (len(lost), heap.bytes_of(lost), len(heap.objects)))
    compare(problems, "in rows", sum(row["objects"] for row in doc["unreachable"]), len(lost))
    for row in doc["unreachable"]:
        obj = heap.objects[int(row["example"], 16)]
        targets = [heap.what(to) for at, _, to, _ in sorted(heap.refs) if at == obj.addr]
        text = ", ".join(targets[:4] + ["..."][:len(targets) > 4])
        compare(problems, row["example"], (row["type"], row["cache"], row["size"], row["bytes"], row["points_to"], obj.addr in lost),
                (obj.type, obj.cache, CACHES[obj.cache], row["objects"] * CACHES[obj.cache], text, True))
    if not falling(doc["unreachable"]):
        problems.append("rows are out of order")
    return problems


def check_show(heap, snapshot):
    problems = []
    for addr in sorted(heap.objects)[::7]:
        obj, doc = heap.objects[addr], ask(snapshot, "show", f"{addr + 1:#x}")
        compare(problems, hex(addr), (doc["address"], doc["type"], doc["cache"], doc["size"], doc["known_by"], doc["cgroup"]),
                (hex(addr), obj.type, obj.cache, CACHES[obj.cache], obj.known_by, ["", "/a", "/a/b"][obj.cgroup]))
        fields = [(f["offset"], f["field"], f["address"], f["points_to"]) for f in doc.get("fields", [])]
        compare(problems, f"fields of {addr:#x}", fields,
                [(hex(offset), heap.field(addr, offset), hex(to + inside), heap.what(to) + (f"+{inside:#x}" if inside else ""))
                 for at, offset, to, inside in sorted(heap.refs) if at == addr])
    for cache in CACHES:
        doc = ask(snapshot, "show", cache) if cache not in FIELDS else {"objects": []}
        if doc["objects"]:
            compare(problems, cache, [int(r["address"], 16) for r in doc["objects"]],
                    [addr for addr, obj in sorted(heap.objects.items()) if obj.cache == cache])
    return problems


def check_diff(before, after, first, second):
    """Objects keep their places: what has another type is new, what has another checksum has changed."""
    problems = []
    doc = json.loads(tap.run(KMEMSCOPE, "heap", "diff", "--json", first, second).stdout)
    new, changed, gone = collections.Counter(), collections.Counter(), collections.Counter()
    for addr in set(before.objects) | set(after.objects):
        a, b = before.objects.get(addr), after.objects.get(addr)
        same = a and b and a.cache == b.cache and (a.type == b.type or "?" in (a.type, b.type))
        if same:
            changed[b.cache] += a.checksum != b.checksum
        else:
            new.update([b.cache] if b else [])
            gone.update([a.cache] if a else [])
    sums_before, sums_after = sums(before, lambda o: o.cache), sums(after, lambda o: o.cache)
    for row in doc["caches"]:
        name, size = row["cache"], CACHES[row["cache"]]
        was, now = sums_before.get(name, (0, 0)), sums_after.get(name, (0, 0))
        compare(problems, name, (row["objects_before"], row["objects_after"], row["bytes_change"], row["new"], row["changed"], row["gone"]),
                (was[0], now[0], now[1] - was[1], new[name], changed[name], gone[name]))
        compare(problems, f"new bytes of {name}", row.get("new_bytes", new[name] * size), new[name] * size)
    compare(problems, "all", (doc["new_objects"], doc["changed_objects"], doc["gone_objects"]),
            (sum(new.values()), sum(changed.values()), sum(gone.values())))
    return problems


def later(heap, rng):
    """The same heap after a while."""
    other = Heap(random.Random(0), 4)
    other.objects, other.refs, other.roots, other.root_refs = dict(heap.objects), list(heap.refs), heap.roots, list(heap.root_refs)
    for addr in rng.sample(sorted(heap.objects), 25):
        obj, how = heap.objects[addr], rng.randrange(4)
        if how == 0:
            del other.objects[addr]
        elif how == 1:
            other.add(obj._replace(checksum=obj.checksum + 1))
        elif how == 2:
            other.add(obj._replace(type="char[]" if obj.type != "char[]" else "file", known_by="field", checksum=obj.checksum + 1))
        else:
            other.add(obj._replace(addr=addr + 4096 * 1000))
    other.objects = dict(sorted(other.objects.items()))
    other.refs = [ref for ref in heap.refs if ref[0] in other.objects and ref[2] in other.objects and
                  heap.objects[ref[0]].type == other.objects[ref[0]].type]
    other.root_refs = [ref for ref in heap.root_refs if ref[2] in other.objects]
    return other


def main():
    with tempfile.TemporaryDirectory(prefix="kmemscope-heaps-") as folder:
        for seed in range(1, 5):
            rng = random.Random(seed)
            heap = Heap(rng)
            other = later(heap, rng)
            first, second = pathlib.Path(folder, "first.snap"), pathlib.Path(folder, "second.snap")
            tap.run(MKSNAP, first, input=heap.text(1700000000000000000))
            tap.run(MKSNAP, second, input=other.text(1700000060000000000))
            tap.check_none(f"heap {seed}: sums by cache, type and cgroup", check_sums(heap, first))
            tap.check_none(f"heap {seed}: who holds what", check_holders(heap, first, rng))
            tap.check_none(f"heap {seed}: what nobody holds", check_unreachable(heap, first))
            tap.check_none(f"heap {seed}: single objects", check_show(heap, first))
            tap.check_none(f"heap {seed}: what changed", check_diff(heap, other, first, second))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
