#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints the path of a small kernel build with debug information (O= build; its "source" link leads to
# the sources), made once and kept in a cache directory outside of this tree. Where that cannot be done
# it fails, and says why on standard error.
set -eu
cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}
package=linux-source-6.12
tarball=/usr/src/$package.tar.xz

config="64BIT EXPERT MULTIUSER PRINTK BUG SYSFS PROC_FS MODULES KALLSYMS BLOCK EXT2_FS DEBUG_KERNEL
	DEBUG_INFO_DWARF5 DEBUG_INFO_REDUCED UNWINDER_FRAME_POINTER KERNEL_GZIP"

# What this configuration never compiles and Kconfig never reads.
unneeded=(--exclude='*/Documentation/*.rst' --exclude='*/tools/testing/*')
for dir in gpu net staging media infiniband scsi usb iio accel crypto hid input mfd platform sound thunderbolt; do
	unneeded+=(--exclude="*/drivers/$dir/*.[ch]")
done
for dir in sound net fs/xfs fs/btrfs fs/smb fs/ocfs2 fs/bcachefs; do
	unneeded+=(--exclude="$package/$dir/*.[ch]")
done
for arch in alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc \
	riscv s390 sh sparc xtensa; do
	unneeded+=(--exclude="$package/arch/$arch/*.[chS]" --exclude="$package/arch/$arch/*.dts*")
done

[ "$(uname -m)" = x86_64 ] || { echo "the configuration is for x86_64" >&2; exit 1; }
[ -r "$tarball" ] || { echo "the package $package is not installed" >&2; exit 1; }
for tool in make gcc flex bison bc xz flock; do
	command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 1; }
done

key=$({ stat -c %s "$tarball"; dpkg-query -W "$package" gcc 2>/dev/null; echo "$config"; cat "$0"; } | sha256sum | cut -c1-16)
dir=$cache/tree-$key
mkdir -p "$cache"
exec 9>"$cache/tree.lock"
flock 9
if [ ! -e "$dir/ready" ]; then
	rm -rf "$cache"/tree-[0-9a-f]*
	mkdir "$dir"
	tar -C "$dir" -xf "$tarball" "${unneeded[@]}"
	mv "$dir/$package" "$dir/linux"
	{
		for option in $config; do echo "CONFIG_$option=y"; done
		echo CONFIG_EXT4_FS=m
	} >"$dir/fragment"
	if ! {
		KCONFIG_ALLCONFIG="$dir/fragment" make -C "$dir/linux" O="$dir/out" allnoconfig &&
			nice -n 10 make -C "$dir/linux" O="$dir/out" -j"$(nproc)" vmlinux modules
	} >"$dir/log" 2>&1; then
		echo "the kernel did not build:" >&2
		tail -5 "$dir/log" >&2
		exit 1
	fi
	: >"$dir/ready"
fi
echo "$dir/out"
