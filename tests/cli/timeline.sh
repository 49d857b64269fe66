#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Memory over time, compared with a slow and simple model of the log.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"

"$KMEMGEN" --events 30000 --sites 40 --seed 8 --clean >log

# Follows the log's objects with a dictionary, and prints the expected CSV of each step.
cat >model.py <<'PY'
import csv, re, sys
rows = list(csv.reader(open("got.csv")))
head, rows = rows[0], [[int(v) for v in row] for row in rows[1:]]
starts = [row[0] for row in rows]
width = starts[1] - starts[0]
assert all(b - a == width for a, b in zip(starts, starts[1:])), "steps differ"
want = [dict(live=0, peak=0, bytes=0, allocs=0, frees=0, groups={}) for _ in rows]
objects, live, groups, at = {}, 0, {}, 0
want[0]["peak"] = 0
def close(upto):
    global at
    while at < upto:
        want[at]["live"], want[at]["groups"] = live, dict(groups)
        at += 1
        if at < len(want):
            want[at]["peak"] = live
for line in open("log"):
    found = re.search(r" (\d+)\.(\d{6}): (\w+): call_site=([^ /]+)\S*( \[\w+\])?.* ptr=(\w+)", line)
    if not found:
        continue
    ts = int(found[1]) * 10**9 + int(found[2]) * 1000
    step, site, ptr = (ts - starts[0]) // width, found[4] + (found[5] or ""), found[6]
    close(step)
    if "alloc" in found[3]:
        size = int(re.search(r"bytes_alloc=(\d+)", line)[1])
        objects[ptr] = (site, size)
        live += size
        groups[site] = groups.get(site, 0) + size
        want[step]["bytes"] += size
        want[step]["allocs"] += 1
        want[step]["peak"] = max(want[step]["peak"], live)
    elif ptr in objects:
        site, size = objects.pop(ptr)
        live -= size
        groups[site] -= size
        want[step]["frees"] += 1
close(len(want))
for row, w in zip(rows, want):
    assert row[1:6] == [w["live"], w["peak"], w["bytes"], w["allocs"], w["frees"]], (row, w)
    assert row[7:] == [w["groups"].get(name, 0) for name in head[7:]], (row[0], head[7:])
PY
for buckets in 7 60 240; do
	must "$KMEMSCOPE" timeline --csv --buckets $buckets --top 5 log >got.csv
	check "$buckets steps at most: every number is the model's" python3 model.py
	check "$buckets steps at most, and more than half as many" bash -c 'n=$(($(wc -l <got.csv) - 1)); [ $n -le $0 ] && [ $n -ge $(($0 / 2)) ]' $buckets
done
total() {
	must "$KMEMSCOPE" report --json log | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"][sys.argv[1]])' "$1"
}
json() {
	must "$KMEMSCOPE" timeline --json "$@" log | python3 -c 'import json, sys
d = json.load(sys.stdin); b = d["buckets"]
print(b[-1]["live_bytes"], max(x["peak_bytes"] for x in b), sum(x["bytes"] for x in b), sum(x["allocs"] for x in b), len(d["groups"]))'
}
check "JSON: the totals of the report" [ "$(json)" = "$(total live_bytes) $(total peak_bytes) $(total total_bytes) $(total allocs) 8" ]
for by in cache size comm cpu; do
	check "by $by: the same whole" [ "$(json --by $by --top 2)" = "$(total live_bytes) $(total peak_bytes) $(total total_bytes) $(total allocs) 2" ]
done
check "the table" says "^ +100\.[0-9]{9} +[0-9]+ .*#$" "$KMEMSCOPE" timeline --bytes log
check "the table for people" says "^ +100\.[0-9]{9} +[0-9.]+ [KM]?i?B .*#$" "$KMEMSCOPE" timeline log
check "the quality" says '^capture quality' "$KMEMSCOPE" timeline log
must "$KMEMSCOPE" import -o db log >/dev/null
check "the same from a DB" bash -c 'diff <(must "$0" timeline log) <(must "$0" timeline db)' "$KMEMSCOPE"

