#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The account, compared with the expected results of the generator for logs of every kernel era, and with awk.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"

# The rows of an account file, blanks squeezed, sorted.
rows() {
	sed -n '/^-----/,/^$/p' "$1" | grep -v -e '^---' -e '^$' | awk '{ $1 = $1; print }' | sort
}

head_value() { # FILE LABEL
	awk -F: -v label="$2" '$1 == label { print $2 + 0 }' "$1"
}

answer() { # FILE NAME
	awk -v name="$2" '$1 == name { print $2 }' "$1"
}

quality() { # FILE.json NAME
	awk -F'[:,]' -v name="\"$2\"" '{ gsub(/ /, "", $1) } /"quality"/ { on = 1 } on && $1 == name { print $2 + 0; exit }' "$1"
}

head_matches() { # ACCOUNT ANSWERS
	[ "$(head_value "$1" 'current bytes allocated')" = "$(answer "$2" live_bytes)" ] &&
		[ "$(head_value "$1" 'current bytes requested')" = "$(answer "$2" live_requested)" ] &&
		[ "$(head_value "$1" 'current wasted bytes')" = $(($(answer "$2" live_bytes) - $(answer "$2" live_requested))) ] &&
		[ "$(head_value "$1" 'number of allocs')" = "$(answer "$2" allocs)" ] &&
		[ "$(head_value "$1" 'number of frees')" = "$(answer "$2" frees)" ]
}

quality_matches() { # JSON ANSWERS
	local name
	for name in lost_events lost_windows null_frees failed_allocs frees_before implied_frees; do
		[ "$(quality "$1" $name)" = "$(answer "$2" $name)" ] || { echo "$name"; return 1; }
	done
	[ "$(quality "$1" unparsed)" = 0 ]
}

for era in 0 1 2 3; do
	"$KMEMGEN" --events 60000 --era $era --seed $((era + 5)) --answers answers --site-answers sites >log
	must "$KMEMSCOPE" account log >account.txt
	must "$KMEMSCOPE" account --json log >account.json
	rows account.txt >got
	sort sites >want
	check "era $era: header" head_matches account.txt answers
	check "era $era: rows" same want got
	check "era $era: number of callers" [ "$(head_value account.txt 'number of callers')" = "$(wc -l <sites)" ]
	check "era $era: capture quality" quality_matches account.json answers
	check "era $era: JSON is JSON" python3 -m json.tool account.json
	check "era $era: the same from a DB" exits_with 0 "$KMEMSCOPE" import -o log.ksdb log
	must "$KMEMSCOPE" account log.ksdb >from-db.txt
	check "era $era: DB and log agree" same account.txt from-db.txt
done

# The layout of the seed, to the column.
cat >want <<-'EOF'
	current bytes allocated:        192
	current bytes requested:        160
	current wasted bytes:            32
	number of allocs:                 3
	number of frees:                  1
	number of callers:                2

	   total    waste      net alloc/free  caller
	---------------------------------------------
	     256       32      128     2/1     alloc_inode+0x4f
	      64        0       64     1/0     __d_alloc+0x22
EOF
sed -i 's/^\t//' want
cat >small.log <<'EOF'
 bash-1 [000] .... 1.000001: kmalloc: call_site=alloc_inode+0x4f/0x90 ptr=00000000a24afd00 bytes_req=96 bytes_alloc=128 gfp_flags=GFP_KERNEL
 bash-1 [000] .... 1.000002: kmalloc: call_site=alloc_inode+0x4f/0x90 ptr=00000000a24afd80 bytes_req=96 bytes_alloc=128 gfp_flags=GFP_KERNEL
 bash-1 [000] .... 1.000003: kmem_cache_alloc: call_site=__d_alloc+0x22/0x90 ptr=00000000a24afe00 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL
 bash-1 [000] .... 1.000004: kfree: call_site=f+0x4f/0x90 ptr=00000000a24afd80
