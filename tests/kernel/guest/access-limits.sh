# SPDX-License-Identifier: GPL-2.0-only
# A kernel that counts accesses with memorizer.max_mb=1: the tables of the lanes are within the bound.
A=$D/mzaccess
memory_all() { echo $(($(stat_of memory_kb) + $(stat_of memory_tables_kb) + $(stat_of memory_snapshots_kb))); }
before=$(stat_of memory_tables_kb)
reset
put 1 $M/memorizer_log_access
put 1 $M/memorizer_enabled
check "lanes are made when counting starts" test "$(stat_of memory_tables_kb)" -gt "$before"
put task $A/run
i=0
while [ $i -lt 400 ] && [ "$(stat_of accesses_dropped_full)" = 0 ]; do
	ls -lR /proc/self /sys/kernel >/dev/null 2>&1
	i=$((i + 1))
done
check "beyond max_mb accesses are dropped and counted" test "$(stat_of accesses_dropped_full)" -gt 0
check "... but not for want of lanes" is "$(stat_of accesses_dropped_cpu)" 0
check "all memory is within max_mb" test "$(memory_all)" -le 1024
put 0 $M/memorizer_enabled
exec 7<$M/kmap
check "... with a snapshot" test "$(memory_all)" -le 1024
check "... of all there is" test "$(stat_of memory_snapshots_kb)" -gt 128
exec 7<&-
put 0 $M/memorizer_log_access
reset
check "memory goes back" is "$(stat_of memory_kb)" 0

# There is room again, and the small caches count as exactly as the large ones.
put 1 $M/memorizer_log_access
echo clear >$A/run
put 1 $M/memorizer_enabled
put task $A/run
put 0 $M/memorizer_enabled
check "the counts of small lanes are exact" mzcount bin $M/kmap_bin
put 0 $M/memorizer_log_access
reset
check "the memorizer is well" is "$(stat_of state)" ok
