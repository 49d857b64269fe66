#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# All benchmarks: run.sh BUILD_DIR.
set -eu
here=$(dirname "$0")
for bench in "$here"/*.sh; do
	case ${bench##*/} in
	lib.sh | run.sh) continue ;;
	esac
	echo "== ${bench##*/}"
	"$bench" "$@"
done
