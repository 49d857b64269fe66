# SPDX-License-Identifier: GPL-2.0-only
# For tests in guests of other architectures, emulated in full: Debian's kernel 6.1 for arm64 and s390x, on two
# processors. Sourced after lib.sh. What files a guest leaves below /host is in $work/share.

# An apt of its own, which believes that this is a machine of the other kind.
foreign_apt() { # DIR ARCH COMMAND ARGS...
	local dir=$1 arch=$2 command=$3
	shift 3
	"$command" -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$dir" \
		-o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
		-o Debug::NoLocking=1 -o APT::Sandbox::User= "$@"
}

# The kernel, busybox, headers to build modules with, and those modules that mount a directory of the host. Kbuild's own
# programs are of this machine.
fetch_foreign() { # DIR ARCH
	local dir=$1 arch=$2 apt=$1/apt package release name deb line
	local PATH=$PATH:/usr/sbin:/sbin
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$dir/kmod"
	: >"$apt/status"
	# Not all suites have all architectures.
	foreign_apt "$apt" "$arch" apt-get update || echo "some lists could not be had"
	package=$(foreign_apt "$apt" "$arch" apt-cache depends "linux-image-$arch" |
		sed -n 's/^ *Depends: \(linux-image-6\.1\..*\)/\1/p' | head -n 1)
	release=${package#linux-image-}
	[ -n "$release" ] || return
	(
		cd "$apt/cache/archives" &&
			foreign_apt "$apt" "$arch" apt-get download "$package" "linux-headers-$release" \
				"linux-headers-${release%-"$arch"}-common" busybox-static &&
			apt-get download linux-kbuild-6.1
	) || return
	for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$dir" || return; done
	sed -i "s,^include /usr/src/,include $dir/usr/src/," "$dir/usr/src/linux-headers-$release/Makefile"
	depmod -b "$dir" "$release"
	for name in virtio_pci virtio_ccw 9pnet_virtio 9p; do
		modprobe -d "$dir" -S "$release" --show-depends $name 2>/dev/null
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$dir/needed"
	while read -r line; do
		cp "$line" "$dir/kmod" || return
		echo "${line##*/}" >>"$dir/kmod/order"
	done <"$dir/needed"
	echo "$release" >"$dir/release"
	rm -rf "$apt" "${dir:?}/lib/modules" "${dir:?}/usr/share"
}

# arm64|s390x; sets $arch, $image, $headers, $triplet, $busybox and $kmod.
need_foreign_kernel() {
	local dir key system
	arch=$1
	case $arch in
	arm64) triplet=aarch64-linux-gnu system=qemu-system-aarch64 ;;
	s390x) triplet=s390x-linux-gnu system=qemu-system-s390x ;;
	*) bail "there are guests of arm64 and s390x" ;;
	esac
	[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip_all "not Debian on amd64"
	for program in $system $triplet-gcc; do
		command -v $program >/dev/null || skip_all "no $program"
	done
	key=$({ declare -f fetch_foreign; apt-cache policy linux-image-cloud-amd64 | grep Candidate; } | key_of)
	cached "foreign-$arch" "$key" fetch_foreign "$arch"
	dir=$cache/foreign-$arch-$key
	image=$(ls "$dir"/boot/vmlinuz-*)
	headers=$dir/usr/src/linux-headers-$(cat "$dir/release")
	busybox=$dir/bin/busybox
	kmod=$dir/kmod
	mkdir -p "$work/root/kmod" "$work/share"
	cp "$kmod"/* "$work/root/kmod"
}

# Compiles the modules for the guest's kernel.
build_foreign_modules() {
	local make_arch=$arch
	[ "$arch" != s390x ] || make_arch=s390
	strip=$triplet-strip
	build_modules "$headers" ARCH=$make_arch CROSS_COMPILE=$triplet- CC=$triplet-gcc
}

# Builds kmemscope for the guest, and copies it with its libraries. The build directory of "make check" serves, too.
add_foreign_user_side() {
	local build=$tree/build-$arch root=$work/root sysroot file lib from todo
	preparing "kmemscope for $arch"
	TARGETS=kmemscope "$tree/tools/cross.sh" "$arch" "$build" -Doptimization=1 >"$work/log" 2>&1 ||
		bail "kmemscope is not built for $arch" "$work/log"
	prepared
	sysroot=$(cat "$build/sysroot")
	guest_cc="$triplet-gcc --sysroot=$sysroot"
	mkdir -p "$root/bin" "$root/lib/$triplet"
	cp "$build/kmemscope" "$root/bin"
	$strip "$root/bin/kmemscope"
	for file in kmemtraced kmemtrace_check kmemtrace-report; do ln -s kmemscope "$root/bin/$file"; done
	file=$(readelf -lW "$build/kmemscope" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
	cp -L "$sysroot$file" "$root$file"
	todo=("$build/kmemscope")
	while [ ${#todo[@]} -gt 0 ]; do
		file=${todo[0]} todo=("${todo[@]:1}")
		for lib in $(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
			from=$(ls "$sysroot/lib/$triplet/$lib" "$sysroot/usr/lib/$triplet/$lib" 2>/dev/null | head -n 1)
			if [ -z "$from" ] || [ -e "$root/lib/$triplet/$lib" ]; then continue; fi
			cp -L "$from" "$root/lib/$triplet"
			todo+=("$from")
		done
	done
}

boot_foreign() { # [KERNEL-PARAMETERS...]
	local args=(-smp 2 -m 1024 -accel "tcg,thread=single" -kernel "$image" -initrd "$initramfs"
		-nographic -no-reboot -nodefaults)
	case $arch in
	arm64)
		timeout 3600 qemu-system-aarch64 -M virt -cpu cortex-a57 "${args[@]}" -serial stdio \
			-append "console=ttyAMA0 panic=-1 quiet $*" \
			-virtfs "local,path=$work/share,mount_tag=host,security_model=none" </dev/null >"$work/raw" 2>&1
		;;
	s390x)
		timeout 3600 qemu-system-s390x -M s390-ccw-virtio -cpu max "${args[@]}" \
			-append "console=ttysclp0 panic=-1 quiet $*" -chardev stdio,id=console \
			-device sclpconsole,chardev=console \
			-fsdev "local,id=fs,path=$work/share,security_model=none" \
			-device virtio-9p-ccw,fsdev=fs,mount_tag=host </dev/null >"$work/raw" 2>&1
		;;
	esac
}
