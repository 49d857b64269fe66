// SPDX-License-Identifier: LGPL-2.1-only
/* The blocks of a trace.dat whose recorder was killed. */
#include "trace/tracedat-parts.h"

#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum { MAX_BLOCK = 64 << 20, MAX_NAMES = 16 << 20 };

/* === Internals ============================================================================ */

/* The buffer that a block is of; the second is made when its first block is met. */
static struct ks_td_buffer *buffer_of(struct ks_tracedat *td, size_t first, struct ks_cursor *cur,
				      u32 cpu)
{
	struct ks_td_buffer *buffer;

	if (!(cpu & KS_TD_FREES))
		return &td->buffers.items[first];
	if (td->buffers.len == first + 1) {
		buffer = ks_td_add_buffer(td, cur);
		if (!buffer)
			return NULL;
		strcpy(buffer->name, KS_TD_FREES_NAME);
		memcpy(buffer->clock, td->buffers.items[first].clock, sizeof(buffer->clock));
		buffer->page_size = td->buffers.items[first].page_size;
	}
	return &td->buffers.items[first + 1];
}

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

/* Names that a power cut left without content are no names. */
static void read_names(struct ks_tracedat *td, const struct ks_td_block *block,
		       struct ks_cursor *cur)
{
	char *stored = malloc(block->stored + 1), *text = NULL;

	if (stored && block->size < MAX_NAMES)
		text = malloc(block->size + 1);
	if (!stored || (!text && block->size < MAX_NAMES))
		ks_td_nomem(cur);
	else if (text &&
		 ks_pread_full(td->fd, stored, block->stored, block->offset) ==
			 (ssize_t)block->stored &&
		 !ks_td_decompress(td->codec, text, block->size, stored, block->stored) &&
		 td->task_names.len < MAX_NAMES)
		ks_strbuf_add(&td->task_names, text, block->size);
	free(stored);
	free(text);
}

/* === Public =============================================================================== */

void ks_td_scan_journal(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec)
{
	size_t first = td->buffers.len - 1, i, j;
	struct ks_td_buffer *buffer;
	u64 pos = td->journal_start;

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
		    block.size > MAX_BLOCK ||
		    (cpu_id >= KS_TD_MAX_CPUS && cpu_id != KS_TD_BLOCK_NAMES) ||
		    block.stored > td->size - at.pos)
			break;
		pos = block.offset + block.stored + room;
		if (cpu_id == KS_TD_BLOCK_NAMES) {
			read_names(td, &block, cur);
			if (cur->err)
				return;
			continue;
		}
		buffer = buffer_of(td, first, cur, cpu_id);
		cpu = buffer ? cpu_of(buffer, cur, cpu_id & ~(u32)KS_TD_FREES) : NULL;
		slot = cpu ? ks_vec_push(&cpu->blocks) : NULL;
		if (!slot) {
			ks_td_nomem(cur);
			return;
		}
		*slot = block;
		cpu->compressed = true;
		cpu->size += block.stored;
	}
	td->journal_end = pos;
	if (td->task_names.failed ||
	    ks_rawdec_add_cmdlines(dec, ks_strbuf_str(&td->task_names), td->task_names.len))
		ks_td_nomem(cur);
	for (j = first; j < td->buffers.len; j++) {
		buffer = &td->buffers.items[j];
		for (i = 0; i < buffer->cpus.len; i++)
			qsort(buffer->cpus.items[i].blocks.items, buffer->cpus.items[i].blocks.len,
			      sizeof(struct ks_td_block), compare_blocks);
	}
}
