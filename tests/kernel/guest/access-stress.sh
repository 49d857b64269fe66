# SPDX-License-Identifier: GPL-2.0-only
# Counts accesses on all processors while objects are allocated, freed, cleared and read, and the mode
# changes.
. /load.sh

modes() { for m in 1 0 2 3 1; do put $m $M/memorizer_enabled; done; }
logging() { for on in 1 1 0; do put $on $M/memorizer_log_access; done; }
clears() { put 1 $M/clear_dead_objects; put 1 $M/clear_live_objects; }
readers() { cat $M/kmap; cat $M/show_stats; timeout 1 cat $M/kmap_stream; }
work() { for p in task softirq irq range pass; do put $p $A/run; put clear $A/run; done; ls -lR /proc/self; }

reset
rm -f /tmp/stop /tmp/rounds.*
put 1 $M/memorizer_log_access
pids=
for name in modes logging clears readers work; do
	forever $name $name &
	pids="$pids $!"
done
sleep 5
touch /tmp/stop
wait $pids
for name in modes logging clears readers work; do
	check "$name went round" test "$(cat /tmp/rounds.$name)" -gt 0
done
check "the memorizer is well" is "$(stat_of state)" ok
fresh
put 1 $M/memorizer_enabled
put task $A/run
put 0 $M/memorizer_enabled
check "after all that the counts are still exact" mzcount bin $M/kmap_stream_bin
put 0 $M/memorizer_log_access
reset
check "and all memory goes back" is "$(stat_of memory_kb)" 0
