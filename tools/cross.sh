#!/usr/bin/env bash
# Builds for another architecture: cross.sh ARCH DIR [meson options]. ARCH is Debian's name: arm64, armhf or
# s390x. Libraries of that architecture are unpacked into the cache, not installed: the system does not change.
# What is built runs under qemu-user; DIR/emulator says how, one word a line, with $0 for the program's own name.
set -eu
cd "$(dirname "$0")/.."
cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}
arch=$1 dir=$2
shift 2

case $arch in
arm64) triplet=aarch64-linux-gnu family=aarch64 endian=little emulator=qemu-aarch64-static ;;
armhf) triplet=arm-linux-gnueabihf family=arm endian=little emulator=qemu-arm-static ;;
s390x) triplet=s390x-linux-gnu family=s390x endian=big emulator=qemu-s390x-static ;;
*)
	echo "cross: '$arch' is none of arm64, armhf, s390x" >&2
	exit 2
	;;
esac
packages="libc6-dev zlib1g-dev libzstd-dev liblzma-dev libelf-dev libdw-dev libcairo2-dev libbpf-dev libkdumpfile-dev
	libncurses-dev libmicrohttpd-dev libyaml-dev libcapstone-dev libcmocka-dev"

# An apt of its own, which believes that nothing is installed and that this is a machine of the other kind.
foreign_apt() {
	apt-get -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$apt" \
		-o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
		-o APT::Install-Recommends=0 -o Debug::NoLocking=1 -o APT::Sandbox::User= "$@"
}

# Security suites lack some architectures, and then an update fails as a whole although the main suite is there.
make_sysroot() { # DIR
	local apt=$1.apt deb link target
	rm -rf "$1" "$apt"
	mkdir -p "$1" "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	foreign_apt update || echo "cross: some lists could not be had"
	# shellcheck disable=SC2086 # a list of words
	foreign_apt install -y --download-only $packages || return
	for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$1" || return; done
	rm -rf "$apt"
	# Links of -dev packages are absolute: followed as they are, they lead to libraries of this machine.
	find "$1" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
		ln -sfnr "$1$target" "$link"
	done
}

key=$({ echo "$packages"; apt-cache policy libc6 | grep Candidate; cat tools/cross.sh; } | sha256sum | cut -c1-16)
sysroot=$cache/sysroot-$arch-$key
mkdir -p "$cache"
(
	flock 9
	[ -e "$sysroot/.complete" ] && exit
	rm -rf "$cache/sysroot-$arch"-*
	make_sysroot "$sysroot" >"$cache/sysroot-$arch.log" 2>&1 || {
		tail -n 20 "$cache/sysroot-$arch.log" >&2
		exit 1
	}
	touch "$sysroot/.complete"
) 9>"$cache/sysroot-$arch.lock"

# A build directory keeps the compiler and the libraries that it was made with.
[ "$(cat "$dir/sysroot" 2>/dev/null)" = "$sysroot" ] || rm -rf "$dir"
mkdir -p "$dir"
echo "$sysroot" >"$dir/sysroot"
# qemu-arm finds no libraries below -L, so the loader of the other system is told where they are.
case $arch in
armhf)
	wrapper=("$emulator" "$sysroot/lib/ld-linux-armhf.so.3" --library-path
		"$sysroot/lib/$triplet:$sysroot/usr/lib/$triplet")
	name=--argv0
	;;
*)
	wrapper=("$emulator" -L "$sysroot")
	name=-0
	;;
esac
printf '%s\n' "${wrapper[@]}" "$name" "\$0" >"$dir/emulator"

quoted() { printf "'%s'" "$1"; shift; [ $# -eq 0 ] || printf ", '%s'" "$@"; }
cat >"$dir/cross.ini" <<END
[binaries]
c = ['$triplet-gcc', '--sysroot=$sysroot']
ar = '$triplet-ar'
strip = '$triplet-strip'
pkgconfig = 'pkg-config'
exe_wrapper = [$(quoted "${wrapper[@]}")]
[properties]
sys_root = '$sysroot'
pkg_config_libdir = ['$sysroot/usr/lib/$triplet/pkgconfig', '$sysroot/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$family'
endian = '$endian'
END
[ -f "$dir/build.ninja" ] || set -- --cross-file "$dir/cross.ini" "$@"
exec tools/build.sh "$dir" "$@"
