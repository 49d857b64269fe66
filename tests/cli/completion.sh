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
check "several" offers 'import info' "$KMEMSCOPE" i
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

# zsh and fish: the functions that make the words, and in fish the whole.
share=$tests/../packaging/completion
if command -v zsh >/dev/null; then
	zsh_words() { # FUNCTION COMMAND...: the functions of the file, without its last line, which completes
		zsh -fc 'eval "$(sed "\$d" "$1")"; shift; "$@"' - "$share/_kmemscope" "$@" | cut -d: -f1 | paste -sd' '
	}
	check "zsh parses it" zsh -n "$share/_kmemscope"
	check "zsh: commands" [ "$(zsh_words _kmemscope_commands "$KMEMSCOPE")" = "$(_kmemscope_commands "$KMEMSCOPE" | paste -sd' ')" ]
	check "zsh: subcommands" [ "$(zsh_words _kmemscope_subcommands "$KMEMSCOPE" kmap)" = "$(_kmemscope_subcommands "$KMEMSCOPE" kmap | paste -sd' ')" ]
	check "zsh: options" [ "$(zsh_words _kmemscope_options "$KMEMSCOPE" leaks | tr ' ' '\n' | sort | paste -sd' ')" = "$(_kmemscope_options "$KMEMSCOPE" leaks | grep -e -- | paste -sd' ')" ]
	check "zsh: what they mean" says '^--min-age:' zsh -fc 'eval "$(sed "\$d" "$1")"; _kmemscope_options "$2" leaks' - "$share/_kmemscope" "$KMEMSCOPE"
else
	skip "zsh" "it is not installed"
fi
if command -v fish >/dev/null; then
	mkdir home bin && ln -s "$KMEMSCOPE" bin/kmemscope
	fish_offers() { # EXPECTED LINE
		local got
		got=$(HOME=$PWD/home PATH=$PWD/bin:$PATH fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$share/kmemscope.fish" "$2" | cut -f1 | paste -sd' ')
		[ "$got" = "$1" ] || { echo "offers '$got', not '$1'"; return 1; }
	}
	check "fish: a command" fish_offers 'account' 'kmemscope acc'
	check "fish: an option" fish_offers '--min-age' 'kmemscope leaks --min'
	check "fish: a subcommand" fish_offers 'record report' 'kmemscope kmap re'
	check "fish: a colour" fish_offers 'always auto' 'kmemscope account --color a'
	touch trace.dat
	check "fish: a file" fish_offers 'trace.dat' 'kmemscope leaks trace.d'
else
	skip "fish" "it is not installed"
fi
done_testing
