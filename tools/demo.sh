#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# "make demo": records this machine's kernel for a few seconds and shows the reports of kmemscope.
# Usage: demo.sh BUILD_DIR. If tracing is not permitted, the sample capture is used instead.
set -u
cd "$(dirname "$0")/.." || exit 1
kmemscope=${1:?usage: demo.sh BUILD_DIR}/kmemscope
out=demo-out
seconds=3

mounted=    # tracefs, if this script mounted it
recorder=   # its process id while it runs
why=        # why recording did not work

cleanup()
{
	[ -z "$recorder" ] || kill -INT "$recorder" 2>/dev/null
	[ -z "$mounted" ] || umount "$mounted"
	recorder='' mounted=''
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

mount_tracefs()
{
	local dir=/sys/kernel/tracing

	! grep -q ' tracefs ' /proc/self/mounts && [ -d $dir ] || return 0
	! mount -t tracefs nodev $dir 2>/dev/null || mounted=$dir
}

# Starts processes, and looks up and reads files.
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
	local status=0

	mount_tracefs
	"$kmemscope" record -q -o $out/kmem.dat 2>$out/record.txt &
	recorder=$!
	sleep 0.3
	if ! kill -0 $recorder 2>/dev/null; then
		recorder=
		why=$(cat $out/record.txt)
		return 1
	fi
	echo "demo: recording this kernel's allocations for $seconds seconds"
	workload
	kill -INT $recorder
	wait $recorder || status=$?
	recorder=
	why=$(cat $out/record.txt)
	rm -f $out/record.txt
	[ $status = 130 ] && capture=$out/kmem.dat
}

capture=$out/kmem.log
mkdir -p $out || exit 1
if ! record; then
	echo "demo: cannot record here: $why"
	echo "demo: using the sample capture, tests/data/sample.log, instead"
	cp tests/data/sample.log $capture || exit 1
fi
cleanup

"$kmemscope" account --top 15 --save-db $out/kmem.ksdb $capture >$out/account.txt || exit
echo
cat $out/account.txt
echo
echo "\$ kmemscope info $out/kmem.ksdb"
"$kmemscope" info --no-pager $out/kmem.ksdb || exit

"$kmemscope" html -o $out/report.html $out/kmem.ksdb || exit
"$kmemscope" rings -o $out/rings.png $out/kmem.ksdb >/dev/null || exit

echo
echo "demo: files in $PWD/$out:"
(cd $out && du -h ${capture##*/} kmem.ksdb account.txt report.html rings.png | sed 's/^/    /')
cat <<END
demo: open $out/report.html in a browser: the whole report in one file
demo: commands to try next:
    $kmemscope report --by cache $out/kmem.ksdb
    $kmemscope leaks --min-age 1 --top 10 $capture
    $kmemscope report --frag --top 10 $capture
    $kmemscope report --by comm --order-by total_dynamic $out/kmem.ksdb
    $kmemscope account --malloc --order-by waste --since +1 --until +2 $out/kmem.ksdb
    $kmemscope account --json $out/kmem.ksdb
END
