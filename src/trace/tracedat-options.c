// SPDX-License-Identifier: LGPL-2.1-only
/* The options of a trace.dat: buffers, statistics, clock, and who recorded it. */
#include "trace/tracedat-parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { MAX_OWN_SECTIONS = 64 };

/* === Internals ============================================================================ */

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
		ks_td_nomem(cur);
	else
		*slot = stat;
}

static void read_buffer_v7(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = ks_td_add_buffer(td, cur);
	u64 offset = ks_cursor_uint(cur, 8), count;
	struct ks_cursor section;
	bool compressed;

	if (!buffer)
		return;
	ks_cursor_string(cur, buffer->name, sizeof(buffer->name));
	ks_cursor_string(cur, buffer->clock, sizeof(buffer->clock));
	buffer->page_size = (u32)ks_cursor_uint(cur, 4);
	count = ks_cursor_uint(cur, 4);
	if (!cur->err && count > KS_TD_MAX_CPUS)
		ks_cursor_fail(cur, "a number of CPUs");
	ks_cursor_file(&section, td->name, td->fd, offset, td->size);
	section.big_endian = td->start.big_endian;
	if (!cur->err && ks_cursor_uint(&section, 2) != KS_TD_OPT_BUFFER)
		ks_cursor_fail(cur, "a section of trace data where the option points");
	compressed = ks_cursor_uint(&section, 2) & KS_TD_FL_COMPRESSED;
	while (count-- && !cur->err) {
		struct ks_td_cpu *cpu = ks_td_add_cpu(buffer, cur, (u32)ks_cursor_uint(cur, 4));

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
	struct ks_td_buffer *buffer = ks_td_add_buffer(td, cur);

	if (!buffer)
		return;
	buffer->table = ks_cursor_uint(cur, 8);
	ks_cursor_string(cur, buffer->name, sizeof(buffer->name));
}

static void read_journal(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = ks_td_add_buffer(td, cur);

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
	size_t n = (size_t)ks_min(size, (u64)cap - 1);

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
			ks_td_nomem(cur);
			return;
		}
		*number = (u32)strtoul(p, &end, 10);
	}
}

/*
 * trace-cmd convert and split copy the list of places, and not the sections: something else is there then, or nothing,
 * and the capture has no census.
 */
static bool is_own_section(const struct ks_tracedat *td, u64 at)
{
	struct ks_cursor peek;

	ks_cursor_file(&peek, td->name, td->fd, at, td->size);
	peek.big_endian = td->start.big_endian;
	return ks_cursor_uint(&peek, 2) == KS_TD_SEC_CENSUS && !peek.err;
}

/* Sections that only kmemscope knows, by the list of where they are. */
static void read_own_sections(struct ks_tracedat *td, struct ks_cursor *cur, const char *text,
			      struct ks_rawdec *dec)
{
	const char *p = strstr(text, KS_TD_OWN);
	struct ks_cursor section = { 0 };
	u32 count = 0;
	char *end;

	for (p = p ? p + strlen(KS_TD_OWN) : ""; *p >= '0' && *p <= '9' && !cur->err;
	     p = end + (*end == ',')) {
		u64 at = strtoull(p, &end, 10);

		if (count++ == MAX_OWN_SECTIONS) {
			ks_cursor_fail(cur, "fewer sections");
			return;
		}
		if (!is_own_section(td, at))
			continue;
		ks_td_read_section(td, KS_TD_SEC_CENSUS, at, dec, &section);
		if (section.err) {
			cur->err = section.err;
			cur->diag = section.diag;
		}
	}
}

/* "kmemscope 1.0 self=12,13 nodes=0,0 sections=900": who recorded it, and on what machine. */
static void read_recorder(struct ks_tracedat *td, struct ks_cursor *cur, u64 size,
			  struct ks_rawdec *dec)
{
	char *text = ks_cursor_blob(cur, size);

	if (text && !strncmp(text, "kmemscope ", 10)) {
		read_numbers(cur, text, KS_TD_SELF, &td->self);
		read_numbers(cur, text, KS_TD_NODES, &td->nodes);
		ks_td_about_parse(&td->about, text);
		td->some_tasks = !td->self.items.len;
		if (td->version == 7)
			read_own_sections(td, cur, text, dec);
	}
	free(text);
}

/* "Linux name 6.12.48 x86_64": the last two words are used. */
static void read_uname(struct ks_tracedat *td, const char *text)
{
	char words[4][128] = { "" };

	if (sscanf(text, "%127s %127s %127s %127s", words[0], words[1], words[2], words[3]) != 4)
		return;
	snprintf(td->host.kernel, sizeof(td->host.kernel), "%s", words[2]);
	snprintf(td->host.arch, sizeof(td->host.arch), "%.31s", words[3]);
}

/* === Public =============================================================================== */

void ks_td_set_clock(char *clock, size_t cap, const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (close)
		snprintf(clock, cap, "%.*s", (int)(close - open - 1), open + 1);
	else
		snprintf(clock, cap, "%.*s", (int)strcspn(text, " \n"), text);
}

void ks_td_read_option(struct ks_tracedat *td, struct ks_cursor *cur, u32 id, u64 size,
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
		ks_td_set_clock(td->clock, sizeof(td->clock), text);
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
		read_recorder(td, cur, size, dec);
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
		ks_td_read_section(td, id, ks_cursor_uint(cur, 8), dec, &section);
		if (section.err && !cur->err) {
			cur->err = section.err;
			cur->diag = section.diag;
		}
		break;
	default:
		break;
	}
}
