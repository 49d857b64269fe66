# SPDX-License-Identifier: GPL-2.0-only
# The interface in debugfs, as described by the Memorizer's documentation and tests.

# --- Files and modes -------------------------------------------------------------------------
check "memorizer_enabled is there" test -f $M/memorizer_enabled
check "all is for root only" is "$(find $M $D/kmemtrace -type f -perm /077)" ""
check "it starts off" is "$(mode)" 0
printf 0 >$M/memorizer_enabled
check "mode 0 without a newline" is "$(mode)" 0
printf 1 >$M/memorizer_enabled
check "mode 1 without a newline" is "$(mode)" 1
put 0 $M/memorizer_enabled

dead=$(sh -c 'echo $$')
put 1 $M/memorizer_enabled
for bad in -1 -4 junk "" 1x 99999999999 4000000 "$dead"; do
	check "memorizer_enabled refuses '$bad'" fails put "$bad" $M/memorizer_enabled
	check "... and stays as it was" is "$(mode)" 1
done
check "the error is EINVAL" is "$( (echo $dead >$M/memorizer_enabled) 2>&1 | grep -c 'Invalid argument')" 1
reset
for flag in memorizer_log_access print_live_obj; do
	for value in 0 1 no yes; do
		check "$flag takes $value" put $value $M/$flag
	done
	check "$flag reads back" is "$(cat $M/$flag)" Y
	check "$flag refuses junk" fails put junk $M/$flag
done
put 0 $M/memorizer_log_access
for file in kmap kmap_bin kmap_stream kmap_stream_bin show_stats; do
	check "$file can't be written" fails put 1 $M/$file
done
for alias in clear_dead_objs clear_object_list log_accesses_enabled log_live_enabled stats; do
	check "$alias is another name" test -L $M/$alias
done

# --- kmap ------------------------------------------------------------------------------------
reset
put 0 $M/print_live_obj
check "D1: nothing recorded, no line" is "$(cat $M/kmap | wc -l)" 0
put 1 $M/memorizer_enabled
ls -l $M >/dev/null
put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "D2: lines after a command" test "$(wc -l </tmp/kmap)" -gt 10
check "D2: by that command" grep -q ',ls$' /tmp/kmap
check "A8: without live objects each line has its free" is "$(awk -F, '$6 == 0' /tmp/kmap)" ""
check "every line has eight fields" is "$(awk -F, 'NF != 8' /tmp/kmap)" ""
check "A10: no free before its allocation" is "$(awk -F, '$6 < $5' /tmp/kmap)" ""
check "no address is hashed or zero" is "$(awk -F, '$3 ~ /^0*$/ || $3 ~ /null|ptrval/' /tmp/kmap)" ""
cat $M/kmap >/tmp/kmap2
check "reading does not consume" test "$(wc -l </tmp/kmap2)" -ge "$(wc -l </tmp/kmap)"
put 1 $M/print_live_obj
anchor=$(awk '$3 == "kfree" { print $1 }' /proc/kallsyms)
check "the first line tells where kfree is" is "$(head -n 1 $M/kmap)" \
	"0000000000000000,0,$anchor,0,0,0,0000000000000000,kfree"
check "reading kmap leaves the mode alone" is "$(put 1 $M/memorizer_enabled; cat $M/kmap >/dev/null; mode)" 1

reset
put 1 $M/memorizer_enabled; ls / >/dev/null; put 0 $M/memorizer_enabled
put 0 $M/print_live_obj
head -c 300 $M/kmap >/dev/null
put 1 $M/clear_printed_list
check "A9: what was not read stays" test "$(wc -l <$M/kmap)" -gt 5
cat $M/kmap >/dev/null
sync_stat=$(stat_of freed_waiting)
put 1 $M/clear_printed_list
check "A9: what was read goes" test "$(stat_of freed_waiting)" -lt "$((sync_stat / 2 + 1))"
reset
check "memory goes back on clear" is "$(stat_of memory_kb)" 0

# --- Seed command lines ------------------------------------------------------------------------
reset
check "seed: clear by the short path" put 1 $D/clear_dead_objects
check "seed: the older name, too" put 1 $D/clear_object_list
check "seed: access tracking by the short path" put 1 $D/memorizer_log_access
check "seed: it is the same file" is "$(cat $M/memorizer_log_access)" Y
put 0 $M/memorizer_log_access
sh -c "echo 3 > $D/memorizer_enabled && ls / > /dev/null"
check "seed: sh marks itself and its child" is "$(mode)" 3
put 0 $M/memorizer_enabled
check "A3: only they are recorded" is \
	"$(awk -F, '$8 != "kfree" { print $8 }' $M/kmap | sort -u | tr '\n' ' ')" "ls sh "
