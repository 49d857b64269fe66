#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope kmap: the views, compared with awk and with values computed by hand; conversions; symbols.
. "$(dirname "$0")/lib.sh"
: "${MAKE_TREE:?the script that makes a tiny kernel}"

"$MAKE_TREE" "$PWD/tree" >/dev/null 2>&1
image=tree/src/vmlinux

# at FUNCTION OFFSET [SLIDE]: its address, as a map prints it.
at() {
	printf '%016x' $((0x$(nm "$image" | awk -v f="$1" '$3 == f { print $1; exit }') + $2 + ${3:-0}))
}

# make_map SLIDE: two sites, in fs/ext4 and in mm, and one global, with their accesses.
make_map() {
	cat <<MAP
$(at ext4_alloc 4 "$1"),10,ffff888000000000,100,0,100,$(at base_alloc 8 "$1"),KMALLOC,ls,kmalloc-128,
  $(at ext4_alloc 8 "$1"),2,3,10
  $(at slub_alloc 4 "$1"),0,7,11
$(at ext4_alloc 4 "$1"),10,ffff888000000080,100,0,50,$(at base_alloc 8 "$1"),KMALLOC,l,s,kmalloc-128,
$(at slub_alloc 6 "$1"),10,ffff888000001000,60,0,0,0000000000000000,KMEM_CACHE,ls,dentry,
  $(at inode_alloc 4 "$1"),5,0,10
0               ,0,ffffffff82000000,16,0,0,0000000000000000,GLOBAL,swapper,no-slab,
  $(at inode_alloc 4 "$1"),0,1,10
MAP
}
make_map 0 >map
kmap() { must "$KMEMSCOPE" kmap "$@"; }
field() { python3 -c 'import csv,sys; rows=list(csv.DictReader(sys.stdin))
for r in rows: print(*[r[c] for c in sys.argv[1:]])' "$@"; }
# prints EXPECTED COMMAND...: the rows, as they are.
prints() {
	local want=$1
	shift
	diff <(printf '%s\n' "$want") <("$@")
}

rows() { kmap "$@" --csv | field "${columns[@]}"; }
columns=(group objects bytes live_bytes mean_bytes reads writes own_accesses foreign_accesses cold_bytes write_only_bytes)
check "report by site, with a tree" prints 'ext4_alloc+0x4 2 200 0 150 10 2 5 7 100 0
slub_alloc+0x6 1 60 60 60 0 5 0 0 0 60
[GLOBAL] 1 16 16 16 1 0 0 0 0 0' rows report -k tree/src map
columns=(group objects reads writes)
check "by directory" prints 'fs/ext4 2 10 2
mm 1 0 5
[GLOBAL] 1 1 0' rows report -k tree/src --by dir map
check "by cache, most accessed first" prints 'kmalloc-128 2 10 2
dentry 1 0 5
no-slab 1 1 0' rows report --by cache --order-by accesses map
check "by type" prints 'KMALLOC 2 10 2
KMEM_CACHE 1 0 5
GLOBAL 1 1 0' rows report --by type map
columns=(code reads writes frees)
check "who touches a site" prints 'slub_alloc 7 0 0
ext4_alloc 3 2 0
base_alloc 0 0 2' rows accesses -k tree/src ext4_alloc map
columns=(site reads writes)
check "what a function touches" prints 'slub_alloc+0x6 0 5
[GLOBAL] 1 0' rows touches -k tree/src inode_alloc map
columns=(code owner reads writes)
check "the matrix" prints 'mm fs/ext4 7 0
fs mm 0 5
fs/ext4 fs/ext4 3 2
fs [GLOBAL] 1 0' rows matrix -k tree/src --by dir map
# Calls, with symbols: of two places in one function, some with the number of returns.
{
	cat map
	echo "$(at ext4_alloc 8) $(at base_alloc 0) 7 6"
	echo "$(at ext4_alloc 4) $(at base_alloc 0) 4 4"
	echo "$(at slub_alloc 4) $(at ext4_alloc 0) 2"
} >calls
columns=(caller called calls returns sites)
check "calls by function" prints 'ext4_alloc base_alloc 11 10 2
slub_alloc ext4_alloc 2 2 1' rows calls -k tree/src calls
check "calls by directory" prints 'fs/ext4 drivers/base 11 10 2
mm fs/ext4 2 2 1' rows calls -k tree/src --by dir calls
check "calls in a heat map" says 'calls; colours are logarithmic' eval 'kmap calls -k tree/src -o calls.svg calls >/dev/null; cat calls.svg'
check "a map without calls says so" says "the map has no calls: 'lab run --calls'" "$KMEMSCOPE" kmap calls map
check "calls of a binary map" same <(kmap calls --csv calls) <(kmap convert --to binary calls 2>/dev/null | kmap calls --csv -)
# The image has the bytes of code that calls and returns weigh: of each place, what is called or returned to.
size_of() { nm -S "$image" | awk -v f="$1" '$4 == f { print $2; exit }'; }
columns=(cut operation ps_min)
check "calls and returns weigh bytes of code" prints "function call $((2 * 0x$(size_of base_alloc) + 0x$(size_of ext4_alloc)))
function return $((2 * 0x$(size_of ext4_alloc) + 0x$(size_of slub_alloc)))" eval \
	'rows privilege --model uscope -k tree/src/vmlinux calls | grep -E "^function (call|return)"'
check "an unknown site is reported" fails_saying 1 "no objects of 'nobody'" "$KMEMSCOPE" kmap accesses -k tree/src nobody map

# KASLR moved the addresses. The offset comes from a kallsyms of that boot, or from the header of a binary stream.
make_map 0x1200000 >moved
nm "$image" | while read -r address kind name; do
	printf '%016x %s %s\n' $((0x$address + 0x1200000)) "$kind" "$name"
done >kallsyms
check "moved by KASLR, with kallsyms" diff <(kmap report --csv -k tree/src map) <(kmap report --csv -k tree/src -k kallsyms moved)
python3 - "$(at ext4_alloc 4 0x1200000)" "$(at slub_alloc 0 0x1200000)" >moved.bin <<'PY'
import struct, sys
ip, anchor = (int(a, 16) for a in sys.argv[1:])
sys.stdout.buffer.write(struct.pack("<IHHIIQQQ24sII", 0x4d5a4b31, 1, 72, 128, 4000000, 0, 0, anchor, b"slub_alloc", 48, 0))
sys.stdout.buffer.write(struct.pack("<QQQQQQQIiiHBBII16s32s", 1 << 40, ip, 0, 5, 0, 60, 64, 0, 1, 1, 0, 1, 0, 0, 0, b"ls", b"x"))
PY
columns=(group objects bytes)
check "moved by KASLR, a binary stream" prints 'ext4_alloc+0x4 1 60' rows report -k tree/src moved.bin

printf '%016x,0,%s,0,0,0,%016x,slub_alloc\n%s,1,%x,64,5,0,%016x,ls\n' 0 "$(at slub_alloc 0 0x1200000)" 0 \
	"$(at ext4_alloc 4 0x1200000)" 4096 0 >moved.text
check "moved by KASLR, text with its anchor" prints 'ext4_alloc+0x4 1 64' rows report -k tree/src moved.text
for to in seed binary; do
	kmap convert --to $to -o moved.$to moved.text 2>/dev/null
	check "the anchor stays in $to" prints 'ext4_alloc+0x4 1 64' rows report -k tree/src moved.$to
done
check "a form without anchors says so" says "1 notes of the kernel's address dropped" kmap convert --to iti moved.text

sed 's/slub_alloc/base_alloc/' moved.text >other.text
check "a kernel other than the recorded one is noticed" says 'not the recorded kernel: it has base_alloc at another address' kmap report -k tree/src other.text
check "the right one is not" prints 0 eval 'kmap report -k tree/src moved.text 2>&1 | grep -c recorded'

# A larger map: every view adds up to what awk counts.
awk 'BEGIN {
	srand(7); n = 20000
	for (i = 0; i < n; i++) {
		site = int(rand() * 200)
		printf "%-16x,%d,%016x,%d,%d,%d,%016x,KMALLOC,cmd%d,cache%d,\n", 4278190080 + site * 64, i % 50, 1099511627776 + i * 64, 8 * (1 + site % 9), i, rand() < .1 ? 0 : i + int(rand() * 500) + 1, 4278290080, i % 7, site % 5
		for (j = int(rand() * 6); j > 0; j--)
			printf "  %016x,%d,%d,%d\n", 4278490080 + int(rand() * 900), int(rand() * 4), int(rand() * 9), int(rand() * 50)
	}
}' >big
counted=$(awk -F, '/^ / { w += $2; r += $3; next } { o++; b += $4 } END { print o, b, r, w }' big)
sums() { python3 -c 'import csv,sys
rows=list(csv.DictReader(sys.stdin)); print(*[sum(int(r[c]) for r in rows) for c in sys.argv[1:]])' "$@"; }
for by in site function cache type module; do
	check "report --by $by adds up" prints "$counted" eval "kmap report --by $by --top 0 --csv big | sums objects bytes reads writes"
done
check "the matrix adds up" prints "${counted#* * }" eval 'kmap matrix --by function --top 0 --csv big | sums reads writes'
check "JSON has the same sums" prints "$counted" eval 'kmap report --json --top 1 big | python3 -c "import json,sys; m=json.load(sys.stdin)[\"map\"]; print(m[\"objects\"],m[\"bytes\"],m[\"reads\"],m[\"writes\"])"'
gzip -k big && zstd -q big && xz -k -0 big
for end in gz zst xz; do
	check "compressed, .$end" diff <(kmap report big) <(kmap report big.$end)
done
check "a map from a pipe" diff <(kmap report big) <(kmap report - <big)

# Conversions. kmap-uscope.sh reads ten fields by the published rules.
sed -i '1s/KMALLOC,cmd/ALLOC_PAGES_FOLIO,a,b,cmd/' big
echo 'ffffffff81000000 ffffffff81000100 3' >>big
for to in seed uscope iti json binary; do
	kmap convert --to $to -o big.$to big 2>big.$to.said
done
kmap convert --to csv -o big big 2>big.csv.said
for to in seed uscope iti binary; do
	check "back from $to" prints "$counted" eval "kmap report --by type --top 0 --csv big.$to | sums objects bytes reads writes"
done
check "back from the CSV pair" prints "$counted" eval "kmap report --by type --top 0 --csv --accesses big-accesses.csv big-allocations.csv | sums objects bytes reads writes"
cat >by-manual.py <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
objects = size = reads = writes = called = 0
at = 0
while at < len(data):
    if struct.unpack_from("<I", data, at)[0] == 0x4d5a4b31:
        version, header, record = struct.unpack_from("<HHI", data, at + 4)
        access, calls = struct.unpack_from("<II", data, at + 64)
        at += header
        assert version in (1, 2)
        for i in range(calls if version == 2 else 0):
            called += struct.unpack_from("<QQQQ", data, at)[2]
            at += 32
        continue
    objects += 1
    asked, given = struct.unpack_from("<QQ", data, at + 40)
    size += asked or given
    n = struct.unpack_from("<I", data, at + 76)[0]
    at += record
    for i in range(n):
        ip, w, r = struct.unpack_from("<QQQ", data, at)
        reads += r; writes += w; at += access
print(objects, size, reads, writes)
if called:
    print("calls", called)
PY
check "binary as its manual page says" prints "$counted
calls 3" python3 by-manual.py big.binary
check "a map cut within accesses keeps what is complete" says '1 lines or records not understood' eval 'head -c 260 big.binary | kmap report -'
check "one object per line in JSON" prints "$counted" python3 -c 'import json
o=[json.loads(l) for l in open("big.json")]; o=[x for x in o if "size" in x]
a=[y for x in o for y in x["accesses"]]
print(len(o),sum(x["size"] for x in o),sum(y["reads"] for y in a),sum(y["writes"] for y in a))'
check "a second round changes nothing" same big.iti <(kmap convert --to iti big.iti 2>/dev/null)
check "nor does one of binary" cmp big.binary <(kmap convert --to binary big.binary 2>/dev/null)
check "dropped types and caches are counted" prints "4 types 4 cache" eval 'kmap convert --to seed "$data/sample.kmap" 2>&1 >/dev/null |
	sed -n "s/.*: \([0-9]* [a-z]*\).* dropped: .*/\1/p" | paste -sd " "'
kmap convert --to seed -o no-types.seed "$data/sample.kmap" 2>/dev/null
check "of objects without a type none is dropped" equal "$(kmap convert --to binary no-types.seed 2>&1 >/dev/null)" ""
check "drops are reported" says '1 call lines dropped' cat big.iti.said
check "and the types that became others" says '1 types replaced by the nearest' cat big.uscope.said

# As a DB, which all other commands read: site by site what the map says, in both levels of memory.
kmap convert --to ksdb -o big.ksdb big 2>big.ksdb.said
of_db() { must "$KMEMSCOPE" report --by site --top 0 --csv "$@" big.ksdb | tail -n +2; }
check "a DB says the same of every site" same \
	<(kmap report --by site --top 0 --csv big | field group objects bytes live_objects live_bytes | sort) \
	<(cat <(of_db) <(of_db --pages) | awk -F, '{ n[$1] += $8; b[$1] += $2; l[$1] += $6; lb[$1] += $4 }
		END { for (s in n) print s, n[s], b[s], l[s], lb[s] }' | sort)
check "and of all" prints "${counted% * *}" eval 'cat <(of_db) <(of_db --pages) |
	awk -F, "{ n += \$8; b += \$2 } END { print n, b }"'
check "drops are reported for a DB" says "$(grep -c '^ ' big) access lines dropped" cat big.ksdb.said
# Within one tick an address is used three times. One object is live, the free of one was not seen, and a global
# was never allocated.
cat >tick <<'MAP'
ffffffff81000010,42,ffff888000000040,64,5,5,ffffffff81000900,KMALLOC,ls,kmalloc-64,
ffffffff81000010,42,ffff888000000040,64,5,9,ffffffff81000900,KMALLOC,ls,kmalloc-64,
ffffffff81000010,42,ffff888000000040,64,3,5,ffffffff81000900,KMALLOC,ls,kmalloc-64,
ffffffff81000010,42,ffff888000000080,64,5,0,0000000000000000,KMALLOC,ls,kmalloc-64,
ffffffff81000010,42,ffff8880000000c0,64,5,7,00000000deadbeef,KMALLOC,ls,kmalloc-64,
0               ,0,ffffffff82000000,4000,0,0,0000000000000000,GLOBAL,x,no-slab,
MAP
kmap convert --to ksdb -o tick.ksdb tick 2>tick.said
check "one tick, one address, three objects" says '^ +320 +0 +64 +5/4 ' "$KMEMSCOPE" account tick.ksdb
check "every end was found" prints 0 eval 'must "$KMEMSCOPE" info tick.ksdb | grep -cE "implied|before"'
check "objects that no allocator made are reported" says '4000 bytes in them' cat tick.said
check "a free that was not seen is reported" says '1 objects whose free was not seen' cat tick.said
kmap convert --to ksdb -k tree/src -o map.ksdb map 2>/dev/null
check "a DB with names" says ' ext4_alloc\+0x4$' "$KMEMSCOPE" account map.ksdb
# Every command that takes a capture takes a map of any form, and says of it what it says of the DB.
kmap convert --to binary -o tick.bin tick 2>/dev/null
kmap convert --to ksdb -o tick.bin.ksdb tick.bin 2>/dev/null
kmap convert --to csv -o tick tick 2>/dev/null
kmap convert --to ksdb -o tick.csv.ksdb tick-allocations.csv 2>/dev/null
for pair in big:big.ksdb tick:tick.ksdb tick.bin:tick.bin.ksdb tick-allocations.csv:tick.csv.ksdb; do
	for what in account 'report --by comm' 'report --pages --json' 'report --frag' leaks 'timeline --json' info 'export --format csv --table objects'; do
		check "$what of ${pair%:*}" same <(must "$KMEMSCOPE" $what "${pair%:*}") <(must "$KMEMSCOPE" $what "${pair#*:}")
	done
done
check "a map with names" same <(must "$KMEMSCOPE" account -k tree/src map) <(must "$KMEMSCOPE" account map.ksdb)
check "from a pipe, compressed" same <(gzip -c big | must "$KMEMSCOPE" account -) <(must "$KMEMSCOPE" account big)
must "$KMEMSCOPE" import -o tick.imported tick >/dev/null
check "imported" same <(must "$KMEMSCOPE" account tick.imported) <(must "$KMEMSCOPE" account tick.ksdb)
check "a map that is whole" says ' ok' "$KMEMSCOPE" check tick
# What is left out of a map is counted: 5 objects, of which one ended unseen, and a global.
check "what no allocator made is counted" says ' 1 objects that no allocator made' "$KMEMSCOPE" report tick
check "and a free that was not seen" says '"unseen_frees": 1' "$KMEMSCOPE" report --json tick
check "and accesses" says " $(($(grep -c '^ ' big) + 1)) accesses and calls" "$KMEMSCOPE" info big
check "a text map has no CPUs" eval '"$KMEMSCOPE" report --by cpu tick 2>&1 | grep -q "no cpu: the source does not name CPUs"'
check "nor one CPU's objects" eval '"$KMEMSCOPE" report --cpu 0 tick 2>&1 | grep -q "no objects of one CPU: "'
check "a binary map has" prints 0 eval '"$KMEMSCOPE" report --by cpu tick.bin 2>&1 | grep -c "no cpu"'
check "no map has nodes" eval '"$KMEMSCOPE" report --by node tick.bin 2>&1 | grep -q "no node: the source does not name nodes"'
# Of two kinds of lines, what there are more of decides.
log_line=' x-1 [000] d..3. 1.000000: kmalloc: call_site=f+0x1/0x2 ptr=0xffff888000000040 bytes_req=8 bytes_alloc=8 gfp_flags=GFP_KERNEL'
{ head -1 tick; for _ in 1 2 3; do echo "$log_line"; done; } >more-log
{ echo "$log_line"; head -5 tick; } >more-map
check "a log with a map's line in it is a log" says 'ftrace text' "$KMEMSCOPE" info more-log
check "a map with a log's line in it is a map" says 'access map' "$KMEMSCOPE" info more-map
check "whose other lines are counted" says '1 lines not understood' "$KMEMSCOPE" info more-map
check "a DB needs a name" fails_saying 2 'with -o' "$KMEMSCOPE" kmap convert --to ksdb map

# Without types, objects without a site are pages, and a whole page with a site is a slab object.
cat >typeless <<'MAP'
0000000000000000,42,ffff888000001000,4096,5,0,0000000000000000,ls
ffffffff81000010,42,ffff888000002000,4096,5,0,0000000000000000,ls
ffffffff81000010,42,ffff888000001000,64,6,0,0000000000000000,ls
MAP
kmap convert --to ksdb -o typeless.ksdb typeless 2>/dev/null
check "without types: slabs and pages" prints '4160 2
4096 1' eval 'for level in "" --pages; do must "$KMEMSCOPE" report --json $level typeless.ksdb |
	python3 -c "import json,sys; t=json.load(sys.stdin)[\"total\"]; print(t[\"live_bytes\"],t[\"live_objects\"])"; done'

# A map of /bin/true from an instrumented kernel, in both forms, counted independently.
sums_of_map() { kmap report --json "$1" | python3 -c 'import json,sys
m=json.load(sys.stdin)["map"]; print(m["objects"],m["bytes"],m["reads"],m["writes"])'; }
zstd -dq "$data/true.kmap.bin.zst" -o true.bin
check "a real map, text, against awk" prints "$(zstd -dcq "$data/true.kmap.zst" |
	awk -F, '/^ / { w += $3; r += $4; next } $4 > 0 { o++; b += $4 } END { print o, b, r, w }')" sums_of_map "$data/true.kmap.zst"
check "a real map, binary, by the manual page" prints "$(python3 by-manual.py true.bin)" sums_of_map "$data/true.kmap.bin.zst"
check "a real map: every view adds up" same \
	<(for view in "report --by site" "report --by cache" "matrix --by function"; do kmap $view --top 0 --csv true.bin | sums reads writes; done | sort -u) \
	<(python3 by-manual.py true.bin | cut -d ' ' -f 3-)
must "$KMEMSCOPE" kmap convert --to binary -o true-now.bin true.bin 2>/dev/null
check "a real map from before there were offsets, to binary: the same map" same <(kmap convert --to json true.bin) <(kmap convert --to json true-now.bin)
check "a real map, to binary and back" cmp true-now.bin <(kmap convert --to binary true-now.bin 2>/dev/null)
check "a real map, cut anywhere" prints 0 eval 'for n in 73 200 201 1000 5000 99999 200000; do
	head -c $n true.bin | kmap report - >/dev/null || echo $n; done | wc -l'

# Heat maps.
kmap matrix -k tree/src -o heat.svg map >/dev/null
kmap matrix -k tree/src -o heat.png map >/dev/null
check "the SVG is XML, with the names" python3 -c 'import xml.etree.ElementTree as e
t="".join(e.parse("heat.svg").getroot().itertext())
assert all(n in t for n in ("fs/ext4", "mm", "[GLOBAL]", "7 accesses")), t'
check "the PNG is one" python3 -c 'import struct
d=open("heat.png","rb").read(); assert d[:8]==b"\x89PNG\r\n\x1a\n"; assert min(struct.unpack(">II",d[16:24]))>100'
check "other names are refused" fails_saying 2 'ends in .png or .svg' "$KMEMSCOPE" kmap matrix -o heat.gif map

# Two maps.
sed -e '/dentry/,+1d' -e "s/,0,7,11\$/,0,9,11/" map >later
columns=(change site objects_old objects_new reads_old reads_new)
check "diff: what vanished and changed" prints 'vanished slub_alloc 1 0 0 0
changed ext4_alloc 2 2 10 12' rows diff -k tree/src map later
check "diff of a map with itself is empty" test "$(kmap diff --csv map map | wc -l)" = 1

# The waste from a capture next to the accesses.
cat >kmem.log <<LOG
 ls-10 [000] ..... 1.000000: kmalloc: call_site=ext4_alloc+0x4/0x20 ptr=00000000a24afd00 bytes_req=70 bytes_alloc=100 gfp_flags=GFP_KERNEL
 ls-10 [000] ..... 1.000001: kmalloc: call_site=ext4_alloc+0x4/0x20 ptr=00000000a24afe00 bytes_req=90 bytes_alloc=100 gfp_flags=GFP_KERNEL
LOG
columns=(group bytes capture_allocs capture_bytes capture_waste)
check "joined with a capture" prints 'ext4_alloc+0x4 200 2 200 40
slub_alloc+0x6 60 0 0 0
[GLOBAL] 16 0 0 0' rows report -k tree/src --with kmem.log map

# Errors.
check "no subcommand" fails_saying 2 "Try 'kmemscope kmap --help'" "$KMEMSCOPE" kmap
check "an unknown one" fails_saying 2 "unknown subcommand 'rport'" "$KMEMSCOPE" kmap rport map
check "no file" fails_saying 2 'usage: kmemscope kmap report FILE' "$KMEMSCOPE" kmap report
check "an option of another subcommand" fails_saying 2 "has no option --to" "$KMEMSCOPE" kmap report --to json map
check "a bad --by" fails_saying 2 "by 'colour'" "$KMEMSCOPE" kmap report --by colour map
check "a bad --dialect" fails_saying 2 '8 to 11' "$KMEMSCOPE" kmap report --dialect 7 map
check "a bad --to" fails_saying 2 'seed uscope iti csv json binary ksdb' "$KMEMSCOPE" kmap convert --to xml map
check "not a map" fails_saying 3 "no line of an access map.*it is a log: 'kmemscope account' reads it" "$KMEMSCOPE" kmap report kmem.log
check "--strict, a good map" exits_with 0 "$KMEMSCOPE" kmap report --strict map
echo junk >>map
check "--strict, a bad line" fails_saying 4 'not understood' "$KMEMSCOPE" kmap report --strict map
printf 'ffffffff81000010,1,0,8,1,2,ffffffff81000020,\033[31mred\n  ffffffff81000020,1,1,1\n' >hostile
check "escape sequences are made harmless" exits_with 1 bash -c 'must "$0" kmap report hostile | grep -q "$(printf "\033")"' "$KMEMSCOPE"

# Without source files, places are no answer: it says so, and takes functions.
cat >bare.kmap <<'MAP'
ffffffff81000100,42,ffff888000001000,64,1,9,ffffffff81000900,ls
  ffffffff81000200,42,3,5
MAP
printf 'ffffffff81000000 T alloc_it\nffffffff81000180 T use_it\nffffffff81000800 T free_it\nffffffff81002000 T end\n' >bare.syms
check "a matrix without files is by function" says 'no source file is known, so the table is by function' "$KMEMSCOPE" kmap matrix -k bare.syms bare.kmap
check "and has them" says 'use_it' "$KMEMSCOPE" kmap matrix -k bare.syms bare.kmap
check "privilege says what it can't tell" says 'no source file is known' "$KMEMSCOPE" kmap privilege -k bare.syms bare.kmap
check "and has no cut by file" bash -c '! must "$0" kmap privilege -k bare.syms --csv bare.kmap | grep -q "^file"' "$KMEMSCOPE"
check "but one by function" says '^function,read,' "$KMEMSCOPE" kmap privilege -k bare.syms --csv bare.kmap

# A linked kernel of three functions: objects of 64 bytes are allocated by one, touched by the next, freed by the third.
cat >tiny.s <<'ASM'
	.text
	.globl alloc_it, use_it, free_it
	.type alloc_it, @function
	.type use_it, @function
	.type free_it, @function
alloc_it:			# reads 1, writes 1, calls 1 beside the compiler's own
	mov (%rdi), %rax
	mov %rax, (%rsi)
	call __asan_load8
	call use_it
	ret
	.size alloc_it, 0x40
	.org 0x180, 0x90
use_it:				# reads 2, writes 1: an addition in memory does both; names memory, and the stack
	addl $1, (%rdi)
	cmpl $0, 8(%rdi)
	lea 8(%rdi), %rax
	mov %rax, -8(%rsp)
	ret
	.size use_it, 0x100
	.org 0x800, 0x90
free_it:
	ret
	.size free_it, 0x10
	.org 0x810, 0x90
	.type __asan_load8, @function
__asan_load8:
	ret
	.size __asan_load8, 1
ASM
if x86_64-linux-gnu-as -o tiny.o tiny.s 2>/dev/null || as -o tiny.o tiny.s; then
	ld -Ttext=0xffffffff81000000 -e alloc_it -z max-page-size=4096 -o tiny.vmlinux tiny.o
	cp bare.kmap calls.kmap
	echo 'ffffffff81000010 ffffffff81000180 3' >>calls.kmap
	check "compartments by function are written" exits_with 0 "$KMEMSCOPE" kmap compartments --by function -k tiny.vmlinux -o tiny.yaml calls.kmap
	python3 - tiny.yaml >tiny.counts <<'PY'
import re, sys
for domain in open(sys.argv[1]).read().split("object_map")[0].split("- name: ")[1:]:
    name = domain.split("\n")[0].strip('"')
    print(name, re.search(r"sizes:\n  - (\d+)", domain)[1], *re.findall(r"_instructions: (\d+)", domain))
PY
	sort tiny.counts | diff - <(printf '%s\n' '__asan_load8 1 0 0 0 1' 'alloc_it 64 1 1 1 1' 'free_it 16 0 0 0 1' 'use_it 256 2 1 0 1') >&2
	check "with the sizes and instructions of the image" test $? = 0
	# Data weighs 64, code 64 + 256 + 16 + 1. Read: 3 instructions may read 64 + 337 bytes; use_it's 2 read across.
	check "privilege by the published rules" says '^function,read,64,64,1203,0.0532.*,192,0.3333' "$KMEMSCOPE" kmap privilege --model uscope -k tiny.vmlinux --csv calls.kmap
	# A call reaches use_it, 256 bytes, out of 337.
	check "calls weigh code" says '^function,call,256,256,401,0.638.*,337,0.7596' "$KMEMSCOPE" kmap privilege --model uscope -k tiny.vmlinux --csv calls.kmap
	check "returns, too" says '^function,return,64,64,1604,' "$KMEMSCOPE" kmap privilege --model uscope -k tiny.vmlinux --csv calls.kmap
	check "what was written is a cut" says 'use_it' "$KMEMSCOPE" kmap report --by compartment --cut tiny.yaml -k tiny.vmlinux calls.kmap
	check "and has a score" says '^total ' "$KMEMSCOPE" kmap score tiny.yaml
fi
check "compartments want a number" fails_saying 2 'say how to divide' "$KMEMSCOPE" kmap compartments bare.kmap
check "--by compartment wants a cut" fails_saying 2 'say which with --cut' "$KMEMSCOPE" kmap report --by compartment bare.kmap
check "a cut that is none" fails_saying 3 'bare.syms' "$KMEMSCOPE" kmap report --by compartment --cut bare.syms bare.kmap
check "no such cut" fails_saying 1 'no such file' "$KMEMSCOPE" kmap score nothing.yaml
printf 'O2, 1, x, 1, 1\n' >bad.weights
printf 'subject_map: []\nobject_map: []\nprivileges: []\n' >empty.yaml
check "weights that are none" fails_saying 3 'bad.weights: line 1' "$KMEMSCOPE" kmap score --weights bad.weights empty.yaml
check "a name that only symbols would know" fails_saying 1 'it has addresses only: name its code with -k' "$KMEMSCOPE" kmap accesses alloc_it bare.kmap
check "with them it is found" says 'use_it' "$KMEMSCOPE" kmap accesses -k bare.syms alloc_it bare.kmap
check "kmap alone lists what it can do" fails_saying 2 'kmap report FILE' "$KMEMSCOPE" kmap
check "did you mean a subcommand" fails_saying 2 "did you mean 'report'" "$KMEMSCOPE" kmap reprot bare.kmap
done_testing
