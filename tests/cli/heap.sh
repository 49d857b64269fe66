#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The census of the kernel that runs here: its sums, and objects that a program makes and drops again.
. "$(dirname "$0")/lib.sh"
: "${HOLD:?the path of the program that holds objects}"

check "there is no such way to read memory" exits_with 2 "$KMEMSCOPE" heap --memory paper
check "an argument is too much" exits_with 2 "$KMEMSCOPE" heap what
check "without the right to read memory, a message says so" fails_saying 1 'root|lacks|kcore|type information' \
	setpriv --reuid 65534 --regid 65534 --clear-groups "$KMEMSCOPE" heap

# Dumps; tests/kernel/test-heap.sh has real ones.
echo "no dump" >text
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\076\0' >torn
check "a dump that is not there" fails_saying 1 'No such file' "$KMEMSCOPE" heap --vmcore nothing
for file in text torn; do
	check "a file that is no dump: $file" fails_saying 3 "^kmemscope heap: $file: no dump of a kernel" \
		"$KMEMSCOPE" heap --vmcore $file
done
{ printf makedumpfile; head -c 4084 /dev/zero; printf 'piece'; } >flattened
check "a flattened dump that breaks off" fails_saying 3 'flattened: flattened dump, at byte 4096: it ends' \
	"$KMEMSCOPE" heap --vmcore flattened
check "a guest whose process is not there" fails_saying 1 'there is no process 2147483647' "$KMEMSCOPE" heap --guest 2147483647
check "a process that is no guest" fails_saying 3 "process $$ is neither QEMU for x86-64 or arm64 nor User Mode Linux" "$KMEMSCOPE" heap --guest $$
check "a guest is no number of one" exits_with 2 "$KMEMSCOPE" heap --guest 0
check "a guest is no dump" fails_saying 2 'only one of them' "$KMEMSCOPE" heap --guest $$ --vmcore text
check "a guest is not read by BPF" fails_saying 2 'of the running kernel, --guest of another' "$KMEMSCOPE" heap --guest $$ --memory bpf
check "a dump is not read by BPF" exits_with 2 "$KMEMSCOPE" heap --vmcore text --memory bpf
check "types that are no types" exits_with 3 "$KMEMSCOPE" heap --btf text
"$KMEMSCOPE" heap --btf /bin/true 2>elf.txt
check "an ELF file without types, and libbpf is silent" equal "$(cat elf.txt)" "kmemscope heap: /bin/true: has no type information (BTF)"

status=0
"$KMEMSCOPE" heap --json >before.json 2>refused || status=$?
if [ $status != 0 ]; then
	skip "a census" "$(head -c 200 refused)"
	done_testing
fi

# Why a way to read memory does not work. Without these capabilities root can't either, and CAP_SYS_ADMIN stands in
# for both.
"$KMEMSCOPE" doctor >doctor.txt || true
check "doctor: guests" grep -qE '^(ok|note) +heap guests +kmemscope heap --guest (can read [0-9]+ of|reads guests of)' doctor.txt
if grep -qE '^ok +heap bpf ' doctor.txt; then
	check "doctor: heap takes BPF" grep -qE '^ok +heap +kmemscope heap takes BPF' doctor.txt
	for missing in bpf perfmon; do
		check "without CAP_${missing^^}, a message names it" fails_saying 1 "lacks CAP_${missing^^}" \
			setpriv --bounding-set "-$missing,-sys_admin" "$KMEMSCOPE" heap --memory bpf
		# Its exit status is about recording.
		setpriv --bounding-set "-$missing,-sys_admin" "$KMEMSCOPE" doctor >doctor.txt || true
		check "and so does doctor" grep -qE "^note +heap bpf .*lacks CAP_${missing^^}" doctor.txt
	done
else
	skip "BPF without its capabilities" "BPF can't read memory here"
fi
if [ -e /proc/kcore ]; then
	check "without CAP_SYS_RAWIO, no kcore" fails_saying 1 'lacks CAP_SYS_RAWIO' \
		setpriv --bounding-set -sys_rawio "$KMEMSCOPE" heap --memory kcore
else
	check "no kcore here, and a message says what it takes" fails_saying 1 'built without CONFIG_PROC_KCORE' \
		"$KMEMSCOPE" heap --memory kcore
