#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cache of kernels, sources and libraries that tests and the lab make once and keep, outside of this tree.
# cache.sh check|check-all|lab: says what the run will fetch and build, and how long that may last.
# cache.sh checked: notes how long the run of "make check" took that began with "cache.sh check".
# cache.sh clean: removes the cache.
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

# What "make check" keeps: name in the cache, megabytes of disk, what it is. A kernel for the lab has a key behind its
# name; one that was never finished has only a directory "-build".
kept='debian-6.12- 130 fetch Debian'"'"'s kernel 6.12
debian-7.2- 400 fetch Debian'"'"'s kernel 7.2 and its compiler
lab-stock 15 fetch Debian'"'"'s kernel 6.12 for the lab
foreign-arm64- 130 fetch Debian'"'"'s kernel 6.1 for arm64
sysroot-arm64- 210 fetch libraries for arm64
sysroot-armhf- 160 fetch libraries for armhf
sysroot-s390x- 210 fetch libraries for s390x
clickhouse- 150 fetch ClickHouse
exports 70 fetch readers of exports
root- 400 fetch a new Debian, for our packages
packages- 6 build our packages
tree- 900 build a kernel to measure
linux-um- 2000 build a kernel for tests, on User Mode Linux
linux-x86_64- 600 build a kernel for tests, on x86-64
lab-6.1-um-[0-9a-f][0-9a-f] 2000 build a kernel that counts accesses, 6.1
lab-6.12-um-[0-9a-f][0-9a-f] 2000 build a kernel that counts accesses, 6.12
lab-6.12-x86_64-[0-9a-f][0-9a-f] 600 build a kernel that counts accesses, 6.12 on x86-64'

# What "make check-all" keeps beside it.
kept_by_all='debian-5.10- 90 fetch Debian'"'"'s kernel 5.10
debian-6.1- 120 fetch Debian'"'"'s kernel 6.1
foreign-s390x- 130 fetch Debian'"'"'s kernel 6.1 for s390x
lab-linux-source-7.2 160 fetch the source of Linux 7.2
lab-7.2-um-[0-9a-f][0-9a-f] 2100 build a kernel that counts accesses, 7.2
lab-6.12-x86_64-????-[0-9a-f][0-9a-f] 400 build a kernel that counts accesses, 6.12 on x86-64, preemptible'

# Of what is missing: its lines.
missing() { # LINES
	local name rest
	while read -r name rest; do has "$name" || echo "$rest"; done <<<"$1"
}

say_missing() { # WHO
	local verb
	for verb in fetch build; do
		[ -z "$(list $verb)" ] || echo "$1: will $verb $(list $verb)."
	done
}
list() { awk -v verb="$1" '$2 == verb { $1 = $2 = ""; sub("^ *", ""); printf "%s%s", n++ ? "; " : "", $0 }' <<<"$lacks"; }

case ${1:-} in
check)
	lacks=$(missing "$kept") state=cached
	if [ -z "$lacks" ]; then
		echo "check: kernels and libraries are in the cache, $cache ($(size)); what has changed is built again."
	else
		state=missing need=$(awk '{ mb += $1 } END { print int(mb / 1000) + 1 }' <<<"$lacks")
		echo "check: the cache, $cache ($(size)), needs about $need GB more; \"make clean-cache\" gives all of it back."
		say_missing check
		need_room $((need + 1))
	fi
	if [ -s "$cache/minutes.$state" ]; then
		echo "check: the last run that began like this took $(cat "$cache/minutes.$state") minutes here."
	elif [ $state = cached ]; then
		echo "check: it may last half an hour on two processors that have nothing else to do."
	else
		echo "check: it may last an hour on two processors that have nothing else to do; the next run takes half of that."
	fi
	mkdir -p "$cache"
	echo "$(date +%s) $state" >"$cache/minutes.begun"
	;;
check-all)
	lacks=$(missing "$kept_by_all")
	if [ -n "$lacks" ]; then
		need=$(awk '{ mb += $1 } END { print int(mb / 1000) + 1 }' <<<"$lacks")
		echo "check-all: beside what \"make check\" keeps, the cache, $cache, needs about $need GB more."
		say_missing check-all
		need_room $((need + 1))
	fi
	echo "check-all: it runs \"make check\", the matrix of kernels and architectures (an hour or two), and then fuzzing and" \
		"mutants, which take hours."
	;;
checked)
	read -r begun state <"$cache/minutes.begun"
	echo $((($(date +%s) - begun + 59) / 60)) >"$cache/minutes.$state"
	;;
lab)
	if has "lab-6.12-um-[0-9a-f][0-9a-f]"; then
		echo "lab: a kernel is in the cache, $cache ($(size))."
	else
		echo "lab: will unpack a kernel's source and build it into $cache (2 GB of disk; $(size) now)." \
			"Some minutes, the next time none. \"make clean-cache\" gives the disk back."
		need_room 3
	fi
	;;
clean)
	echo "cache: removing what is ours in $cache ($(size))"
	for kind in lab linux debian foreign packages root tree source sysroot exports clickhouse drgn tidy minutes; do rm -rf "${cache:?}/$kind"{,-*,.*}; done
	if [ -d "$cache" ]; then rmdir --ignore-fail-on-non-empty "$cache"; fi
	;;
*)
	echo "usage: cache.sh check|check-all|checked|lab|clean" >&2
	exit 2
	;;
esac
