#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Recording the running kernel, compared with trace-cmd and perf on the same files. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"
ln -s "$KMEMSCOPE" kmemtraced
ln -s "$KMEMSCOPE" kmemtrace_check
ln -s "$KMEMSCOPE" kmemtrace-report

doctor=0
"$KMEMSCOPE" doctor >doctor.txt 2>&1 || doctor=$?
check "doctor gives a verdict" grep -qE '^kmemscope record will (not )?work$' doctor.txt
check "and its status says the same" equal $doctor "$(grep -cx 'kmemscope record will not work' doctor.txt)"
# What programs get is what people get. Free memory and guests change from one moment to the next.
doctor_twice() {
	"$KMEMSCOPE" doctor --json >doctor.json || [ $? = "$doctor" ] || return 1
	python3 - <<-'END'
		import json
		told = json.load(open("doctor.json"))
		lines = []
		for row in told["findings"]:
		    lines.append(f"{row['state'].replace('missing', 'MISSING'):8} {row['what']:12} {row['text']}")
		    lines += [f"{'':21} $ {row['fix']}"] if row["fix"] else []
		lines.append("kmemscope record " + ("will work" if told["ready"] else "will not work"))
		assert told["ready"] == all(row["state"] != "missing" for row in told["findings"])
		people = open("doctor.txt").read().splitlines()[1:]
		assert len(lines) > 8 and len(lines) == len(people)
		same = lambda text: [line for line in text if not any(row in line for row in (" memory ", " heap guests "))]
		assert same(lines) == same(people)
	END
}
check "the same as JSON" doctor_twice
if ! grep -q '^kmemscope record will work$' doctor.txt; then
	skip "recording" "$(grep MISSING doctor.txt | head -1 | tr -s ' ')"
	done_testing
fi
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/self/mounts)

# As in a container: the events exist, and nothing can be switched on.
doctor_in_a_box() {
	unshare -m bash -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && "$1" doctor' "$tracefs" "$KMEMSCOPE"
}
if unshare -m true 2>/dev/null; then
	check "doctor: a tracefs that is read-only" ends_saying 1 'MISSING +tracefs .*mounted read-only' doctor_in_a_box
else
	skip "doctor: a tracefs that is read-only" "mount namespaces are not permitted"
fi

cleanup() {
	mountpoint -q "$scratch/full" && umount "$scratch/full"
	true
}

work() {
	find /usr -maxdepth 4 >/dev/null 2>&1
	ls -lR /usr/share/doc 2>/dev/null | head -c 2000000 >/dev/null
}

# The value of the first occurrence of a key in a JSON document of kmemscope.
value() {
	sed -n "s/^ *\"$1\": \([0-9]*\),\{0,1\}$/\1/p" "$2" | head -1
}

