# SPDX-License-Identifier: GPL-2.0-only
# The KUnit suites run when the module is loaded; their results are in the kernel log.
insmod /memorizer-kunit.ko
rmmod memorizer
dmesg | sed 's/^\[[^]]*\] *//' >/tmp/log
for suite in mz_index mz_table mz_record mz_mode mz_dead; do
	check "KUnit suite $suite passed" grep -q "^ok [0-9]* $suite" /tmp/log
done
grep '^ *not ok' /tmp/log | sed 's/^/# /'
check "no KUnit test failed" fails grep -q '^ *not ok' /tmp/log
