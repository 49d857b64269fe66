#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope kmap convert --to uscope: read whole by a reader that follows CAPMAP's rules, for every dialect, live objects,
# KASLR and long uptimes. Also what the other forms make of sizes, times and kinds of memory.
. "$(dirname "$0")/lib.sh"
: "${MAKE_TREE:?the script that makes a tiny kernel}"

kmap() { must "$KMEMSCOPE" kmap "$@"; }
prints() {
	local want=$1
	shift
	diff <(printf '%s\n' "$want") <("$@")
}
# by_rules FILE [SLIDE]: what a CAPMAP reader keeps of it.
by_rules() { python3 "${0%/*}/capmap-by-rules.py" "$1" ffffffff81000000 ffffffff82000000; }
through() { kmap convert --to uscope -o "$1.cmap" "$1" 2>"$1.said" && by_rules "$1.cmap"; }

# One map in each dialect: ended, live, ended unseen (by two marks), a slot never handed out, pages whose caller is not known, all of them
# accessed; a global, a stack; types that came later.
cat >eleven <<'MAP'
ffffffff81000010,42,ffff888000000000,100,10,20,ffffffff81000900,KMALLOC,ls,kmalloc-128,
  ffffffff81000100,3,1,42
  ffffffff81000100,0,5,-1
ffffffff81000010,42,ffff888000000080,60,21,0,0000000000000000,KMEM_CACHE,ls,dentry,
  ffffffff81000200,1,0,42
ffffffff81000020,42,ffff888000000100,60,22,30,00000000deadbeef,KMEM_CACHE_BULK,ls,dentry,KMALLOC
ffffffff81000020,42,ffff888000000200,60,25,31,000000000fedbeef,PERHAPS_LATER,ls,dentry,KMALLOC
  ffffffff81000200,0,2,42
00000000feedbeef,42,ffff888000000300,60,26,0,0000000000000000,KMEM_CACHE,ls,dentry,
  ffffffff81000200,0,9,42
0               ,42,ffff888000004000,4096,23,0,0000000000000000,ALLOC_PAGES_FOLIO,ls,no-slab,
  ffffffff81000300,7,7,42
ffffffff81000030,42,ffff888000005000,4096,27,33,ffffffff81000900,ALLOC_PAGES_GETFREEPAGES,ls,no-slab,
0               ,0,ffffffff81f00000,16,0,0,0000000000000000,GLOBAL,swapper,no-slab,
  ffffffff81000300,0,4,42
3               ,42,ffff888000008000,8,24,0,0000000000000000,STACK_PAGE,ls,no-slab,
  ffffffff81000300,2,0,42
ffffffff81000100 ffffffff81000200 7
MAP
# ten and nine fields, and eight, where nothing has a type; CSV.
sed -E '/^[^ ]*,/s/,[^,]*$//' eleven >ten
sed -E '/^[^ ]*,/s/,[^,]*$//' ten >nine
awk -F, -v OFS=, '/^  / { print $1, $4, $2, $3; next } NF == 12 || NF == 11 { print $1, $2, $3, $4, $5, $6, $7, $9; next } { print }' eleven >eight
kmap convert --to csv -o pair eleven 2>/dev/null
# Kept: 100 + 3 * 60 + 4096 + 16 + 8 bytes; lives 10 + 8 + 6 + 6.
for dialect in eleven ten nine; do
	check "$dialect fields are read whole" prints '7 4400 12 6 7 2 3 30' through $dialect
done
check "what is written without its accesses is counted" says '2 objects written without their accesses' cat eleven.said
# Without types a global that has no code is one of the objects left out.
check "eight fields, too" prints '6 4384 8 6 7 3 2 30' through eight
check "their types are guessed, and that is said" says '9 objects have no type' cat eight.said
check "a CSV pair, too" prints '7 4400 12 6 0 2 3 30' eval 'kmap convert --to uscope --accesses pair-accesses.csv -o pair.cmap pair-allocations.csv 2>/dev/null && by_rules pair.cmap'

# Binary, after 100 days of uptime, of a kernel that KASLR moved: 1 object that lived 3 ms, 1 that lives, 1 variable; slots are larger than
# what was asked for; pages that are user space's, the kernel's, and of two slabs, of which one is known by the call that also returned objects.
"$MAKE_TREE" "$PWD/tree" >/dev/null 2>&1
at() { printf '0x%x' $((0x$(nm tree/src/vmlinux | awk -v f="$1" '$3 == f { print $1; exit }') + $2)); }
cat >make.py <<'PY'
import struct, sys
slide, anchor, ip, use = (int(a, 0) for a in sys.argv[1:])
now = 100 * 86400 * 10**9
out = sys.stdout.buffer
out.write(struct.pack("<IHHIIQQQ24sII", 0x4d5a4b31, 1, 72, 128, 4000000, now, 5000000, anchor + slide, b"slub_alloc", 56, 0))
def put(addr, site, free, begin, end, asked, slot, gfp, kind, flags, accesses, cache=b""):
    out.write(struct.pack("<QQQQQQQIiiHBBII16s32s", addr, site, free, begin, end, asked, slot, gfp, 7, 7, 0, kind, 0, flags, len(accesses), b"ls", cache))
    for writes, reads in accesses:
        out.write(struct.pack("<QQQQQiBBHII", use + slide, writes, reads, 8 * writes, 8 * reads, 7, 0, 0, 0, 0, 0))
