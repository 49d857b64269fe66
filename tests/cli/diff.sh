#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Differences between two captures, compared with the expected results of the generator.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"

"$KMEMGEN" --events 30000 --sites 40 --seed 1 --clean --site-answers a.sites --answers a.answers >a.log
"$KMEMGEN" --events 60000 --sites 60 --seed 2 --clean --site-answers b.sites --answers b.answers >b.log

# Rows "site change before after": the generator's rows are "total waste net allocs/frees site".
expect() { # COLUMN
	awk -v column="$1" 'function v() { split($4, n, "/"); return column == "allocs" ? n[1] : $column }
		{ site = NF > 5 ? $5 " " $6 : $5 } # a module
		FNR == NR { a[site] = v(); next }
		{ b[site] = v() }
		END {
			for (s in a) print s, (!(s in b) || (a[s] && !b[s]) ? "gone" : !a[s] && b[s] ? "new" : a[s] < b[s] ? "grown" : a[s] > b[s] ? "shrunk" : "same"), a[s] + 0, b[s] + 0
			for (s in b) if (!(s in a)) print s, "new", 0, b[s] + 0
		}' a.sites b.sites | sort
}
rows() { # OPTION...
	must "$KMEMSCOPE" diff --csv "$@" a.log b.log | tail -n +2 | awk -F, '{ print $1, $2, $3, $4 }' | sort
}
for pair in live:3 waste:2 total:1 allocs:allocs; do
	expect "${pair#*:}" >want
	rows --measure "${pair%:*}" >got
	check "${pair%:*} of every site is what the generator says" same want got
done
check "there are sites of every kind in it" [ "$(rows | awk '$2 != "same" { print $2 }' | sort -u | wc -l)" -ge 3 ]

must "$KMEMSCOPE" diff --csv a.log b.log | tail -n +2 | cut -d, -f5 | tr -d + | sed 's/^-//' >deltas
sort -rn deltas >want
check "the largest change comes first" same want deltas
check "delta is after minus before" bash -c "must \"\$0\" diff --csv a.log b.log | awk -F, 'NR > 1 && \$5 + 0 != \$4 - \$3 { exit 1 }'" "$KMEMSCOPE"

json() { # PROGRAM OPTION...
	local program=$1
	shift
	must "$KMEMSCOPE" diff --json "$@" a.log b.log | python3 -c "import json, sys; d = json.load(sys.stdin); $program"
}
answer() { # FILE NAME
	awk -v name="$2" '$1 == name { print $2 }' "$1"
}
check "the totals of both" [ "$(json 'print(d["total"]["before"], d["total"]["after"])')" = "$(answer a.answers live_bytes) $(answer b.answers live_bytes)" ]
check "every row is counted by its kind" json 'sys.exit(sum(d["changes"].values()) != len(d["rows"]))'
check "a row without a first side is new" json 'sys.exit(any("a" not in r and r["change"] != "new" for r in d["rows"]))'
check "a row without bytes before is new" json 'sys.exit(any(r["before"] == 0 < r["after"] and r["change"] != "new" for r in d["rows"]))'
check "by function" json 'sys.exit(not all("+0x" not in r["function"] for r in d["rows"]))' --by function
check "by cache" json 'sys.exit(len(d["rows"]) < 5)' --by cache
check "by module" json 'sys.exit(len(d["rows"]) < 1)' --by module
check "--top" json 'sys.exit(len(d["rows"]) != 3)' --top 3

# Normalised: a log against itself twice over is the same.
end=$(tail -1 a.log | sed -E 's/.* ([0-9]+\.[0-9]+): k.*/\1/')
awk -v end="$end" '{ print } /: k/ { line[++n] = $0 } END { for (i = 1; i <= n; i++) { match(line[i], / [0-9]+\.[0-9]+: k/); t = substr(line[i], RSTART + 1, RLENGTH - 4) + 0; l = line[i]; sub(/ptr=ffff8/, "ptr=ffff9", l); printf "%s %.6f%s\n", substr(l, 1, RSTART - 1), t + end - 100, substr(l, RSTART + RLENGTH - 3) } }' a.log >twice.log
check "by events, a log and the same twice are the same" bash -c 'must "$0" diff --csv --measure total --normalize events a.log twice.log | tail -n +2 | cut -d, -f2 | grep -qxv same && exit 1; [ "$(must "$0" diff --csv a.log twice.log | wc -l)" -gt 30 ]' "$KMEMSCOPE"
check "without it, twice as much" bash -c 'must "$0" diff --csv --measure total a.log twice.log | awk -F, "NR > 1 && \$4 != 2 * \$3 { exit 1 }"' "$KMEMSCOPE"
span() {
	must "$KMEMSCOPE" info --json "$1" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["last_ts"] - d["first_ts"])'
}
a=$(span a.log) b=$(span b.log)
check "by time, before is scaled by the spans" bash -c 'must "$0" diff --csv --normalize time a.log b.log | awk -F, -v a='"$a"' -v b='"$b"' "NR > 1 { w = \$6 * b / a; if (\$3 - w > 0.51 || w - \$3 > 0.51) exit 1 }"' "$KMEMSCOPE"

# A planted leak is named first.
cp b.log leaky.log
time_at_end=$(tail -1 b.log | sed -E 's/.* ([0-9]+\.[0-9]+): k.*/\1/')
for i in $(seq 2000); do
	printf ' leak-7 [000] .... %s: kmalloc: call_site=leaky_open+0x20/0x90 ptr=ffffa%011x bytes_req=4000 bytes_alloc=4096 gfp_flags=GFP_KERNEL\n' "$time_at_end" $((i * 4096))