# Other recorders may run and end at the same time: only an instance without its process is left over.
no_instance() {
	local name pid
	for name in $(ls "$tracefs/instances" | grep -xE 'kmemscope-[0-9]+-[0-9]+'); do
		pid=${name#kmemscope-}
		! kill -0 "${pid%%-*}" 2>/dev/null && [ -d "$tracefs/instances/$name" ] || continue
		echo "$name"
		return 1
	done
}

# Waits until the recorder with that pid traces.
recording() {
	# A new instance is on by default, so it records only when it also has events.
	until grep -qs '[1X]' "$tracefs/instances/kmemscope-$1"-*/events/kmem/enable && grep -qs 1 "$tracefs/instances/kmemscope-$1"-*/tracing_on; do
		kill -0 "$1" 2>/dev/null || return 1
		sleep 0.02
	done
}

# The events without those of the recorder, which reports leave out, and without gaps.
trace_cmd_events() {
	trace-cmd report -i "$1" 2>/dev/null | grep -v 'EVENTS DROPPED' | tail -n +2 | wc -l
}

counts_agree() {
	local ours self theirs

	must "$KMEMSCOPE" info --json "$1" >info.json || return 1
	ours=$(value events_total info.json)
	self=$(value self_events info.json)
	theirs=$(trace_cmd_events "$1")
	[ "$ours" -gt 0 ] && [ $((ours + self)) = "$theirs" ] || {
		echo "kmemscope $ours + $self of its own, trace-cmd $theirs"
		return 1
	}
}

# === A whole machine ===========================================================================

record_all() {
	"$KMEMSCOPE" record -o all.dat 2>all.txt &
	local pid=$! got=0
	recording $pid
	work
	kill -INT $pid
	wait $pid || got=$?
	[ $got = 130 ]
}
check "record the machine until Ctrl-C" record_all
check "says what it recorded" grep -qE '^all.dat: [0-9]+ events, [0-9]+ lost' all.txt
check "leaves no instance" no_instance
check "the capture is complete" "$KMEMSCOPE" check all.dat
check "mode 0600" test "$(stat -c %a all.dat)" = 600
told=$(sed -n 's/^all.dat: \([0-9]*\) events.*/\1/p' all.txt)
all_events() {
	"$KMEMSCOPE" info --json all.dat >all.json &&
		[ $(($(value events_total all.json) + $(value self_events all.json))) = "$told" ]
}
check "all events that the kernel counted are in it" all_events
if command -v trace-cmd >/dev/null; then
	check "trace-cmd report counts the same" counts_agree all.dat
	# Its rows begin with a function, and have eight numbers behind it.
	check "trace-cmd mem finds records" says '^ *[a-zA-Z_][a-zA-Z0-9_.]+([[:space:]]+[0-9]+){8}' trace-cmd mem -i all.dat
	# It copies what it knows: our own sections are not where the file says. So all events are there, and no census.
	same_converted() {
		local kind
		trace-cmd convert --compression none -i all.dat -o converted.dat >/dev/null 2>&1 || return 1
		must "$KMEMSCOPE" info --json converted.dat >converted.json
		for kind in kmalloc kfree kmem_cache_alloc kmem_cache_free mm_page_alloc mm_page_free; do
			[ "$(value $kind all.json)" -gt 0 ] && [ "$(value $kind converted.json)" = "$(value $kind all.json)" ] || return 1
		done
	}
	check "what trace-cmd converts is read as before" same_converted
else
	skip "trace-cmd report counts the same" "no trace-cmd"
	skip "trace-cmd mem finds records" "no trace-cmd"
fi

# A tree of this release is used without a message; a tree of another release gives a warning.
mkdir -p tree/include/config
uname -r >tree/include/config/kernel.release
grep ' [tT] ' /proc/kallsyms >tree/System.map
quiet_rings() { must "$KMEMSCOPE" rings -k tree --json all.dat 2>rings.err >rings.json && [ ! -s rings.err ]; }
check "a tree of the kernel that was traced" quiet_rings
echo 5.4.3-other >tree/include/config/kernel.release
check "a tree of another kernel" says "is of Linux $(uname -r), but tree is Linux 5.4.3-other" "$KMEMSCOPE" rings -k tree --json all.dat
check "the chart names the one that was traced" says "\"title\": \"Linux $(uname -r): live" "$KMEMSCOPE" rings -k tree --json all.dat

# === A command, a process ======================================================================

check "exits with the command's status" exits_with 7 "$KMEMSCOPE" record -q -o cmd.dat -- sh -c 'ls /; exit 7'
check "dies of the command's signal" exits_with 137 "$KMEMSCOPE" record -q -o cmd.dat -- sh -c 'kill -9 $$'
check "records the command" "$KMEMSCOPE" record -q -o cmd.dat -- sh -c 'ls -lR /usr/share/doc >/dev/null; true'
only_its_tasks() {
	local odd

	must "$KMEMSCOPE" report --by comm --csv cmd.dat >comm.csv || return 1
	odd=$(tail -n +2 comm.csv | cut -d, -f1 | grep -vxE 'sh|ls|kmemscope|true')
	[ -z "$odd" ] && grep -q '^ls,' comm.csv || { cat comm.csv; return 1; }
}
check "the command's tasks and no others" only_its_tasks
check "frees by others are not missing" says '"some_tasks": false' "$KMEMSCOPE" info --json cmd.dat
check "and those of what others allocated mean nothing" says '"frees_before": 0' "$KMEMSCOPE" info --json cmd.dat
# Sockets are freed by RCU, in whatever task is there. A grace period: membarrier(GLOBAL), and a while for its callbacks.
cat >sockets.py <<'PYTHON'
import ctypes, socket, time
for wave in range(8):
    for one in [socket.socket(socket.AF_UNIX) for _ in range(500)]:
        one.close()
for _ in range(3):
    ctypes.CDLL(None).syscall(324, 1, 0)
    time.sleep(0.3)
PYTHON
no_socket_lives() { # FILE
	must "$KMEMSCOPE" report --by function --csv "$1" >sockets.csv || return 1
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == "sock_alloc_inode" { made = $at["allocs"]; live = $at["live_objects"] }
		END { if (made < 4000 || live > 200) { print made " made, " live " live"; exit 1 } }' sockets.csv
}
must "$KMEMSCOPE" record -q --no-census -o sockets.dat -- python3 sockets.py
check "closed sockets of a command do not live" no_socket_lives sockets.dat
must "$KMEMSCOPE" import -o sockets.ksdb sockets.dat >/dev/null
check "nor in a DB of it" no_socket_lives sockets.ksdb
both_buffers() {
	trace-cmd report -i sockets.dat 2>trace-cmd.err >trace-cmd.txt && [ ! -s trace-cmd.err ] &&
		grep -q '^frees: .* kmem_cache_free: ' trace-cmd.txt && grep -v '^frees:' trace-cmd.txt | grep -q ' kmem_cache_alloc: '
}
if command -v trace-cmd >/dev/null; then
	check "trace-cmd reads both buffers" both_buffers
else
	skip "trace-cmd reads both buffers" "no trace-cmd"
fi
killed_command() {
	local pid

	"$KMEMSCOPE" record -q --no-census -o killed-cmd.dat -- sh -c 'until [ -e stop ]; do ls / >/dev/null; sleep 0.1; done' &
	pid=$!
	recording $pid
	sleep 2.5 # what is older than a second is in the file
	kill -9 $pid
	touch stop
	wait $pid 2>/dev/null
	must "$KMEMSCOPE" info --json killed-cmd.dat >killed.json || return 1
	[ "$(value kmem_cache_alloc killed.json)" -gt 0 ] && [ "$(value kmem_cache_free killed.json)" -gt 0 ] &&
		has_names killed-cmd.dat && must "$KMEMSCOPE" check --repair killed-cmd.dat >/dev/null || return 1
	must "$KMEMSCOPE" info --json killed-cmd.dat >repaired.json
	cmp killed.json repaired.json
}
has_names() { must "$KMEMSCOPE" report --by comm --csv "$1" >comm.csv && grep -q '^ls,' comm.csv || { cat comm.csv; return 1; }; }
check "a killed recorder of a command keeps both" killed_command
check "and names of tasks, after a repair as well" has_names killed-cmd.dat
check "command not found" fails_saying 127 '/no/such: cannot run it' "$KMEMSCOPE" record -o none.dat -- /no/such
check "leaves no file" test ! -e none.dat
check "unknown process" fails_saying 1 'there is no process 4194305' "$KMEMSCOPE" record -o none.dat -p 4194305
until_it_ends() {
	local pid

	sh -c 'until [ -e seen ]; do ls / >/dev/null; sleep 0.1; done' &
	"$KMEMSCOPE" record -q -o pid.dat -p $! &
	pid=$!
	recording $pid
	touch seen
	wait $pid
}
check "a process until it ends" until_it_ends
check "--duration" "$KMEMSCOPE" record -q -o time.dat --duration 200ms --slab
no_pages() {
	must "$KMEMSCOPE" info --json time.dat >time.json && [ "$(value mm_page_alloc time.json)" = 0 ]
}
check "--slab records no pages" no_pages
limited() {
	while :; do work; done &
	local worker=$! status=0
	"$KMEMSCOPE" record -o max.dat --max-size 1500k --duration 60 2>max.txt || status=$?
	kill $worker
	wait $worker 2>/dev/null
	[ $status = 0 ] && grep -q 'stopped at --max-size' max.txt
}
check "--max-size" limited

# === The last of it ============================================================================

# Records until more than 8 MB have come in, of which 1 MB is kept, and saves.
keeps() { # FILE SIGNAL
	local pid worker

	rm -f "$1" "$1.1"
	while :; do work; done &
	worker=$!
	"$KMEMSCOPE" record -q --keep 1M -o "$1" &
	pid=$!
	until [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt 8000000 ]; do
		kill -0 $pid || break
		sleep 0.1
	done
	apparent=$(stat -c %s "$1")
	stored=$(($(stat -c %b "$1") * 512))
	kill -USR1 $pid
	until [ -e "$1.1" ]; do
		kill -0 $pid || break
		sleep 0.1
	done
	kill "-$2" $pid
	wait $pid 2>/dev/null
	kill $worker
	wait $worker 2>/dev/null
	true
}
is_the_last() { # FILE
	must "$KMEMSCOPE" info --json "$1" >last.json && [ "$(value kmem_cache_alloc last.json)" -gt 100 ] || {
		cat last.json
		return 1
	}
}
if command -v fallocate >/dev/null && fallocate -l 64k hole && fallocate -p -o 4096 -l 8192 hole 2>/dev/null; then
	keeps keep.dat INT
	check "--keep gives back the space of what is older" test $((stored * 2)) -lt "$apparent"
	check "what is left is a capture" is_the_last keep.dat
	check "so is what a signal saved" is_the_last keep.dat.1
	check "both are whole" says 'trace.dat, ok$' "$KMEMSCOPE" check keep.dat keep.dat.1
	check "the end is less than all" test "$(stat -c %s keep.dat)" -lt "$apparent"
	keeps killed.dat KILL
	check "a recorder that keeps the last of it is killed: it can be read" is_the_last killed.dat
	check "with names of tasks" says '^(find|ls),' "$KMEMSCOPE" report --by comm --csv killed.dat
	check "and repaired" says 'finished' "$KMEMSCOPE" check --repair killed.dat
	check "with the same events" is_the_last killed.dat
else
	skip "--keep" "the file system makes no holes"
fi
grown() {
	rm -f grow.dat grow.dat.1
	"$KMEMSCOPE" record -q --keep 1m --trigger "slab=1M,growth=1G" -o grow.dat &
	local pid=$!
	until [ -e grow.dat.1 ]; do
		kill -0 $pid || break
		sleep 0.1
	done
	kill -INT $pid
	wait $pid
	"$KMEMSCOPE" info grow.dat.1 >/dev/null
}
totals() {
	must "$KMEMSCOPE" record --json -o totals.dat --duration 200ms >totals.json 2>totals.err || return 1
	must "$KMEMSCOPE" info --json totals.dat >info.json
	grep -q '"ended_by": "duration"' totals.json && grep -q '"all_written": true' totals.json &&
		[ "$(value events totals.json)" = $(($(value events_total info.json) + $(value self_events info.json))) ] &&
		[ "$(value bytes totals.json)" = "$(stat -c %s totals.dat)" ] || { cat totals.json; return 1; }
}
check "--json has the totals" totals
check "--trigger slab=1M saves once" grown
check "and not again" test ! -e grow.dat.2
check "standard output is no file" fails_saying 2 'name a file' "$KMEMSCOPE" record -o - -- true
check "--trigger alone" exits_with 2 "$KMEMSCOPE" record --trigger slab=1M -o none.dat
check "--trigger of nothing" fails_saying 2 'give slab=SIZE' "$KMEMSCOPE" record --keep 1m --trigger slob=1M -o none.dat
check "--keep without a unit" fails_saying 2 'a time with its unit' "$KMEMSCOPE" record --keep 10 -o none.dat
# If both are pending, signal 1 is delivered before 2: a hangup that counts would make the status 143.
ends_after() { # STATUS SIGNALS COMMAND...
	local want=$1 signals=$2 pid signal got=0

	shift 2
	"$@" &
	pid=$!
	recording $pid
	for signal in $signals; do
		kill -"$signal" $pid
	done
	wait $pid || got=$?
	[ $got = "$want" ] || { echo "exit status $got"; return 1; }
}
check "a hangup ends it" ends_after 143 HUP "$KMEMSCOPE" record -q -o end.dat
check "and the capture is whole" "$KMEMSCOPE" check end.dat
check "so does Ctrl-\\" ends_after 143 QUIT "$KMEMSCOPE" record -q -o end.dat
check "under nohup a hangup does not" ends_after 130 'HUP INT' nohup "$KMEMSCOPE" record -q -o end.dat
check "nor does a closed pipe" ends_after 130 'PIPE INT' "$KMEMSCOPE" record -o end.dat
# A blocked signal waits for the program that takes the place of this one.
ended_at_once() { # SIGNAL COMMAND...
	python3 - "$@" <<-'END'
		import os, signal, sys
		which = getattr(signal, "SIG" + sys.argv[1])
		signal.pthread_sigmask(signal.SIG_BLOCK, [which])
		os.kill(os.getpid(), which)
		os.execv(sys.argv[2], sys.argv[2:])
	END
}
echo old >early.dat
check "Ctrl-C before it begins" ends_saying 130 'no file was made' ended_at_once INT "$KMEMSCOPE" record -o early.dat
check "or a termination" ends_saying 143 'no file was made' ended_at_once TERM "$KMEMSCOPE" record -o early.dat
check "or of a command, which does not run" ends_saying 130 'no file was made' ended_at_once INT "$KMEMSCOPE" record \
	-o early.dat -- touch ran
check "leaves the older file, and no other" equal "$(cat early.dat; ls -A | grep -c -e early -e ran)" "$(printf 'old\n1')"
pipe_of_command() { "$KMEMSCOPE" record -q -o pipe.dat -- bash -c 'trap -p PIPE; kill -PIPE $$'; }
check "which still ends a command" exits_with 141 pipe_of_command
check "unwritable output" fails_saying 1 'cannot create' "$KMEMSCOPE" record -o no/such/dir.dat
check "leaves no instance after all that" no_instance

# === Losses ====================================================================================

flood() {
	"$KMEMSCOPE" record -o flood.dat --buffer-size 4 2>flood.txt &
	local pid=$! i workers=
	recording $pid
	for i in 1 2 3 4; do
		work &
		workers="$workers $!"
	done
	wait $workers
	kill -INT $pid
	wait $pid
	grep -E '^flood.dat: [0-9]+ events, [1-9][0-9]* lost' flood.txt
}
check "small buffers lose events, and the recorder says so" flood
lost=$(sed -n 's/^flood.dat: .* \([0-9]*\) lost.*/\1/p' flood.txt)
same_loss() {
	must "$KMEMSCOPE" check --json flood.dat >flood.json
	[ "$(value lost flood.json)" = "$lost" ] || { cat flood.txt flood.json; return 1; }
}
check "the file has the losses that tracefs counted" same_loss
check "--strict exits with 4" exits_with 4 "$KMEMSCOPE" check --strict flood.dat
if command -v trace-cmd >/dev/null; then
	check "trace-cmd counts the same events" counts_agree flood.dat
else
	skip "trace-cmd counts the same events" "no trace-cmd"
fi

# === Crashes and full disks ====================================================================

killed() {
	"$KMEMSCOPE" record -q -o killed.dat &
	local pid=$!
	recording $pid
	work
	until "$KMEMSCOPE" info killed.dat 2>/dev/null | grep -qE '[1-9][0-9]* events \('; do sleep 0.1; done
	kill -9 $pid
	wait $pid 2>/dev/null
	[ -s killed.dat ]
}
check "kill -9 leaves a file" killed
check "which can be read" says '[1-9][0-9]* events \(' "$KMEMSCOPE" info killed.dat
check "and is known to be unfinished" fails_saying 3 '' "$KMEMSCOPE" check killed.dat
check "the next start removes the instance" "$KMEMSCOPE" record -q -o next.dat --duration 100ms
check "so that there is none" no_instance
before=$(must "$KMEMSCOPE" info --json killed.dat | sed -n 's/.*"events_total": \([0-9]*\).*/\1/p')
check "--repair finishes it" "$KMEMSCOPE" check --repair killed.dat
repaired() {
	[ "$(must "$KMEMSCOPE" info --json killed.dat | sed -n 's/.*"events_total": \([0-9]*\).*/\1/p')" = "$before" ]
}
check "with the same events" repaired
if command -v trace-cmd >/dev/null; then
	check "trace-cmd opens the repaired file" counts_agree killed.dat
else
	skip "trace-cmd opens the repaired file" "no trace-cmd"
fi
head -c $(($(stat -c %s all.dat) / 2)) all.dat >torn.dat
check "a torn file is an error that names it" fails_saying 3 'torn.dat' "$KMEMSCOPE" info torn.dat
head -c 5000 all.dat >cut.dat
check "a truncated file is reported with the offset of its end" fails_saying 3 "cut.dat: cut off or damaged: .* the end is at 5000" "$KMEMSCOPE" info cut.dat

mkdir full
if mount -t tmpfs -o size=2m none full 2>/dev/null; then
	fill() {
		local got=0 worker
		while :; do work; done &
		worker=$!
		"$KMEMSCOPE" record -o full/f.dat --duration 60 2>full.txt || got=$?
		kill $worker
		wait $worker 2>/dev/null
		[ $got = 1 ] && grep -q 'No space left on device' full.txt || { cat full.txt; return 1; }
	}
	check "a full disk ends it with a message" fill
	check "and a file that can be read" says '[1-9][0-9]* events \(' "$KMEMSCOPE" info full/f.dat
	check "which is finished" says '"unfinished": false' "$KMEMSCOPE" check --json full/f.dat
	none_forgotten() {
		local seen

		# The events that the recorder saw, and those that the rings overwrote before.
		seen=$(sed -n 's/^full\/f.dat: \([0-9]*\) events seen.* \([0-9]*\) lost,.*/\1 + \2/p' full.txt)
		must "$KMEMSCOPE" info --json full/f.dat >info.json
		[ "$(value lost_events info.json)" -gt 0 ] &&
			[ $(($(value events_total info.json) + $(value self_events info.json) + $(value lost_events info.json))) = $((seen)) ] ||
			{ cat full.txt info.json; return 1; }
	}
	check "and counts what is missing" none_forgotten
	if command -v trace-cmd >/dev/null; then
		check "trace-cmd opens it as it is" counts_agree full/f.dat
		check "and finds it valid" says 'is a valid trace-cmd file' trace-cmd dump --validate full/f.dat
	else
		skip "trace-cmd opens it as it is" "no trace-cmd"
		skip "and finds it valid" "no trace-cmd"
	fi
	rm full/f.dat
	mount -o remount,size=8m full # more than half of it is recorded
	no_copy() {
		local worker status=0
		while :; do work; done &
		worker=$!
		"$KMEMSCOPE" record -o full/f.dat --max-size 4500k --duration 60 2>full.txt || status=$?
		kill $worker
		wait $worker 2>/dev/null
		[ $status = 0 ] && [ "$(stat -c %s full/f.dat)" -gt $((4096 * 1024)) ] || { cat full.txt; ls -l full; return 1; }
	}
	check "no room for a copy at the end: recording still succeeds" no_copy
	check "the file is whole" says 'trace.dat, ok$' "$KMEMSCOPE" check full/f.dat
	umount full
else
	for what in "a full disk ends it with a message" "and a file that can be read" "which is finished" \
		"and counts what is missing" "trace-cmd opens it as it is" "and finds it valid" \
		"no room for a copy at the end: all the same" "the file is whole"; do
		skip "$what" "cannot mount a tmpfs"
	done
fi

# === perf ======================================================================================

perf_agrees() {
	local theirs ours failed failed_req failed_got

	perf kmem -i perf.data --slab stat >perf.txt 2>/dev/null
	must "$KMEMSCOPE" report --frag --json perf.data >frag.json || return 1
	theirs=$(sed -n -e 's/^Total bytes requested: *//p' -e 's/^Total bytes allocated: *//p' \
		-e 's/^Cross CPU allocations: *//p' perf.txt | tr -d ,)
	# It adds up what it did not get, too.
	perf script -i perf.data 2>/dev/null | awk '/kmem:(kmalloc|kmem_cache_alloc)/ && / ptr=(\(nil\)|0x0|0) / {
			n++
			for (i = 1; i <= NF; i++) {
				if (sub(/^bytes_req=/, "", $i)) req += $i
				if (sub(/^bytes_alloc=/, "", $i)) got += $i
			}
		}
		END { printf "%d %d %d\n", n, req, got }' >failed.txt
	read -r failed failed_req failed_got <failed.txt
	ours="$(($(value requested frag.json) + failed_req))
$(($(value allocated frag.json) + failed_got))
$(value cross_node_requests frag.json)/$(($(value allocs frag.json) + failed))"
	[ "$theirs" = "$ours" ] || { echo "perf: $theirs"; echo "kmemscope: $ours"; return 1; }
}
if command -v perf >/dev/null && perf kmem --slab record -o perf.data -- sh -c 'ls -lR /usr/share/doc >/dev/null' \
	>/dev/null 2>&1 && [ -s perf.data ]; then
	check "perf kmem and kmemscope agree on bytes, allocations and cross-CPU frees" perf_agrees
	check "perf.data is whole" "$KMEMSCOPE" check perf.data
