#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Recording: its cost for the traced workload, compared in interleaved runs with a bare splice reader and perf
# record; bytes per event; losses at full speed. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"
load=$(cd "$build" && pwd)/tests/bench-load
splice=$(cd "$build" && pwd)/tests/bench-splice
if ! "$kmemscope" doctor >/dev/null 2>&1; then
	echo "skipped: cannot record here"
	exit 0
fi
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/self/mounts)
instance=$tracefs/instances/ks-bench-$$
threads=$(nproc)
iterations=${ITERATIONS:-20000}
trap 'rmdir "$instance" 2>/dev/null || true; rm -rf "$work"' EXIT

untraced() {
	"$load" "$threads" "$iterations" "$work"
}

# around START_COMMAND...: the workload's CPU time while a recorder runs.
around() {
	setsid "$@" >/dev/null 2>"$work/recorder" &
	local pid=$!
	sleep 0.7
	"$load" "$threads" "$iterations" "$work"
	kill -INT "$pid" 2>/dev/null || true
	wait "$pid" || true
}

bare() {
	local event
	mkdir "$instance"
	echo 8192 >"$instance/buffer_size_kb"
	for event in kmalloc kfree kmem_cache_alloc kmem_cache_free mm_page_alloc mm_page_free; do
		echo 1 >"$instance/events/kmem/$event/enable"
	done
	around "$splice" "$instance" "$work/pages"
	echo 0 >"$instance/tracing_on"
	sleep 0.2
	rmdir "$instance"
	rm -f "$work"/pages.*
}

events="-e kmem:kmalloc -e kmem:kfree -e kmem:kmem_cache_alloc -e kmem:kmem_cache_free -e kmem:mm_page_alloc -e kmem:mm_page_free"
for i in $(seq "$runs"); do
	untraced >>"$work/none"
	around "$kmemscope" record -o "$work/ours.dat" >>"$work/ours"
	bare >>"$work/bare"
	# shellcheck disable=SC2086
	! command -v perf >/dev/null || around perf record -a -R -c 1 $events -o "$work/perf.data" >>"$work/perf"
	"$kmemscope" check --json "$work/ours.dat" >"$work/check.json" || true
	sed -n 's/^   "lost": \([0-9]*\),*/\1/p' "$work/check.json" | head -1 >>"$work/lost"
done
none=$(median <"$work/none") ours=$(median <"$work/ours") bare=$(median <"$work/bare")
total=$("$kmemscope" info --json "$work/ours.dat" |
	sed -n -e 's/.*"events_total": \([0-9]*\).*/\1/p' -e 's/.*"self_events": \([0-9]*\).*/\1/p' |
	awk '{ sum += $1 } END { print sum }')
seconds=$("$kmemscope" info --json "$work/ours.dat" |
	sed -n -e 's/.*"first_ts": \([0-9]*\).*/\1/p' -e 's/.*"last_ts": \([0-9]*\).*/\1/p' | head -2 |
	awk 'NR == 1 { a = $1 } NR == 2 { print ($1 - a) / 1e9 }')
size=$(stat -c %s "$work/ours.dat")
echo "$threads threads, $iterations iterations each, medians of $runs"
row "workload alone, CPU s" "$none"
row "with kmemscope record" "$ours"
row "with a bare splice reader" "$bare"
row "kmemscope against the bare reader" "$(div "$ours" "$bare")" "at most 1.05"
if [ -s "$work/perf" ]; then
	perf=$(median <"$work/perf")
	row "with perf record" "$perf"
	row "cost added, as a part of perf's" \
		"$(awk -v o="$ours" -v p="$perf" -v n="$none" 'BEGIN { printf "%.2f", (o - n) / (p - n) }')" "at most 0.5"
fi
row "events" "$total"
row "events a second, with the time around the workload" "$(div "$total" "$seconds" %.0f)"
row "bytes an event on disk" "$(div "$size" "$total")" "at most 6"
row "events lost in all runs" "$(awk '{ sum += $1 } END { print sum }' "$work/lost")" "0"
