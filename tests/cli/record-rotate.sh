#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A recording in several files, what saves the last of it, and outputs that are no files. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"
if ! "$KMEMSCOPE" doctor 2>&1 | grep -q '^kmemscope record will work$'; then
	skip "recording" "doctor says that it does not work"
	done_testing
fi

value() { sed -n "s/^ *\"$1\": \([0-9]*\),\{0,1\}$/\1/p" "$2" | head -1; }
until_there() { # FILE PID
	until [ -e "$1" ]; do
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.05
	done
}
in_file() { # FILE: all of its events, with the recorder's own
	must "$KMEMSCOPE" info --json "$1" >in.json && echo $(($(value events_total in.json) + $(value self_events in.json)))
}

# === A new file at a signal ====================================================================

# Somebody has the first name already, if only for a link that leads nowhere, and the second for a folder.
ln -s nowhere rot.dat.1
mkdir rot.dat.2
rotates() {
	local pid got=0
	"$KMEMSCOPE" record --slab --rotate 1h -o rot.dat 2>rot.txt &
	pid=$!
	until_there rot.dat $pid || return 1
	ls -lR /usr/share/doc >/dev/null 2>&1
	kill -USR1 $pid
	until_there rot.dat.3 $pid || return 1
	until grep -q '^rot.dat.3: finished' rot.txt; do sleep 0.05; done
	ls -lR /usr/share/doc >/dev/null 2>&1
	kill -USR1 $pid
	until grep -q '^rot.dat.4: finished' rot.txt; do kill -0 $pid || return 1; sleep 0.05; done
	kill -INT $pid
	wait $pid || got=$?
	[ $got = 130 ] || { cat rot.txt; return 1; }
}
check "a signal begins a new file, twice" rotates
check "what was in the way is still there" equal "nowhere" "$(readlink rot.dat.1)"
check "a folder, too" test -d rot.dat.2
check "all are complete" says 'rot.dat.4: trace.dat, ok$' "$KMEMSCOPE" check rot.dat.3 rot.dat.4 rot.dat
check "mode 0600" equal "600 600 600" "$(echo $(stat -c %a rot.dat.3 rot.dat.4 rot.dat))"
told=$(sed -n 's/^rot.dat: \([0-9]*\) events.*/\1/p' rot.txt)
check "together they have all events that the kernel counted" equal "$told" "$(($(in_file rot.dat.3) + $(in_file rot.dat.4) + $(in_file rot.dat)))"
check "each has events" test "$(in_file rot.dat.4)" -gt 1000
check "each has names of tasks" says '^ls,' "$KMEMSCOPE" report --by comm --csv rot.dat.4
both_census() { # FILE: what the kernel had is known at the start and at the end
	must "$KMEMSCOPE" report --json --by cache "$1" >census.json && grep -q '"kernel' census.json
}
check "each has its census" both_census rot.dat.4
in_order() {
	must "$KMEMSCOPE" info --json rot.dat.3 >3.json && must "$KMEMSCOPE" info --json rot.dat.4 >4.json && must "$KMEMSCOPE" info --json rot.dat >5.json &&
		[ "$(value first_ts 3.json)" -lt "$(value first_ts 4.json)" ] && [ "$(value first_ts 4.json)" -lt "$(value first_ts 5.json)" ]
}
check "in order of time" in_order
if command -v trace-cmd >/dev/null; then
	check "trace-cmd counts the same" equal "$(in_file rot.dat.4)" "$(trace-cmd report -i rot.dat.4 2>/dev/null | grep -v 'EVENTS DROPPED' | tail -n +2 | wc -l)"
else
	skip "trace-cmd counts the same" "no trace-cmd"
fi

# === By size, and a recorder that is killed ====================================================

killed() {
	local pid
	"$KMEMSCOPE" record -q --slab --no-census --rotate 300k -o size.dat &
	pid=$!
	until [ -e size.dat.2 ] && "$KMEMSCOPE" check size.dat.2 >/dev/null 2>&1; do
		kill -0 $pid || return 1
		ls -lR /usr/share/doc >/dev/null 2>&1
	done
	kill -9 $pid
	wait $pid 2>/dev/null
	true
}
check "--rotate 300k makes files until it is killed" killed
check "those before are complete" "$KMEMSCOPE" check size.dat.1 size.dat.2
# It may have been killed when the old file had its last name, and the new one none yet.
last=size.dat
[ -e size.dat ] || last=$(ls -v size.dat.* | grep -v tmp- | tail -1)
check "the last one can be read" "$KMEMSCOPE" info "$last"
check "and repaired" "$KMEMSCOPE" check --repair "$last"
check "with --keep" fails_saying 2 'choose it' "$KMEMSCOPE" record --rotate 1h --keep 1m -o none.dat
check "without a unit" fails_saying 2 'a time with its unit' "$KMEMSCOPE" record --rotate 10 -o none.dat

# === A command as trigger ======================================================================

asks() {
	local pid
	"$KMEMSCOPE" record -q --slab --no-census --keep 1h --trigger 'every=200ms,command=test -e flag ; touch evil' -o odd.dat &
	pid=$!
	"$KMEMSCOPE" record --slab --no-census --keep 1h --trigger 'every=200ms,command=test -e flag' -o ask.dat 2>ask.txt &
	until_there ask.dat $! && until_there odd.dat $pid || return 1
	sleep 1
	[ ! -e ask.dat.1 ] || return 1
	touch flag
	until_there ask.dat.1 $! || return 1
	sleep 2.5 # it still agrees, which is no news
	kill -INT $! $pid
	wait $! $pid
	[ -e ask.dat.1 ] && [ ! -e ask.dat.2 ] || { cat ask.txt; return 1; }
}
check "a command saves what was kept, once" asks
check "the file says why" says 'ask.dat.1: saved, since the command agreed' cat ask.txt
check "it is a capture" "$KMEMSCOPE" check ask.dat.1
check "no shell looks at the command" test ! -e evil -a ! -e odd.dat.1
check "a program that is not there" fails_saying 1 '/no/such: cannot run it' "$KMEMSCOPE" record --keep 1m --trigger command=/no/such -o none.dat
check "nothing to run" fails_saying 2 'command=PROGRAM' "$KMEMSCOPE" record --keep 1m --trigger command= -o none.dat
check "without --keep" fails_saying 2 'give both' "$KMEMSCOPE" record --trigger command=true -o none.dat
check "leaves no file" test ! -e none.dat

# === Outputs that are no files =================================================================

mkfifo fifo
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
ln -s /dev/full device
for kind in fifo socket device; do
	check "a $kind is refused" fails_saying 1 'is not a regular file' "$KMEMSCOPE" record -o $kind --duration 100ms
done
check "and all are still there" test -p fifo -a -S socket -a -L device -a -c /dev/full
check "standard output is refused" fails_saying 2 'name a file' "$KMEMSCOPE" record -o - --duration 100ms
check "nothing is left of these" equal "" "$(ls | grep -E '^(fifo|socket|device|none|-).*tmp-' || true)"

done_testing
