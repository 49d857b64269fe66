#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Bad input and bad usage: each gives a clear message on standard error and its own exit status.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"
"$KMEMGEN" --events 2000 --seed 4 --clean >clean.log
"$KMEMGEN" --events 20000 --seed 4 >lossy.log

check "no command" fails_saying 2 '^usage: kmemscope COMMAND' "$KMEMSCOPE"
check "unknown command" fails_saying 2 "unknown command 'acount'" "$KMEMSCOPE" acount
check "prefixes are not commands" fails_saying 2 "unknown command 'acc'" "$KMEMSCOPE" acc clean.log
check "unknown option" fails_saying 2 "Try 'kmemscope account --help'" "$KMEMSCOPE" account --frobnicate
check "no file" fails_saying 2 'no capture given' "$KMEMSCOPE" account
check "two files" fails_saying 2 'takes one file' "$KMEMSCOPE" account clean.log lossy.log
check "a cache for a file" fails_saying 2 'for one cache: --cache=NAME' "$KMEMSCOPE" report --cache dentry clean.log
check "missing file" fails_saying 1 'gone.log: cannot open: No such file' "$KMEMSCOPE" account gone.log
check "directory" fails_saying 3 'is a directory' "$KMEMSCOPE" account .
: >empty
check "empty file" fails_saying 3 'empty: the file is empty' "$KMEMSCOPE" account empty
check "empty input" fails_saying 3 'standard input: the file is empty' "$KMEMSCOPE" account - </dev/null
echo 'dear diary' >prose
check "prose" fails_saying 3 'prose: no kmem event in it; it looks like plain text.*dear diary' "$KMEMSCOPE" account prose
echo ' x-1 [000] d..3. 1.000000: sched_switch: prev_comm=a' >sched.log
check "another subsystem's log" fails_saying 3 'looks like an ftrace log of other events' "$KMEMSCOPE" info sched.log
printf '# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n' >idle.log
check "a log without events" fails_saying 3 'looks like an ftrace log without any event' "$KMEMSCOPE" account idle.log
printf 'alloc_index,access_ip,access_pid,writes,reads\n0,ffffffff81000920,1,0,1\n' >accesses.csv
check "the second file of a CSV pair" fails_saying 3 'is the second file of a CSV pair' "$KMEMSCOPE" account accesses.csv
# Not random bytes, which could begin with the magic number of a format, but all bytes from 128 on.
for _ in $(seq 24); do printf "$(printf '\\%o' $(seq 128 255))"; done >noise
check "noise" fails_saying 3 'noise: is binary data of no known format' "$KMEMSCOPE" account noise
check "an ELF file" fails_saying 3 'is an ELF file and no capture; .* -k' "$KMEMSCOPE" account "$KMEMSCOPE"
gzip -c clean.log | head -c 3000 >cut.gz
check "truncated gzip" fails_saying 3 'cut.gz: the gzip data ends in the middle' "$KMEMSCOPE" account cut.gz
zstd -qc clean.log | head -c 3000 >cut.zst
check "truncated zstd" fails_saying 3 'cut.zst: the zstd data ends in the middle' "$KMEMSCOPE" account cut.zst
xz -c clean.log | head -c 3000 >cut.xz
check "truncated xz" fails_saying 3 'cut.xz: the xz data ends in the middle' "$KMEMSCOPE" account cut.xz
gzip -c clean.log >bad.gz
printf 'XXXXXXXX' | dd of=bad.gz bs=1 seek=2000 conv=notrunc status=none
check "damaged gzip" fails_saying 3 'bad.gz: damaged gzip data near byte' "$KMEMSCOPE" account bad.gz
check "kmap alone lists what it can do" ends_saying 2 '  kmap report FILE ' "$KMEMSCOPE" kmap
check "a window outside of the capture" fails_saying 1 'no event is in the requested window; the capture has 100.0' "$KMEMSCOPE" account --since 5 --until 3 clean.log
check "behind it, too" fails_saying 1 'no event is in the requested window; the capture has 100.0' "$KMEMSCOPE" report --json --since 99999 clean.log
check "the report is printed all the same" ends_saying 1 'number of allocs: +0' "$KMEMSCOPE" account --until 3 clean.log
check "a budget is not kept by an empty window" fails_saying 1 'no event is in' bash -c 'echo "total live 1G" >budget; "$0" gate --budget budget --since 99999 clean.log' "$KMEMSCOPE"
in_window() { must "$KMEMSCOPE" account --since +0 --until 1000 clean.log 2>&1 >/dev/null | grep 'no event' && return 1; true; }
check "a window around the capture" in_window
check "bad --since" fails_saying 2 "since 'noon'" "$KMEMSCOPE" account --since noon clean.log
check "bad --by" fails_saying 2 "by 'colour': choose site, function" "$KMEMSCOPE" report --by colour clean.log
check "bad --top" fails_saying 2 "top 'x'" "$KMEMSCOPE" account --top x clean.log
check "bad --color" fails_saying 2 "choose auto, always or never" "$KMEMSCOPE" account --color blue clean.log
check "--json with --csv" fails_saying 2 'choose one' "$KMEMSCOPE" account --json --csv clean.log
check "-b without a tree" fails_saying 2 'needs the kernel tree' "$KMEMSCOPE" account -b fs clean.log
check "a tree that does not exist" fails_saying 1 'gone-tree' "$KMEMSCOPE" account -k gone-tree clean.log
check "full standard output of a help text" fails_saying 1 'standard output: cannot write: No space left' bash -c '"$0" account --help >/dev/full' "$KMEMSCOPE"
check "full standard output" fails_saying 1 'standard output: cannot write: No space left' bash -c '"$0" account clean.log >/dev/full' "$KMEMSCOPE"
check "a limit of file sizes" fails_saying 1 'limited.ksdb: cannot write: File too large' bash -c 'ulimit -f 1; exec "$0" import -o limited.ksdb clean.log' "$KMEMSCOPE"
check "a limit of file sizes leaves no file" [ -z "$(ls limited* 2>/dev/null)" ]
check "full output file" fails_saying 1 '/dev/full: cannot write: No space left' "$KMEMSCOPE" account -c /dev/full clean.log

