# SPDX-License-Identifier: GPL-2.0-only
# TAP for shell tests, in bash and in busybox. A test calls check or skip for each case and ends with
# done_testing. $tap_dir is a directory of the test's own.
#
# Every helper that runs a command looks at its exit status. What happens where no check can see it, in a
# pipe, a subshell or the background, is caught by files in $tap_dir: .failed lists the commands of must()
# that failed, .sanitizer.* are the reports of sanitizers. done_testing fails on either.
tap_dir=${tap_dir:?a directory for the files of this library}
tap_count=0
tap_failed=0

# A report goes to a file: it cannot be taken for the program's own message, nor be lost with its standard
# error. The exit status is one that no command of ours has.
tap_sanitizer=log_path=\"$tap_dir/.sanitizer\":exitcode=99:abort_on_error=0:halt_on_error=1
export tap_dir
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}$tap_sanitizer"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}$tap_sanitizer:print_stacktrace=1"
export TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}$tap_sanitizer"
export LSAN_OPTIONS="${LSAN_OPTIONS:+$LSAN_OPTIONS:}exitcode=99"

# result STATUS NAME
result() {
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_count - $2"
	else
		echo "not ok $tap_count - $2"
		tap_failed=1
	fi
}

# check NAME COMMAND...: the command must succeed. Its output is shown when it does not.
check() {
	local name="$1" status=0
	shift
	"$@" >"$tap_dir/.output" 2>&1 || status=$?
	result $status "$name"
	[ $status = 0 ] || sed 's/^/# /' "$tap_dir/.output" | head -n 40
}

# skip NAME REASON
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# skip_all REASON: nothing of this test can run here.
skip_all() {
	echo "1..1"
	echo "ok 1 # SKIP $1"
	exit 0
}

# bail REASON [LOG]: the test cannot go on.
bail() {
	echo "not ok $((tap_count + 1)) - $1"
	[ -z "${2:-}" ] || tail -n 30 "$2" | sed 's/^/# /'
	echo "1..$((tap_count + 1))"
	exit 1
}

# must COMMAND...: for what is run outside of checks. It passes the command's output on. A failure is
# remembered and fails the test at its end, also from a pipe or from "bash -c".
must() {
	local status=0
	"$@" || status=$?
	[ $status = 0 ] || echo "status $status: $*" >>"$tap_dir/.failed"
	return $status
}

# exits_with CODE COMMAND...
exits_with() {
	local want="$1" got=0
	shift
	"$@" || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, expected $want"; return 1; }
}

# ends_saying CODE PATTERN COMMAND...: the exit status, and what both streams together must match.
ends_saying() {
	local want="$1" pattern="$2" got=0 out
	shift 2
	out=$("$@" 2>&1) || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, expected $want:"; echo "$out"; return 1; }
	echo "$out" | grep -qE -e "$pattern" || { echo "no match for: $pattern"; echo "$out"; return 1; }
}

# says PATTERN COMMAND...: the command succeeds, and its output, both streams, matches.
says() {
	ends_saying 0 "$@"
}

# fails_saying CODE PATTERN COMMAND...: the exit status, and what standard error must match.
fails_saying() {
	local want="$1" pattern="$2" got=0 err
	shift 2
	err=$("$@" 2>&1 >/dev/null) || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, expected $want: $err"; return 1; }
	echo "$err" | grep -qE -e "$pattern" || { echo "no match for: $pattern"; echo "$err"; return 1; }
}

# same FILE FILE
same() {
	diff "$1" "$2"
}

# equal TEXT TEXT
equal() {
	[ "$1" = "$2" ] || { printf '%s\nis not\n%s\n' "$1" "$2"; return 1; }
}

# preparing WHAT, prepared: around what takes long but is kept for later runs, such as the build of a
# kernel. The runner stops the test's clock meanwhile.
preparing() { echo "# preparing: $1"; }
prepared() { echo "# prepared"; }

# Standard input shown as a failed check.
tap_complain() { # NAME
	result 1 "$1"
	sed 's/^/# /' | head -n 60
}

done_testing() {
	local report
	[ ! -e "$tap_dir/.failed" ] || tap_complain "commands outside of checks succeed" <"$tap_dir/.failed"
	for report in "$tap_dir"/.sanitizer.*; do
		[ ! -e "$report" ] || tap_complain "no sanitizer reports anything" <"$report"
	done
	echo "1..$tap_count"
	exit $tap_failed
}
