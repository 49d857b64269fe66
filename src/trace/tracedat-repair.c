// SPDX-License-Identifier: LGPL-2.1-only
/* Repair: finishing the journal that a killed recorder left behind. */
#include "trace/tracedat-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/tracedat.h"

/* === Internals ============================================================================ */

/* Reads the metadata of a journal back, as raw sections. */
static int read_section(const struct ks_tracedat *td, u64 offset, u32 id, struct ks_strbuf *ret,
			struct ks_diag *diag)
{
	struct ks_cursor cur;
	u64 stored, len;
	char *packed, *plain;

	ks_cursor_file(&cur, td->name, td->fd, offset, td->size);
	cur.big_endian = td->start.big_endian;
	if (ks_cursor_uint(&cur, 2) != id)
		ks_cursor_fail(&cur, "a section of metadata");
	ks_cursor_skip(&cur, 14);
	stored = ks_cursor_uint(&cur, 4);
	len = ks_cursor_uint(&cur, 4);
	packed = ks_cursor_blob(&cur, stored);
	plain = packed ? malloc((size_t)len + 1) : NULL;
	if (plain && !ks_td_decompress(td->codec, plain, (size_t)len, packed, (size_t)stored))
		ks_strbuf_add(ret, plain, (size_t)len);
	else
		ks_cursor_fail(&cur, "whole compressed data");
	free(packed);
	free(plain);
	if (cur.err && diag)
		*diag = cur.diag;
	return cur.err ? cur.err : ret->failed ? -ENOMEM : 0;
}

static int take_text(struct ks_cursor *cur, unsigned int size_bytes, struct ks_strbuf *ret)
{
	u64 len = ks_cursor_uint(cur, size_bytes);
	char *text = ks_cursor_blob(cur, len);

	ks_strbuf_init(ret);
	if (text)
		ks_strbuf_add(ret, text, (size_t)len);
	free(text);
	return cur->err;
}

static int take_formats(struct ks_cursor *cur, u64 count, struct ks_td_meta *meta, u32 section,
			const char *system)
{
	while (count-- && !cur->err) {
		struct ks_strbuf *slot =
			section == KS_TD_SEC_FTRACE	 ? ks_vec_push(&meta->ftrace_formats)
			: !strcmp(system, KS_META_HOOKS) ? ks_vec_push(&meta->hook_formats)
							 : ks_vec_push(&meta->kmem_formats);

		if (!slot)
			return -ENOMEM;
		take_text(cur, 8, slot);
	}
	return cur->err;
}

static int read_meta_section(const struct ks_tracedat *td, u32 id, u64 offset,
			     struct ks_td_meta *meta, struct ks_diag *diag)
{
	struct ks_strbuf content;
	struct ks_cursor cur;
	char word[16];
	u64 systems;
	int err;

	ks_strbuf_init(&content);
	err = read_section(td, offset, id, &content, diag);
	if (err)
		goto done;
	ks_cursor_mem(&cur, td->name, content.s, content.len);
	cur.big_endian = td->start.big_endian;
	switch (id) {
	case KS_TD_SEC_HEADER:
		ks_cursor_string(&cur, word, sizeof(word));
		take_text(&cur, 8, &meta->header_page);
		ks_cursor_string(&cur, word, sizeof(word));
		take_text(&cur, 8, &meta->header_event);
		break;
	case KS_TD_SEC_FTRACE:
		take_formats(&cur, ks_cursor_uint(&cur, 4), meta, id, "");
		break;
	case KS_TD_SEC_EVENTS:
		for (systems = ks_cursor_uint(&cur, 4); systems && !cur.err; systems--) {
			ks_cursor_string(&cur, word, sizeof(word));
			take_formats(&cur, ks_cursor_uint(&cur, 4), meta, id, word);
		}
		break;
	case KS_TD_SEC_KALLSYMS:
		take_text(&cur, 4, &meta->kallsyms);
		break;
	case KS_TD_SEC_PRINTK:
		take_text(&cur, 4, &meta->printk);
		break;
	}
	err = cur.err;
	if (err && diag)
		*diag = cur.diag;
done:
	ks_strbuf_deinit(&content);
	return err;
}

