#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Leaks that are planted into the running kernel, amid what a compiler and walks over files do. Needs root and
# tracefs.
. "$(dirname "$0")/lib.sh"

if ! "$KMEMSCOPE" doctor >doctor.txt 2>&1; then
	skip "planted leaks" "$(grep MISSING doctor.txt | head -1 | tr -s ' ')"
	done_testing
fi

# Each leak has a program of its own, and so a name. "shut" closes all that it has opened.
for name in leak-eventfd leak-epoll leak-msgq shut-socket; do
	cp "$PLANT" "$name" || bail "$PLANT was not built"
done

pids=
cleanup() {
	[ -z "$pids" ] || kill $pids 2>/dev/null
}

noise() {
	while :; do
		find /usr/share /usr/lib -name '*x*'
		tar cf /dev/null -C "$tests" .
		cc -O1 -S -o /dev/null "$tests/lib/plant.c" -D_GNU_SOURCE
	done >/dev/null 2>&1
}

# Starts one, whose end is the end of the file that it reads.
plant() {
	"./$1" "$2" "$3" "$4" <hold >"$1.out" &
	pids="$pids $!"
}

mkfifo hold
exec 9<>hold
noise &
pids="$pids $!"
"$KMEMSCOPE" record -q -o leaks.dat --duration 1h &
recorder=$!
until [ -s leaks.dat ]; do
	kill -0 $recorder 2>/dev/null || break
	sleep 0.05
done
plant leak-eventfd eventfd 50 4
plant leak-epoll epoll 20 4
plant leak-msgq msgq 10 4
plant shut-socket -socket 300 3
for name in leak-eventfd leak-epoll leak-msgq shut-socket; do
	until grep -qs planted $name.out || ! kill -0 $recorder 2>/dev/null; do
		sleep 0.05
	done
done
kill -INT $recorder
wait $recorder
check "it is recorded" [ $? = 130 ]
kill $pids 2>/dev/null
wait
pids=

must "$KMEMSCOPE" leaks --json leaks.dat >leaks.json
must "$KMEMSCOPE" leaks --all leaks.dat >leaks.txt

# rank TABLE FUNCTION COMM: where the site of a function is, from 1 on; 0 = nowhere. Rows of a COMM count once.
rank() {
	python3 - "$@" <<'END'
import json, sys
table, function, comm = sys.argv[1:]
seen, rank = [], 0
for row in json.load(open("leaks.json"))[table]:
    if row["comm"] not in seen:
        seen.append(row["comm"])
    if row["site"].split("+")[0] == function and row["comm"] == comm:
        rank = seen.index(comm) + 1
        break
print(rank)
END
}

# Three leaks have the first three places.
for leak in do_eventfd:leak-eventfd do_epoll_create:leak-epoll newque:leak-msgq; do
	check "${leak#*:} is among the first three" [ "$(rank sites "${leak%:*}" "${leak#*:}")" -ge 1 -a "$(rank sites "${leak%:*}" "${leak#*:}")" -le 3 ]
done
check "what was closed is not listed" equal "$(rank sites sk_prot_alloc shut-socket)" 0
check "the page cache is listed apart" equal "$(rank sites ext4_alloc_inode find)" 0
check "what speaks most for a leak is called one" says '"verdict": "(likely|possible)"' head -40 leaks.json
must "$KMEMSCOPE" import -o leaks.db leaks.dat >/dev/null
must "$KMEMSCOPE" leaks --json leaks.db >db.json
check "a DB has the same verdicts" cmp leaks.json db.json
must "$KMEMSCOPE" report --by cache --json leaks.dat >caches.json
check "no cache has more live objects than the kernel" python3 - caches.json <<'END'
import json, sys
doc = json.load(open(sys.argv[1]))
counted = [row for row in doc["rows"] if "kernel_objects" in row and row["live_objects"]]
bad = [row["cache"] for row in counted if row["live_objects"] > row["kernel_objects"]]
print(len(counted), bad)
sys.exit(0 if counted and not bad else 1)
END
check "text names the process" says 'leak-msgq [0-9]+ +newque' cat leaks.txt
done_testing
