// SPDX-License-Identifier: LGPL-2.1-only
/* trace.dat files: the journal, and what becomes of it. */
#include "trace/tracedat-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/outfile.h"
#include "trace/zframe.h"
#include "trace/tracedat-inplace.h"

/* === Data ================================================================================= */

enum {
	/* Room for what is known only at the end: the names of tasks, and the rest for each CPU. */
	RESERVE = 128 * 1024,
	RESERVE_CPU = 1024,
};

/* === Internals: the journal =============================================================== */

/*
 * Where the blocks will begin depends on the length of the options, which say it. In front of them is
 * room to finish the file in place.
 */
static void sketch_journal(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			   struct ks_td_writer *w)
{
	size_t names = strlen(meta->clock) + 1 + 1, option = 8 + 4 + names;
	struct ks_strbuf sb;

	ks_td_sketch_begin(sk, meta);
	ks_td_sketch_metadata(sk, meta);
	ks_td_sketch_census(sk, meta, KS_CENSUS_START);
	w->own = sk->own;
	ks_strbuf_add(&w->sections, sk->options.s, sk->options.len);
	ks_td_sketch_machine(sk, meta);
	w->pointer_at = sk->options_at;
	w->reserve_at = sk->text.len + KS_TD_SECTION_HEADER + sk->options.len + 6 + option + 6 + 8;
	w->reserve_len = RESERVE + RESERVE_CPU * (size_t)meta->cpus;
	ks_strbuf_init(&sb);
	w->first_at = w->reserve_at + w->reserve_len;
	w->journal_at = sk->text.len + KS_TD_SECTION_HEADER + sk->options.len + 6;
	ks_td_put(&sb, w->first_at, 8);
	ks_td_put(&sb, meta->ring_page_size, 4);
	ks_td_put_string(&sb, meta->clock);
	ks_td_put_string(&sb, "");
	ks_td_put_option(&sk->options, KS_TD_OPT_JOURNAL, sb.s, sb.len);
	sk->failed |= sb.failed || w->sections.failed;
	ks_strbuf_deinit(&sb);
	ks_td_sketch_end(sk);
	ks_td_sketch_point(sk);
}

/*
 * A new file of our own, under a name that nobody can guess. It gets its name when the journal has begun, in
 * place of what had it: so a link there is not followed, a file of somebody else is not written to, and what was
 * there stays until there is something better.
 */
static int create_file(struct ks_td_writer *w, struct ks_diag *diag)
{
	struct stat st;

	if (!stat(w->path, &st) && !S_ISREG(st.st_mode))
		return ks_diag_set(diag, -EINVAL,
				   "%s: is not a regular file; a capture is finished in place, so "
				   "name a file",
				   w->path);
	if (asprintf(&w->tmp_path, "%s.tmp-XXXXXX", w->path) < 0) {
		w->tmp_path = NULL;
		return ks_diag_nomem(diag, "creating a capture");
	}
	w->fd = mkostemp(w->tmp_path, O_CLOEXEC);
	if (w->fd < 0)
		return ks_diag_set(diag, -errno, "%s: cannot create: %s", w->path, strerror(errno));
	return 0;
}

/* Gives the file its name, or removes it after an error. */
static int name_file(struct ks_td_writer *w, int err, struct ks_diag *diag)
{
	if (!err && rename(w->tmp_path, w->path))
		err = ks_diag_set(diag, -errno, "%s: cannot create: %s", w->path, strerror(errno));
	if (err)
		unlink(w->tmp_path);
	free(w->tmp_path);
	w->tmp_path = NULL;
	return err;
}

/* Zeros, written: a hole would be no room on a full disk. */
static int write_reserve(struct ks_td_writer *w, struct ks_diag *diag)
{
	u8 *zeros = calloc(1, w->reserve_len);
	int err = zeros ? ks_td_write_at(w, w->reserve_at, zeros, w->reserve_len, diag)
			: ks_diag_nomem(diag, "creating a capture");

	free(zeros);
	return err;
}

