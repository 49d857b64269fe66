// SPDX-License-Identifier: LGPL-2.1-only
/* The blocks of a trace.dat whose recorder was killed. */
#include "trace/tracedat-parts.h"

#include <stdlib.h>

/* === Data ================================================================================= */

enum { MAX_BLOCK = 64 << 20 };

/* === Internals ============================================================================ */

static struct ks_td_cpu *cpu_of(struct ks_td_buffer *buffer, struct ks_cursor *cur, u32 cpu)
{
	size_t i;

	for (i = 0; i < buffer->cpus.len; i++)
		if (buffer->cpus.items[i].cpu == cpu)
			return &buffer->cpus.items[i];
	return ks_td_add_cpu(buffer, cur, cpu);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct ks_td_block *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* === Public =============================================================================== */

void ks_td_scan_journal(struct ks_tracedat *td, struct ks_cursor *cur)
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
		    block.size > MAX_BLOCK || cpu_id >= KS_TD_MAX_CPUS ||
		    block.stored > td->size - at.pos)
			break;
		cpu = cpu_of(buffer, cur, cpu_id);
		slot = cpu ? ks_vec_push(&cpu->blocks) : NULL;
		if (!slot) {
			ks_td_nomem(cur);
			return;
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
}
