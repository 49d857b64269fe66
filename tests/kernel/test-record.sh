#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Recording Debian's own kernel, which nothing else keeps busy, under QEMU: test-record.sh 5.10|6.1|6.12|7.2 [census].
# Then accounts of such recordings and of the kernel's own text. Prints TAP.
. "$(dirname "$0")/lib.sh"

[ -n "${KMEMSCOPE:-}" ] || skip_all "no kmemscope"
need_debian_kernel "$1"
add_user_side
# Before 6.9 a probe at the end of a function does not know its arguments.
hooks=1
case $1 in 5.10 | 6.1) hooks=0 ;; esac
# The churn is done twice more for that: on one kernel, or where it is asked for.
census=0
[ "$1" != 6.12 ] && [ "${2:-}" != census ] || census=1
make_initramfs <<TEST
. /lib.sh
hooks=$hooks census=$census
echo "# part: record"
. /record.sh
echo "# part: account"
. /account.sh
TEST
boot_qemu "$image"
report
