// SPDX-License-Identifier: LGPL-2.1-only
/* The layout of trace.dat files: header, sections, options, and the blocks of an unfinished one. */
#include "trace/tracedat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* === Data ================================================================================= */

enum {
	MAX_CPUS = 65535,
	MAX_BUFFERS = 4096,
	MAX_OPTION_SECTIONS = 65536,
	MAX_SECTION = 1 << 30, /* of metadata, uncompressed */
	MAX_BLOCK = 64 << 20,
};

/* === Internals: options =================================================================== */

static void nomem(struct ks_cursor *cur)
{
	if (!cur->err)
		cur->err = ks_diag_nomem(&cur->diag, "reading a trace.dat");
}

static struct ks_td_buffer *add_buffer(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = NULL;

	if (td->buffers.len < MAX_BUFFERS)
		buffer = ks_vec_push(&td->buffers);
	if (!buffer)
		nomem(cur);
	return buffer;
}

static struct ks_td_cpu *add_cpu(struct ks_td_buffer *buffer, struct ks_cursor *cur, u32 cpu)
{
	struct ks_td_cpu *entry = ks_vec_push(&buffer->cpus);

	if (!entry)
		nomem(cur);
	else
		entry->cpu = cpu;
	return entry;
}

/* "[local] global counter": the clock in brackets; a bare word stands for itself. */
static void set_clock(char *clock, size_t cap, const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (close)
		snprintf(clock, cap, "%.*s", (int)(close - open - 1), open + 1);
	else
		snprintf(clock, cap, "%.*s", (int)strcspn(text, " \n"), text);
}

/*
 * The text of one CPU's stats file, with "CPU: n" in front. trace-cmd separates the buffers by an
 * option of its own that says "Buffer: name"; it begins with the top one.
 */
static void read_cpustat(struct ks_tracedat *td, struct ks_cursor *cur, u64 size, u32 *buffer)
{
	char *text = ks_cursor_blob(cur, size), *line, *next;
	struct ks_td_stat stat = { .cpu = UINT32_MAX, .buffer = *buffer }, *slot;
	unsigned long long v;

	if (!text)
		return;
	if (strstr(text, "Buffer: "))
		++*buffer;
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (sscanf(line, "CPU: %llu", &v) == 1)
			stat.cpu = (u32)v;
		else if (sscanf(line, "entries: %llu", &v) == 1)
			stat.entries = v;
		else if (sscanf(line, "overrun: %llu", &v) == 1)
			stat.overrun = v;
		else if (sscanf(line, "commit overrun: %llu", &v) == 1)
			stat.commit_overrun = v;
		else if (sscanf(line, "dropped events: %llu", &v) == 1)
			stat.dropped = v;
		else if (sscanf(line, "read events: %llu", &v) == 1)
			stat.read = v;
		else if (sscanf(line, KS_TD_UNWRITTEN "%llu", &v) == 1)
			stat.unwritten = v;
	}
	free(text);
	if (stat.cpu == UINT32_MAX)
		return;
	slot = ks_vec_push(&td->stats);
	if (!slot)
		nomem(cur);
	else
		*slot = stat;
}

static void read_buffer_v7(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = add_buffer(td, cur);
	u64 offset = ks_cursor_uint(cur, 8), count;
	struct ks_cursor section;
	bool compressed;

	if (!buffer)
		return;
	ks_cursor_string(cur, buffer->name, sizeof(buffer->name));
	ks_cursor_string(cur, buffer->clock, sizeof(buffer->clock));
	buffer->page_size = (u32)ks_cursor_uint(cur, 4);
	count = ks_cursor_uint(cur, 4);
	if (!cur->err && count > MAX_CPUS)
		ks_cursor_fail(cur, "a number of CPUs");
	ks_cursor_file(&section, td->name, td->fd, offset, td->size);
	section.big_endian = td->start.big_endian;
	if (!cur->err && ks_cursor_uint(&section, 2) != KS_TD_OPT_BUFFER)
		ks_cursor_fail(cur, "a section of trace data where the option points");
	compressed = ks_cursor_uint(&section, 2) & KS_TD_FL_COMPRESSED;
	while (count-- && !cur->err) {
		struct ks_td_cpu *cpu = add_cpu(buffer, cur, (u32)ks_cursor_uint(cur, 4));

		if (!cpu)
			return;
		cpu->offset = ks_cursor_uint(cur, 8);
		cpu->size = ks_cursor_uint(cur, 8);
		cpu->compressed = compressed && td->codec != KS_TD_NONE;
	}
}

