#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The binary readers on captures that build.py makes: every format, byte order and word size.

Prints TAP. The expected output is computed here from the list of events in the capture.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / 'lib')]
from tap import check, finish  # noqa: E402
import build as b  # noqa: E402

DUMP = os.environ['KSDUMP']
COMMS = {0: '<idle>', 1234: 'some task', 99: 'x'}


def dump(path, *more, env=None):
    run = subprocess.run([DUMP, *more, str(path)], capture_output=True, text=True, errors='replace',
                         timeout=60, env={**os.environ, **(env or {})})
    return run.returncode, run.stdout.splitlines(), run.stderr.strip()


def make_events(m, count=600, cpus=2):
    """Events of every kind, in order of time, with all kinds of values."""
    rng, events, ts = random.Random(5), [], 1_000_000_000
    site = [m.text + 0x123, m.text + 0x345, m.text + 0x1020, m.text + 0x1000]
    mask = 2 ** (8 * m.word) - 1
    for i in range(count):
        ts += rng.choice([1, 7, 300, 5000, 1 << 27, 3 << 28]) if i % 50 == 0 else rng.randrange(1, 900)
        kind = ['kmalloc', 'kfree', 'kmem_cache_alloc', 'kmem_cache_free', 'mm_page_alloc',
                'mm_page_free'][i % 6]
        ev = {'kind': kind, 'ts': ts, 'cpu': rng.randrange(cpus), 'pid': rng.choice([0, 99, 1234, 5678]),
              'ptr': (0xffff888000001000 + i * 64) & mask, 'site': rng.choice(site), 'node': -1}
        if kind.endswith('alloc'):
            ev.update(req=i + 1, alloc=(i + 64) // 64 * 64, gfp=rng.choice([0xcc0, 0xdc0, 0x40000000, 0]),
                      node=rng.choice([-1, 0, 1]))
        if 'cache' in kind:
            ev['cache'] = rng.choice(['dentry', 'a cache', 'x' * 40])
        if 'page' in kind:
            ev.update(ptr=i if i % 60 else mask, order=i % 4, node=-1)
            ev.update(req=4096 << i % 4, alloc=4096 << i % 4) if 'alloc' in kind else None
        events.append(ev)
    return events


def site_text(m, addr):
    at = addr - m.text
    if at >= 0x1000:
        return 'mod_function+%#x' % (at - 0x1000) + ' [testmod]'
    base, name, size = (0x300, 'second_function', 0x500) if at >= 0x300 else (0x100, 'first_function', 0x200)
    return '%s+%#x/%#x' % (name, at - base, size)


def gfp_text(gfp, named=True):
    if not gfp:
        return 'none'
    if not named:
        return '%#x' % gfp
    names = []
    if gfp & 0xcc0 == 0xcc0:
        names.append('GFP_KERNEL')
        gfp &= ~0xcc0
    if gfp & 0x100:
        names.append('__GFP_ZERO')
        gfp &= ~0x100
    return '|'.join(names + (['%#x' % gfp] if gfp else []))


def line(m, ev, ts=None):
    page, alloc = 'page' in ev['kind'], ev['kind'].endswith('alloc')
    ptr = ev['ptr']
    if page and ptr == 2 ** (8 * m.word) - 1:
        ptr = 2 ** 64 - 1
    return ('%d %s cpu=%d pid=%d comm=%s ptr=%x req=%d alloc=%d node=%d site=%s cache=%s gfp=%s'
            % (ev['ts'] if ts is None else ts, ev['kind'], ev['cpu'], ev['pid'], COMMS.get(ev['pid'], ''), ptr,
               ev['req'] if alloc else 0, ev['alloc'] if alloc else 4096 << ev['order'] if page else 0,
               ev['node'] if alloc else -1, '' if page else site_text(m, ev['site']), ev.get('cache', ''),
               gfp_text(ev['gfp']) if alloc else ''))


def lost(ts, cpu, count, before):
    return ('%d lost cpu=%d pid=-1 comm= ptr=%x req=%d alloc=0 node=-1 site= cache= gfp='
            % (ts, cpu, before, count))


