#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Starts every level and kills it, KILLS times (10,000), at any moment of its start: nothing may stay attached. Counts BPF
# programs by their names before and after.
. "$(dirname "$0")/lib.sh"

kills=${KILLS:-10000}
programs() {
	bpftool prog show 2>/dev/null | grep -cE 'name (page_made|slab_made|on_kmalloc|on_kfree|on_cache_alloc|on_cache_free)' || :
}
before=$(programs)
levels=(growth sampled exact)
for i in $(seq "$kills"); do
	"$kmemscope" top --level "${levels[i % 3]}" --count 100 --interval 100ms >/dev/null 2>&1 &
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null || :
done
sleep 1
row "programs of ours before $kills starts and kills" "$before"
row "and after" "$(programs)" "$before"
