#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# DB files of 20 million events: the stored account, filtered reports, size.
# OLD=PROGRAM: another kmemscope, an older one say, is measured in turn with this one, on a DB of its own.
. "$(dirname "$0")/lib.sh"

# make_db PROGRAM FILE
make_db() {
	"$kmemgen" --events "${EVENTS:-20000000}" --era 3 --live 50000 | "$1" import -o "$2" - >/dev/null
}

make_db "$kmemscope" "$work/db"
[ -z "${OLD:-}" ] || make_db "$OLD" "$work/old-db"
events=$("$kmemscope" info --json "$work/db" | awk -F'[ ,:]+' '/"events_total"/ { print $3 }')
for i in $(seq "$runs"); do
	wall "$kmemscope" account "$work/db" >>"$work/ready"
	cpu "$kmemscope" account --malloc "$work/db" >>"$work/malloc"
	[ -z "${OLD:-}" ] || cpu "$OLD" account --malloc "$work/old-db" >>"$work/old-malloc"
	cpu "$kmemscope" report --by pid "$work/db" >>"$work/pid"
	cpu "$kmemscope" account --since +2 --until +3 "$work/db" >>"$work/window"
done
echo "DB of $events generated events, medians of $runs"
row "account without a filter, s" "$(median <"$work/ready")" "under 0.1"
row "account --malloc, million generated events a second and core" "$(div "$(div "$events" "$(median <"$work/malloc")")" 1000000 %.0f)" "at least 50"
[ ! -s "$work/old-malloc" ] || row "  the old program, and the ratio" "$(
	div "$(div "$events" "$(median <"$work/old-malloc")")" 1000000 %.0f) $(
	div "$(median <"$work/old-malloc")" "$(median <"$work/malloc")")" "ratio at least 1.09"
row "report --by pid, million events a second and core" "$(div "$(div "$events" "$(median <"$work/pid")")" 1000000 %.0f)"
row "account of a window of a second, s" "$(median <"$work/window")"
row "bytes an event, made-up log" "$(div "$(stat -c %s "$work/db")" "$events")"
row "memory of a filtered question, MB" "$(div "$(rss "$kmemscope" account --malloc "$work/db")" 1024 %.0f)"

# The DB of a real capture, if this kernel may be traced.
instance=/sys/kernel/tracing/instances/kmemscope-bench-$$
if mkdir "$instance" 2>/dev/null; then
	trap 'echo 0 >"$instance/events/enable"; rmdir "$instance"; rm -rf "$work"' EXIT
	echo 131072 >"$instance/buffer_size_kb"
	echo 0 >"$instance/options/hash-ptr"
	for event in kmalloc kfree kmem_cache_alloc kmem_cache_free mm_page_alloc mm_page_free; do
		echo 1 >"$instance/events/kmem/$event/enable"
	done
	find / -xdev -type f -newer /etc/hostname >/dev/null 2>&1 || true
	for i in $(seq 60); do bash -c 'ls -l /usr/bin /etc | sort' >/dev/null; done
	echo 0 >"$instance/tracing_on"
	cat "$instance/trace" >"$work/log"
	"$kmemscope" import -o "$work/real" "$work/log" >/dev/null
	events=$("$kmemscope" info --json "$work/real" | awk -F'[ ,:]+' '/"events_total"/ { print $3 }')
	for i in $(seq "$runs"); do cpu "$kmemscope" account --malloc "$work/real" >>"$work/real-malloc"; done
	row "account --malloc on $events events of this kernel, million/s/core" "$(div "$(div "$events" "$(median <"$work/real-malloc")")" 1000000 %.0f)" "at least 50"
	row "bytes an event, $events events of this kernel" "$(div "$(stat -c %s "$work/real")" "$events")" "at most 8"
else
	echo "no private tracefs instance here: the size of a real capture is not measured"
fi
