#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# trace_analyze's README, section "dynamic analysis": each of its command lines as printed there, on logs of
# an old and of a new kernel, and on one that this machine's kernel just made.
. "$(dirname "$0")/lib.sh"
tracefs=/sys/kernel/tracing
instance=$tracefs/instances/kmemscope-test-$$
cleanup() { [ ! -d "$instance" ] || rmdir "$instance"; }

"$here/../unit/make-tree.sh" "$scratch/tiny" >/dev/null || { echo "Bail out! no tree"; exit 1; }
ln -s tiny/src linux
mkdir -p below/here && ln -s ../tiny/src torvalds && ln -s "$scratch/tiny/src" "$(dirname "$scratch")/torvalds-$$"
trap 'rm -f "$(dirname "$scratch")/torvalds-$$"; cd /; rm -rf "$scratch"; cleanup' EXIT

# The address of a function plus 5, in the format of an old kernel.
at() { printf '%x' $((0x$(awk -v f="$1" '$3 == f { print $1 }' linux/System.map) + 5)); }
line() { # TIME EVENT SITE PTR [REQ ALLOC]
	printf '            bash-77    [000]  %s: %s: call_site=%s ptr=%s' "$1" "$2" "$3" "$4"
	[ $# -lt 6 ] || printf ' bytes_req=%s bytes_alloc=%s gfp_flags=GFP_KERNEL' "$5" "$6"
	echo
}
# The same events for both kernel eras. The function in the argument gives SITE.
events() { # SITE-FUNCTION
	line 1.000001 kmalloc "$($1 ext4_alloc)" ffff880000000100 100 128
	line 1.000002 kmalloc "$($1 ext4_alloc)" ffff880000000200 100 128
	line 1.000003 kmem_cache_alloc "$($1 inode_alloc)" ffff880000001000 600 600
	line 1.000004 kmalloc "$($1 base_alloc)" ffff880000002000 40 64
	line 1.000005 kmem_cache_alloc "$($1 base_alloc)" ffff880000003000 32 32
	line 1.000006 kmalloc "$($1 slub_alloc)" ffff880000004000 5 8
	line 1.000007 kfree "$($1 inode_alloc)" ffff880000000200
}
symbolic() { echo "$1+0x5/0x20"; }
events at >old.log
events symbolic >new.log

rows() { sed '1,/^-----/d' "$1" | awk '{ print $NF, $1, $2, $3, $4 }'; }
all='inode_alloc+0x5 600 0 600 1/0
ext4_alloc+0x5 256 28 128 2/1
base_alloc+0x5 96 24 96 2/0
slub_alloc+0x5 8 3 8 1/0'
only_malloc='ext4_alloc+0x5 256 28 128 2/1
base_alloc+0x5 64 24 64 1/0
slub_alloc+0x5 8 3 8 1/0'
only_cache='inode_alloc+0x5 600 0 600 1/0
base_alloc+0x5 32 0 32 1/0'
by_waste='ext4_alloc+0x5 256 28 128 2/1
base_alloc+0x5 96 24 96 2/0
slub_alloc+0x5 8 3 8 1/0
inode_alloc+0x5 600 0 600 1/0'

# gives WANT COMMAND...: the command makes account.txt with these rows.
gives() {
	local want=$1
	shift
	rm -f account.txt
	"$@" >/dev/null || return
	diff <(echo "$want") <(rows account.txt)
}

for log in old.log new.log; do
	cp $log kmem.log
	check "$log: --account-file" gives "$all" ./trace_analyze.py -k linux -f kmem.log --account-file account.txt
	check "$log: -c" gives "$all" ./trace_analyze.py -k linux -f kmem.log -c account.txt
	check "$log: --malloc" gives "$only_malloc" ./trace_analyze.py -k linux -f kmem.log -c account.txt --malloc
	check "$log: --cache" gives "$only_cache" ./trace_analyze.py -k linux -f kmem.log -c account.txt --cache
	check "$log: --order-by=waste" gives "$by_waste" ./trace_analyze.py -k linux -f kmem.log -c account.txt --order-by=waste
	check "$log: --malloc -o waste" gives "$only_malloc" ./trace_analyze.py -k linux -f kmem.log -c account.txt --malloc -o waste
	check "$log: -b drivers/base/" gives 'base_alloc+0x5 96 24 96 2/0' ./trace_analyze.py -k linux -f kmem.log -c account.txt -b drivers/base/
	check "$log: -b fs, and more" gives 'ext4_alloc+0x5 256 28 128 2/1' ./trace_analyze.py -k linux -f kmem.log -b fs -c account.txt -o current_dynamic --malloc
	check "$log: a branch within a branch" gives 'ext4_alloc+0x5 256 28 128 2/1' ./trace_analyze -k linux -f kmem.log -b fs/ext4 -c account.txt
	check "$log: a single file" gives 'slub_alloc+0x5 8 3 8 1/0' ./trace_analyze -k linux -f kmem.log --start-branch mm/slub.c -c account.txt
	check "$log: the tree by any path" gives "$all" ./trace_analyze.py -k "../$(basename "$scratch")/linux/" -f kmem.log -c account.txt
	check "$log: --save-db" exits_with 0 ./trace_analyze.py -k "../torvalds-$$/" -f kmem.log --save-db db
	mv kmem.log away.log
	check "$log: --db-file, without the log" gives "$all" ./trace_analyze.py -k "../torvalds-$$/" --db-file db -c account.txt
	check "$log: a filter on the DB" gives "$only_cache" ./trace_analyze.py -k linux --db-file db -c account.txt --cache
	check "$log: -l, the callers" exits_with 0 ./trace_analyze -k linux --db-file db -l callers.txt
	check "$log: site, live bytes, waste, directory" says '^inode_alloc\+0x5 +600 +0 +fs$' cat callers.txt
	check "$log: and of a sub-directory" says '^ext4_alloc\+0x5 +128 +28 +fs/ext4$' cat callers.txt
done
check "a wrong branch is reported" fails_saying 1 'fs/ext5' ./trace_analyze -k linux --db-file db -b fs/ext5 -c account.txt
check "a wrong order is reported" fails_saying 2 'choose current_dynamic' ./trace_analyze -k linux --db-file db -c account.txt -o do_free
check "neither log nor DB" fails_saying 2 'give a log' ./trace_analyze -k linux -c account.txt
check "symbols without a tree: none, and no failure" says '0xffffffff81' "$KMEMSCOPE" account old.log
check "symbols from System.map alone" says 'ext4_alloc\+0x5' "$KMEMSCOPE" account -k linux/System.map old.log
check "symbols from vmlinux alone" says 'ext4_alloc\+0x5' "$KMEMSCOPE" account -k linux/vmlinux old.log

# A log of this machine, made as in the README: stop tracing, cat trace > kmem.log.
if mkdir "$instance" 2>/dev/null; then
	echo 16384 >"$instance/buffer_size_kb"
	for event in kmalloc kmalloc_node kfree kmem_cache_alloc kmem_cache_alloc_node kmem_cache_free; do
		[ ! -e "$instance/events/kmem/$event" ] || echo 1 >"$instance/events/kmem/$event/enable"
	done
	find /etc /usr/bin >/dev/null 2>&1
	for i in 1 2 3 4 5; do bash -c 'ls / | sort' >/dev/null; done
	echo 0 >"$instance/tracing_on"
	cat "$instance/trace" >kmem.log
	check "live: the log has events" [ "$(grep -c call_site kmem.log)" -gt 1000 ]
	check "live: an account" exits_with 0 ./trace_analyze.py -k /proc/kallsyms -f kmem.log -c account.txt
	check "live: nothing was left over" says '"unparsed": 0' "$KMEMSCOPE" info --json kmem.log
	# Independent counts: awk finds fields by their names too, and shares no other code.
	awk '/ (kmalloc|kmem_cache_alloc)(_node)?: / && !/ptr=(0+|\(null\)) / { n++; for (i = 1; i <= NF; i++) { if ($i ~ /^bytes_req=/) r += substr($i, 11); if ($i ~ /^bytes_alloc=/) a += substr($i, 13) } } END { printf "%d %d %d\n", n, r, a }' kmem.log >want
	must "$KMEMSCOPE" account --csv kmem.log | awk -F, 'NR > 1 { n += $8; r += $3; a += $2 } END { printf "%d %d %d\n", n, r, a }' >got
	check "live: allocs and bytes agree with awk" same want got
	# Live bytes by awk: when an address is allocated again, its old object has ended.
	awk '/ (kmalloc|kmem_cache_alloc)(_node)?: / || / (kfree|kmem_cache_free): / { b = ""; for (i = 1; i <= NF; i++) { if ($i ~ /^ptr=/) p = substr($i, 5); if ($i ~ /^bytes_alloc=/) b = substr($i, 13) } if (p ~ /^(0+|\(null\))$/) next; if (b != "") { live += b - size[p]; size[p] = b } else { live -= size[p]; delete size[p]; frees++ } } END { printf "%d\n", live }' kmem.log >want
	must "$KMEMSCOPE" account --csv kmem.log | awk -F, 'NR > 1 { l += $4 } END { printf "%d\n", l }' >got
	check "live: live bytes agree with awk" same want got
	grep -c ' kfree: .*ptr=0000000000000000' kmem.log >want
	must "$KMEMSCOPE" info --json kmem.log | awk -F'[ ,:]+' '/"null_frees"/ { print $3 }' >got
	check "live: NULL frees agree with grep" same want got
	check "live: caches are named" says '^"?dentry' "$KMEMSCOPE" report --by cache --csv kmem.log
else
	skip "live log" "no private tracefs instance can be made here"
fi
done_testing
