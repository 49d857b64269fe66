#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Who holds what in the kernel that runs here: objects that a program makes, by type, field and task, and on the way from
# a root. Most questions go to one snapshot, as they must have the same answer there.
. "$(dirname "$0")/lib.sh"
: "${HOLD:?the path of the program that holds objects}"

check "holders of nothing" exits_with 2 "$KMEMSCOPE" heap holders
check "two are too many" exits_with 2 "$KMEMSCOPE" heap show dentry inode
check "a second file without a first" exits_with 2 "$KMEMSCOPE" heap unreachable second.snap
check "no contents in a snapshot" exits_with 2 "$KMEMSCOPE" heap show --contents --from some.snap dentry
check "no such snapshot" exits_with 1 "$KMEMSCOPE" heap holders --from missing.snap dentry

status=0
"$KMEMSCOPE" heap --json >before.json 2>refused || status=$?
if [ $status != 0 ]; then
	skip "a graph" "$(head -c 200 refused)"
	done_testing
fi

mkfifo end
"$HOLD" 10000 <end >held &
exec 9>end
for _ in $(seq 600); do
	grep -q "^all" held && break
	sleep 0.1
done
made() { awk -v kind="$1" '$1 == kind { sum += $2 } END { print sum + 0 }' held; }
check "there is something to find" [ "$(made sockets)" -ge 10000 ]
must "$KMEMSCOPE" heap save -o held.snap >saved
must "$KMEMSCOPE" heap show --json --top 100000 task_struct >live.json
must "$KMEMSCOPE" heap unreachable --wait 5s --json >unreachable.json

# --- Types, holders and tasks ------------------------------------------------------------------

# by_task TYPE KIND TIMES: the processes that made objects of a kind are nearest to TIMES as many of the type.
by_task() {
	must "$KMEMSCOPE" heap holders --from held.snap --json "$1" >"holders-$1.json"
	python3 - "holders-$1.json" "$2" "$3" <<'EOF2'
import json, sys
doc, kind, times = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
tasks = {r["task"]: r["objects"] for r in doc["tasks"]}
for line in open("held"):
    name, count, pid = line.split()
    if name != kind:
        continue
    found = tasks.get("hold/" + pid, 0)
    print(line, found)
    # More, as the program was loaded from files; fewer, as old pointers of another task may be as near.
    assert int(count) * times * 0.9 <= found <= int(count) * times + 100
EOF2
}
check "files are nearest to the task that opened them" by_task file files 1
check "both ends of pipes" by_task file pipes 2
check "pipes themselves" by_task pipe_inode_info pipes 1
check "sockets" by_task socket_alloc sockets 1
check "epolls" by_task eventpoll epolls 1
check "timers, which only a list of the task has" by_task k_itimer timers 1
check "message queues" by_task mqueue_inode_info queues 1

# held_by TYPE HOLDER FIELD COUNT: at least, but for one in a thousand, to which an old pointer may have given another's type.
held_by() {
	[ -e "holders-$1.json" ] || must "$KMEMSCOPE" heap holders --from held.snap --json "$1" >"holders-$1.json"
	python3 - "holders-$1.json" "${@:2}" <<'EOF2'
import json, sys
rows = json.load(open(sys.argv[1]))["holders"]
found = [r for r in rows if r["holder"] == sys.argv[2] and r["field"] == sys.argv[3]]
print(rows[:10])
assert len(found) == 1 and found[0]["objects"] >= int(sys.argv[4]) * 0.999, found
EOF2
}
check "files are held by arrays of files" held_by file "file *[]" "" $(($(made files) + $(made sockets)))
check "sockets point to their files" held_by file socket_alloc socket.file "$(made sockets)"
check "epolls are held by files" held_by eventpoll file private_data "$(made epolls)"
check "and by what they watch" held_by eventpoll epitem ep "$(made epolls)"
check "pipes are held by files" held_by pipe_inode_info file private_data "$(made pipes)"

