#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The static footprint, compared with cat of the same files and with one "readelf --syms" per file, as in
# trace_analyze.py; on a real tree and on five copies of it in one tree. And ring charts from a DB of 10 million
# events.
. "$(dirname "$0")/lib.sh"

if ! tree=$("$(dirname "$0")/../lib/kernel-tree.sh" 2>"$work/why"); then
	echo "no kernel tree: $(tail -1 "$work/why")"
	exit 0
fi

# measure TREE NAME
measure() {
	local i objects
	"$kmemscope" static -k "$1" --by file --json | python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"]: print(row["file"].rsplit(".", 1)[0] + ".o")' >"$work/list"
	objects=$(wc -l <"$work/list")
	rm -f "$work/ours" "$work/cat" "$work/readelf"
	cd "$1" || exit
	for i in $(seq "$runs"); do
		wall "$kmemscope" static -k . >>"$work/ours"
		wall xargs -d '\n' -a "$work/list" cat >>"$work/cat"
	done
	for i in 1 2 3; do
		wall xargs -d '\n' -n 1 -a "$work/list" readelf --syms >>"$work/readelf"
	done
	echo "$2: $objects objects, $(xargs -d '\n' -a "$work/list" cat | wc -c | awk '{ printf "%.0f MB", $1 / 1e6 }')"
	cd "$work" || exit
	row "kmemscope static, s" "$(median <"$work/ours")"
	row "times the wall time of cat" "$(div "$(median <"$work/ours")" "$(median <"$work/cat")")" "at most 1.5"
	row "times faster than readelf --syms for each object" "$(div "$(median <"$work/readelf")" "$(median <"$work/ours")" %.0f)" "at least 20"
}
measure "$tree" "Linux 6.12, small"
mkdir "$work/five"
(cd "$tree" && find . -name '*.o' -o -name '*.a') >"$work/files"
for i in 1 2 3 4 5; do # without the configuration: a directory with a configuration would be a separate build
	mkdir "$work/five/d$i"
	tar -C "$tree" -T "$work/files" -cf - | tar -C "$work/five/d$i" -xf -
done
measure "$work/five" "five of them as one tree"

"$kmemgen" --events 10000000 --era 3 --live 50000 | "$kmemscope" import -o "$work/db" - >/dev/null
for i in $(seq "$runs"); do
	wall "$kmemscope" rings -k "$tree" --db-file "$work/db" -o "$work/rings.png" >>"$work/rings"
done
row "ring chart of a DB of 10 million events, s" "$(median <"$work/rings")" "under 1"
