# SPDX-License-Identifier: GPL-2.0-only
# The user-space programs of kmemtrace on a real log, as in its quick usage guide.
mkdir /tmp/log
cd /tmp/log || exit
kmemtraced >/tmp/kmemtraced.out 2>&1 &
pid=$!
i=0
while [ "$(cat $D/kmemtrace/enabled)" = 0 ] && [ $i -lt 600 ] && kill -0 $pid; do
	sleep 1
	i=$((i + 1))
done
put clear $T/run
for pattern in task work softirq rcu; do put $pattern $T/run; done
ls -lR /proc/self >/dev/null 2>&1
kill -INT $pid
wait $pid
check "kmemtraced ends well on Ctrl-C" test $? = 0 -o $? = 130
sed 's/^/# /' /tmp/kmemtraced.out
check "... with logging off" is "$(cat $D/kmemtrace/enabled)" 0
check "... without overrun" is "$(cat $D/kmemtrace/total_overruns)" 0
for file in cpu*.out; do check "kmemtrace_check passes $file" kmemtrace_check $file; done
check "what it logged is the pattern" mzcheck relay cpu*.out
kmemtrace-report >/tmp/report 2>&1
check "kmemtrace-report reads it" test $? = 0
head -n 30 /tmp/report | sed 's/^/# /'
check "... and names the call site" grep -q mztest_alloc_ /tmp/report
cd /
