#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Snapshots of heaps as files: a small one whose numbers were worked out by hand, and one of the kernel that runs here.
. "$(dirname "$0")/lib.sh"
: "${MKSNAP:?the path of the program that makes snapshots}" "${HOLD:?the path of the program that holds objects}"

must "$MKSNAP" shop.snap <"$tests/heap/shop.txt"
grep -v -E '^(ref|root|rootref) ' "$tests/heap/shop.txt" | must "$MKSNAP" flat.snap

# json FILE EXPRESSION: of the JSON document "doc", which must hold.
json() {
	python3 - "$@" <<'PYTHON'
import json, sys
doc = json.load(open(sys.argv[1]))
if not eval("(" + sys.argv[2] + ")"):
    sys.exit(f"{sys.argv[2]} does not hold of {json.dumps(doc)[:3000]}")
PYTHON
}

# --- What it is --------------------------------------------------------------------------------

check "info says what the file is" says 'shop.snap: a snapshot of a heap' "$KMEMSCOPE" info shop.snap
check "of which kernel" says 'kernel +6.18.0 \(x86_64\), host box, boot 11111111-2222' "$KMEMSCOPE" info shop.snap
check "and when" says 'taken +2023-11-14 22:13:20 UTC, within 1.500 s, 90 s after the boot' "$KMEMSCOPE" info shop.snap
must "$KMEMSCOPE" info --json shop.snap >info.json
check "for programs, too" json info.json 'doc["objects"] == 9 and doc["references"] == 5 and doc["roots"] == 2 and
	doc["object_bytes"] == 3 * 256 + 3 * 64 + 2 * 4096 + 8192 and doc["graph"] and doc["quality"]["reread_slabs"] == 3'
must "$KMEMSCOPE" info --json flat.snap >info.json
check "without references" json info.json 'not doc["graph"] and doc["objects"] == 9'
check "who wants a capture hears what it is" fails_saying 3 "is a snapshot of a heap.*kmemscope heap --from" \
	"$KMEMSCOPE" leaks shop.snap

# --- The census of a file ----------------------------------------------------------------------

must "$KMEMSCOPE" heap --from shop.snap --json >cache.json
check "by cache, the most bytes first" json cache.json '[(r["cache"], r["objects"], r["bytes"]) for r in doc["caches"]] ==
	[("large kmalloc", 1, 8192), ("task_struct", 2, 8192), ("filp", 3, 768), ("kmalloc-64", 3, 192)]'
check "with what only the census knew" json cache.json '[(r["slack"], r["waiting"], r.get("slabinfo"), r["reclaimable"], r["merged"])
	for r in doc["caches"]] == [(0, 0, None, False, []), (16 * 4096 - 8192, 0, 2, False, []),
	(4096 - 768, 1, 4, True, []), (4096 - 192, 0, 4, False, ["fs_cache"])]'
check "all of memory" json cache.json '{r["kind"]: r["bytes"] for r in doc["memory"]} ==
	{"free": 4096000, "slab": 81920, "other kernel": 20480} and doc["mem_total"] == 4198400'
must "$KMEMSCOPE" heap --from shop.snap --by type --json >type.json
check "by type" json type.json 'sorted((r["type"], r["cache"], r["objects"], r["bytes"], r["known_by"]) for r in doc["types"]) ==
	[("?", "kmalloc-64", 1, 64, "unknown"), ("?", "large", 1, 8192, "unknown"), ("char[]", "kmalloc-64", 2, 128, "field"),
	("file", "filp", 3, 768, "cache"), ("task_struct", "task_struct", 2, 8192, "cache")]'
must "$KMEMSCOPE" heap --from shop.snap --by cgroup --json >cgroup.json
check "by cgroup" json cgroup.json '{r["cgroup"]: (r["objects"], r["bytes"]) for r in doc["cgroups"]} ==
	{"/shop": (3, 2 * 256 + 64), "/shop/till": (2, 256 + 64), "(charged to none)": (4, 64 + 2 * 4096 + 8192)}'