def rings(m, events, cpus=2, gaps=(), page=4096):
    """Pages by CPU, and the expected lines, including those of gaps."""
    hows = ['plain', 'plain', 'extend', 'long', 'stamp', 'discard']
    ring, lines, last = {c: b.Ring(m, page) for c in range(cpus)}, [], {}
    for i, ev in enumerate(events):
        if i in gaps:
            ring[ev['cpu']].gap(gaps[i])
            lines.append(lost(ev['ts'], ev['cpu'], gaps[i], last.get(ev['cpu'], 0)))
        ring[ev['cpu']].add(ev['ts'], m.payload(ev), hows[i % 7 % 6])
        if i % 100 == 0:  # an event of another system in between
            ring[ev['cpu']].add(ev['ts'], m.payload({'kind': 'sched_switch', 'pid': 1, 'ptr': 0}))
        lines.append(line(m, ev))
        last[ev['cpu']] = ev['ts']
    return {c: r.done() for c, r in ring.items()}, lines


def compare(name, path, want, more=()):
    code, got, err = dump(path, *more)
    body = [g for g in got if not g.startswith('end ')]
    note = err or '\n'.join('want %s\ngot  %s' % p for p in zip(want, body) if p[0] != p[1]) \
        or 'want %d lines, got %d' % (len(want), len(body))
    check(name, code == 0 and body == want, note)
    return got[-1] if got else ''


def test_trace_dat(tmp):
    for big in (False, True):
        for word in (8, 4):
            m = b.Machine(big, word)
            label = '%s-endian %d-bit' % ('big' if big else 'little', word * 8)
            events = make_events(m)
            pages, want = rings(m, events, gaps={200: 17, 400: 0})
            path = tmp / 'trace.dat'
            for version, data in (
                    ('v6', b.trace_dat_v6(m, [('', pages)], COMMS)),
                    ('v7 plain', b.trace_dat_v7(m, [('', pages)], COMMS)),
                    ('v7 zlib', b.trace_dat_v7(m, [('', pages)], COMMS, codec='zlib')),
                    ('v7 zstd', b.trace_dat_v7(m, [('', pages)], COMMS, codec='zstd'))):
                path.write_bytes(data)
                end = compare('trace.dat %s, %s' % (version, label), path, want)
                check('its counters', 'events=600 other=6 stack=0 bad=0 unfinished=0' in end, end)


