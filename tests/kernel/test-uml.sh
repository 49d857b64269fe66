#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# KUnit and functional tests on User Mode Linux, with KASAN and lockdep. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_kernel um
build_modules "$kernel" ARCH=um
make_initramfs <<'TEST'
. /lib.sh
. /kunit.sh
insmod /memorizer.ko && insmod /mztest.ko
STACKS=no # this kernel has no frame pointers
. /functional.sh
rmmod mztest && rmmod memorizer
result $? "the modules can be unloaded"
check "and leave nothing in debugfs" is "$(find $D -name '*memorizer*' -o -name 'clear_*obj*')" ""
TEST
boot_uml kunit.enable=1
report
