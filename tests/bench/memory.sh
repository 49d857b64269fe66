#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Memory does not grow with the log: 50 million events through a pipe.
. "$(dirname "$0")/lib.sh"

for events in 5000000 50000000; do
	for live in 10000 1000000; do
		kb=$("$kmemgen" --events $events --live $live | rss "$kmemscope" account -)
		row "$((events / 1000000)) M events, about $live live objects: MB" "$(div "$kb" 1024 %.0f)" \
			"at most $((64 + live * 32 / 1048576 + 1))"
	done
done
