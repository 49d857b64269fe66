#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the live levels cost a load that does little but allocate. In two ways:
#
# - its CPU time with a level, between two runs without: the median of these ratios, and from it nanoseconds for each event
#   of the load. A busy machine blurs this.
# - the kernel's own statistics of BPF programs: nanoseconds for each run of each program. They have the cost of two looks
#   at the clock in them. So programs that do nothing are attached to the same events at the same time: what a level takes
#   above these is its own. That holds on a busy machine, too. To call any program costs the same for all of them, and is
#   in neither.
#
# And what the watching program itself takes. memleak of bcc needs the kernel's headers: it is compared where there are some.
# RUNS=7 takes about two minutes.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
load=$(cd "$build" && pwd)/tests/bench-load
iterations=${ITERATIONS:-4000}
events=$((iterations * 103)) # of an iteration, as counted once
place=$(mktemp -d /dev/shm/ks-bench-XXXXXX) # no disk in between
stats=/proc/sys/kernel/bpf_stats_enabled
stats_before=$(cat $stats)
trap 'echo "$stats_before" >$stats; rm -rf "$work" "$place"' EXIT
memleak=
if command -v memleak-bpfcc >/dev/null && [ -d "/lib/modules/$(uname -r)/build" ]; then memleak="memleak-bpfcc"; fi

clang -target bpf -mcpu=v3 -O2 -g -isystem "/usr/include/$(uname -m)-linux-gnu" -c "$(dirname "$0")/nothing.bpf.c" -o "$work/nothing.o"

run_load() { "$load" 1 "$iterations" "$place"; }
ticks_of() { awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0; }

# start COMMAND...: in the background, until it has said something, and at most 20 s; its number is then $pid.
start() {
	: >"$work/output"
	"$@" >"$work/output" 2>&1 &
	pid=$!
	for _ in $(seq 200); do
		[ ! -s "$work/output" ] || break
		sleep 0.1
	done
}

stop() {
	kill -INT $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
}

# with NAME COMMAND...: a run without, one beside the command, and one without.
with() {
	local name=$1 before after first second third
	shift
	first=$(run_load)
	start "$@"
	before=$(ticks_of $pid)
	second=$(run_load)
	after=$(ticks_of $pid)
	stop
	third=$(run_load)
	echo "$first $second $third" | awk '{ print $2 / (($1 + $3) / 2) }' >>"$work/$name"
	echo "$first $third" | tr ' ' '\n' >>"$work/none"
	echo "$before $after $second" | awk '{ print ($2 - $1) / 100 / $3 }' >>"$work/$name-own"
}

# mean_of BEFORE AFTER: nanoseconds of a run, and how many there were.
mean_of() {
	join "$1" "$2" | awk '$5 - $3 > 1000 { ns += $4 - $2; runs += $5 - $3 } END { print runs ? ns / runs : 0, runs }'
}

# Programs of a process, as "ID NANOSECONDS RUNS".
program_times() { # PID
	awk '$1 == "prog_id:" { id[FILENAME] = $2 } $1 == "run_time_ns:" { ns[FILENAME] = $2 } $1 == "run_cnt:" { runs[FILENAME] = $2 }
		END { for (f in ns) print id[f], ns[f], runs[f] }' "/proc/$1/fdinfo/"* 2>/dev/null | sort -u
}

# ns_of_programs LEVEL: mean of all runs of its programs while the load runs, above that of programs that do nothing. Those
# of the census are few and long.
ns_of_programs() {
	local nothing_pid
	start "$(dirname "$load")/bench-attach" "$work/nothing.o"
	nothing_pid=$pid
	start "$kmemscope" top --level "$1" --count 1000 --json
	echo 1 >$stats
	program_times $pid >"$work/before"
	program_times $nothing_pid >"$work/nothing-before"
	run_load >/dev/null
	program_times $pid >"$work/after"
	program_times $nothing_pid >"$work/nothing-after"
	echo "$stats_before" >$stats
	stop
	kill $nothing_pid
	wait $nothing_pid 2>/dev/null || :
	echo "$(mean_of "$work/before" "$work/after") $(mean_of "$work/nothing-before" "$work/nothing-after")" |
		awk '{ printf "%.0f ns above %.0f, %d runs", $1 - $3, $3, $2 }'
}

levels="census growth sampled exact"
for _ in $(seq "$runs"); do
	for level in $levels; do
		with "$level" "$kmemscope" top --level "$level" --count 1000 --json
	done
	with record "$kmemscope" record -v -o "$place/trace.dat"
	rm -f "$place/trace.dat"
	[ -z "$memleak" ] || with memleak $memleak 5
done
none=$(median <"$work/none")
echo "$iterations iterations, about $events events, $none s of CPU; medians of $runs"
for name in $levels record ${memleak:+memleak}; do
	case $name in
	growth) aim="no measurable slowdown" ;;
	sampled) aim="45 ns" ;;
	exact) aim="75 ns" ;;
	*) aim= ;;
	esac
	ratio=$(median <"$work/$name")
	row "$name: the load's CPU time, as a ratio" "$ratio"
	row "$name: ns for each event" "$(echo "$ratio $none $events" | awk '{ printf "%.0f", ($1 - 1) * $2 * 1e9 / $3 }')" "$aim"
	row "$name: of a CPU, for the program itself meanwhile" "$(median <"$work/$name-own")"
done
for level in growth sampled exact; do
	row "$level: a run of its programs, by the kernel's statistics" "$(ns_of_programs $level)"
done
start "$kmemscope" top --level exact --once --json
wait $pid || :
row "exact: bytes of the kernel's memory, for 262,144 objects" \
	"$(sed -n 's/^ *"kernel_memory_bytes": \([0-9]*\),*$/\1/p' "$work/output")" "24 each, and a fixed table"
[ -n "$memleak" ] || echo "memleak of bcc can't be run here: it needs the kernel's headers"
