#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope lab run --stock: Debian's own kernel, in which a module uses the objects of a cache in known numbers. QEMU
# must have counted these, for each field, with one processor and with two. Prints TAP.
. "$(dirname "$0")/lib.sh"
: "${KMEMSCOPE:?the path of the program}"

need_debian_kernel 6.12
[ -e "$(dirname "$KMEMSCOPE")/lab-helpers/lab-counts.so" ] || skip_all "no plugin for QEMU in this build"
echo '#include "mzstock.h"
struct mz_gadget gadget;' >"$work/gadget.c"
gcc -gbtf -I "$here/module" -c -o "$work/gadget.o" "$work/gadget.c" &&
	objcopy -O binary -j .BTF --set-section-flags .BTF=alloc "$work/gadget.o" "$work/gadget.btf" ||
	bail "no type information of the module's struct"
build_test_modules "$headers" ONLY=mzstock
cd "$work" || exit 1

stock() { timeout 1800 "$KMEMSCOPE" lab run --stock --kernel "$image" "$@"; }
# The rows of the struct: "field offset size reads writes reader-cpus writer-cpus verdict".
fields_of() { # MAP
	"$KMEMSCOPE" kmap fields -k "$1.syms" --types gadget.btf --csv mz_gadget "$1" |
		awk -F, 'function c(s) { return s == "" ? "-" : s }
			NR == 1 { for (i = 1; i <= NF; i++) n[$i] = i; next }
			{ v = $n["verdict"]; gsub(" ", "_", v)
			print $n["field"], $n["offset"], $n["size"], $n["reads"], $n["writes"], c($n["reader_cpus"]), c($n["writer_cpus"]), c(v) }'
}
live_of() { # MAP CACHE
	"$KMEMSCOPE" kmap report --by cache --top 0 --json "$1" |
		python3 -c 'import json, sys; print(*(g["live_objects"] for g in json.load(sys.stdin)["groups"] if g["group"] == sys.argv[1]))' "$2"
}

for smp in 1 2; do
	map=map$smp last=$((smp - 1))
	# Without it the allocator would write each object once more.
	check "a module on $smp processors" eval 'stock --smp '$smp' --append init_on_alloc=0 --log console -o '$map' -- insmod modules/mzstock.ko 2>said || { cat said; tail -n 30 console; false; }'
	fields_of "$map" >rows
	while read -r line; do
		check "with $smp: $line" grep -qxF -e "$line" rows
	done <<-EOF
		limit 0 8 3000 6 0 0 written_once
		counter 8 8 0 6000 - $last never_read
		state 16 4 120 120 0 0 -
		mark 20 1 0 6 - 0 never_read
		cold 24 32 0 0 - - never_accessed
		never 120 32 0 0 - - never_accessed
		name 152 40 0 6 - 0 never_read
		users 192 4 18 18 0 0 -
	EOF
	[ "$tap_failed" = 0 ] || sed 's/^/# /' rows said
	check "what lives at the end does" test "$(live_of "$map" mz_gadget)" = 4
	check "functions have their names" eval '"$KMEMSCOPE" kmap fields -k '$map'.syms --types gadget.btf mz_gadget '$map' | grep -q "limit *mzstock_read"'
	check "what is in no object is counted" grep -Eq 'in no object: [1-9][0-9]* accesses to memory that was no slab.s before or after, [0-9]+ to memory that came to another cache, [1-9][0-9]* to variables' said
done
check "the kernel's own types name its structs" eval '"$KMEMSCOPE" kmap fields -k map1.syms --types map1.btf task_struct map1 | grep -Eq "^struct task_struct, [0-9]+ bytes: "'
check "... and their fields" eval '"$KMEMSCOPE" kmap fields -k map1.syms --types map1.btf --csv file map1 | grep -Eq "^0,[0-9]+,8,[1-9].*,f_op,"'
# Input that ends at once, a file that no word names, output, the exit status.
stock -q -o other --add "$work/gadget.c" -- sh -c "cat; grep -c mzstock $work/gadget.c; exit 7" >output 2>said </dev/null
check "the exit status is the command's" test $? = 7
check "its output, too" equal "$(cat output)" 1
check "quiet is quiet" test ! -s said
check "counts need QEMU to count" fails_saying 2 'QEMU counts all that the kernel does' stock --access -- true
check "little memory" fails_saying 2 'mem 384 M or more' stock --mem 128M -- true
check "a shell needs the lab's kernel" fails_saying 2 'no --stock' "$KMEMSCOPE" lab shell --stock
check "a file is no version" fails_saying 2 'is for --stock' "$KMEMSCOPE" lab run --kernel "$image" -- true

check "without a name, it is Debian's newest kernel for clouds" test -s "$("$tree/lab/stock.sh" kernel 2>fetched || cat fetched)"
# Packages: one of a kernel that can't talk to the runner is refused by name.
mkdir -p deb/DEBIAN deb/boot
printf 'Package: linux-image-test\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: a test\n' >deb/DEBIAN/control
printf 'CONFIG_%s=y\n' VIRTIO_PCI DEBUG_INFO_BTF BLK_DEV_INITRD DEVTMPFS >deb/boot/config-1
echo image >deb/boot/vmlinuz-1
dpkg-deb --root-owner-group -b deb test.deb >/dev/null || bail "no package can be made"
export KMEMSCOPE_CACHE=$work/cache
check "a kernel without its drivers" fails_saying 1 'no CONFIG_VIRTIO_CONSOLE built in' "$KMEMSCOPE" lab run --stock --kernel ./test.deb -- true
echo CONFIG_VIRTIO_CONSOLE=y >>deb/boot/config-1
dpkg-deb --root-owner-group -b deb test.deb >/dev/null
check "a package is unpacked" equal "$(cat "$("$tree/lab/stock.sh" kernel ./test.deb)")" image
check "no package" fails_saying 1 'no-such.deb' "$KMEMSCOPE" lab run --stock --kernel ./no-such.deb -- true
done_testing
