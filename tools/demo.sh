#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# "make demo": records this machine's kernel for a few seconds and shows what kmemscope makes of it.
# Usage: demo.sh BUILD_DIR. Where tracing is not permitted, the sample capture takes its place.
set -u
cd "$(dirname "$0")/.." || exit 1
kmemscope=${1:?usage: demo.sh BUILD_DIR}/kmemscope
out=demo-out
seconds=3
events="kmalloc kmalloc_node kfree kmem_cache_alloc kmem_cache_alloc_node kmem_cache_free
	mm_page_alloc mm_page_free"

tracefs=    # where tracefs is mounted
mounted=    # the same, if this script mounted it
instance=   # our private buffer: others' tracing is neither seen nor disturbed
why=        # why recording did not work

cleanup()
{
	if [ -n "$instance" ]; then
		echo 0 >"$instance/tracing_on"
		echo 0 >"$instance/events/enable"
		rmdir "$instance" || echo "demo: cannot remove $instance" >&2
	fi
	[ -z "$mounted" ] || umount "$mounted"
	instance='' mounted=''
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

find_tracefs()
{
	local dir

	for dir in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		[ -d "$dir/instances" ] && tracefs=$dir && return 0
	done
	dir=/sys/kernel/tracing
	if grep -q " $dir tracefs " /proc/self/mounts; then
		why="tracefs is there, but closed to this user; root may use it"
	elif [ ! -d $dir ]; then
		why="this kernel has no tracefs, or hides it from this user"
	elif ! mount -t tracefs nodev $dir 2>/dev/null; then
		why="tracefs is not mounted and this user may not mount it"
	else
		mounted=$dir tracefs=$dir
		[ -d $dir/instances ] && return 0
		why="this kernel's tracefs has no private instances"
	fi
	return 1
}

# Room for the whole recording, so that nothing is overwritten, but no more than an eighth of what is
# free. Buffers are per CPU.
buffer_kb()
{
	local cpus free_kb total_kb=262144

	cpus=$(getconf _NPROCESSORS_CONF) || cpus=1
	free_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
	[ $((${free_kb:-0} / 8)) -ge $total_kb ] || total_kb=$((${free_kb:-65536} / 8))
	echo $((total_kb / cpus))
}

start_recording()
{
	local dir event enabled=

	find_tracefs || return 1
	dir=$tracefs/instances/kmemscope-demo-$$
	if ! mkdir "$dir" 2>/dev/null; then
		why="this user may not trace (no right to create $dir)"
		return 1
	fi
	instance=$dir
	buffer_kb >"$instance/buffer_size_kb"
	# True addresses pair exactly; the hashes that the kernel prints otherwise may collide.
	[ ! -e "$instance/options/hash-ptr" ] || echo 0 >"$instance/options/hash-ptr"
	for event in $events; do
		[ ! -e "$instance/events/kmem/$event/enable" ] && continue
		echo 1 >"$instance/events/kmem/$event/enable" && enabled=yes
	done 2>/dev/null
	[ -n "$enabled" ] && return 0
	why="this kernel has no kmem events, or they may not be enabled"
	return 1
}

# Processes come and go, files are looked up and read.
workload()
{
	local end=$((SECONDS + seconds))

	while [ $SECONDS -lt $end ]; do
		find /usr/share /proc/self -maxdepth 2 >/dev/null 2>&1
		ls -l /usr/bin /etc >/dev/null 2>&1
		(cat /proc/self/maps /proc/meminfo | sort >/dev/null)
		sleep 0.1
	done
}

record()
{
	start_recording || return 1
	echo "demo: recording this kernel's allocations for $seconds seconds"
	workload
	echo 0 >"$instance/tracing_on"
	cat "$instance/trace" >"$out/kmem.log.new" && mv "$out/kmem.log.new" "$out/kmem.log" && return 0
	why="the trace could not be copied to $out/kmem.log"
	return 1
}

mkdir -p $out || exit 1
if ! record; then
	echo "demo: cannot record here: $why"
	echo "demo: using the sample capture, tests/data/sample.log, instead"
	cp tests/data/sample.log $out/kmem.log || exit 1
fi
cleanup

"$kmemscope" account --top 15 --save-db $out/kmem.ksdb $out/kmem.log >$out/account.txt || exit
echo
cat $out/account.txt
echo
echo "\$ kmemscope info $out/kmem.ksdb"
"$kmemscope" info --no-pager $out/kmem.ksdb || exit

echo
echo "demo: made in $PWD/$out:"
(cd $out && du -h kmem.log kmem.ksdb account.txt | sed 's/^/    /')
cat <<END
demo: try next
    $kmemscope report --by cache $out/kmem.ksdb
    $kmemscope report --by comm --order-by total_dynamic $out/kmem.ksdb
    $kmemscope account --malloc --order-by waste --since +1 --until +2 $out/kmem.ksdb
    $kmemscope account --json $out/kmem.ksdb
END
