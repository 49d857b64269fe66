# SPDX-License-Identifier: GPL-2.0-only
# TAP for shell tests. A test file sources this, calls check or skip for each case, ends with done_testing.
# KMEMSCOPE is the program, KMEMGEN the generator; the test runs in a scratch directory of its own.
set -u
KMEMSCOPE=${KMEMSCOPE:?the path of the program}
export KMEMSCOPE_PAGER=cat LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../data
scratch=$(mktemp -d)
trap 'cd /; rm -rf "$scratch"; declare -F cleanup >/dev/null && cleanup' EXIT
cd "$scratch" || exit 1
ln -s "$KMEMSCOPE" trace_analyze
ln -s "$KMEMSCOPE" trace_analyze.py
count=0
failed=0

# check NAME COMMAND...: the command must succeed. Its output is shown when it does not.
check() {
	local name=$1 out
	shift
	count=$((count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' <<<"$out" | head -40
		failed=1
	fi
}

# skip NAME REASON
skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# exits_with CODE COMMAND...: for check.
exits_with() {
	local want=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, expected $want"; return 1; }
}

# says PATTERN COMMAND...: the command's output, both streams, must match; its status is not looked at.
says() {
	local pattern=$1 out
	shift
	out=$("$@" 2>&1)
	grep -qE -e "$pattern" <<<"$out" || { echo "no match for: $pattern"; echo "$out"; return 1; }
}

# fails_saying CODE PATTERN COMMAND...: the status and one line on standard error that explains it.
fails_saying() {
	local want=$1 pattern=$2 got=0 err
	shift 2
	err=$("$@" 2>&1 >/dev/null) || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, expected $want: $err"; return 1; }
	grep -qE -e "$pattern" <<<"$err" || { echo "no match for: $pattern"; echo "$err"; return 1; }
}

same() {
	diff "$1" "$2"
}

done_testing() {
	echo "1..$count"
	exit $failed
}
