#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Flame graphs: the titles and the widths of the frames must agree with the report.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"

"$KMEMGEN" --events 20000 --sites 40 --seed 6 --clean >log

# Checks an SVG: the numbers of every frame against the report, its width against its share, and its position
# inside its parent.
judge() { # SVG REPORT.json MEMBER
	python3 - "$@" <<-'PY'
		import json, re, sys, xml.etree.ElementTree as tree
		svg, report = tree.parse(sys.argv[1]).getroot(), json.load(open(sys.argv[2]))
		member, ns = sys.argv[3], "{http://www.w3.org/2000/svg}"
		frames = []
		for g in svg.findall(ns + "g"):
		    name, value = re.fullmatch(r"(.*): ([\d,]+)(?: bytes)?, .*%", g.find(ns + "title").text).groups()
		    rect = {k: float(v) for k, v in g.find(ns + "rect").attrib.items() if k != "fill"}
		    frames.append((name, int(value.replace(",", "")), rect))
		root = frames[0]
		assert root[0] == "all" and root[1] == report["total"][member], root
		want = {r["site"]: r[member] for r in report["rows"] if r[member]}
		got = {name: value for name, value, _ in frames if "+0x" in name}
		assert got and all(want[name] == value for name, value in got.items()), "sites"
		assert len(got) > 0.8 * len(want), (len(got), len(want))
		scale = root[2]["width"] / root[1]
		for name, value, rect in frames:
		    assert abs(rect["width"] - value * scale) < 0.02, name
		    assert rect["x"] >= root[2]["x"] - 0.01 and rect["x"] + rect["width"] <= root[2]["x"] + root[2]["width"] + 0.01
		rows = {}
		for name, _, rect in frames:
		    rows.setdefault(rect["y"], []).append((rect["x"], rect["x"] + rect["width"], name))
		for row in rows.values():
		    row.sort()
		    assert all(a[1] <= b[0] + 0.02 for a, b in zip(row, row[1:])), "frames overlap"
	PY
}
# Two call stacks of one site: the callers are above it, and its parts add up.
for pair in open_it:4 accept_it:12; do
	for i in $(seq "${pair#*:}"); do
		at=$((${pair#*:} * 100 + i))
		printf ' x-1 [000] .... 1.%06d: kmalloc: call_site=make_file+0x1/0x9 ptr=ffff88800000%d bytes_req=10 bytes_alloc=100 gfp_flags=GFP_KERNEL\n' $at $((at * 7))
		printf ' x-1 [000] .... 1.%06d: <stack trace>\n => __kmalloc\n => make_file\n => %s\n => syscall\n' $at "${pair%:*}"
	done
done >stacks.log
must "$KMEMSCOPE" import -o stacks.db stacks.log >/dev/null
names() { # OPTION... FILE: the titles of the frames, from the root on
	must "$KMEMSCOPE" flame "$@" | sed -n 's/^<g><title>\([^<]*\)<.*/\1/p' | paste -sd'|'
}
by_stack='all: 1,600 bytes, 100.0 %|syscall: 1,600 bytes, 100.0 %|accept_it: 1,200 bytes, 75.0 %|make_file: 1,200 bytes, 75.0 %|make_file+0x1: 1,200 bytes, 75.0 %|open_it: 400 bytes, 25.0 %|make_file: 400 bytes, 25.0 %|make_file+0x1: 400 bytes, 25.0 %'
by_place='all: 1,600 bytes, 100.0 %|[kernel]: 1,600 bytes, 100.0 %|make_file: 1,600 bytes, 100.0 %|make_file+0x1: 1,600 bytes, 100.0 %'
for file in stacks.log stacks.db; do
	check "$file: by call stack" equal "$(names $file)" "$by_stack"
	check "$file: by place with --frames place" equal "$(names --frames place $file)" "$by_place"
done

fills() { must "$KMEMSCOPE" flame "$@" | sed -n 's/.*<title>\([^:<]*\):.*fill="\(#[0-9a-f]*\)"\/>.*/\1 \2/p'; }
check "functions of a stack differ in colour" equal "$(fills stacks.log | grep -v + | awk '{ print $2 }' | sort -u | wc -l)" 5
check "a function has the same colour everywhere" equal "$(fills stacks.log | grep '^make_file ' | sort -u | wc -l)" 1
check "a frame with room says its size" grep '>make_file  1.2 KiB<' <(must "$KMEMSCOPE" flame stacks.log)

must "$KMEMSCOPE" report --json log >report.json
for pair in live:live_bytes total:total_bytes waste:waste objects:live_objects allocs:allocs; do
	must "$KMEMSCOPE" flame --frames place --measure "${pair%:*}" log >flame.svg
	check "${pair%:*}: frames are as wide as the report says" judge flame.svg report.json "${pair#*:}"
done

# Neither stacks nor a tree: processes, caches and sites. Sums by hand; one process has a slash in its name.
cat >owners.log <<'LOG'
 sshd-7 [000] .... 1.000001: kmem_cache_alloc: call_site=f+0x10/0x90 ptr=00000000a24afd00 bytes_req=96 bytes_alloc=96 gfp_flags=GFP_KERNEL name=dentry
 kworker/0:1-9 [000] .... 1.000002: kmem_cache_alloc: call_site=f+0x10/0x90 ptr=00000000a24afe00 bytes_req=96 bytes_alloc=96 gfp_flags=GFP_KERNEL name=dentry
 sshd-7 [000] .... 1.000003: kmalloc: call_site=f+0x10/0x90 ptr=00000000a24aff00 bytes_req=30 bytes_alloc=32 gfp_flags=GFP_KERNEL
 sshd-8 [000] .... 1.000004: kmem_cache_alloc: call_site=f+0x10/0x90 ptr=00000000a24b0000 bytes_req=96 bytes_alloc=96 gfp_flags=GFP_KERNEL name=dentry
LOG
must "$KMEMSCOPE" import -o owners.db owners.log >/dev/null
by_owner='all: 320 bytes, 100.0 %|sshd: 224 bytes, 70.0 %|dentry: 192 bytes, 60.0 %|f+0x10: 192 bytes, 60.0 %|kmalloc of 32 bytes: 32 bytes, 10.0 %|f+0x10: 32 bytes, 10.0 %|kworker/0:1: 96 bytes, 30.0 %|dentry: 96 bytes, 30.0 %|f+0x10: 96 bytes, 30.0 %'
for file in owners.log owners.db; do
	check "$file: without stacks, by process, cache and site" equal "$(names $file)" "$by_owner"
	check "$file: a filter by pid" equal "$(names --pid 8 $file)" 'all: 96 bytes, 100.0 %|sshd: 96 bytes, 100.0 %|dentry: 96 bytes, 100.0 %|f+0x10: 96 bytes, 100.0 %'
done
check "with stacks, by process if asked" equal "$(names --frames process stacks.log)" 'all: 1,600 bytes, 100.0 %|x: 1,600 bytes, 100.0 %|kmalloc of 100 bytes: 1,600 bytes, 100.0 %|make_file+0x1: 1,600 bytes, 100.0 %'
cat >owners.py <<'PY'
# Live bytes by process and site, from the text alone, and from the frames of an SVG: levels are by height.
import collections, re, sys, xml.etree.ElementTree as tree
live = {}
for line in open(sys.argv[1]):
    m = re.match(r"\s*(.*)-\d+\s+\[\d+\].*?(kmalloc|kmem_cache_alloc|kfree|kmem_cache_free): (.*)", line)
    if m:
        f = dict(re.findall(r"(\w+)=(\S+)", m[3]))
        if "alloc" in m[2]:
            live[f["ptr"]] = m[1].strip(), int(f["bytes_alloc"])
        else:
            live.pop(f["ptr"], None)
want = collections.Counter()
for comm, size in live.values():
    want[comm] += size
frames = []
for g in tree.parse(sys.argv[2]).getroot().findall("{http://www.w3.org/2000/svg}g"):
    name, value = re.fullmatch(r"(.*): ([\d,]+) bytes, .*%", g[0].text).groups()
    frames.append((float(g[1].get("y")), name, int(value.replace(",", ""))))
second = sorted({y for y, _, _ in frames})[1]
got = {name: value for y, name, value in frames if y == second}
assert got == dict(want) and len(got) > 1, (got, want)
PY
must "$KMEMSCOPE" import -o log.db log >/dev/null
for file in log log.db; do
	must "$KMEMSCOPE" flame "$file" >flame.svg
	check "$file: the processes add up as in the log" python3 owners.py log flame.svg
done

# Directories and files, in a tree of two files.
mkdir -p tree/fs/ext4 tree/mm
printf 'int f(int x) { return x + 1; }\n' >tree/fs/ext4/f.c
printf 'int g(int x) { return x + 1; }\n' >tree/mm/g.c
for file in fs/ext4/f mm/g; do cc -c tree/$file.c -o tree/$file.o; done
cat >small.log <<'LOG'
 x-1 [000] .... 1.000001: kmalloc: call_site=f+0x10/0x90 ptr=00000000a24afd00 bytes_req=96 bytes_alloc=128 gfp_flags=GFP_KERNEL
 x-1 [000] .... 1.000002: kmalloc: call_site=g+0x10/0x90 ptr=00000000a24afe00 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL
LOG
must "$KMEMSCOPE" flame -k tree small.log >flame.svg
for frame in 'all: 192 bytes, 100.0 %' 'fs: 128 bytes, 66.7 %' 'fs/ext4: 128' 'fs/ext4/f.c: 128' 'f: 128' 'f+0x10: 128' 'mm/g.c: 64'; do
	check "by directory: $frame" grep -qF "<title>$frame" flame.svg
done
mkdir tree/kernel
printf 'int k(int x) { return x + 1; }\n' | cc -x c -c - -o tree/kernel/k.o
cp tree/mm/g.c tree/kernel/k.c
sed 's/=f+/=k+/; s/=g+/=nowhere+/' small.log >unplaced.log
check "a site without a source file is not in the directory kernel" equal "$(names -k tree unplaced.log)" 'all: 192 bytes, 100.0 %|kernel: 128 bytes, 66.7 %|kernel/k.c: 128 bytes, 66.7 %|k: 128 bytes, 66.7 %|k+0x10: 128 bytes, 66.7 %|[kernel]: 64 bytes, 33.3 %|nowhere: 64 bytes, 33.3 %|nowhere+0x10: 64 bytes, 33.3 %'
check "to a file, with the quality on standard output" says '^capture quality' "$KMEMSCOPE" flame -o made.svg small.log
check "which is the same picture" bash -c 'must "$0" flame small.log | cmp - made.svg' "$KMEMSCOPE"
printf ' x-1 [000] .... 1.0: kmalloc: call_site=a<b>&"c"+0x1/0x2 ptr=00000000a24afd00 bytes_req=1 bytes_alloc=8 gfp_flags=GFP_KERNEL\n' >hostile
check "names are escaped" bash -c 'must "$0" flame hostile | python3 -c "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin)"' "$KMEMSCOPE"
"$KMEMGEN" --events 20000 --sites 9000 --seed 7 >many.log
check "frames that are too thin are counted" says '[0-9]+ frames are too thin' "$KMEMSCOPE" flame many.log
check "losses are in the title" says 'the capture lost events' "$KMEMSCOPE" flame many.log
check "nothing to draw is no error" says '>0 bytes in all<' "$KMEMSCOPE" flame --comm nobody log
check "an unknown measure" fails_saying 2 "measure 'x': choose live" "$KMEMSCOPE" flame --measure x log
if command -v chromium >/dev/null; then
	timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scratch/browser" --screenshot="$scratch/flame.png" "file://$scratch/made.svg" 2>/dev/null >&2
	check "a browser draws it" [ -s flame.png ]
else
	skip "a browser draws it" "there is no chromium"
fi
done_testing
