#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What may happen in months of looking at the kernel: the clock of the day is set back and forth, and a cgroup goes away whose
# processes have allocated. Needs root and BPF. That a processor goes away, tests/kernel/guest/live.sh tries.
. "$(dirname "$0")/lib.sh"

"$KMEMSCOPE" top --level sampled --once >try.txt 2>&1 || { skip "what may happen" "$(head -1 try.txt)"; done_testing; }
day=86400

# set_clock SECONDS: as a clock is, at once.
set_clock() {
	echo "${1}000000000" >clock.new
	mv clock.new clock
}

looks_in() { grep -c '"schema"' looks.json; }

# more_looks COUNT: until there are so many more; false if it has ended.
more_looks() {
	local until=$(($(looks_in) + $1))
	until [ "$(looks_in)" -ge "$until" ]; do
		kill -0 "$top" 2>/dev/null || return 1
		sleep 0.1
	done
}

# Prints a value of each look.
values() { # KEY
	python3 - "$1" <<-'EOF'
		import json, sys
		text, decoder, at = open("looks.json").read(), json.JSONDecoder(), 0
		while text[at:].strip():
		    look, at = decoder.raw_decode(text, len(text) - len(text[at:].lstrip()))
		    print(look[sys.argv[1]])
	EOF
}

# --- The clock -----------------------------------------------------------------------------

ln -s "$CLOCKSTEP" step.so # a blank in its path would make two of it
set_clock 1700006400
LD_PRELOAD=$PWD/step.so CLOCKSTEP=$PWD/clock "$KMEMSCOPE" top --json --interval 100ms --count 1000000 >looks.json &
top=$!
check "looks" more_looks 2
set_clock $((1700006400 - day))
check "the clock is set back, and it goes on" more_looks 2
set_clock $((1700006400 + day))
check "and forward" more_looks 2
kill -INT $top
wait $top
check "it ends as always" test $? = 130
values time_ns | awk '{ print substr($1, 1, 10) }' | uniq >days.txt
check "each look has the time of its day" equal "$(cat days.txt)" "1700006400
$((1700006400 - day))
$((1700006400 + day))"
check "the time since it began has nothing to do with it" awk '$1 < last || $1 > 3600e9 { bad = 1 } { last = $1 } END { exit bad || NR < 6 }' <(values since_baseline_ns)

# --- A cgroup --------------------------------------------------------------------------------

root=$(awk '$3 == "cgroup" && "," $4 "," ~ /,memory,/ { print $2; exit }' /proc/self/mounts)
[ -n "$root" ] || root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=$root/kmemscope-test-$$
cleanup() { rmdir "$group" 2>/dev/null; }
if [ -z "$root" ] || ! mkdir "$group" 2>/dev/null; then
	skip "a cgroup that goes away" "none can be made here"
	done_testing
fi

"$KMEMSCOPE" top --level sampled --by process --json --interval 100ms --count 1000000 >looks.json &
top=$!
check "looks at samples" more_looks 2
# Its sockets are ended before it is.
in_group() { bash -c 'echo $$ >"$0/cgroup.procs" && for ((i = 0; i < 5; i++)); do "$1" -socket 1000 1 </dev/null || exit; done; exit' "$group" "$PLANT"; }
check "a process of a cgroup allocates" in_group
check "its cgroup goes away" rmdir "$group"
check "and looks go on" more_looks 3
kill -INT $top
wait $top
check "and end as always" test $? = 130
check "all of them are whole" test "$(values level | sort -u)" = sampled
done_testing
