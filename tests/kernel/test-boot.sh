#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Recording from the start of the kernel: test-boot.sh 6.12|6.1 um|x86_64. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_access_kernel "$1" "$2"
make_initramfs <<'TEST'
. /lib.sh
. /boot.sh
TEST
boot="memorizer_enabled_boot=yes mem_log_boot=yes"
if [ "$2" = um ]; then boot_uml $boot; else boot_qemu "$kernel/bzImage" $boot; fi
report
