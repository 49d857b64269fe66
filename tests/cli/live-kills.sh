#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Starts every level and watch, and kills them, KILLS times (10,000), at any moment of their start, JOBS at a time: nothing may
# stay attached. What no process has open, by the kernel's lists of programs and links, and what is pinned, has stayed. It
# takes half an hour, so only make check-all runs it.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root"
command -v bpftool >/dev/null || skip_all "no bpftool"
"$KMEMSCOPE" top --level exact --once >try.txt 2>&1 || skip_all "$(head -1 try.txt)"
kills=${KILLS:-10000}
jobs=${JOBS:-4}
names='page_made|slab_made|on_kmalloc|on_kfree|on_cache_alloc|on_cache_free|on_free_rcu|on_free_bulk|tell_time|copy|locate'

# Numbers of programs of ours, and of links to these, that nobody has open.
ownerless() {
	local held
	held=$(cat /proc/[0-9]*/fdinfo/* 2>/dev/null | awk '$1 == "prog_id:" || $1 == "link_id:" { print $1 $2 }' | sort -u)
	{
		bpftool prog show | awk -v names="^($names)\$" '$3 == "name" && $4 ~ names { sub(":", "", $1); print "prog_id:" $1 }'
		bpftool link show | awk '$2 == "tracing" || $2 == "raw_tracepoint" { sub(":", "", $1); print "link_id:" $1 }'
	} | sort -u | comm -23 - <(echo "$held")
}

# It takes the kernel a moment to free what a killed process had.
nothing_is_left() {
	local left
	for _ in $(seq 300); do
		left=$(ownerless)
		[ -n "$left" ] || return 0
		sleep 0.2
	done
	echo "$left"
	return 1
}

# kill_some COUNT
kill_some() {
	local levels=(growth sampled exact) i pid
	for i in $(seq "$1"); do
		if [ $((i % 4)) = 3 ]; then
			"$KMEMSCOPE" watch >/dev/null 2>&1 &
		else
			"$KMEMSCOPE" top --level "${levels[i % 4]}" --count 100 --interval 100ms >/dev/null 2>&1 &
		fi
		pid=$!
		sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
	done
}

pins=$(find /sys/fs/bpf 2>/dev/null | wc -l)
check "nobody else leaves programs behind" nothing_is_left
for _ in $(seq "$jobs"); do kill_some $((kills / jobs)) & done
wait
check "nothing is attached after $((kills / jobs * jobs)) starts and kills" nothing_is_left
check "nothing more is pinned" equal "$(find /sys/fs/bpf 2>/dev/null | wc -l)" "$pins"
done_testing
