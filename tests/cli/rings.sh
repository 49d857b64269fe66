#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Ring charts: trace_analyze's README, sections "static analysis" and "ringchart", each command line as
# printed there; the numbers of a chart; and messages about wrong usage.
. "$(dirname "$0")/lib.sh"
: "${MAKE_TREE:?the path of make-tree.sh}"
unset DISPLAY WAYLAND_DISPLAY
"$MAKE_TREE" "$scratch/tiny" >&2 || exit 1
ln -s tiny/src linux
mkdir -p below/here

line() { # TIME EVENT SITE PTR [REQ ALLOC]
	printf '            bash-77    [000]  %s: %s: call_site=%s ptr=%s' "$1" "$2" "$3" "$4"
	[ $# -lt 6 ] || printf ' bytes_req=%s bytes_alloc=%s gfp_flags=GFP_KERNEL' "$5" "$6"
	echo
}
{
	line 1.000001 kmalloc ext4_alloc+0x5/0x20 ffff880000000100 100 128
	line 1.000002 kmalloc ext4_alloc+0x5/0x20 ffff880000000200 100 128
	line 1.000003 kmem_cache_alloc inode_alloc+0x5/0x20 ffff880000001000 600 600
	line 1.000004 kmalloc base_alloc+0x5/0x20 ffff880000002000 40 64
	line 1.000005 kmem_cache_alloc 'veth_one+0x5/0x20 [veth_pair]' ffff880000003000 32 32
	line 1.000006 kmalloc no_such_function+0x5/0x20 ffff880000004000 5 8
	line 1.000007 kfree inode_alloc+0x5/0x20 ffff880000000200
} >kmem.log

is_png() {
	[ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || { echo "$1 is no PNG"; return 1; }
	[ "$(od -An -j16 -N8 -tx1 "$1" | tr -d ' \n')" = 00000a0000000690 ] || { echo "$1 is not 2560 x 1680"; return 1; }
}
# readme FILE COMMAND...: runs as printed and makes the chart.
readme() {
	local file=$1
	shift
	rm -f "$file"
	"$@" && is_png "$file"
}
check "README: -k -r" readme foo.png ./trace_analyze.py -k "$scratch/tiny/src" -r foo.png
check "README: --kernel --rings-file" readme foo.png ./trace_analyze.py --kernel "$scratch/tiny/src" --rings-file foo.png
(cd below/here && ln -s "$KMEMSCOPE" trace_analyze.py && ln -s tiny/src "$scratch/torvalds")
check "README: a relative path" bash -c 'cd below/here && ./trace_analyze.py -k ../../torvalds -r foo.png'
check "README: --start-branch" readme ext4.png ./trace_analyze -k linux --start-branch fs/ext4 -r ext4.png
check "README: -b drivers" readme drivers.png ./trace_analyze -k linux -b drivers -r drivers.png
check "README: -b mm" readme mm.png ./trace_analyze -k linux -b mm -r mm.png
check "README: --rings-file=" readme dynamic.png ./trace_analyze.py -k linux -f kmem.log --rings-file=dynamic.png
check "README: -r without a name" readme rings.png ./trace_analyze.py -k linux -f kmem.log -r -a waste
check "README: waste of a branch" readme ext4_waste.png ./trace_analyze.py -k torvalds -f kmem.log -r ext4_waste.png -a waste -b fs/ext4
check "README: static of a branch" readme x86_static.png ./trace_analyze.py -k torvalds -f kmem.log -r x86_static.png -a static -b arch/x86/lib
check "README: --malloc" readme kmallocs.png ./trace_analyze.py -k linux/ -f kmem.log -r kmallocs.png --malloc
check "README: a DB file" exits_with 0 ./trace_analyze.py -k torvalds/ -f kmem.log --save-db db
check "README: chart and account from it" readme rings.png ./trace_analyze.py -k torvalds/ --db-file db -r rings.png -c account.txt
check "the account is written too" says 'current bytes allocated' cat account.txt
check "README: its typing error in total_dynamic" readme t.png ./trace_analyze.py -k linux -f kmem.log -r t.png -a total_dyamic
check "-i without a display says so" says 'no display .* it is in i.png' ./trace_analyze.py -k linux -r i.png -i
check "the chart is still written" is_png i.png
check "the current directory is the tree" bash -c 'cd tiny/src && "$0" -r "$1/here.png"' "$scratch/trace_analyze" "$scratch"

# The numbers: bytes of each node, by path.
bytes() { # ARGUMENT...
	must "$KMEMSCOPE" rings --json "$@" | python3 -c '
import json, sys
def walk(node, path):
    for child in node.get("children", []):
        yield from walk(child, path + "/" + child["name"])
    yield path[1:] or ".", node["bytes"]
print(" ".join("%s=%d" % pair for pair in sorted(walk(json.load(sys.stdin)["tree"], ""))))'
}
check "live bytes" equal "$(bytes -k linux kmem.log)" \
	".=832 drivers=96 drivers/base=64 drivers/base/core.c=64 drivers/net=32 drivers/net/veth-one.c=32 fs=728 fs/ext4=128 fs/ext4/inode.c=128 fs/inode.c=600 unresolved=8"
check "all bytes" equal "$(bytes -k linux kmem.log -a total_dynamic -b fs)" ".=856 ext4=256 ext4/inode.c=256 inode.c=600"
check "waste" equal "$(bytes -k linux kmem.log -a waste)" \
	".=55 drivers=24 drivers/base=24 drivers/base/core.c=24 fs=28 fs/ext4=28 fs/ext4/inode.c=28 unresolved=3"
check "kmem_cache only" equal "$(bytes -k linux kmem.log --cache)" \
	".=632 drivers=32 drivers/net=32 drivers/net/veth-one.c=32 fs=600 fs/inode.c=600"
check "static" equal "$(bytes -k linux -b fs/ext4)" ".=$(size linux/fs/ext4/inode.o | awk 'END { print $4 }') inode.c=$(size linux/fs/ext4/inode.o | awk 'END { print $4 }')"
check "current is static and live" equal "$(bytes -k linux kmem.log -a current -b fs/ext4)" \
	".=$(($(size linux/fs/ext4/inode.o | awk 'END { print $4 }') + 128)) inode.c=$(($(size linux/fs/ext4/inode.o | awk 'END { print $4 }') + 128))"
check "a single file" equal "$(bytes -k linux kmem.log -b fs/inode.c)" ".=600"
check "a branch without allocations" equal "$(bytes -k linux kmem.log -b mm)" ".=0"
check "a chart of a branch says how much is in no known directory" says 'not shown: 8 B in no known directory' "$KMEMSCOPE" rings -k linux kmem.log -b fs --json
check "capture quality comes with it" says '^capture quality' "$KMEMSCOPE" rings -k linux kmem.log -o q.png

# A log with addresses, of a kernel that KASLR moved: its kallsyms is the second -k.
python3 - <<'EOF'
slide = 0x1e000000
table = [(int(a, 16) + slide, t, n) for a, t, n in (line.split() for line in open("linux/System.map"))]
open("kallsyms", "w").writelines("%x %s %s\n" % row for row in table)
at = {name: addr for addr, _, name in table}
log = open("kmem.log").read()
for name in ("ext4_alloc", "inode_alloc", "base_alloc"):
    log = log.replace(name + "+0x5/0x20", "%x" % (at[name] + 5))
open("moved.log", "w").write(log)
EOF
check "a moved kernel" equal "$(bytes -k linux -k kallsyms moved.log)" "$(bytes -k linux kmem.log)"
check "without its kallsyms nothing is guessed" equal "$(bytes -k linux moved.log)" \
	".=832 drivers=32 drivers/net=32 drivers/net/veth-one.c=32 unresolved=800"
check "three of -k" fails_saying 2 'more than two' "$KMEMSCOPE" rings -k linux -k kallsyms -k x moved.log --json

# SVG: well-formed, an id and a title for each slice, the same numbers.
must "$KMEMSCOPE" rings -k linux kmem.log -o chart.svg >/dev/null
check "SVG" python3 - <<'EOF'
import xml.etree.ElementTree as et
svg = et.parse("chart.svg").getroot()
ns = "{http://www.w3.org/2000/svg}"
titles = {p.get("id"): p.find(ns + "title").text for p in svg.iter(ns + "path")}
assert titles["s-fs_2Fext4_2Finode.c"] == "fs/ext4/inode.c: 128 bytes, 15.4 %", titles
assert titles["s-unresolved"] == "unresolved: 8 bytes, 1.0 %", titles
assert len(titles) == sum(1 for p in svg.iter(ns + "path"))
assert svg.find(ns + "title").text == "Linux 6.0.0-tiny: live allocations, 832 B"
texts = [t.text for t in svg.iter(ns + "text")]
for word in ("fs", "drivers", "unresolved", "832", "100.0 %", "87.5 %"):
    assert word in texts, (word, texts)
EOF
must "$KMEMSCOPE" rings -k linux kmem.log -o again.svg >/dev/null
must "$KMEMSCOPE" rings -k linux kmem.log -o one.png >/dev/null
must "$KMEMSCOPE" rings -k linux kmem.log -o two.png >/dev/null
check "the same bytes each time: SVG" cmp chart.svg again.svg
check "the same bytes each time: PNG" cmp one.png two.png

# Without a tree: what the log itself says. Sums by hand, from the lines above.
sed '2s/bash-77/kworker\/0:1-9/; 4s/bash-77/kworker\/0:1-9/' kmem.log >two.log
for file in two.log two.db; do
	[ -e "$file" ] || must "$KMEMSCOPE" import -o two.db two.log >/dev/null
	check "$file: without a tree: by process, cache and site" equal "$(bytes -o owner.svg $file)" \
		".=832 bash=768 bash/kmalloc of 128 bytes=128 bash/kmalloc of 128 bytes/ext4_alloc+0x5=128 bash/kmalloc of 8 bytes=8 bash/kmalloc of 8 bytes/no_such_function+0x5=8 bash/unnamed cache of 32 bytes=32 bash/unnamed cache of 32 bytes/veth_one+0x5 [veth_pair]=32 bash/unnamed cache of 600 bytes=600 bash/unnamed cache of 600 bytes/inode_alloc+0x5=600 kworker/0:1=64 kworker/0:1/kmalloc of 64 bytes=64 kworker/0:1/kmalloc of 64 bytes/base_alloc+0x5=64"
done
check "and the table says so" grep -q '>process<' owner.svg
check "with the sites below" grep -q '>largest call sites<' owner.svg
check "neither a tree nor a capture" fails_saying 2 'name a kernel tree with -k, or a capture' "$KMEMSCOPE" rings -o x.png
check "static without a tree" fails_saying 2 'name it with -k' "$KMEMSCOPE" rings kmem.log -a current -o x.png
check "a branch without a tree" fails_saying 2 'name it with -k' "$KMEMSCOPE" rings kmem.log -b fs -o x.png
check "no output" fails_saying 2 'name the chart with -o' "$KMEMSCOPE" rings -k linux
check "a wrong attribute" fails_saying 2 'choose current, static' "$KMEMSCOPE" rings -k linux -o x.png -a __doc__
check "an attribute that needs a capture" fails_saying 2 'needs a capture' "$KMEMSCOPE" rings -k linux -o x.png -a waste
check "a wrong branch" fails_saying 1 'branch fs/ext: there is no such' "$KMEMSCOPE" rings -k linux -o x.png -b fs/ext
check "a wrong branch, with a capture" fails_saying 1 'branch fs/ext: there is no such' "$KMEMSCOPE" rings -k linux kmem.log -o x.png -b fs/ext
check "a name without the suffix of a format" fails_saying 2 "x.gif.*\.png or \.svg" "$KMEMSCOPE" rings -k linux -o x.gif
check "nothing was written" [ ! -e x.png ]
check "a chart that cannot be written" fails_saying 1 'no-such-dir/x.png: cannot create' "$KMEMSCOPE" rings -k linux -o no-such-dir/x.png

preparing "a kernel to measure"
if tree=$("$tests/lib/kernel-tree.sh" 2>why); then
	prepared
	ln -sfn "$tree" real
	check "Linux 6.12: the whole tree" readme foo.png ./trace_analyze.py -k real -r foo.png
	check "Linux 6.12: README, fs/ext2" readme ext2.png ./trace_analyze -k real --start-branch fs/ext2 -r ext2.png
	check "Linux 6.12: README, arch/x86/mm" readme x86.png ./trace_analyze.py -k real -f kmem.log -r x86.png -a static -b arch/x86/mm
	check "Linux 6.12: rings and static agree" equal \
		"$(bytes -k real | tr ' ' '\n' | sed -n 's/^\.=//p')" \
		"$(must "$KMEMSCOPE" static -k real --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["builtin"]["total"] + d["modules"]["total"])')"
else
	prepared
	skip "Linux 6.12" "$(tail -1 why)"
fi
done_testing
