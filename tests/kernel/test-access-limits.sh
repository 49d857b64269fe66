#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Counting of loads and stores in one MiB: test-access-limits.sh 6.12|6.1 um|x86_64. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_access_kernel "$1" "$2"
build_test_modules "$kernel/build" ARCH="$2"
make_initramfs <<'TEST'
. /lib.sh
insmod /mzaccess.ko
. /access-limits.sh
finish
TEST
if [ "$2" = um ]; then boot_uml memorizer.max_mb=1; else boot_qemu "$kernel/bzImage" memorizer.max_mb=1; fi
report
