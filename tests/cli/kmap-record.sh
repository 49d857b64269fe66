#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmap record where it cannot record: each error says how to fix it, and leaves no file. tests/kernel checks what
# it records, on a kernel with the module.
. "$(dirname "$0")/lib.sh"

record() { "$KMEMSCOPE" kmap record "$@"; }

# A plain directory instead of debugfs.
MEMORIZER_DIR=$scratch/memorizer check "no debugfs" \
	fails_saying 1 'mount -t debugfs nodev /sys/kernel/debug' record -- touch ran
mkdir memorizer
MEMORIZER_DIR=$scratch/memorizer check "no control file" \
	fails_saying 1 'load the module memorizer' record -- touch ran
MEMORIZER_DIR=/dev/null check "no directory" fails_saying 1 '/dev/null: cannot open: Not a dir' record

if [ -e /sys/kernel/debug/memorizer ]; then
	skip "no module" "it is loaded"
elif [ "$(stat -f -c %T /sys/kernel/debug 2>/dev/null)" = debugfs ]; then
	check "no module" fails_saying 1 'memorizer is not there: load the module \(modprobe' \
		record -- touch ran
elif unshare -m mount -t debugfs nodev /sys/kernel/debug 2>/dev/null; then
	with_debugfs() {
		unshare -m bash -c 'mount -t debugfs nodev /sys/kernel/debug && exec "$KMEMSCOPE" kmap record -- touch ran'
	}
	check "no module" fails_saying 1 'memorizer is not there: load the module \(modprobe' with_debugfs
else
	skip "no module" "no debugfs here"
fi

# A file that only its owner may use, and someone else.
chmod 755 . && touch memorizer/memorizer_enabled && chmod 600 memorizer/memorizer_enabled
export MEMORIZER_DIR=$scratch/memorizer
if [ "$(id -u)" = 0 ] && cp "$KMEMSCOPE" program && [ -x /usr/bin/setpriv ]; then
	check "not root" fails_saying 1 'Permission denied: the memorizer is for root only' \
		setpriv --reuid=65534 --clear-groups ./program kmap record -o /dev/null -- touch ran
else
	skip "not root" "needs root to become another"
fi
unset MEMORIZER_DIR

check "the command was never run" test ! -e ran
check "no map is left" test ! -e trace.kmap

# A directory that looks like the module's: its stream has one object, and then waits for more.
mkdir fake && mkfifo fake/kmap_stream && touch fake/clear_dead_objects
echo '0 off' >fake/memorizer_enabled
printf '%s\n' 'state: ok' 'dropped_full: 3' 'dropped_nmi: 0' 'marks_lost: 0' >fake/show_stats
exec 4<>fake/kmap_stream
echo 'ffffffff81000010,42,ffff888000000000,64,100,150,ffffffff81000900,ls' >&4
export MEMORIZER_DIR=$scratch/fake
check "a command is recorded" says '1 objects' record --text -o one.kmap -- touch ran
check "it ran" test -e ran
check "its map can be read" says '^  1 objects' "$KMEMSCOPE" kmap report one.kmap
check "what was lost before does not count" record --text --strict -o two.kmap -- true
check "the status is that of the command" exits_with 3 record --text -o three.kmap -- sh -c 'exit 3'
check "and of its signal" exits_with 137 record --text -o three.kmap -- sh -c 'kill -9 $$'
check "Ctrl-C ends a recording" exits_with 130 record --text -o int.kmap -- sh -c 'kill -INT $PPID; exec sleep 5'
check "so does kill" exits_with 143 record --text -o term.kmap -- sh -c 'kill -TERM $PPID; exec sleep 5'
check "both leave a map" test -e int.kmap -a -e term.kmap
check "a duration ends it" record --text --duration 0.1 -o timed.kmap
check "the mode is as it was" equal "$(cat fake/memorizer_enabled)" '0 off'
exec 4>&- # nobody holds the stream: it ends
check "a stream that breaks off" fails_saying 1 "the stream broke off" record --text -o none.kmap -- sleep 5
unset MEMORIZER_DIR

check "a mode that does not exist" fails_saying 2 "give a number from 1 to 3" record --mode 4
check "a pid that is not a number" fails_saying 2 "give the number of a process" record -p x
check "a pid that the kernel would take for a mode" fails_saying 2 "4 or above" record -p 3
check "a pid and a command" fails_saying 2 "--pid and a command: choose one" record -p 99 -- ls
check "a pid and a mode" fails_saying 2 "--pid and --mode: choose one" record -p 99 --mode 1
check "a duration of nothing" fails_saying 2 "give seconds" record --duration 0
check "an option of another subcommand" fails_saying 2 "has no option --by" record --by site
check "other subcommands do not take its options" fails_saying 2 "has no option --live" \
	"$KMEMSCOPE" kmap report --live x
done_testing
