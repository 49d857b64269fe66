#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The census of Debian's own kernel, which nothing else keeps busy, under QEMU: test-heap.sh 6.1|6.12. Prints TAP.
. "$(dirname "$0")/lib.sh"

[ -n "${KMEMSCOPE:-}" ] || skip_all "no kmemscope"
need_debian_kernel "$1"
build_test_modules "$headers"
add_user_side
make_initramfs <<'TEST'
. /lib.sh
. /heap.sh
. /heap-module.sh
check "mzheap.ko frees its objects" put clear $H/run
kmemscope heap --csv >/tmp/after.csv
check "and the census has none of them" is "$(objects_of /tmp/after.csv mzheap_node)" 0
check "mzheap.ko can be unloaded" rmmod mzheap
TEST
boot_qemu "$image"
report
