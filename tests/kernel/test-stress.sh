#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# KUnit and stress on two processors, on a preemptible kernel with KASAN, lockdep and
# DEBUG_ATOMIC_SLEEP under QEMU. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_kernel x86_64
build_modules "$kernel"
make_initramfs <<'TEST'
. /lib.sh
NPROC=2
. /kunit.sh
insmod /memorizer.ko && insmod /mztest.ko
. /callers.sh
UNLOADS=20
. /stress.sh
TEST
boot_qemu "$kernel/arch/x86/boot/bzImage" kunit.enable=1
report
