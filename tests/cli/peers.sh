#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The same events counted by perf kmem: bytes requested, bytes allocated, allocations.
. "$(dirname "$0")/lib.sh"
events=(-e kmem:kmalloc -e kmem:kfree -e kmem:kmem_cache_alloc -e kmem:kmem_cache_free)

if ! command -v perf >/dev/null; then
	skip "perf kmem" "perf is not installed"
elif ! perf record -q -a -R -c 1 -m 16M "${events[@]}" -o perf.data -- find /etc /usr/bin >find.log 2>&1; then
	skip "perf kmem" "perf may not record kmem events here"
else
	perf script -i perf.data >perf.log 2>/dev/null
	perf kmem -i perf.data --slab stat >perf.txt 2>/dev/null
	must "$KMEMSCOPE" info --json perf.log >info.json
	number() { awk -F: -v label="$1" '$1 ~ label { gsub(/[ ,]/, "", $2); print $2; exit }' perf.txt; }
	# perf kmem adds what was asked for in vain.
	failed() { awk -v label=" $1=" '/ptr=(\(nil\)|0x0|\(null\)) / && (at = index($0, label)) { sum += substr($0, at + length(label)) } END { print sum + 0 }' perf.log; }
	perfs() { echo $(($(number "Total bytes $1") - $(failed "$2"))); }
	ours() { must "$KMEMSCOPE" account --json perf.log | awk -F'[ ,:]+' -v name="\"$1\"" '$2 == name && !seen++ { print $3 }'; }
	check "perf script: every sample is read as an event" [ "$(grep -c 'kmem:' perf.log)" = "$(awk -F'[ ,:]+' '/"events_total"/ { print $3 }' info.json)" ]
	check "perf script: nothing left over" says '"unparsed": 0' cat info.json
	check "there is something to compare" [ "$(number 'Total bytes allocated')" -gt 10000 ]
	echo "# bytes that no memory was left for: $(failed bytes_req) requested; perf kmem has $(number 'Total bytes requested') in all"
	check "bytes requested as perf kmem counts them" [ "$(ours total_requested)" = "$(perfs requested bytes_req)" ]
	check "bytes allocated as perf kmem counts them" [ "$(ours total_bytes)" = "$(perfs allocated bytes_alloc)" ]
	# Call chains: perf's own text of them, and the file itself.
	if perf record -q -g -R -c 1 -m 16M "${events[@]}" -o chains.data -- cat /proc/self/maps /proc/self/mounts >find.log 2>&1; then
		perf script -i chains.data >chains.log 2>/dev/null
		collapsed() { must "$KMEMSCOPE" export --format collapsed --measure total "$1" | sort; }
		collapsed chains.log >want
		collapsed chains.data >got
		check "perf -g: the stacks of perf.data are those of perf script" same want got
		check "perf -g: there are system calls among them" grep -q 'do_syscall\|el0_svc\|handle_exception' got
	else
		skip "perf -g" "perf may not record call chains here"
	fi
fi

if ! command -v trace-cmd >/dev/null; then
	skip "trace-cmd report" "trace-cmd is not installed"
else
	name=kmemscope-peer-$$
	dir=/sys/kernel/tracing/instances/$name
	cleanup() { [ ! -d "$dir" ] || rmdir "$dir"; }
	capture() {
		for event in kmalloc kfree kmem_cache_alloc kmem_cache_free; do echo 1 >"$dir/events/kmem/$event/enable"; done
		echo 1 >"$dir/tracing_on"
		ls -lR /etc >/dev/null
		echo 0 >"$dir/tracing_on"
		cat "$dir/trace" >kmem.log
		trace-cmd extract -B "$name" -o trace.dat >extract.log 2>&1 &&
			trace-cmd report trace.dat >report.log 2>>extract.log
	}
	if mkdir "$dir" 2>/dev/null; then
		# If others trace at the same time, it sometimes writes nothing.
		for try in 1 2 3 4 5; do
			! capture || break
			tail -n 2 extract.log | sed 's/^/# /'
			echo >"$dir/trace"
		done
		check "trace-cmd report: as many events as the trace file" [ "$(grep -c call_site= report.log)" = "$(grep -c call_site= kmem.log)" ]
		must "$KMEMSCOPE" report --by size --csv kmem.log | cut -d, -f1-3,8 | sort >want
		must "$KMEMSCOPE" report --by size --csv report.log | cut -d, -f1-3,8 | sort >got
		check "trace-cmd report: the same totals by size" same want got
		check "trace-cmd report: nothing left over" says '"unparsed": 0' "$KMEMSCOPE" info --json report.log
	else
		skip "trace-cmd report" "no private tracefs instance can be made here"
	fi
fi
done_testing
