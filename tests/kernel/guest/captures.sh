# SPDX-License-Identifier: GPL-2.0-only
# In the guest: captures of each kind of its own kernel, in /host, and beside each what kmemscope says of it here.
cp /proc/kallsyms /host/kallsyms
cp /tmp/log/cpu0.out /tmp/log/cpu1.out /host 2>/dev/null
cd /host || exit
check "trace.dat is recorded" kmemscope record -q --strict -o trace.dat -- ls -lR /bin /kmod
check "its DB file is made" kmemscope import -o trace.ksdb trace.dat
tracing=/sys/kernel/tracing
[ -e $tracing/trace ] || mount -t tracefs none $tracing
echo 1 >$tracing/events/kmem/enable
ls -lR /bin /kmod >/dev/null
echo 0 >$tracing/events/kmem/enable
cat $tracing/trace >trace.txt
echo >$tracing/trace
reset
[ ! -e $M/kmap ] || check "a map is recorded" kmemscope kmap record -o map.kmap -- ls -l /bin
for file in trace.dat trace.ksdb trace.txt *.out *.kmap; do
	[ -e "$file" ] || continue
	for command in 'account' 'report --by cache' 'report --by size' 'leaks' 'info'; do
		kmemscope $command --json -k kallsyms "$file" >"$file.${command##* }.json" 2>"$file.${command##* }.err"
		echo $? >"$file.${command##* }.status"
	done
done
cd /
