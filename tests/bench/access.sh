#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What counting loads and stores costs a workload that does little but allocate:
#   access.sh um|x86_64
# On the kernel without, and on the instrumented kernel doing nothing, tracking objects, and counting
# accesses. On User Mode Linux it is the host's CPU time, of interleaved runs, the least of which
# counts; under QEMU the guest's clock counts instructions, one a nanosecond.
. "$(dirname "$0")/../kernel/lib.sh"
case ${1:-} in
x86_64) arch=x86_64 rounds=300 runs=1 ;;
*) arch=um rounds=4000 runs=${RUNS:-5} ;;
esac

mkdir -p "$work/root/bin"
gcc -static -O2 -Wall -o "$work/root/bin/workload" "$here/guest/workload.c"
make_initramfs <<'TEST'
. /lib.sh
word() { sed -n "s/.* bench_$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
sum() { awk '/^accesses_(objects|stack|global|module|untracked|boot|other|idle|dropped)/ { n += $2 } END { printf "%d\n", n }' $M/show_stats; }
rounds=$(word rounds)
case $(word mode) in
objects) echo 1 >$M/memorizer_enabled ;;
counting) echo 1 >$M/memorizer_log_access; echo 1 >$M/memorizer_enabled ;;
esac
workload 20 1 >/dev/null
before=$(sum)
echo "alone $(workload $rounds 1)"
echo "accesses $((($(sum) - before) / rounds))"
for n in 1 2; do [ "$(nproc)" = 1 ] || echo "together$n $(workload $rounds 1 $n)"; done
echo 0 >$M/memorizer_enabled
echo "objects $(($(stat_of live) + $(stat_of freed_waiting)))"
echo "records $(stat_of access_records)"
echo "memory $(stat_of memory_kb)"
echo "dropped $(stat_of accesses_dropped_full) $(stat_of dropped_full)"
TEST

# The CPU time that User Mode Linux takes for the rounds, in nanoseconds a round.
time_uml() { # MODE
	local times=() n TIMEFORMAT='%U %S'
	for n in 1 "$((rounds + 1))"; do
		times+=($({ time boot_uml bench_mode="$1" bench_rounds="$n" mem=1G; } 2>&1))
	done
	awk -v n="$rounds" '{ printf "%d\n", ($3 + $4 - $1 - $2) * 1e9 / n }' <<<"${times[*]}"
}

run() { # MODE; one line: nanoseconds a round. What else there is to know is left in $work/raw.
	if [ "$arch" = um ]; then
		time_uml "$1"
	else
		qemu_options="-icount shift=0"
		boot_qemu "$kernel/bzImage" bench_mode="$1" bench_rounds="$rounds"
		tr -d '\r' <"$work/raw" | awk '$1 == "alone" { print $2 }'
	fi
	tr -d '\r' <"$work/raw" >"$work/raw.$2"
}

need_access_kernel 6.12 "$arch" --plain
plain=$kernel
need_access_kernel 6.12 "$arch"
counting=$kernel
for ((i = 0; i < runs; i++)); do
	for mode in plain idle objects counting; do
		kernel=$counting
		[ "$mode" != plain ] || kernel=$plain
		run "$mode" "$mode" >>"$work/ns.$mode"
	done
done

least() { sort -n "$work/ns.$1" | head -n 1; }
value() { awk -v name="$2" '$1 == name { print $2 }' "$work/raw.$1"; }
base=$(least plain)
[ -n "$base" ] || bail "the guest gave no numbers" "$work/raw"
echo "Linux 6.12, $arch, nanoseconds a round of 9 system calls"
for mode in plain idle objects counting; do
	awk -v m="$mode" -v n="$(least $mode)" -v b="$base" 'BEGIN { printf "%-28s %9d  %5.2f x\n", m, n, n / b }'
done
awk -v a="$(value counting accesses)" -v c="$(least counting)" -v o="$(least objects)" \
	'BEGIN { printf "%-28s %9d\n%-28s %9.1f\n", "accesses a round", a, "ns for each of them", (c - o) / a }'
awk -v o="$(value counting objects)" -v r="$(value counting records)" -v m="$(value counting memory)" \
	-v plain="$(value objects memory)" -v po="$(value objects objects)" 'BEGIN {
	printf "%-28s %9.1f\n", "bytes an object", plain * 1024 / po
	printf "%-28s %9.1f\n", "records an object", r / o
	printf "%-28s %9.1f\n", "bytes a record", (m * 1024 - o * plain * 1024 / po) / r }'
echo "dropped: $(value counting dropped)"
for mode in plain counting; do
	[ -z "$(value $mode together1)" ] || awk -v m="$mode" -v a="$(value $mode together1)" -v b="$(value $mode together2)" \
		'BEGIN { printf "%-28s %9d %9d  %5.2f x\n", m ", 1 and 2 processors", a, b, b / a }'
done
