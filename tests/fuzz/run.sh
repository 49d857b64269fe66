#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Fuzzes every target with libFuzzer: run.sh [SECONDS per target] [TARGET...]. Findings are kept in
# build-fuzz/. Copy a new input that is worth keeping to tests/fuzz/corpus/TARGET by hand. Every target runs,
# whatever the others find. The last line is "N passed, N failed, N skipped", by targets.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# = 0 ] || shift
if [ ! -f build-fuzz/build.ninja ]; then
	CC=clang meson setup build-fuzz -Dfuzzing=true -Db_lundef=false -Dbuildtype=debugoptimized \
		-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all >/dev/null
fi
[ $# -gt 0 ] || set -- $(cd tests/fuzz && ls fuzz-*.c | sed 's/fuzz-\(.*\)\.c/\1/')
passed=0 failed=0
for target; do
	ninja -C build-fuzz "tests/fuzz-$target" >/dev/null
	mkdir -p "build-fuzz/corpus-$target"
	echo "fuzz: $target for $seconds s"
	if build-fuzz/tests/"fuzz-$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix="build-fuzz/$target-" "build-fuzz/corpus-$target" "tests/fuzz/corpus/$target" \
		>"build-fuzz/$target.log" 2>&1; then
		passed=$((passed + 1))
		grep -E 'number_of_executed_units|new_units_added' "build-fuzz/$target.log"
	else
		failed=$((failed + 1))
		tail -40 "build-fuzz/$target.log"
		echo "failed: fuzz-$target"
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
