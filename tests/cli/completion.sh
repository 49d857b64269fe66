#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion in bash, called as the shell does: with the words so far, and the index of the word at the cursor.
. "$(dirname "$0")/../../packaging/completion/kmemscope.bash"
. "$(dirname "$0")/lib.sh"
: "${KMEMSCOPE:?the path of the program}"

offers() { # EXPECTED WORD...: the last word is the one being typed
	local want=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_kmemscope "$1"
	[ "${COMPREPLY[*]}" = "$want" ] || { echo "offers '${COMPREPLY[*]}', not '$want'"; return 1; }
}

check "a command" offers account "$KMEMSCOPE" acc
check "several" offers 'info import' "$KMEMSCOPE" i
check "none" offers '' "$KMEMSCOPE" x
check "an option of a command" offers --min-age "$KMEMSCOPE" leaks --min
check "two on one line of the help" offers '--since' "$KMEMSCOPE" account --sin
check "and the second" offers '--until' "$KMEMSCOPE" account --un
check "no option of another command" offers '' "$KMEMSCOPE" account --min
check "a subcommand of kmap" offers 'record report' "$KMEMSCOPE" kmap re
check "of lab" offers 'build' "$KMEMSCOPE" lab b
check "an option of kmap" offers '--dialect' "$KMEMSCOPE" kmap report --dia
check "files are left to the shell" offers '' "$KMEMSCOPE" account trace
check "a colour" offers 'auto always' "$KMEMSCOPE" account --color a
check "an ancestor" offers --rings-file ./trace_analyze --rings-f
# Every command of the help has a word, and every word is a command.
all_commands() {
	local word n=0

	for word in $(_kmemscope_commands "$KMEMSCOPE"); do
		must "$KMEMSCOPE" "$word" --help >/dev/null || return 1
		n=$((n + 1))
	done
	[ $n -ge 18 ] || { echo "$n commands"; return 1; }
}
check "all commands" all_commands
done_testing
