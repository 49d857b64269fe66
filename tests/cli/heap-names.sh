#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What heap show calls single objects of the kernel that runs here: paths of dentries and files, addresses of sockets,
# tasks; who pays for one, and who points at it. All of them belong to one program that waits for us.
. "$(dirname "$0")/lib.sh"

status=0
"$KMEMSCOPE" heap --json >census.json 2>refused || status=$?
[ $status = 0 ] || skip_all "$(head -c 200 refused)"

# A memory cgroup of its own, in either of the two hierarchies that Linux has.
mine=
cleanup() { [ -z "$mine" ] || rmdir "$mine"; }
for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	mkdir "$top/kmemscope-names-$$" 2>/dev/null || continue
	[ ! -e "$top/kmemscope-names-$$/memory.stat" ] || { mine=$top/kmemscope-names-$$ && break; }
	rmdir "$top/kmemscope-names-$$"
done

cat >named.py <<'PYTHON'
import json, os, socket, sys
if sys.argv[1]:
    open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
open("/proc/self/comm", "w").write("ks-named")
os.makedirs("shelf/box")
held = [open("shelf/box/a file with a name that is too long for the dentry itself", "w")]
named = {"path": os.path.realpath(held[0].name)}
for family, host, key in ((socket.AF_INET, "127.0.0.1", "four"), (socket.AF_INET6, "::1", "six")):
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError:
        continue
    client = socket.create_connection((host, server.getsockname()[1]))
    held += [server, client, server.accept()[0]]
    where = f"[{host}]" if family == socket.AF_INET6 else host
    named[key] = [f"{where}:{client.getsockname()[1]} -> {where}:{server.getsockname()[1]}",
                  f"{where}:{server.getsockname()[1]} -> {where}:{client.getsockname()[1]}"]
# A short name in front of a long one: what is behind a name in memory must not be shown.
for name in ("shelf/socket", "\0ks-named-" + str(os.getpid()), "\0ks\0" + str(os.getpid())):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].bind(name)
named["unix"] = ["unix:shelf/socket", f"unix:@ks-named-{os.getpid()}", f"unix:@ks@{os.getpid()}"]
named["task"] = f"ks-named/{os.getpid()}"
json.dump(named, open("named.new", "w"))
os.rename("named.new", "named.json")
sys.stdin.read()
PYTHON
mkfifo end
python3 named.py "$mine" <end &
exec 9>end
for _ in $(seq 600); do
	[ ! -e named.json ] || break
	sleep 0.1
done
check "there is something to be named" [ -s named.json ]

for what in file tcp_sock tcp6_sock unix_sock task_struct; do
	# A type of which there is no object is none of ours.
	"$KMEMSCOPE" heap show --json --top 10000000 $what >$what.json 2>/dev/null || echo '{"objects": []}' >$what.json
done

# names FILE EXPRESSION: of "names", the rows by name, and "named", what the program made.
names() {
	python3 - "$@" <<'PYTHON'
import json, sys
names = {}
for row in json.load(open(sys.argv[1]))["objects"]:
    names.setdefault(row["name"], []).append(row)
named = json.load(open("named.json"))
print(named, [name for name in names if "ks" in name or "shelf" in name or "127.0.0.1" in name])
sys.exit(not eval("(" + sys.argv[2] + ")"))
PYTHON
}
# The name is the path in its filesystem, which may be mounted anywhere.
ends='[rows for name, rows in names.items() if named["path"].endswith(name) and name.endswith("/shelf/box/" + named["path"].split("/")[-1])]'
check "a file by its path" names file.json "len($ends) == 1"
check "sockets by their addresses" names tcp_sock.json 'all(len(names[n]) == 1 for n in named["four"])'
if grep -q '"six"' named.json; then
	check "also of IPv6" names tcp6_sock.json 'all(len(names[n]) == 1 for n in named["six"])'
else
	skip "also of IPv6" "no IPv6 here"
fi
check "sockets by their path, and abstract names to their end" names unix_sock.json 'all(len(names[n]) == 1 for n in named["unix"])'
check "a task by its command and number" names task_struct.json 'len(names[named["task"]]) == 1'
if [ -n "$mine" ]; then
	check "the file is charged to the cgroup of the program" \
		names file.json "${ends}[0][0][\"cgroup\"] == \"/${mine##*/}\""
else
	skip "the file is charged to the cgroup of the program" "no memory cgroup here"
fi

# The file itself, and its dentry.
address=$(must names file.json "print('at', ${ends}[0][0]['address']) or True" | sed -n 's/^at //p')
must "$KMEMSCOPE" heap show --json "$address" >one.json
one() {
	python3 - "${mine##*/}" <<'PYTHON'
import json, sys
doc, path = json.load(open("one.json")), json.load(open("named.json"))["path"]
assert (doc["type"], doc["cache"], doc["known_by"]) == ("file", "filp", "cache"), doc
assert path.endswith(doc["name"]) and doc["name"].endswith("/shelf/box/" + path.split("/")[-1]), doc["name"]
assert not sys.argv[1] or doc["cgroup"] == "/" + sys.argv[1], doc["cgroup"]
fields = {f["field"]: f for f in doc["fields"]}
assert fields["f_path.dentry"]["points_to"] == "dentry " + doc["name"], fields
assert "()" in fields["f_op"]["points_to"], fields
held = {(h["holder"], h["field"]) for h in doc["holders"]}
assert {h for h in held if h[0] in ("file *[]", "files_struct")}, held
assert all("value" not in f for f in doc["fields"])
print(fields["f_path.dentry"]["address"], file=open("dentry", "w"))
PYTHON
}
check "one file: its type, name, charge, fields, the table that holds it, and no values" one
must "$KMEMSCOPE" heap show --contents --top 3 "$(cat dentry)" >dentry.txt
check "its dentry has the same path" grep -qE '^name: .*/shelf/box/a file with a name' dentry.txt
check "its contents, where asked for" grep -qE '^ +offset +value +field' dentry.txt
check "as many fields as asked for" grep -qE '\.\.\. and [0-9]+ more fields' dentry.txt

# Of no known type, by what they have in common: any kernel has some that are text or point somewhere.
must "$KMEMSCOPE" heap types --json >types.json
common() {
	python3 - <<'PYTHON'
import json, re
found = [r["contents"] for r in json.load(open("types.json"))["types"] if r["known_by"] == "unknown" and "contents" in r]
print(found)
assert found and all(re.fullmatch(r"(text|zeros|[+]0x[0-9a-f]+ -> .+) in \d+ of \d+", text) for text in found)
assert all("contents" not in r for r in json.load(open("types.json"))["types"] if r["known_by"] != "unknown")
PYTHON
}
check "types that are not known, with their commonest contents" common

exec 9>&-
wait
done_testing
