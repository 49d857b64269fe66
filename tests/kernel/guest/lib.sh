# SPDX-License-Identifier: GPL-2.0-only
# For the tests inside the guest: TAP, and short names for the files.
D=/sys/kernel/debug
M=$D/memorizer
T=$D/mztest
tap_dir=/tmp
. /tap.sh

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

finish() { echo "1..$tap_count"; }
