#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The DB file: every report of it is the same as that of the log.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}"

"$KMEMGEN" --events 200000 --era 3 --seed 3 >log
check "import" exits_with 0 "$KMEMSCOPE" import -o db log
check "the DB is for the owner only" [ "$(stat -c %a db)" = 600 ]

agree() { # OPTION...
	must "$KMEMSCOPE" report --json "$@" log >from-log && must "$KMEMSCOPE" report --json "$@" db >from-db && diff from-log from-db
}
for by in site function module cache size pid comm cpu node gfp; do
	check "by $by" agree --by $by
	check "by $by, filtered" agree --by $by --malloc --since +0.02 --until +0.12
done
for filter in --malloc --cache --pages "--since +0.05" "--until +0.05" "--since 100.05 --until 100.1"; do
	check "filter $filter" agree $filter
done
must "$KMEMSCOPE" info log | sed 1d >from-log
must "$KMEMSCOPE" info db | sed 1d >from-db
check "info" same from-log from-db

caches=$(grep -oE ' name=[^ ]+' log | sort -u | wc -l)
comms=$(sed -nE 's/^ *(.*)-[0-9]+ +\[.*/\1/p' log | sort -u | wc -l)
check "info has the number of caches" says "\"caches\": $caches," "$KMEMSCOPE" info --json log
check "and of comms" says "\"comms\": $comms," "$KMEMSCOPE" info --json log

# The window is what awk would cut out: kmalloc calls and bytes between two times.
awk '/: kmalloc:/ { for (i = 1; i < NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) t = $i + 0; if (t >= 100.05 && t < 100.1 && !/ptr=0000000000000000/) { n++; sub(/.*bytes_alloc=/, ""); s += $1 } } END { print n, s }' log >want
must "$KMEMSCOPE" account --csv --malloc --since 100.05 --until 100.1 db | awk -F, 'NR > 1 { n += $8; s += $2 } END { print n, s }' >got
check "a window agrees with awk" same want got

cp db newer
printf '\7' | dd of=newer bs=1 seek=8 conv=notrunc status=none
check "a newer version is refused by name" fails_saying 3 'newer: is a kmemscope DB of version 7' "$KMEMSCOPE" account newer
head -c 5000 db >short
check "a short file is refused" fails_saying 3 'short: the DB is damaged' "$KMEMSCOPE" account short
printf 'x' | dd of=db bs=1 seek=3000 conv=notrunc status=none
check "damage in a block is found when it is read" fails_saying 3 'db: the DB is damaged' "$KMEMSCOPE" account --malloc db

check "import names the DB" fails_saying 2 'name the DB file' "$KMEMSCOPE" import log
check "an unwritable place" fails_saying 1 '/nowhere/db: cannot create' "$KMEMSCOPE" import -o /nowhere/db log
check "a DB goes to a regular file only" fails_saying 1 'must be a regular file' "$KMEMSCOPE" import -o /dev/null log
check "a DB does not go to standard output" fails_saying 1 'must be a regular file' "$KMEMSCOPE" import -o - log
check "no file of that name is made" [ ! -e - ]
must "$KMEMSCOPE" import -o good log >/dev/null
check "a DB of a DB is refused" fails_saying 1 'good: is a DB already' "$KMEMSCOPE" import -o better good
"$KMEMSCOPE" account good >good.account
check "a DB from a pipe is read" bash -c 'cat good | "$0" account - | cmp - good.account' "$KMEMSCOPE"
check "so is a compressed DB" bash -c 'gzip -k good && "$0" account good.gz | cmp - good.account' "$KMEMSCOPE"
# Version 1, made by the program that wrote it, of the sample.
for question in account "report --by pid" "report --by module --json" leaks "report --frag" "timeline --json" \
	"account --malloc --since +0.01" "report --pages" "export --format csv --table objects"; do
	# shellcheck disable=SC2086
	check "a DB of version 1 answers as its log: $question" bash -c 'cmp <("$0" "${@:3}" "$1") <("$0" "${@:3}" "$2")' \
		"$KMEMSCOPE" "$data/sample.log" "$data/sample-v1.ksdb" $question
done
echo hello >text
check "a failed import leaves no file" fails_saying 3 'no kmem event' "$KMEMSCOPE" import -o made text
check "a failed import leaves no file under any other name" [ -z "$(ls made* 2>/dev/null)" ]
if mkdir full && mount -t tmpfs -o size=64k none full 2>/dev/null; then
	check "a full disk is reported" fails_saying 1 'full/db: cannot write: No space left' "$KMEMSCOPE" import -o full/db log
	check "a full disk leaves no file" [ -z "$(ls full)" ]
	umount full
else
	skip "a full disk" "mounting a tmpfs is not permitted"
fi

# Stopped in the middle of an import from a pipe that goes on: no file, status 130.
mkfifo pipe
for signal in TERM HUP; do
	(cat log; exec sleep 10) >pipe &
	feeder=$!
	"$KMEMSCOPE" import -o interrupted pipe &
	importer=$!
	until ls interrupted* >/dev/null 2>&1; do sleep 0.02; done
	kill -$signal $importer
	kill $feeder # the rest of the log ends here
	wait $importer
	status=$?
	wait $feeder 2>/dev/null
	check "SIG$signal: status 130" [ $status = 130 ]
	check "SIG$signal: no file" [ -z "$(ls interrupted* 2>/dev/null)" ]
	rm -f interrupted*
done
done_testing
