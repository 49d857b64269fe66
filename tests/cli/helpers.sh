#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The pitfall that trace_analyze's README describes: kvasprintf allocates for kobject_set_name_vargs.
. "$(dirname "$0")/lib.sh"
tracefs=/sys/kernel/tracing
instance=$tracefs/instances/kmemscope-helpers-$$
cleanup() { [ ! -d "$instance" ] || rmdir "$instance"; }

event() { # CPU SITE PTR
	printf '            bash-7%s    [00%s] d..2.  1.000001: kmalloc: call_site=%s ptr=ffff88000000%s bytes_req=10 bytes_alloc=16 gfp_flags=GFP_KERNEL\n' "$1" "$1" "$2" "$3"
}
stack() { # CPU FRAME...
	printf '            bash-7%s    [00%s] d..2.  1.000002: <stack trace>\n' "$1" "$1"
	shift
	printf ' => %s\n' "$@"
}
{
	event 0 kvasprintf+0x4f/0xb0 1000
	event 1 alloc_fdtable+0x5/0x20 2000 # another CPU comes between
	stack 1 __kmalloc alloc_fdtable dup_fd
	stack 0 __kmalloc_node_track_caller_noprof kvasprintf kvasprintf_const kobject_set_name_vargs dev_set_name
	event 0 kmemdup_noprof+0x4f/0xb0 3000
	stack 0 __kmalloc_noprof kmemdup_noprof 'wrapper' 'real_one+0x10/0x20 [mod]'
	event 0 kstrdup.isra.0+0x4f/0xb0 4000 # no stack trace
	event 0 kstrndup+0x4f/0xb0 5000
	stack 0 __kmalloc some_other_function # its own frame is missing: no one to blame
} >stacks.log
sites() { must "$KMEMSCOPE" account --csv "$@" | sed 1d | cut -d, -f1 | sort | paste -sd' '; }

check "as the log has it" equal "$(sites stacks.log)" "alloc_fdtable+0x5 kmemdup_noprof+0x4f kstrdup.isra.0+0x4f kstrndup+0x4f kvasprintf+0x4f"
check "blamed on the callers" equal "$(sites --skip-helpers stacks.log)" "alloc_fdtable+0x5 kobject_set_name_vargs+0x0 kstrdup.isra.0+0x4f kstrndup+0x4f wrapper+0x0"
echo 'wrapper # of ours' >mine
check "a list of the user" equal "$(sites --skip-helpers --helpers mine stacks.log)" "alloc_fdtable+0x5 kobject_set_name_vargs+0x0 kstrdup.isra.0+0x4f kstrndup+0x4f real_one+0x10 [mod]"
check "helpers are marked" says 'helpers: kvasprintf\+0x4f, kmemdup_noprof\+0x4f, kstrdup.isra.0\+0x4f, kstrndup\+0x4f' "$KMEMSCOPE" account -v stacks.log
{
	event 0 kvasprintf+0x4f/0xb0 1000
	for i in $(seq 100); do
		event 0 in_the_interrupt+0x5/0x20 2000
		stack 0 __kmalloc in_the_interrupt
	done
	stack 0 __kmalloc_node_track_caller_noprof kvasprintf interrupted
} >nested.log
check "an interrupt comes between an event and its stack" equal "$(sites --skip-helpers nested.log)" "in_the_interrupt+0x5 interrupted+0x0"
{
	for i in 1 2 3; do
		event 0 kvasprintf+0x4f/0xb0 ${i}000
		stack 0 __kmalloc kvasprintf caller_$i
	done
} >thrice.log
check "a helper with several stacks is named once" says 'helpers: kvasprintf\+0x4f$' "$KMEMSCOPE" flame -v -o flame.svg thrice.log
check "with their sum" says '4 allocations, 64 bytes live' "$KMEMSCOPE" account -v stacks.log
check "and in JSON" equal "$(must "$KMEMSCOPE" account --json stacks.log | grep -c '"helper": true')" 4
check "a list that does not exist" fails_saying 1 'gone: cannot open' "$KMEMSCOPE" account --helpers gone stacks.log
must "$KMEMSCOPE" import -o db stacks.log >/dev/null
check "a DB keeps the stack traces" equal "$(sites --skip-helpers db)" "$(sites --skip-helpers stacks.log)"
check "and what was recorded" equal "$(sites db)" "$(sites stacks.log)"
check "a list of the user, on a DB" equal "$(sites --skip-helpers --helpers mine db)" "$(sites --skip-helpers --helpers mine stacks.log)"
check "a timeline of a DB, which goes another way" says 'kobject_set_name_vargs\+0x0' "$KMEMSCOPE" timeline --skip-helpers --by site --json db
check "nor is one made from what was skipped" fails_saying 2 'do not go together' "$KMEMSCOPE" account --skip-helpers --save-db x stacks.log

