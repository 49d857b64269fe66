# SPDX-License-Identifier: GPL-2.0-only
# Everything at once on all processors, for a kernel with debug checks (KASAN, lockdep, sleeping in
# atomic context): storms of allocations, readers, mode changes, clears, CPU hotplug, unloading.
SECONDS_EACH=${SECONDS_EACH:-8}

. /load.sh

modes() { for m in 1 0 2 3 1 $$ 1; do put $m $M/memorizer_enabled; done; }
clears() { put 1 $M/clear_dead_objects; put 1 $M/clear_printed_list; put 1 $M/clear_live_objects; }
read_kmap() { cat $M/kmap; }
read_stats() { cat $M/show_stats; }
read_stream() { timeout 1 cat $M/kmap_stream; }
read_bin() { timeout 1 cat $M/kmap_stream_bin; }
relay() {
	put 1 $D/kmemtrace/enabled
	cat $D/kmemtrace/cpu*
	put 0 $D/kmemtrace/enabled
}
hotplug() {
	local online=/sys/devices/system/cpu/cpu1/online
	[ ! -e $online ] || { echo 0 >$online; echo 1 >$online; }
}

load() { # NAME...: starts them, waits, stops them
	rm -f /tmp/stop /tmp/rounds.*
	local pids="" name
	for name; do
		forever $name $name &
		pids="$pids $!"
	done
	sleep $SECONDS_EACH
	touch /tmp/stop
	wait $pids
	for name; do
		check "$name went round" test "$(cat /tmp/rounds.$name)" -gt 0
	done
	check "the memorizer is well" is "$(stat_of state)" ok
}

reset
put 1 /sys/module/memorizer/parameters/page_callers
load storm patterns modes clears read_kmap read_stats
load storm patterns modes read_stream read_bin relay read_kmap
load storm patterns modes read_stream clears hotplug read_stats
hotplug
check "no processor is missing" is "$(nproc)" "$NPROC"
reset
put 1 $M/memorizer_enabled
put task $T/run
put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "after all that the picture is still right" mzcheck kmap /tmp/kmap
check "nothing was dropped by surprise" is "$(stat_of dropped_full)" 0
reset
check "and all memory goes back" is "$(stat_of memory_kb)" 0

. /unload.sh
