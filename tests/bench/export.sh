#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exports of a DB of 10 million events.
. "$(dirname "$0")/lib.sh"

"$kmemgen" --events 10000000 --era 3 --live 50000 | "$kmemscope" import -o "$work/db" - >/dev/null
events=$("$kmemscope" info --json "$work/db" | awk -F'[ ,:]+' '/"events_total"/ { print $3 }')
formats="pprof speedscope collapsed chrome csv csv:objects json:objects parquet:objects"
for i in $(seq "$runs"); do
	for format in $formats; do
		table=sites
		case $format in *:*) table=${format#*:} ;; esac
		cpu "$kmemscope" export --format "${format%:*}" --table $table -o "$work/exported" "$work/db" >>"$work/$format"
		stat -c %s "$work/exported" >"$work/$format.size"
	done
	wall "$kmemscope" flame -o "$work/exported" "$work/db" >>"$work/flame"
	cpu "$kmemscope" timeline "$work/db" >>"$work/timeline"
	wall "$kmemscope" diff "$work/db" "$work/db" >>"$work/diff"
done
echo "DB of $events generated events, medians of $runs"
for format in $formats; do
	case $format in
	*:objects | chrome)
		row "$format, million events a second and core" "$(div "$(div "$events" "$(median <"$work/$format")")" 1000000)" "at least 5, or the disk's speed"
		row "$format, MB written a second and core" "$(div "$(div "$(cat "$work/$format.size")" "$(median <"$work/$format")")" 1000000 %.0f)"
		;;
	*) row "$format, s of CPU" "$(median <"$work/$format")" ;;
	esac
done
row "flame, s" "$(median <"$work/flame")"
row "diff with itself, s" "$(median <"$work/diff")"
row "timeline, million events a second and core" "$(div "$(div "$events" "$(median <"$work/timeline")")" 1000000)"
row "memory of parquet:objects, MB" "$(div "$(rss "$kmemscope" export --format parquet --table objects -o "$work/exported" "$work/db")" 1024 %.0f)"
