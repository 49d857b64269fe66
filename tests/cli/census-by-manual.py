#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The census in a capture, by kmemscope-captures(5) alone: census-by-manual.py KMEMSCOPE. Speaks TAP.

Records this kernel while objects of a known cache are made, reads the sections with a reader written from the manual
page, and compares with what was made, with /proc, and with trace-cmd.
"""
import json
import os
import pathlib
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "lib"))
from packed import Bytes  # noqa: E402
import tap  # noqa: E402

KMEMSCOPE = sys.argv[1]
ITEMS = 3000
MEMINFO = ["Slab", "SReclaimable", "SUnreclaim", "MemTotal", "MemAvailable"]


def sections(path):
    """The contents of the sections that the version option names."""
    data = pathlib.Path(path).read_bytes()
    places = re.search(rb"kmemscope \S+[^\0]* sections=([0-9,]+)[ \0]", data).group(1)
    for place in map(int, places.split(b",")):
        number, flags, _, _, stored, raw = struct.unpack_from("<HHIQII", data, place)
        assert flags == 1
        frame = subprocess.run(["zstd", "-dcq"], input=data[place + 24:place + 24 + stored], check=True, capture_output=True)
        assert len(frame.stdout) == raw
        yield number, Bytes(frame.stdout)


def read_census(b):
    assert b.varint() == 1
    census = {"end": b.varint() == 1, "how": b.varint(), "caches": [], "slabs": []}
    flags = b.varint()
    census["from"], census["to"], census["wall"] = b.varint(), b.varint(), b.varint()
    census["memory"] = dict(zip(MEMINFO, [b.varint() for _ in range(b.varint())]))
    for _ in range(b.varint()):
        name, aliases = b.string(), b.string()
        keys = ["flags", "size", "stride", "pad", "pages", "slabs", "objects", "bytes", "waiting"]
        census["caches"].append({"name": name, "aliases": aliases, **{key: b.varint() for key in keys}})
    if flags & 1:
        shift, count, frame = b.varint(), b.varint(), 0
        for _ in range(count):
            frame += b.varint()
            cache, pages, objects = b.varint(), b.varint(), b.varint()
            used = (1 << (objects >> 1)) - 1
            if objects & 1:
                used = int.from_bytes(b.take(((objects >> 1) + 7) // 8), "little")
            census["slabs"].append((frame << shift, cache, pages, objects >> 1, used))
    census["allocs_end"] = b.varint() if flags & 4 else None
    if flags & 8:
        paths = [b.string() for _ in range(b.varint())]
        census["tasks"] = {b.varint(): paths[b.varint()] for _ in range(b.varint())}
    census["types"] = [(b.string(), b.varint(), b.varint(), b.varint()) for _ in range(b.varint())] if flags & 16 else []
    assert b.at == len(b.data)
    return census


def cache(census, name):
    for number, entry in enumerate(census["caches"]):
        if name == entry["name"] or name in entry["aliases"].split(","):
            return number, entry
    return None, None


def hold_items():
    """3,000 items of epoll, and what holds them."""
    polls, pipes = [select.epoll() for _ in range(30)], [os.eventfd(0) for _ in range(100)]
    for poll in polls:
        for pipe in pipes:
            poll.register(pipe, select.EPOLLIN)
    return polls


def event_times(path):
    """Of the first and the last event and the last allocation, as trace-cmd reads them; and what it complains of."""
    done = tap.run("trace-cmd", "report", "-t", "-i", path)
    times = [(int(seconds + nanos), name) for seconds, nanos, name in re.findall(r"\] +([0-9]+)\.([0-9]{9}): (k\w+)", done.stdout)]
    return times[0][0], times[-1][0], max(ts for ts, name in times if "alloc" in name), done.stderr


def check_types(capture):
    """What was there before, by type: 3,000 items of epoll, which are held meanwhile."""
    tap.run(KMEMSCOPE, "record", "--types", "-o", capture, "--", "true")
    start, end = [read_census(content) for number, content in sections(capture) if number == 0x4b54]
    tap.check("--types: types of the start", start["types"] and not end["types"])
    number, _ = cache(start, "eventpoll_epi")
    items = sum(objects for name, of, objects, _ in start["types"] if name == "epitem" and of == number)
    tap.check("the type of what was made", ITEMS <= items <= ITEMS + 500, items)
    off = {entry["name"]: (entry["objects"], typed) for i, entry in enumerate(start["caches"])
           if abs((typed := sum(objects for _, of, objects, _ in start["types"] if of == i)) - entry["objects"]) > max(2000, entry["objects"] / 2)}
    tap.check("types of a cache add up to its objects", not off, off)
    for path in (capture, capture.with_suffix(".ksdb")):
        if path != capture:
            tap.run(KMEMSCOPE, "import", "-o", path, capture)
        told = json.loads(tap.run(KMEMSCOPE, "report", "--before", "--json", path).stdout)
        rows = [row for row in told["rows"] if row["type"] == "epitem"]
        tap.check(f"report --before of {path.name}", sum(row["objects"] for row in rows) >= items and
                  told["objects"] == sum(entry["objects"] for entry in start["caches"]), (rows, told["objects"]))


def main():
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kmemscope-census-"))
    capture = scratch / "a.dat"
    doctor = subprocess.run([KMEMSCOPE, "doctor"], capture_output=True, text=True, check=False)
    if "kmemscope record will work" not in doctor.stdout:
        tap.skip("a census of this kernel", "recording is not possible here")
        return tap.finish()
    begun = time.time_ns()
    recorder = subprocess.Popen([KMEMSCOPE, "record", "-o", capture], stderr=subprocess.PIPE, text=True)
    recorder.stderr.readline() # says that it records
    held = hold_items()
    time.sleep(0.5)
    recorder.send_signal(2)
    recorder.wait()
    ended = time.time_ns()
    tap.check("the recording ends well", recorder.returncode == 130, recorder.stderr.read())
    found = [read_census(content) for number, content in sections(capture) if number == 0x4b54]
    tap.check("there is a census of the start and one of the end", [c["end"] for c in found] == [False, True])
    start, end = found
    total = int(re.search(r"MemTotal: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text()).group(1)) * 1024
    tap.check("with lines of meminfo", all(c["memory"]["MemTotal"] == total for c in found) and
              all(0 < c["memory"]["SReclaimable"] < c["memory"]["Slab"] < total for c in found), [c["memory"] for c in found])
    tap.check("and the time of day", begun <= start["wall"] < end["wall"] <= ended, (begun, start["wall"], end["wall"], ended))
    first, last, last_alloc, complaints = event_times(capture)
    tap.check("trace-cmd reads the file without complaint", not complaints, complaints)
    tap.check("the start is before the first event", start["from"] <= start["to"] <= first + 1000, (start["to"], first))
    tap.check("the end is before the last one", first < end["from"] <= end["to"] and end["from"] <= last, (end["from"], last))
    tap.check("no allocation is recorded while the kernel is counted", start["allocs_end"] is None and
              first < end["allocs_end"] <= end["from"] and last_alloc <= end["from"], (end["allocs_end"], last_alloc, end["from"]))
    mine = [line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
            if line.startswith("0::") or ":memory:" in line]
    tap.check("our own task is in its cgroup", all(c["tasks"].get(os.getpid()) in mine for c in found), mine)
    names = {line.split()[0] for line in pathlib.Path("/proc/slabinfo").read_text().splitlines()[2:]}
    known = {entry["name"] for entry in end["caches"]}
    tap.check("all caches of slabinfo are there", len(names - known) < 5, names - known)
    _, before = cache(start, "eventpoll_epi")
    number, after = cache(end, "eventpoll_epi")
    tap.check("the objects that were made are counted", ITEMS <= after["objects"] - before["objects"] + before["waiting"]
              <= ITEMS + 500, (before, after))
    if end["how"] == 1:
        tap.skip("object by object", "the kernel's memory can't be read here")
    else:
        used = sum(bin(bits).count("1") for _, c, _, _, bits in end["slabs"] if c == number + 1)
        tap.check("object by object", used == after["objects"], (used, after))
        tap.check("slabs are in order and do not overlap", all(
            a[0] + (a[2] << 12) <= b[0] for a, b in zip(end["slabs"], end["slabs"][1:])))
        compressed = sum(struct.unpack_from("<I", capture.read_bytes(), place + 16)[0] for place in [int(
            re.search(rb" sections=([0-9,]+)", capture.read_bytes()).group(1).split(b",")[1])])
        tap.check("in a few bytes a slab", compressed < 12 * len(end["slabs"]), (compressed, len(end["slabs"])))
    tap.check("types only on demand", not any(c["types"] for c in found))
    if end["how"] != 1:
        check_types(capture)
    del held
    tap.run(KMEMSCOPE, "record", "--no-census", "-o", capture, "--", "true")
    tap.check("--no-census leaves it out", b" sections=" not in capture.read_bytes())
    shutil.rmtree(scratch)
    return tap.finish()


sys.exit(main())
