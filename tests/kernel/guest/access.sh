# SPDX-License-Identifier: GPL-2.0-only
# Counts every load and store of a module that makes known numbers of them.
A=$D/mzaccess

fresh() { # starts again with nothing recorded
	reset
	echo clear >$A/run
	echo 1 >$M/memorizer_log_access
}

check "accesses are off at first" is "$(stat_of accesses)" off
for pattern in task work irq softirq pages large range pass bulk variables stack table storm; do
	fresh
	put 1 $M/memorizer_enabled
	check "pattern $pattern runs" put $pattern $A/run
	put 0 $M/memorizer_enabled
	cat $M/kmap >/tmp/kmap
	check "$pattern: the counts in kmap are exact" mzcount text /tmp/kmap
	check "... and in kmap_bin, with the bytes" mzcount bin $M/kmap_bin
	check "... and in kmap_stream_bin" mzcount bin $M/kmap_stream_bin
	check "... and nothing was dropped" is "$(stat_of accesses_dropped_full)" 0
done

fresh
put 1 $M/memorizer_enabled
put storm $A/run
put 0 $M/memorizer_enabled
check "kmap_stream has them as well" mzcount text $M/kmap_stream

# 16000 objects at few addresses, distinguished by their size.
fresh
put 1 $M/memorizer_enabled
put cross $A/run
put 0 $M/memorizer_enabled
awk -F, '/^[^ ]/ { counted = $4 == 5099; nr += counted; next }
	counted { lines++; if ($3 != 1 || $4 != 0) wrong++ }
	END { print "# " nr " objects, " lines " stores, " wrong + 0 " wrong"
		exit !(nr == 16000 && lines == nr && !wrong) }' $M/kmap
result $? "an object that follows another does not get its counts"

fresh
put 1 $M/memorizer_enabled
before=$(stat_of accesses_other)
check "an error code taken for a pointer is no endless loop" put error $A/run
put 0 $M/memorizer_enabled
check "... and is counted" test "$(stat_of accesses_other)" -ge $((before + 4))

case $(uname -v) in
*PREEMPT\ * | *PREEMPT)
	fresh
	put 1 $M/memorizer_enabled
	put resched $A/run
	put 0 $M/memorizer_enabled
	check "a request to reschedule is not lost" is "$(cat /sys/module/mzaccess/parameters/missed)" 0
	;;
esac

# Contexts that the mode excludes.
for pattern in task irq softirq; do
	fresh
	sh -c "echo 3 >$M/memorizer_enabled; echo $pattern >$A/run"
	put 0 $M/memorizer_enabled
	cat $M/kmap >/tmp/kmap
	check "mode 3, $pattern: task context only" mzcount text /tmp/kmap task
	fresh
	sh -c "echo 2 >$M/memorizer_enabled; echo $pattern >$A/run"
	put 0 $M/memorizer_enabled
	cat $M/kmap >/tmp/kmap
	check "mode 2, $pattern: interrupts, too" mzcount text /tmp/kmap
done
# A task that the mode excluded counts after a change of the mode alone.
fresh
mkfifo /tmp/hold
sh -c "echo 3 >$M/memorizer_enabled; read line </tmp/hold" &
until grep -q ^3 $M/memorizer_enabled; do :; done
put 1 $M/memorizer_enabled
put task $A/run
put 0 $M/memorizer_enabled
echo >/tmp/hold
wait
cat $M/kmap >/tmp/kmap
check "from mode 3 to mode 1: tasks without a mark count" mzcount text /tmp/kmap

fresh
put 0 $M/memorizer_log_access
sh -c "echo 3 >$M/memorizer_enabled; echo task >$A/run"
put 0 $M/memorizer_enabled
check "with memorizer_log_access off there is nothing" fails grep -q '^  ' $M/kmap

fresh
sh -c "echo 3 >$M/memorizer_enabled; /bin/ls -l / >/dev/null"
put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "seed: lines of accesses below their object" grep -qE '^  [0-9a-f]{16},[0-9]+,[0-9]+,[0-9]+$' \
	/tmp/kmap
for class in objects stack global module page_tables boot_memory untracked_slab own; do
	check "show_stats: accesses_$class" test "$(stat_of accesses_$class)" -gt 0
done
[ "$(nproc)" = 1 ] || check "show_stats: accesses_percpu" test "$(stat_of accesses_percpu)" -gt 0

# The same program again must give the same sites, except those that depend on timing.
sites() { # FILE: reads, writes of each pair of an allocating and an accessing instruction
	fresh
	sh -c "echo 3 >$M/memorizer_enabled; /bin/ls -l / >/dev/null"
	put 0 $M/memorizer_enabled
	awk -F, '/^[^ ]/ { a = $1 } /^  / { w[a $1] += $3; r[a $1] += $4 }
		END { for (i in w) print i, w[i] "," r[i] }' $M/kmap >$1
}
sites /tmp/first # warms up
sites /tmp/first
sites /tmp/second
awk 'NR == FNR { first[$0] = 1; site[$1 $2] = 1; next }
	{ n++; same += ($0 in first); known += (($1 $2) in site) }
	END { print "# " n " sites, " known " the same, " same " with the same counts"
		exit !(n > 100 && known > n * .9 && same > n * .8) }' /tmp/first /tmp/second
result $? "the same program twice: the same sites and counts"

put 0 $M/memorizer_log_access
reset
check "all memory goes back" is "$(stat_of memory_kb)" 0
check "... with all records" is "$(stat_of access_records)" 0
check "the memorizer is well" is "$(stat_of state)" ok