static void free_writer(struct ks_td_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	ks_vec_free(&w->blocks);
	ks_strbuf_deinit(&w->sections);
	free(w->tmp_path);
	free(w->path);
	free(w);
}

static u64 monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

/* === Internals: finishing ================================================================= */

static int compare_blocks(const void *a, const void *b)
{
	const struct ks_td_place *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int find_ranges(const struct ks_td_writer *w, struct ks_td_ranges *ret)
{
	size_t i;

	for (i = 0; i < w->blocks.len; i++) {
		const struct ks_td_place *block = &w->blocks.items[i];
		struct ks_td_range *last = ret->items.len ? &ret->items.items[ret->items.len - 1]
							  : NULL;

		if (!last || last->cpu != block->cpu) {
			last = ks_vec_push(&ret->items);
			if (!last)
				return -ENOMEM;
			*last = (struct ks_td_range){ .cpu = block->cpu, .first = i, .size = 4 };
		}
		last->count++;
		last->size += 8 + (u64)block->stored;
	}
	return 0;
}

static int copy_block(struct ks_td_writer *w, const struct ks_td_place *block,
		      struct ks_strbuf *buf, struct ks_outfile *out, struct ks_diag *diag)
{
	ssize_t n;
	u8 *data = malloc(block->stored ? block->stored : 1);
	int err;

	if (!data)
		return ks_diag_nomem(diag, "finishing a capture");
	n = ks_pread_full(w->fd, data, block->stored, block->offset);
	if (n < (ssize_t)block->stored) {
		free(data);
		return ks_diag_set(diag, n < 0 ? (int)n : -EIO, "%s: cannot be read back", w->path);
	}
	buf->len = 0;
	ks_td_put(buf, block->stored, 4);
	ks_td_put(buf, block->len, 4);
	ks_strbuf_add(buf, data, block->stored);
	free(data);
	err = buf->failed ? ks_diag_nomem(diag, "finishing a capture")
			  : ks_outfile_write(out, buf->s, buf->len, diag);
	return err;
}

static int copy_ranges(struct ks_td_writer *w, const struct ks_td_ranges *ranges,
		       struct ks_outfile *out, struct ks_diag *diag)
{
	struct ks_strbuf buf;
	size_t i, j;
	int err = 0;

	ks_strbuf_init(&buf);
	for (i = 0; i < ranges->items.len && !err; i++) {
		const struct ks_td_range *range = &ranges->items.items[i];

		buf.len = 0;
		ks_td_put(&buf, range->count, 4);
		err = ks_outfile_write(out, buf.s, buf.len, diag);
		for (j = 0; j < range->count && !err; j++)
			err = copy_block(w, &w->blocks.items[range->first + j], &buf, out, diag);
	}
	ks_strbuf_deinit(&buf);
	return err;
}

/* Everything in front of the pages; the ranges learn where they will be. */
static u64 sketch_final(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			struct ks_td_ranges *ranges)
{
	u64 start, at;
	size_t i;

	ks_td_sketch_begin(sk, meta);
	ks_td_sketch_metadata(sk, meta);
	ks_td_sketch_cmdlines(sk, meta);
	ks_td_sketch_census(sk, meta, KS_CENSUS_START);
	ks_td_sketch_census(sk, meta, KS_CENSUS_END);
	ks_td_sketch_machine(sk, meta);
	/* The section of pages comes last, right behind the options. */
	at = start = ks_td_sketch_pages_at(sk, meta, ranges);
	for (i = 0; i < ranges->items.len; i++) {
		ranges->items.items[i].offset = at;
		at += ranges->items.items[i].size;
	}
	ks_td_sketch_end_pages(sk, meta, ranges, at - start);
	ks_td_sketch_point(sk);
	return at;
}

/* To fail now is better than after half of the copy. Not every file system knows. */
static int check_room(const struct ks_outfile *out, u64 size, struct ks_diag *diag)
{
	if (!fallocate(out->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) ||
	    (errno != ENOSPC && errno != EDQUOT))
		return 0;
	return ks_diag_set(diag, -errno, "%s: cannot write: %s", out->path, strerror(errno));
}

/* A copy with the blocks put together by CPU, in the place of the journal. */
static int write_final(struct ks_td_writer *w, const struct ks_td_meta *meta,
		       struct ks_td_ranges *ranges, struct ks_diag *diag)
{
	struct ks_td_sketch sk = { 0 };
	u64 size = sketch_final(&sk, meta, ranges);
	struct ks_outfile out;
	int err = sk.failed ? ks_diag_nomem(diag, "finishing a capture")
			    : ks_outfile_open(&out, w->path, diag);

	if (!err) {
		err = check_room(&out, size, diag);
		if (!err)
			err = ks_outfile_write(&out, sk.text.s, sk.text.len, diag);
		if (!err)
			err = copy_ranges(w, ranges, &out, diag);
		if (err)
			ks_outfile_abort(&out);
		else
			err = ks_outfile_commit(&out, diag);
	}
	ks_td_sketch_deinit(&sk);
	return err;
}

/* === Public =============================================================================== */

void ks_td_meta_init(struct ks_td_meta *meta)
{
	memset(meta, 0, sizeof(*meta));
}

void ks_td_meta_deinit(struct ks_td_meta *meta)
{
	size_t i;

	for (i = 0; i < meta->ftrace_formats.len; i++)
		ks_strbuf_deinit(&meta->ftrace_formats.items[i]);
	for (i = 0; i < meta->kmem_formats.len; i++)
		ks_strbuf_deinit(&meta->kmem_formats.items[i]);
	for (i = 0; i < meta->hook_formats.len; i++)
		ks_strbuf_deinit(&meta->hook_formats.items[i]);
	for (i = 0; i < meta->cpu_stats.len; i++)
		ks_strbuf_deinit(&meta->cpu_stats.items[i]);
	ks_vec_free(&meta->ftrace_formats);
	ks_vec_free(&meta->kmem_formats);
	ks_vec_free(&meta->hook_formats);
	ks_vec_free(&meta->cpu_stats);
	ks_vec_free(&meta->self.items);
	ks_vec_free(&meta->nodes.items);
	ks_strbuf_deinit(&meta->header_page);
	ks_strbuf_deinit(&meta->header_event);
	ks_strbuf_deinit(&meta->kallsyms);
	ks_strbuf_deinit(&meta->printk);
	ks_strbuf_deinit(&meta->cmdlines);
	for (i = 0; i < KS_CENSUS_WHENS; i++)
		ks_strbuf_deinit(&meta->census[i]);
}

int ks_td_writer_open(const char *path, const struct ks_td_meta *meta,
		      struct ks_td_writer **ret_writer, struct ks_diag *diag)
{
	struct ks_td_writer *w = calloc(1, sizeof(*w));
	struct ks_td_sketch sk = { 0 };
	int err;

	if (!w)
		return ks_diag_nomem(diag, "creating a capture");
	w->fd = -1;
	w->path = strdup(path);
	sketch_journal(&sk, meta, w);
	if (!w->path || sk.failed) {
		err = ks_diag_nomem(diag, "creating a capture");
		goto fail;
	}
	err = create_file(w, diag);
	if (err)
		goto fail;
	err = ks_td_write_at(w, 0, sk.text.s, sk.text.len, diag);
	if (!err)
		err = write_reserve(w, diag);
	err = name_file(w, err, diag);
	if (err)
		goto fail;
	w->size = w->reserve_at + w->reserve_len;
	*ret_writer = w;
	w = NULL;
fail:
	ks_td_sketch_deinit(&sk);
	if (w)
		free_writer(w);
	return err;
}

int ks_td_write_at(struct ks_td_writer *w, u64 at, const void *data, size_t len,
		   struct ks_diag *diag)
{
	int err = ks_pwrite_all(w->fd, data, len, at);

	return err ? ks_diag_set(diag, err, "%s: cannot write: %s", w->path, strerror(-err)) : 0;
}

int ks_td_writer_block(struct ks_td_writer *w, u32 cpu, u32 seq, const void *stored, u32 stored_len,
		       u32 len, struct ks_diag *diag)
{
	struct ks_td_place *block = ks_vec_push(&w->blocks);
	struct ks_strbuf header;
	u64 data;
	int err;

	if (!block)
		return ks_diag_nomem(diag, "writing a capture");
	ks_strbuf_init(&header);
	if (w->size > w->reserve_at + w->reserve_len)
		ks_strbuf_add(&header, (u8[KS_TD_LINK]){ 0 }, KS_TD_LINK); /* of the one before */
	ks_td_put_section_header(&header, KS_TD_SEC_BLOCK, KS_TD_FL_COMPRESSED | KS_TD_FL_LINKED,
				 cpu, 16 + (u64)stored_len + KS_TD_LINK);
	ks_td_put(&header, seq, 4);
	ks_td_put(&header, 0, 4);
	ks_td_put(&header, stored_len, 4);
	ks_td_put(&header, len, 4);
	data = w->size + header.len;
	/* The data first: a header without all of its data would end the journal too late. */
	err = header.failed ? ks_diag_nomem(diag, "writing a capture")
			    : ks_td_write_at(w, data, stored, stored_len, diag);
	if (!err)
		err = ks_td_write_at(w, w->size, header.s, header.len, diag);
	ks_strbuf_deinit(&header);
	if (err) {
		w->blocks.len--;
		if (ftruncate(w->fd, (off_t)w->size))
			return err; /* the reader ignores an incomplete block at the end */
		return err;
	}
	*block = (struct ks_td_place){ data, cpu, seq, stored_len, len, monotonic() };
	w->size = data + stored_len;
	return 0;
}

int ks_td_writer_names(struct ks_td_writer *w, const char *text, size_t len, struct ks_diag *diag)
{
	size_t bound = ks_zframe_bound(len);
	void *packed = malloc(bound);
	size_t stored = packed ? ks_zframe_make(packed, bound, text, len, 1) : 0;
	int err;

	if (!stored) {
		free(packed);
		return ks_diag_nomem(diag, "writing a capture");
	}
	err = ks_td_writer_block(w, KS_TD_BLOCK_NAMES, 0, packed, (u32)stored, (u32)len, diag);
	if (!err) { /* it is no part of the pages */
		w->blocks.len--;
		if (!w->names_at)
			w->names_at = w->size - stored;
	}
	free(packed);
	return err;
}

u64 ks_td_writer_size(const struct ks_td_writer *w)
{
	return w->size - (w->trimmed ? w->first_at - w->reserve_at - w->reserve_len : 0);
}

bool ks_td_writer_trimmed(const struct ks_td_writer *w)
{
	return w->trimmed;
}

int ks_td_writer_trim(struct ks_td_writer *w, u64 max_bytes, u64 max_age, bool *ret_names_lost,
		      struct ks_diag *diag)
{
	u64 oldest = max_age ? monotonic() : 0, from = w->first_at, to;
	struct ks_strbuf place;
	size_t n = 0;
	int err;

	*ret_names_lost = false;
	oldest -= ks_min(oldest, max_age);
	/* The last block always stays. */
	while (n + 1 < w->blocks.len &&
	       ((max_bytes && w->size - w->blocks.items[n].offset > max_bytes) ||
		w->blocks.items[n].when < oldest))
		n++;
	if (!n)
		return 0;
	to = w->blocks.items[n].offset - KS_TD_BLOCK_HEADER;
	ks_strbuf_init(&place);
	ks_td_put(&place, to, 8);
	/* First the place, then the hole: the journal is whole at any time. */
	err = place.failed ? ks_diag_nomem(diag, "writing a capture")
			   : ks_td_write_at(w, w->journal_at, place.s, 8, diag);
	ks_strbuf_deinit(&place);
	if (!err && fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			      (off_t)(to - from)))
		err = ks_diag_set(
			diag, -errno,
			"%s: its file system does not give space back, as --keep needs: %s",
			w->path, strerror(errno));
	if (err)
		return err;
	memmove(w->blocks.items, w->blocks.items + n,
		(w->blocks.len - n) * sizeof(*w->blocks.items));
	w->blocks.len -= n;
	w->first_at = to;
	w->trimmed = true;
	if (w->names_at && w->names_at < to) {
		*ret_names_lost = true;
		w->names_at = 0;
	}
	return 0;
}

