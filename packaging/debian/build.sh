#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds Debian packages of this tree: build.sh [DIRECTORY]. The packages are written to DIRECTORY, or to the
# current directory, with the .changes that lists them. It needs the packages that "apt-get build-dep ./" would install:
# see control. The same commit gives the same packages, byte for byte: their time is that of the commit. (Where the name of the
# directory for temporary files has a blank, dpkg leaves it in the programs.)
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath "${1:-.}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" "$tree/meson.build" | head -n 1)
mkdir "$work/kmemscope"
cd "$tree"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y NEWS.md)
fi
export SOURCE_DATE_EPOCH
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | tar -c --null --no-recursion -T - | tar -x -C "$work/kmemscope"
else
	tar -c --exclude=./build --exclude=./build-san . | tar -x -C "$work/kmemscope"
fi
cd "$work/kmemscope"
cp -r packaging/debian debian
cat >debian/changelog <<CHANGELOG
kmemscope ($version) unstable; urgency=medium

  * See NEWS.md.

 -- The kmemscope developers <kmemscope@example.org>  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
dpkg-buildpackage -b -us -uc
mv "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$out"
