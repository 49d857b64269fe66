#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Live objects of a recording of the running kernel: 5,000 of everything are opened and closed, 5,000 of a few kinds are
# kept, and other programs go on allocating while the kernel is counted at the end. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"

if ! "$KMEMSCOPE" doctor >doctor.txt 2>&1; then
	skip "5,000 of everything" "$(grep MISSING doctor.txt | head -1 | tr -s ' ')"
	done_testing
fi
cp "$CHURN" churn && cp "$CHURN" storm || bail "$CHURN was not built"
for kind in eventfd timerfd epoll; do
	cp "$PLANT" "keep-$kind" || bail "$PLANT was not built"
done

pids=
cleanup() {
	[ -z "$pids" ] || kill $pids 2>/dev/null
}
mkfifo hold
exec 9<>hold
"$KMEMSCOPE" record -q --slab -o a.dat --duration 1h &
recorder=$!
until [ -s a.dat ] || ! kill -0 $recorder 2>/dev/null; do
	sleep 0.05
done
for kind in eventfd timerfd epoll; do
	"./keep-$kind" $kind 5000 1 <hold >$kind.out &
	pids="$pids $!"
done
check "5,000 of everything are opened and closed" ./churn 5000
for kind in eventfd timerfd epoll; do
	until grep -qs planted $kind.out || ! kill -0 $recorder 2>/dev/null; do
		sleep 0.1
	done
done
while :; do ./storm 300; done >/dev/null 2>&1 &
pids="$pids $!"
sleep 6 # kfree_rcu() keeps what it was given for five seconds
kill -INT $recorder
wait $recorder
check "it is recorded" [ $? = 130 ]
kill $pids 2>/dev/null
wait
pids=

must "$KMEMSCOPE" report --by cache --json a.dat >all.json
must "$KMEMSCOPE" report --by cache --comm churn --json a.dat >churn.json
must "$KMEMSCOPE" report --by cache --comm churn --site alloc_slab_obj_exts --json a.dat >lists.json
for kind in eventfd timerfd epoll; do
	must "$KMEMSCOPE" report --by function --comm keep-$kind --json a.dat >$kind.json
done
if ! grep -q '"counted_by_object": true' all.json; then
	skip "live objects by cache" "the kernel's memory can't be read here"
	done_testing
fi
no_row_is_above() {
	python3 - <<'END'
import json, sys
rows = [row for row in json.load(open("all.json"))["rows"] if "kernel_objects" in row]
bad = [(row["cache"], row["live_objects"], row["kernel_objects"]) for row in rows if row["live_objects"] > row["kernel_objects"]]
print(len(rows), "caches, above the kernel:", bad)
sys.exit(len(rows) < 20 or len(bad) > 0)
END
}
check "no cache has more live objects than the kernel" no_row_is_above
# A program that has ended has none of what it opened: what is left is 20 objects, or 1 % of these, at most. The kernel's own
# lists of who pays for a slab live as long as the slab.
nothing_is_left() {
	python3 - <<'END'
import json, sys
def rows(name):
    return json.load(open(name))["rows"]
lists = {row["cache"]: row["live_objects"] for row in rows("lists.json")}
found = [(row["cache"], row["allocs"], row["live_objects"] - lists.get(row["cache"], 0)) for row in rows("churn.json") if row["allocs"] > 1000]
bad = [cache for cache, allocs, live in found if live > max(20, allocs / 100)]
print(found)
sys.exit(len(found) < 8 or len(bad) > 0)
END
}
check "nothing lives of what was closed" nothing_is_left
all_are_left() { # FUNCTION KIND
	python3 - "$@" <<'END'
import json, sys
function, kind = sys.argv[1:]
live = sum(row["live_objects"] for row in json.load(open(kind + ".json"))["rows"] if row["function"] == function)
print(live)
sys.exit(not 4950 <= live <= 5050)
END
}
check "all of the events that are kept" all_are_left do_eventfd eventfd
check "all of the timers" all_are_left __do_sys_timerfd_create timerfd
check "all of the epolls" all_are_left do_epoll_create epoll
done_testing
