# SPDX-License-Identifier: GPL-2.0-only
# What snapshots say of mzheap.ko's objects, against its truth: who holds them, and which are leaked. For the guest, and
# for the host with snapshots of dumps. $truth is the file with the truth, $kmemscope the program.

# truths COLUMN VALUE...: how many objects have these values in these columns of the truth.
truths() {
	awk -v wanted="$*" '
		BEGIN { n = split(wanted, w) }
		{ for (i = 1; i < n; i += 2) if ($w[i] != w[i + 1]) next; found++ }
		END { print found + 0 }' "$truth"
}

# to_file FILE COMMAND...
to_file() {
	local file=$1
	shift
	"$@" >"$file"
}

# held SNAPSHOT WHAT: the table of its holders, a line each: objects, who, field.
held() {
	"$kmemscope" heap holders --from "$1" "$2" --json | awk '
		/"holder":/ { sub(/^ *"holder": "/, ""); sub(/",$/, ""); who = $0 }
		/"field":/ { sub(/^ *"field": "/, ""); sub(/",$/, ""); field = $0 }
		/"objects":/ && who != "" { gsub(/[^0-9]/, ""); print $0, who, field; who = "" }' >"$work/held"
	[ -s "$work/held" ]
}

# by PATTERN: how many objects are held so, by the table that was made last.
by() { awk -v pattern="^[0-9]+ $1\$" '$0 ~ pattern { n += $1 } END { print n + 0 }' "$work/held"; }

# same_holders NAME SNAPSHOT
same_holders() {
	local percpu stack
	check "$1: holders of objects in kmalloc-rcl-512" held "$2" kmalloc-rcl-512
	# Beside all of these the timers that are the first of a list, or the only ones.
	percpu=$(($(by 'per-CPU .*') - $(truths 6 percpu) - $(truths 6 percpu-module)))
	check "$1: per-CPU memory, also that of the module" [ "$percpu" -ge 1 ]
	check "$1: and of nothing else" [ "$percpu" -le "$(truths 6 timer)" ]
	# Functions below may have saved registers that still hold some more.
	stack=$(($(by 'stack mzheap-holder/[0-9]+') - $(truths 6 stack)))
	echo "# $1: the stack has $stack more than $(truths 6 stack)"
	check "$1: the stack of a task, by its name" [ "$stack" -ge 0 -a "$stack" -le 3 ]
	check "$1: vmalloc" is "$(by 'vmalloc .*')" "$(truths 6 vmalloc)"
	check "$1: a table in another object" is "$(by 'kmalloc-rcl-1k .*')" "$(($(truths 6 slab-table) + $(truths 2 440 6 tree)))"
	check "$1: xarray and idr" is "$(by 'xa_node slots.*')" "$(($(truths 6 xarray) + $(truths 6 idr)))"
	check "$1: a maple tree" is "$(by '.*maple_node .*')" "$(truths 6 maple)"
	check "$1: holders of nodes" held "$2" mzheap_node
	# Both ends of the list, the root of the tree, the first of the chain.
	check "$1: variables" is "$(by 'variable .*')" 4
	check "$1: holders of what is typed by a field" held "$2" kmalloc-rcl-64
	check "$1: that field" is "$(by 'resource child')" "$(truths 6 field)"
	check "$1: holders of what is typed by its cache" held "$2" resource
	check "$1: a variable of the module" is "$(by 'variable resources [[]mzheap[]]')" "$(truths 3 resource)"
}

# module_types NAME SNAPSHOT: a module of Debian's has types, whose fields have names then; ours has none.
module_types() {
	check "$1: holders of superblocks" held "$2" super_block
	check "$1: fields of a struct of a module" [ "$(by 'ovl_inode vfs_inode.i_sb')" -ge 1 ]
}

# same_leaks NAME SNAPSHOT [SNAPSHOT]: every leaked object is found and none of the held ones. What else there is, is shown.
same_leaks() {
	local name=$1 first=$2
	shift 2
	check "$name: unreachable" to_file "$work/each" "$kmemscope" heap unreachable --from "$first" "$@" --each --csv
	awk 'match($0, /0xff[0-9a-f]+/) { print substr($0, RSTART + 2, RLENGTH - 2), $0 }' "$work/each" >"$work/found"
	awk 'NR == FNR { found[$1] = 1; next } $5 == "leaked" && !($1 in found)' "$work/found" "$truth" >"$work/missed"
	awk 'NR == FNR { found[$1] = 1; next } $5 == "held" && $1 in found' "$work/found" "$truth" >"$work/wrong"
	awk 'NR == FNR { ours[$1] = 1; next } !($1 in ours)' "$truth" "$work/found" >"$work/others"
	head -n 5 "$work/missed" "$work/wrong" | sed 's/^/# /'
	check "$name: every leaked object is found" is "$(wc -l <"$work/missed") of $(truths 5 leaked)" "0 of $(truths 5 leaked)"
	check "$name: and none of those that are held" is "$(wc -l <"$work/wrong")" 0
	sed 's/^/# also: /' "$work/others"
	echo "# $name: $(wc -l <"$work/others") others"
}
