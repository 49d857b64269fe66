# SPDX-License-Identifier: GPL-2.0-only
# The account of this kernel's own text, of a recording and of its DB file. What the text says is counted by awk.
tracing=/sys/kernel/tracing
slab_events() { ls -d $tracing/events/kmem/kmalloc* $tracing/events/kmem/kfree $tracing/events/kmem/kmem_cache_*; }
for event in $(slab_events); do put 1 $event/enable; done
put 8192 $tracing/buffer_size_kb
put "" $tracing/trace
churn 50
for event in $(slab_events); do put 0 $event/enable; done
cat $tracing/trace >/tmp/trace.txt
put 1 $tracing/buffer_size_kb

# Objects by address: a free is one of an object that was seen to begin, and none of its address since.
awk 'function field(name) { return match($0, name "=[^ ]*") ? substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) : "" }
	/ (kmalloc|kmem_cache_alloc)(_node)?: / { ptr = field("ptr")
		if (ptr ~ /^(0x)?0*$|null/) next
		live[ptr] = 1; allocs++; bytes += field("bytes_alloc"); asked += field("bytes_req") }
	/ (kfree|kmem_cache_free): / { ptr = field("ptr"); if (ptr in live) { frees++; delete live[ptr] } }
	END { print allocs + 0, frees + 0, bytes + 0, asked + 0 }' /tmp/trace.txt >/tmp/counted

# sums FILE: as above, by the program.
sums() {
	kmemscope account --json "$1" 2>/dev/null | awk '{ sub(",$", "", $2) } $1 ~ /"(allocs|frees|total_bytes|total_requested)":/ && !($1 in n) { n[$1] = $2 }
		END { print n["\"allocs\":"], n["\"frees\":"], n["\"total_bytes\":"], n["\"total_requested\":"] }'
}

check "no event of the text was overwritten" grep -qE 'entries-in-buffer/entries-written: ([0-9]+)/\1 ' /tmp/trace.txt
read -r allocs _ </tmp/counted
check "the text has many allocations: $allocs" test "$allocs" -gt 500
check "text: allocations, frees and bytes of the account are those that awk counts" is "$(sums /tmp/trace.txt)" "$(cat /tmp/counted)"
check "a recording" kmemscope record -q --strict -o /tmp/c.dat -- churn 50
check "whose account has as many objects at least as the text's churn" test "$(sums /tmp/c.dat | cut -d ' ' -f 1)" -gt 500
check "is made a DB file" kmemscope import -o /tmp/c.ksdb /tmp/c.dat
check "which has the same account" is "$(sums /tmp/c.ksdb)" "$(sums /tmp/c.dat)"
