#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope gate with rules on the layout of types: a made-up map of a made-up module, which the compiler makes here.
. "$(dirname "$0")/lib.sh"

cat >mod.c <<'C'
struct widget { long first; char small; long written; long cold[9]; long last; };
struct gadget { long one, two; };
extern void *get_memory(unsigned long);
extern void use(void *);
struct widget *make_widget(void)
{
	struct widget *w = get_memory(sizeof(*w));

	if (w)
		w->first = 1;
	use(w);
	return w;
}
struct gadget *make_gadget(void)
{
	struct gadget *g = get_memory(sizeof(*g));

	if (g)
		g->one = 1;
	use(g);
	return g;
}
C
if [ "$(uname -m)" != x86_64 ] || ! gcc -g -O2 -fno-optimize-sibling-calls -fno-pic -c -o mod.ko mod.c 2>/dev/null; then
	skip "layouts of types" "no compiler here, or not x86-64"
	done_testing
	exit
fi
back() { objdump -dr --no-show-raw-insn mod.ko | awk -v f="<$1>:" '$2 == f { on = 1 } on && /get_memory/ { getline; sub(":", "", $1); print $1; exit }'; }
widget=$(printf %x $((0xffffffffa0000000 + 0x$(back make_widget))))
gadget=$(printf %x $((0xffffffffa0000000 + 0x$(back make_gadget))))
nm mod.ko | awk '$2 == "T" { printf "ffffffffa%s t %s\t[mod]\n", substr($1, 10), $3 } END { print "ffffffffa0001000 t reader\t[mod]"; print "ffffffffa0002000 t end\t[mod]" }' >kallsyms
# Of a widget: what is read and what is written in one line, and the last member in another; its hole is of 7 bytes.
write_map() { # FILE COUNT-OF-LAST
	python3 "$here/kmap-fields.py" "$1" <<MAP
object ffff888000001000 104 $widget
ffffffffa0001010 r 1000 8 0 0
ffffffffa0001020 w 400 8 16 1
ffffffffa0001030 r $2 8 96 0
object ffff888000002000 16 $gadget
ffffffffa0001010 r 5 8 0 0
MAP
}
write_map map.bin 700
write_map good.bin 3
gate() { # CODE RULE...
	local code=$1
	shift
	printf '%s\n' "$@" >budget
	exits_with "$code" "$KMEMSCOPE" gate -k kallsyms --types mod.ko --budget budget map.bin
}

check "a size may be reached" gate 0 'type widget size 104'
check "a size may not be exceeded" gate 5 'type widget size 103'
check "a size has a unit" gate 0 'type widget size 1K'
check "holes" gate 0 'type widget holes 7'
check "holes over the limit" gate 5 'type widget holes 6'
check "hot lines" gate 0 'type widget hot-lines 2'
check "hot lines over the limit" gate 5 'type widget hot-lines 1'
check "lines that are read and written" gate 0 'type widget mixed-lines 1'
check "... over the limit" gate 5 'type widget mixed-lines 0'
check "a pattern is for each type" gate 5 'type * size 100'
check "... without a rule of its own" gate 0 'type * size 16' 'type widget size 104'
check "... for the same measure" gate 5 'type * size 16' 'type widget holes 7'
check "beside rules on memory" gate 0 'total live 1M' 'type widget size 104'
check "which count, too" gate 5 "function no_such live 1" "type widget size 104"
echo 'type widget hot-lines 1' >budget
run() { "$KMEMSCOPE" gate -k kallsyms --types mod.ko --budget budget "$@"; }
check "the reason is readable" ends_saying 5 '^OVER    hot-lines of type widget: 2 of 1, 1 too much \(line 1\)' run map.bin
check "Markdown" ends_saying 5 '^\| OVER \| hot-lines \| type widget \| 2 \| 1 \| 1 \|$' run --markdown map.bin
run --junit out.xml map.bin >/dev/null 2>&1
check "JUnit" grep -q 'name="hot-lines of type widget"><failure message="OVER' out.xml
check "of a map with fewer it is well" exits_with 0 run good.bin
echo 'type widget size 103' >budget
check "sizes have all digits" ends_saying 5 'size of type widget: 104 B of 103 B, 1 B too much' run map.bin
echo 'type no_such size 1' >budget
check "a type that is not there" ends_saying 5 '^MISSING size of type no_such' run map.bin
check "... may be allowed" exits_with 0 run --allow-missing map.bin
echo 'type widget size 104' >budget
check "without debug information there are no types" exits_with 5 "$KMEMSCOPE" gate --budget budget -k kallsyms map.bin
check "a text map has no layouts" fails_saying 3 'layout of a type, which a capture does not have' run "$tests/data/sample.kmap"
check "nor has a log" fails_saying 3 'layout of a type' run "$tests/data/sample.log"
check "a map is read twice" fails_saying 2 'not standard input' run - <map.bin
echo 'cache widgets size 1' >budget
check "only types have a layout" fails_saying 3 'budget:1: only a type has size' run map.bin
echo 'type widget hot-lines 1K' >budget
check "lines have no unit" fails_saying 3 "'1K': give a number of cache lines" run map.bin

# A budget from good maps is kept by them, and not by one that is worse.
must "$KMEMSCOPE" gate --init -k kallsyms --types mod.ko -o made good.bin
check "--init" equal "$(grep '^type widget' made | paste -sd,)" \
	'type widget size 104,type widget holes 7,type widget hot-lines 1,type widget mixed-lines 1'
check "types that are accessed more come first" equal "$(awk '$1 == "type" { print $2 }' made | uniq | paste -sd' ')" 'widget gadget'
must "$KMEMSCOPE" gate --init --top 1 -k kallsyms --types mod.ko -o one good.bin
check "--top" equal "$(awk '$1 == "type" { print $2 }' one | uniq)" widget
made() { "$KMEMSCOPE" gate -k kallsyms --types mod.ko --budget made "$1"; }
check "the good one keeps to it" exits_with 0 made good.bin
check "the worse one does not" ends_saying 5 '^OVER    hot-lines of type widget: 2 of 1' made map.bin
must "$KMEMSCOPE" gate --init -k kallsyms --types mod.ko -o both good.bin map.bin
check "of several the largest counts" grep -qx 'type widget hot-lines 2' both
check "a map from a pipe has sums alone" says '^total live' bash -c '"$0" gate --init - <map.bin' "$KMEMSCOPE"
done_testing
