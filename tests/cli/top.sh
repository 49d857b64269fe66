#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope top: without a terminal, and in tmux at three sizes, with keys and signals.
. "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || skip_all "no tmux"

check "an unknown level" exits_with 2 "$KMEMSCOPE" top --level paper
check "an argument is too much" exits_with 2 "$KMEMSCOPE" top what
check "no terminal" fails_saying 1 'no terminal; --once|without ncursesw' "$KMEMSCOPE" top </dev/null

status=0
"$KMEMSCOPE" top --once >once.txt 2>refused || status=$?
if [ $status != 0 ]; then
	skip "the running kernel" "$(head -c 200 refused)"
	done_testing
fi

check "once: rows by cache, with units" grep -qE '^ +[0-9.]+ [KMG]iB .* dentry$' once.txt
check "once: or with all digits" says '^ +[0-9]{4,} +[0-9]+ .* dentry$' "$KMEMSCOPE" top --once --bytes
check "once: the sums of memory" grep -qE 'level census: slab [0-9.]+[KMG], of it unreclaimable' once.txt
check "JSON is JSON" bash -c 'must "$KMEMSCOPE" top --json --by cache | python3 -c "
import json, sys
doc = json.load(sys.stdin)
assert doc[\"schema\"] == \"kmemscope-live-1\" and doc[\"level\"] == \"census\"
assert any(row[\"name\"] == \"dentry\" and row[\"objects\"] > 0 for row in doc[\"rows\"])"'
export KMEMSCOPE
check "three looks are three documents" bash -c 'must "$KMEMSCOPE" top --json --interval 200ms --count 3 | python3 -c "
import json, sys
text, docs = sys.stdin.read(), []
while text.strip():
    doc, end = json.JSONDecoder().raw_decode(text.lstrip())
    docs.append(doc)
    text = text.lstrip()[end:]
times = [doc[\"time_ns\"] for doc in docs]
assert len(docs) == 3 and times == sorted(set(times)), times"'

"$KMEMSCOPE" top --level exact --once >exact.txt 2>refused || status=$?
if [ $status = 0 ]; then
	check "a function that is not there" fails_saying 1 "no function 'no_such_function'" \
		"$KMEMSCOPE" top --level exact --site no_such_function --once
	check "a cgroup that is not there" fails_saying 1 'no_such_group|cgroup2' \
		"$KMEMSCOPE" top --level exact --cgroup /no_such_group --once
	check "a site alone" bash -c 'must "$KMEMSCOPE" top --level exact --site alloc_empty_file --by site --json --count 2 | python3 -c "
import json, sys
docs = sys.stdin.read().split(\"\n}\n\")
names = {row[\"name\"] for row in json.loads(docs[1] + \"}\")[\"rows\"]}
assert names and all(name.startswith(\"alloc_empty_file\") for name in names), names"'
else
	skip "chosen sites and cgroups" "$(head -c 200 refused)"
fi

# === In a terminal ============================================================================

# Each has a server of its own: one that is told to end takes its time.
server=0
tm() { tmux -S "$scratch/socket$server" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null; cd /; rm -rf "$scratch"' EXIT
screen() { tm capture-pane -p >screen.txt 2>/dev/null; }

# seen PATTERN: until the screen shows it. A loaded machine may need its time.
seen() {
	local i
	for ((i = 0; i < 600; i++)); do
		screen
		grep -qE -e "$1" screen.txt && return
		sleep 0.1
	done
	echo "never seen: $1"
	cat screen.txt
	return 1
}

# open_top COLUMNS ROWS [WORDS BEFORE]: the shell around it says how it ended, and whether the terminal is as before.
open_top() {
	tm kill-server 2>/dev/null
	server=$((server + 1))
	cat >run-it <<-END
		before=\$(stty -g)
		${3:-export LC_ALL=C.UTF-8}
		'$KMEMSCOPE' top
		echo "left with \$?"
		[ "\$(stty -g)" = "\$before" ] && echo "the terminal is as before"
		exec cat
	END
	tm new-session -d -x "$1" -y "$2" "exec bash '$scratch/run-it'"
}

the_program() { # its process
	local shell
	shell=$(tm list-panes -F '#{pane_pid}')
	pgrep -P "$shell"
}

fits() { # ROWS COLUMNS: the last line is in its place and has all of its keys, and none is longer than the screen
	sed -n "$1p" screen.txt | grep -qE '^(Enter deeper.* \? help  q|\? help  q .*/)$' || { cat screen.txt; return 1; }
	awk -v most="$2" 'length($0) > most { print; bad = 1 } END { exit bad }' <(LC_ALL=C.UTF-8 sed 's/[^ -~]/x/g' screen.txt)
}

for size in "80 24" "40 12" "200 60"; do
	# shellcheck disable=SC2086 # two words
	open_top $size
	check "at $size: the caches" seen '^caches \([0-9]+\)'
	check "at $size: it fits" fits "${size#* }" "${size% *}"
done
check "wide: all columns" grep -qE 'bytesv +change +per s +objects .*name' screen.txt

open_top 80 24
seen '^caches' >/dev/null
tm send-keys / d e n t r y
check "a search, as it is typed" seen '^caches \(1\) with "dentry"'
tm send-keys Enter
check "the row is there" seen '^ +[0-9.]+[KMG] .*[0-9]+ .*dentry$'
tm send-keys Enter
check "Enter: its types" seen '^caches > dentry > types \([1-9]'
tm send-keys Escape
check "Escape: back" seen '^caches \(1\)'
tm send-keys Escape
check "and all are shown again" seen '^caches \([0-9]{2,}\)'
tm send-keys '>'
check "sorted by another column" seen 'bytes +changev'
tm send-keys p
check "paused" seen 'PAUSED'
tm send-keys p '?'
check "help" seen '^q +leave'
tm send-keys q
seen '^caches' >/dev/null
tm resize-window -x 100 -y 30
check "another size: the last line moves" seen '^caches'
bar_moved() {
	local i
	for ((i = 0; i < 300; i++)); do
		screen
		sed -n 30p screen.txt | grep -q '^Enter deeper' && return
		sleep 0.1
	done
	cat screen.txt
	return 1
}
check "and is where the screen ends" bar_moved
tm send-keys q
check "q leaves with 0" seen 'left with 0'
check "and the terminal is as it was" seen 'the terminal is as before'

for signal in INT TERM; do
	open_top 80 24
	seen '^caches' >/dev/null
	kill -$signal "$(the_program)"
	check "SIG$signal leaves with 130" seen 'left with 130'
	check "SIG$signal: the terminal is as it was" seen 'the terminal is as before'
done

stopped() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(ps -o state= -p "$1")" = T ] && return
		sleep 0.1
	done
	return 1
}
open_top 80 24
seen '^caches' >/dev/null
pid=$(the_program)
kill -TSTP "$pid"
check "SIGTSTP stops it" stopped "$pid"
screen
check "with the screen given back" bash -c '! grep -q "^caches" screen.txt'
kill -CONT "$pid"
check "and it goes on where it was" seen '^caches'
tm send-keys q

open_top 80 24 'export LC_ALL=C NO_COLOR=1 TERM=vt100'
check "without colours and UTF-8" seen '^caches'
tm capture-pane -p -e >raw.txt
check "there is no colour" bash -c "! grep -qE \$'\\033\\[[0-9;]*3[0-7]m' raw.txt"
check "and nothing but ASCII" bash -c "! LC_ALL=C grep -q '[^ -~]' screen.txt"
tm send-keys q

# Over a slow line, only what changed is written: a screen has 1920 characters.
open_top 80 24
seen 'changes over 1s' >/dev/null
tm pipe-pane -O "cat >'$scratch/written'"
seen 'changes over [3-9]s' >/dev/null
looks=$(screen; sed -n 's/.*changes over \([0-9]*\)s.*/\1/p' screen.txt)
bytes=$(wc -c <written)
check "a refresh writes less than half a screen: $bytes bytes in $((looks - 1)) looks" \
	test "$bytes" -lt $((looks * 960))
tm send-keys q

open_top 80 24 'export TERM=no-such-terminal'
check "an unknown terminal is refused" seen "the terminal 'no-such-terminal' is not known"

done_testing
