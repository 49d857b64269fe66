#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares the kernel's counts with what QEMU sees: no function of the kernel may have counted more loads or
# stores than its instructions made in that time. Prints TAP.
. "$(dirname "$0")/lib.sh"

need_access_kernel 6.12 x86_64
gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$work/witness.so" "$here/witness.c" ||
	bail "the plugin does not compile"
make_initramfs <<'TEST'
. /lib.sh
echo 1 >$M/memorizer_log_access
put 1 $M/memorizer_enabled
/bin/ls -lR /proc/self /sys/kernel/debug >/dev/null 2>&1
cat /proc/version | wc >/tmp/wc; cp /tmp/wc /tmp/copy; rm /tmp/copy
put 0 $M/memorizer_enabled
check "nothing was dropped" is "$(stat_of accesses_dropped_full)" 0
awk -F, '/^  / { w[$1] += $3; r[$1] += $4 } END { for (i in w) print "counted" i, r[i], w[i] }' $M/kmap
TEST
# The functions that run when counting begins and when it has ended.
address_of() { awk -v name="$1" '$3 == name { print $1 }' "$kernel/System.map"; }
qemu_options="-plugin $work/witness.so,out=$work/witness"
qemu_options+=",begin=$(address_of mz_index_refill),end=$(address_of mz_index_shrink)"
boot_qemu "$kernel/bzImage" nokaslr
report >"$work/report"
sed '$d' "$work/report"
nr=$(grep -cE '^(ok|not ok) ' "$work/report")

# Functions that pass a range on to other functions, which then do the loads and stores.
objdump -d --no-show-raw-insn "$kernel/vmlinux" | gawk '
	/^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3) }
	/call.*<(__memorizer_mem|copy_user|rep_movs|rep_stos|__copy_user|memcpy|__memcpy)/ { print "hands-on", name }' |
	sort -u >"$work/hands-on"
# Everything sorted by address, so that the lines after a symbol belong to its function.
{
	awk '$2 ~ /[tTwW]/ { print $1, "0", $3 }' "$kernel/System.map"
	awk '{ print $1, "1 witness", $2, $3 }' "$work/witness"
	tr -d '\r' <"$work/raw" | sed -n 's/.*counted  *\([0-9a-f]\{16\}\) \([0-9]* [0-9]*\)$/\1 1 counted \2/p'
} | sort -k 1,2 >"$work/all"
gawk '
	NR == FNR { skip[$2] = 1; next }
	$2 == 0 { name = $3; next }
	{ loads[$3, name] += $4; stores[$3, name] += $5; if ($3 == "counted") seen[name] = 1 }
	END {
		for (name in seen) {
			if (name in skip || name ~ /copy.*(user|iter)|clear_user/) { skipped++; continue }
			functions++
			counted += loads["counted", name] + stores["counted", name]
			witnessed += loads["witness", name] + stores["witness", name]
			if (loads["counted", name] > loads["witness", name] ||
			    stores["counted", name] > stores["witness", name]) {
				if (++wrong <= 20)
					print "# " name ": counted " loads["counted", name] " loads, " stores["counted", name] \
					" stores; witness " loads["witness", name] ", " stores["witness", name]
			}
		}
		print "# " functions " functions, " counted " accesses counted, " witnessed " witnessed; " skipped \
			" hand ranges on"
		exit !(functions > 200 && counted > 10000 && !wrong)
	}' "$work/hands-on" "$work/all"
if [ $? = 0 ]; then
	echo "ok $((nr + 1)) - no function has counted more than QEMU has seen"
else
	echo "not ok $((nr + 1)) - no function has counted more than QEMU has seen"
fi
echo "1..$((nr + 1))"
