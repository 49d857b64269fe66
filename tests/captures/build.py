# SPDX-License-Identifier: GPL-2.0-only
"""Builds captures byte by byte, of any byte order and word size, from one list of events.

This file does not depend on kmemscope: the layouts follow the manual pages of the formats, so that what is
read can be compared with what was written.
"""
import struct
import subprocess
import zlib


def zstd(data):
    return subprocess.run(['zstd', '-q', '-c', '--check'], input=data, capture_output=True, check=True).stdout

# As the kernel's preprocessor prints them, with casts, shifts and many parentheses.
FLAGS = ('{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | '
         '(( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7)))), "GFP_KERNEL"}, '
         '{( unsigned long)(( gfp_t)0x100u), "__GFP_ZERO"}, { 0, ((void *)0) }')
GFP_KERNEL = 0xcc0

KALLSYMS = ("{0:x} T _text\n{1:x} t first_function\n{2:x} T second_function\n"
            "{5:x} T kstrdup\n{3:x} t mod_function\t[testmod]\n{4:x} b some_data\n{3:x} T mod_alias\t[testmod]\n")


class Machine:
    """A machine: its byte order and word size, and the layout of its kernel's events."""

    def __init__(self, big=False, word=8, old=False):
        self.big, self.word = big, word
        self.stream = False  # perf.data with stream ids
        self.order = '>' if big else '<'
        self.text = 0xffffffff81000000 if word == 8 else 0xc1000000
        self.names = {}
        self.ids = {}
        self.formats = {}
        long_ = word
        self._event('kmalloc', 100, [('unsigned long', 'call_site', long_), ('const void *', 'ptr', long_),
                                     ('size_t', 'bytes_req', long_), ('size_t', 'bytes_alloc', long_),
                                     ('unsigned long', 'gfp_flags', long_), ('int', 'node', 4)])
        self._event('kfree', 101, [('unsigned long', 'call_site', long_), ('const void *', 'ptr', long_)])
        self._event('kmem_cache_alloc', 102,
                    [('unsigned long', 'call_site', long_), ('const void *', 'ptr', long_),
                     ('__data_loc char[]', 'name', 4), ('size_t', 'bytes_req', long_),
                     ('size_t', 'bytes_alloc', long_), ('unsigned long', 'gfp_flags', long_),
                     ('int', 'node', 4), ('bool', 'accounted', 1)])
        self._event('kmem_cache_free', 103, [('unsigned long', 'call_site', long_),
                                             ('const void *', 'ptr', long_), ('__data_loc char[]', 'name', 4)])
        self._event('mm_page_alloc', 104, [('unsigned long', 'pfn', long_), ('unsigned int', 'order', 4),
                                           ('unsigned long', 'gfp_flags', long_), ('int', 'migratetype', 4)])
        self._event('mm_page_free', 105, [('unsigned long', 'pfn', long_), ('unsigned int', 'order', 4)])
        if old:  # as before 4.2 and 6.1: pages by address, separate events for allocations on a node, no names
            self._event('kmalloc_node', 106, [('unsigned long', 'call_site', long_), ('const void *', 'ptr', long_),
                                              ('size_t', 'bytes_req', long_), ('size_t', 'bytes_alloc', long_),
                                              ('gfp_t', 'gfp_flags', 4), ('int', 'node', 4)])
            self._event('kmem_cache_free', 103, [('unsigned long', 'call_site', long_), ('const void *', 'ptr', long_)])
            self._event('mm_page_alloc', 104, [('struct page *', 'page', long_), ('unsigned int', 'order', 4),
                                               ('gfp_t', 'gfp_flags', 4), ('int', 'migratetype', 4)])
        self._event('sched_switch', 300, [('int', 'prev_pid', 4)])

    def pack(self, fmt, *values):
        return struct.pack(self.order + fmt, *values)

    def long(self, value):
        return self.pack('Q' if self.word == 8 else 'I', value & (2 ** (8 * self.word) - 1))

    def _event(self, name, number, fields):
        lines = ['name: ' + name, 'ID: %d' % number, 'format:',
                 '\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;',
                 '\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;',
                 '\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;',
                 '\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;', '']
        offset, layout = 8, []
        for kind, field, size in fields:
            offset = (offset + size - 1) // size * size
            lines.append('\tfield:%s %s;\toffset:%d;\tsize:%d;\tsigned:%d;'
                         % (kind, field, offset, size, kind == 'int'))
            layout.append((field, offset, size))
            offset += size
        flags = '__print_flags(REC->gfp_flags, "|", %s )' % FLAGS
        lines += ['', 'print fmt: "x", ' + (flags if any(f[1] == 'gfp_flags' for f in fields) else 'REC->ptr'), '']
        self.formats[name] = '\n'.join(lines).encode()
        self.ids[name] = number
        self.names[name] = (layout, (offset + 3) // 4 * 4)

    def payload(self, event):
        """The record of one event, a dict; strings follow the fixed part."""
        layout, size = self.names[event['kind']]
        data, tail = bytearray(size), b''
        data[0:2] = self.pack('H', self.ids[event['kind']])
        data[4:8] = self.pack('i', event['pid'])
        for field, offset, width in layout:
            if field == 'name':
                text = event['cache'].encode() + b'\0'
                value = len(text) << 16 | (size + len(tail))
                tail += text
            else:
                value = {'call_site': event.get('site', 0), 'ptr': event['ptr'], 'pfn': event['ptr'],
                         'page': event['ptr'],
                         'bytes_req': event.get('req', 0), 'bytes_alloc': event.get('alloc', 0),
                         'gfp_flags': event.get('gfp', 0), 'node': event.get('node', -1),
                         'order': event.get('order', 0)}.get(field, 0)
            data[offset:offset + width] = self.pack({1: 'B', 2: 'H', 4: 'I', 8: 'Q'}[width],
                                                    value & (2 ** (8 * width) - 1))
        return bytes(data) + tail + b'\0' * (-len(tail) % 4)

    def stack_format(self):
        at = 8 + self.word  # after "size", aligned
        return ('name: kernel_stack\nID: 4\nformat:\n'
                '\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n'
                '\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n'
                '\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n'
                '\tfield:unsigned long caller[8];\toffset:%d;\tsize:%d;\tsigned:0;\n\n'
                'print fmt: "x", REC->size\n' % (at, 8 * self.word)).encode()

    def stack(self, pid, frames):
        head = self.pack('HBBiI', 4, 0, 0, pid, len(frames)).ljust(8 + self.word, b'\0')
        return head + b''.join(self.long(f) for f in frames)

    def kallsyms(self):
        t = self.text
        return KALLSYMS.format(t, t + 0x100, t + 0x300, t + 0x1000, t + 0x2000, t + 0x800).encode()


class Ring:
    """One CPU's pages of the kernel's ring buffer."""

    def __init__(self, machine, page_size=4096):
        self.m, self.size, self.pages = machine, page_size, []
        self.head = 8 + machine.word
        self.data, self.start, self.now, self.lost = b'', 0, 0, None

    def _word(self, kind, delta):
        return self.m.pack('I', kind << 27 | delta if self.m.big else delta << 5 | kind)

    def flush(self):
        if not self.data and self.lost is None:
            return
        if len(self.pages) % 2 and len(self.data) + 16 < self.size - self.head - 8:
            self.data += self._word(29, 0) + b'\xff' * 12  # the rest of the page was not used
        commit, tail = len(self.data), b''
        if self.lost is not None:
            commit |= 1 << 31
            if self.lost:
                commit |= 1 << 30
                tail = self.m.long(self.lost)
            if self.m.word == 8:
                commit |= 0xffffffff << 32  # as the kernel does: sign-extended
        page = self.m.pack('Q', self.start) + self.m.long(commit) + self.data + tail
        # Behind the records is what an earlier use of the page left there: no zeros, and no number.
        self.pages.append(page + b'\x5a' * (self.size - len(page)))
        self.data, self.lost = b'', None

    def gap(self, count):
        """Events were lost before the next page; 0: the kernel does not know how many."""
        self.flush()
        self.lost = count

    def add(self, ts, payload, how='plain'):
        room = self.size - self.head - 8 * 2 - self.m.word - len(payload) - 24
        if len(self.data) > room:
            self.flush()
        if not self.data:
            self.start = self.now = ts
        delta, record = ts - self.now, b''
        if how == 'stamp':
            full = ts & (1 << 59) - 1
            record += self._word(31, full & (1 << 27) - 1) + self.m.pack('I', full >> 27)
            delta = 0
        elif how == 'discard' and 6 < delta < 1 << 27:  # a record that a filter took back, 5 ns before this one
            record += self._word(29, delta - 5) + self.m.pack('I', 12) + b'\xee' * 8
            delta = 5
        if delta >= 1 << 27 or how == 'extend':
            record += self._word(30, delta & (1 << 27) - 1) + self.m.pack('I', delta >> 27)
            delta = 0
        if len(payload) > 112 or how == 'long':
            record += self._word(0, delta) + self.m.pack('I', len(payload) + 4) + payload
        else:
            record += self._word(len(payload) // 4, delta) + payload
        self.data += record
        self.now = ts

    def done(self):
        self.flush()
        return b''.join(self.pages)


def header_page(m, page):
    return ('\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n'
            '\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n'
            '\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n'
            '\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n'
            % (m.word, 8 + m.word, page - 8 - m.word)).encode()


def sections(m, page, comms):
    """The five sections that trace.dat and perf.data share, in their order."""
    head = header_page(m, page)
    info = (b'header_page\0' + m.pack('Q', len(head)) + head + b'header_event\0' + m.pack('Q', 4) + b'none')
    stack = m.stack_format()
    ftrace = m.pack('IQ', 1, len(stack)) + stack
    events = m.pack('I', 2)
    for system in ('sched', 'kmem'):
        mine = [f for n, f in m.formats.items() if (n == 'sched_switch') == (system == 'sched')]
        events += system.encode() + b'\0' + m.pack('I', len(mine))
        events += b''.join(m.pack('Q', len(f)) + f for f in mine)
    syms = m.kallsyms()
    cmd = b''.join(b'%d %s\n' % (pid, comm.encode()) for pid, comm in comms.items())
    return {16: info, 17: ftrace, 18: events, 19: m.pack('I', len(syms)) + syms,
            20: m.pack('I', 0), 21: m.pack('Q', len(cmd)) + cmd}


def start(m, version, page=4096):
    return (b'\x17\x08\x44tracing' + version.encode() + b'\0' +
            bytes([m.big, m.word]) + m.pack('I', page))


def option(m, number, data):
    return m.pack('HI', number, len(data)) + data


def trace_dat_v6(m, buffers, comms, clock='local', page=4096, stats=()):
    """buffers: list of (name, {cpu: pages}); the first is the top one."""
    out = start(m, '6', page)
    parts = sections(m, page, comms)
    out += b''.join(parts[i] for i in (16, 17, 18, 19, 20, 21))
    cpus = len(buffers[0][1])
    out += m.pack('I', cpus) + b'options  \0'
    fixed = option(m, 4, b'[%s] global\0' % clock.encode())
    for text in stats:
        fixed += option(m, 2, text.encode() + b'\0')
    names = [name.encode() + b'\0' for name, _ in buffers[1:]]
    options_len = len(fixed) + sum(6 + 8 + len(n) for n in names) + 2
    clock_text = b'[%s]' % clock.encode()
    table = 10 + 16 * cpus + 8 + len(clock_text)
    tables = [len(out) + options_len + table * i for i in range(len(buffers))]
    data_at = (tables[-1] + table + page - 1) // page * page
    out += fixed
    for at, name in zip(tables[1:], names):
        out += option(m, 3, m.pack('Q', at) + name)
    out += m.pack('H', 0)
    body = b''
    for _, rings in buffers:
        out += b'flyrecord\0'
        for cpu in range(cpus):
            out += m.pack('QQ', data_at + len(body), len(rings[cpu]))
            body += rings[cpu]
        out += m.pack('Q', len(clock_text)) + clock_text
    return out + b'\0' * (data_at - len(out)) + body


def skip_chunk(m, length):
    """A chunk without content: a skippable frame over bytes that belong to others."""
    return m.pack('II', 8 + length, 0) + struct.pack('<II', 0x184d2a50, length) + b'\xaa' * length


def trace_dat_v7(m, buffers, comms, clock='local', page=4096, codec='none', chunk=3, extra=b'', gap=None):
    """gap: the number of foreign bytes between two chunks of a CPU."""
    pack = {'none': None, 'zlib': zlib.compress, 'zstd': zstd}[codec]
    out = start(m, '7', page) + codec.encode() + b'\0' + b'1.0\0'
    pointer = len(out)
    out += m.pack('Q', 0)
    options = option(m, 4, b'[%s]\0' % clock.encode()) + extra
    for number, data in sections(m, page, comms).items():
        options += option(m, number, m.pack('Q', len(out)))
        if pack:
            small = pack(data)
            data = m.pack('II', len(small), len(data)) + small
        out += m.pack('HHIQ', number, 1 if pack else 0, 0, len(data)) + data
    for name, rings in buffers:
        section = len(out)
        out += m.pack('HHIQ', 3, 1 if pack else 0, 0, 0)
        entry = (m.pack('Q', section) + name.encode() + b'\0' + clock.encode() + b'\0' +
                 m.pack('II', page, len(rings)))
        for cpu, pages in rings.items():
            if pack:
                pieces = [pages[i:i + chunk * page] for i in range(0, len(pages), chunk * page)]
                chunks = [pack(piece) for piece in pieces]
                chunks = [m.pack('II', len(small), len(piece)) + small for small, piece in zip(chunks, pieces)]
                count = len(chunks) if gap is None else max(0, 2 * len(chunks) - 1)
                data = m.pack('I', count) + (b'' if gap is None else skip_chunk(m, gap)).join(chunks)
            else:
                data = pages
            entry += m.pack('IQQ', cpu, len(out), len(data))
            out += data
        options += option(m, 3, entry)
    # Two sections of options; the first has the offset of the second.
    split = len(out)
    first = option(m, 9, b'test\0')
    first += option(m, 0, m.pack('Q', split + 16 + len(first) + 14))
    out += m.pack('HHIQ', 0, 0, 0, len(first)) + first
    options += option(m, 0, m.pack('Q', 0))
    out += m.pack('HHIQ', 0, 0, 0, len(options)) + options
    return out[:pointer] + m.pack('Q', split) + out[pointer + 8:]


def journal(m, rings, comms, clock='local', page=4096, chunk=2, linked=False):
    """The file of a killed recorder: the blocks of all CPUs, not in order. Also returns their offsets.

    linked: with room to finish it in place, which may hold anything.
    """
    out = start(m, '7', page) + b'zstd\0' + b'1.0\0'
    pointer = len(out)
    out += m.pack('Q', 0)
    options = b''
    for number, data in sections(m, page, comms).items():
        options += option(m, number, m.pack('Q', len(out)))
        small = zstd(data)
        out += m.pack('HHIQ', number, 1, 0, len(small) + 8) + m.pack('II', len(small), len(data)) + small
    options_at = len(out)
    tail = m.pack('I', page) + clock.encode() + b'\0' + b'\0'
    length = len(options) + 6 + 8 + len(tail) + 14
    options += option(m, 0x4b53, m.pack('Q', options_at + 16 + length) + tail) + option(m, 0, m.pack('Q', 0))
    out += m.pack('HHIQ', 0, 0, 0, len(options)) + options
    blocks = []
    for cpu, pages in rings.items():
        for seq, i in enumerate(range(0, len(pages), chunk * page)):
            piece = pages[i:i + chunk * page]
            small = zstd(piece)
            if linked:
                body = m.pack('IIII', seq, 0x55, len(small), len(piece)) + small + b'\x55' * 16
            else:
                body = m.pack('III', seq, len(small), len(piece)) + small
            blocks.append((seq ^ 1, cpu, m.pack('HHIQ', 0x4b53, 3 if linked else 1, cpu, len(body)) + body))
    blocks.sort()  # seq 1 in front of seq 0, and so on
    places = []
    for _, _, block in blocks:
        places.append((len(out), len(block)))
        out += block
    return out[:pointer] + m.pack('Q', options_at) + out[pointer + 8:], places


# === perf.data =================================================================================

TID, TIME, ID, CPU, PERIOD, CALLCHAIN, STREAM_ID, RAW, IDENT = 2, 4, 64, 128, 256, 32, 512, 1024, 65536


def perf_record(m, kind, body):
    body += b'\0' * (-len(body) % 8)
    return m.pack('IHH', kind, 0, 8 + len(body)) + body


def perf_stream(m):
    """What every event of a machine has that was recorded with stream ids."""
    return m.pack('Q', 77) if m.stream else b''


def perf_trailer(m, pid, ts, cpu):
    return m.pack('IIQ', pid, pid, ts) + perf_stream(m) + m.pack('IIQ', cpu, 0, 7)


PERF_KERNEL, PERF_USER = 2 ** 64 - 128, 2 ** 64 - 512  # marks in a call chain


def perf_sample(m, event, callchain):
    """callchain: addresses and marks; True stands for two addresses of no function."""
    body = m.pack('QIIQ', 7, event['pid'], event['pid'], event['ts']) + perf_stream(m) + m.pack('IIQ', event['cpu'], 0, 1)
    if callchain:
        chain = [m.text, m.text + 5] if callchain is True else callchain
        body += m.pack('Q', len(chain)) + b''.join(m.pack('Q', address) for address in chain)
    raw = m.payload(event)
    raw += b'\0' * (-(len(raw) + 4) % 8)
    return perf_record(m, 9, body + m.pack('I', len(raw)) + raw)


def perf_string(m, text):
    data = text.encode() + b'\0'
    data += b'\0' * (-len(data) % 64)
    return m.pack('I', len(data)) + data


def perf_mmap(m, address, name):
    """Where the kernel's text was; pid -1 is the kernel."""
    body = m.pack('IIQQQ', 0xffffffff, 0, address, 0x1000000, address) + name.encode().ljust(24, b'\0')
    return perf_record(m, 1, body + perf_trailer(m, 0, 0, 0))


def perf_data(m, records, comms, callchain=False, page=4096, host=None, nodes=(), symbols=True):
    """records: ready-made bytes; host: kernel, machine and CPUs; nodes: (number, list of its CPUs)."""
    kind = TID | TIME | CPU | PERIOD | RAW | IDENT | (CALLCHAIN if callchain else 0) | (STREAM_ID if m.stream else 0)
    flags = 1 << (63 - 18 if m.big else 18)
    attr = m.pack('IIQQQQQ', 2, 128, 100, 1, kind, 0, flags) + b'\0' * 80
    parts = sections(m, page, comms)
    if not symbols:  # as perf writes it
        parts[19] = m.pack('I', 0)
    meta = start(m, '0.6', page) + b''.join(parts[i] for i in (16, 17, 18, 19, 20, 21))
    data = b''.join(records)
    ids_at = 104
    attrs_at = ids_at + 8
    data_at = attrs_at + 144
    features = {1: meta}
    if host:
        features |= {3: perf_string(m, 'secret-name'), 4: perf_string(m, host[0]), 6: perf_string(m, host[1]),
                     7: m.pack('II', host[2] + 1, host[2])}
    if nodes:
        features[14] = m.pack('I', len(nodes)) + b''.join(
            m.pack('IQQ', number, 1 << 20, 1 << 10) + perf_string(m, cpus) for number, cpus in nodes)
    table, contents = data_at + len(data), b''
    entries = b''
    for bit in sorted(features):
        entries += m.pack('QQ', table + 16 * len(features) + len(contents), len(features[bit]))
        contents += features[bit]
    out = (b'2ELIFREP' if m.big else b'PERFILE2') + m.pack('QQ', 104, 144)
    out += m.pack('QQQQQQ', attrs_at, 144, data_at, len(data), 0, 0) + m.pack('QQQQ', sum(1 << bit for bit in features), 0, 0, 0)
    out += m.pack('Q', 7) + attr + m.pack('QQ', ids_at, 8) + data
    return out + entries + contents


# === the kmemtrace relay ABI ===================================================================

def relay_record(m, seq, event, extra=b''):
    alloc = 'alloc' in event['kind']
    kind = 2 if 'page' in event['kind'] else 1 if 'cache' in event['kind'] else 0
    body = m.pack('QQ', event.get('site', 0), event['ptr'])
    if alloc:
        body += m.pack('QQIi', event['req'], event['alloc'], event['gfp'], event['node'])
    return bytes([0 if alloc else 1, kind]) + m.pack('HI', 8 + len(body) + len(extra), seq % 2 ** 32) + body + extra