int ks_td_writer_move(struct ks_td_writer *w, const char *path, struct ks_diag *diag)
{
	char *name = strdup(path);

	if (!name)
		return ks_diag_nomem(diag, "naming a capture");
	/* Not every file system can rename so that nothing is replaced; then there are two names for a moment. */
	if (renameat2(AT_FDCWD, w->path, AT_FDCWD, path, RENAME_NOREPLACE) &&
	    (errno != EINVAL || link(w->path, path) || unlink(w->path))) {
		int err = ks_diag_set(diag, -errno, "%s: cannot create: %s", path, strerror(errno));

		free(name);
		return err;
	}
	free(w->path);
	w->path = name;
	return 0;
}

int ks_td_writer_copy(const struct ks_td_writer *w, const char *path,
		      struct ks_td_writer **ret_copy, struct ks_diag *diag)
{
	struct ks_td_writer *copy = calloc(1, sizeof(*copy));
	int err;

	if (!copy)
		return ks_diag_nomem(diag, "saving a capture");
	copy->path = strdup(path);
	copy->fd = dup(w->fd);
	if (copy->fd < 0)
		err = ks_diag_set(diag, -errno, "%s: cannot save: %s", path, strerror(errno));
	else if (!copy->path || ks_vec_reserve(&copy->blocks, w->blocks.len))
		err = ks_diag_nomem(diag, "saving a capture");
	else
		err = 0;
	if (err) {
		free_writer(copy);
		return err;
	}
	if (w->blocks.len)
		memcpy(copy->blocks.items, w->blocks.items,
		       w->blocks.len * sizeof(*w->blocks.items));
	copy->blocks.len = w->blocks.len;
	*ret_copy = copy;
	return 0;
}

