#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Budgets: captures over and within the budget, and files that are not budgets.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}" "${MKSNAP:?the path of the program that makes snapshots}"

"$KMEMGEN" --events 20000 --sites 30 --seed 3 --clean --site-answers sites --answers answers >log
live=$(awk '$1 == "live_bytes" { print $2 }' answers)
waste=$((live - $(awk '$1 == "live_requested" { print $2 }' answers)))
gate() { # CODE RULE...
	local code=$1
	shift
	printf '%s\n' "$@" >budget
	exits_with "$code" "$KMEMSCOPE" gate --budget budget log
}

gate_allowing() { # CODE RULE...
	local code=$1
	shift
	printf '%s\n' "$@" >budget
	exits_with "$code" "$KMEMSCOPE" gate --allow-missing --budget budget log
}

check "a limit may be reached" gate 0 "total live $live" "total waste $waste"
check "a limit may not be exceeded" gate 5 "total live $((live - 1))"
check "waste" gate 5 "total waste $((waste - 1))"
read -r _ _ bytes _ name < <(sort -k3n sites | tail -1)
check "a site at its limit" gate 0 "site $name live $bytes"
check "a site over it" gate 5 "site $name live $((bytes - 1))"
check "* applies to each site: the largest is at the limit" gate 0 "site * live $bytes"
check "only the largest is over the limit" ends_saying 5 "^1 of $(wc -l <sites) over" bash -c 'echo "site * live $1" >budget; "$0" gate --budget budget log' "$KMEMSCOPE" $((bytes - 1))
function=${name%+*}
of_function=$(awk -v f="$function+" 'index($5, f) == 1 { s += $3 } END { print s }' sites)
check "a function" gate 0 "function $function live $of_function"
check "a function over its limit" gate 5 "function $function live $((of_function - 1))"
check "a site without offset is the function" gate 0 "site $function live $of_function"
check "and over its limit" gate 5 "site $function live $((of_function - 1))"
check "a pattern leaves out what has a rule of its own" gate 0 "site $name live 1G" "site * live $((bytes - 1))"
check "but not for another measure" gate 5 "site $name waste 1G" "site * live $((bytes - 1))"
check "built-in code is the module kernel" gate 5 'module kernel live 0'
check "units" gate 0 "total live $((live / 1024 + 1))K" "total live $((live / 1048576 + 1))M" 'total live 1G'
check "a unit counts" gate 5 "total live $((live / 1024 - 1))K"