EOF
must "$KMEMSCOPE" account -c account.txt small.log >quality.txt
check "the file is laid out as the seed prints it" same want account.txt
check "the quality is on standard output" says '4 events' cat quality.txt
check "the quality is not in the file" exits_with 1 grep -q quality account.txt

# Columns widen: a total of more than eight digits keeps its distance.
for i in 1 2 3; do
	echo " bash-1 [000] .... 1.00000$i: kmalloc: call_site=big+0x1/0x2 ptr=00000000b24afd0$i bytes_req=4000000000 bytes_alloc=4100000000 gfp_flags=GFP_KERNEL"
done >big.log
check "columns widen instead of overflowing" says '^12300000000 300000000 12300000000 +3/0 +big\+0x1$' "$KMEMSCOPE" account big.log

# Orders, each against sort(1) on the unordered rows.
"$KMEMGEN" --events 30000 --era 3 --seed 9 >log
order_is() { # KEY AWK-EXPRESSION
	must "$KMEMSCOPE" account log -o "$1" | sed -n '/^-----/,/^$/p' | grep -v -e '^---' -e '^$' >got
	awk "{ split(\$4, n, \"/\"); print $2 }" got >keys
	sort -rn keys | diff keys - && [ "$(wc -l <keys)" -gt 100 ]
}
check "order current_dynamic" order_is current_dynamic '$3'
check "order total_dynamic" order_is total_dynamic '$1'
check "order alloc_count" order_is alloc_count 'n[1]'
check "order free_count" order_is free_count 'n[2]'
check "order waste" order_is waste '$2'
must "$KMEMSCOPE" account log >one
must "$KMEMSCOPE" account log -o current_dynamic >two
check "current_dynamic is the default" same one two
check "an unknown order is refused, with the choices" fails_saying 2 'choose live, .* or peak' "$KMEMSCOPE" account log -o __doc__
check "--top" [ "$(must "$KMEMSCOPE" account log --top 3 | sed -n '/^-----/,/^$/p' | grep -c +0x)" = 3 ]

# --malloc and --cache against awk over the same file: bytes allocated and counts by kind.
awk_total() { # EVENT
	awk -v ev="$1:" '{ for (i = 1; i < NF; i++) if ($i == ev) { for (k = i; k <= NF; k++) { if ($k ~ /^ptr=/) p = substr($k, 5); if ($k ~ /^bytes_alloc=/) b = substr($k, 13) } if (p !~ /^0+$/) { n++; s += b } } } END { print n, s }' log
}
totals() { # OPTION...
	must "$KMEMSCOPE" account --csv "$@" log | awk -F, 'NR > 1 { n += $8; s += $2 } END { print n, s }'
}
check "--malloc agrees with awk" [ "$(totals --malloc)" = "$(awk_total kmalloc)" ]
check "--cache agrees with awk" [ "$(totals --cache)" = "$(awk_total kmem_cache_alloc)" ]
check "both together are all" [ "$(totals --malloc --cache)" = "$(totals)" ]

# The same output for every compression, every kind of input, and every run.
must "$KMEMSCOPE" account log >plain
gzip -k log && xz -k log && zstd -q log
for form in log.gz log.xz log.zst; do
	must "$KMEMSCOPE" account $form >got
	check "$form is read as it is" same plain got
done
mv log.gz misnamed.txt
must "$KMEMSCOPE" account misnamed.txt >got
check "by content, not by name" same plain got
must "$KMEMSCOPE" account - <log >got
check "standard input" same plain got
cat log | must "$KMEMSCOPE" account -f - >got
check "a pipe" same plain got
cat log.xz | must "$KMEMSCOPE" account - >got
check "a compressed pipe" same plain got
for i in 1 2 3 4 5; do must "$KMEMSCOPE" account --json log; done | sort | uniq -c | awk '$1 % 5 { bad = 1 } END { exit bad }'
check "five runs print the same" [ $? = 0 ]
sed 's/$/\r/' log >crlf.log
must "$KMEMSCOPE" account crlf.log >got
check "CRLF line ends" same plain got
done_testing
