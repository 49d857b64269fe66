#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of counting loads and stores for a workload that does little but allocate:
#   access.sh um|x86_64
# Compares the kernel without instrumentation with the instrumented kernel doing nothing, tracking objects, and
# counting accesses. On User Mode Linux, the result is the smallest host CPU time of interleaved runs. Under
# QEMU, the guest's clock counts instructions, one per nanosecond. The comparison of one processor with two is
# measured with the host's clock, with one host thread per processor.
. "$(dirname "$0")/../kernel/lib.sh"
case ${1:-} in
x86_64) arch=x86_64 rounds=300 runs=1 scale_runs=${RUNS:-5} ;;
*) arch=um rounds=4000 runs=${RUNS:-5} scale_runs=0 ;;
esac

mkdir -p "$work/root/bin"
gcc -static -O2 -Wall -o "$work/root/bin/workload" "$here/guest/workload.c"
make_initramfs <<'TEST'
. /lib.sh
word() { sed -n "s/.* bench_$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
sum() { awk '/^accesses_(objects|stack|global|percpu|module|page|untracked|boot|other|idle|dropped)/ { n += $2 } END { printf "%d\n", n }' $M/show_stats; }
rounds=$(word rounds)
repeats=$(word repeats)
case $(word mode) in
objects) echo 1 >$M/memorizer_enabled ;;
counting) echo 1 >$M/memorizer_log_access; echo 1 >$M/memorizer_enabled ;;
esac
workload 20 1 >/dev/null
before=$(sum)
echo "one $(workload $rounds ${repeats:-1})"
echo "accesses $((($(sum) - before) / rounds / ${repeats:-1}))"
[ -z "$repeats" ] || echo "two $(workload $rounds $repeats 2)"
echo 0 >$M/memorizer_enabled
echo "objects $(($(stat_of live) + $(stat_of freed_waiting)))"
echo "records $(stat_of access_records)"
echo "memory $(stat_of memory_kb)"
echo "dropped $(stat_of accesses_dropped_full) $(stat_of dropped_full)"
TEST

# The CPU time of User Mode Linux, in nanoseconds per round.
time_uml() { # MODE
	local times=() n TIMEFORMAT='%U %S'
	for n in 1 "$((rounds + 1))"; do
		times+=("$({ time boot_uml bench_mode="$1" bench_rounds="$n" mem=1G; } 2>&1)")
	done
	awk -v n="$rounds" '{ printf "%d\n", ($3 + $4 - $1 - $2) * 1e9 / n }' <<<"${times[*]}"
}

run() { # MODE; prints nanoseconds per round. The other results are in $work/raw.MODE.
	if [ "$arch" = um ]; then
		time_uml "$1"
	else
		qemu_options="-icount shift=0"
		boot_qemu "$kernel/bzImage" bench_mode="$1" bench_rounds="$rounds"
	fi
	tr -d '\r' <"$work/raw" >"$work/raw.$1"
	[ "$arch" = um ] || value "$1" one
}

# A line for each run: nanoseconds per round on one processor, and on two.
run_scale() { # MODE
	qemu_accel=tcg,thread=multi qemu_options=
	boot_qemu "$kernel/bzImage" bench_mode="$1" bench_rounds=200 bench_repeats=3
	tr -d '\r' <"$work/raw" | awk '$1 == "one" { n = $2 } $1 == "two" && n { print n, $2 }'
}

kernel_of() { # MODE; sets $kernel
	kernel=$counting
	[ "$1" != plain ] || kernel=$plain
}

least() { sort -n "$work/ns.$1" | head -n 1; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
value() { awk -v name="$2" '$1 == name { print $2 }' "$work/raw.$1"; }

need_access_kernel 6.12 "$arch" --plain
plain=$kernel
need_access_kernel 6.12 "$arch"
counting=$kernel
for ((i = 0; i < runs; i++)); do
	for mode in plain idle objects counting; do
		kernel_of $mode
		run $mode >>"$work/ns.$mode"
	done
done

base=$(least plain)
[ -n "$base" ] || bail "the guest gave no numbers" "$work/raw"
echo "Linux 6.12, $arch, a round of 9 system calls in $([ "$arch" = um ] && echo nanoseconds || echo instructions)"
for mode in plain idle objects counting; do
	awk -v m="$mode" -v n="$(least $mode)" -v b="$base" 'BEGIN { printf "%-28s %9d  %5.2f x\n", m, n, n / b }'
done
awk -v a="$(value counting accesses)" -v c="$(least counting)" -v o="$(least objects)" \
	'BEGIN { printf "%-28s %9d\n%-28s %9.1f\n", "accesses per round", a, "cost per access", (c - o) / a }'
awk -v o="$(value counting objects)" -v r="$(value counting records)" -v m="$(value counting memory)" \
	-v plain="$(value objects memory)" -v po="$(value objects objects)" 'BEGIN {
	printf "%-28s %9.1f\n", "bytes per object", plain * 1024 / po
	printf "%-28s %9.1f\n", "records per object", r / o
	printf "%-28s %9.1f\n", "bytes per record", (m * 1024 - o * plain * 1024 / po) / r }'
echo "dropped: $(value counting dropped)"

for ((i = 0; i < scale_runs; i++)); do
	for mode in plain counting; do
		kernel_of $mode
		run_scale $mode >>"$work/scale.$mode"
	done
done
for mode in plain counting; do
	[ ! -s "$work/scale.$mode" ] || awk -v m="$mode" -v one="$(cut -d' ' -f1 "$work/scale.$mode" | median)" \
		-v two="$(cut -d' ' -f2 "$work/scale.$mode" | median)" -v nr="$(wc -l <"$work/scale.$mode")" \
		'BEGIN { printf "%-28s %9d %9d  %5.2f x the work in the same time (%d runs)\n", m ", 1 and 2 processors", one, two, one / two, nr }'
done
