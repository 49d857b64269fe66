#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The same commit gives the same packages, byte for byte: built once more, elsewhere, at another time, with other settings of
# the caller. For "make check-all". Speaks TAP.
. "$(dirname "$0")/lib.sh"
need_packages
mkdir -p "$work/another/place" "$work/again"
differently() {
	(umask 077 && cd / && env -u LC_ALL TMPDIR="$work/another/place" TZ=Asia/Kathmandu LANG=C.UTF-8 LC_ALL=C.UTF-8 HOME=/nonexistent \
		DEB_BUILD_OPTIONS=parallel=1 "$tree/packaging/debian/build.sh" "$work/again") >"$work/log" 2>&1 || { tail -n 30 "$work/log"; return 1; }
}
check "the packages are built again" differently
for name in $own_packages kmemscope-dbgsym libkmemscope0-dbgsym; do
	check "$name is the same" cmp "$(package "$name")" "$(ls "$work/again/$name"_*.deb)"
	cmp -s "$(package "$name")" "$work/again/$name"_*.deb || ! command -v diffoscope >/dev/null ||
		diffoscope "$(package "$name")" "$work/again/$name"_*.deb | head -n 40 | sed 's/^/# /'
done
done_testing
