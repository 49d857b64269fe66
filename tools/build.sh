#!/usr/bin/env bash
# Builds into a directory with Meson: build.sh DIR [meson options]. Prints only errors and warnings. With
# TARGETS="NAME...", builds these alone.
set -eu
cd "$(dirname "$0")/.."
dir=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Debian's ccache has a program of the name of each compiler there: what was compiled before is taken from its cache.
# A clone in another directory has the same objects but for that directory's name in debug information.
[ ! -d /usr/lib/ccache ] || export PATH=/usr/lib/ccache:$PATH CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}

if [ ! -f "$dir/build.ninja" ]; then
	meson setup "$dir" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
elif [ $# -gt 0 ]; then
	meson configure "$dir" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
echo "build: $dir"
TIMEFORMAT="build: $dir took %0R s, CPU %0U s"
# shellcheck disable=SC2086 # a list of words
time ninja -C "$dir" ${TARGETS:-} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep -A3 'warning:' "$log" >&2 || true
