#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope lab: exit status, words, files, signals, terminals, users, failures; and the command lines
# of the Memorizer's documents, in the guest. Prints TAP.
. "$(dirname "$0")/../cli/lib.sh"
export SHELL=/bin/bash TMPDIR=$scratch

# A guest that hangs is stopped, and its test fails.
lab() { timeout --foreground 300 "$KMEMSCOPE" lab "$@"; }
run() { lab run -q "$@"; }
guests() { pgrep -f -- "$scratch/marker" || true; }
none_left() {
	local try
	for try in $(seq 50); do
		[ -n "$(guests)" ] || return 0
		sleep 0.1
	done
	ps -fp "$(guests | tr '\n' ,)0"
	return 1
}
# A run in the background. It is ready when its command has printed a line.
start() { # COMMAND...; sets $runner
	: >said
	"$KMEMSCOPE" lab run --append "$scratch/marker" "$@" >said 2>errors </dev/null &
	runner=$!
	local try
	for try in $(seq 300); do
		! grep -q up said || return 0
		sleep 0.1
	done
	cat errors
	return 1
}
# Ends the run that was started.
stop() { # SIGNAL; sets $status
	status=0
	kill "-$1" "$runner"
	wait "$runner" 2>/dev/null || status=$?
}
nothing_beside() { [ -z "$(find . -name "$1.*")" ] || { ls -la; return 1; }; }
lines_of() { grep -cE "$1" "$2"; }

[ "$(uname -m)" = x86_64 ] || skip_all "not x86-64"
[ -e /usr/src/linux-source-6.12.tar.xz ] || skip_all "no linux-source-6.12"

# --- Building ------------------------------------------------------------------------------------

preparing "linux-6.12-um for the lab"
check "builds the kernel, or finds it built" eval '"$KMEMSCOPE" lab build >built 2>log || { tail log; false; }'
prepared
check "and says where it is" test -x "$(cat built)/linux"
check "a version without patches is refused" fails_saying 1 'no patches for kernel 5.4' lab build --kernel 5.4
check "so is running it" fails_saying 125 "make it with 'kmemscope lab build --kernel 5.4" run --kernel 5.4 true

# --- The command ---------------------------------------------------------------------------------

check "exits as the command does" exits_with 7 run -- sh -c 'exit 7'
check "as a shell would after a signal" exits_with 137 run -- sh -c 'kill -9 $$'
check "127 for no such command" fails_saying 127 'stage start: no-such-command: No such file' run no-such-command
check "126 for what cannot be executed" exits_with 126 run -- /etc/passwd

