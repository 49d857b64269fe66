#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Text logs: parse and account, compared with grep on the same file in the page cache.
. "$(dirname "$0")/lib.sh"

"$kmemgen" --events 6000000 --era 3 --live 20000 >"$work/log"
cat "$work/log" >/dev/null
for i in $(seq "$runs"); do
	wall grep -c call_site "$work/log" >>"$work/grep"
	wall "$kmemscope" account "$work/log" >>"$work/ours"
	taskset -c 0 bash -c : 2>/dev/null && wall taskset -c 0 "$kmemscope" account "$work/log" >>"$work/one"
done
grep=$(median <"$work/grep") ours=$(median <"$work/ours")
size=$(stat -c %s "$work/log") lines=$(wc -l <"$work/log")
echo "text log of $((size / 1000000)) MB, $lines lines, medians of $runs"
row "grep -c call_site, s" "$grep"
row "kmemscope account, s" "$ours"
row "wall time as a multiple of grep's" "$(div "$ours" "$grep")" "at most 1.5"
[ ! -s "$work/one" ] || row "the same on one CPU" "$(div "$(median <"$work/one")" "$grep")"
row "million lines a second" "$(div "$lines" "$ours" %.0f | awk '{ print $1 / 1e6 }')"
row "multiple of trace_analyze.py's best, 70 thousand lines/s" "$(div "$(div "$lines" "$ours")" 70000 %.0f)" "at least 50"

# No order of frees must be slow: ten million objects of one site, freed newest first, oldest first, and at random.
for order in newest oldest random; do
	"$kmemgen" --events 20000000 --allocs-first 10000000 --sites 1 --order $order >"$work/log"
	row "10 M objects at one site, freed $order first: s" "$(wall "$kmemscope" account "$work/log")"
done
row "memory at 10 M live objects, MB" "$(div "$(rss "$kmemscope" account "$work/log")" 1024 %.0f)" "at most 64 + 305"
