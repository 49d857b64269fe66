# SPDX-License-Identifier: GPL-2.0-only
# Counts every call and return of a module that makes known numbers of them.
C=$D/mzcalls

fresh() { # starts again with nothing recorded
	reset
	echo clear >$C/run
	echo 1 >$M/clear_function_calls
	echo 1 >$M/log_calls_enabled
}

# count PATTERN [MODE]: runs it, and keeps what was counted.
count() {
	fresh
	sh -c "echo ${2:-1} >$M/memorizer_enabled; echo $1 >$C/run"
	put 0 $M/memorizer_enabled
	cat $M/function_calls >/tmp/calls
	cat $M/function_returns >/tmp/returns
}

# The functions of the module by their addresses; what is at an address belongs to the last that begins
# before it. Addresses are compared as text, and so have to be of one length.
grep ' mzcalls_[a-z_]*	\[mzcalls\]' /proc/kallsyms | awk '{ print $1, $3 }' | sort >/tmp/functions

# named FROM TO: lines "FROM TO COUNT" of the module, with names and added up; in the fields' order.
named() {
	awk -v from="$1" -v to="$2" '
		function padded(hex) { return substr("0000000000000000" hex, length(hex) + 1) }
		function name(hex,  i, found) {
			hex = padded(hex)
			for (i = 1; i <= nr && start[i] <= hex; i++)
				found = function_at[i]
			return substr(hex, 1, 12) == substr(last, 1, 12) || hex <= last ? found : ""
		}
		NR == FNR { start[++nr] = padded($1); function_at[nr] = $2; last = start[nr]; next }
		{
			a = name($from); b = name($to)
			if (a != "" && b != "")
				sum[a " " b] += $3
		}
		END { for (pair in sum) print pair, sum[pair] }' /tmp/functions "$3" | sort
}

# What the module itself does around its functions is not expected, and is left out.
exact() { # FILE FROM TO FIELD
	named "$2" "$3" "$1" >/tmp/named
	awk -v field="$4" '$field { print $1, $2, $field }' $C/expect | sort >/tmp/want
	awk 'NR == FNR { want[$1 " " $2] = 1; next } ($1 " " $2) in want' /tmp/want /tmp/named >/tmp/have
	[ -s /tmp/want ] || { echo "# nothing is expected"; return 1; }
	cmp -s /tmp/have /tmp/want && return
	sed 's/^/# have: /' /tmp/have
	sed 's/^/# want: /' /tmp/want
	return 1
}

check "calls are off at first" is "$(stat_of calls)" off
check "... and so says the switch" is "$(cat $M/log_calls_enabled)" N
check "... which has an older name" is "$(cat $M/cfg_log_on)" N
check "it is no place for junk" fails put junk $M/log_calls_enabled

for pattern in task cpus irq softirq lost; do
	count $pattern
	check "pattern $pattern: the calls are exact" exact /tmp/calls 1 2 3
	check "... and the returns" exact /tmp/returns 2 1 4
	check "... and nothing was dropped" is \
		"$(stat_of calls_dropped_full) $(stat_of calls_dropped_far) $(stat_of calls_dropped_cpu)" "0 0 0"
done

# Interrupts and other tasks, by the mode.
count irq 3
check "mode 3: no calls in interrupts" fails exact /tmp/calls 1 2 3
check "... but those of the task" grep -q . /tmp/calls
count irq 2
check "mode 2: in interrupts, too" exact /tmp/calls 1 2 3
count task 3
check "mode 3: the calls of a marked task are exact" exact /tmp/calls 1 2 3
count cpus 3
check "... and those of others are not counted" fails exact /tmp/calls 1 2 3

fresh
put 0 $M/log_calls_enabled
put 1 $M/memorizer_enabled
put task $C/run
put 0 $M/memorizer_enabled
check "with the switch off nothing is counted" is "$(cat $M/function_calls)" ""

# Twice as often is twice as much, and a cleared table has nothing.
fresh
put 1 $M/memorizer_enabled
put task $C/run
put task $C/run
put 0 $M/memorizer_enabled
cat $M/function_calls >/tmp/calls
check "the counts add up" exact /tmp/calls 1 2 3
cp /tmp/calls /tmp/before
cat $M/cfgmap >/tmp/calls
check "cfgmap has the same" cmp /tmp/before /tmp/calls
check "reads of seven bytes have the same" sh -c "dd if=$M/function_calls bs=7 2>/dev/null | cmp - /tmp/before"
check "a pair has one line" is "$(cut -d' ' -f1,2 /tmp/calls | sort | uniq -d)" ""

