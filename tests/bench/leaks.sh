#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# How good the list of leaks is: leaks.sh BUILD_DIR [SECONDS]. Plants one leak at a time into the running kernel, amid
# what a compiler and walks over files do, and beside it a program that makes objects of another kind and closes
# them. Prints at which place each leak is, how many of the first five rows are of it, and what is listed though it
# was closed. KINDS, RATES (objects a second) and NOISE=no narrow it; KEEP=DIR keeps the captures, and with
# AGAIN=DIR such captures are judged again. Needs root and tracefs.
. "$(dirname "$0")/lib.sh"
plant=$(cd "$build" && pwd)/tests/plant
seconds=${2:-5}
read -ra kinds <<<"${KINDS:-eventfd timerfd epoll socket msgq file}"
read -ra rates <<<"${RATES:-10 50 200 1500}"
here=$(cd "$(dirname "$0")" && pwd)
keep=${AGAIN:-${KEEP:-$work}}
pids=()
trap '[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT

noise() {
	while :; do
		find /usr/share /usr/lib -name '*x*'
		tar cf /dev/null -C "$here" .
		cc -O1 -S -o /dev/null "$here/../lib/plant.c" -D_GNU_SOURCE
	done >/dev/null 2>&1
}

# record KIND RATE CLOSED: one capture, KEEP/KIND-RATE-SECONDS.dat. The planted program is called leak-KIND, the other
# one shut-KIND. All that they have ends with what they read from.
record() {
	local file=$keep/$1-$2-$seconds.dat recorder
	cp "$plant" "$work/leak-$1"
	cp "$plant" "$work/shut-$3"
	mkfifo "$work/hold"
	exec 9<>"$work/hold"
	"$kmemscope" record -q -o "$file" --duration 1h 9>&- &
	recorder=$!
	pids+=("$recorder")
	until [ -s "$file" ]; do
		kill -0 "$recorder"
		sleep 0.05
	done
	"$work/shut-$3" "-$3" 200 $((seconds > 22 ? 20 : seconds - 2)) <"$work/hold" >"$work/shut.out" 9>&- &
	pids+=($!)
	"$work/leak-$1" "$1" "$2" "$seconds" <"$work/hold" >"$work/leak.out" 9>&- &
	pids+=($!)
	until grep -q planted "$work/leak.out" && grep -q planted "$work/shut.out"; do
		kill -0 "${pids[-1]}"
		kill -0 "${pids[-2]}"
		sleep 0.1
	done
	kill -INT "$recorder"
	wait "$recorder" || [ $? = 130 ]
	exec 9>&-
	rm "$work/hold"
	wait "${pids[-1]}" "${pids[-2]}" || true
	unset 'pids[-1]' 'pids[-1]' 'pids[-1]'
}

if [ -z "${AGAIN:-}" ]; then
	if ! "$kmemscope" doctor >/dev/null 2>&1; then
		echo "skipped: cannot record here"
		exit 0
	fi
	# Message queues are of the whole machine, and a process may have so many files.
	queues=$(cat /proc/sys/kernel/msgmni) files=$(ulimit -Hn)
	[ "${NOISE:-}" = no ] || { noise & pids+=($!); }
	for i in "${!kinds[@]}"; do
		for rate in "${rates[@]}"; do
			limit=$([ "${kinds[i]}" = msgq ] && echo "$queues" || echo "$files")
			[ $((rate * seconds + 10)) -lt "$limit" ] || continue
			record "${kinds[i]}" "$rate" "$([ "${kinds[i]}" = socket ] && echo file || echo socket)"
			[ "$keep" != "$work" ] || "$kmemscope" leaks --json "$keep/${kinds[i]}-$rate-$seconds.dat" >"$work/${kinds[i]}-$rate-$seconds.json"
			[ "$keep" != "$work" ] || rm "$keep/${kinds[i]}-$rate-$seconds.dat"
		done
	done
fi
for file in "$keep"/*.dat; do
	[ -e "$file" ] || continue
	"$kmemscope" leaks --json "$file" >"$work/$(basename "$file" .dat).json"
done
python3 - "$work"/*.json <<'END'
import json
import os
import sys

LISTED = 0.1  # what kmemscope-leaks(1) lists without --all
SITES = {"eventfd": "do_eventfd", "timerfd": "timerfd_create", "epoll": "do_epoll_create", "socket": "sk_prot_alloc", "msgq": "newque",
         "file": "alloc_empty_file"}
firsts, of_five, shown, closed, leaks = [], 0, 0, 0, 0
print("%-22s %6s %6s %9s  %s" % ("kind-rate-seconds", "place", "site", "true of", "first five"))
for path in sys.argv[1:]:
    name = os.path.basename(path)[:-len(".json")]
    kind = name.split("-")[0]
    rows = [row for row in json.load(open(path))["sites"] if row["evidence"] >= LISTED]
    mine = [i for i, row in enumerate(rows, 1) if row["comm"] == "leak-" + kind]
    site = [i for i in mine if SITES[kind] in rows[i - 1]["site"]]
    freed = [row for row in rows if row["comm"].startswith("shut-") and row["objects"] >= 20]
    firsts.append(site[0] if site else 0)
    true = sum(i <= 5 for i in mine)
    of_five, shown, closed = of_five + true, shown + min(5, len(rows)), closed + len(freed)
    print("%-22s %6s %6s %4d of %-2d  %s" % (name, mine[0] if mine else "-", site[0] if site else "-", true, min(5, len(rows)),
          ", ".join("%s(%s) %.2f" % (row["site"].split("+")[0], row["comm"], row["evidence"]) for row in rows[:5])))
    for row in freed:
        print("   closed, and listed: %s(%s), %d objects" % (row["site"], row["comm"], row["objects"]))
print("planted site first: %d of %d; in the first three: %d of %d (aim: all)" % (
    firsts.count(1), len(firsts), sum(1 <= i <= 3 for i in firsts), len(firsts)))
print("precision of the first five: %d of %d = %.0f %% (aim: above 60 %%)" % (of_five, shown, 100 * of_five / max(shown, 1)))
print("closed and yet listed: %d rows (aim: 0)" % closed)
END