/* In version 6 the option only says where the table of another buffer is. */
static void read_buffer_v6(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = add_buffer(td, cur);

	if (!buffer)
		return;
	buffer->table = ks_cursor_uint(cur, 8);
	ks_cursor_string(cur, buffer->name, sizeof(buffer->name));
}

static void read_journal(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = add_buffer(td, cur);

	if (!buffer)
		return;
	td->journal = true;
	td->journal_start = ks_cursor_uint(cur, 8);
	buffer->page_size = (u32)ks_cursor_uint(cur, 4);
	ks_cursor_string(cur, buffer->clock, sizeof(buffer->clock));
	ks_cursor_string(cur, buffer->name, sizeof(buffer->name));
}

static void read_text_option(struct ks_cursor *cur, u64 size, char *buf, size_t cap)
{
	size_t n = ks_min(size, (u64)cap - 1);

	buf[0] = '\0';
	if (ks_cursor_read(cur, buf, n))
		buf[n] = '\0';
}

/* The numbers behind a key of the version text. */
static void read_numbers(struct ks_cursor *cur, const char *text, const char *key,
			 struct ks_numbers *ret)
{
	const char *p = strstr(text, key);
	char *end;

	for (p = p ? p + strlen(key) : ""; *p >= '0' && *p <= '9'; p = end + (*end == ',')) {
		u32 *number = ks_vec_push(&ret->items);

		if (!number) {
			nomem(cur);
			return;
		}
		*number = (u32)strtoul(p, &end, 10);
	}
}

/* "kmemscope 1.0 self=12,13 nodes=0,0": who recorded it, and on what machine. */
static void read_recorder(struct ks_tracedat *td, struct ks_cursor *cur, u64 size)
{
	char *text = ks_cursor_blob(cur, size);

	if (text && !strncmp(text, "kmemscope ", 10)) {
		read_numbers(cur, text, KS_TD_SELF, &td->self);
		read_numbers(cur, text, KS_TD_NODES, &td->nodes);
		td->some_tasks = !td->self.items.len;
	}
	free(text);
}

/* "Linux name 6.12.48 x86_64": of these the last two. */
static void read_uname(struct ks_tracedat *td, const char *text)
{
	char words[4][128] = { "" };

	if (sscanf(text, "%127s %127s %127s %127s", words[0], words[1], words[2], words[3]) != 4)
		return;
	snprintf(td->host.kernel, sizeof(td->host.kernel), "%s", words[2]);
	snprintf(td->host.arch, sizeof(td->host.arch), "%.31s", words[3]);
}

static void read_section(struct ks_tracedat *td, u32 id, u64 offset, struct ks_rawdec *dec,
			 struct ks_cursor *ret_cur);

/* One option, with the cursor bounded to it. */
static void read_option(struct ks_tracedat *td, struct ks_cursor *cur, u32 id, u64 size,
			struct ks_rawdec *dec, u32 *stat_buffer)
{
	struct ks_cursor section = { 0 };
	char text[256];