# The rate, from the log: bytes allocated over the time between the first and the last event.
rate=$(awk '/: k/ { match($0, / [0-9]+\.[0-9]+: k/); t = substr($0, RSTART + 1) + 0; if (!first) first = t; last = t }
	/bytes_alloc=/ { sub(/.*bytes_alloc=/, ""); s += $1 } END { printf "%d\n", s / (last - first) }' log)
check "a rate" gate 0 "total rate $((rate + rate / 1000))/s"
check "a rate over its limit" gate 5 "total rate $((rate - rate / 1000))"

printf '# all\n\n  total  live 1G # plenty\r\n' >budget
check "comments, blanks and CRLF" exits_with 0 "$KMEMSCOPE" gate --budget budget log

# A rule that matches nothing limits nothing: it fails, lest a typo passes for good.
for rule in 'module gone* live 0' 'site no_such_site live 1G' 'function no_such_function live 1G' 'cache none live 1G' 'size 3 live 1G' 'process none live 1G'; do
	echo "$rule" >missing
	check "'$rule' matches nothing and fails" ends_saying 5 "^MISSING live of ${rule%% *} .*: nothing of that name.*\(line 1\)" "$KMEMSCOPE" gate --budget missing log
	check "'$rule' with --allow-missing passes, and says so" says "^MISSING live of ${rule%% *}" "$KMEMSCOPE" gate --allow-missing --budget missing log
done
check "the reason is on standard error" fails_saying 5 'log: 1 rules match nothing: .*--allow-missing' "$KMEMSCOPE" gate --budget missing log
check "a limit that is exceeded fails with --allow-missing too" gate_allowing 5 "total live $((live - 1))" 'module gone live 0'
echo "total live $((live - 100))" >budget
check "the reason is readable" ends_saying 5 "^OVER    live of total: $live B of $((live - 100)) B, 100 B too much \(line 1\)" "$KMEMSCOPE" gate --bytes --budget budget log
check "and on standard error, in short" fails_saying 5 'log: over budget in 1 of 1 checks' "$KMEMSCOPE" gate --budget budget log
json_of_budget() {
	echo "total live $((live - 100))" >budget
	exits_with 5 "$KMEMSCOPE" gate --json --budget budget log 2>/dev/null >got.json &&
		python3 -c 'import json, sys
d = json.load(open("got.json"))
c = d["checks"][0]
sys.exit(d["passed"] or c["value"] != int(sys.argv[1]) or c["line"] != 1)' "$live"
}
check "JSON" json_of_budget
echo "total live $((live - 100))" >budget
check "the filter counts" exits_with 0 "$KMEMSCOPE" gate --malloc --budget budget log

cat >modules.log <<'LOG'
 x-1 [000] .... 1.000001: kmalloc: call_site=f+0x10/0x90 [ext4] ptr=00000000a24afd00 bytes_req=96 bytes_alloc=128 gfp_flags=GFP_KERNEL
 x-1 [000] .... 1.000002: kmalloc: call_site=g+0x10/0x90 [ext4] ptr=00000000a24afe00 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL
LOG
echo 'module ext4 live 191' >budget
check "a module is the sum of its sites" ends_saying 5 'live of module ext4: 192 B of 191 B, 1 B too much' "$KMEMSCOPE" gate --budget budget modules.log
echo 'site f+0x10 [ext4] live 127' >budget
check "a site in a module" ends_saying 5 'live of site f\+0x10 \[ext4\]: 128 B' "$KMEMSCOPE" gate --budget budget modules.log

# Caches, processes, sizes and counts of objects.
cat >kinds.log <<'LOG'
 wget-7 [000] .... 1.000001: kmem_cache_alloc: call_site=f+0x10/0x90 ptr=00000000a24afd00 name=dentry bytes_req=192 bytes_alloc=192 gfp_flags=GFP_KERNEL node=-1 accounted=false
 wget-7 [000] .... 1.000002: kmem_cache_alloc: call_site=f+0x20/0x90 ptr=00000000a24afe00 name=filp bytes_req=180 bytes_alloc=192 gfp_flags=GFP_KERNEL node=-1 accounted=false
 sshd-8 [000] .... 1.000003: kmalloc: call_site=g+0x10/0x90 ptr=00000000a24aff00 bytes_req=5000 bytes_alloc=8192 gfp_flags=GFP_KERNEL node=-1 accounted=false
LOG
kinds() { # CODE RULE
	echo "$2" >budget
	exits_with "$1" "$KMEMSCOPE" gate --budget budget kinds.log
}
check "a cache at its limit" kinds 0 'cache dentry live 192'
check "a cache over it" kinds 5 'cache dentry live 191'
check "each cache" kinds 5 'cache * waste 11'
check "a process at its limit" kinds 0 'process wget live 384'
check "a process over it" kinds 5 'process wget live 383'
check "a size at its limit" kinds 0 'size 192 objects 2'
check "a size over it" kinds 5 'size 192 objects 1'
check "a size with a unit" kinds 0 'size 8K live 8K'
check "and over" kinds 5 'size 8K live 8191'
check "objects of all" kinds 5 'total objects 2'
check "are three" kinds 0 'total objects 3'

# What is over comes first; what keeps to the budget is shown when asked for.
printf 'total live 1G\nmodule gone live 1\ncache dentry live 1\ncache filp live 1K\n' >budget
order() {
	"$KMEMSCOPE" gate "$@" --budget budget kinds.log 2>/dev/null | awk '/ of .*line/ { print $1 }' | paste -sd' '
}
check "over, then missing" [ "$(order)" = 'OVER MISSING' ]
check "and then what is well" [ "$(order -v)" = 'OVER MISSING ok ok' ]
check "units for people" ends_saying 5 '^OVER +live of cache dentry: 192 B of 1 B, 191 B too much' "$KMEMSCOPE" gate --budget budget kinds.log

check "Markdown" ends_saying 5 '^\| OVER \| live \| cache dentry \| 192 B \| 1 B \| 3 \|$' "$KMEMSCOPE" gate --markdown --budget budget kinds.log
sed 's/wget/a|<b>*`/' kinds.log >rude.log
echo 'process * live 1' >rude
check "names are no markup" ends_saying 5 '^\| OVER \| live \| process a\\\|\\<b\\>\\\*\\` \|' "$KMEMSCOPE" gate --markdown --budget rude rude.log
junit() { # BUDGET LOG TESTS FAILURES SKIPPED OPTION...
	local budget=$1 log=$2 tests=$3 failures=$4 skipped=$5
	shift 5
	"$KMEMSCOPE" gate "$@" --junit out.xml --budget "$budget" "$log" >/dev/null 2>&1
	python3 - "$tests" "$failures" "$skipped" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
suite = tree.parse("out.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
got = [len(cases), len(suite.findall("*/failure")), len(suite.findall("*/skipped"))]
said = [int(suite.get(name)) for name in ("tests", "failures", "skipped")]
sys.exit(got != said or got != [int(x) for x in sys.argv[1:]])
PYTHON
}
check "JUnit" junit budget kinds.log 4 2 0
check "JUnit, what may be missing is skipped" junit budget kinds.log 4 1 1 --allow-missing
check "JUnit of rude names" junit rude rude.log 2 2 0
check "JUnit names what is over" grep -q 'name="live of process a|&lt;b&gt;\*`"><failure message="OVER' out.xml

# A budget from good captures: they keep to it, also with their noise; more does not.
for seed in 11 12 13; do "$KMEMGEN" --events 20000 --sites 30 --seed $seed --clean >good$seed.log; done
check "--init" says '^function \* live ' "$KMEMSCOPE" gate --init good11.log good12.log good13.log
must "$KMEMSCOPE" gate --init -o made good11.log good12.log good13.log
for seed in 11 12 13; do
	check "capture $seed keeps to it" exits_with 0 "$KMEMSCOPE" gate --budget made good$seed.log
done
cp good12.log worse.log
end=$(tail -1 worse.log | sed -E 's/.* ([0-9]+\.[0-9]+): k.*/\1/')
for i in $(seq 300); do
	printf ' leak-7 [000] .... %s: kmalloc: call_site=leaky_open+0x20/0x90 ptr=ffffa%011x bytes_req=4000 bytes_alloc=4096 gfp_flags=GFP_KERNEL\n' "$end" $((i * 4096))
done >>worse.log
check "a planted leak of a new function does not" ends_saying 5 '^OVER +live of function leaky_open: 1.2 MiB' "$KMEMSCOPE" gate --budget made worse.log
room() { # LIMIT of the total, of the budgets of one capture and of three
	awk '$1 == "total" && $2 == "live" { print $3 }' "$1"
}
must "$KMEMSCOPE" gate --init -o single good11.log
total11=$(must "$KMEMSCOPE" report --json good11.log | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"]["live_bytes"])')
in_bytes() { numfmt --from=iec "$1"; }
percent=$(($(in_bytes "$(room single)") * 100 / total11))
check "one capture leaves a quarter" [ $percent -ge 125 ]
check "and little more" [ $percent -le 137 ]
check "it is for captures that are read whole" fails_saying 2 'judges nothing' "$KMEMSCOPE" gate --init --budget made good11.log
check "--init needs a capture" fails_saying 2 'no capture given' "$KMEMSCOPE" gate --init

# A snapshot of a heap: types and caches.
must "$MKSNAP" shop.snap <"$tests/heap/shop.txt"
heap() { # CODE RULE
	echo "$2" >budget
	exits_with "$1" "$KMEMSCOPE" gate --budget budget shop.snap
}
check "a type at its limit" heap 0 'type file objects 3'
check "a type over it" heap 5 'type file objects 2'
check "bytes of a type" heap 5 'type task_struct live 8191'
check "a cache of the snapshot" heap 0 'cache filp live 768'
check "a cache over its limit" heap 5 'cache filp live 767'
check "everything" heap 5 'total objects 8'
check "is nine objects" heap 0 'total objects 9'
check "a missing type" heap 5 'type dentry live 1G'
check "no sites in a snapshot" heap 3 'site * live 1G'
check "no rate in a snapshot" heap 3 'total rate 1G'
check "no types in a capture" fails_saying 3 'limits a type.*kmemscope heap save' bash -c 'echo "type file live 1" >budget; "$0" gate --budget budget log' "$KMEMSCOPE"
check "a budget of a snapshot" says '^type task_struct live 10K' "$KMEMSCOPE" gate --init shop.snap
check "not of both" fails_saying 2 'a budget is for one of them' "$KMEMSCOPE" gate --init shop.snap log
check "filters are for captures" fails_saying 2 'filters are for captures' "$KMEMSCOPE" gate --init --malloc shop.snap

# Directories, in a tree of two files.
mkdir -p tree/fs/ext4 tree/mm
printf 'int f(int x) { return x + 1; }\n' >tree/fs/ext4/f.c
printf 'int g(int x) { return x + 1; }\n' >tree/mm/g.c
for file in fs/ext4/f mm/g; do cc -c tree/$file.c -o tree/$file.o; done
sed 's/ \[ext4\]//' modules.log >builtin.log
directory() { # CODE RULE
	echo "$2" >budget
	exits_with "$1" "$KMEMSCOPE" gate --budget budget -k tree builtin.log
}
check "a directory and what is below it" directory 0 'directory fs live 128'
check "is over" directory 5 'directory fs live 127'
check "a directory below" directory 5 'directory fs/ext4/ live 127'
check "is not another" directory 0 'directory mm live 64'
echo 'directory fs live 1M' >budget
check "directories need the tree" fails_saying 3 'give the kernel tree with --kernel' "$KMEMSCOPE" gate --budget budget log

bad() { # PATTERN LINE
	printf '# head\n%s\n' "$2" >budget
	fails_saying 3 "budget:2: .*$1" "$KMEMSCOPE" gate --budget budget log
}
check "an unknown scope" bad "'totl': a rule begins with" 'totl live 1'
check "an unknown measure" bad "'weight': what is limited is" 'total weight 1'
check "no number" bad "'much': give a number" 'total live much'
check "an unknown unit" bad "'1T': give a number" 'total live 1T'
check "more than 64 bits" bad 'give a number' 'total live 18446744073709551616'
check "more than 64 bits with its unit" bad 'give a number' 'total live 18446744073709551615K'
check "a name is missing" bad 'the name is missing' 'site live 1'
check "a name too many" bad 'the total has no name' 'total x live 1'
check "half a rule" bad 'what is limited' 'total 1'
check "objects have no unit" bad "'1K': give a number of objects" 'total objects 1K'
check "a size is a number" bad "'x': give a size" 'size x live 1'
check "a * in a directory" bad 'takes no \*' 'directory fs/* live 1'
: >empty
check "an empty budget" fails_saying 3 'no rule in it' "$KMEMSCOPE" gate --budget empty log
head -c 3000 /dev/urandom >noise
check "noise" exits_with 3 "$KMEMSCOPE" gate --budget noise log
check "no such budget" fails_saying 1 'gone: cannot open' "$KMEMSCOPE" gate --budget gone log
check "a budget must be named" fails_saying 2 'no budget given' "$KMEMSCOPE" gate log
grep -m1 ': kmalloc' log >one.log
echo 'total rate 1' >budget
check "no times for a rate" fails_saying 3 'has no time' "$KMEMSCOPE" gate --budget budget one.log
"$KMEMGEN" --events 5000 --seed 4 >lossy.log
echo 'total live 10G' >budget
check "--strict" fails_saying 4 'lost events' "$KMEMSCOPE" gate --strict --budget budget lossy.log
done_testing
