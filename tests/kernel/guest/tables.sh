# SPDX-License-Identifier: GPL-2.0-only
# The tables beside kmap: allocations and accesses, which together are the map, and global_table.
reset
put 1 $M/memorizer_log_access
sh -c "echo 3 >$M/memorizer_enabled; /bin/ls -l / >/dev/null"
put 0 $M/memorizer_enabled
put 0 $M/memorizer_log_access
# Objects end at any time, so what is read is compared only where none did meanwhile.
for try in 1 2 3 4 5 6 7 8 9; do
	cat $M/kmap >/tmp/kmap
	cat $M/allocations >/tmp/allocations
	cat $M/accesses >/tmp/accesses
	cat $M/allocs >/tmp/allocs
	cat $M/kmap >/tmp/kmap-again
	! cmp -s /tmp/kmap /tmp/kmap-again || break
done

awk -F, '/^ / || !/,/ || ($1 ~ /^0+$/ && $4 == 0) { next } { print $1, $3, $4, $7, $8 }' /tmp/kmap | sort >/tmp/from-kmap
awk -F, 'NR > 1 { ip = $8 == "PERCPU" ? "000000000000001c" : $1; print ip, $3, $4, $7, $9 }' /tmp/allocations | sort >/tmp/from-table
check "allocations has the objects of kmap" cmp /tmp/from-kmap /tmp/from-table
sed -n 's/^  //p' /tmp/kmap | sort >/tmp/from-kmap
awk -F, 'NR > 1 { print $2 "," $3 "," $4 "," $5 }' /tmp/accesses | sort >/tmp/from-table
check "accesses has those of kmap" cmp /tmp/from-kmap /tmp/from-table
awk -F, 'NR == FNR { known[$5] = 1; next } FNR > 1 && !($1 in known) { n++ } END { exit n > 0 }' /tmp/allocations /tmp/accesses
result $? "every access names an allocation"
check "their names are those of the ancestor" is "$(head -n 1 /tmp/allocations) $(head -n 1 /tmp/accesses)" \
	"alloc_ip,pid,ptr,size,alloc_time,free_time,free_ip,type,command,slab,new_type alloc_index,access_ip,pid,writes,reads"
check "an older name" cmp /tmp/allocations /tmp/allocs
if [ -x /bin/kmemscope ]; then
	# Of the objects that live, some may end before the second file is read.
	sums() { sed -n "/^the map/,\$p" | sed -n 's/^ *\([0-9]* \(objects\|reads\|writes\|lines or records of accesses\)\)$/\1/p'; }
	report() { kmemscope kmap report --no-pager --slab-pages "$@" 2>/tmp/said | sums; }
	report /tmp/kmap >/tmp/one
	cat /tmp/said >/tmp/one-said
	report --accesses /tmp/accesses /tmp/allocations >/tmp/two
	same_map() { cmp /tmp/one /tmp/two || { head -n 20 /tmp/one-said /tmp/said /tmp/one /tmp/two; false; }; }
	check "the map has sums" [ "$(wc -l </tmp/one)" = 4 ]
	check "the pair is read as the same map" same_map
fi
reset

# A line for each symbol of a variable that kallsyms has, with the same address.
check "global_table has the kernel's variables" test "$(wc -l <$M/global_table)" -gt 500
awk '$3 == "init_task" || $3 == "jiffies_64" || $3 == "sysctl_vals" { print $1, $3 }' $M/global_table | sort >/tmp/table
awk '$3 == "init_task" || $3 == "jiffies_64" || $3 == "sysctl_vals" { sub(/^0+/, "", $1); print $1, $3 }' /proc/kallsyms |
	sort >/tmp/symbols
check "... where kallsyms has them" sh -c "[ -s /tmp/table ] && ! grep -vxFf /tmp/symbols /tmp/table"
check "... with their sizes and what they are part of" sh -c "! grep -vE '^[0-9a-f]+ [0-9]+ [^ ]+ vmlinux\$' $M/global_table"