/* Walks the journal's options, which this file's own code wrote, for the places of the sections. */
static int read_meta(const struct ks_tracedat *td, struct ks_td_meta *meta, struct ks_diag *diag)
{
	struct ks_cursor cur;
	char word[32];
	u64 at, end;
	int err = 0;

	ks_cursor_file(&cur, td->name, td->fd, 18, td->size);
	cur.big_endian = td->start.big_endian;
	ks_cursor_string(&cur, word, sizeof(word));
	ks_cursor_string(&cur, word, sizeof(word));
	cur.pos = ks_cursor_uint(&cur, 8);
	ks_cursor_skip(&cur, 8);
	at = ks_cursor_uint(&cur, 8);
	end = cur.pos + at;
	while (!cur.err && !err && cur.pos < end) {
		u32 id = (u32)ks_cursor_uint(&cur, 2);
		u64 size = ks_cursor_uint(&cur, 4), next = cur.pos + size;

		if (id == KS_TD_OPT_DONE)
			break;
		if (id >= KS_TD_SEC_HEADER && id <= KS_TD_SEC_PRINTK)
			err = read_meta_section(td, id, ks_cursor_uint(&cur, 8), meta, diag);
		else if (id == KS_TD_OPT_UNAME && size < sizeof(meta->uname))
			ks_cursor_read(&cur, meta->uname, (size_t)size);
		cur.pos = next;
	}
	if (cur.err && !err && diag)
		*diag = cur.diag;
	return err ? err : cur.err;
}

static int adopt_blocks(struct ks_td_writer *w, const struct ks_td_buffer *buffer, u32 frees)
{
	size_t i, j;

	for (i = 0; i < buffer->cpus.len; i++)
		for (j = 0; j < buffer->cpus.items[i].blocks.len; j++) {
			const struct ks_td_block *block = &buffer->cpus.items[i].blocks.items[j];

			if (ks_td_writer_adopt_block(w, buffer->cpus.items[i].cpu | frees,
						     block->seq, block->offset, block->stored,
						     block->size))
				return -ENOMEM;
		}
	return 0;
}

static void keep_census(const struct ks_tracedat *td, struct ks_td_meta *meta)
{
	size_t i;

	for (i = 0; i < KS_CENSUS_WHENS; i++)
		if (td->census[i])
			ks_slab_census_pack(td->census[i], (enum ks_census_when)i,
					    &meta->census[i]);
}

/* Takes over the descriptor. */
static int finish_journal(struct ks_tracedat *td, const char *path, int fd, struct ks_diag *diag)
{
	const struct ks_td_buffer *buffer = &td->buffers.items[0];
	struct ks_td_writer *w;
	struct ks_td_meta meta;
	size_t i;
	int err = ks_td_writer_adopt(path, fd, &w, diag);

	if (err)
		return err;
	ks_td_meta_init(&meta);
	memcpy(meta.clock, buffer->clock, sizeof(meta.clock));
	meta.page_size = td->start.page_size;
	meta.ring_page_size = buffer->page_size;
	meta.cpus = td->cpu_count;
	/* The writer owns them now. */
	keep_census(td, &meta);
	ks_strbuf_add(&meta.cmdlines, td->task_names.s, td->task_names.len);
	meta.about = td->about;
	meta.self = td->self;
	meta.nodes = td->nodes;
	td->self = td->nodes = (struct ks_numbers){ 0 };
	err = read_meta(td, &meta, diag);
	for (i = 0; i < td->buffers.len && !err; i++)
		if (adopt_blocks(w, &buffer[i], buffer[i].name[0] ? KS_TD_FREES : 0))
			err = ks_diag_nomem(diag, "repairing a capture");
	if (err)
		ks_td_writer_leave(w);
	else
		err = ks_td_writer_finish(w, &meta, diag);
	ks_td_meta_deinit(&meta);
	return err;
}

/* === Public =============================================================================== */

int ks_td_repair(const char *path, bool *ret_done, struct ks_diag *diag)
{
	const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct ks_names names;
	struct ks_tracedat td;
	struct ks_rawdec dec;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0 || fstat(fd, &st)) {
		err = ks_diag_set(diag, -errno, "%s: cannot open: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (ks_names_init(&names)) {
		close(fd);
		return ks_diag_nomem(diag, "repairing a capture");
	}
	err = ks_tracedat_open(&td, path, fd, (u64)st.st_size, &names, &dec, diag);
	if (err) {
		close(fd);
		ks_names_deinit(&names);
		return err;
	}
	*ret_done = td.journal;
	if (!td.journal) {
		close(fd);
	} else if (td.start.big_endian != big_endian) {
		err = ks_diag_set(diag, -EOPNOTSUPP,
				  "%s: was recorded on a machine of the other byte order; repair "
				  "it there",
				  path);
		close(fd);
	} else {
		err = finish_journal(&td, path, fd, diag);
	}
	ks_rawdec_deinit(&dec);
	ks_tracedat_deinit(&td);
	ks_names_deinit(&names);
	return err;
}
