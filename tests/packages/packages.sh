#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian packages: what is in them, and that it works from there. Speaks TAP.
. "$(dirname "$0")/lib.sh"
export LC_ALL=C
need_packages
cd "$packages" || exit 1
for name in $own_packages; do
	check "$name can be unpacked" dpkg-deb -x "$(package "$name")" root
done
check "the version is that of the program" says "^kmemscope $(field kmemscope Version)\$" root/usr/bin/kmemscope --version
check "it runs from there" says 'number of allocs: *291' root/usr/bin/kmemscope account "$tree/tests/data/sample.log"
for name in trace_analyze trace_analyze.py kmemtraced kmemtrace_check kmemtrace-report; do
	check "$name is there" test "$(readlink root/usr/bin/$name)" = kmemscope
done
check "what it is linked with is depended on" says 'libelf1.*libzstd1' field kmemscope Depends
check "and what it loads late" says 'libcairo2.*libcapstone.*libcurl.*libgnutls.*libkdumpfile.*libmicrohttpd' field kmemscope Depends
check "the library depends on what it is linked with" says 'libelf1' field libkmemscope0 Depends
check "the program needs no package of the library" fails_saying 1 '' grep libkmemscope <(field kmemscope Depends)
check "programs that are linked find the library" test -e "$(ls root/usr/lib/*/libkmemscope.so)"
check "its headers are of the tree" same <(ls "$tree/include/kmemscope") <(ls root/usr/include/kmemscope)
check "what the older program's page is called" test -e root/usr/share/man/man1/trace_analyze.py.1.gz
# A symbol that is not known there is one that programs could not say they need.
check "programs that are linked depend on the version that has what they call" \
	says '^ ks_capture_open@KMEMSCOPE_0 0\.1\.0$' dpkg-deb -I "$(package libkmemscope0)" symbols
check "import kmemscope works from there" env LD_LIBRARY_PATH="$(echo root/usr/lib/*-linux-*)" PYTHONPATH=root/usr/lib/python3/dist-packages \
	python3 -c 'import sys, kmemscope; assert kmemscope.__file__.startswith(sys.argv[1]), kmemscope.__file__' "$PWD/root"
check "the how-tos" same <(cd "$tree/docs" && ls *.md) \
	<(ls root/usr/share/doc/kmemscope | sed 's/\.gz$//' | grep '\.md$' | grep -v -e README -e NEWS)
check "every page of the manual" same <(cd "$tree/docs/man" && ls *.rst | sed 's/\.rst$//' | sort) \
	<(find root/usr/share/man -name '*.gz' -type f | sed 's,.*/\(.*\)\.gz,\1,' | sort)
check "files that a how-to reads are as they are" test -e root/usr/share/doc/kmemscope/reading-a-kmap/ls.syms
lab=root/usr/share/kmemscope/lab
check "the lab's sources" same <(cd "$tree" && find lab/build.sh lab/stock.sh lab/types.list lab/configs kernel -type f | sort) <(cd $lab && find lab kernel -type f | sort)

sources=root/usr/src/kmemscope-$(field kmemscope-dkms Version)
check "the module's sources" same <(cd "$tree/kernel" && ls *.[ch] Kbuild Kconfig) <(ls $sources/kernel)
check "DKMS is told the version" grep -qx "PACKAGE_VERSION=\"$(field kmemscope-dkms Version)\"" $sources/dkms.conf
check "and asked to build it" says 'DKMS_NAME=kmemscope' dpkg-deb -I "$(package kmemscope-dkms)" postinst

service=root/lib/systemd/system/kmemscope-record.service
known_options() {
	local option
	for option in $(sed -n 's/^ExecStart=//p' $service | grep -oE ' --?[a-z-]+'); do
		root/usr/bin/kmemscope record --help | grep -qE -e "(^| )${option}[, ]" || { echo "$option"; return 1; }
	done
}
check "the service runs what is there" test -x "root$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' $service)"
check "with options that are known" known_options
check "the server's unit and its settings" test -f root/lib/systemd/system/kmemscope-serve.service -a -f root/etc/kmemscope/serve.conf

# What Debian asks of packages. Exceptions have a reason: packaging/debian/*.lintian-overrides.
clean() { lintian --info --allow-root --no-cfg --fail-on error,warning,info "$@"; }
if command -v lintian >/dev/null; then
	check "lintian has nothing to say" says '^$' clean kmemscope_*.changes
else
	skip "lintian has nothing to say" "no lintian"
fi

# The same commit gives the same packages. Here: nothing says where or when they were built. tests/packages/again.sh builds twice.
names_no_place() {
	local found
	found=$(grep -rlaE "/tmp/tmp\.|$tree" root) || return 0
	echo "$found"
	return 1
}
check "no file says where it was built" names_no_place
built=$(sed -n 's/^Date: //p' kmemscope_*.changes)
not_later() {
	local found
	found=$(find root -type f -newermt "$built") && [ -z "$found" ] || { echo "$found"; return 1; }
}
check "nor that it is newer than the changes" not_later
done_testing
