#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cache of kernels, sources and libraries that tests and the lab make once and keep, outside of this tree.
# cache.sh check|lab: says what the run will fetch and build, and how long that may last.
# cache.sh clean: removes the cache. The figures are of a machine with two processors.
set -eu
cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}

size() { [ -d "$cache" ] && du -sh "$cache" 2>/dev/null | cut -f 1 || echo 0; }
free_gb() { df -Pk "$1" | awk 'NR == 2 { print int($4 / 1048576) }'; }

# Whether the cache has something of each kind.
has() {
	local kind
	for kind; do compgen -G "$cache/$kind*" >/dev/null || return 1; done
}

need_room() { # GB
	local place=$cache
	while [ ! -d "$place" ]; do place=$(dirname "$place"); done
	[ "$(free_gb "$place")" -ge "$1" ] ||
		echo "cache: only $(free_gb "$place") GB are free there; KMEMSCOPE_CACHE names another place"
}

case ${1:-} in
check)
	if has lab-6.1-um- lab-6.12-um- lab-6.12-x86_64- linux-um- linux-x86_64- debian-6.1- debian-6.12- tree- sysroot-; then
		echo "check: kernels and libraries are in the cache, $cache ($(size)); what has changed is built again." \
			"About a quarter of an hour."
	else
		echo "check: will fetch Debian packages (0.5 GB) and build test kernels into $cache" \
			"(9 GB of disk; $(size) now). Up to 45 minutes, the next time a third of that." \
			"\"make clean-cache\" gives the disk back."
		need_room 10
	fi
	;;
lab)
	if has lab-6.12-um-; then
		echo "lab: a kernel is in the cache, $cache ($(size))."
	else
		echo "lab: will unpack a kernel's source and build it into $cache (2 GB of disk; $(size) now)." \
			"Some minutes, the next time none. \"make clean-cache\" gives the disk back."
		need_room 3
	fi
	;;
clean)
	echo "cache: removing what is ours in $cache ($(size))"
	for kind in lab linux debian tree source sysroot exports; do rm -rf "${cache:?}/$kind"{,-*,.*}; done
	if [ -d "$cache" ]; then rmdir --ignore-fail-on-non-empty "$cache"; fi
	;;
*)
	echo "usage: cache.sh check|lab|clean" >&2
	exit 2
	;;
esac