int ks_td_writer_finish(struct ks_td_writer *w, const struct ks_td_meta *meta, struct ks_diag *diag)
{
	struct ks_td_ranges ranges = { 0 };
	int err;

	if (w->blocks.len)
		qsort(w->blocks.items, w->blocks.len, sizeof(struct ks_td_place), compare_blocks);
	err = find_ranges(w, &ranges) ? ks_diag_nomem(diag, "finishing a capture")
				      : write_final(w, meta, &ranges, diag);
	/* No room for a copy, most likely. */
	if (err && !ks_td_finish_in_place(w, meta, &ranges))
		err = 0;
	ks_vec_free(&ranges.items);
	free_writer(w);
	return err;
}

void ks_td_writer_abort(struct ks_td_writer *w)
{
	unlink(w->path);
	free_writer(w);
}

void ks_td_writer_leave(struct ks_td_writer *w)
{
	free_writer(w);
}

int ks_td_writer_adopt(const char *path, int fd, struct ks_td_writer **ret_writer,
		       struct ks_diag *diag)
{
	struct ks_td_writer *w = calloc(1, sizeof(*w));

	if (w) {
		w->fd = fd;
		w->path = strdup(path);
	}
	if (!w || !w->path) {
		free(w);
		close(fd);
		return ks_diag_nomem(diag, "repairing a capture");
	}
	*ret_writer = w;
	return 0;
}

int ks_td_writer_adopt_block(struct ks_td_writer *w, u32 cpu, u32 seq, u64 offset, u32 stored_len,
			     u32 len)
{
	struct ks_td_place *block = ks_vec_push(&w->blocks);

	if (!block)
		return -ENOMEM;
	*block = (struct ks_td_place){ offset, cpu, seq, stored_len, len, 0 };
	return 0;
}
