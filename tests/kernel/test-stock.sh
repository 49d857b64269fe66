#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The module on Debian's own kernel, on two processors under QEMU: test-stock.sh 6.1|6.12|7.2. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_debian_kernel "$1"
build_modules "$headers"
add_user_side
make_initramfs <<'TEST'
. /lib.sh
insmod /memorizer.ko && insmod /mztest.ko
. /functional.sh
rmmod memorizer
insmod /memorizer.ko
[ ! -e /bin/kmemtraced ] || . /kmemtrace-user.sh
[ ! -e /bin/kmemscope ] || . /kmap-user.sh
rmmod memorizer
insmod /memorizer.ko bulk=0 max_mb=1 subbufs=2
. /limits.sh
rmmod memorizer
check "kmemtrace: enable=perhaps is refused" fails insmod /memorizer.ko enable=perhaps
insmod /memorizer.ko enable=yes
check "kmemtrace: enable=yes starts it" is "$(cat $D/kmemtrace/enabled)" 1
[ "$(uname -r | cut -d. -f2)" = 1 ] && UNLOADS=20 || UNLOADS=100
. /unload.sh
insmod /memorizer.ko
rmmod mztest && rmmod memorizer
result $? "the modules can be unloaded"
check "and leave nothing in debugfs" is "$(find $D -name '*memorizer*' -o -name 'clear_*obj*')" ""
TEST
boot_qemu "$image"
report
