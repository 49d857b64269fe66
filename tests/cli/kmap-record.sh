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
