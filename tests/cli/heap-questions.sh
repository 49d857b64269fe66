#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Questions to a snapshot that is small enough to be answered by hand: tests/heap/shop.txt. Needs no rights.
. "$(dirname "$0")/lib.sh"
: "${MKSNAP:?the path of the program that makes snapshots}"
must "$MKSNAP" shop.snap <"$(dirname "$0")/../heap/shop.txt"
heap() { "$KMEMSCOPE" heap "$1" --from shop.snap "${@:2}"; }

# is QUESTION... -- EXPRESSION: of the document, true in Python.
is() {
	local expression=${*: -1}
	must heap "${@:1:$#-2}" --json >answer.json
	python3 -c 'import json, sys; d = json.load(open("answer.json")); print(d); sys.exit(not eval("(" + sys.argv[1] + ")"))' "$expression"
}

# Three files of 256 bytes; the first and the third have an object of 64 bytes each to themselves.
check "what files retain" is holders file -- \
	'(d["objects"], d["bytes"], d["retained"]) == (3, 768, 768 + 2 * 64)'
check "two of them hang on one task alone" is holders file -- \
	'd["alone_held_by"]["address"] == "0xffff888000003000" and d["alone_held_by"]["bytes"] == 512'
check "by field" is holders file -- \
	'[(r["holder"], r["field"], r["objects"]) for r in d["holders"]] == [("task_struct", "files", 2), ("task_struct", "+0x408", 1)]'
check "the way begins at the variable, and says what hangs on each step" is holders file -- \
	'[(s["what"], s["name"], s["field"], s["retained"]) for s in d["way"]] == [
	("variable", "init_task", "+0x48", 4096 + 2 * 256 + 64 + 8192),
	("task_struct", "", "files", 4096 + 2 * 256 + 64),
	("file", "", "", 256 + 64)]'
check "a stack is a root, too" is holders 0xffff888000002047 -- \
	'[s["what"] for s in d["way"]] == ["stack", "task_struct", "file", "char[]"]'
check "which task" is holders file -- '[t["objects"] for t in d["tasks"]] == [2, 1]'
check "what nobody holds" is unreachable -- \
	'[r["example"] for r in d["unreachable"]] == ["0xffff8880000020c0"] and not d["seen_twice"]'
check "twice the same file: seen twice" is unreachable shop.snap -- 'd["seen_twice"] and d["unreachable_objects"] == 1'
sed 's/^kernel .*/kernel 6.18.0 x86_64 box 33333333-4444/' "$(dirname "$0")/../heap/shop.txt" | must "$MKSNAP" other.snap
check "two boots have nothing in common" fails_saying 3 'two boots' heap unreachable other.snap
check "each object, not groups" is unreachable --each -- \
	'[(r["example"], r["objects"], r["site"]) for r in d["unreachable"]] == [("0xffff8880000020c0", 1, "")]'
# What a capture says of addresses: one that was freed and allocated again, one that is freed, one that is held.
cat >sites.log <<'EOF'
# tracer: nop
            bash-17      [000] .....     1.000001: kmalloc: call_site=first+0x10/0x40 ptr=ffff8880000020c0 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL node=-1 accounted=false
            bash-17      [000] .....     1.000002: kfree: call_site=undo+0x10/0x40 ptr=ffff8880000020c0
            bash-17      [000] .....     1.000003: kmalloc: call_site=leaky+0x20/0x40 ptr=ffff8880000020c0 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL node=-1 accounted=false
            bash-17      [000] .....     1.000004: kmalloc: call_site=other+0x30/0x40 ptr=ffff888000002000 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL node=-1 accounted=false
EOF
check "who allocated it, by a capture" is unreachable --capture sites.log -- \
	'[r["site"] for r in d["unreachable"]] == ["leaky+0x20"]'
