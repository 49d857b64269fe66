#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exports, read by the programs that they are for: the totals must be those of the report. Files that are broken
# on purpose must be refused, which shows that the programs check what they read.
. "$(dirname "$0")/lib.sh"
: "${KMEMGEN:?the path of the generator}" "${TABLEGEN:?the path of the generator of tables}"
exports=$tests/exports

"$KMEMGEN" --events 40000 --sites 120 --seed 5 >log
must "$KMEMSCOPE" report --json log >report.json
total() { # NAME
	python3 -c 'import json, sys; print(json.load(open("report.json"))["total"][sys.argv[1]])' "$1"
}
export_as() { # FORMAT FILE OPTION...
	local format=$1 file=$2
	shift 2
	must "$KMEMSCOPE" export --format "$format" -o "$file" "$@" log >/dev/null
}
refused() { # COMMAND...
	! "$@"
}
allocs=$(total allocs) bytes=$(total total_bytes) live_objects=$(total live_objects) live=$(total live_bytes)
for format in pprof speedscope collapsed chrome csv json parquet; do
	check "$format is written" export_as $format out.$format
done
for format in csv json parquet; do
	check "$format of objects is written" export_as $format objects.$format --table objects
done

# What was written, for programs.
written() { # FILE FIELD...
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(*(d.get(f) for f in sys.argv[2:]))' "$@"
}
must "$KMEMSCOPE" export --format csv --json -o written.csv log >written.json
check "--json: what was written" [ "$(written written.json schema file format table bytes rows)" = "kmemscope-written-1 written.csv csv sites $(stat -c %s out.csv) $(($(wc -l <out.csv) - 1))" ]
must "$KMEMSCOPE" export --format json --table objects --json -o written.objects log >written.json
check "--json: of objects" [ "$(written written.json table bytes rows)" = "objects $(stat -c %s objects.json) $allocs" ]
must "$KMEMSCOPE" flame --json -o written.svg log >written.json
check "--json: of a flame graph" [ "$(written written.json format bytes)" = "svg $(stat -c %s written.svg)" ]
must "$KMEMSCOPE" html --json -o written.html log >written.json
check "--json: of a page" [ "$(written written.json format bytes)" = "html $(stat -c %s written.html)" ]
for command in "export --format csv" flame "html -o -"; do
	check "${command%% *} --json: not where the file goes to standard output" fails_saying 2 'name a file' bash -c '"$0" $1 --json log' "$KMEMSCOPE" "$command"
done

# pprof.
if command -v go >/dev/null; then
	export PPROF_TMPDIR=$scratch
	pprof_sums() {
		go tool pprof -raw "$1" 2>/dev/null | awk '/^Locations/ { exit } /^ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ { for (i = 1; i <= 4; i++) { sub(":", "", $i); s[i] += $i } } END { print s[1] + 0, s[2] + 0, s[3] + 0, s[4] + 0 }'
	}
	check "pprof: the totals of all four types" [ "$(pprof_sums out.pprof)" = "$allocs $bytes $live_objects $live" ]
	check "pprof: the types" says 'alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes' go tool pprof -raw out.pprof
	check "pprof: the first function is the report's" bash -c 'want=$(must "$0" report --by function --top 1 --csv log | tail -1 | cut -d, -f1); go tool pprof -top -nodecount 3 out.pprof 2>/dev/null | grep -q " $want\$"' "$KMEMSCOPE"
	check "pprof: the default is what is in use" says '^Type: inuse_space' go tool pprof -top out.pprof
	check "pprof: the quality" says 'implied frees' go tool pprof -comments out.pprof
	check "pprof: every sample has its site's own location" [ "$(go tool pprof -raw out.pprof 2>/dev/null | awk '/^Locations/ { exit } /^ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ { print $5 }' | sort -u | wc -l)" = "$(must "$KMEMSCOPE" report --csv log | tail -n +2 | wc -l)" ]
	head -c 2000 out.pprof >cut.pprof
	check "pprof: half a file is refused" refused go tool pprof -raw cut.pprof
	python3 -c 'import gzip; d = gzip.open("out.pprof").read(); gzip.open("stray.pprof", "w").write(d + bytes.fromhex("120a0a0290601204010101010a"[:24]))'
	check "pprof: a sample of an unknown location is refused" refused go tool pprof -raw stray.pprof
else
	skip "pprof" "there is no go"
fi

