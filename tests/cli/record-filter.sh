#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Filters in the kernel: what several recorders with a filter each get is what one without a filter has of it, object by
# object, of one program with a known pattern. Then times of day. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"
if ! "$KMEMSCOPE" doctor 2>&1 | grep -q '^kmemscope record will work$'; then
	skip "recording" "doctor says that it does not work"
	done_testing
fi
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/self/mounts)

# 300 timers, of which 100 are closed. The name of the task is that of the link.
ln -s "$(command -v python3)" patterner
cat >pattern.py <<'PYTHON'
import ctypes, os, time
make = ctypes.CDLL(None).timerfd_create
timers = [make(1, 0) for _ in range(300)]
for one in timers[:100]:
    os.close(one)
open("made", "w").close()
while not os.path.exists("finished"):
    time.sleep(0.05)
PYTHON

recorders=()
start() { # FILE OPTION...: a recorder that waits for its end
	local file=$1 pid
	shift
	"$KMEMSCOPE" record -o "$file" --slab "$@" >"$file.out" 2>&1 &
	pid=$!
	recorders+=("$pid")
	until grep -qs '[1X]' "$tracefs/instances/kmemscope-$pid"-*/events/kmem/enable &&
		! cat "$tracefs/instances/kmemscope-$pid"-*/tracing_on | grep -q 0; do
		kill -0 $pid 2>/dev/null || return 1
		sleep 0.02
	done
}
run_pattern() {
	rm -f made finished
	./patterner pattern.py &
	local pid=$!
	until [ -e made ]; do
		kill -0 $pid 2>/dev/null || return 1
		sleep 0.02
	done
}
stop() {
	local i
	# The first one last: it has seen everything that the others have.
	for ((i = ${#recorders[@]} - 1; i >= 0; i--)); do
		kill -INT "${recorders[i]}"
		wait "${recorders[i]}" 2>/dev/null
	done
	recorders=()
	touch finished
	wait
}
objects() { # FILE OPTION...: the objects, one a line
	must "$KMEMSCOPE" export --format csv --table objects --comm patterner "$@" | cut -d, -f1,3,4,5,6 | tail -n +2 | sort
}
cleanup() {
	touch "$scratch/finished" 2>/dev/null
	[ ${#recorders[@]} = 0 ] || kill "${recorders[@]}" 2>/dev/null
	true
}

# Which function makes a timer, and of what size, is this kernel's own.
start first.dat --no-census && run_pattern && stop
must "$KMEMSCOPE" export --format csv --table objects --comm patterner --malloc first.dat >first.csv
read -r site size < <(python3 - <<'PYTHON'
import csv, collections
count = collections.Counter((row["site"].split("+")[0].split(" ")[0], row["bytes_allocated"]) for row in csv.DictReader(open("first.csv")))
fits = [key for key, n in count.items() if n == 300 and "timerfd" in key[0]]
print(*(fits[0] if fits else ("", "")))
PYTHON
)
check "the pattern is seen without a filter" test -n "$site"

start all.dat
start site.dat --no-census --site "$site"
start cache.dat --no-census --cache filp
start size.dat --no-census --size "$size"
start both.dat --no-census --size "$((size - 1))-$((size + 1))" --comm patterner
check "the program runs" run_pattern
made=$(stat -c %.9Y made)
stop
check "no events were lost" says ' 0 lost' cat all.dat.out
same() { # FILE OPTION...: of these the filtered capture has what the other has
	local file=$1
	shift
	objects "$@" all.dat >want.txt
	objects "$@" "$file" >got.txt
	[ "$(wc -l <want.txt)" -ge 300 ] && cmp want.txt got.txt || { diff want.txt got.txt | head; return 1; }
}
check "--site has the same objects" same site.dat --site "$site"
check "which are the 300 of the pattern" equal 300 "$(objects --site "$site" site.dat | wc -l)"
check "--size has the same objects" same size.dat --size "$size"
check "two filters at once have the same objects" same both.dat --size "$size" --site "$site"
if grep -q 'field:.* name;' "$tracefs/events/kmem/kmem_cache_alloc/format"; then
	check "--cache has the same objects" same cache.dat --cache=filp
	others() { must "$KMEMSCOPE" report --by cache --csv cache.dat | tail -n +2 | cut -d, -f1 | sort -u | grep -vx filp || true; }
	check "and no others" equal "" "$(others)"
	check "--cache finds no such cache" fails_saying 1 'no such cache' "$KMEMSCOPE" record -o none.dat --cache no_such_cache
else
	check "--cache: events of this kernel name none" says 'name no cache' cat cache.dat.out
	check "--cache has all of that size" same cache.dat --cache=filp
fi
others() { must "$KMEMSCOPE" report --by function --csv site.dat | tail -n +2 | cut -d, -f1 | grep -vx "$site" || true; }
check "--site has no others" equal "" "$(others)"
tasks() { must "$KMEMSCOPE" report --by comm --csv both.dat | tail -n +2 | cut -d, -f1 | grep -vx patterner || true; }
check "--comm has no other tasks" equal "" "$(tasks)"
# What was closed ended, by an event or by the census: files of timers are freed by an event.
ended() { must "$KMEMSCOPE" export --format csv --table objects --comm patterner --cache=filp cache.dat | grep -c ,freed,; }
check "frees are recorded whoever frees" test "$(ended)" -ge 100
check "the capture says what it was recorded with" says "^recorded +--site $site\$" "$KMEMSCOPE" info site.dat
check "so does each report" says "recorded with --site $site: no other" "$KMEMSCOPE" report site.dat
check "and JSON" says "\"recorded_only\": \"--size $((size - 1))-$((size + 1)) --comm patterner\"|\"recorded_only\": \"--comm patterner --size $((size - 1))-$((size + 1))\"" "$KMEMSCOPE" info --json both.dat
if command -v trace-cmd >/dev/null; then
	trace_cmd_counts() {
		local ours theirs
		ours=$(objects --site "$site" site.dat | wc -l)
		theirs=$(trace-cmd report -i site.dat 2>/dev/null | grep -c "patterner-.* kmalloc: ")
		[ "$ours" = "$theirs" ] || { echo "$ours, trace-cmd $theirs"; return 1; }
	}
	check "trace-cmd has the same allocations" trace_cmd_counts
else
	skip "trace-cmd has the same allocations" "no trace-cmd"
fi
with_command() {
	touch finished
	must "$KMEMSCOPE" record -q -o command.dat --no-census --slab --site "$site" -- ./patterner pattern.py
	[ "$(objects command.dat | wc -l)" = 300 ]
}
check "a filter with a command" with_command
check "no such function" fails_saying 1 'no such function' "$KMEMSCOPE" record -o none.dat --site no_such_function
check "pages have no cache" fails_saying 2 'neither a cache nor a site' "$KMEMSCOPE" record -o none.dat --pages --cache filp
check "sizes that are none" fails_saying 2 'give bytes' "$KMEMSCOPE" record -o none.dat --size '64-12'
check "leaves no file" test ! -e none.dat

# === Times of day ==============================================================================

# A moment in the capture by another witness: the file system noted when the file behind the pattern was made.
moment() { date -u -d "@$(echo "$made + $1" | bc)" +'%Y-%m-%d %H:%M:%S.%N'; }
counts() { # OPTION...
	must env TZ=UTC "$KMEMSCOPE" export --format csv --table objects --comm patterner --site "$site" "$@" all.dat 2>counts.err | tail -n +2 | wc -l
}
check "all were made before the file was" equal 300 "$(counts --until "$(moment 0.01)")"
check "none after" equal 0 "$(counts --since "$(moment 0.01)")"
check "with a zone" equal 300 "$(counts --until "$(moment 0.01 | tr ' ' T)Z")"
check "by the time of day alone" equal 300 "$(counts --until "$(moment 0.01 | cut -d' ' -f2)")"
elsewhere() { must env TZ=Asia/Kolkata "$KMEMSCOPE" export --format csv --table objects --comm patterner --site "$site" --until "$(TZ=Asia/Kolkata date -d "@$(echo "$made + 0.01" | bc)" +'%Y-%m-%d %H:%M:%S.%N')" all.dat | tail -n +2 | wc -l; }
check "in another time zone" equal 300 "$(elsewhere)"
check "an hour ago nothing was recorded" fails_saying 1 'no event is in the requested window' "$KMEMSCOPE" report --until '1 hour ago' all.dat
must "$KMEMSCOPE" import -o all.ksdb all.dat >/dev/null
in_db() { must env TZ=UTC "$KMEMSCOPE" report --comm patterner --site "$site" --until "$(moment 0.01)" --csv all.ksdb >db.csv && must env TZ=UTC "$KMEMSCOPE" report --comm patterner --site "$site" --until "$(moment 0.01)" --csv all.dat | cmp - db.csv; }
check "a DB knows it, too" in_db
close_to_date() {
	must "$KMEMSCOPE" info --json all.dat >info.json
	python3 - "$made" <<-'END'
		import json, sys, datetime
		told = json.load(open("info.json"))
		first, last = (datetime.datetime.fromisoformat(told[key][:26] + "+00:00").timestamp() for key in ("first_time", "last_time"))
		assert first < float(sys.argv[1]) < last, (first, sys.argv, last)
		# As long by the wall clock as by the capture's own.
		assert abs((last - first) - (told["last_ts"] - told["first_ts"]) / 1e9) < 0.01
	END
}
check "info has the date" close_to_date
check "for people, too" says '^date +20[0-9][0-9]-' "$KMEMSCOPE" info all.dat
check "a text has none" fails_saying 1 'does not say at what time of day' "$KMEMSCOPE" report --since 10:00 "$data/sample.log"
check "nonsense" fails_saying 2 'a time of day' "$KMEMSCOPE" report --since 25:00 all.dat
check "a day that does not exist" fails_saying 2 'a time of day' "$KMEMSCOPE" report --since 2026-02-30 all.dat

done_testing