# A log of many megabytes, read in pieces: no stack loses its event.
for i in $(seq 1000 9999); do
	event 0 kvasprintf+0x4f/0xb0 $i
	stack 0 __kmalloc_node_track_caller_noprof kvasprintf kvasprintf_const "caller_$((i % 7))"
done >long.log
must "$KMEMSCOPE" import -o long.db long.log >/dev/null
check "nor in a DB" equal "$(sites --skip-helpers long.db)" "$(sites --skip-helpers long.log)"
check "no stack loses its event" equal "$(sites --skip-helpers long.log)" "$(for i in 0 1 2 3 4 5 6; do echo "caller_$i+0x0"; done | paste -sd' ')"

# An interrupt lasts for more than one piece of the log.
{
	event 0 kvasprintf+0x4f/0xb0 0000
	for i in $(seq 1000 3999); do
		event 1 kvasprintf+0x4f/0xb0 $i
		stack 1 __kmalloc_node_track_caller_noprof kvasprintf kvasprintf_const elsewhere
	done
	stack 0 __kmalloc_node_track_caller_noprof kvasprintf interrupted
} >interrupt.log
check "a stack in a piece other than that of its event" [ "$(stat -c %s interrupt.log)" -gt 600000 ]
check "finds it" equal "$(sites --skip-helpers interrupt.log)" "elsewhere+0x0 interrupted+0x0"

# Not every stack belongs to a kmem event.
{
	stack 0 __kmalloc not_in_the_log
	event 0 kvasprintf+0x4f/0xb0 1000 # no stack trace
	printf '            bash-70    [000] d..2.  1.000001: sched_wakeup: comm=sh pid=12 prio=120 target_cpu=001\n'
	stack 0 try_to_wake_up kvasprintf of_the_scheduler
} >others.log
check "a stack of another event is not used" equal "$(sites --skip-helpers others.log)" "kvasprintf+0x4f"
check "a stack without its event is counted" says '^ +1 stack traces without their event$' "$KMEMSCOPE" account -v --skip-helpers others.log
must "$KMEMSCOPE" import -o others.db others.log >/dev/null
check "also in a DB" says '"stacks_alone": 1,' "$KMEMSCOPE" info --json others.db

if mkdir "$instance" 2>/dev/null; then
	echo 16384 >"$instance/buffer_size_kb"
	echo 1 >"$instance/options/stacktrace"
	echo 1 >"$instance/options/event-fork"
	echo $$ >"$instance/set_event_pid" # this test and its children alone
	for event in kmalloc kfree; do echo 1 >"$instance/events/kmem/$event/enable"; done
	for i in $(seq 20); do cat /proc/self/mounts /proc/self/maps /proc/cpuinfo; done >/dev/null
	echo 0 >"$instance/tracing_on"
	cat "$instance/trace" >live.log
	# Counts allocations, not sites: an allocation whose stack is after the end of the trace stays with its helper.
	helpers() {
		must "$KMEMSCOPE" report --by site --json "$@" |
			awk '/"helper":/ { ours = /true/ } /"allocs":/ && ours { sum += $2; ours = 0 } END { print sum + 0 }'
	}
	if grep -qE 'call_site=(__seq_open_private|single_open)\+' live.log; then
		check "live: allocations by helpers are known" [ "$(helpers live.log)" -gt 0 ]
		check "live: the one to blame" says 'mounts_open_common|pid_maps_open|do_maps_open' "$KMEMSCOPE" account --skip-helpers live.log
		check "live: fewer are left with --skip-helpers" [ "$(helpers --skip-helpers live.log)" -lt "$(helpers live.log)" ]
		must "$KMEMSCOPE" import -o live.db live.log >/dev/null
		check "live: the same from a DB" equal "$(sites --skip-helpers live.db)" "$(sites --skip-helpers live.log)"
		check "live: sums stay" equal "$(must "$KMEMSCOPE" account --skip-helpers live.log | sed -n 1,5p)" \
			"$(must "$KMEMSCOPE" account live.log | sed -n 1,5p)"
	else
		skip "live helpers" "no helper allocated while the log was made"
	fi
else
	skip "live helpers" "no private tracefs instance can be made here"
fi
done_testing
