# SPDX-License-Identifier: GPL-2.0-only
# Completion of kmemscope and its other names, for fish. All words and what they mean come from the program's help
# texts, which are made from its tables of options.

# Lines "word<tab>what it does" of the help text of the command in the arguments.
function __kmemscope_commands
	$argv --help 2>/dev/null </dev/null | sed -n 's/^  \([a-z]\{1,\}\)  *\([^ ].*\)/\1\t\2/p'
end

function __kmemscope_subcommands
	$argv --help 2>/dev/null </dev/null | sed -n "s/^  $argv[-1] \\([a-z]\\{1,\\}\\)[^ ]* .*  \\([^ ].*\\)/\\1\\t\\2/p"
end

function __kmemscope_options
	$argv --help 2>/dev/null </dev/null | sed -n \
		-e 's/^  -\([a-z]\), --\([a-z-]*\)[^ ]*\( [A-Z]*\)\{0,1\}  *\(.*\)/--\2\t\4/p' \
		-e 's/^      --\([a-z-]*\)[^ ]*\( [A-Z]*\)\{0,1\}  *\(.*\)/--\1\t\3/p'
end

function __kmemscope_complete
	set -l words (commandline -opc)
	set -l word (commandline -ct)
	set -l ask $words[1]
	set -l name (string split / -- $words[1])[-1]
	if test $name = kmemscope; and test (count $words) -gt 1
		set ask $words[1] $words[2]
	end
	if test "$words[-1]" = --color
		printf '%s\n' auto always never
	else if string match -q -- '-*' $word
		__kmemscope_options $ask
	else if test $name = kmemscope; and test (count $words) = 1
		__kmemscope_commands $ask
	else if test (count $words) = 2; and contains -- $words[2] kmap lab heap fleet
		__kmemscope_subcommands $ask
		__fish_complete_path $word
	else
		__fish_complete_path $word
	end
end

for name in kmemscope trace_analyze trace_analyze.py kmemtraced kmemtrace_check kmemtrace-report
	complete -c $name -f -a '(__kmemscope_complete)'
end
