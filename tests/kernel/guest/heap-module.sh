# SPDX-License-Identifier: GPL-2.0-only
# The census against what mzheap.ko says that it has allocated, by both ways to read memory. Its truth is then in
# /tmp/truth, in the form that the head of mzheap.c describes, and the objects are still there.
H=$D/mzheap
truth=/tmp/truth work=/tmp kmemscope=kmemscope
. /heap-graph.sh

# objects_of FILE CACHE: of the table of caches as CSV; a cache without slabs has no row.
objects_of() { cell "$1" "$2" objects | grep . || echo 0; }

check "a module with types loads" insmod /overlay.ko
mkdir -p /tmp/lower/a /tmp/lower/b /tmp/both
echo text >/tmp/lower/a/file
check "and makes objects" mount -t overlay -o lowerdir=/tmp/lower/a:/tmp/lower/b none /tmp/both
cat /tmp/both/file >/dev/null
check "mzheap.ko loads" insmod /mzheap.ko
for how in bpf kcore; do
	kmemscope heap --memory $how --csv >/tmp/$how-before.csv
done
check "mzheap.ko makes its objects" put all $H/run
cat $H/expect >/tmp/truth
check "all of them" fails grep incomplete /tmp/truth
check "as many as the constants of mzheap.c make on two processors" \
	is "$(truths 5 held) $(truths 5 leaked)" "2673 329"
for how in bpf kcore; do
	kmemscope heap --memory $how --csv >/tmp/$how-during.csv
	kmemscope heap --memory $how --by type --csv >/tmp/$how-types.csv
	for cache in $(cut -d' ' -f3 /tmp/truth | sort -u); do
		had=$(objects_of /tmp/$how-before.csv $cache)
		has=$(objects_of /tmp/$how-during.csv $cache)
		check "$how: the objects of $cache are counted to the last" is $((has - had)) "$(truths 3 $cache)"
	done
	check "$how: they are what their cache is named after" \
		is "$(typed /tmp/$how-types.csv mzheap_node mzheap_node cache)" "$(truths 3 mzheap_node)"
	check "$how: a struct, where there is one of that name" \
		is "$(typed /tmp/$how-types.csv resource resource cache)" "$(truths 3 resource)"
	check "$how: and what a field of theirs points to" \
		is "$(typed /tmp/$how-types.csv resource kmalloc-rcl-64 field)" "$(truths 6 field)"
done
for how in bpf kcore; do
	for when in first second; do
		check "$how: a snapshot" exits_with 0 kmemscope heap save --memory $how -o /tmp/$how-$when.snap
	done
	# Emulated, each question takes seconds.
	[ $how = bpf ] || same_holders $how /tmp/$how-second.snap
	[ $how = kcore ] || module_types $how /tmp/$how-second.snap
	same_leaks $how /tmp/$how-first.snap /tmp/$how-second.snap
	rm /tmp/$how-*.snap
done
