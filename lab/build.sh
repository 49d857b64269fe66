#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a kernel with the memorizer in it from Debian's source package, and prints the directory
# with the result: image, vmlinux, System.map, .config, "build", the build directory, and "smp" if it can have several
# processors.
#
#   build.sh [--kernel 7.2|6.12|6.1] [--arch um|x86_64] [--plain|--calls] [--config FILE]... [--types] [--sites]
#
# --plain leaves out the counting of accesses; --calls adds the counting of calls. --config adds options to the
# configuration. --types adds "types": object files with the kernel's type information (BTF), where the result has no
# "btf" that was made of them. --sites adds "sites": the object files of all code that allocates, with debug information (DWARF).
#
# All work is done in a cache, $KMEMSCOPE_CACHE or ~/.cache/kmemscope. A result has its own directory
# there, named by all that went into it, so a running guest keeps its kernel. Building takes minutes,
# and seconds when only the memorizer has changed; interrupted, it goes on where it was.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/.." && pwd)
cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}
version=6.12 arch=um plain='' calls='' types='' sites=''
configs=()
results_kept=4

say() { echo "lab: $*" >&2; }
die() { say "$*"; exit 1; }
hash() { sha256sum | cut -c1-16; }

usage() { sed -n '7s/^# *//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

while [ $# -gt 0 ]; do
	case $1 in
	--kernel) version=${2:?}; shift 2 ;;
	--arch) arch=${2:?}; shift 2 ;;
	--config) configs+=("${2:?}"); shift 2 ;;
	--plain) plain=-plain; shift ;;
	--calls) calls=-calls; shift ;;
	--types) types=yes; shift ;;
	--sites) sites=yes; shift ;;
	*) usage ;;
	esac
done
[ -d "$tree/kernel/patches/$version" ] || die "no patches for kernel $version"
[ -e "$here/configs/$arch.config" ] || die "no configuration for architecture $arch"

[ -z "$plain" ] || [ -z "$calls" ] || usage

# --- What goes into it ---------------------------------------------------------------------------

package=linux-source-$version
tarball=/usr/src/$package.tar.xz

# A source that this release of Debian does not have, from backports to the next one: with lists of our own, so that the
# system's packages stay as they are. It is kept as it is: the archive moves on.
fetch_source() {
	local apt=$cache/lab-apt uri
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
		grep -v security | head -n 1)
	[ -n "$uri" ] || die "$tarball is missing: install the package $package"
	say "fetching $package"
	rm -rf "$apt"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	printf '%s\n' 'Types: deb' "URIs: $uri" 'Suites: trixie-backports' 'Components: main' \
		'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$apt/debian.sources"
	own_apt() {
		apt-get -o Dir::Etc::sourcelist="$apt/debian.sources" -o Dir::Etc::sourceparts=/dev/null \
			-o Dir::Etc::preferencesparts=/dev/null -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" \
			-o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1 \
			-o APT::Sandbox::User= "$@" >&2
	}
	own_apt -qq update && (cd "$apt" && own_apt -qq download "$package") && dpkg-deb -x "$apt/$package"_*.deb "$apt/x" ||
		die "$package cannot be fetched"
	mv "$apt/x/usr/src/$package.tar.xz" "$tarball"
	rm -rf "$apt"
}

if [ ! -e "$tarball" ] && [ "$version" = 7.2 ]; then
	tarball=$cache/lab-$package.tar.xz
	mkdir -p "$cache"
	(
		flock 9
		[ -e "$tarball" ] || fetch_source
	) 9>"$cache/lab-$package.lock"
fi
[ -e "$tarball" ] || die "$tarball is missing: install the package $package"
package_version=$(dpkg-query -W -f='${Version}' "$package" 2>/dev/null || stat -c %s-%Y "$tarball")

fragment() {
	cat "$here/configs/common.config" "$here/configs/$arch.config"
	[ ! -e "$here/configs/$arch-$version.config" ] || cat "$here/configs/$arch-$version.config"
	cat /dev/null ${configs[@]+"${configs[@]}"}
	[ -n "$plain" ] || echo CONFIG_MEMORIZER_ACCESS=y
	[ -z "$calls" ] || echo CONFIG_MEMORIZER_CALLS=y
}

