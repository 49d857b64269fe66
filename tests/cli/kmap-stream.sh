#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmap stream and kmap listen: every byte arrives once, whichever side is killed.
. "$(dirname "$0")/lib.sh"

# Processes are started and ended by pid; none is left running.
listener='' sender=''
cleanup() {
	[ -z "$listener" ] || kill -9 "$listener" 2>/dev/null
	[ -z "$sender" ] || kill -9 "$sender" 2>/dev/null
	umount "$scratch.small" 2>/dev/null
	rm -rf "$scratch.small"
}

# listen DIR [PORT [COMMAND...]]: waits until it listens, and sets $port. It must not keep the pipe (3) open.
listen() {
	: >listen.err # before the listener does so: the port of the one before must not be read
	"${@:3}" "$KMEMSCOPE" kmap listen --bind "127.0.0.1:${2:-0}" -o "$1" 2>listen.err 3>&- &
	listener=$!
	until port=$(sed -n 's/.*: port //p' listen.err) && [ -n "$port" ]; do
		kill -0 $listener 2>/dev/null || { cat listen.err; return 1; }
		sleep 0.02
	done
}

# kill9 PID: kills it and waits until it has ended.
kill9() {
	kill -9 "$1"
	wait "$1" 2>/dev/null
	return 0
}

# received DIR BYTES: waits until DIR has that number of bytes.
received() {
	until [ "$(cat "$1"/*.kmap 2>/dev/null | wc -c)" = "$2" ]; do
		sleep 0.02
	done
}

# acked SPOOL BYTES: waits until the sender knows that they have arrived. Its state has that behind id and length.
acked() {
	until [ "$(od -An -t u8 -j 40 -N 8 "$1.state" | tr -d ' ')" = "$2" ]; do
		sleep 0.02
	done
}

awk 'BEGIN {
	for (i = 0; i < 60000; i++) {
		printf "ffffffff81%06x,42,ffff8880%08x,64,%d,%d,ffffffff81000900,ls\n", i % 300, i * 64, i, i + 9
		for (j = 0; j < 4; j++)
			printf "  ffffffff8100%04x,42,%d,%d\n", j, i % 3, j
	}
}' >map
half=$(head -120000 map | wc -c) more=$(head -140000 map | wc -c) whole=$(wc -c <map)
mkdir in

# The same in binary.
must "$KMEMSCOPE" kmap convert --to binary -o map.bin map 2>/dev/null

# Into a file.
check "to a file" "$KMEMSCOPE" kmap stream --to copy map
check "it is the same" cmp map copy
check "binary to a file, from a pipe" eval '(head -c 1000000 map.bin; sleep 0.1; tail -c +1000001 map.bin) |
	must "$KMEMSCOPE" kmap stream --to copy.bin - && cmp map.bin copy.bin'