put(1 << 40, ip + slide, use + slide, now, now + 3000000, 100, 128, 0xcc0, 1, 1, [(2, 3)])
put((1 << 40) + 128, ip + slide, 0, now + 1000000, 0, 60, 64, 0x10, 1, 0, [(1, 0)])
put((1 << 40) + 256, ip + slide, use + slide, now, now, 9000, 16384, 0, 1, 1, [])
put(anchor + slide + 0x100, 0x18, 0, now, now + 5000000, 8, 8, 0, 6, 1, [(0, 4)])
put(1 << 41, use + slide, 0, now, 0, 4096, 4096, 0xa, 3, 0, [])
put((1 << 41) + 4096, use + slide, 0, now, 0, 4096, 4096, 0x1, 3, 0, [])
put((1 << 41) + 8192, ip + slide, 0, now, 0, 4096, 4096, 0x1, 5, 0, [(11, 0)])
put((1 << 41) + 12288, ip + slide, 0, now, 0, 4096, 4096, 0x1, 3, 0, [(13, 0)])
PY
python3 make.py 0x1200000 "$(at slub_alloc 0)" "$(at ext4_alloc 4)" "$(at base_alloc 4)" >moved.bin
range=$(nm tree/src/vmlinux | awk '$3 == "ext4_alloc" { print substr($1, 1, 11) "00000" }')
by_rules() { python3 "${0%/*}/capmap-by-rules.py" "$1" "$range" "$(printf %x $((0x$range + 0x1000000)))"; }
check "without the kernel a moved map is not in its image" eval '! through moved.bin 2>/dev/null'
check "with it all is read: KASLR, long uptime, live objects" prints '8 25552 7 27 0 0 5 8000' eval \
	'kmap convert --to uscope -k tree/src -o moved.cmap moved.bin 2>moved.said && by_rules moved.cmap'
check "no time had to be cut" eval '! grep -q "times cut" moved.said'
check "the kernel's addresses are no use to other forms" fails_saying 2 'goes with --to ksdb' "$KMEMSCOPE" kmap convert --to iti -k tree/src moved.bin
sed 's/slub_alloc/base_alloc/' moved.bin >other.bin
check "a kernel that is another one is noticed" says 'not the recorded kernel' kmap convert --to uscope -k tree/src other.bin

# Sizes: what was asked for, in all forms; slots and waste beside it where the map has them.
csv() { kmap report --csv "$@" | python3 -c 'import csv,sys
for r in csv.DictReader(sys.stdin): print(*[r[c] for c in sys.argv[1:]])' "${columns[@]}"; }
columns=(group objects bytes slot_bytes waste cold_bytes user_bytes)
check "slab pages are in no sum, user space's pages not cold, kmalloc names its cache" prints 'KMALLOC 3 9160 16576 7416 9112 0
ALLOC_PAGES 2 8192 8192 0 4096 4096
GLOBAL 1 8 8 0 0 0' csv --by type moved.bin
check "with them what was done to them" says '24 accesses to them' kmap report moved.bin
check "the matrix has no accesses to them" equal "$(kmap matrix --csv --by site moved.bin | awk -F, 'NR > 1 { n += $1 + $2 } END { print n }')" 10
check "and all of them if asked for" equal "$(kmap matrix --slab-pages --csv --by site moved.bin | awk -F, 'NR > 1 { n += $1 + $2 } END { print n }')" 34
check "unless asked for" says '^SLAB_PAGES 1 4096' csv --by type --slab-pages moved.bin
check "what is left out is said" says '8192 bytes of slabs. pages left out' kmap report moved.bin
check "kmalloc objects name their cache" prints 'no-slab 4
kmalloc-128 1
kmalloc-rcl-64 1' eval 'columns=(group objects); csv --by cache moved.bin'
kmap convert --to seed -o moved.seed moved.bin 2>/dev/null
columns=(objects bytes)
check "text and binary of one map agree" same <(csv --by site --slab-pages moved.bin | awk '{ n += $1; b += $2 } END { print n, b }') \
	<(csv --by site moved.seed | awk '{ n += $1; b += $2 } END { print n, b }')
check "text has the kernel's jiffies" eval 'awk -F, "NR == 2 { exit !(\$5 == 5000000 && \$6 == 5000000) } NR == 3 { exit 1 }" moved.seed'
check "binary keeps all of it" same <(kmap convert --to json moved.bin) <(kmap convert --to binary moved.bin 2>/dev/null | kmap convert --to json -)

# A variable has the name of its symbol, where there is one, and the file of a static one.
cat >vars.c <<'C'
int shared_counter = 1;
static int own_counter[4] = { 1 };
int *f(void) { own_counter[0]++; return own_counter; }
int main(void) { return *f() + shared_counter; }
C
cc -no-pie -O0 -o vars vars.c
variable() { printf '0               ,0,%016x,4,0,0,0000000000000000,GLOBAL,x,no-slab,\n  %016x,0,%d,1\n' 0x"$(nm vars | awk -v v="$1" '$3 == v { print $1 }')" 0x"$(nm vars | awk '$3 == "f" { print $1 }')" "$2"; }
{ variable shared_counter 5; variable own_counter 6; } >vars.map
columns=(group reads)
check "variables by name" prints 'own_counter 6
shared_counter 5' csv -k vars --order-by accesses vars.map
check "a static one by file" says '^vars.c 6$' csv -k vars --by file vars.map
check "without symbols they are one" prints '[GLOBAL] 11' csv vars.map
check "who reads a variable" says '^ +5 +0 .* f$' kmap accesses -k vars shared_counter vars.map
done_testing
