# SPDX-License-Identifier: GPL-2.0-only
# Functions for all benchmarks. Benchmarks print ratios to another program in the same run and assert nothing.
# Machines are noisy, so runs are interleaved and medians are compared.
set -eu
build=${1:?usage: $0 BUILD_DIR}
kmemscope=$(cd "$build" && pwd)/kmemscope
kmemgen=$(cd "$build" && pwd)/tests/kmemgen
export LC_ALL=C KMEMSCOPE_PAGER=cat
runs=${RUNS:-7}
work=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/ks-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

# wall COMMAND...: seconds of wall time. Output goes to a file, because grep would stop early on /dev/null.
wall() {
	local start=$EPOCHREALTIME
	"$@" >"$work/output"
	echo "$start $EPOCHREALTIME" | awk '{ printf "%.4f\n", $2 - $1 }'
}

# cpu COMMAND...: seconds of user and system time.
cpu() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.4f\n", $1 + $2 }'
}

# rss COMMAND...: the peak memory use of the command, in kB.
rss() {
	/usr/bin/time -f %M "$@" 2>&1 >/dev/null | tail -1
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# Prints a figure with its aim: row NAME VALUE AIM
row() {
	printf '%-58s %14s   %s\n' "$1" "$2" "${3:+(aim: $3)}"
}

div() {
	awk -v a="$1" -v b="$2" -v f="${3:-%.2f}" 'BEGIN { printf f "\n", a / b }'
}
