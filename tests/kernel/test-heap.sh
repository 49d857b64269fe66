#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The census of Debian's own kernel, which nothing else keeps busy, under QEMU: test-heap.sh 5.10|6.1|6.12|7.2. First by
# the guest itself, then by dumps of it. Of 5.10, whose BPF can't read memory and whose dumps do not say enough, by kcore
# alone and without a module. Prints TAP.
. "$(dirname "$0")/lib.sh"

KMEMSCOPE=${KMEMSCOPE:-$tree/build/kmemscope}
[ -e "$KMEMSCOPE" ] || skip_all "no kmemscope"
if [ "$1" = 5.10 ]; then
	need_debian_kernel "$1"
	add_user_side
	qemu_options="-m 512"
	make_initramfs <<'TEST'
. /lib.sh
ways=kcore
. /heap.sh
check "bpf: what this kernel lacks is said by name" ends_saying 1 'Linux 5.18' kmemscope heap --memory bpf
kmemscope heap --json >/tmp/all
check "page tables are known as such" grep -q '"kind": "page tables"' /tmp/all
check "a snapshot" exits_with 0 kmemscope heap save -o /tmp/snap
check "holders" says 'mount +mnt.mnt_sb' kmemscope heap holders --from /tmp/snap super_block
kmemscope heap unreachable --from /tmp/snap --json >/tmp/lost
lost=$(sed -n 's/^ *"unreachable_objects": \([0-9]*\),*$/\1/p' /tmp/lost)
check "nearly all objects are held by somebody" [ "$lost" -le 20 ]
TEST
	boot_qemu "$image"
	report
	exit
fi
need_debian_kernel "$1"
build_test_modules "$headers" ONLY=mzheap
add_user_side
# With this device, and the module for it, the kernel tells QEMU where its note for dumps is. Else it is searched.
qemu_options="-m 512 -pidfile $work/pid"
add_module() { # PATH: of Debian's modules, compressed or not
	if [ -e "$modules/kernel/$1" ]; then
		cp "$modules/kernel/$1" "$work/modules"
	else
		xz -dc "$modules/kernel/$1.xz" >"$work/modules/${1##*/}"
	fi
}
if [ "$1" != 6.1 ]; then
	qemu_options="$qemu_options -device vmcoreinfo"
	add_module drivers/firmware/qemu_fw_cfg.ko
fi
add_module fs/overlayfs/overlay.ko
make_initramfs <<'TEST'
. /lib.sh
[ ! -e /qemu_fw_cfg.ko ] || insmod /qemu_fw_cfg.ko
. /heap.sh
. /heap-module.sh
dump_me /tmp/truth /tmp/kcore-during.csv /tmp/kcore-types.csv /proc/meminfo
case $(uname -r) in 6.12*) . /heap-sites.sh ;; esac
check "mzheap.ko frees its objects" put clear $H/run
kmemscope heap --csv >/tmp/after.csv
check "and the census has none of them" is "$(objects_of /tmp/after.csv mzheap_node)" 0
check "mzheap.ko can be unloaded" rmmod mzheap
. /heap-refused.sh
TEST

# The same questions to the guest's memory itself.
ask_guest() {
	"$KMEMSCOPE" heap "$@" --guest "$(cat "$work/pid")"
}
make_dumps() {
	monitor stop
	ask_guest --csv >"$work/qemu.csv" 2>"$work/qemu.log"
	ask_guest --by type --csv >"$work/qemu-types.csv" 2>>"$work/qemu.log"
	ask_guest save -o "$work/qemu.snap" >>"$work/qemu.log" 2>&1
	monitor "dump-guest-memory $work/elf"
	monitor "dump-guest-memory -z $work/zlib"
	monitor cont
}
# Of one cache, which mzheap.ko alone uses, the kernel notes who allocated its objects.
boot_qemu_to_dump make_dumps "$image" slub_debug=U,kmalloc-rcl-1k
report_guest