check "and in text" says 'allocated by' heap unreachable --capture sites.log
check "a capture that is none" fails_saying 3 'shop.snap' heap unreachable --capture shop.snap
check "it retains itself" says '1 object of 64 B; it and what it alone holds are 64 B' heap holders 0xffff8880000020c0
check "nobody leads to it" says 'No root leads to it' heap holders 0xffff8880000020c0
check "types, with how they are known" is types -- \
	'sorted((r["type"], r["cache"], r["objects"], r["bytes"], r["known_by"]) for r in d["types"]) == [
	("?", "kmalloc-64", 1, 64, "unknown"), ("?", "large", 1, 8192, "unknown"), ("char[]", "kmalloc-64", 2, 128, "field"),
	("file", "filp", 3, 768, "cache"), ("task_struct", "task_struct", 2, 8192, "cache")]'
# Two more of no known type point to a file, each from its second word, and a third one to itself.
sed -e '/^object 0xffff8880000020c0/a object 0xffff888000002100 kmalloc-64 ? unknown 0 20' \
	-e '/^object 0xffff8880000020c0/a object 0xffff888000002140 kmalloc-64 ? unknown 0 21' \
	-e '/^object 0xffff8880000020c0/a object 0xffff888000002180 kmalloc-64 ? unknown 0 22' \
	-e '/^ref 0xffff888000001300/a ref 0xffff888000002100 8 0xffff888000001000' \
	-e '/^ref 0xffff888000001300/a ref 0xffff888000002140 8 0xffff888000001100 16' \
	-e '/^ref 0xffff888000001300/a ref 0xffff888000002180 0 0xffff888000002180' "$tests/heap/shop.txt" | must "$MKSNAP" alike.snap
must "$KMEMSCOPE" heap types --from alike.snap --json >alike.json
check "what those of no known type have in common" python3 -c 'import json
found = {r["cache"]: r.get("contents") for r in json.load(open("alike.json"))["types"] if r["type"] == "?"}
assert found == {"kmalloc-64": "+0x8 -> file in 2 of 4", "large": None}, found'
check "and in text" says 'kmalloc-64 +[?] [(][+]0x8 -> file in 2 of 4[)]$' "$KMEMSCOPE" heap types --from alike.snap
check "one object by an address inside of it" is show 0xffff888000001008 -- \
	'(d["address"], d["type"], d["cgroup"]) == ("0xffff888000001000", "file", "/shop") and
	[(f["offset"], f["field"], f["points_to"]) for f in d["fields"]] == [("0x10", "f_inode", "char[]")]'
check "objects of a cache, by the name of one that was merged into it" is show fs_cache -- 'len(d["objects"]) == 3'
check "the same as CSV" says '^0xffff888000001100,file,filp,256,cache,/shop,' heap show --csv file
check "a type comes before a cache, and neither may be missing" fails_saying 1 'no object' heap show socket

# --- All that is printed -----------------------------------------------------------------------

# ask WORD...: the question, and the whole answer. What "unreachable" says of every heap is left out.
ask() {
	echo "\$ kmemscope heap $*"
	must "$KMEMSCOPE" heap "$@" | sed '/^An object that nobody uses may be missing/,$d'
	echo
}
must "$MKSNAP" later.snap <"$tests/heap/shop-later.txt"
sed "s/^kernel .*/kernel 6.18.0 x86_64 box 33333333-4444/" "$tests/heap/shop-later.txt" | must "$MKSNAP" reboot.snap
{
	for form in "" --csv; do
		for by in cache cgroup node type; do
			ask --by $by --from shop.snap $form
		done
		for question in "show file" "show 0xffff888000001300" "holders file" "holders 0xffff888000002047" unreachable; do
			# shellcheck disable=SC2086 # words of a question
			ask $question --from shop.snap $form
		done
		ask diff shop.snap later.snap $form
	done
	ask --top 2 --from shop.snap
	ask show kmalloc-64 --top 1 --from shop.snap
	ask diff --top 1 later.snap shop.snap
	ask holders 0xffff888000002000 --from shop.snap # by the first object of all
	ask diff shop.snap reboot.snap --csv
} >answers.txt
check "every answer, as it was worked out from shop.txt by hand" diff -u "$tests/heap/shop-answers.txt" answers.txt
done_testing
