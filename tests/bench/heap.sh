#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The heap of the kernel that runs here: the census, types and a snapshot with all references, beside what others say of
# the same memory: /proc/slabinfo, which has caches only, and drgn, where it finds /proc/kcore and debug
# information. And what a census costs a load that allocates meanwhile.
. "$(dirname "$0")/lib.sh"

if ! "$kmemscope" heap --json >"$work/census" 2>"$work/refused"; then
	echo "memory can't be read here: $(cat "$work/refused")"
	exit 0
fi
read -r objects bytes caches < <(python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["caches"]
print(sum(r["objects"] for r in rows), sum(r["bytes"] for r in rows), len(rows))' "$work/census")

# Objects by cache, as drgn counts them: a walk over the slabs of each cache.
cat >"$work/count.py" <<'PYTHON'
from drgn.helpers.linux.slab import for_each_slab_cache, slab_cache_for_each_allocated_object
print(sum(1 for cache in for_each_slab_cache(prog)
          for _ in slab_cache_for_each_allocated_object(cache, "void")))
PYTHON
debug=/usr/lib/debug/boot/vmlinux-$(uname -r)
drgn=
if [ -e /proc/kcore ] && [ -e "$debug" ] && command -v drgn >/dev/null; then drgn=drgn; fi

waits=15 # seconds; longer than a look
for i in $(seq "$runs"); do
	wall cat /proc/slabinfo >>"$work/slabinfo"
	wall "$kmemscope" heap >>"$work/census-wall"
	cpu "$kmemscope" heap >>"$work/census-cpu"
	wall "$kmemscope" heap types >>"$work/types-wall"
	cpu "$kmemscope" heap types >>"$work/types-cpu"
	wall "$kmemscope" heap save -o "$work/snapshot" >>"$work/save-wall"
	cpu "$kmemscope" heap save -o "$work/snapshot" >>"$work/save-cpu"
	wall "$kmemscope" heap unreachable --wait 0s >>"$work/unreachable-wall"
	cpu "$kmemscope" heap unreachable --wait 0s >>"$work/unreachable-cpu"
	wall "$kmemscope" heap unreachable --wait ${waits}s >>"$work/unreachable-wait"
	[ -z "$drgn" ] || wall $drgn -q -k -s "$debug" "$work/count.py" >>"$work/drgn"
done
echo "$objects objects, $(div "$bytes" 1048576 %.0f) MB, $caches caches; medians of $runs"
row "census, s" "$(median <"$work/census-wall")" "0.5 for 4 million objects"
row "census, s of CPU" "$(median <"$work/census-cpu")"
row "cat /proc/slabinfo, s" "$(median <"$work/slabinfo")"
row "census / cat /proc/slabinfo" "$(div "$(median <"$work/census-wall")" "$(median <"$work/slabinfo")")"
if [ -n "$drgn" ]; then
	row "drgn counts objects, s" "$(median <"$work/drgn")"
	row "drgn / census" "$(div "$(median <"$work/drgn")" "$(median <"$work/census-wall")" %.0f)"
else
	echo "drgn is not compared: it needs /proc/kcore and $debug"
fi
row "types, s" "$(median <"$work/types-wall")"
row "types, s of CPU" "$(median <"$work/types-cpu")"
row "snapshot with all references, s" "$(median <"$work/save-wall")" "4 for 4 million objects"
row "snapshot with all references, s of CPU" "$(median <"$work/save-cpu")"
row "unreachable, two looks without a wait, s" "$(median <"$work/unreachable-wall")"
row "unreachable, beyond its wait, s" "$(median <"$work/unreachable-wait" | awk -v waited=$waits '{ printf "%.2f", $1 - waited }')" "6 for 4 million objects"
row "unreachable, s of CPU" "$(median <"$work/unreachable-cpu")"
row "memory for unreachable, bytes an object" "$(div "$(rss "$kmemscope" heap unreachable --wait 0s)" "$objects" %.4f |
	awk '{ printf "%.0f", $1 * 1024 }')" "under 100"
row "memory for types, bytes an object" "$(div "$(rss "$kmemscope" heap types)" "$objects" %.4f | awk '{ printf "%.0f", $1 * 1024 }')" "under 100"
row "memory for a snapshot, bytes an object" "$(div "$(rss "$kmemscope" heap save -o "$work/snapshot")" "$objects" %.4f |
	awk '{ printf "%.0f", $1 * 1024 }')" "under 100"
row "memory for holders, bytes an object" "$(div "$(rss "$kmemscope" heap holders dentry)" "$objects" %.4f |
	awk '{ printf "%.0f", $1 * 1024 }')" "under 100"
row "snapshot file, bytes an object" "$(div "$(stat -c %s "$work/snapshot")" "$objects" %.1f)" "under 24"
row "census of the file, s" "$(wall "$kmemscope" heap --from "$work/snapshot")"

# A load on one CPU with one census a second beside it, and without.
gcc -O2 -o "$work/load" "$(dirname "$0")/load.c" -lpthread
mkdir "$work/files"
for i in $(seq "$runs"); do
	"$work/load" 1 20000 "$work/files" >>"$work/alone"
	while sleep 1; do "$kmemscope" heap >/dev/null; done &
	looker=$!
	"$work/load" 1 20000 "$work/files" >>"$work/beside"
	kill $looker
	wait $looker 2>/dev/null || true
done
row "CPU time of a load, a census each second / none" "$(div "$(median <"$work/beside")" "$(median <"$work/alone")" %.3f)"
