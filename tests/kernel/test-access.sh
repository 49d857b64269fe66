#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exact counts of loads and stores: test-access.sh 6.12|6.1 um|x86_64 [CONFIG]. With CONFIG the kernel
# also has the options of configs/CONFIG.config. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_access_kernel "$1" "$2" ${3:+--config "$here/configs/$3.config"}
build_test_modules "$kernel/build" ARCH="$2"
add_user_side
make_initramfs <<'TEST'
. /lib.sh
insmod /mzaccess.ko
. /access.sh
. /access-stress.sh
insmod /mzfields.ko
. /fields.sh
insmod /mztest.ko
. /callers.sh
. /tables.sh
finish
TEST
if [ "$2" = um ]; then boot_uml; else boot_qemu "$kernel/bzImage"; fi
report
