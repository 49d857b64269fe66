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

# start ARGUMENT...: starts the recorder, and waits until it records: before, it counts the kernel's objects. Fails if it ends.
start()
{
	: >$out/record.txt # the shell that starts the recorder would make it, later
	"$kmemscope" record "$@" 2>$out/record.txt &
	recorder=$!
	until grep -q '^recording' $out/record.txt; do
		kill -0 $recorder 2>/dev/null || return 1
		sleep 0.1
	done
}

# A second with call stacks, for the flame graph. It is several times as much work, so it is kept short.
record_stacks()
{
	start --stack --buffer-size 32768 -o $out/stacks.dat --duration 1 && seconds=1 workload
	wait $recorder && stacks=$out/stacks.dat
	recorder=
	rm -f $out/record.txt
}

record()
{
	local status=0

	mount_tracefs
	if ! start -o $out/kmem.dat; then
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
stacks=     # the capture with call stacks, if there is one

capture=$out/kmem.log
mkdir -p $out || exit 1
if ! record; then
	echo "demo: cannot record here: $why"
	echo "demo: using the sample capture, tests/data/sample.log, instead"
	cp tests/data/sample.log $capture || exit 1
else
	record_stacks
fi
cleanup

"$kmemscope" import -o $out/kmem.ksdb $capture >/dev/null || exit
"$kmemscope" account --top 15 $out/kmem.ksdb >$out/account.txt || exit
echo
echo "demo: who allocated most, and what of it is still there:"
"$kmemscope" account --top 8 --no-pager $out/kmem.ksdb || exit

# On a busy machine stacks may come faster than they are read. The report is then of the other capture, which has all.
page=${stacks:-$out/kmem.ksdb}
"$kmemscope" info --strict $page >/dev/null 2>&1 || page=$out/kmem.ksdb
"$kmemscope" html -o $out/report.html $page >/dev/null || exit
"$kmemscope" flame -o $out/flame.svg ${stacks:-$out/kmem.ksdb} >/dev/null || exit
"$kmemscope" rings -o $out/rings.png $out/kmem.ksdb >/dev/null || exit

echo
echo "demo: files in $PWD/$out:"
(cd $out && du -h ${capture##*/} ${stacks##*/} kmem.ksdb account.txt report.html flame.svg rings.png | sed 's/^/    /')
cat <<END
demo: open $out/report.html in a browser: the whole report in one file
demo: commands to try next:
    $kmemscope report --by cache $out/kmem.ksdb
    $kmemscope report --by comm --order-by total $out/kmem.ksdb
    $kmemscope report --frag --top 10 $capture
    $kmemscope account --malloc --order-by waste --since +1 --until +2 $out/kmem.ksdb
END
cat <<END

demo: does something leak? What was made all the time and stayed, most evidence first; below 50 % it is hardly a leak:
\$ kmemscope leaks --top 5 $capture
END
"$kmemscope" leaks --no-pager --json $capture >$out/leaks.json || exit
"$kmemscope" leaks --no-pager --top 5 $capture | awk 'NF { print; next } { exit }' || exit
echo
python3 - $out/leaks.json <<'PYTHON' 2>/dev/null || true
import json, sys
sites = json.load(open(sys.argv[1]))["sites"]
sure = [s for s in sites if (s["evidence"] or 0) >= 0.5]
if sure:
    print(f"demo: the answer: perhaps. Most speaks against {sure[0]['comm'] or 'unknown'}, at {sure[0]['site']}; a longer recording tells.")
else:
    print("demo: the answer: no, nothing grew steadily while it was recorded.")
PYTHON
