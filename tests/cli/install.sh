#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# "make install" with DESTDIR and PREFIX installs the program, the names of the older programs, and the manual.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$KMEMSCOPE")
dest="$scratch/a root"
check "installs" env DESTDIR="$dest" meson install --no-rebuild --quiet -C "$build"
prefix=$(meson introspect --buildoptions "$build" | python3 -c 'import json, sys; print([o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"][0])')
check "the installed program runs" says '^kmemscope ' "$dest$prefix/bin/kmemscope" --version
# These and what they need would make every start take several times as long.
check "few libraries are loaded at each start" fails_saying 1 '^$' grep -E 'lib(cairo|capstone|curl|gnutls|kdumpfile|microhttpd)' \
	<(must ldd "$dest$prefix/bin/kmemscope")
for name in trace_analyze trace_analyze.py; do
	check "$name is installed under its own name" says '^usage: trace_analyze' "$dest$prefix/bin/$name" --help
done
check "the how-tos" test -e "$dest$prefix/share/doc/kmemscope/slab-grows.md" -a -e "$dest$prefix/share/doc/kmemscope/reading-a-kmap/ls.syms"
check "manual pages of commands" [ "$(find "$dest$prefix" -path '*man1*' -name 'kmemscope*.1*' | wc -l)" -ge 5 ]
check "of formats" [ "$(find "$dest$prefix" -path '*man5*' -name 'kmemscope-ksdb.5*' | wc -l)" = 1 ]
# In the place where the shell looks for it.
completes() { bash -c 'cd "$1/share/bash-completion/completions" && . ./"$2" && complete -p "$2"' - "$dest$prefix" "$1"; }
check "completion" completes kmemscope
check "for zsh" test -e "$dest$prefix/share/zsh/site-functions/_kmemscope"
check "for fish" test -e "$dest$prefix/share/fish/vendor_completions.d/kmemscope.fish"
check "of an ancestor" completes trace_analyze.py
check "nothing else is in bin" [ -z "$(cd "$dest$prefix/bin" && ls | grep -v -x -e kmemscope -e trace_analyze -e trace_analyze.py -e kmemtraced -e kmemtrace_check -e kmemtrace-report)" ]
lab="$dest$prefix/share/kmemscope/lab"
check "what the lab is built from" test -x "$lab/lab/build.sh" -a -e "$lab/kernel/core.c" -a -e "$lab/include/uapi/memorizer.h"
check "the lab finds it there" ends_saying 1 'no patches for kernel 1.0' "$dest$prefix/bin/kmemscope" lab build --kernel 1.0
check "and its guest's first process" test -x "$dest$prefix/libexec/kmemscope/lab-init"

# Units: at most 3.0, "OK", by systemd's own count; and a recorder can work with the capabilities that its unit leaves.
exposes_little() {
	systemd-analyze security --offline=yes "$1" >exposure 2>/dev/null &&
		awk '/Overall exposure/ { level = $(NF - 2) } END { exit !(level != "" && level <= 3.0) }' exposure || { tail -1 exposure; return 1; }
}
# Units as systemd understands them: a word that it does not know is only a warning there.
understood() {
	mkdir -p units && sed 's,/usr/bin/kmemscope,/bin/true,' "$1" >"units/${1##*/}" &&
		systemd-analyze verify --man=no "units/${1##*/}" >warnings 2>&1 && [ ! -s warnings ] || { cat warnings; return 1; }
}
for unit in "$tests"/../packaging/systemd/*.service; do
	if systemd-analyze --help 2>/dev/null | grep -q verify; then
		check "systemd understands all of ${unit##*/}" understood "$unit"
	else
		skip "systemd understands all of ${unit##*/}" "no systemd-analyze"
	fi
	if systemd-analyze --help 2>/dev/null | grep -q -- --offline; then
		check "${unit##*/} exposes little" exposes_little "$unit"
	else
		skip "${unit##*/} exposes little" "no systemd-analyze security --offline here"
	fi
done
unit=$tests/../packaging/systemd/kmemscope-record.service
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z' 'a-z' | sed 's/ *cap_/,+/g')
if ! command -v setpriv >/dev/null || ! "$KMEMSCOPE" record -q -o all.dat --duration 0.1 2>/dev/null; then
	skip "the unit's capabilities are enough" "nothing can be recorded here"
else
	check "the unit's capabilities are enough" setpriv --bounding-set="-all$caps" --no-new-privs "$KMEMSCOPE" record -q -o few.dat --duration 0.2
	check "and give events" says '"events_total": [1-9]' "$KMEMSCOPE" info --json few.dat
fi
done_testing