	switch (id) {
	case KS_TD_OPT_CPUSTAT:
		read_cpustat(td, cur, size, stat_buffer);
		break;
	case KS_TD_OPT_BUFFER:
		if (td->version == 7)
			read_buffer_v7(td, cur);
		else
			read_buffer_v6(td, cur);
		break;
	case KS_TD_OPT_CLOCK:
		read_text_option(cur, size, text, sizeof(text));
		set_clock(td->clock, sizeof(td->clock), text);
		break;
	case KS_TD_OPT_OFFSET:
		read_text_option(cur, size, text, sizeof(text));
		td->ts_offset = strtoll(text, NULL, 0);
		break;
	case KS_TD_OPT_UNAME:
		read_text_option(cur, size, text, sizeof(text));
		read_uname(td, text);
		break;
	case KS_TD_OPT_VERSION:
		read_recorder(td, cur, size);
		break;
	case KS_TD_OPT_CPUCOUNT:
		td->cpu_count = (u32)ks_cursor_uint(cur, 4);
		break;
	case KS_TD_OPT_TSC2NSEC:
		td->tsc_mult = (u32)ks_cursor_uint(cur, 4);
		td->tsc_shift = (u32)ks_cursor_uint(cur, 4);
		td->tsc_offset = ks_cursor_uint(cur, 8);
		td->has_tsc = td->tsc_mult && td->tsc_shift < 64;
		break;
	case KS_TD_OPT_JOURNAL:
		read_journal(td, cur);
		break;
	case KS_TD_SEC_HEADER:
	case KS_TD_SEC_FTRACE:
	case KS_TD_SEC_EVENTS:
	case KS_TD_SEC_KALLSYMS:
	case KS_TD_SEC_CMDLINES:
		read_section(td, id, ks_cursor_uint(cur, 8), dec, &section);
		if (section.err && !cur->err) {
			cur->err = section.err;
			cur->diag = section.diag;
		}
		break;
	default:
		break;
	}
}

/* === Internals: version 7 ================================================================= */

int ks_td_decompress(enum ks_td_codec codec, void *dst, size_t dst_len, const void *src,
		     size_t src_len)
{
	uLongf len = dst_len;

	switch (codec) {
	case KS_TD_ZSTD:
		return ZSTD_decompress(dst, dst_len, src, src_len) == dst_len ? 0 : -EBADMSG;
	case KS_TD_ZLIB:
		return uncompress(dst, &len, src, src_len) == Z_OK && len == dst_len ? 0 : -EBADMSG;
	case KS_TD_NONE:
		break;
	}
	return -EBADMSG;
}

/* The content of a section in memory; NULL with the cursor failed. */
static char *load_section(struct ks_tracedat *td, struct ks_cursor *cur, u64 size, bool compressed,
			  u64 *ret_len)
{
	char *stored, *plain;
	u64 stored_len, len;

	if (!compressed || td->codec == KS_TD_NONE) {
		*ret_len = size;
		return ks_cursor_blob(cur, size);
	}
	stored_len = ks_cursor_uint(cur, 4);
	len = ks_cursor_uint(cur, 4);
	if (!cur->err && (len > MAX_SECTION || len / 2048 > stored_len + 1))
		ks_cursor_fail(cur, "a section of reasonable size");
	stored = ks_cursor_blob(cur, stored_len);
	if (!stored)
		return NULL;
	plain = malloc(len + 1);
	if (!plain) {
		nomem(cur);
	} else if (ks_td_decompress(td->codec, plain, len, stored, stored_len)) {
		ks_cursor_fail(cur, "whole compressed data in front of it");
		free(plain);
		plain = NULL;
	}
	free(stored);
	*ret_len = len;
	return plain;
}

static void read_section(struct ks_tracedat *td, u32 id, u64 offset, struct ks_rawdec *dec,
			 struct ks_cursor *cur)
{
	struct ks_cursor mem;
	u64 size, len = 0;
	u32 flags;
	char *data;

	ks_cursor_file(cur, td->name, td->fd, offset, td->size);
	cur->big_endian = td->start.big_endian;
	if (ks_cursor_uint(cur, 2) != id)
		ks_cursor_fail(cur, "the section that an option points to");
	flags = (u32)ks_cursor_uint(cur, 2);
	ks_cursor_skip(cur, 4);
	size = ks_cursor_uint(cur, 8);
	data = load_section(td, cur, size, flags & KS_TD_FL_COMPRESSED, &len);
	if (!data)
		return;
	ks_cursor_mem(&mem, td->name, data, len);
	mem.big_endian = td->start.big_endian;
	switch (id) {
	case KS_TD_SEC_HEADER:
		ks_meta_header_info(&mem, &td->page);
		break;
	case KS_TD_SEC_FTRACE:
		ks_meta_ftrace_events(&mem, dec);
		break;
	case KS_TD_SEC_EVENTS:
		ks_meta_events(&mem, dec);
		break;
	case KS_TD_SEC_KALLSYMS:
		ks_meta_kallsyms(&mem, dec);
		break;
	case KS_TD_SEC_CMDLINES:
		ks_meta_cmdlines(&mem, dec);
		break;
	}
	if (mem.err) {
		cur->err = mem.err;
		cur->diag = mem.diag;
	}
	free(data);
}

