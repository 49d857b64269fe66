# SPDX-License-Identifier: GPL-2.0-only
# For the tests of our Debian packages: builds them, and roots of Debian to install them into, both kept in the cache.
. "$(dirname "${BASH_SOURCE[0]}")/../kernel/lib.sh"
own_packages="kmemscope libkmemscope0 libkmemscope-dev python3-kmemscope kmemscope-dkms"

sources() {
	git ls-files -z --cached --others --exclude-standard -- . ':!tests' 2>/dev/null ||
		find . -path ./tests -prune -o -path './build*' -prune -o -type f -print0
}
hash_tree() { (cd "$tree" && sources | sort -z | xargs -0 sha256sum); }

build_packages() { "$tree/packaging/debian/build.sh" "$1"; }

# Packages of this tree, made with the tools of this machine: others of either are other packages. $PACKAGES names a
# directory of packages that are tested in their place.
need_packages() { # sets $packages, a directory of this test's own
	local command key
	packages=$work/packages
	if [ -n "${PACKAGES:-}" ]; then
		cp -r "$PACKAGES" "$packages"
		return
	fi
	for command in dh dh_dkms dh_python3 dpkg-buildpackage; do
		command -v $command >/dev/null || skip_all "no $command"
	done
	key=$({ hash_tree; git -C "$tree" log -1 --format=%ct 2>/dev/null; dpkg-query -W; } | key_of)
	cached packages "$key" build_packages
	cp -r "$cache/packages-$key" "$packages"
}
package() { ls "$packages/$1"_*.deb; }
field() { dpkg-deb -f "$(package "$1")" "$2"; }

# What our packages need from Debian.
needed_by() { # PACKAGE...
	local name
	for name; do field "$name" Depends; done | tr ',' '\n' | sed 's/[(:|].*//; s/ //g' | grep -v kmemscope | sort -u
}

# A new system with nothing but Debian's own essentials and apt, and the packages that ours need as files, not
# installed: apt needs no network there.
make_root() { # DIR PACKAGE...
	local dir=$1 codename uri
	shift
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) main' 'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		sort -u >"$dir/sources"
	grep -q " $codename " "$dir/sources" || return
	mmdebstrap --variant=minbase --skip=cleanup/apt,cleanup/reproducible \
		--customize-hook="APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-get install -y --download-only --no-install-recommends $*" \
		"$codename" "$dir/root" "$dir/sources"
}

need_root() { # PACKAGES of Debian...; sets $root, a copy
	local key
	[ "$(id -u)" = 0 ] || skip_all "a system of one's own needs root"
	command -v mmdebstrap >/dev/null || skip_all "no mmdebstrap"
	key=$({ declare -f make_root; echo "$@"; apt-cache policy libc6 apt "$@" | grep Candidate; } | key_of)
	cached root "$key" make_root "$@"
	root=$work/system
	cp -a "$cache/root-$key/root" "$root"
}

# A command in the root, with a /proc of its own, which ends with it, and without a network.
inside() {
	unshare --mount --net --pid --fork env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$root" "$@" </dev/null
}

# An archive of packages that apt in the root reads beside Debian's.
offer() { # FILES.deb...
	mkdir -p "$root/archive"
	rm -f "$root"/archive/*
	cp "$@" "$root/archive"
	(cd "$root/archive" && dpkg-scanpackages . 2>/dev/null >Packages) || return
	echo 'deb [trusted=yes] file:/archive ./' >"$root/etc/apt/sources.list.d/ours.list"
	inside apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/ours.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0
}
