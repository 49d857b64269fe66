#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmap fields: a made-up map of a made-up module, whose object file the compiler makes here.
. "$(dirname "$0")/lib.sh"

fields() { "$KMEMSCOPE" kmap fields "$@"; }
write_map() { python3 "$here/kmap-fields.py" "$@"; }

# --- Without types ----------------------------------------------------------------------------

write_map plain.bin <<'MAP'
object ffff888000001000 128 ffffffff81000100 widgets
ffffffff81000200 r 10 8 0 0
ffffffff81000210 w 3 4 16 1
ffffffff81000210 w 3 4 20 1
ffffffff81000220 w 1 128 0 0
ffffffff81000230 r 6 1 40 0 offset
object ffff888000001040 128 ffffffff81000100 widgets
ffffffff81000200 r 5 8 0 1
MAP
fields --csv '[cache widgets]' plain.bin >plain.csv
check "offsets are fields where no type is known" equal "$(cut -d, -f2-8,9,10,13 plain.csv | tr '\n' ' ')" \
	"offset,size,reads,writes,bytes_read,bytes_written,ranges,reader_cpus,writer_cpus,field 0,8,15,1,120,8,1,0-1,0,0x0 16,4,0,4,0,16,1,,0-1,0x10 20,4,0,4,0,16,1,,0-1,0x14 "
fields plain.bin >types.txt
check "types have a row each" grep -q ' unknown *\[cache widgets\]$' types.txt
check "what varies is counted" says '6 accesses were at offsets that vary' fields '[cache widgets]' plain.bin
fields --json '[cache widgets]' plain.bin >plain.json
check "JSON says the same" python3 - <<'PY'
import json
doc = json.load(open("plain.json"))
assert doc["objects"] == 2 and doc["reads"] == 21 and doc["writes"] == 7 and doc["varying"] == 6, doc
assert doc["fields"][0]["functions"].count("0x") == 2, doc["fields"][0]
PY
check "no such type" fails_saying 1 "no accesses to objects of type 'gadget'" fields gadget plain.bin

write_map kind.bin <<'MAP'
object ffff888000001000 4096 3
ffffffff81000200 r 10 8 0 0
MAP
check "what no code allocated has its kind for a name" says ' unknown +\[[A-Z_]+\]$' fields kind.bin

# --- Maps from before there were offsets ------------------------------------------------------

write_map old.bin old <<'MAP'
object ffff888000001000 128 ffffffff81000100 widgets
ffffffff81000200 r 10 8 0 0
MAP
check "an old map is read" says '^ *1 +128' "$KMEMSCOPE" kmap report old.bin
check "... but knows no fields" fails_saying 1 'does not say where' fields old.bin

# --- What conversions keep --------------------------------------------------------------------

must "$KMEMSCOPE" kmap convert --to binary -o again.bin plain.bin 2>/dev/null
fields --csv '[cache widgets]' again.bin >again.csv
check "binary keeps offsets" same plain.csv again.csv
"$KMEMSCOPE" kmap convert --to json plain.bin >all.json
check "JSON has them" grep -q '"offset":40,"cpu":0,"offset_varies":true' all.json
must "$KMEMSCOPE" kmap convert --to seed -o seed.txt plain.bin 2>lost
check "a line of text has all offsets of an instruction" grep -qx '  ffffffff81000210,7,6,0' seed.txt
check "... and it is said that they are lost" grep -q '6 accesses lost their offset' lost

# --- With types -------------------------------------------------------------------------------

cat >mod.c <<'C'
typedef unsigned long long u64;
struct inner { u64 a, b; };
struct widget {
	u64 first;
	char small;
	struct inner in;
	unsigned int bits_a : 3, bits_b : 6;
	union { u64 number; void *pointer; };
	char name[20];
	u64 last;
};
extern void *get_memory(unsigned long);
extern void use(struct widget *, void *);
struct widget *make_widget(void *p)
{
	struct widget *w = get_memory(sizeof(*w));

	if (!w)
		return (void *)0;
	w->first = 1;
	use(w, p);
	return w;
}
C
if [ "$(uname -m)" != x86_64 ] || ! gcc -g -O2 -fno-optimize-sibling-calls -fno-pic -c -o mod.ko mod.c 2>/dev/null; then
	skip "types of a module" "no compiler here, or not x86-64"
	done_testing
	exit
