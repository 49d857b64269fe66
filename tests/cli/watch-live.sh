#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Leaks that are planted into the running kernel, ten objects a second amid what a compiler and walks over files do:
# watch must name each, with its process, and nothing else of the noise. Needs root and BPF.

has_tracefs() { grep -q ' tracefs ' /proc/self/mounts; }

# Where nobody has mounted tracefs, it is mounted for this test alone.
if ! has_tracefs && [ -z "${OWN_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare -m "$BASH" -c 'mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; exec "$0" "$@"' "$BASH" "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

"$KMEMSCOPE" watch --for 1s >try.txt 2>&1
case $? in
0 | 5) ;;
*)
	skip "planted leaks" "$(head -1 try.txt)"
	done_testing
	;;
esac

for name in leak-epoll leak-socket leak-timerfd leak-msgq churn; do
	cp "$PLANT" "$name" || bail "$PLANT was not built"
done

fails() {
	! "$@"
}

pids=
cleanup() {
	[ -z "$pids" ] || kill $pids 2>/dev/null
}

# Timers that are closed again at once end by kfree_rcu(), which raises no event.
noise() {
	while :; do
		find /usr/share -name '*x*'
		cc -O1 -S -o /dev/null "$tests/lib/plant.c" -D_GNU_SOURCE
		./churn -timerfd 500 1 </dev/null
	done >/dev/null 2>&1
}

# A look that ends with nobody: what was recorded of it goes.
records_for_nothing() {
	local pid
	echo earlier >nothing.dat
	"$KMEMSCOPE" watch --capture-on-suspect nothing.dat >/dev/null &
	pid=$!
	until [ -s nothing.dat.part ] || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
	kill -INT $pid
	wait $pid && [ "$(cat nothing.dat)" = earlier ] && [ ! -e nothing.dat.part ]
}
if has_tracefs; then
	check "what was recorded without a suspicion is dropped" records_for_nothing
	capture="--capture-on-suspect caught.dat"
else
	skip "what was recorded without a suspicion is dropped" "no tracefs"
	capture=
fi

without_tracefs() {
	unshare -m bash -c 'for dir in $(awk "\$3 == \"tracefs\" { print \$2 }" /proc/self/mounts); do umount "$dir" || exit 9; done
		"$0" watch --for 1s --capture-on-suspect nothing.dat' "$KMEMSCOPE"
}
if unshare -m true 2>/dev/null; then
	check "a recording that could never be made is refused at once" ends_saying 1 'mount -t tracefs' without_tracefs
else
	skip "a recording that could never be made is refused at once" "mount namespaces are not permitted"
fi

mkfifo hold
exec 9<>hold
noise &
pids="$pids $!"
for kind in epoll socket timerfd msgq; do
	./leak-$kind $kind 10 300 <hold >/dev/null &
	pids="$pids $!"
done

# Prints process, site, type and objects a second of each suspect.
suspects() {
	python3 - "$1" <<-'EOF'
		import json, sys
		for s in json.load(open(sys.argv[1]))["suspects"]:
		    rate = round(s["bytes_per_second"] / s["size"], 1)
		    print(s.get("process", "-"), s["site"], s.get("type", "-"), rate, sep="\t")
	EOF
}

# found KIND SITE: the process, where it allocates, and its ten objects a second, which a busy machine may not grant.
found() {
	awk -F'\t' -v p="leak-$1[" -v s="$2" 'index($1, p) == 1 && index($2, s) && $4 > 5 && $4 < 15 { n++ }
		END { exit !n }' found.txt || { cat found.txt; return 1; }
}

# It takes a minute; on a loaded machine, some. It is ended when all of them were found.
# shellcheck disable=SC2086 # two words, or none
"$KMEMSCOPE" watch --for 6m --json $capture --exec 'cat >>said.txt; echo "$KMEMSCOPE_PROCESS $KMEMSCOPE_SITE" >>hooks.txt' >watch.json &
watch=$!
hooked() {
	grep -qs '^leak-epoll.*do_epoll_create' hooks.txt && grep -qs '^leak-socket.*sk_prot_alloc' hooks.txt &&
		grep -qs '^leak-timerfd.*timerfd_create' hooks.txt && grep -qs '^leak-msgq.*newque' hooks.txt
}
until hooked || ! kill -0 $watch 2>/dev/null; do sleep 0.5; done
kill -INT $watch 2>/dev/null
wait $watch
code=$?
suspects watch.json >found.txt
check "it ends with 5" test "$code" = 5
check "epolls" found epoll do_epoll_create
check "sockets" found socket sk_prot_alloc
check "timers" found timerfd timerfd_create
check "message queues" found msgq newque
check "sockets are of their type" grep -q 'leak-socket.*unix_sock' found.txt
# Somebody else's leak, planted by a test of another tree at the same time, has the same name.
check "and nothing else" fails grep -v '^leak-' found.txt
check "and who holds them is said" python3 - watch.json <<-'EOF'
	import json, sys
	rows = [s for s in json.load(open(sys.argv[1]))["suspects"] if s["process"].startswith("leak-socket[")]
	# Each has a struct socket.
	assert "socket" in rows[0]["holders"], rows[0]["holders"]
	assert rows[0]["objects_held"] >= rows[0]["objects"] / 2, rows[0]
EOF
check_recording() {
	# A watch that is ended ends its recording, too: what there is of it is a whole capture.
	check "there is a recording of the suspicion" "$KMEMSCOPE" check caught.dat
	"$KMEMSCOPE" report --by comm --csv caught.dat >caught.csv 2>/dev/null
	check "of the program that leaks" grep -q '^leak-' caught.csv
	check "and of what was before it: of the whole look" python3 - "$KMEMSCOPE" <<-'EOF'
		import json, subprocess, sys
		info = json.loads(subprocess.run([sys.argv[1], "info", "--json", "caught.dat"], check=True, capture_output=True).stdout)
		# Verdicts come four seconds after the look of twenty, and the watch was ended by one of them.
		seconds = (info["last_ts"] - info["first_ts"]) / 1e9
		assert seconds > 15, seconds
	EOF
	check "nothing is left of recordings that were dropped" test ! -e caught.dat.part
	check "nobody else may read it" test "$(stat -c %a caught.dat)" = 600
}
if has_tracefs; then
	check_recording
else
	skip "a recording of the suspicion" "no tracefs"
fi
check "the hook was run" grep -q leak- hooks.txt
check "and got the text" grep -q 'bytes a second' said.txt
done_testing
