#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of counting calls and returns, for a workload that does little but allocate:
#   calls.sh um|x86_64
# Compares the kernel that counts accesses and does nothing with the one that also has a call at the start
# and at each end of each function: doing nothing, counting calls, and counting calls and accesses. Measured
# as by access.sh: host CPU time of User Mode Linux, the least of interleaved runs; instructions of x86-64.
. "$(dirname "$0")/../kernel/lib.sh"
case ${1:-} in
x86_64) arch=x86_64 rounds=300 runs=1 ;;
*) arch=um rounds=${ROUNDS:-4000} runs=${RUNS:-5} ;;
esac
modes="base idle calls both"

mkdir -p "$work/root/bin"
gcc -static -O2 -Wall -o "$work/root/bin/workload" "$here/guest/workload.c"
make_initramfs <<'TEST'
. /lib.sh
word() { sed -n "s/.* bench_$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
counted() { awk '{ n += $3 } END { print n + 0 }' $M/function_$1; }
rounds=$(word rounds)
case $(word mode) in
calls) echo 1 >$M/log_calls_enabled; echo 1 >$M/memorizer_enabled ;;
both) echo 1 >$M/log_calls_enabled; echo 1 >$M/memorizer_log_access; echo 1 >$M/memorizer_enabled ;;
esac
workload 20 1 >/dev/null
[ ! -e $M/function_calls ] || before=$(($(counted calls) + $(counted returns)))
echo "one $(workload $rounds 1)"
if [ -e $M/function_calls ]; then
	echo "calls $((($(counted calls) + $(counted returns) - before) / rounds))"
	echo 0 >$M/memorizer_enabled
	echo "pairs $(stat_of call_pairs)"
	echo "dropped $(stat_of calls_dropped_full) $(stat_of calls_dropped_far)"
fi
TEST

# The CPU time of User Mode Linux, in nanoseconds per round.
time_uml() { # MODE
	local times=() n TIMEFORMAT='%U %S'
	for n in 1 "$((rounds + 1))"; do
		times+=("$({ time boot_uml bench_mode="$1" bench_rounds="$n" mem=1G; } 2>&1)")
	done
	awk -v n="$rounds" '{ printf "%d\n", ($3 + $4 - $1 - $2) * 1e9 / n }' <<<"${times[*]}"
}

run() { # MODE; prints nanoseconds or instructions per round. The other results are in $work/raw.MODE.
	if [ "$arch" = um ]; then
		time_uml "$1"
	else
		qemu_options="-icount shift=0"
		boot_qemu "$kernel/bzImage" bench_mode="$1" bench_rounds="$rounds"
	fi
	tr -d '\r' <"$work/raw" >"$work/raw.$1"
	[ "$arch" = um ] || value "$1" one
}

least() { sort -n "$work/ns.$1" | head -n 1; }
value() { awk -v name="$2" '$1 == name { print $2 }' "$work/raw.$1"; }

need_access_kernel 6.12 "$arch"
base=$kernel
need_access_kernel 6.12 "$arch" --calls
calls=$kernel
for ((i = 0; i < runs; i++)); do
	for mode in $modes; do
		kernel=$calls
		[ "$mode" != base ] || kernel=$base
		run "$mode" >>"$work/ns.$mode"
	done
done

[ -n "$(least base)" ] || bail "the guest gave no numbers" "$work/raw"
echo "Linux 6.12, $arch, a round of 9 system calls in $([ "$arch" = um ] && echo nanoseconds || echo instructions)"
for mode in $modes; do
	awk -v m="$mode" -v n="$(least "$mode")" -v b="$(least base)" 'BEGIN { printf "%-28s %9d  %5.2f x\n", m, n, n / b }'
done
awk -v n="$(value calls calls)" -v c="$(least calls)" -v o="$(least idle)" -v p="$(value calls pairs)" \
	'BEGIN { printf "%-28s %9d\n%-28s %9.1f\n%-28s %9d\n", "calls and returns per round", n, "cost of each", (c - o) / n, "pairs", p }'
echo "dropped: $(value calls dropped)"
