#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The census of Debian's own kernel, which nothing else keeps busy, under QEMU: test-heap.sh 6.1|6.12. Prints TAP.
. "$(dirname "$0")/lib.sh"

[ -n "${KMEMSCOPE:-}" ] || skip_all "no kmemscope"
need_debian_kernel "$1"
add_user_side
make_initramfs <<'TEST'
. /lib.sh
. /heap.sh
TEST
boot_qemu "$image"
report