/* The options at @offset, from a section of their own; the offset of the next one, or 0. */
static u64 read_options_v7(struct ks_tracedat *td, struct ks_cursor *file, u64 offset,
			   struct ks_rawdec *dec, u32 *stat_buffer)
{
	struct ks_cursor cur;
	u64 size, len = 0, next = 0;
	char *data;
	u32 flags;

	file->pos = offset;
	if (ks_cursor_uint(file, 2) != KS_TD_OPT_DONE)
		ks_cursor_fail(file, "a section of options");
	flags = (u32)ks_cursor_uint(file, 2);
	ks_cursor_skip(file, 4);
	size = ks_cursor_uint(file, 8);
	data = load_section(td, file, size, flags & KS_TD_FL_COMPRESSED, &len);
	if (!data)
		return 0;
	ks_cursor_mem(&cur, td->name, data, len);
	cur.big_endian = td->start.big_endian;
	while (!cur.err) {
		u32 id = (u32)ks_cursor_uint(&cur, 2);
		u64 option_size = ks_cursor_uint(&cur, 4), end = cur.pos + option_size;

		if (cur.err || end > len)
			break;
		if (id == KS_TD_OPT_DONE) {
			next = option_size >= 8 ? ks_cursor_uint(&cur, 8) : 0;
			break;
		}
		cur.end = end;
		read_option(td, &cur, id, option_size, dec, stat_buffer);
		cur.pos = end;
		cur.end = len;
	}
	if (cur.err && !file->err) {
		file->err = cur.err;
		file->diag = cur.diag;
	}
	free(data);
	return next;
}

static void read_v7(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec)
{
	char codec[32], version[32];
	u32 stat_buffer = 0, sections = 0;
	u64 offset;

	ks_cursor_string(cur, codec, sizeof(codec));
	ks_cursor_string(cur, version, sizeof(version));
	offset = ks_cursor_uint(cur, 8);
	if (cur->err)
		return;
	if (!strcmp(codec, "zstd"))
		td->codec = KS_TD_ZSTD;
	else if (!strcmp(codec, "zlib"))
		td->codec = KS_TD_ZLIB;
	else if (strcmp(codec, "none"))
		ks_cursor_fail(cur, "zstd, zlib or no compression");
	while (offset && !cur->err) {
		if (++sections > MAX_OPTION_SECTIONS)
			ks_cursor_fail(cur, "an end of the chain of options");
		else
			offset = read_options_v7(td, cur, offset, dec, &stat_buffer);
	}
}

/* === Internals: version 6 ================================================================= */

/* The table of one buffer: "flyrecord", offset and size a CPU, and the clock. */
static void read_cpus_v6(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_td_buffer *buffer)
{
	char *clock;
	u64 i, len;

	for (i = 0; i < td->cpu_count && !cur->err; i++) {
		struct ks_td_cpu *cpu = add_cpu(buffer, cur, (u32)i);

		if (!cpu)
			return;
		cpu->offset = ks_cursor_uint(cur, 8);
		cpu->size = ks_cursor_uint(cur, 8);
	}
	buffer->page_size = td->start.page_size;
	snprintf(buffer->clock, sizeof(buffer->clock), "%s", td->clock);
	/* Old files end their table here; newer ones have the clock behind it. */
	len = cur->err || cur->end - cur->pos < 8 ? 0 : ks_cursor_uint(cur, 8);
	if (!len || len >= sizeof(buffer->clock))
		return;
	clock = ks_cursor_blob(cur, len);
	if (clock && clock[0] == '[')
		set_clock(buffer->clock, sizeof(buffer->clock), clock);
	free(clock);
}

