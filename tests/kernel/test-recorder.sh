#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The small recorder as docs/embedded.md says: built for other machines, run on a root that has nothing but busybox, and
# what it recorded is analysed here. The commands are those of the document. Prints TAP.
. "$(dirname "$0")/lib.sh"
. "$here/foreign.sh"
guest_programs=

[ -n "${KMEMSCOPE:-}" ] || skip_all "no kmemscope"
need_foreign_kernel arm64
guide=$tree/docs/embedded.md

# commands HEADING: the commands below a heading, one a line.
commands() { awk -v heading="## $1" '/^## / { on = $0 == heading } on && sub("^# ", "")' "$guide"; }

# --- At home -----------------------------------------------------------------------------------
build_as_told() {
	commands "Build it" | sed "s,build-recorder,$work/recorder," >"$work/build.sh"
	grep -q cross.sh "$work/build.sh" && (cd "$tree" && bash -e "$work/build.sh")
}
preparing "libraries for arm64 and armhf"
build_as_told >"$work/log" 2>&1 || bail "the recorder is not built" "$work/log"
prepared
# --- On the device -----------------------------------------------------------------------------
install -D "$work/recorder-arm64/recorder/kmemscope-record" "$work/root/bin/kmemscope-record"
commands "Record" | sed 's,/mnt,/host,' >"$work/root/device.sh"
make_initramfs <<'TEST'
. /lib.sh
. /share.sh
check "the commands of the document" sh -ex /device.sh
echo 'i=0; while [ $i -lt 50 ]; do /bin/busybox cat /dev/null; i=$((i + 1)); done' >/forks.sh
check "fifty processes" kmemscope-record -q --strict -o /host/forks.dat -- sh /forks.sh
check "a recorder that keeps the last of it" kmemscope-record -q --keep 4M --duration 1 -o /host/kept.dat
check "an unknown option" fails kmemscope-record --types-of-nothing
check "nothing is left in tracefs" is "$(ls /sys/kernel/tracing/instances)" ""
TEST
boot_foreign
report_guest

# --- At home again ------------------------------------------------------------------------------
options() { grep -oE '^ *(-[a-z], )?--[a-z-]+'; }
for machine in arm64 armhf; do
	program=$work/recorder-$machine/recorder/kmemscope-record
	check "$machine: less than a megabyte" test "$(stat -c %s "$program")" -lt 1000000
	echo "# $(stat -c %s "$program") bytes"
	check "$machine: it needs no library and no loader" test -z "$(readelf -lW "$program" | grep -E 'INTERP|DYNAMIC')"
	mapfile -t emulator < <(head -n 1 "$work/recorder-$machine/emulator")
	check "$machine: it runs" says '^kmemscope-record [0-9]' "${emulator[@]}" "$program" --version
	check "$machine: and has the options of kmemscope record" same \
		<("$KMEMSCOPE" record --help | options | grep -v -e --no-pager -e --color) \
		<("${emulator[@]}" "$program" --help | options)
done

cd "$work/share" || exit
for file in *.dat; do check "$file is complete" says 'no problem|ok|complete' "$KMEMSCOPE" check "$file"; done
allocs=$("$KMEMSCOPE" account forks.dat | sed -n 's/^number of allocs: *//p')
if command -v trace-cmd >/dev/null; then
	check "trace-cmd counts as many allocations: $allocs" equal "$allocs" \
		"$(trace-cmd report -N forks.dat 2>/dev/null | grep -cE ' (kmalloc|kmem_cache_alloc)(_node)?: ')"
else
	skip "trace-cmd counts as many allocations" "no trace-cmd"
fi
# The task itself, its signal handlers, its signals, its number.
check "50 processes: 50 objects at each site that makes one" equal \
	"$("$KMEMSCOPE" account --site copy_process forks.dat | grep -oE '[0-9]+/[0-9]+ +copy_process' | sort | uniq -c | tr -s ' ')" \
	" 4 50/50 copy_process"
while read -r command; do
	check "$command" eval "${command/#kmemscope/\"\$KMEMSCOPE\"} >out"
done < <(commands "Analyse it at home")
echo "1..$tap_count"