# By call stack: two call stacks of one site, and two caches.
event() { # SECOND PTR SITE CACHE BYTES FRAME...
	printf ' x-1 [000] .... %s.0: kmem_cache_alloc: call_site=%s+0x1/0x9 ptr=ffff88800000%s name=%s bytes_req=%s bytes_alloc=%s gfp_flags=GFP_KERNEL\n' "$1" "$3" "$2" "$4" "$5" "$5"
	[ $# = 5 ] || { printf ' x-1 [000] .... %s.0: <stack trace>\n' "$1"; printf ' => %s\n' kmem_cache_alloc "$3" "${@:6}"; }
}
{
	event 1 1000 make_file filp 100 open_it sys_open
	event 2 2000 make_file filp 20 open_it sys_open
	event 3 3000 make_file filp 3 accept_it sys_accept
	event 4 4000 make_file other 4000 accept_it sys_accept
	event 5 5000 lonely filp 50000
} >stacks.log
must "$KMEMSCOPE" import -o stacks.db stacks.log >/dev/null
printf '%s\n' '[kernel];lonely;lonely+0x1 50000' 'sys_accept;accept_it;make_file;make_file+0x1 4003' 'sys_open;open_it;make_file;make_file+0x1 120' >want
stacks_of() { # FILE OPTION...
	must "$KMEMSCOPE" export --format collapsed "${@:2}" "$1" | sort | diff - want
}
for file in stacks.log stacks.db; do
	check "collapsed, $file: by call stack" stacks_of $file
	must "$KMEMSCOPE" export --format speedscope $file >stacks.speedscope
	check "speedscope, $file: by call stack" python3 -c 'import json
doc = json.load(open("stacks.speedscope"))
names = [f["name"] for f in doc["shared"]["frames"]]
live = doc["profiles"][0]
got = sorted(";".join(names[i] for i in s) + " %d" % w for s, w in zip(live["samples"], live["weights"]))
assert got == sorted(open("want").read().splitlines()), got'
	must "$KMEMSCOPE" export --format pprof -o stacks.pprof $file >/dev/null
	if command -v go >/dev/null; then
		check "pprof, $file: by call stack" says '4003B +[0-9.]+% \| +accept_it' go tool pprof -unit bytes -peek '^make_file$' stacks.pprof
		check "pprof, $file: the caches are tags" says '4000.*B.*other' go tool pprof -unit bytes -tags stacks.pprof
		check "pprof, $file: of one of them alone" says 'accounting for 50123B,' go tool pprof -unit bytes -top -nodefraction 0 -tagfocus cache=filp stacks.pprof
	else
		skip "pprof, $file: stacks" "there is no go"
	fi
done
printf '%s\n' '[kernel];lonely;lonely+0x1 50000' '[kernel];make_file;make_file+0x1 4123' >want
check "collapsed: by place with --frames place" stacks_of stacks.log --frames place
check "the same of a DB" stacks_of stacks.db --frames place
check "no such frames" fails_saying 2 "frames 'x': choose stack or place" "$KMEMSCOPE" export --format pprof --frames x stacks.log

# speedscope in a real browser, which shows the totals of its profiles in a list.
if ! command -v chromium >/dev/null; then
	skip "speedscope" "there is no chromium"
elif ! speedscope=$("$exports/fetch.py" speedscope 2>reason); then
	skip "speedscope" "$(cat reason)"
else
	browse() { # FILE [VIEW]: the text of the page, a line an element
		# speedscope reports errors in a dialog, which nobody would close here.
		printf 'window.alert = () => {}; speedscope.loadFileFromBase64("%s", "%s")\n' "$1" "$(base64 -w0 "$1")" >load.js
		timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
			--allow-file-access-from-files --user-data-dir="$scratch/browser" \
			--virtual-time-budget=10000 --dump-dom \
			"file://$speedscope/dist/release/index.html#localProfilePath=$scratch/load.js&view=${2:-sandwich}" 2>/dev/null |
			sed 's/<[^>]*>/\n/g' | grep -v '^ *$'
	}
	# browse_until TEXT FILE: on a busy machine the page may not be complete in time; then tries twice more.
	browse_until() {
		local try
		for try in 1 2 3; do
			browse "$2" >page
			grep -qF -e "$1" page && return
		done
	}
	# As speedscope prints bytes.
	human() {
		awk -v b="$1" 'BEGIN { if (b < 1024) printf "%d B", b; else if (b < 1048576) printf "%.2f KB", b / 1024; else printf "%.2f MB", b / 1048576 }'
	}
	commas() {
		sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<<"$1"
	}
	check "speedscope: each profile ends where its weights do" python3 -c 'import json
for p in json.load(open("out.speedscope"))["profiles"]:
    assert p["startValue"] == 0 and p["endValue"] == sum(p["weights"]) > 0 and len(p["weights"]) == len(p["samples"]), p["name"]'
	browse_until "$(commas "$allocs")" out.speedscope
	check "speedscope: the profile is shown" grep -qx 'kernel slab memory - speedscope' page
	check "speedscope: live bytes" bash -c 'grep -A1 -x "live bytes" page | grep -qx "$0"' "$(human "$live")"
	check "speedscope: all bytes" bash -c 'grep -A1 -x "bytes allocated in all" page | grep -qx "$0"' "$(human "$bytes")"
	check "speedscope: waste" bash -c 'grep -A1 -x "wasted live bytes" page | grep -qx "$0"' "$(human "$(total waste)")"
	check "speedscope: live objects" bash -c 'grep -A1 -x "live objects" page | grep -qx "$0"' "$(commas "$live_objects")"
	check "speedscope: allocations" bash -c 'grep -A1 -x "allocations" page | grep -qx "$0"' "$(commas "$allocs")"
	sed -E '0,/^( +)[0-9]+,$/s//\199999,/' out.speedscope >stray.speedscope
	browse stray.speedscope >page
	check "speedscope: a missing frame is refused" refused grep -qx 'kernel slab memory - speedscope' page
	first_site=$(head -1 out.collapsed | sed 's/.*;//; s/ [0-9]*$//')
	browse_until "$first_site" out.collapsed
	check "collapsed stacks: speedscope reads them" grep -qx 'out.collapsed - speedscope' page
	check "collapsed stacks: and finds the first site" grep -qF -e "$first_site" page
	sed 's/ [0-9]*$//' out.collapsed >broken.collapsed
	browse broken.collapsed >page
	check "collapsed stacks: without numbers they are refused" refused grep -qx 'broken.collapsed - speedscope' page
fi

# Collapsed stacks.
check "collapsed: the sum" [ "$(awk '{ s += $NF } END { print s }' out.collapsed)" = "$live" ]
export_as collapsed total.collapsed --measure total
check "collapsed: another measure" [ "$(awk '{ s += $NF } END { print s }' total.collapsed)" = "$bytes" ]
check "collapsed: the form" bash -c '! grep -vqE "^[^; ]+(;[^;]+)+ [0-9]+$" out.collapsed'

# Chrome's counters: no consumer here shows them, so the rules of the format are checked.
chrome() {
	python3 - "$1" <<-'PY'
		import json, sys
		live, doc = int(sys.argv[1]), json.load(open("out.chrome"))
		events = doc["traceEvents"]
		assert all(e["ph"] in "MC" and isinstance(e["pid"], int) and e["name"] for e in events)
		counters = [e for e in events if e["ph"] == "C"]
		assert all(isinstance(v, int) and v >= 0 for e in counters for v in e["args"].values())
		series = {}
		for e in counters:
		    series.setdefault(e["name"], []).append((e["ts"], e["args"]["bytes"]))
		assert all(p == sorted(p) for p in ([t for t, _ in s] for s in series.values())), "times go back"
		assert series["live bytes"][-1][1] == live, series["live bytes"][-1]
		assert len(series) == 22, len(series)
	PY
}
check "chrome: counters over time, which end at the live bytes" chrome "$live"
rate_sum() {
	python3 -c 'import json
rates = [e for e in json.load(open("out.chrome"))["traceEvents"] if e["name"] == "bytes allocated a second"]
width = (rates[1]["ts"] - rates[0]["ts"]) / 1e6
print(round(sum(e["args"]["bytes"] for e in rates) * width / int("'"$bytes"'"), 3))'
}
check "chrome: rates times their buckets are all bytes" [ "$(rate_sum)" = 1.0 ]

# Tables.
check "csv: the sum" [ "$(awk -F, 'NR > 1 { s += $4 } END { print s }' out.csv)" = "$live" ]
check "csv of objects: a row per object" [ "$(awk -F, 'NR > 1 { n++; s += $6; if ($12 == "live") l += $6 } END { print n, s, l }' objects.csv)" = "$allocs $bytes $live" ]
check "csv of objects: implied frees" [ "$(grep -c ,implied, objects.csv)" = "$(total implied_frees)" ]
check "csv of objects: frees" [ "$(grep -c ,freed, objects.csv)" = "$(total frees)" ]
# One object followed by hand: the first kmalloc that a kfree ends, on another CPU.
first=$(awk -F, '$2 == "kmalloc" && $12 == "freed" && $9 != $15 { print; exit }' objects.csv)
IFS=, read -r address _ site _ req alloc _ alloc_ts alloc_cpu pid _ _ end_ts free_site free_cpu <<<"$first"
seconds() {
	sed -E 's/([0-9]{6})[0-9]{3}$/.\1/' <<<"$1"
}
check "csv of objects: its allocation is in the log" grep -qE -e "-$pid +\[0*$alloc_cpu\] .* $(seconds "$alloc_ts"): kmalloc: call_site=${site/+/[+]}/.*ptr=${address#0x} .*bytes_req=$req bytes_alloc=$alloc " log
check "and its free" grep -qE -e "\[0*$free_cpu\] .* $(seconds "$end_ts"): k(free|mem_cache_free): call_site=${free_site/+/[+]}.*ptr=${address#0x}" log
check "json of sites is the report" bash -c 'diff <(grep -v schema report.json) <(grep -v schema out.json)'
json_sum='import json; o = json.load(open("objects.json"))["objects"]; print(len(o), sum(x["bytes_allocated"] for x in o), sum(x["bytes_allocated"] for x in o if x["end"] == "live"))'
check "json of objects: the sums" [ "$(python3 -c "$json_sum")" = "$allocs $bytes $live" ]

# DuckDB, for Parquet and also for CSV and JSON.
if ! library=$("$exports/fetch.py" @duckdb/node-bindings-linux-x64 2>reason); then
	skip "DuckDB" "$(cat reason)"
elif ! "$exports/duckdb.py" "$library/libduckdb.so" 'select 1' >/dev/null 2>reason; then
	skip "DuckDB" "$(tail -1 reason)"
else
	ask() {
		"$exports/duckdb.py" "$library/libduckdb.so" "$1"
	}
	sites='count(*), sum(allocs), sum(total_bytes), sum(live_bytes), sum(waste)'
	check "parquet: the totals of the sites" [ "$(ask "select $sites from 'out.parquet'")" = "$(total callers)|$allocs|$bytes|$live|$(total waste)" ]
	check "parquet: every number is the CSV's" [ "$(ask "select count(*) from (select site, total_bytes, total_requested, live_bytes, live_requested, live_objects, peak_bytes, allocs, frees, implied_frees, failed, peak_ts, first_ts, last_ts, waste from 'out.parquet' except select site, total_bytes, total_requested, live_bytes, live_requested, live_objects, peak_bytes, allocs, frees, implied_frees, failed, peak_ts, first_ts, last_ts, waste from read_csv('out.csv'))")" = 0 ]
	objects="count(*), sum(bytes_allocated), sum(bytes_allocated) filter (\"end\" = 'live'), count(end_ts), count(free_site)"
	check "parquet: the totals of the objects" [ "$(ask "select $objects from 'objects.parquet'")" = "$allocs|$bytes|$live|$(($(total frees) + $(total implied_frees)))|$(total frees)" ]
	columns='kind, site, cache, bytes_requested, bytes_allocated, gfp, alloc_ts, alloc_cpu, pid, comm, "end", end_ts, free_site, free_cpu'
	check "parquet: every object is the CSV's" [ "$(ask "select count(*) from (select printf('0x%x', address), $columns from 'objects.parquet' except select address, $columns from read_csv('objects.csv'))")" = 0 ]
	must "$TABLEGEN" 1000 >kinds.parquet
	check "parquet: every kind of column" [ "$(ask "select count(distinct name), max(big), min(small), sum(signed), count(*) filter (flag), count(ratio), sum(ratio), round(sum(share), 3), sum(delta), count(maybe), count(*) filter (maybe) from 'kinds.parquet'")" = "1000|18446744073709551615|4294966296|-499500|334|800|50000.0|499.5|-499500|500|250" ]
	check "parquet: the types of the columns" [ "$(ask "select string_agg(column_type, ' ') from (describe select * from 'kinds.parquet')")" = "VARCHAR UBIGINT UINTEGER BIGINT BOOLEAN DOUBLE DOUBLE BIGINT BOOLEAN" ]
	check "parquet: compressed with zstd" [ "$(ask "select distinct compression from parquet_metadata('objects.parquet')")" = ZSTD ]
	check "json: DuckDB reads the objects" [ "$(ask "select count(*), sum(o.bytes_allocated) from (select unnest(objects) as o from read_json('objects.json', maximum_object_size = 100000000))")" = "$allocs|$bytes" ]
	head -c -100 objects.parquet >cut.parquet
	check "parquet: half a file is refused" refused ask "select count(*) from 'cut.parquet'"
	python3 -c 'd = bytearray(open("objects.parquet", "rb").read()); d[1000:1100] = bytes(100); open("damaged.parquet", "wb").write(d)'
	check "parquet: a damaged page is refused" refused ask "select count(*), sum(address), count(site), count(kind) from 'damaged.parquet'"
	# More rows than a group holds, and none at all.
	"$KMEMGEN" --events 700000 --seed 8 --clean >large
	must "$KMEMSCOPE" export --format parquet --table objects -o large.parquet large >/dev/null
	must "$KMEMSCOPE" report --json large >report.json
	check "parquet: several groups of rows" [ "$(ask "select count(*), sum(bytes_allocated) from 'large.parquet'")" = "$(total allocs)|$(total total_bytes)" ]
	check "parquet: there are several" [ "$(ask "select count(distinct row_group_id) > 1 from parquet_metadata('large.parquet')")" = true ]
	must "$KMEMSCOPE" export --format parquet --table objects --comm nobody -o none.parquet log >/dev/null
	check "parquet: no rows" [ "$(ask "select count(*) from 'none.parquet'")" = 0 ]
fi

# The same output from a DB, and through a pipe.
must "$KMEMSCOPE" import -o db log >/dev/null
for format in pprof speedscope collapsed chrome csv json parquet; do
	must "$KMEMSCOPE" export --format $format db | cat >from-db
	check "$format: the same from a DB, through a pipe" cmp out.$format from-db
done
for format in csv json parquet; do
	must "$KMEMSCOPE" export --format $format --table objects db | cat >from-db
	check "$format of objects: the same from a DB, through a pipe" cmp objects.$format from-db
done

# Names from a trace with characters that are special in a format.
printf ' x-1 [000] .... 1.0: kmalloc: call_site=a;b"c\\\377<d>+0x1/0x2 ptr=00000000a24afd00 bytes_req=1 bytes_alloc=8 gfp_flags=GFP_KERNEL\n' >hostile
check "a semicolon in a name does not separate frames" says '^\[kernel\];a:b"c\\\\xff<d>;a:b"c\\\\xff<d>\+0x1 8$' "$KMEMSCOPE" export --format collapsed hostile
check "JSON stays JSON" bash -c 'must "$0" export --format speedscope hostile | python3 -m json.tool && must "$0" export --format json --table objects hostile | python3 -m json.tool' "$KMEMSCOPE"

check "a format must be named" fails_saying 2 'no format given' "$KMEMSCOPE" export log
check "an unknown format" fails_saying 2 "format 'svg': choose pprof" "$KMEMSCOPE" export --format svg log
check "an unknown table" fails_saying 2 "table 'x': choose sites or objects" "$KMEMSCOPE" export --format csv --table x log
check "no objects in a profile" fails_saying 2 'pprof cannot hold objects' "$KMEMSCOPE" export --format pprof --table objects log
check "a full disk" fails_saying 1 '/dev/full: cannot write: No space' "$KMEMSCOPE" export --format csv --table objects -o /dev/full log
check "full standard output" fails_saying 1 'standard output: cannot write: No space' bash -c '"$0" export --format parquet --table objects log >/dev/full' "$KMEMSCOPE"
check "a failed export leaves no file" bash -c '! "$0" export --format csv --table objects -o made /dev/null 2>/dev/null && [ -z "$(ls made* 2>/dev/null)" ]' "$KMEMSCOPE"
check "a binary format is not for terminals" ends_saying 2 'pprof is binary' script -qec "'$KMEMSCOPE' export --format pprof log" /dev/null
check "--strict" fails_saying 4 'lost events' "$KMEMSCOPE" export --strict --format csv -o out.csv log
done_testing
