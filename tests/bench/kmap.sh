#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Access maps: the census by site, compared with a plain count by awk on the same file.
. "$(dirname "$0")/lib.sh"

# 400 sites, each touched by up to nine of its twelve instructions.
make_map() {
	awk -v n="$1" 'BEGIN {
		srand(1)
		for (i = 0; i < n; i++) {
			site = int(rand() * 400)
			printf "ffffffff81%06x,%d,ffff8880%08x,64,%d,%d,ffffffff81%06x,KMALLOC,bash,kmalloc-%d,\n", site * 64, i % 2000, i * 64, i * 2, i * 2 + 400, site * 32, site % 5
			for (j = int(rand() * 10); j > 0; j--)
				printf "  ffffffff82%06x,%d,%d,%d\n", (site * 12 + j) * 8, i % 9, i % 99, i % 2000
		}
	}'
}
make_map 1000000 >"$work/map"
grep -v '^ ' "$work/map" | "$kmemscope" kmap convert --to binary -o "$work/bin" - 2>/dev/null
for i in $(seq 6); do tail -c +73 "$work/bin"; done >"$work/records"
head -c 72 "$work/bin" | cat - "$work/records" >"$work/binary"
rm "$work/records"
"$kmemscope" kmap convert --to binary -o "$work/accesses" "$work/map" 2>/dev/null
cat "$work/map" "$work/binary" "$work/accesses" >/dev/null
for i in $(seq "$runs"); do
	cpu awk -F, '/^ / { w += $2; r += $3; next } { o++; b += $4 } END { print o, b, w, r }' "$work/map" >>"$work/awk"
	cpu "$kmemscope" kmap report "$work/map" >>"$work/text"
	cpu "$kmemscope" kmap report "$work/binary" >>"$work/bin.s"
	cpu "$kmemscope" kmap report "$work/accesses" >>"$work/acc.s"
done
awk=$(median <"$work/awk") text=$(median <"$work/text") bin=$(median <"$work/bin.s") acc=$(median <"$work/acc.s")
size=$(stat -c %s "$work/map") records=$((($(stat -c %s "$work/binary") - 72) / 128))
echo "access map of $((size / 1000000)) MB, $(wc -l <"$work/map") lines, medians of $runs"
row "awk -F, count, s" "$awk"
row "kmap report, s" "$text"
row "CPU time as a part of awk's" "$(div "$text" "$awk")"
row "text, MB a second and core" "$(div "$(div "$size" "$text")" 1000000 %.0f)" "at least 300"
row "binary, million objects a second and core" "$(div "$(div "$records" "$bin")" 1000000 %.1f)" "at least 15"
row "binary, million objects and accesses a second and core" \
	"$(div "$(div "$(wc -l <"$work/map")" "$acc")" 1000000 %.1f)" "at least 15"
row "memory, 1 M objects, MB" "$(div "$(rss "$kmemscope" kmap report "$work/map")" 1024 %.0f)"
make_map 4000000 | rss "$kmemscope" kmap report - >"$work/rss"
row "memory, 4 M objects, MB" "$(div "$(cat "$work/rss")" 1024 %.0f)" "as much"
