#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exact counts of calls and returns: test-calls.sh 6.12|6.1 um|x86_64. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_access_kernel "$1" "$2" --calls
build_test_modules "$kernel/build" ARCH="$2"
add_user_side
make_initramfs <<'TEST'
. /lib.sh
insmod /mzcalls.ko
. /calls.sh
. /tables.sh
finish
TEST
if [ "$2" = um ]; then boot_uml; else boot_qemu "$kernel/bzImage"; fi
report_guest

# test-static.sh does this for what all kernels have. It runs in the build directory itself.
flock "$cache/lab-$1.lock" flock "$kernel/build" make -C "$kernel/build" ARCH="$2" C=2 CHECK=sparse \
	mm/memorizer/kernel/ >"$work/log" 2>&1 && ! grep -E 'mm/memorizer/.*(warning|error):' "$work/log" >"$work/sparse"
result $? "sparse has nothing to say about the counting of calls"
[ ! -s "$work/sparse" ] || sed 's/^/# /' "$work/sparse"
echo "1..$tap_count"