check "seed: show_stats" test "$(stat_of allocs)" -gt 0

# --- Marks -------------------------------------------------------------------------------------
worker() { # runs a command for each line of its fifo
	mkfifo "$1.in" "$1.out"
	sh -c 'while read -r line; do eval "$line"; echo done; done' <"$1.in" >"$1.out" &
}
tell() { echo "$2" >&"$1"; read -r _ <&"$3"; }
comms() { awk -F, -v pid="$1" '$2 == pid || pid == "" { print $8 }' $M/kmap | sort -u | tr '\n' ' '; }

reset
worker /tmp/a; a=$!
exec 3>/tmp/a.in 4</tmp/a.out
worker /tmp/b; b=$!
exec 5>/tmp/b.in 6</tmp/b.out
tell 3 : 4
tell 5 : 6
check "a pid is taken" put $a $M/memorizer_enabled
check "... and read back" is "$(mode)" $a
tell 3 "cat /proc/version >/dev/null" 4
tell 5 "cat /proc/uptime >/dev/null" 6
put 0 $M/memorizer_enabled
check "the process is recorded" is "$(comms $a)" "sh "
check "... with its child" test "$(comms | grep -c cat)" = 1
check "... and no other process" is "$(awk -F, -v b=$b '$2 == b' $M/kmap)" ""
put 1 $M/clear_live_objects; put 1 $M/clear_dead_objects
tell 3 "cat /proc/version >/dev/null" 4
check "mode 0 records nothing" is "$(comms $a)" ""
# Another process sets mode 3 for itself: the earlier mark still exists.
sh -c "echo 3 >$M/memorizer_enabled"
tell 3 "cat /proc/version >/dev/null" 4
tell 5 "cat /proc/uptime >/dev/null" 6
put 0 $M/memorizer_enabled
check "A5: marks survive mode 0" is "$(comms $a)" "sh "
check "A5: and nobody gets one by that" is "$(comms $b)" ""
exec 3>&- 4<&- 5>&- 6<&-
wait $a $b

# --- Frees by any task ---------------------------------------------------------------------------
for pattern in task work softirq rcu; do
	reset
	sh -c "echo 3 >$M/memorizer_enabled; echo $pattern >$T/run; echo 0 >$M/memorizer_enabled"
	cat $M/kmap >/tmp/kmap
	check "pattern $pattern, in kmap" mzcheck kmap /tmp/kmap
done
reset
sh -c "echo 3 >$M/memorizer_enabled; echo live >$T/run; echo 0 >$M/memorizer_enabled"
cat $M/kmap >/tmp/kmap
check "live objects are shown live" mzcheck kmap /tmp/kmap
cat $M/kmap_bin >/tmp/kmap
check "... and in kmap_bin" mzcheck bin /tmp/kmap
put 0 $M/print_live_obj
cat $M/kmap_bin >/tmp/kmap
check "... if print_live_obj says so" fails mzcheck bin /tmp/kmap
# A snapshot is taken when the file is opened. Snapshot numbers have eight bits, and are never 0.
i=1; while [ $i -lt 254 ]; do : <$M/kmap; i=$((i + 1)); done
put 1 $M/print_live_obj
cat $M/kmap >/tmp/kmap
check "... and however many snapshots were without them" mzcheck kmap /tmp/kmap
put end_live $T/run
cat $M/kmap >/tmp/kmap
check "their free is seen in mode 0, by another process" mzcheck kmap /tmp/kmap
dd if=$M/kmap_bin bs=1 of=/tmp/kmap 2>/dev/null
check "... in kmap_bin, read byte by byte" mzcheck bin /tmp/kmap
reset
put 1 $M/memorizer_enabled; put irq $T/run; put 0 $M/memorizer_enabled
cat $M/kmap >/tmp/kmap
check "pattern irq, mode 1: softirq and hardirq" mzcheck kmap /tmp/kmap
reset
sh -c "echo 2 >$M/memorizer_enabled; echo irq >$T/run; echo 0 >$M/memorizer_enabled"
cat $M/kmap >/tmp/kmap
check "A4: mode 2 has interrupts" mzcheck kmap /tmp/kmap
check "A4: with pid 0" is "$(awk -F, '$8 ~ /irq$/ && $2 != 0' /tmp/kmap)" ""
cat $M/kmap_bin >/tmp/kmap
check "... and pid -1 in binary records" mzcheck bin /tmp/kmap
reset
sh -c "echo 3 >$M/memorizer_enabled; echo irq >$T/run; echo 0 >$M/memorizer_enabled"
check "A4: mode 3 has none" is "$(awk -F, '$8 ~ /irq$/' $M/kmap)" ""
reset
put 1 $M/memorizer_enabled
if grep -q 'bulk_free: attached' $M/show_stats; then
	put bulk $T/run; put 0 $M/memorizer_enabled
	cat $M/kmap >/tmp/kmap
	check "pattern bulk, through kprobes" mzcheck kmap /tmp/kmap
	reset
	put 1 $M/memorizer_enabled; put kfree_rcu $T/run; put 0 $M/memorizer_enabled
	# With sheaves the objects end in that call, without them some seconds later.
	patience=30
	while cat $M/kmap >/tmp/kmap; ! mzcheck kmap /tmp/kmap >/dev/null 2>&1 && [ $patience -gt 1 ]; do
		patience=$((patience - 1))
		sleep 1
	done
	check "pattern kfree_rcu, too" mzcheck kmap /tmp/kmap
