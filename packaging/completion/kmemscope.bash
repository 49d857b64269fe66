# SPDX-License-Identifier: GPL-2.0-only
# Completion of kmemscope and its other names, for bash. All words come from the program's help texts.

_kmemscope_help() {
	# Only the help of the command that is being typed is run.
	"$@" --help 2>/dev/null </dev/null
}

# The commands of "kmemscope --help", the subcommands of "kmemscope kmap --help".
_kmemscope_commands() {
	_kmemscope_help "$1" | sed -n 's/^  \([a-z]\{1,\}\)  *[^ ].*/\1/p'
}

_kmemscope_subcommands() {
	_kmemscope_help "$1" "$2" | sed -n "s/^  $2 \([a-z]\{1,\}\) .*/\1/p"
}

_kmemscope_options() {
	# What stands behind two blanks is what the option means.
	_kmemscope_help "$@" | sed -n 's/^ \{2,6\}\(-.*\)/\1/p' | sed 's/  .*//' | grep -oE -e '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,' | sort -u
}

_kmemscope() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=$1 words
	local name=${program##*/}
	local -a ask=("$program")

	[ "$name" != kmemscope ] || [ "$COMP_CWORD" = 1 ] || ask+=("${COMP_WORDS[1]}")
	if [ "$before" = --color ]; then
		words='auto always never'
	elif [[ $word == -* ]]; then
		words=$(_kmemscope_options "${ask[@]}")
	elif [ "$name" = kmemscope ] && [ "$COMP_CWORD" = 1 ]; then
		words=$(_kmemscope_commands "$program")
	elif [ "$COMP_CWORD" = 2 ] && [[ $before == @(kmap|lab|heap|fleet) ]]; then
		words=$(_kmemscope_subcommands "$program" "$before")
	else
		COMPREPLY=() # a file: the shell's own completion
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _kmemscope kmemscope trace_analyze trace_analyze.py kmemtraced kmemtrace_check kmemtrace-report