words=('a b' "it's \"q\"" $'two\nlines' '' '$HOME `id` *' '\')
printf '[%s]\n' "${words[@]}" >expected
run -- printf '[%s]\n' "${words[@]}" >got
check "words arrive as they are" same expected got
(cd /usr/share && A='x y' run -o "$scratch/env.kmap" -- sh -c 'pwd; echo "$A"; echo "$HOME"') >got
check "directory and environment, too" same <(printf '/usr/share\nx y\n%s\n' "$HOME") got

head -c 200000 /dev/urandom >input
check "standard input and output pass whole" eval 'run -- cat <input | cmp - input'
check "output ends where nobody reads it" eval '[ "$(run -- yes | head -n 1)" = y ]'
run -- sh -c 'echo out; echo err >&2' >out 2>err
check "both outputs, apart and without the kernel's words" eval '[ "$(cat out err)" = "$(printf "out\nerr")" ]'
check "no input: its end comes at once" eval 'run -- cat </dev/null'

cat >prog.c <<'C'
#include <stdio.h>
int main(void) { printf("%d\n", 6 * 7); return 3; }
C
check "compiles in the guest, and runs what came of it" eval \
	'[ "$(run --mem 1G -- sh -c "cc -o /tmp/prog prog.c && /tmp/prog; echo \$?")" = "$(printf "42\n3")" ]'
cc -o prog prog.c
check "a test program from here" exits_with 3 run -- ./prog

# --- Files ---------------------------------------------------------------------------------------

mkdir view && echo old >view/file && cp -r view before
run -- sh -c 'echo new >view/file; rm view/file; mkdir view/dir; echo x >view/dir/y; mv view/dir view/e; find view | sort; ls /etc/passwd >there; cat there' >got
check "the guest sees what it writes" same <(printf 'view\nview/e\nview/e/y\n/etc/passwd\n') got
check "this machine does not" eval 'diff -r before view && [ ! -e there ]'
mkdir shared
run --share shared -- sh -c 'echo kept >shared/file; echo lost >lost'
check "but for a directory that is shared" eval '[ "$(cat shared/file)" = kept ] && [ ! -e lost ]'
run --share shared -- tar czf shared/t.tgz -C /usr/include linux
check "an archive made in the guest" same <(cd /usr/include && find linux -type f | sort) <(tar tzf shared/t.tgz | grep -v '/$' | sort)

mkdir many && (cd many && seq 1500 | xargs touch)
check "more files than a program of this machine may have open" eval \
	'[ "$(ulimit -Sn 1024 && run -- sh -c "cat many/* && ls -l many | wc -l")" = 1501 ]'

# --- Maps ----------------------------------------------------------------------------------------

lab run --access -o ls.kmap -- ls -l / >/dev/null 2>said
check "says how to read it" grep -q "ls.kmap: read it with 'kmemscope kmap report -k .*/build ls.kmap'" said
check "a map is readable by its owner alone" [ "$(stat -c %a ls.kmap)" = 600 ]
check "has objects of the command" [ "$(lines_of ',ls$' ls.kmap)" -gt 100 ]
check "with accesses" [ "$(lines_of '^ +[0-9a-f]{16},[0-9]+,[0-9]+,[0-9]+$' ls.kmap)" -gt 1000 ]
made='^0{13}(003|006|013|019|01c|01d|01e),'
check "and what no allocator handed out" [ "$(lines_of "$made" ls.kmap)" -gt 20 ]
check "and of no other" [ "$(grep -v '^ ' ls.kmap | grep -vE "$made" | grep -cvE ',(ls|init|kfree)$')" = 0 ]
check "kmap reads all of it" "$KMEMSCOPE" kmap report --strict -k "$(cat built)/vmlinux" ls.kmap
check "and names functions" says 'd_alloc|alloc_inode|getname' "$KMEMSCOPE" kmap report -k "$(cat built)/vmlinux" --top 0 ls.kmap

run -o plain.kmap -- ls / >/dev/null
check "without --access there are none" [ "$(lines_of '^ ' plain.kmap)" = 0 ]
run --mode 1 -o system.kmap -- ls / >/dev/null
check "mode 1 has more than the command's" [ "$(grep -v '^ ' system.kmap | cut -d, -f8 | sort -u | wc -l)" -gt 2 ]
run --binary --access -o bin.kmap -- ls / >/dev/null
check "binary records" says '"accesses": *[1-9]|"reads": *[1-9]' "$KMEMSCOPE" kmap report --json bin.kmap
check "of what lives at the end, too" says '"live_objects": *[1-9]' "$KMEMSCOPE" kmap report --json bin.kmap
run --boot --access -o boot.kmap -- cat /proc/cmdline >cmdline
check "--boot gives the documents' parameters" grep -q 'memorizer_enabled_boot=yes mem_log_boot=yes' cmdline
check "and records from the start on" [ "$(lines_of ',swapper' boot.kmap)" -gt 50 ]
check "with accesses of that time" eval 'grep -A1 ",swapper" boot.kmap | grep -q "^ "'
check "without a command, too" eval 'run --boot -o boot2.kmap && [ -s boot2.kmap ]'

check "losses are reported" fails_saying 4 'lost.kmap: out of memory: .*--mem' lab run --strict --append memorizer.max_mb=1 --access -o lost.kmap -- ls -lR /usr/include/linux

for nr in 1 2; do
	run --access -o same$nr.kmap -- ./prog >/dev/null
	grep -v '^ ' same$nr.kmap | grep ',prog$' | cut -d, -f1 | sort -u >sites$nr
done
check "the same program twice: the same sites" eval '[ -s sites1 ] && [ "$(comm -3 sites1 sites2 | wc -l)" -le $(($(wc -l <sites1) / 10)) ]'

# --- The heap ------------------------------------------------------------------------------------

preparing "types of linux-6.12-um"
check "builds the kernel's types" eval 'lab build --types >types 2>log || { tail log; false; }'
prepared
run --heap um.heap -- sh -c 'sed -n "s/^MemTotal: *//p" /proc/meminfo; exit 5' >got
check "a snapshot at the end, and the command's status" [ $? = 5 ]
check "readable by its owner alone" [ "$(stat -c %a um.heap)" = 600 ]
"$KMEMSCOPE" heap --from um.heap --json >um.json
check "all uses of memory add up to the guest's MemTotal" \
	equal "$(($(sed -n 's/^ *"total": \([0-9]*\),*$/\1/p' um.json) / 1024)) kB" "$(cat got)"
check "with types, and who holds them" says 'mount +mnt.mnt_sb' "$KMEMSCOPE" heap holders --from um.heap super_block
check "only for User Mode Linux" fails_saying 2 'not for --arch x86_64' run --arch x86_64 --heap x true
# A guest that runs: timers of a process in it, which no other has there.
start -- python3 -c 'import ctypes, signal, time
libc = ctypes.CDLL(None)
for _ in range(500):
    assert not libc.timer_create(1, ctypes.byref((ctypes.c_char * 64)(*b"\0" * 12, 1)), ctypes.byref(ctypes.c_void_p()))
print("up", flush=True)
time.sleep(1000)'
"$KMEMSCOPE" heap --guest "$(pgrep -f -- "/linux mem=.*$scratch/marker" | head -n 1)" --btf "$(cat built)/btf" --csv >live.csv 2>log || cat log
check "a guest that runs has the timers that a program made" equal "$(grep ^posix_timers live.csv | cut -d, -f3)" 500
stop TERM

# --- The other kernel ----------------------------------------------------------------------------

if [ ! -e /usr/src/linux-source-6.1.tar.xz ]; then
	skip "Linux 6.1" "no linux-source-6.1"
else
	check "builds Linux 6.1, or finds it built" eval '"$KMEMSCOPE" lab build --kernel 6.1 >built61 2>log || { tail log; false; }'
	check "which is what the guest runs" says '^6\.1\.' lab run -q --kernel 6.1 --access -o old.kmap -- uname -r
	check "its map has accesses" [ "$(lines_of '^ +[0-9a-f]{16},[0-9]+,[0-9]+,[0-9]+$' old.kmap)" -gt 1000 ]
	check "and names functions" says 'getname_flags' "$KMEMSCOPE" kmap report -k "$(cat built61)/vmlinux" --top 0 old.kmap
fi

# --- The documents' command lines ----------------------------------------------------------------

lab shell <"$here/guest/lab-seeds.sh" >seeds 2>&1
while IFS=: read -r verdict name; do
	check "as documented:$name" [ "$verdict" = holds ]
done <seeds
check "all of them" [ "$(grep -c ^holds seeds)" -ge 18 ]

# --- Ends ----------------------------------------------------------------------------------------

start -o int.kmap -- sh -c 'ls / >/dev/null; sleep 1; echo up; exec sleep 1000'
stop INT
check "Ctrl-C: 130" [ $status = 130 ]
check "nothing is left running" none_left
check "the map holds what came before, whole" "$KMEMSCOPE" kmap report --strict int.kmap
check "and there is nothing beside it" nothing_beside int.kmap
start -o term.kmap -- sh -c 'echo up; exec sleep 1000'
stop TERM
check "SIGTERM: 143" [ $status = 143 ]
start -o kill.kmap -- sh -c 'sleep 1000 & sleep 1000 & echo up; wait'
check "a guest is several processes" [ "$(guests | wc -l)" -ge 4 ]
stop KILL
check "a runner that is killed leaves none of them" none_left
check "a time limit" fails_saying 125 'stage (command: not done after|boot: the guest did not come up in) 3 s' run --timeout 3 -- sleep 1000
check "a kernel that panics" fails_saying 125 'stage .*: the guest ended: Kernel panic' run --mem 96M --log panic.log -- sh -c 'echo 1 >/proc/sys/vm/panic_on_oom; exec tail /dev/zero'
check "its words are in the log" grep -q 'Kernel panic' panic.log
rm -f kmemscope-lab-*
check "a kernel that does not boot" fails_saying 125 'stage boot: the guest ended' run --append rdinit=/none -- true
check "and its log is kept" test -s "$(ls kmemscope-lab-*)"
check "a map that cannot be written" fails_saying 125 'no-such-dir/x.kmap: cannot create' run -o no-such-dir/x.kmap true
check "a disk that is full" fails_saying 125 'No space left' run -o /dev/full ls

# --- Terminals and users -------------------------------------------------------------------------

check "a shell on a terminal" python3 "$here/lab-terminal.py" "$KMEMSCOPE"

# Copies everything to a place that every user may read.
mkdir -m 755 "$scratch/lab-helpers" "$scratch/cache" "$scratch/cache/lab-6.12-um"
mkdir -m 777 "$scratch/home"
cp "$(cat built)"/{linux,vmlinux} cache/lab-6.12-um
cp "$KMEMSCOPE" "$scratch/kmemscope"
cp "$(dirname "$KMEMSCOPE")"/lab-helpers/lab-{init,xstate.so} lab-helpers
chmod -R a+rX . && chmod 755 "$scratch"
as_nobody() {
	(cd "$scratch/home" && timeout 120 setpriv --reuid=65534 --regid=65534 --clear-groups \
		env -i PATH="$PATH" KMEMSCOPE_CACHE="$scratch/cache" "$scratch/kmemscope" lab run -q "$@")
}
if [ "$(id -u)" = 0 ]; then
	check "as nobody" eval '[ "$(as_nobody --access -- sh -c "echo yes; exit 4"; echo $?)" = "$(printf "yes\n4")" ]'
	check "with a map of its own" eval '[ "$(stat -c %u:%a home/trace.kmap)" = 65534:600 ] && grep -q "^ " home/trace.kmap'
	check "without what nobody may read" eval '! as_nobody -- cat /etc/shadow 2>/dev/null | grep -q root'
fi

# --- x86-64 --------------------------------------------------------------------------------------

if ! command -v qemu-system-x86_64 >/dev/null; then
	skip "x86-64 under QEMU" "no qemu-system-x86_64"
else
	check "--smp takes more than User Mode Linux" fails_saying 2 'or --arch x86_64' run --smp 2 true
	check "builds for x86-64, or finds it built" eval '"$KMEMSCOPE" lab build --arch x86_64 >built64 2>log || { tail log; false; }'
	run --arch x86_64 --accel tcg --smp 2 --access -o smp.kmap -- sh -c 'nproc; ls / >/dev/null; echo new >view/file; cat view/file; exit 9' >got
	check "exits as the command does" [ $? = 9 ]
	check "has two processors, and the files" same <(printf '2\nnew\n') got
	check "which stay as they are" grep -qx old view/file
	check "its map has accesses" [ "$(lines_of '^ +[0-9a-f]{16},[0-9]+,[0-9]+,[0-9]+$' smp.kmap)" -gt 1000 ]
	"$KMEMSCOPE" kmap report -k "$(cat built64)/vmlinux" --top 0 smp.kmap >report
	check "names functions" grep -qE 'd_alloc|alloc_inode|getname' report
	check "and those that ask for pages" grep -qE 'page_cache_ra|handle_mm_fault' report
fi
done_testing
