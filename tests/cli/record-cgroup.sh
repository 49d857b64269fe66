#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which cgroup allocations are of: processes of the running kernel in cgroups made for the test. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"

if ! "$KMEMSCOPE" doctor >doctor.txt 2>&1; then
	skip "cgroups" "$(grep MISSING doctor.txt | head -1 | tr -s ' ')"
	done_testing
fi
# Where memory is counted: in the old hierarchy if there is one, else in the only one.
root=$(awk '$3 == "cgroup" && "," $4 "," ~ /,memory,/ { print $2; exit }' /proc/self/mounts)
[ -n "$root" ] || root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=kmemscope-test-$$
cleanup() {
	rmdir "$root/$group/one" "$root/$group/two" "$root/$group" 2>/dev/null
}
if [ -z "$root" ] || ! mkdir -p "$root/$group/one" "$root/$group/two" 2>/dev/null; then
	skip "cgroups" "none can be made here"
	done_testing
fi

# Its processes live for milliseconds, and move before they do anything.
in_group() { # NAME COUNT
	bash -c 'echo $$ >"$0/cgroup.procs" && for ((i = 0; i < $1; i++)); do cat /dev/null; done' "$root/$group/$1" "$2"
}
"$KMEMSCOPE" record -q --slab -o a.dat --duration 1h &
recorder=$!
until [ -s a.dat ] || ! kill -0 $recorder 2>/dev/null; do
	sleep 0.05
done
sleep 0.3
check "processes in one cgroup" in_group one 20
check "and in another" in_group two 60
sleep 0.3
kill -INT $recorder
wait $recorder
check "are recorded" [ $? = 130 ]

# made FILE OPTION...: how many objects each cgroup has allocated.
made() {
	must "$KMEMSCOPE" report --by cgroup --csv "$@" 2>err.txt >rows.csv || return 1
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 && $1 != "all" { print $1, $at["allocs"] }' rows.csv | sort
}
of_group() { # FILE OPTION...
	made "$@" | awk -v "group=/$group/" 'index($1, group) { sub(/.*\//, "", $1); print }'
}
# A mm_struct for each fork, and one for the program that is then run; and one for the shell, which has one cgroup at all
# times.
check "each has its allocations" equal "$(of_group a.dat --cache=mm_struct)" "one 41
two 121"
check "the filter takes a part of the path" equal "$(of_group a.dat --cache=mm_struct --cgroup "$group/one")" "one 41"
check "or the path, and has those below" equal "$(of_group a.dat --cache=mm_struct --cgroup "/$group")" "one 41
two 121"
check "a name that only begins like one is another" fails_saying 0 'no task of the capture is in it' "$KMEMSCOPE" report --cgroup "$group/on" a.dat
check "most allocations are of a known cgroup" python3 - <<END
import csv, subprocess, sys
rows = list(csv.DictReader(subprocess.run(["$KMEMSCOPE", "report", "--by", "cgroup", "--csv", "a.dat"], capture_output=True, text=True).stdout.splitlines()))
total, unknown = sum(int(row["allocs"]) for row in rows), sum(int(row["allocs"]) for row in rows if row["cgroup"] == "unknown")
print(total, unknown)
sys.exit(not total > 20 * unknown)
END
must "$KMEMSCOPE" import -o a.db a.dat >/dev/null 2>&1
check "a DB knows them, too" equal "$(of_group a.db --cache=mm_struct --cgroup "$group")" "one 41
two 121"
must "$KMEMSCOPE" leaks --json --all --cgroup "$group/two" a.dat >leaks.json
check "leaks name the cgroup" python3 - <<END
import json, sys
rows = [row for table in json.load(open("leaks.json")).values() if isinstance(table, list) for row in table if isinstance(row, dict) and "comm" in row]
print(len(rows))
sys.exit(not all(row.get("cgroup") == "/$group/two" for row in rows))
END
"$KMEMSCOPE" record -q --slab --no-census -o b.dat -- true
check "a capture that does not know says so" says 'does not say which cgroups' "$KMEMSCOPE" report --by cgroup b.dat
done_testing
