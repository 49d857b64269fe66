#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a lab with a kernel that nobody rebuilt is made of:
#
#   stock.sh kernel [DEB]          prints the image of Debian's kernel: of this package, or of the newest one for clouds
#   stock.sh root ARCHIVE WORD...  packs what a command needs: its program with its libraries, and files that its words name
#
# Packages are kept in $KMEMSCOPE_CACHE or ~/.cache/kmemscope.
set -euo pipefail

cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}
meta=linux-image-6.12-cloud-amd64

say() { echo "lab: $*" >&2; }
die() { say "$*"; exit 1; }

# --- The kernel ----------------------------------------------------------------------------------

fetch() { # DIRECTORY
	local package
	package=$(apt-cache depends --no-recommends --no-suggests $meta 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
	[ -n "$package" ] || die "the package lists have no $meta: give a package with --kernel"
	say "fetching $package"
	(cd "$1" && apt-get download "$package" >&2) || die "$package cannot be fetched"
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
		if [ ! -d "$dir" ]; then
			scratch=$(mktemp -d)
			trap 'rm -rf "$scratch"' EXIT
			chmod 755 "$scratch" # apt-get does not fetch as root
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

pack() { # ARCHIVE WORD...
	local archive=$1 program word applet
	shift
	root=$(mktemp -d)
	trap 'rm -rf "$root"' EXIT
	mkdir -p "$root"/{proc,sys,tmp,run,etc,root,bin,usr/bin}
	if [ -x /bin/busybox ]; then
		add /bin/busybox
		for applet in $(/bin/busybox --list); do
			[ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
		done
	fi
	program=$(command -v -- "${1:-}" || true)
	for word in ${program:+"$program"} "$@"; do
		if [ -f "$word" ]; then
			rm -f "$root/$(realpath -s "$word")"
			add "$(realpath -s "$word")"
		fi
	done
	(cd "$root" && find . -mindepth 1 | LC_ALL=C sort | cpio -o -H newc --quiet --owner 0:0) >"$archive" ||
		die "$archive: cannot be packed"
}

case ${1:-} in
kernel) kernel "${2:-}" ;;
root) shift && pack "$@" ;;
*) sed -n '5,6s/^# *//p' "$0" >&2; exit 2 ;;
esac