# The files that the guest has sent.
check "the guest has sent its own answers" grep -q '^== complete' "$work/data"
awk -v dir="$work" '/^== / { file = dir "/guest-" $2; next } { print >file }' "$work/data"

truth=$work/guest-truth kmemscope=$KMEMSCOPE
is() { equal "$@"; }
. "$here/guest/heap-graph.sh"

# rows FILE: those of the module's objects.
rows() { grep -E '(^|,)(mzheap_node|resource|kmalloc-rcl-[0-9k]*)(,|$)' "$1" | sort; }

for form in elf zlib; do
	check "$form: a census of the dump" to_file "$work/$form.csv" "$KMEMSCOPE" heap --vmcore "$work/$form" --csv
	check "$form: types" to_file "$work/$form-types.csv" "$KMEMSCOPE" heap --vmcore "$work/$form" --by type --csv
	# Columns behind these are slabinfo's.
	check "$form: the module's objects are those that the guest itself has found" \
		equal "$(rows "$work/$form.csv" | cut -d, -f1-4)" "$(rows "$work/guest-kcore-during.csv" | cut -d, -f1-4)"
	check "$form: a snapshot of it" exits_with 0 "$KMEMSCOPE" heap save --vmcore "$work/$form" -o "$work/$form.snap"
	same_holders "$form" "$work/$form.snap"
	module_types "$form" "$work/$form.snap"
	same_leaks "$form" "$work/$form.snap"
	check "$form: of the same types" equal "$(rows "$work/$form-types.csv")" "$(rows "$work/guest-kcore-types.csv")"
done
check "both forms of the dump give the same answers" same "$work/elf.csv" "$work/zlib.csv"
check "and the same types" same "$work/elf-types.csv" "$work/zlib-types.csv"
sed 's/^/# qemu: /' "$work/qemu.log"
check "so does the memory of the guest, by the process that it runs in" same "$work/qemu.csv" "$work/elf.csv"
check "which has the same types" same "$work/qemu-types.csv" "$work/elf-types.csv"
same_leaks qemu "$work/qemu.snap"
total=$(must "$KMEMSCOPE" heap --vmcore "$work/elf" --json | sed -n 's/^ *"total": \([0-9]*\),*$/\1/p')
check "all uses of memory add up to MemTotal" \
	equal "$((total / 1024)) kB" "$(sed -n 's/^MemTotal: *//p' "$work/guest-meminfo")"
kind_of() { must "$KMEMSCOPE" heap --vmcore "$work/elf" --json | awk -v kind="\"$1\"," '$1 == "\"kind\":" { found = $2 == kind } $1 == "\"bytes\":" && found { print $2 + 0; found = 0 }'; }
# near KB BYTES: of what was read a moment apart.
near() { echo "$1 kB, $2 bytes"; [ $(($2 / 512)) -ge "$1" ] && [ $(($2 / 2048)) -le "$1" ]; }
stacks=$(kind_of stacks)
# A kernel whose areas of vmalloc are in a cache of another name has no such row.
if [ -n "$stacks" ]; then
	check "stacks are about those of the guest's tasks" \
		near "$(sed -n 's/^KernelStack: *\([0-9]*\) kB/\1/p' "$work/guest-meminfo")" "$stacks"
else
	skip "stacks are about those of the guest's tasks" "they are part of vmalloc"
fi
check "what is unreachable, with who allocated it" \
	to_file "$work/sites" "$KMEMSCOPE" heap unreachable --vmcore "$work/elf" --each --csv
check "slub_debug=U says it of one cache" equal "$(grep -c ',kmalloc-rcl-1k,.*,new_object+0x' "$work/sites")" 1
check "and of no other" equal "$(grep -c 'new_object' "$work/sites")" 1
# Its timers are known by the module's own function.
check "functions of modules are known" grep -q '^never() at +[0-9]*,kmalloc-rcl-512,8192,16,.*contents,' \
	"$work/elf-types.csv"
done_testing
