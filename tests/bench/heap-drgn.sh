#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The census beside drgn's: heap-drgn.sh BUILD_DIR. Both read one dump of a guest with Debian's kernel 6.1, the newest
# that Debian 12's drgn knows; drgn needs the kernel's debug information, 280 MB to fetch, kept in the cache.
# Objects by cache must be equal, and with those that wait be what the guest's own /proc/slabinfo said.
build=${1:?usage: $0 BUILD_DIR}
. "$(dirname "$0")/../kernel/lib.sh"
KMEMSCOPE=$(cd "$build" && pwd)/kmemscope
need_debian_kernel 6.1
release=${modules##*/}

# Unpacked, not installed. Of the debug information the kernel's own will do.
fetch_drgn() { # DIR
	local deb
	mkdir "$1/debs"
	(cd "$1/debs" && apt-get download "linux-image-$release-dbg" python3-drgn libkdumpfile10) || return
	for deb in "$1"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$1" --exclude='*/lib/modules' || return
	done
	rm -r "$1/debs"
	[ -e "$1/usr/lib/debug/boot/vmlinux-$release" ]
}
key=$(key_of <<<"$release$(declare -f fetch_drgn)")
cached drgn "$key" fetch_drgn
tools=$cache/drgn-$key

# A hundred directories with a hundred files each, so that there is something to count.
mkdir "$work/modules"
cp "$modules/kernel/drivers/firmware/qemu_fw_cfg.ko" "$work/modules"
make_initramfs <<'TEST'
. /lib.sh
insmod /qemu_fw_cfg.ko
for i in $(seq 100); do
	mkdir /tmp/$i
	(cd /tmp/$i && touch $(seq 100))
done
sync
cat /proc/slabinfo >/tmp/slabinfo
dump_me /tmp/slabinfo
echo "ok 1"
TEST
make_dump() { monitor "dump-guest-memory -p $work/dump"; }
qemu_options="-m 512 -device vmcoreinfo"
boot_qemu_to_dump make_dump "$image"
[ -s "$work/dump" ] || bail "the guest made no dump" "$work/raw"
grep '^[a-zA-Z]' "$work/data" | grep -v '^slabinfo' >"$work/slabinfo"

cat >"$work/count.py" <<'PYTHON'
from drgn.helpers.linux.slab import for_each_slab_cache, slab_cache_for_each_allocated_object
for cache in for_each_slab_cache(prog):
    count = sum(1 for _ in slab_cache_for_each_allocated_object(cache, "void"))
    if count:
        print(cache.name.string_().decode(), count)
PYTHON
: >"$work/start.py"
drgn() {
	LD_LIBRARY_PATH="$tools/usr/lib/x86_64-linux-gnu" PYTHONPATH="$tools/usr/lib/python3/dist-packages" \
		PYTHONDONTWRITEBYTECODE=1 python3 "$tools/usr/bin/drgn" -q -c "$work/dump" -s "$tools/usr/lib/debug/boot/vmlinux-$release" "$@"
}
cpu() { # FILE COMMAND...: seconds of user and system time; what it prints goes to the file
	local TIMEFORMAT='%U %S' file=$1
	shift
	{ time "$@" >"$file" 2>"$work/errors"; } 2>&1 | awk '{ printf "%.2f\n", $1 + $2 }'
}
theirs=$(cpu "$work/theirs" drgn "$work/count.py")
[ -s "$work/theirs" ] || bail "drgn says nothing" "$work/errors"
start=$(cpu "$work/nothing" drgn "$work/start.py")
ours=$(cpu "$work/ours" "$KMEMSCOPE" heap --vmcore "$work/dump" --csv)
[ -s "$work/ours" ] || bail "the dump has no census" "$work/errors"

echo "Debian's kernel $release, a dump of 512 MB:"
awk -F, '
	FILENAME ~ /slabinfo$/ { split($0, w, / +/); active[w[1]] = w[2]; next }
	FILENAME ~ /theirs$/ { split($0, w, " "); drgn[w[1]] = w[2]; next }
	FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$1 == "large kmalloc" { next }
	{
		objects = $at["objects"]; free = $at["waiting"] + $at["aside"]
		total += objects; caches += objects > 0
		if (objects == drgn[$1] + 0) equal += objects > 0
		else print "  " $1 ": " objects " objects, drgn has " drgn[$1] + 0
		delete drgn[$1]
		if (objects + free == active[$1]) same++
		else print "  " $1 ": " objects " objects and " free " free ones, slabinfo has " active[$1]
		rows++
	}
	END {
		for (name in drgn) print "  " name ": drgn has " drgn[name] ", and we have no such cache"
		printf "%-58s %14s\n", "objects", total
		printf "%-58s %14s\n", "caches with as many objects as drgn finds", equal + 0 " of " caches
		printf "%-58s %14s\n", "caches with as many used and waiting as slabinfo", same + 0 " of " rows
	}' "$work/slabinfo" "$work/theirs" "$work/ours"
printf '%-58s %14s\n' "drgn, s of CPU" "$theirs" "of these to start, with debug information" "$start" "kmemscope heap, s of CPU" "$ours" \
	"drgn / kmemscope heap" "$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.0f", a / b }')"
