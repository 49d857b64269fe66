#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Reading binary captures into the account, compared with perf kmem on the same events. Needs root and tracefs.
# OLD=PROGRAM: another kmemscope, an older one say, is measured in turn with this one.
. "$(dirname "$0")/lib.sh"
load=$(cd "$build" && pwd)/tests/bench-load
if ! "$kmemscope" doctor >/dev/null 2>&1; then
	echo "skipped: cannot record here"
	exit 0
fi
iterations=${ITERATIONS:-40000}

events_of() {
	"$kmemscope" info --json "$1" | sed -n 's/.*"events_total": \([0-9]*\).*/\1/p'
}

# rate COUNT TIMES: millions of events a second.
rate() {
	div "$(div "$1" "$(median <"$2")" %.0f)" 1000000 %.1f
}

# measure HOW NAME FILE AIM RATIO COMMAND...: HOW is cpu or wall. The old program, where there is one, takes turns.
# RATIO is the aim against the program before the redesign (4f300f9), which holds on any machine.
measure() {
	local how=$1 name=$2 file=$3 aim=$4 ratio=$5 count i
	shift 5
	count=$(events_of "$file")
	rm -f "$work/times" "$work/old"
	for i in $(seq "$runs"); do
		$how "$@" "$kmemscope" report "$file" >>"$work/times"
		[ -z "${OLD:-}" ] || $how "$@" "$OLD" report "$file" >>"$work/old"
	done
	rate "$count" "$work/times" >"$work/speed"
	row "$name" "$(cat "$work/speed")" "$aim"
	[ ! -s "$work/old" ] || row "  the old program, and the ratio" "$(rate "$count" "$work/old") $(
		div "$(median <"$work/old")" "$(median <"$work/times")")" "$ratio"
}

# speed NAME FILE AIM [RATIO]: on one CPU, in millions of events per CPU second.
speed() {
	measure cpu "$1, million events a CPU second" "$2" "$3" "${4:-}" taskset -c 0
}

# speed_on_two NAME FILE AIM [RATIO]: on two CPUs, in millions of events per second of wall time.
speed_on_two() {
	[ "$(nproc)" -gt 1 ] || return 0
	measure wall "$1, two CPUs, million events a second" "$2" "$3" "${4:-}" taskset -c 0,1
}

"$kmemscope" record -q -o "$work/zstd.dat" -- "$load" "$(nproc)" "$iterations" "$work" >/dev/null
echo "$(events_of "$work/zstd.dat") events, medians of $runs"
speed "trace.dat with zstd" "$work/zstd.dat" ""
speed_on_two "trace.dat with zstd" "$work/zstd.dat" "at least 30" "ratio at least 2.5"
if command -v trace-cmd >/dev/null && trace-cmd convert --compression none -i "$work/zstd.dat" -o "$work/plain.dat" >/dev/null 2>&1; then
	speed "trace.dat, not compressed" "$work/plain.dat" "at least 25" "ratio at least 1.39"
	cp "$work/speed" "$work/plain"
	speed_on_two "trace.dat, not compressed" "$work/plain.dat" ""
	row "memory, MB" "$(div "$(rss "$kmemscope" report "$work/plain.dat")" 1024 %.0f)" "under 64 + 32 B x live objects"
fi
if command -v perf >/dev/null; then
	events="-e kmem:kmalloc -e kmem:kfree -e kmem:kmem_cache_alloc -e kmem:kmem_cache_free"
	# shellcheck disable=SC2086
	perf record -a -R -c 1 -m 16M $events -o "$work/perf.data" -- "$load" "$(nproc)" "$iterations" "$work" >/dev/null 2>&1
	speed "perf.data" "$work/perf.data" "at least 7.5"
	rm -f "$work/perf"
	for i in $(seq "$runs"); do
		cpu perf kmem -i "$work/perf.data" --slab --caller stat >>"$work/perf"
	done
	peer=$(div "$(div "$(events_of "$work/perf.data")" "$(median <"$work/perf")" %.0f)" 1000000 %.1f)
	row "perf kmem --slab --caller stat, the same" "$peer"
	row "perf.data: ours against perf kmem's" "$(div "$(cat "$work/speed")" "$peer")"
	[ ! -s "$work/plain" ] || row "trace.dat against perf kmem's perf.data" "$(div "$(cat "$work/plain")" "$peer")" "at least 6"
fi
