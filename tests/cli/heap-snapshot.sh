#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Snapshots of heaps as files: a small one whose numbers were worked out by hand, and one of the kernel that runs here.
. "$(dirname "$0")/lib.sh"
: "${MKSNAP:?the path of the program that makes snapshots}"

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
must "$KMEMSCOPE" heap save --no-graph --json -o flat.snap >flat.json
check "without the graph it is smaller" json flat.json 'not doc["graph"] and doc["bytes"] < 12 * doc["objects"]'
done_testing
