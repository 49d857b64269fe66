# SPDX-License-Identifier: GPL-2.0-only
# kmemscope kmap record on the real files: what it records, and what it leaves behind.
cd /tmp || exit
record() { kmemscope kmap record "$@" 2>/tmp/record.err; }
# The command names in a map. Busybox may execute its applets as /proc/self/exe, and then has that name first.
# The line without a size has the address of the kernel.
comms_in() {
	kmemscope kmap convert --to seed "$1" 2>/dev/null |
		awk -F, 'NF == 8 && $4 && $8 != "exe" { print $8 }' | sort -u | tr '\n' ' '
}
await() { # COMMAND...: until it succeeds, within a minute
	i=0
	until "$@" || [ $i -ge 60 ]; do
		sleep 1
		i=$((i + 1))
	done
}
mode_is() { [ "$(mode)" = "$1" ]; }
gone() { ! pidof "$1" >/dev/null; }

# --- A command -----------------------------------------------------------------------------------
reset
record -o cmd.kmap -- sh -c "echo task >$T/run; ls / >/dev/null; exit 7"
check "kmap record: the exit status is the command's" is $? 7
check "... the mode is what it was" is "$(mode)" 0
check "... the map has the pattern" mzcheck bin cmd.kmap
check "... and only what the command and its children did" is "$(comms_in cmd.kmap)" "kmemscope ls sh "
check "... is its owner's only" is "$(stat -c %a cmd.kmap)" 600
check "... and nothing else is left" is "$(ls | grep -c tmp-)" 0
objects=$((($(stat -c %s cmd.kmap) - $(od -An -tu2 -j6 -N2 cmd.kmap)) / $(od -An -tu4 -j8 -N4 cmd.kmap)))
check "... it tells how many objects" grep -q "^cmd.kmap: $objects objects, 0 dropped" record.err
sed 's/^/# /' record.err
kmemscope kmap report --no-pager --by function -k /proc/kallsyms cmd.kmap >report 2>report.err
check "kmap report reads it" is $? 0
check "... and names who allocated" grep -q mztest_alloc_ report

reset
record --text -o text.kmap -- sh -c "echo rcu >$T/run; echo live >$T/run"
check "--text: freed objects" grep -q ',sh$' text.kmap
check "--text: no live ones" is "$(awk -F, '$6 == 0' text.kmap)" ""
put end_live $T/run

reset
put 0 $M/print_live_obj
record --live -o live.kmap -- sh -c "echo task >$T/run; echo live >$T/run"
check "--live: ended and live objects, each once" mzcheck bin live.kmap
objects=$(kmemscope kmap report --json live.kmap 2>/dev/null | sed -n '/"map"/,$s/.*"objects": \([0-9]*\).*/\1/p')
check "... it tells how many" grep -q "^live.kmap: $objects objects" record.err
put end_live $T/run
reset
put 0 $M/print_live_obj
record --live --text -o live.kmap -- sh -c "echo task >$T/run; echo live >$T/run"
check "... in text" mzcheck kmap live.kmap
check "... print_live_obj is what it was" is "$(cat $M/print_live_obj)" N
objects=$(($(wc -l <live.kmap) - 1))
check "... the line that tells the kernel's place is no object" grep -q "^live.kmap: $objects objects" record.err
put end_live $T/run

reset
put 1 $M/memorizer_enabled; ls / >/dev/null; put 0 $M/memorizer_enabled
record --clear -o clear.kmap -- sh -c "echo task >$T/run"
check "--clear: nothing from before" is "$(comms_in clear.kmap)" "kmemscope sh "

reset
record --mode 2 -o irq.kmap -- sh -c "echo irq >$T/run"
check "--mode 2: interrupts, too" mzcheck bin irq.kmap

reset
mkdir small && mount -t tmpfs -o size=16k none small
record -o small/full.kmap -- sh -c "for i in 1 2 3 4; do echo task >$T/run; done"
check "a full disk is an error" is $? 1
check "... that is named" grep -q 'small/full.kmap: cannot write: No space left' record.err
check "... with the mode put back" is "$(mode)" 0
check "... and what fits is kept" is "$(stat -c %s small/full.kmap)" 16384
umount small

# --- The state before the recording --------------------------------------------------------------
reset
put 1 $M/memorizer_enabled
record -o before.kmap -- true
check "mode 1 is put back" is "$(mode)" 1
reset
sleep 1000 &
sleeper=$!
put $sleeper $M/memorizer_enabled
record -o before.kmap -- true
check "the pid is put back" is "$(mode)" $sleeper
record -o none.kmap -- /no/such/program
check "a command that is not there" is $? 127
check "... is named" grep -q '/no/such/program: cannot run it' record.err
check "... the mode is put back" is "$(mode)" $sleeper
check "... and there is no map" test ! -e none.kmap
record -o none.kmap -p 4000000
check "a process that is not there" is $? 1
check "... the mode is as it was" is "$(mode)" $sleeper
# The recorder must not end before it has started to record.
record -o before.kmap -- sh -c "kill $sleeper
	while grep ^State: /proc/$sleeper/status 2>/dev/null | grep -qv Z; do :; done"
check "of a process that has ended, its children stay followed" is "$(mode)" 3
wait $sleeper

# --- Until a signal, a time, the end of a process --------------------------------------------------
for signal in TERM INT; do
	reset
	sh -c "echo 3 >$M/memorizer_enabled"
	kmemscope kmap record -o system.kmap 2>record.err &
	pid=$!
	await mode_is 1
	put task $T/run
	kill -$signal $pid
	wait $pid
	status=$?
	check "SIG$signal: the exit status" is $status $([ $signal = INT ] && echo 130 || echo 143)
	check "... the mode is put back" is "$(mode)" 3
	check "... the map has the pattern" mzcheck bin system.kmap
	kmemscope kmap report --no-pager --strict system.kmap >report 2>&1
	check "... and is whole" is $? 0
done
reset
kmemscope kmap record -o term.kmap -- tail -f /dev/null 2>record.err &
pid=$!
await pidof tail >/dev/null
kill -TERM $pid
wait $pid
await gone tail
check "SIGTERM ends the command" gone tail

reset
# A machine that does nothing allocates next to nothing.
(i=0; while [ $i -lt 20 ]; do ls /proc/self >/dev/null; sleep 0.1; i=$((i + 1)); done) &
busy=$!
record --duration 1 -o time.kmap
check "--duration ends it" is $? 0
kill $busy
check "... the mode is put back" is "$(mode)" 0
check "... it has recorded" test "$(stat -c %s time.kmap)" -gt 1000

reset
mkfifo go
sh -c 'read -r _ <go; cat /proc/version >/dev/null' &
worker=$!
kmemscope kmap record -p $worker -o pid.kmap 2>record.err &
pid=$!
await mode_is $worker
echo >go
wait $pid
check "-p: the end of the process ends it" is $? 0
check "... it has the process and its child" is "$(comms_in pid.kmap)" "cat sh "
check "... the mode is put back" is "$(mode)" 0
reset
cd /
