# SPDX-License-Identifier: GPL-2.0-only
# Live objects of a recording against the kernel's own, by size of object, after 5,000 of everything were opened
# and closed. The machine is idle but for that. $hooks is 1 where the kernel lets all probes be set, $census where live
# objects are compared by cache, too.

mount -t tracefs none /sys/kernel/tracing
count=${count:-5000}
churn 600 # what is made once and then stays

# Objects by size, from a census as CSV.
by_size() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 && $at["size"] > 0 { n[$at["size"]] += $at["objects"] }
	END { for (s in n) print s, n[s] }' "$1" | sort -n; }

# Sizes of dentries, inodes and what comes with these, and of the nodes that pages of the capture's file hang on: the
# recorder makes some that stay for a while, and its own objects are not in reports.
of_files() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 ~ /dentry|inode|radix_tree_node/ { printf " %d ", $at["size"] }' "$1"; }

# Areas of vmalloc, 64 or 72 bytes each, are given back late: those that still lived may be gone in the census after it.
lazy_of() { kmemscope report --by function --csv "$1" 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	$1 == "alloc_vmap_area" { n = $at["live_objects"] } END { print n + 0 }'; }

# compare LIMIT: whether live objects of the recording are what the kernel has more than before, by size. Prints those
# that are not, and then all.
compare() {
	awk -v limit="$1" -v lazy="$(lazy_of /tmp/a.dat)" -v files="$(of_files /tmp/after.csv)" 'FILENAME == ARGV[1] { before[$1] = $2 } FILENAME == ARGV[2] { after[$1] = $2 }
		FILENAME == ARGV[3] { live[$1] = $2; allocs[$1] = $3 }
		END { for (s in live) {
			if (allocs[s] < 100) continue # of nothing that was churned
			want = after[s] - before[s]
			if (want < 0) want = 0
			off = live[s] - want
			slack = limit + after[s] / 100
			if (s == 64 || s == 72) slack += lazy
			all = all sprintf("# size %d: %d live of %d, the kernel has %d more, of %d\n", s, live[s], allocs[s], want, after[s])
			if (off > slack || (off < -slack && !index(files, " " s " "))) { print "# size " s " is off by " off; bad = 1 }
		} printf "%s", all; exit bad }' /tmp/before.txt /tmp/after.txt /tmp/live.txt
}

live_of() { kmemscope report --by size --csv "$1" 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 { print $1, $at["live_objects"], $at["allocs"] }'; }

# To read memory has the kernel give back stacks of tasks that have ended, which it does late; RCU frees later, too.
late() {
	kmemscope heap --csv >/dev/null 2>&1
	sleep 3
}

# Also what is given back later still: dentries and inodes that nobody uses, those of the reading among them, and what
# kfree_rcu() keeps for five seconds.
settle() {
	kmemscope heap --csv >/dev/null 2>&1
	put 2 /proc/sys/vm/drop_caches
	sleep 7
}

# recorded WAIT OPTION...: of the churn, where WAIT is done before the recorder ends.
recorded() {
	local wait_for=$1
	shift
	kmemscope heap --csv 2>/dev/null >/tmp/before.csv
	: >/tmp/record.txt
	kmemscope record -v --slab -o /tmp/a.dat "$@" 2>/tmp/record.txt &
	recorder=$!
	until grep -q 'recording the whole' /tmp/record.txt; do sleep 0.1; done
	churn $count
	$wait_for
	kill -INT $recorder
	wait $recorder
	kmemscope heap --csv 2>/dev/null >/tmp/after.csv
	by_size /tmp/before.csv >/tmp/before.txt
	by_size /tmp/after.csv >/tmp/after.txt
	live_of /tmp/a.dat >/tmp/live.txt
}

# What is not seen of 5,000 objects is missing every time; what a task of the kernel does at the wrong moment, once.
right=1
for wait_for in late settle settle; do
	[ $wait_for = late ] || settle
	recorded $wait_for --no-census
	grep -q ' 0 lost' /tmp/record.txt && compare 20 >/tmp/compared.txt && right=0 && break
	sed 's/^/# again: /' /tmp/compared.txt
done
sed 's/^/# /' /tmp/record.txt
check "no event is lost" grep -q ' 0 lost' /tmp/record.txt
if [ "$hooks" = 1 ]; then
	check "all probes are set" grep -qx 'probes: kfree_rcu, kmem_cache_free_bulk, kmem_cache_alloc_bulk' /tmp/record.txt
else
	check "probes on frees are set" grep -qx 'probes: kfree_rcu, kmem_cache_free_bulk' /tmp/record.txt
fi
kmemscope info /tmp/a.dat 2>/dev/null >/tmp/info.txt
sed "s,^,# ," /tmp/info.txt
check "info names them" grep -q '^hooks .*kfree_rcu, bulk frees' /tmp/info.txt
result $right "live objects by size are those of the kernel"
sed 's/^/# /' /tmp/compared.txt
kmemscope report --top 8 --no-pager /tmp/a.dat 2>/dev/null | sed 's/^/# /'
[ "$hooks" = 0 ] || check "the capture has no finding" fails grep -q 'second free' /tmp/info.txt
check "no probe is left" fails grep -q kmemscope /sys/kernel/tracing/kprobe_events
recorded late --no-census --no-hooks
check "without probes they are not" fails compare 20

# As most users record: with the census at start and end, which gives caches their names and ends what no probe saw.
# Events of kmalloc name no cache: their rows are all caches of kmalloc that have objects of this size.
caches() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 && $at["size"] > 0 { print $1, $at["objects"] }
	NR > 1 && $1 ~ /^(dma-)?kmalloc-/ { n[$at["size"]] += $at["objects"] }
	END { for (size in n) print "kmalloc_of_" size "_bytes", n[size] }' "$1"; }
live_caches() { kmemscope report --by cache --csv "$1" 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 { name = $1; sub(/ \(.*/, "", name); gsub(/ /, "_", name); print name, $at["live_objects"], $at["allocs"] }'; }

# Whether live objects are what the kernel has more than before, within 20 or 1 %. As above, the recorder's own files are
# not in reports, and areas of vmalloc go late.
compare_caches() {
	caches /tmp/before.csv >/tmp/before.txt
	caches /tmp/after.csv >/tmp/after.txt
	live_caches /tmp/a.dat >/tmp/live.txt
	awk -v lazy="$(lazy_of /tmp/a.dat)" 'FILENAME == ARGV[1] { before[$1] = $2 } FILENAME == ARGV[2] { after[$1] = $2 }
		FILENAME == ARGV[3] && $3 >= 100 {
			want = after[$1] - before[$1]
			if (want < 0) want = 0
			off = $2 - want
			slack = after[$1] / 100 > 20 ? after[$1] / 100 : 20
			if ($1 ~ /vmap_area|kmalloc-64|kmalloc-96|unnamed_cache_of_(64|72)/) slack += lazy
			seen++
			all = all sprintf("# %s: %d live of %d, the kernel has %d more, of %d\n", $1, $2, $3, want, after[$1])
			if (off > slack || (off < -slack && $1 !~ /dentry|inode|radix_tree_node/)) { print "# " $1 " is off by " off; bad = 1 }
		} END { printf "%s", all; exit bad || seen < 8 }' /tmp/before.txt /tmp/after.txt /tmp/live.txt
}
[ "$census" = 0 ] || for probes in "" --no-hooks; do
	right=1
	for wait_for in late settle; do
		[ $wait_for = late ] || settle
		recorded $wait_for $probes
		compare_caches >/tmp/compared.txt && right=0 && break
		sed 's/^/# again: /' /tmp/compared.txt
	done
	result $right "with the census${probes:+, without probes,} live objects by cache are those of the kernel"
	sed 's/^/# /' /tmp/compared.txt
done

# A recorder that is killed leaves probes, and the next one removes them.
kmemscope record -q --slab -o /tmp/b.dat &
recorder=$!
until [ -n "$(cat /sys/kernel/tracing/instances/kmemscope-$recorder-*/tracing_on 2>/dev/null | grep 1)" ]; do sleep 0.2; done
kill -9 $recorder
wait $recorder 2>/dev/null
check "a killed recorder leaves probes" grep -q kmemscope_ /sys/kernel/tracing/kprobe_events
kmemscope doctor >/tmp/doctor.txt
sed 's/^/# /' /tmp/doctor.txt
check "doctor removes them" fails grep -q kmemscope_ /sys/kernel/tracing/kprobe_events
check "and says what can be had" grep -qE '^ok +probes +[23] of 3' /tmp/doctor.txt

# A CPU that is offline has no ring.
if put 0 /sys/devices/system/cpu/cpu1/online; then
	check "a CPU is offline: the others are recorded" kmemscope record -q --slab -o /tmp/b.dat --duration 1
	kmemscope check /tmp/b.dat >/tmp/check.txt 2>&1
	sed 's/^/# /' /tmp/check.txt
	check "and the capture is whole" grep -q 'trace.dat, ok' /tmp/check.txt
	put 1 /sys/devices/system/cpu/cpu1/online
fi