done >>leaky.log
check "a planted leak is first" says '^ +\+8192000 +0 +8192000 +- +new +leaky_open\+0x20$' bash -c 'must "$0" diff --bytes b.log leaky.log | sed -n 2p' "$KMEMSCOPE"
check "and nothing else changed" [ "$(must "$KMEMSCOPE" diff --csv b.log leaky.log | tail -n +2 | grep -vc ,same,)" = 1 ]
must "$KMEMSCOPE" import -o b.ksdb b.log >/dev/null
must "$KMEMSCOPE" diff --csv a.log b.log >want
must "$KMEMSCOPE" diff --csv a.log b.ksdb >got
check "a DB compares like its log" same want got
must "$KMEMSCOPE" diff --csv a.log - <b.log >got
check "standard input" same want got

check "with units" says '^ +\+7.8 MiB +0 B +7.8 MiB +- +new +leaky_open\+0x20$' "$KMEMSCOPE" diff b.log leaky.log
check "in Markdown" says '^\| \+7.8 MiB \| 0 B \| 7.8 MiB \| - \| new \| leaky\\_open\+0x20 \|$' "$KMEMSCOPE" diff --markdown b.log leaky.log
check "what did not change is left out" [ "$(must "$KMEMSCOPE" diff b.log leaky.log | grep -c '+0x')" = 1 ]
check "and said" says '^60 rows that did not change are left out' "$KMEMSCOPE" diff b.log leaky.log
check "nothing of a capture against itself is left" [ "$(must "$KMEMSCOPE" diff b.log b.log | grep -c '+0x')" = 0 ]
check "--verbose has all" [ "$(must "$KMEMSCOPE" diff -v b.log b.log | grep -c '+0x')" = 60 ]

# Several captures a side. Bytes that live, by capture: steady 100 each; noisy 5000, 9000, 7000 against 8000, 6000,
# 9500; moved 4096 a capture against 8192; gone 64 against nothing.
side() { # FILE NOISY MOVED GONE
	{
		echo " x-1 [000] .... 1.000001: kmalloc: call_site=steady+0x1/0x9 ptr=00000000a2000001 bytes_req=100 bytes_alloc=100 gfp_flags=GFP_KERNEL"
		echo " x-1 [000] .... 1.000002: kmalloc: call_site=noisy+0x1/0x9 ptr=00000000a2000002 bytes_req=$2 bytes_alloc=$2 gfp_flags=GFP_KERNEL"
		echo " x-1 [000] .... 1.000003: kmalloc: call_site=moved+0x1/0x9 ptr=00000000a2000003 bytes_req=$3 bytes_alloc=$3 gfp_flags=GFP_KERNEL"
		[ "$4" = 0 ] || echo " x-1 [000] .... 1.000004: kmalloc: call_site=gone+0x1/0x9 ptr=00000000a2000004 bytes_req=$4 bytes_alloc=$4 gfp_flags=GFP_KERNEL"
	} >"$1"
}
side a1 5000 4096 64; side a2 9000 4097 64; side a3 7000 4095 64
side b1 8000 8192 0; side b2 6000 8193 0; side b3 9500 8191 0
sides=(--before a1 --before a2 --before a3 --after b1 --after b2 --after b3)
must "$KMEMSCOPE" diff --json "${sides[@]}" >sides.json
check "signal and noise, means, and order" python3 -c '
import json, math, statistics, sys
d = json.load(open("sides.json"))
rows = {r["site"].split("+")[0]: r for r in d["rows"]}
assert [r["signal"] for r in d["rows"]] == [True, True, False, False], d["rows"]
assert rows["moved"]["signal"] and rows["gone"]["signal"] and rows["gone"]["change"] == "gone"
assert (rows["noisy"]["before"], rows["noisy"]["after"]) == (7000, 7833)
# By hand: pooled variance, and t of 4 degrees of freedom at 1 %.
a, b = [5000, 9000, 7000], [8000, 6000, 9500]
pooled = (statistics.variance(a) * 2 + statistics.variance(b) * 2) / 4
assert abs(rows["noisy"]["noise"] - 4.604 * math.sqrt(pooled * 2 / 3)) < 20, rows["noisy"]
assert rows["steady"]["noise"] == 0 and rows["steady"]["change"] == "same"
assert d["signals"] == 2 and d["captures_before"] == 3'
check "a change within the noise is left out" [ "$(must "$KMEMSCOPE" diff "${sides[@]}" | grep -c -E 'noisy|steady')" = 0 ]
check "what is more is there" says 'shrunk|grown +moved' "$KMEMSCOPE" diff "${sides[@]}"
check "and how sure it is" says '2 changed by more than noise' "$KMEMSCOPE" diff "${sides[@]}"
check "one side alone" fails_saying 2 'give both' "$KMEMSCOPE" diff --before a1
check "sides and operands" fails_saying 2 'is it --before or --after' "$KMEMSCOPE" diff --before a1 --after b1 b2

check "one file" fails_saying 2 'give two captures' "$KMEMSCOPE" diff a.log
check "standard input twice" fails_saying 2 'only one' "$KMEMSCOPE" diff - -
check "an unknown measure" fails_saying 2 "measure 'x': choose live" "$KMEMSCOPE" diff --measure x a.log b.log
check "an unknown normalisation" fails_saying 2 "normalize 'x': choose none, time or events" "$KMEMSCOPE" diff --normalize x a.log b.log
grep -m1 ': kmalloc' a.log >one.log
check "no time to normalise by" fails_saying 3 'covers no time' "$KMEMSCOPE" diff --normalize time one.log b.log
"$KMEMGEN" --events 3000 --seed 4 >lossy.log
check "--strict checks the second capture too" fails_saying 4 'lost events' "$KMEMSCOPE" diff --strict a.log lossy.log
done_testing
