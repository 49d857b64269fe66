#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the live levels cost a load that does little but allocate: its CPU time without, with each level and with
# record, interleaved; as ratios, and as nanoseconds for each event of the load. And what the watching program itself takes.
# memleak of bcc needs the kernel's headers: it is compared where there are some.
. "$(dirname "$0")/lib.sh"

load=$(cd "$build" && pwd)/tests/bench-load
iterations=${ITERATIONS:-20000}
events=$((iterations * 103)) # of an iteration, as counted once
memleak=
if command -v memleak-bpfcc >/dev/null && [ -d "/lib/modules/$(uname -r)/build" ]; then memleak="memleak-bpfcc"; fi

# with NAME COMMAND...: runs the command in the background, the load beside it, and notes the CPU times of both.
with() {
	local name=$1 pid before after
	shift
	"$@" >"$work/output" 2>&1 &
	pid=$!
	sleep 2
	before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat" 2>/dev/null || echo 0)
	"$load" 1 "$iterations" "$work" >>"$work/$name"
	after=$(awk '{ print $14 + $15 }' "/proc/$pid/stat" 2>/dev/null || echo 0)
	echo "$before $after" | awk '{ print ($2 - $1) / 100 }' >>"$work/$name-own"
	kill -INT $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
}

levels="census growth sampled exact"
for _ in $(seq "$runs"); do
	"$load" 1 "$iterations" "$work" >>"$work/none"
	for level in $levels; do
		with "$level" "$kmemscope" top --level "$level" --count 1000 --json
		"$load" 1 "$iterations" "$work" >>"$work/none"
	done
	with record "$kmemscope" record -q -o "$work/trace.dat"
	rm -f "$work/trace.dat"
	[ -z "$memleak" ] || with memleak $memleak 5
done
none=$(median <"$work/none")
echo "$iterations iterations, about $events events, $none s of CPU; medians of $runs"
for name in $levels record ${memleak:+memleak}; do
	[ -s "$work/$name" ] || continue
	case $name in
	growth) aim="no measurable slowdown" ;;
	sampled) aim="45 ns" ;;
	exact) aim="75 ns" ;;
	*) aim= ;;
	esac
	with=$(median <"$work/$name")
	row "$name: the load's CPU time, as a ratio" "$(div "$with" "$none" %.3f)"
	row "$name: ns for each event" "$(echo "$with $none $events" | awk '{ printf "%.0f", ($1 - $2) * 1e9 / $3 }')" "$aim"
	row "$name: CPU seconds of the program meanwhile" "$(median <"$work/$name-own")"
done
[ -n "$memleak" ] || echo "memleak of bcc can't be run here: it needs the kernel's headers"
