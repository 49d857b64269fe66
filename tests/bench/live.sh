#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the live levels cost a load that does little but allocate. In two ways:
#
# - its CPU time beside a level, between two runs without, at high priority: nanoseconds for each event of the load, of which
#   most is what it costs to call any program at all. So a program that does nothing is measured in the same way in the same
#   rounds, and what a level takes above it is its own. Time is taken for 20 iterations at once, and of these slices it is the
#   one that a tenth is faster than; pairs of runs without that differ by more than 4 % are left out. Half of all figures are
#   between the two in brackets.
# - the kernel's own statistics of BPF programs: nanoseconds for each run of each program, with two looks at the clock in them.
#   Again above a program that does nothing, attached to the same events at the same time.
#
# And what the watching program itself takes. memleak of bcc's libbpf tools runs beside them where there is one: Debian has it
# in libbpf-tools since 13, as memleak-libbpf; MEMLEAK="..." is the command of another one, such as one from a newer
# system, with its loader in front. RUNS=15 takes about four minutes.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
load=$(cd "$build" && pwd)/tests/bench-load
iterations=${ITERATIONS:-2500}
per_iteration=103 # events, as counted once
place=$(mktemp -d /dev/shm/ks-bench-XXXXXX) # no disk in between
stats=/proc/sys/kernel/bpf_stats_enabled
stats_before=$(cat $stats)
pid=
tracefs=/sys/kernel/tracing mounted=
[ -e $tracefs/trace ] || { mount -t tracefs nodev $tracefs && mounted=1; } # for record
trap 'echo "$stats_before" >$stats; [ -z "$mounted" ] || umount $tracefs; [ -z "$pid" ] || kill "$pid" 2>/dev/null || :; rm -rf "$work" "$place"' EXIT
memleak=${MEMLEAK:-$(command -v memleak-libbpf || :)}

compile() { clang -target bpf -mcpu=v3 -O2 -g -isystem "/usr/include/$(uname -m)-linux-gnu" "$@"; }
compile -c "$(dirname "$0")/nothing.bpf.c" -o "$work/nothing.o"
compile -DPAGES -c "$(dirname "$0")/nothing.bpf.c" -o "$work/nothing-pages.o"

# Nanoseconds of CPU time of an iteration.
run_load() { nice -n -15 "$load" 1 "$iterations" "$place" 20; }
ticks_of() { awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0; }
has_programs() { grep -qs '^prog_id:' "/proc/$pid/fdinfo/"*; }

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

# It writes late; its programs are there, and a moment later attached.
start_memleak() {
	# shellcheck disable=SC2016,SC2086 # for the other shell; a command with its arguments
	unshare -m sh -c 'mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; exec "$@"' - $memleak 60 >/dev/null 2>&1 &
	pid=$!
	for _ in $(seq 200); do
		! has_programs || break
		sleep 0.1
	done
	sleep 1
	has_programs || { echo "memleak does not run here"; exit 1; }
}

stop() {
	kill -INT $pid 2>/dev/null || :
	sleep 0.2
	kill $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
	pid=
}

# with NAME COMMAND...: a run beside the command, between the last one without and another one. The first round has none yet.
without=
with() {
	local name=$1 now next
	shift
	[ -n "$without" ] || without=$(run_load)
	case $name in
	memleak) start_memleak ;;
	*) start "$@" ;;
	esac
	now=$(run_load)
	kill -0 $pid || { echo "live.sh: $name ended before the load did" >&2; exit 1; }
	stop
	next=$(run_load)
	echo "$without $now $next" | awk -v n=$per_iteration '{ none = ($1 + $3) / 2; off = ($1 - $3) / none }
		off < 0.04 && off > -0.04 { print ($2 - none) / n, $2 / none }' >>"$work/$name"
	without=$next
}

# quartiles FILE COLUMN: "MEDIAN [LOW HIGH] of N"
quartiles() {
	awk -v c="$2" '{ print $c }' "$1" | sort -n | awk -v f="${3:-%.1f}" '{ v[NR] = $1 }
		END { if (!NR) { print "-"; exit }
			printf f " [" f " " f "] of %d", v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 3) / 4)], NR }'
}

# own_share LEVEL: while it looks each second, and nobody asks it for more.
own_share() {
	local before after
	start "$kmemscope" top --level "$1" --count 1000 --json
	sleep 2
	before=$(ticks_of $pid)
	sleep 10
	after=$(ticks_of $pid)
	stop
	awk -v t="$((after - before))" 'BEGIN { printf "%.1f %%", t / 10 }'
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

# ns_of_programs LEVEL: mean of all runs of its programs while the load runs, above that of programs that do nothing, and how
# many there were for each event of slabs. Those of the census are few and long. Times 400,000 events a second, it is a share of
# a CPU.
ns_of_programs() {
	local nothing_pid object=nothing
	[ "$1" != growth ] || object=nothing-pages
	start "$(dirname "$load")/bench-attach" "$work/$object.o"
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
		awk -v events=$((iterations * per_iteration)) '{ own = $1 - $3; share = own * $2 / events * 0.04
			printf "%.0f ns above %.0f, %.2f runs an event: %.2f %% of a CPU at 400 k/s", own, $3, $2 / events, share }'
}

levels="census growth sampled exact"
for _ in $(seq "$runs"); do
	with nothing "$(dirname "$load")/bench-attach" "$work/nothing.o"
	for level in $levels; do
		with "$level" "$kmemscope" top --level "$level" --count 1000 --json
	done
	with record "$kmemscope" record -v -o "$place/trace.dat"
	rm -f "$place/trace.dat"
	[ -z "$memleak" ] || with memleak
done
floor=$(awk '{ print $1 }' "$work/nothing" | median)
echo "$iterations iterations of $per_iteration events; medians and quartiles of pairs that agree"
for name in nothing $levels record ${memleak:+memleak}; do
	case $name in
	growth) aim="no measurable slowdown" ;;
	sampled) aim="45, where nothing takes 36" ;;
	exact) aim="75, where nothing takes 36" ;;
	*) aim= ;;
	esac
	[ -s "$work/$name" ] || { row "$name: no two runs without it agreed" -; continue; }
	row "$name: ns for each event" "$(quartiles "$work/$name" 1)" "$aim"
	[ $name = nothing ] || [ $name = census ] || [ $name = growth ] || row "$name: above a program that does nothing" "$(awk -v f="$floor" '{ print $1 - f }' "$work/$name" | median)"
	row "$name: the load's CPU time, as a ratio" "$(quartiles "$work/$name" 2 %.3f)"
done
for level in $levels; do
	row "$level: of a CPU, for the program itself" "$(own_share "$level")"
done
for level in growth sampled exact; do
	row "$level: a run of its programs, by the kernel's statistics" "$(ns_of_programs $level)"
done
room=$(awk 'NR > 2 { n += $2 } END { print int(n / 4) }' /proc/slabinfo)
start "$kmemscope" top --level exact --once --json
wait $pid || :
pid=
row "exact: bytes of the kernel's memory, with room for $room" \
	"$(sed -n 's/^ *"kernel_memory_bytes": \([0-9]*\),*$/\1/p' "$work/output")" "24 each, and a fixed table"
[ -n "$memleak" ] || echo "memleak of bcc is not here: see the head of this script"
