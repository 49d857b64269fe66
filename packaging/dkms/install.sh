#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Puts the sources of the module where DKMS looks for them: install.sh VERSION [DESTDIR]
set -eu
cd "$(dirname "$0")/../.."
version=$1
dir=${2:-}/usr/src/kmemscope-$version
mkdir -p "$dir/kernel" "$dir/include/uapi"
cp kernel/*.[ch] kernel/Kbuild kernel/Kconfig "$dir/kernel"
cp include/uapi/memorizer.h "$dir/include/uapi"
sed "s/@VERSION@/$version/" packaging/dkms/dkms.conf >"$dir/dkms.conf"
