#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope lab run --stock: Debian's own kernel, in which a module uses the objects of a cache in known numbers. QEMU
# must have counted these, for each field, with one processor and with two. test-stock-map.sh [arm64]. Prints TAP.
. "$(dirname "$0")/lib.sh"
. "$here/foreign.sh"
: "${KMEMSCOPE:?the path of the program}"
arch=${1:-x86_64}

# Debian's kernel for clouds, and what builds modules for it. Kbuild's own programs are of this machine.
fetch_stock_arm64() { # DIR
	local dir=$1 apt=$1/apt package release deb
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	foreign_apt "$apt" arm64 apt-get update || echo "some lists could not be had"
	package=$(foreign_apt "$apt" arm64 apt-cache depends linux-image-6.12-cloud-arm64 |
		sed -n 's/^ *Depends: \(linux-image-6\.12\..*\)/\1/p' | head -n 1)
	release=${package#linux-image-}
	[ -n "$release" ] || return
	(
		cd "$apt/cache/archives" &&
			foreign_apt "$apt" arm64 apt-get download "$package" "linux-headers-$release" \
				"linux-headers-${release%-cloud-arm64}-common" &&
			apt-get download "linux-kbuild-${release%-cloud-arm64}"
	) || return
	for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$dir" || return; done
	sed -i "s,^include /usr/src/,include $dir/usr/src/," "$dir/usr/src/linux-headers-$release/Makefile"
	# Without it Kbuild does not look for pahole to make type information for modules.
	rm -rf "$apt" "${dir:?}/lib/modules" "${dir:?}/usr/share" "$dir/usr/src/linux-headers-$release/vmlinux"
}

need_stock_arm64() { # sets $image and $headers
	local dir key program
	[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip_all "not Debian on amd64"
	for program in qemu-system-aarch64 aarch64-linux-gnu-gcc; do
		command -v $program >/dev/null || skip_all "no $program"
	done
	key=$({ declare -f fetch_stock_arm64; apt-cache policy linux-image-6.12-cloud-amd64 | grep Candidate; } | key_of)
	cached stock-arm64 "$key" fetch_stock_arm64
	dir=$cache/stock-arm64-$key
	image=$(ls "$dir"/boot/vmlinuz-*)
	headers=$(ls -d "$dir"/usr/src/linux-headers-*-arm64)
	strip=aarch64-linux-gnu-strip
}

make_arguments=()
if [ "$arch" = arm64 ]; then
	need_stock_arm64
	make_arguments=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc)
else
	need_debian_kernel 6.12
fi
[ -e "$(dirname "$KMEMSCOPE")/lab-helpers/lab-counts.so" ] || skip_all "no plugin for QEMU in this build"
echo '#include "mzstock.h"
struct mz_gadget gadget;' >"$work/gadget.c"
gcc -gbtf -I "$here/module" -c -o "$work/gadget.o" "$work/gadget.c" &&
	objcopy -O binary -j .BTF --set-section-flags .BTF=alloc "$work/gadget.o" "$work/gadget.btf" ||
	bail "no type information of the module's struct"
build_test_modules "$headers" "${make_arguments[@]}" ONLY=mzstock
cd "$work" || exit 1

stock() { timeout 1800 "$KMEMSCOPE" lab run --stock --arch "$arch" --kernel "$image" "$@"; }
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
	check "what may be from before is counted" grep -Eq ': [1-9][0-9]{3,} of the accesses to slab objects are to memory that was no slab.s before' said
	check "what is in no object is counted" grep -Eq 'in no object: [1-9][0-9]* accesses to memory that was no slab.s before or after, [0-9]+ to memory that came to another cache, [1-9][0-9]* to variables' said
done
check "the kernel's own types name its structs" eval '"$KMEMSCOPE" kmap fields -k map1.syms --types map1.btf task_struct map1 | grep -Eq "^struct task_struct, [0-9]+ bytes: "'
check "... and their fields" eval '"$KMEMSCOPE" kmap fields -k map1.syms --types map1.btf --csv file map1 | grep -Eq "^0,[0-9]+,8,[1-9].*,f_op,"'
if [ "$arch" = arm64 ]; then
	check "the newest kernel of arm64" test -s "$("$tree/lab/stock.sh" kernel arm64 2>fetched || cat fetched)"
	done_testing
	exit
fi
check "arm64 has no kernel of the lab's" fails_saying 2 'arm64 is for --stock' "$KMEMSCOPE" lab run --arch arm64 -- true
# Input that ends at once, a file that no word names, output, the exit status.
stock -q -o other --add "$work/gadget.c" -- sh -c "cat; grep -c mzstock $work/gadget.c; exit 7" >output 2>said </dev/null
check "the exit status is the command's" test $? = 7
check "its output, too" equal "$(cat output)" 1
check "quiet is quiet" test ! -s said
check "counts need QEMU to count" fails_saying 2 'QEMU counts all that the kernel does' stock --access -- true
check "little memory" fails_saying 2 'mem 384 M or more' stock --mem 128M -- true
check "a shell needs the lab's kernel" fails_saying 2 'no --stock' "$KMEMSCOPE" lab shell --stock
check "a file is no version" fails_saying 2 'is for --stock' "$KMEMSCOPE" lab run --kernel "$image" -- true

check "without a name, it is Debian's newest kernel for clouds" test -s "$("$tree/lab/stock.sh" kernel x86_64 2>fetched || cat fetched)"
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
check "a package is unpacked" equal "$(cat "$("$tree/lab/stock.sh" kernel x86_64 ./test.deb)")" image
check "no package" fails_saying 1 'no-such.deb' "$KMEMSCOPE" lab run --stock --kernel ./no-such.deb -- true
done_testing
