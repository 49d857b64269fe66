#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Live levels of Debian's own kernel, which allows probes on functions, under QEMU: test-live.sh 6.12|7.2 [leaks|offline]. The
# levels against a module's known numbers, with "offline" while a processor goes away; with "leaks", the verdicts of watch on a
# module's leaks instead. Prints TAP.
. "$(dirname "$0")/lib.sh"

KMEMSCOPE=${KMEMSCOPE:-$tree/build/kmemscope}
[ -e "$KMEMSCOPE" ] || skip_all "no kmemscope"
need_debian_kernel "$1"
build_test_modules "$headers" ONLY=mzlive
add_user_side
script=live.sh
[ "${2:-}" != leaks ] || script=live-leaks.sh
offline=
[ "${2:-}" != offline ] || offline=1
make_initramfs <<TEST
. /lib.sh
offline=$offline
. /$script
check "mzlive.ko can be unloaded" rmmod mzlive
TEST
# Time in the guest goes by what it executes, and waiting takes none: a host that is busy changes nothing.
qemu_options="-icount shift=1,sleep=off"
boot_qemu "$image"
report
