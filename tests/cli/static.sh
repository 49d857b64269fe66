#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The static footprint, compared with readelf, size and ar on the same files: of a tiny kernel that is made here,
# and of a real kernel that is built once.
. "$(dirname "$0")/lib.sh"
: "${MAKE_TREE:?the path of make-tree.sh}"
"$MAKE_TREE" "$scratch/tiny" >&2 || exit 1
cc -xc -c -m32 -o other.o - <<<'int other;' 2>/dev/null || true

total() { # JSON-FILE KEY: the sum of all classes, what is discarded included
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))[sys.argv[2]]; print(d["total"] + d["discarded"])' "$@"
}
objects() { # TREE [builtin]: the object file of each row
	must "$KMEMSCOPE" static -k "$1" --by file --json |
		python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"]:
    if len(sys.argv) == 1 or "module" not in row: print(row["file"].rsplit(".", 1)[0] + ".o")' ${2:-}
}
hex='function hex(s,  i, v) { v = 0; for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return v }'
# readelf_sum TREE [AWK-CONDITION] <objects: bytes of loaded sections; name, type and flags are variables.
readelf_sum() {
	(cd "$1" && xargs -d '\n' readelf -SW) | sed 's/^ *\[ *[0-9]*\] //' | awk -v all="${2:-1}" "$hex"'
		NF >= 10 && $2 ~ /^(PROGBITS|NOBITS|NOTE|X86_64_UNWIND|INIT_ARRAY|FINI_ARRAY)$/ && $7 ~ /A/ {
			if (all == "text" && !($7 ~ /X/ && $1 !~ /^\.(init|exit|altinstr|meminit)/)) next
			if (all == "bss" && !($2 == "NOBITS" && $1 !~ /^\.(init|data\.\.percpu)/)) next
			if (all == "percpu" && $1 !~ /^\.data\.\.percpu/) next
			sum += hex($5)
		}
		END { printf "%d\n", sum }'
}
size_sum() { # TREE <objects
	(cd "$1" && xargs -d '\n' size) | awk '$1 ~ /^[0-9]+$/ { sum += $4 } END { printf "%d\n", sum }'
}

# check_tree TREE NAME: the sums agree with other programs' over the same objects.
check_tree() {
	local tree=$1 name=$2
	must "$KMEMSCOPE" static -k "$tree" --json >model.json
	objects "$tree" >objects
	local ours=$(($(total model.json builtin) + $(total model.json modules)))
	check "$name: all sections agree with readelf" equal "$ours" "$(readelf_sum "$tree" <objects)"
	check "$name: all sections agree with size" equal "$ours" "$(size_sum "$tree" <objects)"
	local class
	objects "$tree" builtin >builtin
	for class in text bss percpu; do
		check "$name: $class of what is built in" equal \
			"$(python3 -c 'import json, sys; print(json.load(open("model.json"))["builtin"][sys.argv[1]])' $class)" \
			"$(readelf_sum "$tree" $class <builtin)"
	done
	check "$name: no object twice" equal "$(sort objects | uniq -d | wc -l)" 0
	check "$name: vmlinux itself" equal "$(total model.json vmlinux)" "$(echo vmlinux | readelf_sum "$tree")"
	check "$name: rows add up to the whole" python3 - "$ours" <<'EOF'
import json, subprocess, sys, os
d = json.load(open("model.json"))
assert sum(r["bytes"]["total"] for r in d["rows"]) == d["builtin"]["total"] + d["modules"]["total"]
EOF
}

check_tree tiny/src "tiny, in its source"
check_tree tiny/out "tiny, O="
cat >expected <<'EOF'
arch/x86/lib/chew.o
drivers/base/core.o
drivers/net/veth-one.o
drivers/net/veth-two.o
fs/ext4/inode.o
fs/inode.o
init/main.o
mm/slub.o
EOF
sort objects >sorted
check "exactly the linked objects are counted" same sorted expected
cat >expected <<'EOF'
composite      drivers/net/veth-pair.o
host tool      scripts/tool.o
not linked     boot/setup.o
not linked     lib/never.o
EOF
must "$KMEMSCOPE" static -k tiny/out --skipped >skipped
check "the other objects are listed with the reason" same skipped expected