# The chart: the boxes of a bar add up to the live bytes.
must "$KMEMSCOPE" timeline -o chart.svg --top 4 log >quality
must "$KMEMSCOPE" timeline --csv --top 4 log >got.csv
chart() {
	python3 - <<-'PY'
		import csv, xml.etree.ElementTree as tree
		boxes = [r.attrib for r in tree.parse("chart.svg").getroot().iter("{http://www.w3.org/2000/svg}rect") if "x" in r.attrib]
		bars = {}
		for box in boxes:
		    if 76 <= float(box["x"]) < 776 and 1 < float(box["width"]) < 100: # ticks have 1
		        bars.setdefault(box["x"], []).append(float(box["height"]))
		live = [int(row["live_bytes"]) for row in csv.DictReader(open("got.csv"))]
		heights = [sum(bars[x]) for x in sorted(bars, key=float)]
		assert len(heights) == len(live), (len(heights), len(live))
		assert abs(max(heights) - 300) < 0.1
		for height, bytes_ in zip(heights, live):
		    assert abs(height - 300 * bytes_ / max(live)) < 0.3, (height, bytes_)
	PY
}
check "the chart's bars are as high as the live bytes" chart
# Axes: the labels are round numbers, and each is at the position of its number.
axes() {
	python3 - <<-'PY'
		import csv, re, xml.etree.ElementTree as tree
		rows = [[int(v) for v in row[:2]] for row in list(csv.reader(open("got.csv")))[1:]]
		span, most = rows[1][0] * len(rows) - rows[0][0] * len(rows), max(row[1] for row in rows)
		texts = [(t.text, *map(float, re.match(r"translate\(([\d.]+) ([\d.]+)\)", t.attrib["transform"]).groups()))
		         for t in tree.parse("chart.svg").getroot().iter("{http://www.w3.org/2000/svg}text")]
		units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}
		sizes, times = set(), set()
		for text, x, y in texts:
		    found = re.fullmatch(r"(\+?)([\d.]+) (\w+)", text)
		    if not found or x > 790:
		        continue
		    value = float(found[2]) * units[found[3]]
		    if found[1]:
		        times.add(value)
		        assert abs(x - 76 - 700 * value / span) < 0.1, text
		    else:
		        sizes.add(value)
		        assert abs(y - 352 + 300 * value / most) < 0.1, text
		assert 3 <= len(sizes) <= 6 and 2 <= len(times) <= 5, (sizes, times)
		step, second = sorted(sizes)[1], min(times)
		assert int(step).bit_count() == 1 and sizes == {step * i for i in range(len(sizes))}, sizes
		assert str(int(second)).rstrip("0") in "125" and times == {second * i for i in range(1, len(times) + 1)}, times
	PY
}
check "its axes have round numbers, in their places" axes
check "and the quality is on standard output" says '^capture quality' cat quality
check "PNG" exits_with 0 "$KMEMSCOPE" timeline -o chart.png log
check "is one" says 'PNG' head -c 8 chart.png
check "another kind of picture" fails_saying 2 'ends in .png or .svg' "$KMEMSCOPE" timeline -o chart.gif log
check "an unknown key" fails_saying 2 "by 'pid': choose site, cache, size, comm or cpu" "$KMEMSCOPE" timeline --by pid log
check "no steps" fails_saying 2 "buckets '0'" "$KMEMSCOPE" timeline --buckets 0 log
grep -m1 ': kmalloc' log >one.log
check "one event" exits_with 0 "$KMEMSCOPE" timeline one.log
check "one event, drawn" exits_with 0 "$KMEMSCOPE" timeline -o one.svg one.log
head -50 log >hostile
printf ' x-1 [000] .... 101.0: kmalloc: call_site=a\377\303\244<b>\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244+0x1/0x2 ptr=00000000a24afd00 bytes_req=1 bytes_alloc=8000000 gfp_flags=GFP_KERNEL\n' >>hostile
check "names that are no text, drawn" bash -c 'must "$0" timeline -o hostile.png hostile && must "$0" timeline -o hostile.svg hostile && python3 -c "import xml.dom.minidom; xml.dom.minidom.parse(\"hostile.svg\")"' "$KMEMSCOPE"
done_testing