else
	skip "perf kmem and we agree on bytes, allocations and cross-CPU" "perf kmem does not record here"
	skip "perf.data is whole" "perf kmem does not record here"
fi

# === kmemtrace's quick usage guide =============================================================

guide() {
	./kmemtraced >guide.txt 2>&1 &
	local pid=$!
	recording $pid
	work
	kill -INT $pid
	wait $pid && [ -s cpu0.out ] && [ -s kallsyms ] && grep -q 'Control-C' guide.txt
}
check "kmemtraced records into this directory until Ctrl-C" guide
for file in cpu[0-9]*.out; do
	check "kmemtrace_check $file" ./kmemtrace_check "$file"
done
check "the files together" "$KMEMSCOPE" check .
check "kmemtrace-report" says 'bytes wasted' ./kmemtrace-report
same_as_logged() {
	local logged
	logged=$(sed -n 's/^\([0-9]*\) events logged.*/\1/p' guide.txt)
	must "$KMEMSCOPE" check --json . >relay.json && [ "$(value events relay.json)" = "$logged" ]
}
check "all events are in the files" same_as_logged
if [ "$(id -u)" = 0 ] && getent passwd nobody >/dev/null; then
	chmod 755 "$scratch"
	install -m 755 "$KMEMSCOPE" everyones # the build may lie where others cannot look
	check "not root: a clear message" ends_saying 1 'needs root' su nobody -s /bin/sh -c "'$scratch/everyones' record -o /tmp/none.dat"
else
	skip "not root: a clear message" "not root, or no user nobody"
fi
check "no instance is left" no_instance
done_testing