rows() { # ARGUMENT...: names of the rows, in order of size
	must "$KMEMSCOPE" static "$@" --csv | sed 1d | cut -d, -f1 | paste -sd' '
}
check "by directory" equal "$(rows -k tiny/out | tr ' ' '\n' | sort | paste -sd' ')" "arch drivers fs init mm"
check "two levels" equal "$(rows -k tiny/out --depth 2 | tr ' ' '\n' | sort | paste -sd' ')" \
	"arch/x86 drivers/base drivers/net fs fs/ext4 init mm"
check "a branch" equal "$(rows -k tiny/out -b fs --by file)" "fs/inode.c fs/ext4/inode.c"
check "its directories" equal "$(rows -k tiny/out -b fs)" "fs fs/ext4"
check "also with a dot and a slash" equal "$(rows -k tiny/out -b ./fs/)" "fs fs/ext4"
check "a branch with slash and dot" equal "$(rows -k tiny/out -b ./fs/ext4/ --by file)" "fs/ext4/inode.c"
check "a single file" equal "$(rows -k tiny/out -b fs/inode.c --by file)" "fs/inode.c"
check "not a prefix of a name" fails_saying 1 'branch fs/ext: there is no such directory or file in tiny/out' \
	"$KMEMSCOPE" static -k tiny/out -b fs/ext
check "a branch outside" fails_saying 1 'no such directory' "$KMEMSCOPE" static -k tiny/out -b ../src
check "a branch without objects" fails_saying 1 'branch boot: it exists.* but nothing of it was built' \
	"$KMEMSCOPE" static -k tiny/out -b boot
check "by symbol, as nm has it" equal \
	"$(must "$KMEMSCOPE" static -k tiny/out --by symbol --csv | awk -F, '$1 == "table" { print $9, $11, $12 }')" "400 variable init/main.c"
data=$(size -A tiny/out/init/main.o | awk '$1 == ".data" { print $2 }')
check "by section" says "^ *$data +1  data +\.data\$" "$KMEMSCOPE" static -k tiny/out -b init --by section
check "no tree" fails_saying 2 'name a built kernel tree' "$KMEMSCOPE" static
check "a directory that is no tree" fails_saying 3 'does not look like a built kernel' "$KMEMSCOPE" static -k tiny/src/include
mkdir configured && : >configured/.config
check "a tree that is not built" fails_saying 1 'holds no built kernel' "$KMEMSCOPE" static -k configured
check "a file of another kind" fails_saying 3 'System.map: is not an ELF file' "$KMEMSCOPE" static -k tiny/src/System.map
check "bad --depth" fails_saying 2 "depth '0'" "$KMEMSCOPE" static -k tiny/out --depth 0
check "JSON has its schema" says '"schema": "kmemscope-static-1"' "$KMEMSCOPE" static -k tiny/out --json

check "per-CPU memory and memory of init" equal "$(must "$KMEMSCOPE" static -k tiny/out -b mm --csv | awk -F, '$1 == "mm" { print $6, $7 }')" "40 48"

# vmlinux alone: the helper of 0x31 bytes and ext4_alloc of 0xa, as nm -S says.
check "vmlinux, by compile unit" equal \
	"$(must "$KMEMSCOPE" static -k tiny/src/vmlinux --by file --csv | awk -F, '$1 == "fs/ext4/inode.c" { print $2 }')" \
	"$(nm -S tiny/src/fs/ext4/inode.o | awk "$hex"'/ [tT] / { n += hex($2) } END { print n }')"
check "vmlinux, a global variable" equal \
	"$(must "$KMEMSCOPE" static -k tiny/src/vmlinux --by symbol --csv | awk -F, '$1 == "table" { print $9, $11, $12 }')" "400 variable init/main.c"
must "$KMEMSCOPE" static -k tiny/src/vmlinux --json >image.json
check "vmlinux, all of it" equal "$(total image.json builtin)" "$(echo vmlinux | readelf_sum tiny/src)"
check "vmlinux without debug information: names of files" says ' inode\.c$' "$KMEMSCOPE" static -k tiny/out/vmlinux --by file
check "vmlinux, a wrong branch" fails_saying 1 'branch fs/ext:' "$KMEMSCOPE" static -k tiny/src/vmlinux -b fs/ext

# Damaged objects are named, and the others still count.
cp -r tiny/out deep
deepest=deep/fs/$(printf 'd/%.0s' {1..62})
mkdir -p "$deepest/d"
check "one more is not, and is named" fails_saying 3 'd/d/: too many directories deep, not read' "$KMEMSCOPE" static -k deep
rmdir "$deepest/d"
check "without it all is read" exits_with 0 "$KMEMSCOPE" static -k deep