static void read_options_v6(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec)
{
	u32 stat_buffer = 0, id;
	u64 size, end, whole = cur->end;

	while (!cur->err && (id = (u32)ks_cursor_uint(cur, 2)) != KS_TD_OPT_DONE) {
		size = ks_cursor_uint(cur, 4);
		end = cur->pos + size;
		if (cur->err || end > whole) {
			ks_cursor_fail(cur, "a whole option");
			return;
		}
		cur->end = end;
		if (id < KS_TD_SEC_STRINGS)
			read_option(td, cur, id, size, dec, &stat_buffer);
		cur->pos = end;
		cur->end = whole;
	}
}

static void read_other_buffers_v6(struct ks_tracedat *td, struct ks_cursor *cur, size_t count)
{
	char word[10];
	size_t i;

	for (i = 0; i < count && !cur->err; i++) {
		struct ks_td_buffer *buffer = &td->buffers.items[i];

		cur->pos = buffer->table;
		if (ks_cursor_read(cur, word, 10) && memcmp(word, "flyrecord", 10))
			ks_cursor_fail(cur, "the table of a buffer");
		read_cpus_v6(td, cur, buffer);
	}
}

static void read_v6(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec)
{
	struct ks_td_buffer *top;
	char word[10];
	size_t others;

	ks_meta_header_info(cur, &td->page);
	ks_meta_ftrace_events(cur, dec);
	ks_meta_events(cur, dec);
	ks_meta_kallsyms(cur, dec);
	ks_meta_printk(cur);
	ks_meta_cmdlines(cur, dec);
	td->cpu_count = (u32)ks_cursor_uint(cur, 4);
	if (!cur->err && td->cpu_count > MAX_CPUS)
		ks_cursor_fail(cur, "a number of CPUs");
	if (ks_cursor_read(cur, word, 10) && !memcmp(word, "options  ", 10)) {
		u32 cpus = td->cpu_count;

		read_options_v6(td, cur, dec);
		td->cpu_count =
			cpus; /* the option counts the machine's, the table has the traced ones */
		ks_cursor_read(cur, word, 10);
	}
	if (cur->err)
		return;
	if (!memcmp(word, "latency  ", 10)) {
		cur->err = ks_diag_set(&cur->diag, KS_EBADINPUT,
				       "%s: holds the text of a latency tracer, no events",
				       td->name);
		return;
	}
	if (memcmp(word, "flyrecord", 10)) {
		ks_cursor_fail(cur, "\"flyrecord\"");
		return;
	}
	others = td->buffers.len;
	top = add_buffer(td, cur);
	if (top)
		read_cpus_v6(td, cur, top);
	read_other_buffers_v6(td, cur, others);
}

/* === Internals: unfinished files ========================================================== */

static struct ks_td_cpu *cpu_of(struct ks_td_buffer *buffer, struct ks_cursor *cur, u32 cpu)
{
	size_t i;

