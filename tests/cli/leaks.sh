#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope leaks of logs that are made here: what is listed, and how sure the numbers are.
. "$(dirname "$0")/lib.sh"

# log LOSES AGAIN: 120 objects of leaky() that stay, each with one of busy() that is freed, and one of idle() at the
# beginning. With AGAIN, an object of leaky()'s cache is allocated twice at one address: its end was not seen.
log() {
	python3 - "$@" <<'END'
import sys
loses, again = (word == "yes" for word in sys.argv[1:])
def event(task, ms, what, site, ptr, rest=""):
    print(f" {task}-7 [000] ..... 5.{ms:03}000: {what}: call_site={site}+0x1/0x9 ptr=0x{0xffff888000000000 + ptr * 4096:x}{rest}")
made = " name=things bytes_req=60 bytes_alloc=64 gfp_flags=GFP_KERNEL"
for i in range(8):
    event("idled", 0, "kmem_cache_alloc", "idle", 5000 + i * 16, made)
for i in range(120):
    ms = 1 + i * 7
    event("leakyd", ms, "kmem_cache_alloc", "leaky", 16 * (i + 1), made)
    event("busyd", ms, "kmem_cache_alloc", "busy", 16 * 9000, made)
    event("busyd", ms, "kmem_cache_free", "busy", 16 * 9000, " name=things")
    if loses and i == 60:
        print("CPU:0 [LOST 9 EVENTS]")
if again:
    for ms in (850, 990):
        event("busyd", ms, "kmem_cache_alloc", "other", 16 * 9500, made)
event("busyd", 999, "kmem_cache_free", "busy", 16 * 9900, " name=things")
END
}
# lacks PATTERN ARGUMENT...: the program's output has no such line.
lacks() {
	must "$KMEMSCOPE" "${@:2}" >lacks.txt && ! grep -E "$1" lacks.txt
}

log no no >clean.log
log no yes >again.log
log yes no >lost.log

# cells FILE: objects, least and most of leaky(); "-" where there is none.
cells() {
	must "$KMEMSCOPE" leaks --json "$1" | python3 -c 'import json, sys
row = [r for r in json.load(sys.stdin)["sites"] if r["site"].startswith("leaky")][0]
print(*(row.get(name, "-") for name in ("objects", "objects_least", "objects_most", "bytes_least", "bytes_most")))'
}

check "nothing was unseen: no interval" equal "$(cells clean.log)" "120 - - - -"
check "what ends unseen leaves an interval" equal "$(cells again.log)" "120 0 120 0 7680"
check "where events were lost, there is no upper end" equal "$(cells lost.log)" "120 0 - 0 -"
check "text without an interval" says ' 120 .*leaky\+0x1$' "$KMEMSCOPE" leaks clean.log
check "text with an interval" says ' 0-120 .*leaky\+0x1$' "$KMEMSCOPE" leaks again.log
check "text of a capture that lost events" says ' 120\? .*leaky\+0x1$' "$KMEMSCOPE" leaks lost.log
check "what does not grow is not listed" lacks 'idle\+0x1' leaks clean.log
check "but counted" says 'and 1 more, for which hardly anything speaks: --all' "$KMEMSCOPE" leaks clean.log
check "and listed on demand" says 'unlikely .*idle\+0x1' "$KMEMSCOPE" leaks --all clean.log
grep -v leakyd clean.log >calm.log
check "a capture without a leak" says '^nothing looks like a leak: --all lists what is live' "$KMEMSCOPE" leaks calm.log
sed 's/name=things/name=dentry/' clean.log >kept.log
check "what the kernel gives back has a heading" says '^rarely a leak, since' "$KMEMSCOPE" leaks kept.log
check "and is no likely leak, however steadily it grows" says '^ +9[0-9]% kept .* leakyd ' "$KMEMSCOPE" leaks kept.log
check "and no heading where nothing grows" lacks '^rarely a leak|idle\+0x1' leaks <(grep -v leakyd kept.log)
check "what does not grow there is listed on demand, too" says 'kept .*idle\+0x1' "$KMEMSCOPE" leaks --all kept.log
check "JSON has all sites" says '"site": "idle\+0x1"' "$KMEMSCOPE" leaks --json clean.log
check "cgroups are not known" says 'no objects of that cgroup: the capture does not say which cgroups' "$KMEMSCOPE" leaks --cgroup a clean.log

# What certainly lived: of the two objects at one address the first ended somewhere in between.
must "$KMEMSCOPE" timeline --json again.log >timeline.json
check "memory over time has a band" python3 - again.log timeline.json <<'END'
import json, re, sys
doc = json.load(open(sys.argv[2]))
first = doc["buckets"][0]["ts"]
times = [int(s) * 10**9 + int(u) * 1000 for s, u in re.findall(r"(\d+)\.(\d+): .*call_site=other", open(sys.argv[1]).read())]
unsure = [b["live_bytes"] - b["live_least"] for b in doc["buckets"]]
want = [64 if (times[0] - first) // doc["width"] <= i < (times[1] - first) // doc["width"] else 0 for i in range(len(unsure))]
print(unsure, want)
sys.exit(unsure != want or 64 not in want)
END
check "and none where all ends were seen" lacks live_least timeline --json clean.log
done_testing