mkdir nowhere
printf '!<arch>\nbroken' >nowhere/built-in.a
check "a directory that is no kernel is called so" fails_saying 3 'nowhere does not look like a built kernel: it has neither vmlinux nor .config' "$KMEMSCOPE" static -k nowhere
check "and nothing in it is looked at" equal 1 "$("$KMEMSCOPE" static -k nowhere 2>&1 | wc -l)"
: >nowhere/modules.order
check "modules built by themselves may be measured" fails_saying 3 'damaged archive' "$KMEMSCOPE" static -k nowhere
cp -r tiny/out damaged
head -c 500 tiny/out/fs/inode.o >damaged/fs/inode.o
head -c 900 /dev/urandom >damaged/mm/slub.o
: >damaged/fs/ext4/inode.o
check "a truncated object is named" fails_saying 3 'fs/inode.o: .*the other objects are counted' "$KMEMSCOPE" static -k damaged
check "a file that is not an object is named" fails_saying 3 'mm/slub.o: is not an ELF file' "$KMEMSCOPE" static -k damaged
check "an empty file is named" fails_saying 3 'fs/ext4/inode.o: is not an ELF file' "$KMEMSCOPE" static -k damaged
must exits_with 3 "$KMEMSCOPE" static -k damaged --json >damaged.json 2>/dev/null
must "$KMEMSCOPE" static -k tiny/out --json >whole.json
check "the other objects are counted" python3 - <<'EOF'
import json
whole, damaged = json.load(open("whole.json")), json.load(open("damaged.json"))
rows = {r["dir"]: r for r in damaged["rows"]}
assert set(rows) == {"arch", "drivers", "init"}, rows.keys()
for r in whole["rows"]:
    assert r["dir"] in ("fs", "mm") or rows[r["dir"]] == r
assert [b["object"] for b in damaged["unreadable"]] == ["fs/ext4/inode.o", "fs/inode.o", "mm/slub.o"]
EOF
if [ -s other.o ]; then
	cp -r tiny/out mixed
	cp other.o mixed/fs/inode.o
	check "an object for another machine" says 'other machine +fs/inode.o' "$KMEMSCOPE" static -k mixed --skipped
else
	skip "an object for another machine" "this compiler makes no 32-bit objects"
fi
printf '!<thin>\n//      damaged' >damaged/vmlinux.a
check "a damaged archive" fails_saying 3 'damaged/vmlinux.a: damaged archive at offset 8' "$KMEMSCOPE" static -k damaged

# A real kernel.
preparing "a kernel to measure"
if tree=$("$tests/lib/kernel-tree.sh" 2>why); then
	prepared
	check_tree "$tree" "Linux 6.12"
	(
		cd "$tree" || exit
		ar t vmlinux.a
		for lib in lib/lib.a arch/x86/lib/lib.a; do ar t $lib; done
		find . -name '*.mod' -exec cat {} +
	) | sort -u >expected
	sort objects >sorted
	check "Linux 6.12: the objects are those that ar lists" same sorted expected
	check "Linux 6.12: the parts of a module" equal \
		"$(rows -k "$tree" -b fs/ext4 --by file | tr ' ' '\n' | sed 's/\.c$/.o/' | sort | paste -sd' ')" \
		"$(sort "$tree/fs/ext4/ext4.mod" | paste -sd' ')"
	check "Linux 6.12: kallsyms is recognised" says '[1-9][0-9]{4,} kallsyms' "$KMEMSCOPE" static -k "$tree"
	must "$KMEMSCOPE" static -k "$tree" --by symbol --csv | sed 1d | cut -d, -f1,9 | sort >ours
	(cd "$tree" && xargs -d '\n' nm -S --defined-only <"$scratch/objects") |
		awk 'NF == 4 { print $4 }' | sort -u >symbols
	check "Linux 6.12: symbols are those of nm" bash -c '[ $(cut -d, -f1 ours | sort -u | comm -23 - symbols | wc -l) = 0 ]'
	check "Linux 6.12: same output twice" bash -c 'cmp <(must "$0" static -k "$1" --json) <(must "$0" static -k "$1" --json)' "$KMEMSCOPE" "$tree"
else
	prepared
	skip "Linux 6.12" "$(tail -1 why)"
fi
done_testing
