#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of the memorizer for a workload that does little but allocate, on Debian's own kernel under
# QEMU: memorizer.sh [6.1|6.12]. The guest's clock counts instructions, one per nanosecond, so the
# numbers depend neither on the machine nor on its load. With --tap this is a test: mode 1 must not cost
# more than ftrace with the same events.
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
measure() { echo "$1 $(workload 200 10)"; }
events() { for e in kmalloc kfree kmem_cache_alloc kmem_cache_free mm_page_alloc mm_page_free; do
	echo $1 >$E/$e/enable; done; }
workload 200 10 >/dev/null
for i in 1 2; do
	measure bare
	events 1; measure ftrace; events 0
	insmod /memorizer.ko
	measure loaded
	echo 1 >$M/memorizer_enabled; measure mode1; echo 0 >$M/memorizer_enabled
	[ $i != 2 ] || echo "dropped $(stat_of dropped_full)"
	reset
	rmmod memorizer
	insmod /memorizer.ko enable=yes; measure kmemtrace; rmmod memorizer
done
TEST
qemu_options="-icount shift=0"
boot_qemu "$image"
tr -d '\r' <"$work/raw" >"$work/numbers"
least() { awk -v name="$1" '$1 == name && (!n || $2 < n) { n = $2 } END { print n }' "$work/numbers"; }
bare=$(least bare)
[ -n "$bare" ] || bail "the guest gave no numbers" "$work/raw"
row() { awk -v n="$2" -v b="$bare" -v t="$1" 'BEGIN { printf "%-34s %8d  %+6.1f %%\n", t, n, (n - b) * 100 / b }'; }
table=$(
	echo "Debian kernel ${headers##*linux-headers-}, instructions per round:"
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
if [ "$(least mode1)" -le "$(least ftrace)" ]; then
	echo "ok 1 - mode 1 costs no more than ftrace"
else
	echo "not ok 1 - mode 1 costs no more than ftrace"
fi