# The memorizer's own sources, as they lie in the tree.
sources() { (cd "$tree" && find kernel include/uapi -type f -not -path 'kernel/patches/*' | LC_ALL=C sort); }
contents() { (cd "$tree" && sources | xargs -d '\n' sha256sum); }

# By place, too: a build directory remembers where it is.
source_key=$({ echo "$package_version $cache"; cat "$tree/kernel/patches/$version"/*.patch; } | hash)
build_key=$({ echo "$source_key"; "${CC:-gcc}" --version; } | hash)
result_key=$({ echo "$build_key"; fragment; contents; } | hash)

name=lab-$version-$arch$plain$calls
[ ${#configs[@]} = 0 ] || name+=-$(cat "${configs[@]}" | hash | cut -c1-4)
source=$cache/lab-source-$version-$source_key
build=$cache/$name-build-$build_key
result=$cache/$name-$result_key
log=$cache/$name.log

# --- Stages --------------------------------------------------------------------------------------

# Other directories of the same kind are of no use any more.
remove_others() { # PREFIX DIRECTORY
	local other
	for other in "$1"*; do
		[ "$other" = "$2" ] || rm -rf "$other"
	done
}

unpack() {
	[ ! -e "$source/.complete" ] || return 0
	say "unpacking $package $package_version"
	remove_others "$cache/lab-source-$version-" "$source"
	rm -rf "$source"
	mkdir -p "$source"
	nice tar -xf "$tarball" -C "$source" --strip-components=1
	local patch
	for patch in "$tree/kernel/patches/$version"/*.patch; do
		patch -d "$source" -p1 --no-backup-if-mismatch <"$patch" >>"$log" ||
			die "$(basename "$patch") does not apply, see $log"
	done
	touch "$source/.complete"
}

# Files that are the same keep their date, so that make does not compile them again.
copy_memorizer() {
	local to=$source/mm/memorizer file
	mkdir -p "$to"/{kernel,include}
	sources >"$to/.list"
	(cd "$to" && find kernel include -type f | { grep -vxFf .list || true; }) |
		while read -r file; do rm "$to/$file"; done
	while read -r file; do
		cmp -s "$tree/$file" "$to/$file" || install -D -m 644 "$tree/$file" "$to/$file"
	done <"$to/.list"
}

configure() {
	fragment >"$build/fragment.new"
	! cmp -s "$build/fragment.new" "$build/fragment" || return 0
	mv "$build/fragment.new" "$build/fragment"
	KCONFIG_ALLCONFIG=$build/fragment make -C "$source" ARCH="$arch" O="$build" allnoconfig \
		>>"$log" 2>&1 || { rm "$build/fragment"; die "cannot configure, see $log"; }
	if [ -z "$plain" ] && ! grep -qx CONFIG_MEMORIZER_ACCESS=y "$build/.config"; then
		rm "$build/fragment"
		die "the configuration does not allow counting of accesses: $build/.config"
	fi
}

# A line of progress for each hundred files.
compile() {
	say "building linux $version for $arch${plain:+, plain}${calls:+, with calls} (log: $log)"
	nice make -C "$source" ARCH="$arch" O="$build" -j"$(nproc)" 2>&1 | tee -a "$log" |
		awk '/^  (CC|AS|LD|AR) / && ++n % 100 == 0 { print "lab: " n " files"; fflush() }' >&2 ||
		die "the kernel does not compile, see $log"
}

publish() {
	local new=$result.new image=linux old
	[ "$arch" = um ] || image=arch/x86/boot/bzImage
	rm -rf "$new"
	mkdir -p "$new"
	cp "$build/$image" "$build/System.map" "$build/.config" "$new"
	! grep -qx CONFIG_SMP=y "$new/.config" || touch "$new/smp"
	# Of User Mode Linux the image is the ELF file.
	if [ "$arch" = um ]; then ln "$new/linux" "$new/vmlinux"; else cp "$build/vmlinux" "$new"; fi
	ln -s "$build" "$new/build"
	rm -rf "$result"
	mv "$new" "$result"
	ls -dt "$cache/$name"-???????????????? | tail -n +$((results_kept + 1)) |
		while read -r old; do rm -rf "$old"; done
}

# The files whose structures, and those of the headers that they include, are what a heap is made of.
typed_units() { sed 's/#.*//' "$here/types.list"; }

# The command that compiled a file, as make has noted it ("savedcmd_FILE.o := gcc ... -o FILE.o FILE.c ; ..."), with other options
# and another result.
compile_again() { # UNIT OPTIONS RESULT
	local saved=$build/${1%/*}/.${1##*/}.o.cmd
	[ -e "$saved" ] && grep -q -e ' -c -o ' "$saved" || return 0 # linked of others
	sed -n "1{s/^[^=]*:= //; s/ ; .*//; s/-Wp,-MMD,[^ ]*//; s,-c -o [^ ]*,,; p}" "$saved" |
		sed "s,\$, -w $2 -c -o '$3',"
}

run_commands() { # FILE
	(cd "$build" && nice xargs -d '\n' -n 1 -P "$(nproc)" sh -c) <"$1" >>"$log" 2>&1
}

# Compiles a few files once more, as they were compiled for the kernel, but for their type information alone: it costs
# a tenth of a build with debug information for all, and needs nothing but gcc.
make_types() {
	local new=$result/types.new unit
	"${CC:-gcc}" -gbtf -x c -c -o /dev/null /dev/null 2>/dev/null ||
		die "type information takes gcc 12 or newer: it has no -gbtf"
	say "type information for linux $version, $arch"
	rm -rf "$new"
	mkdir -p "$new"
	for unit in $(typed_units); do
		compile_again "$unit" "-fno-sanitize=all -gbtf -fno-eliminate-unused-debug-types" "$new/${unit//\//-}.o"
	done >"$new/commands"
	run_commands "$new/commands" || die "the type information could not be made, see $log"
	rm "$new/commands"
	mv "$new" "$result/types"
}

# The object files, without .o, that call an allocator.
allocating_units() {
	(cd "$build" && find . -name '*.o' -not -name built-in.a -not -path './scripts/*' -not -path './tools/*' -print0 |
		xargs -0 nm -A -u 2>/dev/null |
		sed -nE 's,^\./([^:]*)\.o: *U (__)?(kmalloc|kvmalloc|kmem_cache_alloc|vmalloc|vzalloc|kmemdup)[a-z_]*$,\1,p' | sort -u)
}

# Compiles them once more, with debug information. That changes no instruction, so a call is where it is in the kernel.
make_sites() {
	local new=$result/sites.new unit
	say "debug information of what allocates in linux $version, $arch (some minutes)"
	rm -rf "$new"
	mkdir -p "$new"
	for unit in $(allocating_units); do
		compile_again "$unit" -g "$new/${unit//\//-}.o"
	done >"$new/commands"
	run_commands "$new/commands" || die "the debug information could not be made, see $log"
	rm "$new/commands"
	mv "$new" "$result/sites"
}

lock() {
	exec 9>"$cache/lab-$version.lock"
	flock -n 9 || { say "waiting for another build"; flock 9; }
}

mkdir -p "$cache"
if [ ! -d "$result" ] || [ ! -d "$build" ]; then
	lock
fi
if [ ! -d "$result" ] || [ ! -d "$build" ]; then
	: >"$log"
	unpack
	remove_others "$cache/$name-build-" "$build"
	mkdir -p "$build"
	copy_memorizer
	configure
	compile
	publish
fi
if [ -n "$types" ] && [ ! -e "$result/btf" ]; then
	lock
	[ -e "$result/types" ] || make_types
fi
if [ -n "$sites" ] && [ ! -e "$result/sites" ]; then
	lock
	[ -e "$result/sites" ] || make_sites
fi
touch "$result"
echo "$result"
