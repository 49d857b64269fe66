#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kmemscope kmap lives and sharing, compared with the same numbers from a list of all objects.
. "$(dirname "$0")/lib.sh"

kmap() { must "$KMEMSCOPE" kmap "$@"; }

# 3,000 objects of three sites, three processes with two threads each, two processors, and interrupts. The text has one line an object.
cat >make.py <<'PY'
import random, struct, sys
random.seed(5)
out = open("map.bin", "wb")
out.write(struct.pack("<IHHIIQQQ24sII", 0x4d5a4b31, 1, 72, 128, 4000000, 0, 0, 0xffffffff81000000, b"f", 56, 0))
listing = open("map.list", "w")
for i in range(3000):
    site = 0xffffffff81000100 + 0x100 * random.choice((0, 0, 0, 1, 1, 2))
    size, life = random.choice((8, 24, 100, 700, 5000)), int(random.expovariate(1e-5))
    tgid = random.choice((10, 20, 30))
    pid, cpu = tgid + random.choice((0, 1)), random.randrange(2)
    ended = random.random() < .9
    begin = 1000 + i * 100
    uses = [(random.choice((10, 11, 20, 21, 30, 31, -1)), random.randrange(2), random.randrange(1, 9)) for _ in range(random.randrange(4))]
    out.write(struct.pack("<QQQQQQQIiiHBBII16s32s", (1 << 40) + i * 8192, site, 0xffffffff81000900 if ended else 0, begin,
        begin + life if ended else 0, size, size, 0, pid, tgid, cpu, 1, 0, int(ended), len(uses), b"p%d" % tgid, b"x"))
    for user, on, count in uses:
        context = 1 if user < 0 else 0
        out.write(struct.pack("<QQQQQiBBHII", 0xffffffff81000800, 0, count, 0, 8 * count, user, context, 1, on, 0, 0))
    print(hex(site), size, life if ended else -1, tgid, pid, cpu, ";".join("%d:%d:%d" % u for u in uses) or "-", file=listing)
PY
python3 make.py

# An independent account: percentiles of sorted lists, pairs and sets of users by object.
cat >account.py <<'PY'
import collections, csv, json, math, subprocess, sys
kmemscope = sys.argv[1]
def ask(*args):
    return json.loads(subprocess.run([kmemscope, "kmap", *args, "--top", "0", "--json", "map.bin"], check=True, capture_output=True).stdout)
objects = []
for line in open("map.list"):
    site, size, life, tgid, pid, cpu, uses = line.split()
    uses = [] if uses == "-" else [tuple(map(int, u.split(":"))) for u in uses.split(";")]
    objects.append((site, int(size), int(life), int(tgid), int(pid), int(cpu), uses))
wrong = 0
def near(what, got, want):
    global wrong
    if got != want if want < 64 else not want <= got <= want * 33 / 32:
        wrong += 1
        print("#", what, "is", got, "not", want)
def rank(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]
lives = {row["group"]: row for row in ask("lives", "--by", "site")["lives"]}
for site in sorted({o[0] for o in objects}):
    of = [o for o in objects if o[0] == site]
    ended = [o[2] for o in of if o[2] >= 0]
    row = lives[site]
    assert row["objects"] == len(of) and row["ended"] == len(ended), row
    for p in (50, 90, 99):
        near(f"life {p}", row[f"life_p{p}"], rank(ended, p))
        near(f"size {p}", row[f"size_p{p}"], rank([o[1] for o in of], p))
    assert row["life_max"] == max(ended) and row["size_max"] == max(o[1] for o in of), row
doc = ask("lives", "--by", "site")
for name, values in (("life_histogram", [o[2] for o in objects if o[2] >= 0]), ("size_histogram", [o[1] for o in objects])):
    got = {(r["from"], r["to"]): r["objects"] for r in doc[name]}
    want = collections.Counter((1 << v.bit_length() - 1 if v else 0, (1 << v.bit_length()) - 1) for v in values)
    if got != want:
        wrong += 1
        print("#", name, got, want)
print("ok" if not wrong else "wrong", "lives")
wrong = 0
doc = ask("sharing", "--by", "site")
name = lambda pid: "[interrupts]" if pid < 0 else "p%d (%d)" % (pid // 10 * 10, pid // 10 * 10)
pairs, cpus = collections.Counter(), collections.Counter()
for o in objects:
    for user, on, count in o[6]:
        pairs[name(o[4]), name(user)] += count
        cpus[o[5], on] += count
if {(r["allocated_by"], r["used_by"]): r["accesses"] for r in doc["processes"]} != pairs:
    wrong += 1
    print("# processes", doc["processes"], pairs)
if {(r["allocated_on"], r["used_on"]): r["accesses"] for r in doc["cpus"]} != cpus:
    wrong += 1
    print("# processors", doc["cpus"], cpus)
for site in sorted({o[0] for o in objects}):
    of = [(o[4], {u[0] for u in o[6]}, {u[1] for u in o[6]}) for o in objects if o[0] == site]
    want = dict(used=sum(bool(u) for _, u, _ in of), by_tasks=sum(len(u) > 1 for _, u, _ in of), by_cpus=sum(len(c) > 1 for _, _, c in of),
        most_tasks=max(len(u) for _, u, _ in of), most_cpus=max(len(c) for _, _, c in of), elsewhere=sum(bool(u) and p not in u for p, u, _ in of))
    row = next(r for r in doc["shared"] if r["group"] == site)
    if any(row[k] != v for k, v in want.items()):
        wrong += 1
        print("#", row, want)
print("ok" if not wrong else "wrong", "sharing")
PY
python3 account.py "$KMEMSCOPE" >account.said
cat account.said | sed -n 's/^#/# &/p'
check "percentiles and histograms are those of the list" grep -qx 'ok lives' account.said
check "processes, processors and sharing, too" grep -qx 'ok sharing' account.said
check "people read times" says 'life times:' kmap lives map.bin
printf '0               ,0,ffffffff82000000,16,5,9,0000000000000000,GLOBAL,x,no-slab,\n  ffffffff81000800,0,1,1\n' >global
check "what no code allocated has no life" says '^ +1 +0 +- ' kmap lives global
printf 'ffffffff81000100,1,ffff8880000000%s0,%s,5,9,ffffffff81000900,KMALLOC,x,y,\n' 0 10 1 20 >two
check "of two objects half are not larger than the smaller" equal "$(kmap lives --csv two | awk -F, 'NR == 2 { print $7, $8 }')" '10 20'
kmap convert --to seed -o map.seed map.bin 2>/dev/null
check "text has no processors" eval '! kmap sharing map.seed | grep -q ^processors'
done_testing
