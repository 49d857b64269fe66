# SPDX-License-Identifier: GPL-2.0-only
# The census by both ways to read memory. The machine is idle, so the kernel's own counts are the same.

# cell FILE CACHE COLUMN: of the table of caches as CSV.
cell() {
	awk -F, -v cache="$2" -v column="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == cache { print $at[column] }' "$1"
}

# typed FILE TYPE CACHE KNOWN-BY: objects in that row of the table of types as CSV.
typed() {
	awk -F, -v type="$2" -v cache="$3" -v by="$4" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["type"] == type && $at["cache"] == cache && $at["known_by"] == by { n += $at["objects"] }
		END { print n + 0 }' "$1"
}

# Caches whose objects, with those that wait and are set aside, are not what slabinfo has.
differing() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["unexplained"] != "" && $at["unexplained"] != 0 { print "# " $1, $at["unexplained"]; n++ }
		END { exit n > 8 }' "$1"
}

total() { sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo; }

: "${ways:=bpf kcore}"
for how in $ways; do
	check "$how: a census" exits_with 0 kmemscope heap --memory $how --csv
	kmemscope heap --memory $how --csv >/tmp/$how.csv
	kmemscope heap --memory $how --bytes --no-pager >/tmp/$how.txt
	check "$how: all uses of memory add up to MemTotal" \
		grep -qE "^ *$(($(total) * 1024)) +in all but what is reserved: MemTotal" /tmp/$how.txt
	check "$how: objects are those of slabinfo, but for what happened in between" differing /tmp/$how.csv
	# Nothing makes or drops files of kernfs now.
	check "$how: to the last object, where nothing happens" is "$(cell /tmp/$how.csv kernfs_node_cache unexplained)" 0
done
[ "$ways" = kcore ] || check "both ways find the same" is "$(cell /tmp/bpf.csv kernfs_node_cache objects)" \
	"$(cell /tmp/kcore.csv kernfs_node_cache objects)"
kmemscope heap --by type --csv >/tmp/types.csv
check "types" [ "$(typed /tmp/types.csv task_struct task_struct cache)" -gt 10 ]
check "types of objects of kmalloc, by who points to them" grep -qE ',kmalloc-[^,]*(,[0-9]+)+,field,' /tmp/types.csv
