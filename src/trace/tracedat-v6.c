// SPDX-License-Identifier: LGPL-2.1-only
/* Version 6 of trace.dat: all in a fixed order, with a table of CPUs for each buffer. */
#include "trace/tracedat-parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

/* The table of one buffer: "flyrecord", offset and size a CPU, and the clock. */
static void read_cpus_v6(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_td_buffer *buffer)
{
	char *clock;
	u64 i, len;

	for (i = 0; i < td->cpu_count && !cur->err; i++) {
		struct ks_td_cpu *cpu = ks_td_add_cpu(buffer, cur, (u32)i);

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
		ks_td_set_clock(buffer->clock, sizeof(buffer->clock), clock);
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
			ks_td_read_option(td, cur, id, size, dec, &stat_buffer);
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

/* === Public =============================================================================== */

void ks_td_read_v6(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec)
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
	if (!cur->err && td->cpu_count > KS_TD_MAX_CPUS)
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
	top = ks_td_add_buffer(td, cur);
	if (top)
		read_cpus_v6(td, cur, top);
	read_other_buffers_v6(td, cur, others);
}
