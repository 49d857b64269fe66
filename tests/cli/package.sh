#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian packages: what is in them, and that it works from there. Speaks TAP.
. "$(dirname "$0")/lib.sh"
tree=$(cd "$here/../.." && pwd)
for command in dh dh_dkms dpkg-buildpackage; do
	command -v $command >/dev/null && continue
	skip "Debian packages" "no $command"
	done_testing
done

makes() { "$tree/packaging/debian/build.sh" . >log 2>&1 || { tail -n 20 log; return 1; }; }
check "the packages are made" makes
[ -e "$(ls kmemscope_*.deb)" ] || done_testing
for package in kmemscope_ libkmemscope0_ libkmemscope-dev_ python3-kmemscope_ kmemscope-memorizer-dkms_; do
	check "${package%_} can be unpacked" dpkg-deb -x "$(ls $package*.deb)" root
done
field() { dpkg-deb -f "$(ls "$1"_*.deb)" "$2"; }
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
check "import kmemscope works from there" env LD_LIBRARY_PATH="$(echo root/usr/lib/*-linux-*)" PYTHONPATH=root/usr/lib/python3/dist-packages \
	python3 -c 'import sys, kmemscope; assert kmemscope.__file__.startswith(sys.argv[1]), kmemscope.__file__' "$PWD/root"
check "the how-tos" same <(cd "$tree/docs" && ls *.md) \
	<(ls root/usr/share/doc/kmemscope | sed 's/\.gz$//' | grep '\.md$' | grep -v -e README -e NEWS)
check "every page of the manual" same <(cd "$tree/docs/man" && ls *.rst | sed 's/\.rst$//' | sort) \
	<(find root/usr/share/man -name '*.gz' -type f | sed 's,.*/\(.*\)\.gz,\1,' | sort)
lab=root/usr/share/kmemscope/lab
check "the lab's sources" same <(cd "$tree" && find lab/build.sh lab/stock.sh lab/types.list lab/configs kernel -type f | sort) <(cd $lab && find lab kernel -type f | sort)

sources=root/usr/src/kmemscope-memorizer-$(field kmemscope-memorizer-dkms Version)
check "the module's sources" same <(cd "$tree/kernel" && ls *.[ch] Kbuild Kconfig) <(ls $sources/kernel)
check "DKMS is told the version" grep -qx "PACKAGE_VERSION=\"$(field kmemscope-memorizer-dkms Version)\"" $sources/dkms.conf
check "and asked to build it" says 'DKMS_NAME=kmemscope-memorizer' dpkg-deb -I "$(ls kmemscope-memorizer-dkms_*.deb)" postinst

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
done_testing
