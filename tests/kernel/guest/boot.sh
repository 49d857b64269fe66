# SPDX-License-Identifier: GPL-2.0-only
# A kernel that records from its start: memorizer_enabled_boot=yes mem_log_boot=yes.
check "the mode is on" is "$(mode)" 1
check "accesses are counted" is "$(stat_of accesses)" counted
check "... and those from before there was a table" test "$(stat_of accesses_before_tables)" -gt 0
check "... and the memory" test "$(stat_of slab_before_start_kb)" -gt 0
put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "objects of the first process, before it had a program" \
	grep -qE '^[0-9a-f]{16},1,.*,swapper(/0)?$' /tmp/kmap
awk -F, '/^[^ ]/ { early = $8 ~ /^swapper/ } /^  / && early { n++ } END { exit !(n > 100) }' /tmp/kmap
result $? "... with their accesses"
# Processors that come online after the start have their lanes by then.
check "no access was dropped for want of lanes" is "$(stat_of accesses_dropped_cpu)" 0
check "the memorizer is well" is "$(stat_of state)" ok
put 0 $M/memorizer_log_access
reset
check "all memory goes back" is "$(stat_of memory_kb)" 0