# To a listener, undisturbed.
listen in
check "to a listener" timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s0 map
check "arrived whole" cmp map in/*.kmap
check "the spool is gone" test ! -e s0
check "what arrived can be read" says '^  60000 objects' "$KMEMSCOPE" kmap report in/*.kmap

# The listener is killed half way and started again.
rm in/* && mkfifo live
"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s1 - <live 2>stream.err &
sender=$!
exec 3>live
head -c "$half" map >&3
received in "$half"
kill9 $listener
head -140000 map | tail -c +$((half + 1)) >&3
until grep -q 'nothing is lost' stream.err; do sleep 0.02; done
listen in "$port"
acked s1 "$more"
kill9 $listener
tail -c +$((more + 1)) map | head -c 1000 >&3
until [ "$(grep -c 'nothing is lost' stream.err)" = 2 ]; do sleep 0.02; done # once for each failure in a row
listen in "$port"
tail -c +$((more + 1001)) map >&3
exec 3>&-
status=0
wait $sender || status=$?
sender=''
check "the sender ends well though the listener was killed" test $status = 0
check "each byte once: listener killed" cmp map in/*.kmap
check "in one file" test "$(ls in | wc -l)" = 1

# The sender is killed when the first half is delivered, and is started again with the same spool.
rm in/*
"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s2 - <live 2>/dev/null &
sender=$!
exec 3>live
head -c "$half" map >&3
received in "$half"
kill9 $sender
exec 3>&-
tail -c +$((half + 1)) map | must timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s2 - 2>/dev/null
sender=''
check "each byte once: sender killed" cmp map in/*.kmap

# Both are killed at any moment, again and again, while a file is sent.
rm in/*
for delay in 0.01 0.02 0.03 0.05 0.08 0.13; do
	"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s3 map 2>/dev/null &
	sender=$!
	sleep $delay
	[ $delay = 0.03 ] && kill9 $listener && listen in "$port"
	if [ ! -e s3 ]; then # it was done before it could be killed
		wait $sender
		break
	fi
	kill9 $sender
done
sender=''
[ ! -e s3 ] || must timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s3 map 2>/dev/null
check "each byte once: killed at any moment" bash -c 'cmp map in/*.kmap'

# A record that a killed writer left half written does not count. Where nobody listens, the sender goes on
# trying, after 0.1, 0.2, 0.4 s and so on.
rm -f in/*
"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:1" --spool s4 map 2>s4.err &
sender=$!
until [ "$(stat -c %s s4 2>/dev/null)" = "$whole" ] && [ -s s4.err ]; do sleep 0.02; done
sleep 1
check "a sender without a listener goes on trying" kill -0 $sender
kill9 $sender
sender=''
check "it says so once" equal "$(grep -c 'trying again, nothing is lost' s4.err)" 1
check "and why" grep -q 'cannot connect' s4.err
head -c 3333 /dev/zero >>s4
must timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s4 map 2>/dev/null
check "a torn spool is repaired" cmp map in/*.kmap

# Many at once.
rm in/*
for i in 1 2 3 4; do
	head -c $((whole / i)) map >"part$i"
	timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool "m$i" "part$i" 2>/dev/null &
	senders[i]=$!
done
wait "${senders[@]}"
check "four senders at once" diff <(md5sum <part1; md5sum <part2; md5sum <part3; md5sum <part4) \
	<(for f in $(ls -S in); do md5sum <"in/$f"; done)

# A receiver that lost acknowledged data is distinguished from one that is late.
rm in/*
"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s5 - <live 2>/dev/null &
sender=$!
exec 3>live
head -c "$half" map >&3
received in "$half"
kill9 $sender
sender=''
exec 3>&-
rm in/*
check "a receiver that lost data" fails_saying 3 'its file was changed' timeout 60 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s5 map

# Connections that do not speak the protocol.
rm in/*
printf 'GET / HTTP/1.0\r\n\r\n%040d' 0 >"/dev/tcp/127.0.0.1/$port"
check "an invalid connection is refused, and others are served" timeout 60 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s6 part4
check "an invalid connection makes no file" test "$(ls in | wc -l)" = 1

# A sender that is killed takes along what it has read. The next one gets the source from the middle of a record on:
# what arrives are whole records only, and what follows is complete.
cut_at() { # NAME BYTES: of the second part, which the next sender does not see
	rm -f in/*
	"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool "$1" - <live 2>/dev/null &
	sender=$!
	exec 3>live
	head -c "$half" map >&3
	received in "$half"
	kill9 $sender
	sender=''
	exec 3>&-
	tail -c +$((half + 1 + $2)) map | must timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool "$1" - 2>"$1.err"
}
sort map >map.sorted
whole_lines() { # none that the map does not have, and all but those of the next two objects
	sort in/*.kmap >in.sorted
	[ -z "$(comm -23 in.sorted map.sorted)" ] || { comm -23 in.sorted map.sorted | head -3; return 1; }
	[ "$(comm -13 in.sorted map.sorted | wc -l)" -le "$1" ] && tail -c 100000 in/*.kmap | cmp - <(tail -c 100000 map)
}
cut_at c1 3
check "a record cut in its first field is left out" whole_lines 5
check "which is said" grep -q 'bytes at the beginning.*are left out' c1.err
cut_at c2 30
check "cut in another field" whole_lines 5
cut_at c3 100
check "cut among its accesses" whole_lines 10
cut_at c4 0
check "a source that goes on with a record loses nothing" cmp map in/*.kmap
rm -f in/*
"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool c5 - <live 2>/dev/null &
sender=$!
exec 3>live
head -c 100000 map.bin >&3
until [ -n "$(cat in/*.kmap 2>/dev/null | head -c 1)" ]; do sleep 0.02; done
kill9 $sender
sender=''
exec 3>&-
before=$(cat in/*.kmap | wc -c)
(tail -c +100101 map.bin; cat map.bin) | must timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool c5 - 2>c5.err
check "a binary stream goes on with the next header" cmp map.bin <(tail -c +$((before + 1)) in/*.kmap)
rm -f in/*

# More peers than it may have, most of them silent.
kill9 $listener
listen in 0 prlimit --nofile=5: # no descriptor is left for a connection
exec {fd}<>"/dev/tcp/127.0.0.1/$port"
check "a lack of descriptors is said" eval 'until grep -q "cannot accept: Too many open files; trying again" listen.err; do sleep 0.02; done'
prlimit --nofile=256: --pid $listener
check "and is no end: when there are some, senders are served" timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool e1 part4
exec {fd}<&-
for i in $(seq 90); do exec {fd}<>"/dev/tcp/127.0.0.1/$port" && fds+=("$fd"); done
check "a crowd of silent peers has a limit" eval 'until grep -q "senders are connected: others are turned away" listen.err; do sleep 0.02; done'
check "and the listener lives" kill -0 $listener
for fd in "${fds[@]}"; do exec {fd}<&-; done
check "when they have gone, others are served" timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s7 part4
kill9 $listener
listener=''

# Beyond this machine: a token.
rm -f in/*
check "a wide address needs a token" fails_saying 2 'other machines can reach this address: give a --token' "$KMEMSCOPE" kmap listen --bind 0.0.0.0:0 -o in
: >listen.err
"$KMEMSCOPE" kmap listen --token secret --bind 0.0.0.0:0 -o in 2>listen.err 3>&- &
listener=$!
until port=$(sed -n 's/.*: port //p' listen.err) && [ -n "$port" ]; do sleep 0.02; done
check "it warns" grep -q 'warning: other machines can reach this address' listen.err
check "it makes the token, for its owner alone" [ "$(stat -c %a secret)" = 600 ]
check "of 32 digits" grep -qxE '[0-9a-f]{32}' secret
check "who has none is refused for good" fails_saying 1 'the listener wants a token' timeout 60 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool t1 part4
(umask 077; tr 0-9 1-90 <secret | tr 1 2 >other)
check "who has another, too" fails_saying 1 'the listener wants another token' timeout 60 "$KMEMSCOPE" kmap stream --token other --to "tcp:127.0.0.1:$port" --spool t2 part4
check "they leave no file" test -z "$(ls in)"
check "who has it is served" timeout 60 "$KMEMSCOPE" kmap stream --token secret --to "tcp:127.0.0.1:$port" --spool t3 part4
check "and all arrives" cmp part4 in/*.kmap
chmod 644 other
check "a token that others may read" fails_saying 1 'others may read this token' "$KMEMSCOPE" kmap stream --token other --to "tcp:127.0.0.1:$port" --spool t4 part4
(umask 077; echo short >bad)
check "no token" fails_saying 3 'is no token' "$KMEMSCOPE" kmap stream --token bad --to "tcp:127.0.0.1:$port" --spool t4 part4
kill9 $listener
listener=''

# A full disk loses nothing.
mkdir "$scratch.small"
if mount -t tmpfs -o size=2m none "$scratch.small" 2>/dev/null; then
	listen "$scratch.small"
	"$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s7 map 2>/dev/null &
	sender=$!
	until grep -q 'No space left' listen.err; do sleep 0.02; done
	mount -o remount,size=64m "$scratch.small"
	wait $sender
	sender=''
	check "a disk that was full" cmp map "$scratch.small"/*.kmap
	kill9 $listener
	listener=''
else
	skip "a disk that was full" "cannot mount here"
fi

# A sender that is gone before the listener takes its connection.
if strace -o /dev/null true 2>/dev/null; then
	mkdir gone-by
	listen gone-by 0 strace -D -qq -o /dev/null -e inject=accept4:error=ECONNABORTED:when=1
	check "a connection that is gone" timeout 120 "$KMEMSCOPE" kmap stream --to "tcp:127.0.0.1:$port" --spool s9 map
	check "the next one is served" cmp map gone-by/*.kmap
	kill9 $listener
	listener=''
else
	skip "a connection that is gone" "strace does not work here"
fi
check "a bad address" fails_saying 1 'HOST:PORT' "$KMEMSCOPE" kmap stream --to tcp:nowhere --spool s8 map
check "a directory that does not exist" fails_saying 1 'gone: cannot open' "$KMEMSCOPE" kmap listen -o gone
done_testing
