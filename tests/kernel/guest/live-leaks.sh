# SPDX-License-Identifier: GPL-2.0-only
# Leaks of mzlive.ko: from one object of 64 bytes a second to a megabyte a second, from before watch begins and from after
# that, beside objects that end by kfree_rcu(). Each must be named within a minute, and nothing else.
L=$D/mzlive
named() { grep -q "^[0-9]* $1" /tmp/verdicts; }
now() { cut -d. -f1 /proc/uptime; }

check "mzlive.ko loads" insmod /mzlive.ko
put slow $L/run
sleep 5
kmemscope watch --exec 'echo "$(cut -d. -f1 /proc/uptime) $KMEMSCOPE_SITE $KMEMSCOPE_CACHE $KMEMSCOPE_RATE" >>/tmp/verdicts; cat >>/tmp/said' 2>/tmp/watch.err >/dev/null &
watch=$!
sleep 10
put leaks $L/run
begun=$(now)
: >>/tmp/verdicts
all_named() { named mzlive_leak_slow && named mzlive_leak_cache && named mzlive_leak_fast; }
until all_named || [ "$(now)" -gt $((begun + 150)) ] || ! kill -0 $watch; do sleep 1; done
kill -INT $watch
wait $watch
check "watch ends with 5" is $? 5
sed 's/^/# /' /tmp/verdicts
check "one object of 64 bytes a second, from before it began" named mzlive_leak_slow
check "ten objects a second of a cache" named mzlive_leak_cache
check "a megabyte a second" named mzlive_leak_fast
check "all of them within a minute" awk -v begun="$begun" '$1 > begun + 60 { bad = 1 } END { exit bad }' /tmp/verdicts
check "and nothing else" fails grep -v mzlive_leak_ /tmp/verdicts
# Whichever worker is free allocates for it.
check "each is named once" is "$(cut -d' ' -f2 /tmp/verdicts | sort | uniq -d)" ""
check "at their rates" awk '/leak_slow/ && ($NF < 40 || $NF > 90) { bad = 1 } /leak_cache/ && ($NF < 2000 || $NF > 4500) { bad = 1 }
	/leak_fast/ && ($NF < 600000 || $NF > 1500000) { bad = 1 } END { exit bad }' /tmp/verdicts
check "in words" grep -q 'bytes a second' /tmp/said
