# SPDX-License-Identifier: GPL-2.0-only
# Limits: drops are counted, and everything else continues. Loaded with bulk=0 max_mb=1 subbufs=2.

reset
put 1 $M/memorizer_enabled
put reuse $T/run
put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "a missed free is implied by the next allocation" mzcheck kmap /tmp/kmap
check "... and counted" test "$(stat_of frees_implied)" -ge 8

reset
sh -c "echo 3 >$M/memorizer_enabled; echo live >$T/run"
put 1 $M/memorizer_enabled
i=0
while [ $i -lt 400 ] && [ "$(stat_of dropped_full)" = 0 ]; do
	ls -lR /proc/self /sys/kernel >/dev/null 2>&1
	i=$((i + 1))
done
check "beyond max_mb objects are dropped and counted" test "$(stat_of dropped_full)" -gt 0
memory_all() { echo $(($(stat_of memory_kb) + $(stat_of memory_tables_kb) + $(stat_of memory_snapshots_kb))); }
check "memory_max_kb is max_mb" is "$(stat_of memory_max_kb)" 1024
check "... and not one page more is taken" test "$(stat_of memory_kb)" -le 512
check "... with the memorizer on" is "$(mode)" 1
put end_live $T/run
put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "... and what was known is followed to its end" mzcheck kmap /tmp/kmap
# Half of the bound is for copies: one of all that is recorded fits, two do not.
exec 7<$M/kmap
check "an open kmap is accounted" test "$(stat_of memory_snapshots_kb)" -gt 256
check "... within the bound" test "$(memory_all)" -le 1024
failed=$(stat_of snapshots_failed)
check "a second one does not fit" fails sh -c ": <$M/kmap"
check "... and is counted" is "$(stat_of snapshots_failed)" $((failed + 1))
check "... and leaves nothing behind" test "$(memory_all)" -le 1024
check "the first is whole" eval "cat <&7 >/tmp/kmap; mzcheck kmap /tmp/kmap"
exec 7<&-
check "its memory goes back when it is closed" is "$(stat_of memory_snapshots_kb)" 0
check "no more than 64 bytes an object" test \
	"$((($(stat_of live) + $(stat_of freed_waiting)) * 64))" -ge \
	"$((($(stat_of memory_kb) - 192) * 1024))"
# A snapshot recognises what it has copied by a number, which comes again after 255 snapshots. Here those in
# between fail, the first of them at the end of the first loop: the files that are open leave no room, so they
# do not reach all objects. Processes hold them, as one copy may be small and a shell has few descriptors.
echo 1 >$M/clear_dead_objects
holders=
i=0
while [ $i -lt 200 ] && true 2>/dev/null <$M/kmap; do
	exec 3<$M/kmap
	sleep 600 <&3 3<&- &
	holders="$holders $!"
	exec 3<&-
	i=$((i + 1))
done
failed=$(stat_of snapshots_failed)
i=0
while [ $i -lt 253 ]; do
	echo 1 >$M/clear_dead_objects
	true 2>/dev/null <$M/kmap
	i=$((i + 1))
done
check "snapshots fail while others are open" is "$(stat_of snapshots_failed)" $((failed + 253))
kill $holders && wait
cat $M/kmap >/tmp/kmap
check "... and the next has all live objects" test \
	"$(awk -F, 'NR > 1 && /^[^ ]/ && $6 == 0 { n++ } END { print n + 0 }' /tmp/kmap)" -ge "$(stat_of live)"
reset
check "memory goes back on clear" is "$(stat_of memory_kb)" 0

put 1 $D/kmemtrace/enabled
put task $T/run
while [ "$(cat $D/kmemtrace/total_overruns)" = 0 ]; do
	ls -lR /proc/self /sys/kernel >/dev/null 2>&1
done
# The records after the drop show the gap: make room, and log a little more.
for f in $D/kmemtrace/cpu*; do cat $f >/tmp/$(basename $f).out; done
put task $T/run
ls -lR /proc/self >/dev/null 2>&1
put 0 $D/kmemtrace/enabled
for f in $D/kmemtrace/cpu*; do cat $f >>/tmp/$(basename $f).out; done
check "a drop leaves a gap in the sequence" env EXPECT_OVERRUNS=1 mzcheck relay /tmp/cpu*.out
rm -f /tmp/cpu*.out