def test_buffers(tmp):
    m = b.Machine()
    events = make_events(m, 300, 4)
    want = [line(m, dict(ev, cpu=ev['cpu'] % 2)) for ev in events]
    split = [[dict(ev, cpu=ev['cpu'] % 2) for ev in events if ev['cpu'] // 2 == part] for part in (0, 1)]
    pages = [rings(m, part)[0] for part in split]
    path = tmp / 'two.dat'
    for name, data in (('v6', b.trace_dat_v6(m, [('', pages[0]), ('second', pages[1])], COMMS)),
                       ('v7', b.trace_dat_v7(m, [('', pages[0]), ('second', pages[1])], COMMS))):
        path.write_bytes(data)
        compare('two buffers in one file, %s' % name, path, want)


def test_clocks(tmp):
    m = b.Machine()
    events = make_events(m, 50)
    pages, want = rings(m, events)
    path = tmp / 'clock.dat'
    path.write_bytes(b.trace_dat_v7(m, [('', pages)], COMMS, clock='x86-tsc'))
    end = compare('a clock of ticks', path, want)
    check('is said to be one', 'clock=ticks' in end, end)
    tsc = b.option(m, 14, m.pack('IIQ', 3, 1, 1000))
    path.write_bytes(b.trace_dat_v7(m, [('', pages)], COMMS, clock='x86-tsc', extra=tsc))
    end = compare('ticks with their conversion', path, [line(m, e, (e['ts'] - 1000) * 3 // 2) for e in events])
    check('are nanoseconds', 'clock=seconds' in end, end)
    path.write_bytes(b.trace_dat_v6(m, [('', pages)], COMMS, clock='mono', stats=[
        'CPU: 0\nentries: 0\noverrun: 5\ncommit overrun: 1\ndropped events: 2\nread events: 9\n']))
    final = max(e['ts'] for e in events if e['cpu'] == 0)
    _, got, _ = dump(path)
    check('a loss that only the statistics know', lost(final, 0, 8, final) in got, got[-3:])


def test_large_pages(tmp):
    m = b.Machine()
    events = make_events(m, 2000)
    pages, want = rings(m, events, page=65536)
    path = tmp / 'large.dat'
    path.write_bytes(b.trace_dat_v7(m, [('', pages)], COMMS, page=65536))
    compare('ring pages of 64 KiB', path, [
        line(m, dict(e, req=e['req'] * 16, alloc=e['alloc'] * 16) if e['kind'] == 'mm_page_alloc'
             else dict(e, order=e['order'] + 4) if e['kind'] == 'mm_page_free' else e) for e in events])


def test_old_kernels(tmp):
    m = b.Machine(old=True)
    site, ring, want = m.text + 0x123, b.Ring(m), []
    for i, (kind, more) in enumerate([
            ('kmalloc_node', {'ptr': 0xffff880000001000, 'site': site, 'req': 5, 'alloc': 8, 'node': 1, 'gfp': 0xcc0}),
            ('kmem_cache_free', {'ptr': 0xffff880000002000, 'site': site}),
            ('mm_page_alloc', {'ptr': 0xffffea0000001000, 'order': 1, 'req': 8192, 'alloc': 8192, 'gfp': 0, 'node': -1}),
            ('mm_page_alloc', {'ptr': 0, 'order': 0, 'req': 4096, 'alloc': 4096, 'gfp': 0, 'node': -1})]):
        ev = dict({'kind': kind, 'ts': 100 + i, 'cpu': 0, 'pid': 99}, **more)
        ring.add(ev['ts'], m.payload(ev))
        # The separate events for a node are allocations like all others. A page event without a page has no frame.
        want.append(line(m, dict(ev, kind='kmalloc' if 'node' in kind else kind,
                                 ptr=ev['ptr'] or 2 ** 64 - 1)))
    path = tmp / 'old.dat'
    path.write_bytes(b.trace_dat_v6(m, [('', {0: ring.done()})], COMMS))
    compare('events of old kernels', path, want)


def test_orders(tmp):
    """The largest order that a kernel can have is read; a larger one is a damaged record, as in text."""
    m = b.Machine()
    ring, events = b.Ring(m), []
    for i, order in enumerate((19, 20, 40)):
        events.append({'kind': 'mm_page_alloc', 'ts': 100 + i, 'cpu': 0, 'pid': 99, 'ptr': 1, 'order': order,
                       'req': 4096 << order, 'alloc': 4096 << order, 'gfp': 0, 'node': -1})
        ring.add(events[i]['ts'], m.payload(events[i]))
    path = tmp / 'orders.dat'
    path.write_bytes(b.trace_dat_v6(m, [('', {0: ring.done()})], COMMS))
    end = compare('orders of page allocations', path, [line(m, events[0])])
    check('... too large ones are damage', 'bad=2 ' in end, end)


def test_journal(tmp):
    """Files of a recorder that was killed."""
    for big, linked in ((False, False), (True, False), (False, True), (True, True)):
        m = b.Machine(big)
        label = 'journal, %s-endian%s: ' % ('big' if big else 'little', ', with room' if linked else '')
        pages, want = rings(m, make_events(m, 1500), gaps={700: 5})
        data, places = b.journal(m, pages, COMMS, linked=linked)
        path = tmp / 'journal.dat'
        path.write_bytes(data)
        end = compare(label + 'blocks in any order', path, want)
        check(label + 'is known to be unfinished', 'unfinished=1' in end, end)
        path.write_bytes(data[:places[-1][0] + places[-1][1] // 2])
        code, got, err = dump(path)
        check(label + 'a torn block is its end', code == 0 and set(got[:-1]) < set(want), err)
        at, size = places[-1]
        if linked:
            path.write_bytes(data[:-16])
            compare(label + 'the last room may be missing', path, want)
        head = 32 if linked else 28
        path.write_bytes(data[:at + head] + b'\0' * (size - head))
        code, got, err = dump(path)
        check(label + 'a block without content is counted', code == 0 and 'bad=1' in got[-1], got[-1:] + [err])
        path.write_bytes(data[:places[0][0]])
        code, got, err = dump(path)
        check(label + 'no block at all', code == 0 and len(got) == 1, err)


def test_in_place(tmp):
    """Files that were finished in place: foreign bytes between the chunks, and pages for which there was no room."""
    for big in (False, True):
        m = b.Machine(big)
        label = 'finished in place, %s-endian: ' % ('big' if big else 'little')
        pages, want = rings(m, make_events(m, 1500))
        path = tmp / 'place.dat'
        for gap in (0, 1, 5000):
            path.write_bytes(b.trace_dat_v7(m, [('', pages)], COMMS, codec='zstd', gap=gap))
            compare('%sgaps of %d bytes' % (label, gap), path, want)
        stats = b''.join(b.option(m, 2, b'CPU: %d\nentries: 7\nread events: %d\n%s\0' % (
            cpu, 1000 if cpu else 2000, b'unwritten chunks: 3\n' if cpu else b'')) for cpu in (0, 1))
        path.write_bytes(b.trace_dat_v7(m, [('', pages)], COMMS, codec='zstd', gap=9, extra=stats))
        code, got, err = dump(path)
        check(label + 'what is missing is one gap of no CPU', code == 0 and got[:-2] == want and
              re.match(r'\d+ lost cpu=-1 .* req=1499 ', got[-2]), got[-2:] + [err])


def test_self(tmp):
    """The allocations of the recorder's threads are left out, as are the frees of exactly these objects."""
    m = b.Machine()
    base = {'site': m.text + 0x123, 'cpu': 0, 'node': -1, 'req': 8, 'alloc': 8, 'gfp': 0}
    steps = [('kmalloc', 99, 0x1000, False), ('kfree', 1234, 0x1000, False),   # the recorder's, freed by another task
             ('kmalloc', 1234, 0x1000, True), ('kfree', 99, 0x1000, True),     # another task's, freed by the recorder
             ('kmalloc', 99, 0x2000, False), ('kmalloc', 1234, 0x2000, True),  # the recorder's, end not seen
             ('kfree', 1234, 0x2000, True), ('kfree', 1234, 0x3000, True)]
    ring, want = b.Ring(m), []
    for i, (kind, pid, ptr, stays) in enumerate(steps):
        ev = dict(base, kind=kind, pid=pid, ptr=ptr + 0xffff888000000000, ts=1000 + i)
        ring.add(ev['ts'], m.payload(ev))
        want += [line(m, ev)] if stays else []
    path = tmp / 'self.dat'
    who = b.option(m, 9, b'kmemscope 1 self=99,7\0')
    path.write_bytes(b.trace_dat_v7(m, [('', {0: ring.done()})], COMMS, extra=who))
    compare("the recorder's own objects", path, want)


def test_perf(tmp):
    for big in (False, True):
        for word in (8, 4):
            m = b.Machine(big, word)
            m.stream = word == 4
            events = make_events(m, 400)
            records, want, comm = [], [], dict(COMMS)
            for first in range(0, len(events), 100):  # a round; one CPU after the other
                part = events[first:first + 100]
                for cpu in (1, 0):
                    for ev in part:
                        if ev['cpu'] != cpu:
                            continue
                        if ev is events[150]:
                            body = m.pack('II', 5678, 5678) + b'late name\0'.ljust(16, b'\0')
                            records.append(b.perf_record(m, 3, body + b.perf_trailer(m, 5678, ev['ts'], cpu)))
                        if ev is events[250]:
                            body = m.pack('QQ', 7, 33)
                            records.append(b.perf_record(m, 2, body + b.perf_trailer(m, 1, ev['ts'], cpu)))
                        records.append(b.perf_sample(m, ev, word == 4))
                records.append(b.perf_record(m, 68, b''))
            for i, ev in enumerate(events):
                if i == 250:
                    want.append(lost(ev['ts'], ev['cpu'], 33, 0))
                text = line(m, ev)
                if i >= 150 and ev['pid'] == 5678:
                    text = text.replace('comm= ', 'comm=late name ')
                want.append(text)
            path = tmp / 'perf.data'
            path.write_bytes(b.perf_data(m, records, comm, word == 4))
            if not big:  # equal times: in the order of the file
                twins = [dict(events[0], cpu=cpu, ptr=cpu + 0x1000) for cpu in (1, 0, 2)]
                path.write_bytes(b.perf_data(m, [b.perf_sample(m, e, False) for e in
                                                 [twins[0], dict(events[1], ts=events[0]['ts'] + 9)] + twins[1:]],
                                             comm))
                compare('perf.data with equal times, %d-bit' % (word * 8), path, [
                    line(m, e) for e in twins + [dict(events[1], ts=events[0]['ts'] + 9)]])
            path.write_bytes(b.perf_data(m, records, comm, word == 4))
            compare('perf.data, %s-endian %d-bit' % ('big' if big else 'little', word * 8), path, want)


def test_perf_symbols(tmp):
    """perf.data has no symbols. Those of a kernel that is known are taken if it is the one that was traced."""
    for big in (False, True):
        m = b.Machine(big)
        label = ', %s-endian' % ('big' if big else 'little')
        event = make_events(m, 1)[0]
        named, unnamed = 'site=%s ' % site_text(m, event['site']), 'site=0x%x ' % event['site']
        kallsyms = m.kallsyms().decode()
        other_lines = '0000000000001000 D before\n%x T _text\n' % m.text

        def site(name, want, release='6.1-a', mapped=m.text, text=kallsyms, host=('6.1-a', 'x86_64', 2), mapping='[kernel.kallsyms]_text'):
            (tmp / 'kallsyms').write_text(text, encoding='ascii')
            (tmp / 'perf.data').write_bytes(b.perf_data(
                m, [b.perf_mmap(m, mapped, mapping), b.perf_sample(m, event, False)], COMMS, host=host, symbols=False))
            code, got, err = dump(tmp / 'perf.data', env={'KSDUMP_RELEASE': release, 'KSDUMP_KALLSYMS': str(tmp / 'kallsyms')})
            check(name + label, code == 0 and want in got[0], '\n'.join(got) + err)

        site('symbols of the traced kernel, without _text', named)
        site('symbols, _text where perf saw it', named, text=other_lines + kallsyms)
        site('symbols of another boot', unnamed, text=other_lines + kallsyms, mapped=m.text + 0x1000)
        site('symbols of another release', unnamed, release='6.1-b')
        site('a capture that does not say its release', named, host=None, release='6.1-b')
        site('the mapping of a module', unnamed, mapping='[testmod]')
        site('no symbols to be had', unnamed, text='')


def test_perf_nodes(tmp):
    for big in (False, True):
        m = b.Machine(big)
        path = tmp / 'perf.data'
        for nodes, want in (([(0, '0-1'), (3, '2,4-5')], 'nodes=0 0 3 0 3 3'), ([(70000, '0')], 'nodes=65535'),
                            ([(1, 'what')], None)):
            path.write_bytes(b.perf_data(m, [b.perf_sample(m, make_events(m, 1)[0], False)], COMMS, nodes=nodes))
            code, got, err = dump(path)
            check('nodes %s, %s-endian' % (nodes, 'big' if big else 'little'),
                  code == 0 and ([g for g in got if g.startswith('nodes=')] or [None]) == [want], '\n'.join(got) + err)


def relay_line(m, ev, ts, symbols):
    alloc = ev['kind'].endswith('alloc')
    site = site_text(m, ev['site']) if symbols else '0x%x' % ev['site']
    return ('%d %s cpu=%d pid=-1 comm= ptr=%x req=%d alloc=%d node=%d site=%s cache= gfp=%s'
            % (ts, ev['kind'], ev['cpu'], ev['ptr'], ev['req'] if alloc else 0, ev['alloc'] if alloc else 0,
               ev['node'] if alloc else -1, site, gfp_text(ev['gfp'], False) if alloc else ''))


def test_relay(tmp):
    for big in (False, True):
        m = b.Machine(big)
        label = 'kmemtrace relay, %s-endian' % ('big' if big else 'little')
        where = tmp / ('relay-%d' % big)
        where.mkdir()
        events = make_events(m, 500)
        seq, files, want = 2 ** 32 - 100, {0: b'', 1: b''}, []
        for i, ev in enumerate(events):
            if i == 300:
                want.append(lost(seq + 5, -1, 5, seq - 1))
                seq += 5
            files[ev['cpu']] += b.relay_record(m, seq, ev, b'\x00\x08\x01abcde' if i % 9 == 0 else b'')
            want.append(relay_line(m, ev, seq, True))
            seq += 1
        for cpu, data in files.items():
            (where / ('cpu%d.out' % cpu)).write_bytes(data)
        (where / 'kallsyms').write_bytes(m.kallsyms())
        compare(label + ': a directory, across the wrap of the sequence', where, want)
        compare(label + ': a list of files', where / 'cpu0.out', want, (str(where / 'cpu1.out'),))
        alone = [relay_line(m, ev, int(w.split()[0]), False) for ev, w in
                 zip(events, [w for w in want if ' lost ' not in w]) if ev['cpu'] == 0]
        compare(label + ': one file alone, whose holes are no losses', where / 'cpu0.out', alone)
        (where / 'cpu0.out').write_bytes(files[0][:48] + b'\0' * 64 + files[0][48:])
        code, got, _ = dump(where)
        check(label + ': padding is stepped over and counted',
              code == 0 and len(got) == len(want) + 1 and 'bad=1' in got[-1], got[-1:])


def test_compressed(tmp):
    m = b.Machine()
    pages, want = rings(m, make_events(m, 100))
    path = tmp / 'c.dat'
    path.write_bytes(b.trace_dat_v7(m, [('', pages)], COMMS))
    for tool in ('gzip', 'zstd', 'xz'):
        subprocess.run([tool, '-kqf', path], check=True)
    for suffix in ('gz', 'zst', 'xz'):
        compare('a trace.dat inside of .%s' % suffix, '%s.%s' % (path, suffix), want)


def test_damage(tmp):
    """With a truncated or randomly overwritten file, a reader ends with a result or a message, never a crash."""
    m, rng, path = b.Machine(), random.Random(1), tmp / 'damaged'
    events = make_events(m, 200)
    pages, _ = rings(m, events)
    perf = b.perf_data(m, [b.perf_sample(m, e, True) for e in events], COMMS, True)
    samples = {'trace.dat v6': b.trace_dat_v6(m, [('', pages)], COMMS),
               'trace.dat v7': b.trace_dat_v7(m, [('', pages)], COMMS, codec='zlib'),
               'perf.data': perf,
               'relay': b''.join(b.relay_record(m, i + 1, e) for i, e in enumerate(events))}
    for name, data in samples.items():
        bad = []
        for turn in range(40):
            if turn % 2:
                broken = data[:rng.randrange(12, len(data))]
            else:
                at = rng.randrange(len(data))
                broken = data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at + 8:]
            path.write_bytes(broken)
            code, _, err = dump(path, '-q')
            if code not in (0, 1, 3) or (code and not err):
                bad.append('turn %d: exit %d: %s' % (turn, code, err))
            elif code == 3 and str(path) not in err:
                bad.append('turn %d: message without the file name: %s' % (turn, err))
        check('damaged %s ends well' % name, not bad, '\n'.join(bad))


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        for test in (test_trace_dat, test_buffers, test_clocks, test_large_pages, test_old_kernels, test_orders, test_journal, test_in_place,
                     test_self, test_perf, test_perf_symbols, test_perf_nodes, test_relay,
                     test_compressed, test_damage):
            test(tmp)
    return finish()


if __name__ == '__main__':
    sys.exit(main())
