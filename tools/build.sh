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
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH

if [ ! -f "$dir/build.ninja" ]; then
	meson setup "$dir" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
elif [ $# -gt 0 ]; then
	meson configure "$dir" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
echo "build: $dir"
ninja -C "$dir" ${TARGETS:-} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep -A3 'warning:' "$log" >&2 || true