check "each cgroup by cache" json cgroup.json '{(r["cgroup"], r["cache"]): r["objects"] for r in doc["charges"]} ==
	{("/shop", "filp"): 2, ("/shop", "kmalloc-64"): 1, ("/shop/till", "filp"): 1, ("/shop/till", "kmalloc-64"): 1}'
must "$KMEMSCOPE" heap --from shop.snap --by node --json >node.json
check "by node" json node.json '[(r["node"], r["objects"], r["slabs"], r["bytes"]) for r in doc["nodes"]] == [(0, 8, 5, 10624)]'
check "the text says which file it is" says 'shop.snap: 6.18.0 on 2023-11-14' "$KMEMSCOPE" heap --from shop.snap

# --- What is no snapshot -----------------------------------------------------------------------

head -c 300 shop.snap >half.snap
: >empty.snap
check "a file that was cut off" fails_saying 3 'half.snap: the snapshot is damaged: .*at byte 300' "$KMEMSCOPE" heap --from half.snap
check "an empty file" fails_saying 3 'empty.snap: the file is empty' "$KMEMSCOPE" heap --from empty.snap
check "another file" fails_saying 3 'sample.log: is not a snapshot' "$KMEMSCOPE" heap --from "$data/sample.log"
check "no file" fails_saying 1 'none.snap: cannot open' "$KMEMSCOPE" heap --from none.snap
check "a snapshot needs a name" fails_saying 2 'name the snapshot' "$KMEMSCOPE" heap save
check "and is no pipe" fails_saying 2 'regular file' "$KMEMSCOPE" heap save -o -

# --- Two of them -------------------------------------------------------------------------------

cp "$tests/heap/shop-later.txt" later.txt
must "$MKSNAP" later.snap <later.txt
must "$KMEMSCOPE" heap diff --json shop.snap later.snap >diff.json
check "types: what is new, changed and gone" json diff.json '[(r["type"], r["cache"], r["objects_before"], r["objects_after"],
	r["bytes_change"], r["new"], r["changed"], r["gone"]) for r in doc["types"]] == [
	("char[]", "kmalloc-64", 2, 3, 64, 1, 1, 1), ("path", "kmalloc-64", 0, 1, 64, 1, 0, 0),
	("file", "filp", 3, 3, 0, 1, 1, 1), ("?", "kmalloc-64", 1, 0, -64, 0, 0, 0)]'
check "caches" json diff.json '[(r["cache"], r["objects_before"], r["objects_after"], r["bytes_change"], r["new"], r["changed"], r["gone"])
	for r in doc["caches"]] == [("kmalloc-64", 3, 4, 64, 2, 1, 1), ("filp", 3, 3, 0, 1, 1, 1)]'
check "all together" json diff.json 'doc["same_boot"] and (doc["new_objects"], doc["new_bytes"], doc["changed_objects"],
	doc["gone_objects"]) == (3, 256 + 2 * 64, 2, 2)'
check "an example of what is new" json diff.json 'doc["types"][2]["example"] == "0xffff888000001400"'
check "who holds what is new" json diff.json '[(r["type"], r["holder"], r["objects"], r["references"], r["holders"]) for r in doc["holders"]] == [
	("file", "task_struct.files", 1, 1, 1), ("file", "task_struct+0x410", 1, 1, 1), ("char[]", "file.f_inode", 1, 1, 1)]'
check "in words" says '^3 objects of 384 B were allocated since' "$KMEMSCOPE" heap diff shop.snap later.snap
check "how far apart" says '^60.0 s later, in the same boot' "$KMEMSCOPE" heap diff shop.snap later.snap
check "the wrong way round" says '^60.0 s EARLIER' "$KMEMSCOPE" heap diff later.snap shop.snap
check "as CSV, the types" says '^char\[\],kmalloc-64,\+64,128,192,\+1,2,3,1,64,1,1,0xffff888000002100' "$KMEMSCOPE" heap diff --csv shop.snap later.snap
check "nothing changed" says '^0 objects of 0 B were allocated' "$KMEMSCOPE" heap diff shop.snap shop.snap
sed 's/11111111-2222/3333/' later.txt | must "$MKSNAP" other.snap
must "$KMEMSCOPE" heap diff --json shop.snap other.snap >other.json
check "of another boot, only sums" json other.json 'not doc["same_boot"] and "new" not in doc["types"][0] and
	[r["bytes_change"] for r in doc["types"]] == [64, 64, -64]'
