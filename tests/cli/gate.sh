#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Budgets: captures over and within the budget, and files that are not budgets.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"

"$KMEMGEN" --events 20000 --sites 30 --seed 3 --clean --site-answers sites --answers answers >log
live=$(awk '$1 == "live_bytes" { print $2 }' answers)
waste=$((live - $(awk '$1 == "live_requested" { print $2 }' answers)))
gate() { # CODE RULE...
	local code=$1
	shift
	printf '%s\n' "$@" >budget
	exits_with "$code" "$KMEMSCOPE" gate --budget budget log
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
check "built-in code is the module kernel" gate 5 'module kernel live 0'
check "units" gate 0 "total live $((live / 1024 + 1))K" "total live $((live / 1048576 + 1))M" 'total live 1G'
check "a unit counts" gate 5 "total live $((live / 1024 - 1))K"

# The rate, from the log: bytes allocated over the time between the first and the last event.
rate=$(awk '/: k/ { match($0, / [0-9]+\.[0-9]+: k/); t = substr($0, RSTART + 1) + 0; if (!first) first = t; last = t }
	/bytes_alloc=/ { sub(/.*bytes_alloc=/, ""); s += $1 } END { printf "%d\n", s / (last - first) }' log)
check "a rate" gate 0 "total rate $((rate + rate / 1000))/s"
check "a rate over its limit" gate 5 "total rate $((rate - rate / 1000))"

printf '# all\n\n  total  live 1G # plenty\r\nmodule gone* live 0\n' >budget
check "comments, blanks and CRLF" exits_with 0 "$KMEMSCOPE" gate --budget budget log
check "a name that matches nothing is reported" says 'ok    live of module gone\*: 0 B of 0 B \(nothing of that name' "$KMEMSCOPE" gate --budget budget log
echo "total live $((live - 100))" >budget
check "the reason is readable" ends_saying 5 "^OVER  live of total: $live B of $((live - 100)) B, 100 B too much \(line 1\)" "$KMEMSCOPE" gate --budget budget log
check "and on standard error, in short" fails_saying 5 'log: over budget in 1 of 1 checks' "$KMEMSCOPE" gate --budget budget log
json_of_budget() {
	exits_with 5 "$KMEMSCOPE" gate --json --budget budget log 2>/dev/null >got.json &&
		python3 -c 'import json, sys
d = json.load(open("got.json"))
c = d["checks"][0]
sys.exit(d["passed"] or c["value"] != int(sys.argv[1]) or c["line"] != 1)' "$live"
}
check "JSON" json_of_budget
check "the filter counts" exits_with 0 "$KMEMSCOPE" gate --malloc --budget budget log

cat >modules.log <<'LOG'
 x-1 [000] .... 1.000001: kmalloc: call_site=f+0x10/0x90 [ext4] ptr=00000000a24afd00 bytes_req=96 bytes_alloc=128 gfp_flags=GFP_KERNEL
 x-1 [000] .... 1.000002: kmalloc: call_site=g+0x10/0x90 [ext4] ptr=00000000a24afe00 bytes_req=64 bytes_alloc=64 gfp_flags=GFP_KERNEL
LOG
echo 'module ext4 live 191' >budget
check "a module is the sum of its sites" ends_saying 5 'live of module ext4: 192 B of 191 B' "$KMEMSCOPE" gate --budget budget modules.log
echo 'site f+0x10 [ext4] live 127' >budget
check "a site in a module" ends_saying 5 'live of site f\+0x10 \[ext4\]: 128 B' "$KMEMSCOPE" gate --budget budget modules.log

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
check "an unknown measure" bad "'size': what is limited is" 'total size 1'
check "no number" bad "'much': give a number" 'total live much'
check "an unknown unit" bad "'1T': give a number" 'total live 1T'
check "more than 64 bits" bad 'give a number' 'total live 18446744073709551616'
check "more than 64 bits with its unit" bad 'give a number' 'total live 18446744073709551615K'
check "a name is missing" bad 'the name is missing' 'site live 1'
check "a name too many" bad 'the total has no name' 'total x live 1'
check "half a rule" bad 'what is limited' 'total 1'
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