fi
# Where the call returns to, and the layout by the compiler.
back=$(objdump -dr --no-show-raw-insn mod.ko | awk '/<make_widget>:/ { on = 1 } on && /get_memory/ { getline; sub(":", "", $1); print $1; exit }')
start=$(nm mod.ko | awk '$3 == "make_widget" { print $1 }')
offset=$(printf %x $((0x$back - 0x$start)))
cat >sizes.c <<'C'
#include <stddef.h>
#include <stdio.h>
#define extern static
#include "mod.c"
static void *get_memory(unsigned long n) { return 0; }
static void use(struct widget *w, void *p) {}
int main(void)
{
	printf("%zu %zu %zu %zu %zu\n", sizeof(struct widget), offsetof(struct widget, in.b),
	       offsetof(struct widget, number), offsetof(struct widget, name), offsetof(struct widget, last));
	return 0;
}
C
must gcc -w -o sizes sizes.c
read -r size in_b number name last <<<"$(./sizes)"
site=$(printf %x $((0xffffffffa0000000 + 0x$offset)))
cat >kallsyms <<'K'
ffffffff81000000 T _text
ffffffffa0000000 t make_widget	[mod]
ffffffffa0001000 t reader	[mod]
ffffffffa0002000 t writer	[mod]
ffffffffa0003000 t end	[mod]
K
write_map typed.bin <<MAP
object ffff888000001000 $size $site
ffffffffa0001010 r 1000 8 0 0
ffffffffa0002010 w 400 8 $in_b 1
ffffffffa0002020 w 1 4 32 1
ffffffffa0002030 w 2 8 $number 1
ffffffffa0001020 r 7 20 $name 0
ffffffffa0002040 w 1 16 $((name + 12)) 1
MAP
typed() { fields -k kallsyms --types mod.ko "$@"; }
typed widget typed.bin --csv >widget.csv
row() { awk -F, -v f="$1" '$13 == f { print $2, $3, $4, $5, $8, $9 == "" ? "-" : $9, $10 == "" ? "-" : $10, $12 }' widget.csv; }
check "the type is what the result is assigned to" says "^struct widget, $size bytes: 1 objects" typed widget typed.bin
check "a field that is read" equal "$(row first)" "0 8 1000 0 0 0 - no write seen"
check "a field of a struct inside" equal "$(row in.b)" "$in_b 8 0 400 0 - 1 never read"
check "bit fields are one" equal "$(row bits_a..bits_b)" "32 2 0 1 1 - 1 never read"
check "a union is one" equal "$(row '{number|pointer}')" "$number 8 0 2 0 - 1 never read"
check "an array is one; a range reaches two" equal "$(row name)" "$name 20 7 1 1 0 1 written once"
check "... and ends in the next" equal "$(row last | cut -d' ' -f4,5)" "1 1"
check "a hole is one" equal "$(awk -F, '$12 == "hole" { print $2, $3 }' widget.csv | head -n 1)" "9 7"
typed widget typed.bin >widget.txt
check "read-mostly beside written" grep -Eq '^ *0 +1000 +0 +first +reader +400 +1 +in.b +writer +yes' widget.txt
check "an order is proposed" grep -Eq '^A proposed order: 80 bytes \(now 80\), .* 0 of them with both what is read and what is written \(now 1\)' widget.txt
check "a struct may be called so" says '^struct widget' typed "struct widget" typed.bin
check "a drawing as SVG" typed -o widget.svg widget typed.bin
check "... has the fields" grep -q '>first<' widget.svg
check "... as PNG" typed -o widget.png widget typed.bin
check "... is one" test "$(head -c 4 widget.png | tail -c 3)" = PNG
check "a drawing is of a type" fails_saying 2 'say of which type' typed -o x.svg typed.bin

# Another size: it cannot be that struct.
write_map other.bin <<MAP
object ffff888000001000 $((size - 8)) $site
ffffffffa0001010 r 1000 8 0 0
MAP
check "a type must fit" says ' unknown +\[make_widget\+0x' typed other.bin
write_map array.bin <<MAP
object ffff888000001000 $((size * 3)) $site
ffffffffa0001010 r 5 8 0 0
ffffffffa0001010 r 6 8 $size 0
MAP
typed widget array.bin --csv >widget.csv
check "an array is as its elements" equal "$(row first)" "0 8 11 0 0 0 - no write seen"

# The kernel's own type information has the same struct, for objects of which only the cache is known.
if gcc -gbtf -O2 -fno-pic -c -o btf.o mod.c 2>/dev/null && objcopy -O binary -j .BTF --set-section-flags .BTF=alloc btf.o widget.btf; then
	write_map site.bin <<MAP
object ffff888000001000 $size $site
ffffffffa0001010 r 1000 8 0 0
ffffffffa0002010 w 400 8 $in_b 1
MAP
	write_map cache.bin <<MAP
object ffff888000001000 $size 0 widget
ffffffffa0001010 r 1000 8 0 0
ffffffffa0002010 w 400 8 $in_b 1
object ffff888000003000 64 0 kmalloc-64
ffffffffa0001010 r 10 8 8 0
object ffff888000004000 128 0 kmalloc-128
ffffffffa0001010 r 10 8 8 0
MAP
	typed widget site.bin --csv >dwarf.csv
	fields -k kallsyms --types widget.btf widget cache.bin --csv >btf.csv
	check "BTF has the fields that DWARF has" same <(cut -d, -f1-4,8,12- dwarf.csv) <(cut -d, -f1-4,8,12- btf.csv)
	check "... which are named" grep -Eq "^[0-9]+,$in_b,8,0,400,.*,in\.b," btf.csv
	check "caches of unknown sites are apart" equal "$(fields cache.bin --json | python3 -c 'import json, sys; print(*sorted(t["type"] for t in json.load(sys.stdin)["types"]))')" \
		'[cache kmalloc-128] [cache kmalloc-64] [cache widget]'
	# A struct that has itself as a member 200 times is no reason to look for ever.
	python3 - >self.btf <<'PYTHON'
import struct
import sys
names = b"\0widget\0a\0"
types = struct.pack("<III", 1, 4 << 24 | 200, 80) + struct.pack("<III", 8, 1, 0) * 200
sys.stdout.buffer.write(struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(types), len(types), len(names)) + types + names)
PYTHON
	check "a struct inside of itself" exits_with 0 timeout 300 "$KMEMSCOPE" kmap fields --types self.btf cache.bin
	head -c 200 widget.btf >cut.btf
	check "damaged type information" fails_saying 3 'cut.btf: type information .BTF. that makes no sense' fields --types cut.btf cache.bin
else
	skip "type information" "the compiler has no -gbtf"
fi

strip -g -o bare.ko mod.ko
check "no debug information" fails_saying 3 'has no debug information' fields --types bare.ko typed.bin
check "no such file" fails_saying 1 'nowhere: No such file' fields --types nowhere typed.bin
done_testing