	for (i = 0; i < buffer->cpus.len; i++)
		if (buffer->cpus.items[i].cpu == cpu)
			return &buffer->cpus.items[i];
	return add_cpu(buffer, cur, cpu);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct ks_td_block *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Collects the whole blocks; the first piece that is none ends the file. */
static int scan_journal(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = &td->buffers.items[td->buffers.len - 1];
	u64 pos = td->journal_start;
	size_t i;

	for (;;) {
		struct ks_cursor at;
		struct ks_td_block block, *slot;
		struct ks_td_cpu *cpu;
		u32 cpu_id, flags;
		u64 size, room;

		ks_cursor_file(&at, td->name, td->fd, pos, td->size);
		at.big_endian = td->start.big_endian;
		if (ks_cursor_uint(&at, 2) != KS_TD_SEC_BLOCK)
			break;
		flags = (u32)ks_cursor_uint(&at, 2);
		if ((flags & ~(u32)KS_TD_FL_LINKED) != KS_TD_FL_COMPRESSED)
			break;
		room = flags & KS_TD_FL_LINKED ? KS_TD_LINK : 0;
		cpu_id = (u32)ks_cursor_uint(&at, 4);
		size = ks_cursor_uint(&at, 8);
		block.seq = (u32)ks_cursor_uint(&at, 4);
		ks_cursor_skip(&at, room ? 4 : 0);
		block.stored = (u32)ks_cursor_uint(&at, 4);
		block.size = (u32)ks_cursor_uint(&at, 4);
		block.offset = at.pos;
		if (at.err || size != (room ? 16 : 12) + (u64)block.stored + room ||
		    block.size > MAX_BLOCK || cpu_id >= MAX_CPUS ||
		    block.stored > td->size - at.pos)
			break;
		cpu = cpu_of(buffer, cur, cpu_id);
		slot = cpu ? ks_vec_push(&cpu->blocks) : NULL;
		if (!slot) {
			nomem(cur);
			return cur->err;
		}
		*slot = block;
		cpu->compressed = true;
		cpu->size += block.stored;
		pos = block.offset + block.stored + room;
	}
	td->journal_end = pos;
	for (i = 0; i < buffer->cpus.len; i++)
		qsort(buffer->cpus.items[i].blocks.items, buffer->cpus.items[i].blocks.len,
		      sizeof(struct ks_td_block), compare_blocks);
	return 0;
}

/* === Internals: what must hold ============================================================ */

static int check_buffers(struct ks_tracedat *td, struct ks_diag *diag)
{
	size_t i, j;

	for (i = 0; i < td->buffers.len; i++) {
		struct ks_td_buffer *buffer = &td->buffers.items[i];
		u32 size = buffer->page_size;

		if (!buffer->cpus.len)
			continue;
		if (size < 1024 || size > 1 << 24 || size & (size - 1))
			return ks_diag_set(diag, KS_EBADINPUT,
					   "%s: buffer \"%s\" has pages of %u bytes", td->name,
					   buffer->name, size);
		for (j = 0; j < buffer->cpus.len; j++) {
			const struct ks_td_cpu *cpu = &buffer->cpus.items[j];

			if (cpu->cpu >= MAX_CPUS)
				return ks_diag_set(diag, KS_EBADINPUT, "%s: has a CPU number %u",
						   td->name, cpu->cpu);
			if (!td->journal && cpu->offset > td->size && cpu->size)
				return ks_diag_set(
					diag, KS_EBADINPUT,
					"%s: is cut off: the pages of CPU %u should be at byte %llu, but "
					"the file ends at %llu",
					td->name, cpu->cpu, (unsigned long long)cpu->offset,
					(unsigned long long)td->size);
		}
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_tracedat_open(struct ks_tracedat *td, const char *name, int fd, u64 size,
		     struct ks_names *names, struct ks_rawdec *dec, struct ks_diag *diag)
{
	struct ks_cursor cur;
	int err;

	*td = (struct ks_tracedat){ .name = name, .fd = fd, .size = size, .page = { 8, 16 } };
	ks_cursor_file(&cur, name, fd, 0, size);
	ks_meta_start(&cur, &td->start);
	td->version = atoi(td->start.version);
	if (!cur.err && td->version != 6 && td->version != 7)
		cur.err = ks_diag_set(&cur.diag, KS_EBADINPUT,
				      "%s: is a trace.dat of version %s; 6 and 7 can be read", name,
				      td->start.version);
	if (cur.err)
		goto fail_start;
	if (ks_rawdec_init(dec, names, td->start.big_endian, td->start.page_size)) {
		ks_diag_nomem(&cur.diag, "reading a trace.dat");
		cur.err = -ENOMEM;
		goto fail_start;
	}
	if (td->version == 7)
		read_v7(td, &cur, dec);
	else
		read_v6(td, &cur, dec);
	if (!cur.err && td->journal)
		scan_journal(td, &cur);
	err = cur.err ? cur.err : check_buffers(td, &cur.diag);
	if (!err)
		return 0;
	ks_rawdec_deinit(dec);
	cur.err = err;
fail_start:
	if (diag)
		*diag = cur.diag;
	ks_tracedat_deinit(td);
	return cur.err;
}

void ks_tracedat_deinit(struct ks_tracedat *td)
{
	size_t i, j;

	for (i = 0; i < td->buffers.len; i++) {
		for (j = 0; j < td->buffers.items[i].cpus.len; j++)
			ks_vec_free(&td->buffers.items[i].cpus.items[j].blocks);
		ks_vec_free(&td->buffers.items[i].cpus);
	}
	ks_vec_free(&td->buffers);
	ks_vec_free(&td->stats);
	ks_vec_free(&td->self.items);
	ks_vec_free(&td->nodes.items);
}