# The map, as text and as records.
grep '^[0-9a-f]* [0-9a-f]* [0-9]* [0-9]*$' $M/kmap >/tmp/kmap
cut -d' ' -f1-3 /tmp/kmap | grep -v ' 0$' >/tmp/from-kmap
check "kmap has the calls" cmp /tmp/from-kmap /tmp/before
cut -d' ' -f2,1,4 /tmp/kmap | awk '$3 { print $2, $1, $3 }' >/tmp/from-kmap
cat $M/function_returns >/tmp/returns
check "... and the returns" cmp /tmp/from-kmap /tmp/returns
for file in kmap kmap_bin; do
	kmemscope kmap calls --no-pager --csv --top 0 -k /proc/kallsyms $M/$file >/tmp/csv 2>/tmp/err
	awk -F, '$5 ~ /^mzcalls_/ && $6 ~ /^mzcalls_/ && $1 { print $5, $6, $1 }' /tmp/csv >/tmp/pairs
	awk -F, '$5 ~ /^mzcalls_/ && $6 ~ /^mzcalls_/ && $2 { print $6, $5, $2 }' /tmp/csv >/tmp/pairs-back
	awk '$3 { print $1, $2, $3 }' $C/expect | sort >/tmp/want
	awk 'NR == FNR { want[$1 " " $2] = 1; next } ($1 " " $2) in want' /tmp/want /tmp/pairs | sort >/tmp/have
	check "$file: kmap calls has the same counts" cmp /tmp/have /tmp/want
	awk '$4 { print $2, $1, $4 }' $C/expect | sort >/tmp/want
	awk 'NR == FNR { want[$1 " " $2] = 1; next } ($1 " " $2) in want' /tmp/want /tmp/pairs-back | sort >/tmp/have
	check "... and the same returns" cmp /tmp/have /tmp/want
done

put 1 $M/clear_function_calls
check "clear_function_calls clears" is "$(cat $M/function_calls $M/function_returns)" ""
put 1 $M/memorizer_enabled
put task $C/run
put 0 $M/memorizer_enabled
check "... and counting goes on" test -n "$(cat $M/function_calls)"
put 1 $M/cfgmap
check "... as a write to cfgmap does" is "$(cat $M/function_calls)" ""

# Both at once, and with a reader.
insmod /mzaccess.ko
fresh
put 1 $M/memorizer_log_access
echo clear >$D/mzaccess/run
put 1 $M/memorizer_enabled
put storm $D/mzaccess/run
put task $C/run
cat $M/kmap >/dev/null
put 0 $M/memorizer_enabled
put 0 $M/memorizer_log_access
cat $M/function_calls >/tmp/calls
check "calls are exact while accesses are counted" exact /tmp/calls 1 2 3
check "... and accesses while calls are" mzcount bin $M/kmap_bin

# A process' own switch.
fresh
check "a process is not marked at first" is "$(cat /proc/self/memorizer_enabled)" 0
check "/proc/PID/memorizer_enabled takes no junk" fails put junk /proc/self/memorizer_enabled
mkfifo /tmp/go
sh -c "read line </tmp/go; echo task >$C/run" &
child=$!
put yes /proc/$child/memorizer_enabled
check "a marked process says so" is "$(cat /proc/$child/memorizer_enabled)" 1
check "... and others do not" is "$(cat /proc/$$/memorizer_enabled)" 0
check "... nor do threads have the file" fails ls /proc/$child/task/$child/memorizer_enabled
sh -c "echo 3 >$M/memorizer_enabled"
echo >/tmp/go
wait
put 0 $M/memorizer_enabled
cat $M/function_calls >/tmp/calls
check "mode 3 counts for it" exact /tmp/calls 1 2 3
sleep 1000 &
child=$!
put 1 /proc/$child/memorizer_enabled
put 0 /proc/$child/memorizer_enabled
check "a mark can be taken back" is "$(cat /proc/$child/memorizer_enabled)" 0
exec 8<>/proc/$child/memorizer_enabled
kill $child
wait
check "a dead process can't be marked" fails sh -c 'echo 1 >&8'
exec 8<&-

put 0 $M/log_calls_enabled
reset
check "the memorizer is well" is "$(stat_of state)" ok