check "which it says" says 'Not of the same boot' "$KMEMSCOPE" heap diff shop.snap other.snap
check "two files are needed" fails_saying 2 'usage: kmemscope heap diff FIRST SECOND' "$KMEMSCOPE" heap diff shop.snap

# --- Of the kernel that runs here --------------------------------------------------------------

status=0
"$KMEMSCOPE" heap save --json -o live.snap >saved.json 2>refused || status=$?
if [ $status != 0 ]; then
	skip "a snapshot of this kernel" "$(head -c 200 refused)"
	done_testing
fi
check "only the owner may read it" equal "$(stat -c %a live.snap)" 600
check "it takes less than 24 bytes an object, with about as many references as there are" json saved.json \
	'doc["bytes"] < 24 * doc["objects"] and doc["references"] > doc["objects"]'
must "$KMEMSCOPE" heap --from live.snap --json >live.json
check "its objects are those of the census" json live.json \
	'abs(sum(r["objects"] for r in doc["caches"]) - doc["snapshot"]["objects"]) <= doc["snapshot"]["objects"] // 100'
check "and memory adds up" json live.json 'abs(doc["total"] - doc["mem_total"]) <= doc["mem_total"] // 1000'

# came FILE TYPE NUMBER: so many objects of the type are new, but for some of others, or have the place of one that has gone.
came() {
	python3 - "$@" <<'PYTHON'
import json, sys
kind, made = sys.argv[2], int(sys.argv[3])
doc = json.load(open(sys.argv[1]))
rows = [row for row in doc["types"] if kind in row["type"].split(" | ")]
new = sum(row["new"] for row in rows)
if not new <= made + 500 or not new + sum(row["changed"] for row in rows) >= made:
    print(f"of {made} of {kind}: ", *rows, sep="\n", file=sys.stderr)
    near = [row for row in doc["types"] if made // 2 <= row["new"] <= 2 * made]
    sys.exit("\n".join(["what else came in such numbers:", *map(str, near)]))
PYTHON
}

# compared: what a program makes between two snapshots is new, whatever others do meanwhile. Where it got the place of an
# object that was just freed, and that still waited for RCU in the first snapshot, it counts as changed.
compared() {
	local kind type
	must "$KMEMSCOPE" heap save -o live.snap >/dev/null
	mkfifo end
	"$HOLD" 3000 <end >held &
	exec 9>end
	rm end
	for _ in $(seq 600); do
		grep -q "^all" held && break
		sleep 0.1
	done
	must "$KMEMSCOPE" heap save -o more.snap >/dev/null
	exec 9>&-
	wait
	must "$KMEMSCOPE" heap diff --json live.snap more.snap >diff.json
	for kind in timers:k_itimer epolls:eventpoll sockets:socket_alloc pipes:pipe_inode_info queues:mqueue_inode_info; do
		type=${kind#*:}
		kind=${kind%:*}
		made=$(awk -v kind="$kind" '$1 == kind { sum += $2 } END { print sum + 0 }' held)
		came diff.json "$type" "$made" || return 1
	done
}
# Another program that makes and drops thousands of the same objects would leave its places to ours: then once more.
thrice() { "$@" || "$@" || "$@"; }
check "3000 timers, epolls, sockets, pipes and queues that came in between are new" thrice compared
check "the snapshots are of the same boot" json diff.json 'doc["same_boot"]'

must "$KMEMSCOPE" heap save --no-graph --json -o flat.snap >flat.json
check "without the graph it is smaller" json flat.json 'not doc["graph"] and doc["bytes"] < 12 * doc["objects"]'
done_testing
