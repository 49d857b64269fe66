# SPDX-License-Identifier: GPL-2.0-only
# What tests of the program share: a test file sources this, then calls the functions of tests/lib/tap.sh.
# KMEMSCOPE is the program, KMEMGEN the generator; the test runs in a scratch directory of its own.

# A signal that was ignored when bash started stays ignored, here and in all children: under nohup, and
# under runners that ignore SIGPIPE or SIGINT. The tests send signals, so they start with none ignored.
[ -n "${TAP_SIGNALS:-}" ] || TAP_SIGNALS=default exec env --default-signal "$BASH" "$0" "$@"
set -u
KMEMSCOPE=${KMEMSCOPE:?the path of the program}
export KMEMSCOPE_PAGER=cat LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
data=$tests/data
scratch=$(mktemp -d)
trap 'cd /; rm -rf "$scratch"; declare -F cleanup >/dev/null && cleanup' EXIT
cd "$scratch" || exit 1
ln -s "$KMEMSCOPE" trace_analyze
ln -s "$KMEMSCOPE" trace_analyze.py
tap_dir=$scratch
. "$tests/lib/tap.sh"
export -f must # for "bash -c"
