# SPDX-License-Identifier: GPL-2.0-only
# For the tests inside the guest: TAP, and short names for the files.
D=/sys/kernel/debug
M=$D/memorizer
T=$D/mztest
tap_dir=/tmp
. /tap.sh
echo "# guest: $(uname -r)"

fails() { ! "$@" 2>/dev/null; }
put() { echo "$1" 2>/dev/null >"$2"; }
is() { [ "$1" = "$2" ] || { echo "# have: $1; want: $2"; false; }; }
stat_of() { sed -n "s/^$1: //p" $M/show_stats; }
mode() { cut -d' ' -f1 $M/memorizer_enabled; }

# Nothing is recorded and nothing is switched on, as after loading.
reset() {
	echo 0 >$M/memorizer_enabled
	echo 0 >$D/kmemtrace/enabled
	echo 1 >$M/clear_live_objects
	echo 1 >$M/clear_dead_objects
	echo 1 >$M/print_live_obj
	[ ! -e $T/run ] || echo clear >$T/run
}

# dump_me FILE...: sends the files to the host, and waits until it has made a dump of this machine.
dump_me() {
	local file line
	stty -F /dev/ttyS1 raw -echo
	exec 5<>/dev/ttyS1
	for file; do
		echo "== ${file##*/}"
		cat "$file"
	done >&5
	echo "== complete" >&5
	echo "== dump"
	read -r line <&5
}

finish() { echo "1..$tap_count"; }
