# SPDX-License-Identifier: GPL-2.0-only
# For the kernel tests on the host: builds kernels into a cache, builds modules for them, and runs them in guests.
#
# The cache is outside the tree and keyed by content, so that a kernel is built once: in
# $KMEMSCOPE_CACHE, by default ~/.cache/kmemscope. A second run waits for the first.

[ -n "${TAP_SIGNALS:-}" ] || TAP_SIGNALS=default exec env --default-signal "$BASH" "$0" "$@"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
cache=${KMEMSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmemscope}
# A test that is run by hand, or by "make check-all", is of what is built.
if [ -z "${KMEMSCOPE:-}" ] && [ -x "$tree/build/kmemscope" ]; then KMEMSCOPE=$tree/build/kmemscope; fi
source_package=linux-source-6.12
work=$(mktemp -d)
qemu_options=
qemu_accel=tcg,thread=single
busybox=/bin/busybox
guest_cc=gcc
strip="strip"
guest_programs="churn mzcheck mzcount"
chroot_dir=
trap 'rm -rf "$work"' EXIT
tap_dir=$work
. "$tree/tests/lib/tap.sh"

# Runs a function that fills a directory of the cache, unless an earlier run has done so. Older
# directories of the same kind are removed. Prints nothing; the directory is $cache/KIND-KEY.
cached() { # KIND KEY FUNCTION ARGS...
	local kind=$1 dir=$cache/$1-$2 function=$3 old
	shift 3
	mkdir -p "$cache"
	preparing "$kind"
	(
		flock 9
		[ ! -e "$dir/.complete" ] || exit 0
		for old in "$cache/$kind"-*; do rm -rf "$old"; done
		mkdir -p "$dir"
		"$function" "$dir" "$@" >"$cache/$kind.log" 2>&1 || exit 1
		touch "$dir/.complete"
	) 9>"$cache/$kind.lock" || bail "$kind could not be made" "$cache/$kind.log"
	prepared
}

# The key has the content and the path of the cache, because a kernel's build directory contains its own path.
key_of() { { cat; echo "$cache"; } | sha256sum | cut -c1-16; }

# --- Kernels of our own configuration, from Debian's source package --------------------------

unpack_source() { nice tar -xf "/usr/src/$source_package.tar.xz" -C "$1" --strip-components=1; }

need_source() { # sets $source
	local version
	version=$(dpkg-query -W -f='${Version}' $source_package 2>/dev/null) ||
		skip_all "no package $source_package"
	source_key=$(key_of <<<"$version")
	cached source "$source_key" unpack_source
	source=$cache/source-$source_key
}

build_kernel() { # DIR ARCH
	KCONFIG_ALLCONFIG="$work/config" make -C "$source" ARCH="$2" O="$1" allnoconfig &&
		nice make -C "$source" ARCH="$2" O="$1" -j"$(nproc)"
}

need_kernel() { # ARCH; sets $kernel, a build directory
	need_source
	cat "$here/configs/common.config" "$here/configs/$1.config" >"$work/config"
	local key
	key=$({ echo "$source_key"; gcc --version; cat "$work/config"; } | key_of)
	cached "linux-$1" "$key" build_kernel "$1"
	kernel=$cache/linux-$1-$key
}

# A kernel that has the memorizer built in and counts accesses, as in the lab.
need_access_kernel() { # VERSION ARCH [OPTIONS OF build.sh...]; sets $kernel, a directory of results
	[ -e "/usr/src/linux-source-$1.tar.xz" ] || skip_all "no package linux-source-$1"
	preparing "linux-$1-$2 for the lab"
	kernel=$("$tree/lab/build.sh" --kernel "$1" --arch "$2" "${@:3}" 2>"$work/log") ||
		bail "the kernel could not be made" "$work/log"
	prepared
}

# --- Debian's own kernels ----------------------------------------------------------------------

depends_of() { # PACKAGE PATTERN
	apt-cache depends --no-recommends --no-suggests "$1" 2>/dev/null |
		sed -n "s/^ *Depends: //p" | grep -E -m 1 -e "$2"
}

# The packages are unpacked, not installed, so the system does not change. Only one line has an absolute path.
fetch_debian() { # DIR PACKAGE...
	local dir=$1
	shift
	mkdir "$dir/debs"
	(cd "$dir/debs" && apt-get download "$@") || return
	for deb in "$dir"/debs/*.deb; do dpkg-deb -x "$deb" "$dir" || return; done
	rm -r "$dir/debs"
	sed -i "s,^include /usr/src/,include $dir/usr/src/," "$dir"/usr/src/linux-headers-*/Makefile
	# Without it Kbuild does not look for pahole to make type information for modules.
	rm -f "$dir"/usr/src/linux-headers-*/vmlinux
}

