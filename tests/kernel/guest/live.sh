# SPDX-License-Identifier: GPL-2.0-only
# The levels against what mzlive.ko says that it has in use, in a kernel that allows probes on functions. With $offline, a
# processor goes away meanwhile.
L=$D/mzlive
cpu=/sys/devices/system/cpu/cpu1/online

# expected FUNCTION: how many objects.
expected() { sed -n "s/^$1 \([0-9]*\) .*/\1/p" $L/expect; }

# of_row FILE NAME FIELD: of the last look that is complete, the sum over all rows whose name begins like that.
of_row() {
	awk -v name="\"$2" -v field="\"$3\":" '/"schema"/ { sum = 0 }
		$1 == "\"name\":" { mine = index($2, name) == 1 }
		$1 == field && mine { sum += $2 }
		$1 == "\"quality\":" { whole = sum; mine = 0 }
		END { printf "%d\n", whole }' "$1"
}

looks_in() { grep -c '"unseen"' "$1"; }

# look_at LEVEL BY PATTERN [OPTION...]: looks each second, runs the pattern after the first look, ends three looks later.
look_at() {
	local level=$1 by=$2 pattern=$3 pid until
	shift 3
	# Now, not when the command begins: what the level before has left there would be taken for its first look.
	: >/tmp/looks
	kmemscope top --level "$level" --by "$by" --interval 1s --count 1000 --json "$@" >/tmp/looks 2>/tmp/looks.err &
	pid=$!
	until [ "$(looks_in /tmp/looks)" -ge 1 ] || ! kill -0 $pid 2>/dev/null; do sleep 0.2; done
	# Modules that come later have names, too.
	[ -e $L ] || { sleep 11; check "mzlive.ko loads" insmod /mzlive.ko; }
	put "$pattern" $L/run
	# A processor goes away, with what it has counted, and comes back.
	[ -z "${offline:-}" ] || check "$level: a processor goes away" put 0 $cpu
	until=$(($(looks_in /tmp/looks) + 3))
	until [ "$(looks_in /tmp/looks)" -ge $until ] || ! kill -0 $pid 2>/dev/null; do sleep 0.2; done
	kill -INT $pid 2>/dev/null || sed 's/^/# it ended by itself: /' /tmp/looks.err
	wait $pid
	[ -z "${offline:-}" ] || put 1 $cpu
}

# Bytes of the slabs of a cache that was empty before, as the kernel counts them.
look_at growth site fill
slab_bytes=$(awk '$1 == "mzlive_slab" { print $15 * $6 * 4096 }' /proc/slabinfo)
check "growth: the module filled slabs" [ "$slab_bytes" -ge $((600 * 1000)) ]
check "growth: all of its slabs, and who filled them" is "$(of_row /tmp/looks mzlive_fill bytes)" "$slab_bytes"

look_at exact site keep
check "exact: all objects of a cache, behind frees, bulk frees and kfree_rcu()" \
	is "$(of_row /tmp/looks mzlive_keep objects)" "$(expected mzlive_keep)"
check "and they are 200" is "$(expected mzlive_keep)" 200
check "exact: all objects of kmalloc()" is "$(of_row /tmp/looks mzlive_malloc objects)" "$(expected mzlive_malloc)"
check "exact: and their bytes" is "$(of_row /tmp/looks mzlive_malloc bytes)" $(($(expected mzlive_malloc) * 512))
check "exact: nothing is unseen, since probes on functions are allowed" grep -q '"unseen": \[\]' /tmp/looks

# 24 MB by samples of 512 KiB each: the level says itself how far off it may be.
look_at sampled site many
check "sampled: bytes are within four of the standard errors that are said" awk -v is="$(of_row /tmp/looks mzlive_many bytes)" \
	-v should=$(($(expected mzlive_many) * 1024)) -v error="$(of_row /tmp/looks mzlive_many standard_error)" \
	'BEGIN { off = is - should; if (off < 0) off = -off; print "# " is " of " should ", +- " error; exit !(error > 0 && error < should / 4 && off < 4 * error) }'

kmemscope top --once --by cache --json >/tmp/looks
check "census: the same objects" is "$(of_row /tmp/looks mzlive_kept\" objects)" "$(expected mzlive_keep)"
