# SPDX-License-Identifier: GPL-2.0-only
# Load in the background.

# Runs in the background until /tmp/stop exists, and prints the number of rounds.
forever() { # NAME COMMAND...
	local name=$1 nr=0
	shift
	while [ ! -e /tmp/stop ]; do
		"$@" >/dev/null 2>&1
		nr=$((nr + 1))
	done
	echo $nr >/tmp/rounds.$name
}

storm() { ls -lR /proc/self /sys/kernel/debug/mztest; cat /proc/version | cat | cat; }
patterns() { for p in task work softirq rcu irq bulk pages reuse; do put $p $T/run; done; }
