# SPDX-License-Identifier: GPL-2.0-only
# Runs in the lab: the command lines of the Memorizer's documentation, exactly as printed there. The names of
# programs and machines, which the documentation leaves open, are defined first. Prints the results.
#
# For "kmemscope lab shell", which does not read the stream itself; with busybox as nc. Exits with the number
# of failed checks.
mount -t tmpfs none /tmp
cd /tmp || exit
bad=0
holds() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >/dev/null; then echo "holds: $name"; else echo "fails: $name"; bad=$((bad + 1)); fi
}

# The programs and machines of the documentation.
mkdir -p /tmp/bin /somedir
cp -r /etc/ssl /etc/terminfo /somedir 2>/dev/null
printf '#!/bin/sh\nexec ls -l "$0"\n' >/tmp/bin/test-program
printf '#!/bin/sh\n[ "$*" = "--foo bar" ] && exec ls /\n' >/tmp/bin/whatever-command-we-are-testing
# "server" is this machine. ssh joins its arguments to one line for the shell on the other side.
printf '#!/bin/sh\nshift\n[ $# = 0 ] || exec sh -c "$*"\n' >/tmp/bin/ssh
printf '#!/bin/sh\nexec busybox nc "$@"\n' >/tmp/bin/nc
chmod +x /tmp/bin/*
PATH=/tmp/bin:$PATH
echo "127.0.0.1 server" >>/etc/hosts
is_kmap() { grep -qE '^[0-9a-f]{16},[0-9]+,[0-9a-f]{16},[0-9]+,[0-9]+,[0-9]+,[0-9a-f]+,' "$1"; }
has_comm() { grep -q ",$2\$" "$1"; }
eventually() { # COMMAND...: waits for it to succeed, since a reader in the background takes a moment
	local try
	for try in $(seq 200); do "$@" && break; sleep 0.05; done
}

# --- Using Memorizer: initial conditions ---
echo 0 > /sys/kernel/debug/memorizer/memorizer_enabled
holds "memorizer is disabled" grep -q ^0 /sys/kernel/debug/memorizer/memorizer_enabled
echo 1 > /sys/kernel/debug/clear_dead_objects
holds "clear_dead_objects in the root of debugfs" [ $? = 0 ]

# --- A non-streaming experiment ---
(
echo 3 > /sys/kernel/debug/memorizer/memorizer_enabled
whatever-command-we-are-testing --foo bar
echo 0 > /sys/kernel/debug/memorizer/memorizer_enabled
ssh server sh -c "cat > /tmp/kmap" < /sys/kernel/debug/memorizer/kmap 
) >/dev/null
holds "the kmap went to the server" is_kmap /tmp/kmap
holds "it has objects of the command" has_comm /tmp/kmap ls
holds "and none of the copying" [ "$(grep -c ',cat$' /tmp/kmap)" = 0 ]

# --- A streaming experiment: the readers never end, so they run in the background ---
echo 1 > /sys/kernel/debug/memorizer/clear_object_list
cat /sys/kernel/debug/memorizer/kmap_stream > /tmp/kmap_data.txt &
reader=$!
sh -c "echo 3 > /sys/kernel/debug/memorizer_enabled && test-program" >/dev/null
eventually has_comm /tmp/kmap_data.txt ls
holds "the stream has objects" is_kmap /tmp/kmap_data.txt
holds "of the test program" has_comm /tmp/kmap_data.txt ls
holds "and its reader still waits" kill $reader

tail -f /dev/null | nc -l -p 9999 >/tmp/received.txt &
eventually grep -q ':270F ' /proc/net/tcp
nc server 9999 < /sys/kernel/debug/memorizer/kmap_stream &
sender=$!
sh -c "echo 3 > /sys/kernel/debug/memorizer_enabled && test-program" >/dev/null
eventually is_kmap /tmp/received.txt
holds "nc has sent the stream" is_kmap /tmp/received.txt
holds "and still waits for more" kill $sender
echo 0 > /sys/kernel/debug/memorizer/memorizer_enabled

# --- Memorizer: the interface via debugfs ---
echo 1 > /sys/kernel/debug/memorizer/memorizer_enabled
holds "object tracking is enabled" grep -q ^1 /sys/kernel/debug/memorizer/memorizer_enabled
echo 1 > /sys/kernel/debug/memorizer/memorizer_log_access
holds "access tracking is enabled" grep -q Y /sys/kernel/debug/memorizer/memorizer_log_access
cat /sys/kernel/debug/memorizer/show_stats > stats
holds "statistics are shown" grep -q '^state: ok' stats
echo 1 > /sys/kernel/debug/memorizer/clear_object_list
holds "freed objects are cleared" [ $? = 0 ]
echo 0 > /sys/kernel/debug/memorizer/memorizer_log_access

# --- Using Memorizer to collect KMAPs ---
umount -l /sys/kernel/debug
mount -t debugfs nodev /sys/kernel/debug
holds "debugfs is mounted" test -d /sys/kernel/debug/memorizer
echo 1 > /sys/kernel/debug/clear_object_list
echo 1 > /sys/kernel/debug/memorizer_log_access
tar zcf something.tar.gz /somedir 2>/dev/null &
ssh u@h:/somefile 
wait $!
echo 0 > /sys/kernel/debug/memorizer/memorizer_log_access
echo 0 > /sys/kernel/debug/memorizer/memorizer_enabled
cat /sys/kernel/debug/memorizer/kmap > test.kmap
holds "test.kmap is a map" is_kmap test.kmap
holds "with the objects of tar" has_comm test.kmap tar
holds "and with accesses" grep -qE '^ +[0-9a-f]{16},[0-9]+,[0-9]+,[0-9]+$' test.kmap
exit $bad
