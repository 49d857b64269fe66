#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A fleet of 10,000 hosts on this machine: what is stored a second, bytes, answers, the agent's CPU time. fleet.sh BUILD_DIR.
# It takes most of an hour and 10 GB of disk; tests/fleet/scale.py says how to do less.
set -eu
build=$(cd "${1:?usage: $0 BUILD_DIR}" && pwd)
exec "$(dirname "$0")/../fleet/scale.py" "$build/kmemscope" "$build/tests/fleet/fleetsim"