check "--strict, nothing lost" exits_with 0 "$KMEMSCOPE" account --strict clean.log
check "quality: one line where all is well" equal "$(must "$KMEMSCOPE" report clean.log | grep -c '^capture quality: good, [0-9]* events, none lost$')" 1
check "... all counters with -v" says '^ +[0-9]+ frees of NULL$' "$KMEMSCOPE" report -v "$data/sample.log"
check "... and none of them without" equal "$(must "$KMEMSCOPE" report "$data/sample.log" | grep -c 'frees of NULL')" 0
check "quality: what is lost is said" says '^ +[0-9]+ events lost by the capture$' "$KMEMSCOPE" report lossy.log
check "--strict, events lost" fails_saying 4 'the capture lost events' "$KMEMSCOPE" account --strict lossy.log
check "the report is still printed" ends_saying 4 'number of allocs' "$KMEMSCOPE" account --strict lossy.log
sed '1i # entries-in-buffer/entries-written: 2000/5000   #P:2' clean.log >overwritten.log
check "overwritten events are a loss" fails_saying 4 'lost events' "$KMEMSCOPE" info --strict overwritten.log
check "and are counted" says '3000 events overwritten before the log begins' "$KMEMSCOPE" info overwritten.log

check "two files by options" fails_saying 2 'more than one input file' "$KMEMSCOPE" account -f clean.log --db-file lossy.log
check "a number out of range" fails_saying 2 "depth '65': give a number from 1 to 64" "$KMEMSCOPE" static -k . --depth 65
# Options are tables (src/cli/option.c), from which --help is made.
wide_help() {
	local command
	for command in $(must "$KMEMSCOPE" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		must "$KMEMSCOPE" "$command" --help | grep -E '^.{93}' | sed "s/^/$command: /"
	done
}
check "no line of any --help is too wide" test -z "$(wide_help)"
check "--help: a continued text is indented" says '^ {20,}cgroup, cpu, node, gfp: of the allocation$' "$KMEMSCOPE" diff --help
check "--help: an optional argument" says '^ {6}--cache\[=NAME\]  ' "$KMEMSCOPE" report --help
check "--help: a command's own option replaces a shared option" test "$(must "$KMEMSCOPE" report --help | grep -c -e --cache)" = 1
check "--help" says '^usage: kmemscope account' "$KMEMSCOPE" account --help
check "--version" says '^kmemscope [0-9]+\.[0-9]+' "$KMEMSCOPE" --version

# The pager, on a terminal.
paged() { # ENVIRONMENT...
	env -u LESSSECURE "$@" KMEMSCOPE_PAGER='cat >/dev/null; echo "secure=$LESSSECURE."' script -qec "'$KMEMSCOPE' account clean.log" /dev/null </dev/null
}
check "under sudo less runs no commands" says '^secure=1\.' paged SUDO_UID=1000
check "and else what it likes" says '^secure=\.' paged -u SUDO_UID

# Text from a trace must be escaped before it reaches the terminal.
printf ' x-1 [000] .... 1.0: kmalloc: call_site=\033[31mred+0x1/0x2 ptr=00000000a24afd00 bytes_req=1 bytes_alloc=8 gfp_flags=GFP_KERNEL\n \033]0;title\a\n' >hostile.log
check "escape sequences in a site are made harmless" exits_with 1 bash -c 'must "$0" account hostile.log | grep -q "$(printf "\033")"' "$KMEMSCOPE"
check "and in lines not understood" exits_with 1 bash -c 'must "$0" info hostile.log | grep -q "$(printf "\033")"' "$KMEMSCOPE"
check "and in JSON" bash -c 'must "$0" info --json hostile.log | python3 -m json.tool' "$KMEMSCOPE"

# The log of a serial console: half lines and boot messages are counted, the first few are shown, and the other
# lines are used.
{
	echo '[    0.000000] Linux version 3.6.0'
	sed -n 3,500p clean.log
	echo '[    1.000000] usb 1-1: new high-speed USB device'
	echo '   bash-1 [000] .... 1.0: kmalloc: call_site=f+0x1/0x2 ptr=00000000a2'
	sed -n 501,900p clean.log
} | sed 's/$/\r/' >serial.log
check "serial log: the other lines are used" says "\"events_total\": 898" "$KMEMSCOPE" info --json serial.log
check "serial log: lines that are not understood are counted" says '3 lines not understood' "$KMEMSCOPE" info serial.log
check "and the first few are shown" says 'usb 1-1: new high-speed' "$KMEMSCOPE" info serial.log
head -c 700000 /dev/zero | tr '\0' x >long-line
cat clean.log long-line clean.log >long.log
check "an endless line costs one line" says '1 lines not understood' "$KMEMSCOPE" info long.log

# Misspelt words, and ways to ask for help.
check "did you mean a command" fails_saying 2 "unknown command 'leak'; did you mean 'leaks'" "$KMEMSCOPE" leak f
check "letters swapped" fails_saying 2 "did you mean 'report'" "$KMEMSCOPE" reprot f
check "nothing is near" fails_saying 2 "unknown command 'frobnicate'; see" "$KMEMSCOPE" frobnicate
check "did you mean an option" fails_saying 2 'Did you mean --min-age' "$KMEMSCOPE" leaks --min-aeg 3 f
check "did you mean a subcommand of heap" fails_saying 2 "subcommand 'holdrs'; did you mean 'holders'" "$KMEMSCOPE" heap holdrs
check "of lab" fails_saying 2 "did you mean 'build'" "$KMEMSCOPE" lab biuld
check "of fleet" fails_saying 2 "did you mean 'leaks'" "$KMEMSCOPE" fleet leak
check "of kmap" fails_saying 2 "did you mean 'report'" "$KMEMSCOPE" kmap repot
check "no subcommand is near" fails_saying 2 "unknown subcommand 'frobnicate'$" "$KMEMSCOPE" heap frobnicate
check "help COMMAND SUBCOMMAND" says '^usage: kmemscope heap' "$KMEMSCOPE" help heap holders
check "help COMMAND" says '^usage: kmemscope leaks' "$KMEMSCOPE" help leaks
check "COMMAND help" says '^usage: kmemscope leaks' "$KMEMSCOPE" leaks help
cp "$data/sample.log" help
check "unless there is such a file" says 'capture quality' "$KMEMSCOPE" leaks help
rm help
check "commands are in groups" says '^Read a capture:' "$KMEMSCOPE" --help
homeless=$("$KMEMSCOPE" --help | awk '!NF { title = 0 } /^[A-Z].*:$/ { title = 1 } /^  [a-z]/ && !title { print $1 }')
check "each of them in one" [ -z "$homeless" ]
examples() { # all commands but those for which this machine decides
	local command
	for command in $("$KMEMSCOPE" --help | sed -n 's/^  \([a-z]\{1,\}\)  *[^ ].*/\1/p'); do
		"$KMEMSCOPE" "$command" --help | grep -qE '^(example: |  )kmemscope ' || { echo "$command --help has no example"; return 1; }
	done
}
check "all have examples" examples
for order in live:current_dynamic total:total_dynamic allocs:alloc_count frees:free_count; do
	must "$KMEMSCOPE" report --csv -o "${order%:*}" "$data/sample.log" >new
	must "$KMEMSCOPE" report --csv -o "${order#*:}" "$data/sample.log" >old
	check "--order-by ${order%:*} is ${order#*:}" same old new
done
done_testing
