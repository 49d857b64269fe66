#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the memorizer costs a workload that does little but allocate, on Debian's own kernel under
# QEMU: memorizer.sh [6.1|6.12]. Prints CPU time a round, least of all runs; each state is measured
# several times in turn. As TAP only with --tap, where mode 1 must not cost more than ftrace does.
. "$(dirname "$0")/../kernel/lib.sh"
tap=
[ "${1:-}" != --tap ] || { tap=yes; shift; }

need_debian_kernel "${1:-6.12}"
build_modules "$headers"
mkdir -p "$work/root/bin"
gcc -static -O2 -Wall -o "$work/root/bin/workload" "$here/guest/workload.c"
make_initramfs <<'TEST'
. /lib.sh
E=/sys/kernel/tracing/events/kmem
mount -t tracefs none /sys/kernel/tracing
echo 8192 >/sys/kernel/tracing/buffer_size_kb
measure() { echo "$1 $(workload 1000 5)"; }
events() { for e in kmalloc kfree kmem_cache_alloc kmem_cache_free mm_page_alloc mm_page_free; do
	echo $1 >$E/$e/enable; done; }
workload 1000 3 >/dev/null
for i in 1 2 3 4; do
	measure bare
	events 1; measure ftrace; events 0
	insmod /memorizer.ko
	measure loaded
	echo 1 >$M/memorizer_enabled; measure mode1; echo 0 >$M/memorizer_enabled
	[ $i != 4 ] || echo "dropped $(stat_of dropped_full)"
	reset
	rmmod memorizer
	insmod /memorizer.ko enable=yes; measure kmemtrace; rmmod memorizer
done
TEST
boot_qemu "$image"
tr -d '\r' <"$work/raw" | sed -n '/^== begin/,/^== end/p' >"$work/numbers"
least() { awk -v name="$1" '$1 == name && (!n || $2 < n) { n = $2 } END { print n }' "$work/numbers"; }
bare=$(least bare)
[ -n "$bare" ] || bail "the guest gave no numbers" "$work/raw"
row() { awk -v n="$2" -v b="$bare" -v t="$1" 'BEGIN { printf "%-34s %8d ns  %+6.1f %%\n", t, n, (n - b) * 100 / b }'; }
table=$(
	echo "Debian kernel ${headers##*linux-headers-}, QEMU without KVM, 2 CPUs, CPU time a round:"
	row "module not loaded" "$bare"
	row "loaded, off" "$(least loaded)"
	row "mode 1" "$(least mode1)"
	row "kmemtrace log" "$(least kmemtrace)"
	row "ftrace, the same six events" "$(least ftrace)"
	echo "objects dropped in mode 1: $(awk '$1 == "dropped" { print $2 }' "$work/numbers")"
)
if [ -z "$tap" ]; then
	echo "$table"
	exit
fi
sed 's/^/# /' <<<"$table"
echo "1..1"
echo "ok 1 - the benchmark runs"