# From a task to its files, its table of files, the array, each by the right field.
way() {
	must "$KMEMSCOPE" heap show --from held.snap --json --top 100000 "file *[]" >arrays.json
	python3 - "$KMEMSCOPE" <<'EOF2'
import json, subprocess, sys
arrays = [r for r in json.load(open("arrays.json"))["objects"] if r["size"] >= 8000]
pids = {"hold/" + line.split()[2] for line in open("held") if line.split()[0] != "timers"}
seen = set()
for array in arrays:
    out = subprocess.run([sys.argv[1], "heap", "holders", "--from", "held.snap", "--json", array["address"]],
                         check=True, capture_output=True).stdout
    way = [(s["what"], s["field"], s["name"]) for s in json.loads(out)["way"]]
    names = [s[2] for s in way if s[0] == "task_struct"]
    if not names or names[-1] not in pids:
        continue
    seen.add(names[-1])
    end = [s[:2] for s in way[-4:]]
    assert end == [("task_struct", "files"), ("files_struct", "fdt"), ("fdtable", "fd"), ("file *[]", "")], way
    assert way[0][0] in ("variable", "per-CPU", "vmalloc", "page", "stack", "struct page"), way
    if len(seen) == 2:
        break
print(seen, [a["address"] for a in arrays])
assert len(seen) == 2
EOF2
}
check "the way to an array of files is through the task that has them open" way

check "the text says who holds them and the way" says 'shortest way' "$KMEMSCOPE" heap holders --from held.snap --top 3 eventpoll
check "a list of objects" says '0xffff.* eventpoll' "$KMEMSCOPE" heap show --from held.snap --top 3 eventpoll
check "a type that is not there" fails_saying 1 'no object' "$KMEMSCOPE" heap holders --from held.snap no_such_type
check "an address where nothing is" fails_saying 1 'no object is there' "$KMEMSCOPE" heap show --from held.snap 0x1000
one() {
	local address
	# One that waits for us: another's may have ended by now.
	address=$(python3 -c 'import json
ours = {"hold/" + line.split()[2] for line in open("held") if len(line.split()) == 3}
print(next(o["address"] for o in json.load(open("live.json"))["objects"] if o["name"] in ours))')
	must "$KMEMSCOPE" heap show --json "$address" >one.json
	python3 - <<'EOF2'
import json
doc = json.load(open("one.json"))
assert doc["type"] == "task_struct" and doc["known_by"] == "cache" and "/" in doc["name"], doc
fields = {f["field"]: f["points_to"] for f in doc["fields"]}
assert fields["real_parent"].startswith("task_struct") or fields["real_parent"] == "", fields
assert fields["cred"].startswith("cred"), fields
assert all("value" not in f for f in doc["fields"])
assert doc["holders"]
EOF2
}
check "one task, with what its fields point to and who points at it, and no values" one

# --- What nobody holds -------------------------------------------------------------------------

# On a machine with other things to do some are seen; that it is not many shows that all roots were searched.
few() {
	python3 - <<'EOF2'
import json
doc = json.load(open("unreachable.json"))
print(doc["unreachable_objects"], doc["all_objects"], doc["unreachable"][:20])
assert doc["seen_twice"] and doc["unreachable_objects"] * 1000 < doc["all_objects"]
for row in doc["unreachable"]:
    assert row["type"] not in ("eventpoll", "k_itimer", "mqueue_inode_info", "task_struct"), row
EOF2
}
check "nearly all objects are reached, and all that the program holds" few
check "one snapshot is one look" says 'one look' "$KMEMSCOPE" heap unreachable --from held.snap --top 3
check "two snapshots are two" says 'held by nobody$' "$KMEMSCOPE" heap unreachable --from held.snap held.snap --top 3

# --- And gone ----------------------------------------------------------------------------------

exec 9>&-
wait
gone() {
	must "$KMEMSCOPE" heap types --json >after.json
	python3 - <<'EOF2'
import json
rows = json.load(open("after.json"))["types"]
made = {}
for line in open("held"):
    made[line.split()[0]] = made.get(line.split()[0], 0) + int(line.split()[1])
for kind, count in (("eventpoll", made["epolls"]), ("k_itimer", made["timers"]), ("socket_alloc", made["sockets"]),
                    ("pipe_inode_info", made["pipes"]), ("mqueue_inode_info", made["queues"]), ("file", made["files"])):
    left = sum(r["objects"] for r in rows if r["type"] == kind)
    print(kind, left)
    assert left < count // 2
EOF2
}
for _ in $(seq 50); do
	gone >/dev/null 2>&1 && break
	sleep 0.2
done
check "all of them vanish with their task" gone
done_testing