need_debian_kernel() { # 5.10|6.1|6.12|7.2; sets $image, and $headers and $modules, a directory, but of 5.10
	local meta=linux-image-6.12-cloud-amd64 package release common kbuild dir
	[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip_all "not Debian on amd64"
	case $1 in
	5.10) need_older_kernel "$1"; return ;;
	7.2) need_newer_kernel "$1"; return ;;
	esac
	[ "$1" != 6.1 ] || meta=linux-image-cloud-amd64
	package=$(depends_of $meta "^linux-image-$1[0-9.]*[-+]")
	if [ -n "$package" ]; then
		release=${package#linux-image-}
		common=$(depends_of "linux-headers-$release" -common)
		kbuild=$(depends_of "linux-headers-$release" ^linux-kbuild)
		cached "debian-$1" "$(apt-cache policy "$package" | grep Candidate | key_of)" \
			fetch_debian "$package" "linux-headers-$release" "$common" "$kbuild"
	fi
	dir=$(ls -d "$cache/debian-$1"-* 2>/dev/null | head -n 1)
	[ -e "$dir/.complete" ] || skip_all "the archive has no kernel $1"
	image=$(ls "$dir"/boot/vmlinuz-*)
	headers=$(ls -d "$dir"/usr/src/linux-headers-*-amd64)
	modules=$(ls -d "$dir"/lib/modules/*)
}

# Kernels of a later release of Debian, whose packages this system's apt does not know: with lists of our own. Its
# compiler and tools are taken as well, into a directory to change the root to, since a kernel's modules are
# built by what built the kernel.
newer_apt() { # DIR COMMAND ARGS...
	local dir=$1 command=$2
	shift 2
	"$command" -o Dir::Etc::sourcelist="$dir/debian.sources" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o Dir::State="$dir" -o Dir::State::lists="$dir/lists" \
		-o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" -o APT::Install-Recommends=0 \
		-o Debug::NoLocking=1 "$@"
}

fetch_newer() { # DIR VERSION
	local apt=$1/apt uri release deb name
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		grep -v security | head -n 1)
	[ -n "$uri" ] || return
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	printf '%s\n' 'Types: deb' "URIs: $uri" 'Suites: trixie trixie-backports' 'Components: main' \
		'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$apt/debian.sources"
	newer_apt "$apt" apt-get update || return
	release=$(newer_apt "$apt" apt-cache search --names-only "^linux-binary-$2[.0-9]*[+].*-cloud-amd64\$" |
		sed 's/^linux-binary-//; s/ .*//' | sort -V | tail -n 1)
	[ -n "$release" ] || return
	newer_apt "$apt" apt-get install -y --download-only "linux-headers-$release" bash binutils coreutils dash \
		diffutils findutils grep gzip libelf1t64 make mawk perl-base sed || return
	(cd "$apt/cache/archives" && newer_apt "$apt" apt-get download "linux-binary-$release" "linux-modules-$release") ||
		return
	mkdir -p "$1"/usr/{bin,sbin,lib,lib64} "$1"/{dev,proc,tmp}
	for name in bin sbin lib lib64; do ln -s "usr/$name" "$1/$name"; done
	for deb in "$apt"/cache/archives/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$1" --keep-directory-symlink || return; done
	ln -sf mawk "$1/usr/bin/awk"
	mknod "$1/dev/null" c 1 3 && chmod 666 "$1/dev/null"
	echo "$release" >"$1/release"
	rm -r "$apt" "$1"/usr/share/doc
}

# A kernel of an earlier release of Debian: only the kernel itself, no modules can be built for it.
fetch_older() { # DIR VERSION
	local apt=$1/apt uri package deb
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		grep -v security | head -n 1)
	[ -n "$uri" ] || return
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	printf '%s\n' 'Types: deb' "URIs: $uri" 'Suites: bullseye' 'Components: main' \
		'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$apt/debian.sources"
	newer_apt "$apt" apt-get update || return
	package=$(newer_apt "$apt" apt-cache search --names-only "^linux-image-$2[.0-9-]*-cloud-amd64\$" |
		sed 's/ .*//' | sort -V | tail -n 1)
	[ -n "$package" ] || return
	(cd "$apt/cache/archives" && newer_apt "$apt" apt-get download "$package") || return
	for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$1" || return; done
	rm -r "$apt"
}

need_older_kernel() { # VERSION; sets $image
	local key
	key=$(key_of <<<"$(declare -f fetch_older)")
	cached "debian-$1" "$key" fetch_older "$1"
	image=$(ls "$cache/debian-$1-$key"/boot/vmlinuz-*)
}

