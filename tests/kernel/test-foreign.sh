#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Another architecture as a whole: test-foreign.sh arm64|s390x. The module and the program in a guest with Debian's own kernel
# 6.1; captures of all kinds that are made there are read here, and give the same answers to the byte. s390x is
# big-endian. Prints TAP.
. "$(dirname "$0")/lib.sh"
. "$here/foreign.sh"

[ -n "${KMEMSCOPE:-}" ] || skip_all "no kmemscope"
need_foreign_kernel "$1"
build_foreign_modules
add_foreign_user_side
make_initramfs <<'TEST'
. /lib.sh
. /share.sh
echo "# part: module"
insmod /memorizer.ko && insmod /mztest.ko
. /functional.sh
# Anew, so that the numbers of the log begin at 1 again.
rmmod mztest && rmmod memorizer && insmod /memorizer.ko && insmod /mztest.ko
. /kmemtrace-user.sh
. /kmap-user.sh
echo "# part: record"
. /captures.sh
echo "# part: module"
rmmod mztest && rmmod memorizer
result $? "the modules can be unloaded"
TEST
boot_foreign
report_guest

echo "# part: account"
cd "$work/share" || exit
for file in trace.dat trace.ksdb trace.txt cpu0.out cpu1.out map.kmap; do
	check "$file is there, of the guest" test -s "$file"
	for command in 'account' 'report --by cache' 'report --by size' 'leaks' 'info'; do
		there=$file.${command##* }
		# shellcheck disable=SC2086 # a list of words
		"$KMEMSCOPE" $command --json -k kallsyms "$file" >here.json 2>here.err
		status=$?
		check "$file: $command: the same status, $status" equal "$status" "$(cat "$there.status")"
		check "$file: $command: the same answer, $(stat -c %s here.json) bytes" cmp here.json "$there.json"
	done
done
check "the account of trace.dat is of many allocations" test "$(sed -n 's/^  "allocs": \([0-9]*\),/\1/p' trace.dat.account.json)" -gt 1000
if command -v trace-cmd >/dev/null; then
	check "and of as many as trace-cmd counts" equal "$(sed -n 's/^  "allocs": \([0-9]*\),/\1/p' trace.dat.account.json)" \
		"$(trace-cmd report -N trace.dat 2>/dev/null | grep -cE ' (kmalloc|kmem_cache_alloc)(_node)?: ')"
else
	skip "and of as many as trace-cmd counts" "no trace-cmd"
fi
[ -z "${KEEP:-}" ] || cp -r "$work/share" "$KEEP"
echo "1..$tap_count"
