// SPDX-License-Identifier: LGPL-2.1-only
/* The layout of trace.dat files: opening one, of either version, and what must hold in it. */
#include "trace/tracedat-parts.h"

#include <errno.h>
#include <stdlib.h>

/* === Data ================================================================================= */

enum { MAX_BUFFERS = 4096 };

/* === Internals ============================================================================ */

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

			if (cpu->cpu >= KS_TD_MAX_CPUS)
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

static bool counts_losses(const struct ks_td_stat *stat)
{
	return stat->overrun || stat->commit_overrun || stat->dropped;
}

/*
 * Lists the CPUs of a buffer that lost events and have no pages. Version 6 has all CPUs, version 7 those
 * with pages. @number is that of the statistics.
 */
static int list_lossy_cpus(struct ks_tracedat *td, struct ks_td_buffer *buffer, u32 number,
			   struct ks_cursor *cur)
{
	u8 listed[KS_TD_MAX_CPUS / 8 + 1] = { 0 };
	size_t i;

	for (i = 0; i < buffer->cpus.len; i++)
		if (buffer->cpus.items[i].cpu < KS_TD_MAX_CPUS)
			listed[buffer->cpus.items[i].cpu / 8] |=
				(u8)(1 << buffer->cpus.items[i].cpu % 8);
	for (i = 0; i < td->stats.len; i++) {
		const struct ks_td_stat *stat = &td->stats.items[i];

		if (stat->buffer != number || stat->cpu >= KS_TD_MAX_CPUS || !counts_losses(stat) ||
		    listed[stat->cpu / 8] >> stat->cpu % 8 & 1)
			continue;
		listed[stat->cpu / 8] |= (u8)(1 << stat->cpu % 8);
		if (!ks_td_add_cpu(buffer, cur, stat->cpu))
			return cur->err;
	}
	return 0;
}

static int list_all_lossy_cpus(struct ks_tracedat *td, struct ks_cursor *cur)
{
	u32 named = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < td->buffers.len && !err; i++) {
		struct ks_td_buffer *buffer = &td->buffers.items[i];

		err = list_lossy_cpus(td, buffer, buffer->name[0] ? ++named : 0, cur);
	}
	return err;
}

/* === Public =============================================================================== */

void ks_td_nomem(struct ks_cursor *cur)
{
	if (!cur->err)
		cur->err = ks_diag_nomem(&cur->diag, "reading a trace.dat");
}

struct ks_td_buffer *ks_td_add_buffer(struct ks_tracedat *td, struct ks_cursor *cur)
{
	struct ks_td_buffer *buffer = NULL;

	if (td->buffers.len < MAX_BUFFERS)
		buffer = ks_vec_push(&td->buffers);
	if (!buffer)
		ks_td_nomem(cur);
	return buffer;
}

struct ks_td_cpu *ks_td_add_cpu(struct ks_td_buffer *buffer, struct ks_cursor *cur, u32 cpu)
{
	struct ks_td_cpu *entry = ks_vec_push(&buffer->cpus);

	if (!entry)
		ks_td_nomem(cur);
	else
		entry->cpu = cpu;
	return entry;
}

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
		ks_td_read_v7(td, &cur, dec);
	else
		ks_td_read_v6(td, &cur, dec);
	if (!cur.err && td->journal)
		ks_td_scan_journal(td, &cur, dec);
	err = cur.err ? cur.err : check_buffers(td, &cur.diag);
	if (!err)
		err = list_all_lossy_cpus(td, &cur);
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
	ks_strbuf_deinit(&td->task_names);
	for (i = 0; i < KS_CENSUS_WHENS; i++)
		ks_slab_census_free(td->census[i]);
}
