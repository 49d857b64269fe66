#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fragmentation, leaks and filters, compared with sums over the same list of events that are computed here.

Prints TAP. A DB made from the capture must give the same results.
"""
import collections
import itertools
import csv
import io
import json
import os
import pathlib
import random
import re
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / 'lib')]
from tap import check, finish, run  # noqa: E402
import build as b  # noqa: E402

KMEMSCOPE = os.environ['KMEMSCOPE']
COMMS = {10: 'alpha', 20: 'beta'}


def ask(*args):
    done = run(KMEMSCOPE, *args)
    return json.loads(done.stdout) if done.returncode == 0 else {'error': done.stderr}


def make_events(m):
    """Objects of a few sites. Most are freed on any CPU, and some are not."""
    rng, events, live, ts = random.Random(9), [], [], 5_000_000_000
    sites = [m.text + 0x123, m.text + 0x124, m.text + 0x345, m.text + 0x1020]
    for i in range(4000):
        ts += rng.randrange(1000, 9000)
        base = {'ts': ts, 'cpu': rng.randrange(2), 'pid': rng.choice([10, 20])}
        if live and rng.random() < 0.45:
            victim = live.pop(rng.randrange(len(live)))
            kind = 'kfree' if victim['kind'] == 'kmalloc' else 'kmem_cache_free'
            events.append(dict(base, kind=kind, ptr=victim['ptr'], site=m.text + 0x400, cache='cachex', of=victim))
            continue
        kind = rng.choice(['kmalloc', 'kmem_cache_alloc'])
        req = rng.randrange(1, 300)
        ev = dict(base, kind=kind, ptr=0xffff888000000000 + 4096 * (i + 1), site=rng.choice(sites), req=req,
                  alloc=(req + 31) // 32 * 32, gfp=0xcc0, node=rng.choice([-1, -1, 0, 1]),
                  cache=rng.choice(['cachea', 'cacheb']))
        events.append(ev)
        live.append(ev)
    return events


def label(m, site):
    at = site - m.text
    if at >= 0x1000:
        return 'mod_function+%#x [testmod]' % (at - 0x1000)
    return 'second_function+%#x' % (at - 0x300) if at >= 0x300 else 'first_function+%#x' % (at - 0x100)


def sums(events, key, passes=lambda ev: True, since=0, until=2 ** 63):
    """By key: the expected report of the allocations that pass the filter."""
    rows = collections.defaultdict(lambda: collections.Counter())
    for ev in events:
        alloc = ev.get('of', ev)
        if not passes(alloc) or not since <= ev['ts'] < until or not since <= alloc['ts'] < until:
            continue
        for row in (rows[key(alloc)], rows[None]):
            if 'of' in ev:
                row['frees'] += 1
                row['live_bytes'] -= alloc['alloc']
                row['cross_cpu_frees'] += ev['cpu'] != alloc['cpu']
            else:
                row['allocs'] += 1
                row['live_bytes'] += ev['alloc']
                row['requested'] += ev['req']
                row['allocated'] += ev['alloc']
                row['node_requests'] += ev['node'] >= 0
                row['cross_node_requests'] += ev['node'] >= 0 and ev['node'] != ev['cpu']  # each CPU has its own node
    return rows


def matches(row, want, keys):
    return all(row.get(k) == want[k] for k in keys)


def test_frag(m, events, path, what):
    doc = ask('report', '--frag', '--json', path)
    keys = ('requested', 'allocated', 'allocs', 'frees', 'cross_cpu_frees', 'node_requests', 'cross_node_requests')
    by_site = sums(events, lambda e: label(m, e['site']))
    by_size = sums(events, lambda e: str(e['alloc']))
    check('fragmentation in all, %s' % what, matches(doc.get('total', {}), by_site[None], keys), doc.get('error', doc.get('total')))
    for name, member, want in (('site', 'sites', by_site), ('size', 'sizes', by_size)):
        rows = {r[name]: r for r in doc.get(member, [])}
        check('fragmentation by %s, %s' % (name, what), len(rows) == len(want) - 1 and
              all(matches(rows.get(k, {}), v, keys) for k, v in want.items() if k), rows)
        waste = [r['wasted'] for r in doc.get(member, [])]
        check('the most wasteful first', waste and waste == sorted(waste, reverse=True), waste)
    for top in (0, 1, 3, 1000):
        few = ask('report', '--frag', '--json', '--top', top, path)
        check('--top %d of both tables, %s' % (top, what), all(
            few.get(member) == doc[member][:top or None] for member in ('sites', 'sizes')), few)


def test_leaks(m, events, path, what):
    end = max(e['ts'] for e in events)
    freed = {id(e['of']) for e in events if 'of' in e}
    for min_age in (0, 5_000_000):
        alive = [e for e in events if 'of' not in e and id(e) not in freed and end - e['ts'] >= min_age]
        doc = ask('leaks', '--json', '--min-age', '%dns' % min_age, path)
        check('leaks at least %d ns old, %s' % (min_age, what), (doc.get('objects'), doc.get('bytes')) ==
              (len(alive), sum(e['alloc'] for e in alive)), doc)
        want = collections.defaultdict(list)
        for ev in alive:
            want[label(m, ev['site']), COMMS[ev['pid']]].append(ev)
        got = {(r['site'], r['comm']): [r['objects'], r['bytes'], r['oldest'], r['youngest'], r['mean_age'], r.get('pid'), r['allocs'], r['frees']]
               for r in doc.get('sites', [])}
        for (site, comm), evs in want.items():
            ages, pid = [end - e['ts'] for e in evs], evs[0]['pid']
            made = [e for e in events if 'of' not in e and label(m, e['site']) == site and e['pid'] == pid]
            want[site, comm] = [len(ages), sum(e['alloc'] for e in evs), max(ages), min(ages), sum(ages) // len(ages), pid,
                                len(made), sum(id(e) in freed for e in made)]
        check('a row for each site and process, %s' % what, got == want and len(got) == len(doc['sites']), (got, want))


def test_filters(m, events, path, what):
    middle = events[len(events) // 2]['ts']
    freed = {id(e['of']) for e in events if 'of' in e}
    cases = [(['--cpu', 1], lambda e: e['cpu'] == 1, 0, 2 ** 63), (['--pid', 20], lambda e: e['pid'] == 20, 0, 2 ** 63),
             (['--comm', 'alpha'], lambda e: e['pid'] == 10, 0, 2 ** 63),
             (['--comm', 'nobody'], lambda e: False, 0, 2 ** 63),
             (['--site', 'first_function'], lambda e: e['site'] - m.text in (0x123, 0x124), 0, 2 ** 63),
             (['--site', 'first_function+0x24'], lambda e: e['site'] - m.text == 0x124, 0, 2 ** 63),
             (['--site', 'mod_function+0x20'], lambda e: e['site'] - m.text == 0x1020, 0, 2 ** 63),
             (['--size', '64'], lambda e: e['alloc'] == 64, 0, 2 ** 63),
             (['--cache=cacheb'], lambda e: e['kind'] != 'kmalloc' and e['cache'] == 'cacheb', 0, 2 ** 63),
             (['--cache'], lambda e: e['kind'] != 'kmalloc', 0, 2 ** 63),
             (['--time', '%d.%09d,' % divmod(middle, 10 ** 9)], lambda e: True, middle, 2 ** 63),
             (['--time', ',%d.%09d' % divmod(middle, 10 ** 9), '--cpu', 0, '--pid', 10],
              lambda e: e['cpu'] == 0 and e['pid'] == 10, 0, middle)]
    for args, passes, since, until in cases[:-2]:
        alive = sum(e['alloc'] for e in events if 'of' not in e and passes(e) and id(e) not in freed)
        got = [ask('leaks', '--json', *args, path).get('bytes', 'none'), ask('account', '--json', *args, path)['total']['live_bytes'],
               ask('timeline', '--json', *args, path)['buckets'][-1]['live_bytes']]
        check('%s, leaks, account and timeline, %s' % (' '.join(map(str, args)), what), got == [alive] * 3, (got, alive))
    for args, passes, since, until in cases:
        want = sums(events, lambda e: label(m, e['site']), passes, since, until)
        doc = ask('report', '--json', *args, path)
        rows = {r['site']: r for r in doc.get('rows', [])}
        ok = all(matches(rows.get(k, {}), v, ('allocs', 'frees', 'live_bytes')) for k, v in want.items() if k)
        check('%s, %s' % (' '.join(map(str, args)), what), ok and len(rows) == len([k for k in want if k]),
              doc.get('error') or {k: (v['allocs'], v['frees'], v['live_bytes']) for k, v in rows.items()})


def reused_events(m):
    """At few addresses, objects of kmalloc() and of a cache in turn; some frees are missing. The events, and the
    numbers of allocations, frees and living objects of kmalloc()."""
    rng, events, live, want = random.Random(4), [], {}, collections.Counter()
    for i in range(3000):
        ptr, kind = 0x80000000 + 64 * rng.randrange(20), rng.choice(['kmalloc', 'kmem_cache_alloc'])
        ends = live.pop(ptr, None)
        if ends and rng.random() < 0.7:
            kind = 'kfree' if ends == 'kmalloc' else 'kmem_cache_free'
            want['frees'] += ends == 'kmalloc'
        else:
            live[ptr] = kind
            want['allocs'] += kind == 'kmalloc'
        events.append(dict(kind=kind, pid=10, ptr=ptr, site=m.text + 0x123, req=64, alloc=64, gfp=0, node=-1, ts=1000 + 10 * i,
                           cpu=0, cache='cachea'))
    return events, want['allocs'], want['frees'], sum(kind == 'kmalloc' for kind in live.values())


def test_reused(m, tmp):
    """An object that the filter leaves out has the place of one that it lets through, and the other way round."""
    ring, path, db = b.Ring(m), tmp / 'reused.dat', tmp / 'reused.ksdb'
    events, allocs, frees, alive = reused_events(m)
    for ev in events:
        ring.add(ev['ts'], m.payload(ev))
    path.write_bytes(b.trace_dat_v7(m, [('', {0: ring.done()})], COMMS))
    run(KMEMSCOPE, 'import', '-o', db, path)
    for file, what in ((path, 'trace.dat'), (db, 'DB')):
        row = ask('report', '--json', '--malloc', file).get('rows', [{}])[0]
        check('addresses used again, a filtered report, %s' % what,
              (row.get('allocs'), row.get('frees'), row.get('live_bytes')) == (allocs, frees, 64 * alive), row)
        doc = ask('leaks', '--json', '--malloc', file)
        # Too many ends are not seen to say what lives, so it is listed apart.
        rows = doc.get('unseen', [])
        check('... leaks, %s' % what, [(row['objects'], row['bytes']) for row in rows] == [(alive, 64 * alive)] and
              not doc['sites'], doc)
        last = ask('timeline', '--json', '--malloc', file).get('buckets', [{}])[-1]
        check('... the timeline, %s' % what, last.get('live_bytes') == 64 * alive, last)
        rows = [row['end'] for row in csv.DictReader(io.StringIO(run(
            KMEMSCOPE, 'export', '--format', 'csv', '--table', 'objects', '--malloc', file).stdout))]
        check('... objects, %s' % what, (len(rows), rows.count('freed'), rows.count('live')) == (allocs, frees, alive), rows[:9])


def test_page(tmp):
    """The data of the page says which counters are losses: those that kmemscope-quality(7) calls so."""
    m = b.Machine()
    ring, ev = b.Ring(m), dict(kind='kmalloc', pid=10, site=m.text + 0x123, req=10, alloc=16, gfp=0, node=-1, cpu=0)
    ring.add(1000, m.payload(dict(ev, ptr=0x80000000)))
    ring.gap(7)
    ring.add(2000, m.payload(dict(ev, ptr=0x80000040)))
    path, page = tmp / 'gap.dat', tmp / 'gap.html'
    path.write_bytes(b.trace_dat_v7(m, [('', {0: ring.done()})], COMMS))
    run(KMEMSCOPE, 'html', '-o', page, path)
    rows = {name: (int(value), loss == 'true') for name, value, loss in re.findall(
        r'\{"name":"(\w+)","text":"[^"]*","value":(\d+),"loss":(true|false)\}', page.read_text(encoding='utf-8'))}
    losses = {name: value for name, (value, loss) in rows.items() if loss}
    check('the losses in a page', losses == {'lost_events': 7, 'lost_windows': 1, 'overwritten': 0}, rows)
    check('its other counters', len(rows) == 22 and not any(value for value, loss in rows.values() if not loss), rows)


def stack_events(m):
    """Events with their stack frames, in groups: all events of a group except the first are in interrupts."""
    rng = random.Random(3)
    for i in range(1500):
        events = []
        for k in range(rng.choice([1, 2, 3])):
            frames = [m.text + 0x123] + rng.choice([[m.text + 0x345], [m.text + 0x346, m.text + 0x1020], []])
            events.append((dict(kind='kmalloc', pid=10, ptr=0x80000000 + 64 * (3 * i + k), site=m.text + 0x123,
                                req=10, alloc=16, gfp=0, node=-1, ts=1000 + i, cpu=0), frames))
        yield events


def uname(m):
    return b.option(m, 5, b'Linux secret-name 6.1.2-test riscv64\0') + b.option(m, 8, m.pack('I', 5))


HEAD = ' first-10 [000] .... %d.%09d: '


def stack_captures(m, tmp):
    """The same capture as trace.dat, perf.data and text, each with its DB."""
    ring, records, lines = b.Ring(m), [], []
    for events in stack_events(m):
        for ev, _ in events:
            ring.add(ev['ts'], m.payload(ev))
        for ev, frames in reversed(events):
            ring.add(ev['ts'], m.stack(10, frames))
        for ev, frames in events:
            user = [b.PERF_USER, 0x400000, 0x401000]
            records.append(b.perf_sample(m, ev, [b.PERF_KERNEL] + frames + user))
            lines.append(HEAD % divmod(ev['ts'], 10 ** 9) + 'kmalloc: call_site=%s ptr=%x bytes_req=10 bytes_alloc=16 '
                         'gfp_flags=GFP_KERNEL' % (site(m, ev['site']), ev['ptr']))
        for ev, frames in reversed(events):
            lines.append(HEAD % divmod(ev['ts'], 10 ** 9) + '<stack trace>')
            lines += [' => ' + site(m, frame) for frame in frames]
    kinds = {'trace.dat': b.trace_dat_v7(m, [('', {0: ring.done()})], COMMS, extra=uname(m)),
             'perf.data': b.perf_data(m, records, COMMS, callchain=True, host=('6.1.2-test', 'riscv64', 5)),
             'text': ('\n'.join(lines) + '\n').encode()}
    for what, data in kinds.items():
        path, db = tmp / ('stacks.' + what), tmp / (what + '.ksdb')
        path.write_bytes(data)
        made = run(KMEMSCOPE, 'import', '-o', db, path)
        check('%s with stacks is imported' % what, made.returncode == 0, made.stderr)
        yield what, path
        yield 'DB of ' + what, db


def test_others(tmp):
    """Stacks that belong to no kmem event: one of another event, and one whose event is missing."""
    m = b.Machine()
    ring, frames = b.Ring(m), [m.text + 0x345, m.text + 0x123]
    ev = dict(kind='kmalloc', pid=10, ptr=0x80000000, site=m.text + 0x123, req=10, alloc=16, gfp=0, node=-1, cpu=0)
    ring.add(1000, m.stack(10, frames))
    ring.add(1001, m.payload(ev))
    ring.add(1002, m.payload({'kind': 'sched_switch', 'pid': 10, 'ptr': 0}))
    ring.add(1003, m.stack(10, frames))
    path = tmp / 'others.dat'
    path.write_bytes(b.trace_dat_v7(m, [('', {0: ring.done()})], COMMS))
    doc = ask('leaks', '--stacks', '--json', path)
    check('the stack of another event is not ours', [r['stack'] for r in doc.get('sites', [])] == [[]], doc)
    check('a stack without its event is counted', doc.get('quality', {}).get('stacks_alone') == 1, doc.get('quality'))


def site(m, addr):
    """A call site as the kernel prints it: label() and the size of the function."""
    name, _, module = label(m, addr).partition(' ')
    return name + '/0x700' + (' ' + module if module else '')


def test_stacks(tmp):
    """Leaks by stack; the event and stack of an interrupt come between an event and its stack."""
    for big, word in ((False, 8), (True, 4)):
        m = b.Machine(big, word)
        want = collections.Counter()
        for events in stack_events(m):
            for _, frames in events:
                want[tuple(label(m, f) for f in frames)] += 16
        blamed = collections.Counter()
        for frames, size in want.items():
            blamed[frames[1] if len(frames) > 1 else frames[0]] += size
        helpers = tmp / 'helpers'
        helpers.write_text('first_function\n')
        for what, path in stack_captures(m, tmp):
            what = '%s, %d-bit' % (what, word * 8)
            doc = ask('leaks', '--stacks', '--json', path)
            got = {tuple(r['stack']): r['bytes'] for r in doc.get('sites', [])}
            check('leaks by stack, ' + what, got == dict(want), (got, dict(want)))
            doc = ask('report', '--json', '--skip-helpers', '--helpers', helpers, path)
            got = {r['site']: r['live_bytes'] for r in doc.get('rows', [])}
            check('helpers passed over by stack, ' + what, got == dict(blamed), (got, dict(blamed), doc.get('error')))
            doc = ask('leaks', '--json', path)
            check('without --stacks by site alone, ' + what, [r['stack'] for r in doc.get('sites', [])] == [[]], doc)
            test_profiles(want, path, what)
            test_host(path, what)


def held_log(m):
    """A text capture with stacks, of what nobody frees, and its objects: (time, comm, pid, frames, bytes)."""
    rng, objects, lines = random.Random(5), [], []
    ways = [[m.text + 0x123, m.text + 0x345], [m.text + 0x123, m.text + 0x1020], [m.text + 0x124, m.text + 0x346]]
    for i in range(600):
        comm, pid, way = rng.choice([('alpha', 10, 0), ('alpha', 10, 0), ('beta', 20, 0), ('beta', 20, 1), ('gamma', 30, 2),
                                     ('gamma', 31, 2), ('alpha', 10, 2)])
        frames, size, ts = [label(m, f) for f in ways[way]], rng.choice([32, 64, 192]), 10 ** 9 + i * 1000
        objects.append((ts, comm, pid, frames, size))
        head = '%8s-%d [000] .... %d.%09d: ' % (comm, pid, *divmod(ts, 10 ** 9))
        lines += [head + 'kmalloc: call_site=%s ptr=%x bytes_req=10 bytes_alloc=%d gfp_flags=GFP_KERNEL' %
                  (site(m, ways[way][0]), 0x80000000 + 256 * i, size), head + '<stack trace>']
        lines += [' => ' + site(m, f) for f in ways[way]]
    return objects, '\n'.join(lines) + '\n'


def test_processes(tmp):
    """A process has a row for each site, or each stack: all that it allocated there, whatever caches it is from."""
    m = b.Machine()
    objects, text = held_log(m)
    path, db = tmp / 'held.log', tmp / 'held.ksdb'
    path.write_text(text)
    run(KMEMSCOPE, 'import', '-o', db, path)
    for file, stacks, min_age in itertools.product((path, db), (False, True), (0, 300_000)):
        what = '%s%s, at least %d ns old' % (file.name, ' by stack' if stacks else '', min_age)
        doc = ask('leaks', '--json', '--min-age', '%dns' % min_age, *(['--stacks'] if stacks else []), file)
        rows = doc.get('sites', []) + doc.get('kept', []) + doc.get('unseen', [])
        old = [o for o in objects if objects[-1][0] - o[0] >= min_age]
        check('rows, ' + what, len(rows) == len({(tuple(o[3]) if stacks else o[3][0], o[1]) for o in old}), doc)
        for row in rows:
            own = [o for o in old if (o[3] == row['stack'] if stacks else o[3][0] == row['site']) and o[1] == row['comm']]
            pids = {o[2] for o in own}
            want = (len(own), sum(o[4] for o in own), pids.pop() if len(pids) == 1 else None)
            got = (row['objects'], row['bytes'], row.get('pid'))
            check('the process of a row, ' + what, own and got == want, (got, want, row))


def test_profiles(want, path, what):
    """Collapsed stacks, and the same without stacks."""
    function = lambda name: name.split('+')[0]
    lines = {';'.join([function(f) for f in reversed(frames)] + [frames[0]]) if len(frames) > 1 else
             '[kernel];%s;%s' % (function(frames[0]), frames[0]): size for frames, size in want.items()}
    collapsed = lambda *more: run(KMEMSCOPE, 'export', '--format', 'collapsed', *more, path).stdout
    got = {line.rpartition(' ')[0]: int(line.rpartition(' ')[2]) for line in collapsed().splitlines()}
    check('collapsed stacks, ' + what, got == lines, (got, lines))
    inner = next(iter(want))[0]
    wanted = '[kernel];%s;%s %d\n' % (function(inner), inner, sum(want.values()))
    check('collapsed by place, ' + what, collapsed('--frames', 'place') == wanted, collapsed('--frames', 'place'))


def test_host(path, what):
    doc = ask('info', '--json', path)
    got = [doc.get(key) for key in ('kernel', 'machine', 'cpus')]
    check('kernel and machine, ' + what, got == ([None] * 3 if 'text' in what else ['6.1.2-test', 'riscv64', 5]), got)
    data = path.read_bytes()
    check("the machine's name stays private, " + what, 'secret' not in json.dumps(doc) and
          (b'secret-name' not in data or 'DB' not in what))


def main():
    m = b.Machine()
    events = make_events(m)
    rings = {0: b.Ring(m), 1: b.Ring(m)}
    for ev in events:
        rings[ev['cpu']].add(ev['ts'], m.payload(ev))
    with tempfile.TemporaryDirectory() as name:
        path, db = pathlib.Path(name, 'trace.dat'), pathlib.Path(name, 'trace.ksdb')
        path.write_bytes(b.trace_dat_v7(m, [('', {c: r.done() for c, r in rings.items()})], COMMS,
                                        extra=b.option(m, 9, b'kmemscope 1 nodes=0,1\0')))
        made = run(KMEMSCOPE, 'import', '-o', db, path)
        check('import', made.returncode == 0, made.stderr)
        for file, what in ((path, 'trace.dat'), (db, 'DB')):
            test_frag(m, events, file, what)
            test_leaks(m, events, file, what)
            test_filters(m, events, file, what)
        test_stacks(pathlib.Path(name))
        test_processes(pathlib.Path(name))
        test_others(pathlib.Path(name))
        test_reused(m, pathlib.Path(name))
        test_page(pathlib.Path(name))
    return finish()


if __name__ == '__main__':
    sys.exit(main())