fi
# without_types COMMAND...: hides the kernel's types from it.
without_types() { unshare -m bash -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' bash "$@"; }
if without_types true 2>/dev/null; then
	check "without type information, a message says so" fails_saying 1 'built without type information' \
		without_types "$KMEMSCOPE" heap
	must cat /sys/kernel/btf/vmlinux >types.btf
	check "and --btf gives it" without_types "$KMEMSCOPE" heap --btf types.btf --top 1
else
	skip "without type information" "mount namespaces are not permitted"
fi

# field FILE CACHE FIELD: of the cache of that name, or of the one that it was merged into; 0 = none has slabs.
field() {
	python3 - "$@" <<'EOF'
import json, sys
rows = json.load(open(sys.argv[1]))["caches"]
print(sum(r[sys.argv[3]] for r in rows if sys.argv[2] in [r["cache"]] + r["merged"]))
EOF
}

# grew FILE FILE CACHE BY: other processes may have made or dropped a few meanwhile.
grew() {
	local from to
	from=$(field "$1" "$3" objects)
	to=$(field "$2" "$3" objects)
	echo "$3: from $from to $to, expected $4 more"
	[ $((to - from)) -ge $(($4 - $4 / 20 - 20)) ] && [ $((to - from)) -le $(($4 + $4 / 20 + 500)) ]
}

sums() {
	python3 - before.json <<'EOF'
import json, sys
doc = json.load(open(sys.argv[1]))
used = sum(r["bytes"] for r in doc["memory"] if r["kind"] not in ("reserved", "unreadable"))
total = [int(l.split()[1]) * 1024 for l in open("/proc/meminfo") if l.startswith("MemTotal")][0]
slab = [int(l.split()[1]) * 1024 for l in open("/proc/meminfo") if l.startswith("Slab")][0]
slabs = sum(r["slab_bytes"] for r in doc["caches"] if r["cache"] != "large kmalloc")
print(used, total, slabs, slab)
assert abs(used - total) <= total // 1000
assert abs(slabs - slab) <= slab // 4
# Tasks may come and go between the two; the boot's own per-CPU memory is reserved.
kinds = {r["kind"]: r["bytes"] for r in doc["memory"]}
stacks, percpu = ([int(l.split()[1]) * 1024 for l in open("/proc/meminfo") if l.startswith(name)][0] for name in ("KernelStack", "Percpu"))
print(kinds, stacks, percpu)
assert stacks / 4 <= kinds.get("stacks", stacks) <= stacks * 4
assert kinds.get("per-CPU", 0) <= percpu
for row in doc["caches"]:
    assert row["slack"] == row["slab_bytes"] - row["bytes"], row
    assert row["waiting"] == row["cpu_lists"] + row["sheaves"] + row["barns"], row
EOF
}
check "all uses of memory add up to MemTotal" sums
check "the text has the caches with the most bytes, and all of memory" \
	says 'slab +objects of caches' "$KMEMSCOPE" heap --top 3
check "by node" says '^ *node +bytes' "$KMEMSCOPE" heap --by node
check "as CSV, the caches" says '^cache,bytes,objects' "$KMEMSCOPE" heap --csv

# --- Objects that come and go ------------------------------------------------------------------

# The objects are made in a memory cgroup of their own, in either of the two hierarchies that Linux has.
mine=
cleanup() { [ -z "$mine" ] || rmdir "$mine"; }
for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	mkdir "$top/kmemscope-test-$$" 2>/dev/null || continue
	[ ! -e "$top/kmemscope-test-$$/memory.stat" ] || { mine=$top/kmemscope-test-$$ && break; }
	rmdir "$top/kmemscope-test-$$"
done

mkfifo end
bash -c '[ -z "$1" ] || echo $$ >"$1/cgroup.procs"; exec "$2" 10000' hold "$mine" "$HOLD" <end >held &
exec 9>end
for _ in $(seq 600); do
	grep -q "^all" held && break
	sleep 0.1
done
made() { awk -v kind="$1" '$1 == kind { sum += $2 } END { print sum + 0 }' held; }
all_made() {
	cat held
	for kind in files pipes sockets epolls timers queues; do [ "$(made $kind)" = 10000 ] || return 1; done
}
check "there are 10,000 of each kind" all_made
must "$KMEMSCOPE" heap --json >during.json
must "$KMEMSCOPE" heap --by cgroup --json >cgroups.json
must "$KMEMSCOPE" heap --by type --json >types.json
exec 9>&-
wait

files=$(($(made files) + 2 * $(made pipes) + $(made sockets) + $(made epolls) + $(made queues)))
check "files, of all kinds" grew before.json during.json filp $files
check "sockets" grew before.json during.json sock_inode_cache "$(made sockets)"
check "watched files" grew before.json during.json eventpoll_epi "$(made epolls)"
check "timers" grew before.json during.json posix_timers_cache "$(made timers)"
check "message queues" grew before.json during.json mqueue_inode_cache "$(made queues)"

# has_type TYPE COUNT: at least that many objects of the type, or in a merged cache that may have it; but for one in a
# thousand, to which an old pointer may have given another's type.
has_type() {
	python3 - types.json "$@" <<'EOF'
import json, sys
rows = json.load(open(sys.argv[1]))["types"]
found = [r for r in rows if sys.argv[2] in r["type"].split(" | ")]
print(found)
assert sum(r["objects"] for r in found) >= int(sys.argv[3]) * 0.999
EOF
}
check "files have their type" has_type file $files
check "sockets" has_type socket_alloc "$(made sockets)"
check "pipes, which are in a cache of kmalloc" has_type pipe_inode_info "$(made pipes)"
check "epolls, which are, too" has_type eventpoll "$(made epolls)"
check "what they watch" has_type epitem "$(made epolls)"
check "timers" has_type k_itimer "$(made timers)"
check "message queues" has_type mqueue_inode_info "$(made queues)"
types_add_up() {
	python3 - <<'EOF'
import json
types = json.load(open("types.json"))["types"]
caches = {r["cache"]: r for r in json.load(open("during.json"))["caches"]}
for name in ("task_struct", "filp", "kmem_cache", "mqueue_inode_cache"):
    objects = sum(r["objects"] for r in types if r["cache"] == name)
    assert abs(objects - caches[name]["objects"]) <= 100 + objects // 20, (name, objects, caches[name])
EOF
}
check "and a cache has as many objects as its types" types_add_up

# Files are freed a little after they are closed.
for _ in $(seq 100); do
	must "$KMEMSCOPE" heap --json >after.json
	[ "$(field after.json filp objects)" -lt $(($(field before.json filp objects) + files / 10)) ] && break
	sleep 0.1
done
check "files vanish" [ "$(field after.json filp objects)" -lt $(($(field before.json filp objects) + files / 10)) ]
check "sockets vanish" [ "$(field after.json sock_inode_cache objects)" -lt \
	$(($(field before.json sock_inode_cache objects) + $(made sockets) / 10)) ]

# charged CGROUP CACHE MADE: also where the kernel has merged the cache with another.
charged() {
	python3 - "$@" <<'EOF'
import json, sys
doc = json.load(open("cgroups.json"))
names = {r["cache"] for r in json.load(open("during.json"))["caches"] if sys.argv[2] in [r["cache"]] + r["merged"]}
count = sum(r["objects"] for r in doc["charges"] if r["cgroup"] == sys.argv[1] and r["cache"] in names)
print(names, count, [r for r in doc["charges"] if r["cache"] in names])
made = int(sys.argv[3])
assert made <= count <= made + 200, (count, made)
EOF
}
for kind in "files filp $files" "sockets sock_inode_cache $(made sockets)" "timers posix_timers_cache $(made timers)" \
	"watched files eventpoll_epi $(made epolls)" "message queues mqueue_inode_cache $(made queues)"; do
	count=${kind##* } cache=${kind% *}
	name="${cache% *} are charged to the cgroup of the test"
	if [ -n "$mine" ]; then
		check "$name" charged "/${mine##*/}" "${cache##* }" "$count"
	else
		skip "$name" "no memory cgroup here"
	fi
done

# --- Against slabinfo --------------------------------------------------------------------------

# Caches come and go seldom, so that nothing happens between the two counts.
if [ -r /proc/slabinfo ]; then
	says_slabinfo() {
		local ours theirs
		must "$KMEMSCOPE" heap --json >again.json
		theirs=$(awk '$1 == "kmem_cache" { print $2 }' /proc/slabinfo)
		ours=$(($(field again.json kmem_cache objects) + $(field again.json kmem_cache waiting) +
			$(field again.json kmem_cache aside)))
		echo "$ours, $theirs"
		[ "$ours" = "$theirs" ]
	}
	check "what is used, waits and is set aside is what slabinfo calls active" says_slabinfo
fi
done_testing
