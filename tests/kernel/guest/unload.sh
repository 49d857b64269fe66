# SPDX-License-Identifier: GPL-2.0-only
# Unloading the memorizer while everything runs, $UNLOADS times.
. /load.sh

rmmod memorizer
rm -f /tmp/stop /tmp/rounds.*
forever storm storm & pids=$!
forever patterns patterns & pids="$pids $!"
i=0
while [ $i -lt $UNLOADS ]; do
	insmod /memorizer.ko enable=yes subbufs=2 || break
	put 1 $M/memorizer_enabled
	[ $((i % 4)) != 0 ] || cat $M/kmap >/dev/null
	rmmod memorizer || break
	i=$((i + 1))
done
touch /tmp/stop
wait $pids
check "rmmod under load, $UNLOADS times" is $i $UNLOADS
