#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a lab with a kernel that nobody rebuilt is made of:
#
#   stock.sh kernel ARCH [DEB]          prints the image of Debian's kernel: of this package, or of the newest for clouds
#   stock.sh init ARCH                  prints the program that is the guest's first process
#   stock.sh root ARCHIVE ARCH WORD...  packs what a command needs: its program with its libraries, and files that its
#                                       words name; for another architecture BusyBox, and such files
#
# ARCH is x86_64 or arm64.
# Packages are kept in $KMEMSCOPE_CACHE or ~/.cache/kmemscope.
set -euo pipefail

cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}
tree=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "lab: $*" >&2; }
die() { say "$*"; exit 1; }

# --- The kernel ----------------------------------------------------------------------------------

# apt-get and the like, or such that believe that this is a machine of the other kind.
for_arch() { # COMMAND ARGS...
	local command=$1 own=$cache/lab-apt-$arch
	shift
	if [ "$arch" = x86_64 ]; then
		"$command" "$@"
		return
	fi
	mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
	[ -e "$own/status" ] || : >"$own/status"
	"$command" -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$own" \
		-o Dir::State::lists="$own/lists" -o Dir::State::status="$own/status" -o Dir::Cache="$own/cache" \
		-o Debug::NoLocking=1 -o APT::Sandbox::User= "$@"
}

# Into a directory, without installing anything.
download() { # DIRECTORY PACKAGE
	say "fetching $2"
	(cd "$1" && for_arch apt-get download "$2" >&2) || die "$2 cannot be fetched"
}

lists() {
	# Not all suites have all architectures.
	[ "$arch" = x86_64 ] || for_arch apt-get update >/dev/null 2>&1 || true
}

new_scratch() { # sets $scratch
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	chmod 755 "$scratch" # apt-get does not fetch as root
}

fetch() { # DIRECTORY
	local package
	lists
	package=$(for_arch apt-cache depends --no-recommends --no-suggests $meta 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
	[ -n "$package" ] || die "the package lists have no $meta: give a package with --kernel"
	download "$1" "$package"
}

# Of a package only its kernel and its configuration are unpacked.
unpack() { # DEB DIRECTORY
	local config
	rm -rf "$2.new"
	mkdir -p "$2.new"
	dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2.new" --wildcards './boot/*' || die "$1: no package of a kernel"
	config=$(ls "$2.new"/boot/config-* 2>/dev/null) || die "$1: has no configuration of a kernel"
	for option in VIRTIO_PCI VIRTIO_CONSOLE DEBUG_INFO_BTF BLK_DEV_INITRD DEVTMPFS; do
		grep -qx "CONFIG_$option=y" "$config" ||
			die "$1: this kernel has no CONFIG_$option built in: take one for clouds, such as $meta"
	done
	rm -rf "$2"
	mv "$2.new" "$2"
}

kernel() { # [DEB]
	local dir deb=${1:-}
	mkdir -p "$cache"
	if [ -z "$deb" ]; then
		dir=$cache/lab-stock
		[ "$arch" = x86_64 ] || dir+=-$arch
		if [ ! -d "$dir" ]; then
			new_scratch
			fetch "$scratch"
			unpack "$scratch"/*.deb "$dir"
		fi
	elif [ "${deb%.deb}" = "$deb" ]; then
		[ -r "$deb" ] || die "$deb: cannot be read"
		realpath "$deb" # an image
		return
	else
		dir=$cache/lab-stock-$(sha256sum <"$deb" | cut -c1-16)
		[ -d "$dir" ] || unpack "$deb" "$dir"
	fi
	ls "$dir"/boot/vmlinuz-*
}

# --- The command -----------------------------------------------------------------------------------

add() { # FILE
	local library
	[ ! -e "$root/$1" ] || return 0
	mkdir -p "$root/$(dirname "$1")"
	cp -L "$1" "$root/$1"
	while read -r library; do
		[ -e "$root/$library" ] || install -D "$library" "$root/$library"
	done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*' || true)
}

# The guest's first process is compiled for this machine, with everything else; that for another one by a cross compiler.
init() {
	local dir=$tree/build-$arch
	if [ ! -e "$dir/lab/lab-init" ]; then
		[ -x "$tree/tools/cross.sh" ] || die "programs for $arch can be made in kmemscope's source tree only"
		dir=$cache/lab-build-$arch
		TARGETS=lab/lab-init "$tree/tools/cross.sh" "$arch" "$dir" -Doptimization=1 >&2 ||
			die "the guest's first process cannot be compiled for $arch"
	fi
	echo "$dir/lab/lab-init"
}

add_busybox() {
	local from=/bin/busybox applet
	if [ "$arch" != x86_64 ]; then
		from=$cache/lab-busybox-$arch
		if [ ! -e "$from" ]; then
			new_scratch
			lists
			download "$scratch" busybox-static
			dpkg-deb -x "$scratch"/*.deb "$scratch"
			mv "$scratch/bin/busybox" "$from"
		fi
	fi
	[ -x "$from" ] && [ -x /bin/busybox ] || return 0
	add "$from"
	[ "$from" = /bin/busybox ] || mv "$root/$from" "$root/bin/busybox"
	for applet in $(/bin/busybox --list); do
		[ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
	done
}

pack() { # ARCHIVE WORD...
	local archive=$1 program='' word
	shift
	root=$(mktemp -d)
	trap 'rm -rf "$root" "${scratch:-$root}"' EXIT
	mkdir -p "$root"/{proc,sys,tmp,run,etc,root,bin,usr/bin}
	add_busybox
	[ "$arch" != x86_64 ] || program=$(command -v -- "${1:-}" || true)
	for word in ${program:+"$program"} "$@"; do
		if [ -f "$word" ]; then
			rm -f "$root/$(realpath -s "$word")"
			add "$(realpath -s "$word")"
		fi
	done
	(cd "$root" && find . -mindepth 1 | LC_ALL=C sort | cpio -o -H newc --quiet --owner 0:0) >"$archive" ||
		die "$archive: cannot be packed"
}

command=${1:-}
[ "$command" != root ] || { archive=${2:?}; shift; }
arch=${2:-}
case $arch in
x86_64) meta=linux-image-6.12-cloud-amd64 ;;
arm64) meta=linux-image-6.12-cloud-arm64 ;;
*) command= ;;
esac
case $command in
kernel) kernel "${3:-}" ;;
init) init ;;
root) shift 2 && pack "$archive" "$@" ;;
*) sed -n '5,8s/^# *//p' "$0" >&2; exit 2 ;;
esac
