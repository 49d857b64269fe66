#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the kernel's own checkers, checkpatch and sparse, on the kernel module. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_kernel um
echo 1..5

# Names of the kernel's, such as __SetPageTable(), have capitals.
# port-user.h stands in for kernel headers in user space. A version test is what compat.h is for. The
# kernel's own prototypes of the checks that callbacks.c takes over have "volatile".
# Relative names: checkpatch looks at nothing where there is a blank in a path.
cd "$tree" || exit 1
mapfile -t files < <(ls kernel/*.[ch] tests/kernel/module/*.[ch] | grep -v port-user.h)
if perl "$source/scripts/checkpatch.pl" --no-tree --terse --no-summary --max-line-length=100 --strict \
	--ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON,LINE_SPACING,OPEN_ENDED_LINE,VOLATILE,CAMELCASE \
	-f "${files[@]}" >"$work/checkpatch" 2>&1; then
	echo "ok 1 - checkpatch has nothing to say"
else
	sed 's/^/# /' "$work/checkpatch"
	echo "not ok 1 - checkpatch has nothing to say"
fi

copy_sources
if make -C "$kernel" ARCH=um M="$work/build/kernel" CONFIG_MEMORIZER=m \
	CONFIG_MEMORIZER_KUNIT_TEST=y C=2 CHECK=sparse modules >"$work/log" 2>&1 &&
	! grep -E "$work/build/kernel/.*(warning|error):" "$work/log" >"$work/sparse"; then
	echo "ok 2 - sparse has nothing to say"
else
	sed 's/^/# /' "$work/sparse"
	echo "not ok 2 - sparse has nothing to say"
fi

others=$(grep -lE 'LINUX_VERSION_CODE|KERNEL_VERSION' "$tree"/kernel/*.[ch] | grep -v /compat.h)
if [ -z "$others" ]; then
	echo "ok 3 - only compat.h tests for versions"
else
	echo "not ok 3 - only compat.h tests for versions: $others"
fi

# The patches are checked from standard input, as if mailed: a file that git tracks would be checked as source.
: >"$work/patches"
for patch in "$tree"/kernel/patches/*/*.patch; do
	perl "$source/scripts/checkpatch.pl" --no-tree --terse --no-summary --no-signoff - <"$patch" \
		>>"$work/patches" 2>&1
done
if [ ! -s "$work/patches" ]; then
	echo "ok 4 - checkpatch has nothing to say about the patches"
else
	sed 's/^/# /' "$work/patches"
	echo "not ok 4 - checkpatch has nothing to say about the patches"
fi

# This runs in the build directory itself, so nothing else may build there.
need_access_kernel 6.12 um
if flock "$cache/lab-6.12.lock" flock "$kernel/build" make -C "$kernel/build" ARCH=um C=2 CHECK=sparse mm/memorizer/kernel/ \
	>"$work/log" 2>&1 &&
	! grep -E 'mm/memorizer/.*(warning|error):' "$work/log" >"$work/sparse"; then
	echo "ok 5 - sparse has nothing to say about the counting of accesses"
else
	tail -n 20 "$work/log" | sed 's/^/# /'
	echo "not ok 5 - sparse has nothing to say about the counting of accesses"
fi