need_newer_kernel() { # VERSION
	local dir
	[ "$(id -u)" = 0 ] || skip_all "changing the root for the compiler of kernel $1 needs root"
	dir=$cache/debian-$1-$(key_of <<<"$(declare -f fetch_newer)")
	cached "debian-$1" "${dir##*-}" fetch_newer "$1"
	image=$dir/usr/lib/modules/$(cat "$dir/release")/vmlinuz
	headers=$dir/usr/src/linux-headers-$(cat "$dir/release")
	modules=$dir/usr/lib/modules/$(cat "$dir/release")
	chroot_dir=$dir
}

# --- Modules and guests ------------------------------------------------------------------------

# Copies the sources to $work/build, in the layout of DKMS: the tree may be read-only, and must stay clean.
copy_sources() {
	"$tree/packaging/dkms/install.sh" test "$work"
	mv "$work/usr/src/kmemscope-test" "$work/build"
	cp -r "$here/module" "$work/build"
}

# Compiles both modules.
build_modules() { # KDIR [MAKE-ARGUMENTS...]; the .ko files are then in $work/modules
	local kdir=$1 make
	shift
	mkdir -p "$work/modules"
	copy_sources
	make="make_there -C $kdir CONFIG_MEMORIZER=m $*"
	$make M="$work/build/kernel" modules >"$work/log" 2>&1 ||
		bail "memorizer.ko does not compile" "$work/log"
	if grep -E 'warning: ' "$work/log" | grep -v 'compiler differs'; then
		bail "memorizer.ko compiles with warnings" "$work/log"
	fi
	$make M="$work/build/module" modules >"$work/log" 2>&1 ||
		bail "the test modules do not compile" "$work/log"
	cp "$work"/build/kernel/memorizer.ko "$work"/build/module/*.ko "$work/modules"
	if grep -q '^CONFIG_KUNIT=y' "$kdir/.config"; then
		$make M="$work/build/kernel" CONFIG_MEMORIZER_KUNIT_TEST=y modules >"$work/log" 2>&1 ||
			bail "memorizer.ko does not compile with its KUnit tests" "$work/log"
		cp "$work/build/kernel/memorizer.ko" "$work/modules/memorizer-kunit.ko"
	fi
	$strip --strip-debug "$work"/modules/*.ko
}

# make, or that of $chroot_dir, where there is one. Files of $work are then copied there and back.
make_there() { # ARGUMENTS...
	local there status=0
	[ -n "$chroot_dir" ] || {
		make "$@"
		return
	}
	there=$chroot_dir/$work
	mkdir -p "$there"
	cp -r "$work/build" "$there"
	# objtool reads /proc. The mount is seen by these commands only, and ends with them.
	PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount sh -c \
		'mount --rbind /proc "$1/proc" && exec chroot "$@"' sh "$chroot_dir" make "${@//"$chroot_dir"/}" ||
		status=$?
	cp -r "$there/build" "$work"
	rm -r "$there"
	return $status
}

# Compiles only the modules of the tests, for a kernel that has the memorizer built in.
build_test_modules() { # KDIR [MAKE-ARGUMENTS...]; the .ko files are then in $work/modules
	local kdir=$1
	shift
	mkdir -p "$work/modules"
	copy_sources
	# Many may build modules there at a time, but not while something of the kernel itself is compiled.
	(flock -s 9 && make_there -C "$kdir" "$@" M="$work/build/module" modules) 9<"$kdir" >"$work/log" 2>&1 ||
		bail "the test modules do not compile" "$work/log"
	cp "$work"/build/module/*.ko "$work/modules"
	$strip --strip-debug "$work"/modules/*.ko
	# The debug information is for who reads what the module did.
	[ ! -e "$work/build/module/mzfields.ko" ] || cp "$work/build/module/mzfields.ko" "$work/modules/mzfields.ko.debug"
}

# Copies kmemscope and its libraries, if $KMEMSCOPE is set.
add_user_side() {
	[ -n "${KMEMSCOPE:-}" ] || return 0
	local root=$work/root file
	mkdir -p "$root/bin"
	cp "$KMEMSCOPE" "$root/bin/kmemscope"
	for file in kmemtraced kmemtrace_check kmemtrace-report; do
		ln -s kmemscope "$root/bin/$file"
	done
	for file in $(ldd "$KMEMSCOPE" | grep -o '/[^ ]*'); do
		install -D "$file" "$root$file"
	done
}

# A RAM disk with busybox, the modules, the guest's scripts and /test.sh from standard input.
make_initramfs() { # sets $initramfs
	local root=$work/root applet program
	mkdir -p "$root"/{bin,sbin,proc,sys,dev,tmp}
	cp "$busybox" "$root/bin"
	for applet in $(/bin/busybox --list); do
		[ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
	done
	for program in $guest_programs; do
		$guest_cc -static -O2 -Wall -Wextra -Werror -Wno-unused-parameter \
			-o "$root/bin/$program" "$here/guest/$program.c" ||
			bail "$program does not compile"
	done
	cp "$here"/guest/*.sh "$tree/tests/lib/tap.sh" "$root"
	[ ! -d "$work/modules" ] || cp "$work"/modules/*.ko* "$root"
	install -m 755 "$here/guest/init" "$root/init"
	cat >"$root/test.sh"
	initramfs=$work/initramfs.gz
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$initramfs"
}

# A kernel for several processors gets two, which takes another way to run processes.
boot_uml() { # [KERNEL-PARAMETERS...]
	local smp=
	! grep -qx CONFIG_SMP=y "$kernel/.config" || smp="seccomp=on ncpus=2"
	[ -e "$work/xstate.so" ] ||
		gcc -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/xstate.so" "$tree/lab/uml-xstate.c" -ldl
	LD_PRELOAD="$work/xstate.so" TMPDIR="$work" timeout 300 "$kernel/linux" mem=256M \
		initrd="$initramfs" con=null con0=fd:0,fd:1 quiet uml $smp "$@" </dev/null >"$work/raw" 2>&1
}

# One host thread for both processors: with one thread each, QEMU 7.2 sometimes executes half of an instruction
# that the guest is patching, for example when a tracepoint is switched on.
# no_timer_check: on a busy host the guest finds that its timer does not tick, and panics.
# The time is for a guest that nobody stops: how long a test may last is for its runner to say, by the machine's load.
# Two sockets: a kernel without ACPI finds its processors in a table that lists only one per socket.
boot_qemu() { # IMAGE [KERNEL-PARAMETERS...]; for QEMU itself in $qemu_accel and $qemu_options
	local image=$1
	shift
	timeout 3600 qemu-system-x86_64 -accel "$qemu_accel" -cpu max -smp 2,sockets=2 -m 1024 \
		-kernel "$image" -initrd "$initramfs" \
		-append "console=ttyS0 panic=-1 quiet no_timer_check $*" \
		-nographic -no-reboot -nodefaults -serial stdio $qemu_options </dev/null >"$work/raw" 2>&1
}

# Boots a guest whose script calls dump_me, and calls a function at that time, for which monitor() gives commands to
# QEMU. What the script writes to /dev/ttyS1 is in $work/data.
boot_qemu_to_dump() { # FUNCTION IMAGE [KERNEL-PARAMETERS...]
	local function=$1 guest fifo
	shift
	for fifo in data monitor; do
		mkfifo "$work/$fifo.in" "$work/$fifo.out"
		cat "$work/$fifo.out" >"$work/$fifo" &
	done
	exec 7<>"$work/monitor.in" 8<>"$work/data.in"
	: >"$work/raw"
	qemu_options="$qemu_options -serial pipe:$work/data -monitor pipe:$work/monitor"
	boot_qemu "$@" &
	guest=$!
	while kill -0 $guest 2>/dev/null && ! grep -qE '^== (dump|end)' "$work/raw"; do sleep 0.2; done
	! grep -q '^== dump' "$work/raw" || "$function"
	echo go >&8
	wait $guest
	exec 7>&- 8>&-
}

# Returns when QEMU has carried the command out.
monitor() { # COMMAND
	local before
	before=$(grep -c 'VM status' "$work/monitor")
	printf '%s\ninfo status\n' "$1" >&7
	while kill -0 $guest 2>/dev/null && [ "$(grep -c 'VM status' "$work/monitor")" = "$before" ]; do sleep 0.1; done
}

report() {
	report_guest
	echo "1..$tap_count"
}

# Prints the guest's TAP results, and two results of the host: the guest ran to its end, and its kernel printed
# no warning. Checks of the host may follow.
report_guest() { # reads the console from $work/raw
	tr -d '\r' <"$work/raw" | sed 's/^.*\(== begin\)$/\1/' >"$work/console"
	sed -n '/^== begin$/,/^== end$/p' "$work/console" | grep -E '^(ok|not ok|#)' |
		grep -v '^# kernel: '
	tap_count=$(grep -cE '^(ok|not ok) ' "$work/console")
	! grep -q '^not ok ' "$work/console" || tap_failed=1
	echo "# part: all"
	if grep -q '^== end$' "$work/console" && [ "$tap_count" -gt 0 ]; then
		result 0 "the guest came to its end"
	else
		tail -n 60 "$work/console" | sed 's/^/# console: /'
		result 1 "the guest came to its end"
	fi
	if grep -E '^# kernel: |BUG:|WARNING:|Oops|KASAN:|Kernel panic' "$work/console" | head -n 60 |
		sed 's/^\(# \)\?/# /' | grep .; then
		result 1 "no complaint from the kernel"
	else
		result 0 "no complaint from the kernel"
	fi
}
