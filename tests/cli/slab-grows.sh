#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs all commands of docs/slab-grows.md, in order, on the kernel that runs here; what the page shows must be there.
. "$(dirname "$0")/lib.sh"
page=$(dirname "$0")/../../docs/slab-grows.md

status=0
"$KMEMSCOPE" heap --top 1 >/dev/null 2>refused || status=$?
if [ $status != 0 ]; then
	skip "the page" "$(head -c 200 refused)"
	done_testing
fi
if [ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt 16000 ]; then
	skip "the page" "a process may open only $(ulimit -Hn) files"
	done_testing
fi

# The program of the page, as its first block makes it.
sed -n '/^```sh$/,/^```$/p' "$page" | sed '1d;$d' >block
must sh block
check "the page has a program" [ -s leak.py ]
pid=
cleanup() { [ -z "$pid" ] || kill "$pid"; }
PATH=$(dirname "$KMEMSCOPE"):$PATH

# A command is a line of a console block that begins with "# ". What ends in "&" goes on in the background.
number=0
run() {
	number=$((number + 1))
	case $1 in
	*'&')
		(ulimit -n 16000 && exec python3 leak.py) &
		pid=$!
		for _ in $(seq 300); do
			[ "$(find "/proc/$pid/fd" | wc -l)" -ge 15000 ] && break
			sleep 0.1
		done
		;;
	*) eval "$1" >"out-$number" 2>&1 ;;
	esac
}
ran() { [ "$(cat "status-$1")" = 0 ] || { head -20 "out-$1" && false; }; }
while read -r command; do
	result=0
	run "$command" || result=$?
	echo $result >"status-$number"
	check "$command" ran $number
	case $command in
	*"diff "*)
		# All rows, as on a busy machine other types grow more.
		must "$KMEMSCOPE" heap diff before.snap after.snap >all
		check "what grew is the epolls" grep -Eq '\+1[45][0-9]{3} .* eventpoll$' all
		;;
	*"holders "*)
		check "they are held by files" grep -Eq ' file +private_data' "out-$number"
		check "of the process that leaks" grep -Eq "python3/$pid\$" "out-$number"
		;;
	*"show --from"*) ADDRESS=$(grep -Eom1 '0xffff[0-9a-f]+' "out-$number") && export ADDRESS ;;
	*'$ADDRESS') check "what the address is" grep -Eq 'eventpoll \(known by' "out-$number" ;;
	*unreachable*) check "a handful" grep -Eq 'objects are held by nobody' "out-$number" ;;
	esac
done < <(awk '/^```console$/ { inside = 1 } /^```$/ { inside = 0 } inside && /^# / { print substr($0, 3) }' "$page")
check "all commands of the page were found" [ $number -ge 10 ]
done_testing