elif grep -q kasan_save_stack /proc/kallsyms; then
	result 0 "a missed free # SKIP the quarantine of KASAN keeps addresses from being reused"
else
	put reuse $T/run; put 0 $M/memorizer_enabled
	cat $M/kmap >/tmp/kmap
	check "a missed free is implied by the next allocation" mzcheck kmap /tmp/kmap
	check "... and counted" test "$(stat_of frees_implied)" -ge 8
fi
. /callers.sh
reset
put 1 $M/memorizer_enabled; put reborn $T/run; put 0 $M/memorizer_enabled
if [ "$(wc -l <$T/expect)" = 0 ]; then
	result 0 "a cache made again # SKIP no cache is made at the address of an earlier one"
else
	cat $M/kmap >/tmp/kmap
	check "a cache at the address of an earlier one: its own sizes" mzcheck kmap /tmp/kmap
	cat $M/kmap_bin >/tmp/kmap
	check "... and its own name" mzcheck bin /tmp/kmap
fi

# --- Streams -----------------------------------------------------------------------------------
for file in kmap_stream kmap_stream_bin; do
	for property in nonblock signal wake errors; do
		reset
		sh -c "echo 3 >$M/memorizer_enabled; exec mzcheck stream $file $property"
		result $? "$file: $property"
	done
	for property in bytes leave splice; do
		reset
		sh -c "echo 3 >$M/memorizer_enabled; exec mzcheck stream $file $property"
		result $? "$file: $property"
		case $file in *bin) kind=bin ;; *) kind=kmap ;; esac
		check "... and each object is there once" mzcheck $kind /tmp/bytes
	done
done
reset
sh -c "echo 3 >$M/memorizer_enabled; exec mzcheck stream kmap_stream share"
result $? "kmap_stream: several readers"
check "... share the objects" mzcheck kmap /tmp/bytes
reset
put 1 $M/memorizer_enabled; put task $T/run; put 0 $M/memorizer_enabled
timeout 2 cat $M/kmap_stream >/tmp/stream
check "A7: what was freed before comes first, in mode 0" mzcheck kmap /tmp/stream
cat $M/kmap >/tmp/kmap
check "A7: and is gone from kmap then" fails mzcheck kmap /tmp/kmap

# --- The bound -----------------------------------------------------------------------------------
check "no drop so far" is "$(stat_of dropped_full)" 0
check "the memorizer is well" is "$(stat_of state)" ok

# --- kmemtrace -----------------------------------------------------------------------------------
reset
check "kmemtrace: ABI version" is "$(cat $D/kmemtrace/abi_version)" 1
check "kmemtrace: off at first" is "$(cat $D/kmemtrace/enabled)" 0
check "kmemtrace: refuses junk" fails put junk $D/kmemtrace/enabled
check "kmemtrace: on" put 1 $D/kmemtrace/enabled
for pattern in task work softirq rcu; do put $pattern $T/run; done
put 0 $D/kmemtrace/enabled
for f in $D/kmemtrace/cpu*; do cat $f >/tmp/$(basename $f).out; done
check "kmemtrace: the log holds the pattern" mzcheck relay /tmp/cpu*.out
check "kmemtrace: no overrun" is "$(cat $D/kmemtrace/total_overruns)" 0
check "kmemtrace: and no object was recorded" is "$(stat_of live)" 0
rm -f /tmp/cpu*.out
