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
			for (s in a) print s, (!(s in b) ? "gone" : a[s] < b[s] ? "grown" : a[s] > b[s] ? "shrunk" : "same"), a[s] + 0, b[s] + 0
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
check "a new row has no first side" json 'sys.exit(any(("a" in r) == (r["change"] == "new") for r in d["rows"]))'
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
check "a planted leak is first" says '^ +\+8192000 +0 +8192000 +- +new +leaky_open\+0x20$' bash -c 'must "$0" diff b.log leaky.log | sed -n 2p' "$KMEMSCOPE"
check "and nothing else changed" [ "$(must "$KMEMSCOPE" diff --csv b.log leaky.log | tail -n +2 | grep -vc ,same,)" = 1 ]
must "$KMEMSCOPE" import -o b.ksdb b.log >/dev/null
must "$KMEMSCOPE" diff --csv a.log b.log >want
must "$KMEMSCOPE" diff --csv a.log b.ksdb >got
check "a DB compares like its log" same want got
must "$KMEMSCOPE" diff --csv a.log - <b.log >got
check "standard input" same want got

check "one file" fails_saying 2 'give two captures' "$KMEMSCOPE" diff a.log
check "standard input twice" fails_saying 2 'only one' "$KMEMSCOPE" diff - -
check "an unknown measure" fails_saying 2 "measure 'x': choose live" "$KMEMSCOPE" diff --measure x a.log b.log
check "an unknown normalisation" fails_saying 2 "normalize 'x': choose none, time or events" "$KMEMSCOPE" diff --normalize x a.log b.log
grep -m1 ': kmalloc' a.log >one.log
check "no time to normalise by" fails_saying 3 'covers no time' "$KMEMSCOPE" diff --normalize time one.log b.log
"$KMEMGEN" --events 3000 --seed 4 >lossy.log
check "--strict checks the second capture too" fails_saying 4 'lost events' "$KMEMSCOPE" diff --strict a.log lossy.log
done_testing
