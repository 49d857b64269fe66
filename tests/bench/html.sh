#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The HTML report of DBs of 10 million events, and the time of its frames in a browser while a range is dragged.
. "$(dirname "$0")/lib.sh"

make_db() { # NAME OPTION...
	"$kmemgen" --events 10000000 "${@:2}" | "$kmemscope" import -o "$work/$1" - >/dev/null
}
make_db few --sites 300
make_db many --sites 5000 --live 1000000
for i in $(seq "$runs"); do
	for db in few many; do
		cpu "$kmemscope" html -o "$work/report.html" "$work/$db" >>"$work/$db.cpu"
	done
done
for db in few many; do
	row "$db sites, s of CPU" "$(median <"$work/$db.cpu")" "below 3"
	row "$db sites, memory, MB" "$(div "$(rss "$kmemscope" html -o "$work/report.html" "$work/$db")" 1024 %.0f)" "below 200"
done
"$(dirname "$0")/frames.py" "$kmemscope" "$kmemgen" "$work/report.html" || true
