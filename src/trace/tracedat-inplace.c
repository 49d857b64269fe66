// SPDX-License-Identifier: LGPL-2.1-only
/* Finishing a trace.dat in place, when the disk has no room for a copy. */
#include "trace/tracedat-inplace.h"

#include <errno.h>
#include <unistd.h>

#include "trace/zframe.h"

/* === Internals ============================================================================ */

/* Some readers hold a chunk's size in an int. */
static const u64 max_chunk = INT32_MAX;

/* A link leads forwards only, and not further than an int can say. */
static bool can_link(const struct ks_td_writer *w, const struct ks_td_range *range)
{
	const struct ks_td_place *block = &w->blocks.items[range->first];
	size_t i;

	for (i = 1; i < range->count; i++)
		if (block[i].offset <= block[i - 1].offset ||
		    block[i].offset - block[i - 1].offset > max_chunk)
			return false;
	return true;
}

/* From the end of a block to the sizes of the next one of its CPU. */
static int write_link(struct ks_td_writer *w, const struct ks_td_place *from,
		      const struct ks_td_place *to)
{
	u64 at = from->offset + from->stored, start = at + 8;
	u32 size = (u32)(to->offset + KS_TD_SIZES_AT - start), frame = size - 8;
	struct ks_strbuf sb;
	unsigned int i;
	int err;

	ks_strbuf_init(&sb);
	ks_td_put(&sb, size, 4);
	ks_td_put(&sb, 0, 4);
	/* zstd's own numbers are little-endian everywhere. */
	for (i = 0; i < 4; i++)
		ks_strbuf_add(&sb, &(u8){ (u8)((u32)KS_ZFRAME_SKIPPABLE >> 8 * i) }, 1);
	for (i = 0; i < 4; i++)
		ks_strbuf_add(&sb, &(u8){ (u8)(frame >> 8 * i) }, 1);
	err = sb.failed ? -ENOMEM : ks_td_write_at(w, at, sb.s, sb.len, NULL);
	ks_strbuf_deinit(&sb);
	return err;
}

/* Makes a list of the blocks of a CPU. */
static int link_blocks(struct ks_td_writer *w, struct ks_td_range *range)
{
	const struct ks_td_place *first = &w->blocks.items[range->first];
	const struct ks_td_place *last = first + range->count - 1, *block;
	struct ks_strbuf sb;
	int err;

	range->offset = first->offset + KS_TD_COUNT_AT;
	range->size = last->offset + last->stored - range->offset;
	ks_strbuf_init(&sb);
	ks_td_put(&sb, 2 * range->count - 1, 4);
	err = sb.failed ? -ENOMEM : ks_td_write_at(w, range->offset, sb.s, sb.len, NULL);
	ks_strbuf_deinit(&sb);
	for (block = first; block < last && !err; block++)
		err = write_link(w, block, block + 1);
	return err;
}

/* What the file says beside its blocks, as far as the journal does not have it. */
static int write_tail_with(struct ks_td_writer *w, const struct ks_td_meta *meta,
			   const struct ks_td_ranges *ranges, bool census, u64 *ret_options)
{
	struct ks_td_sketch sk = { .base = w->reserve_at, .own = w->own };
	int err = 0;

	ks_strbuf_add(&sk.options, w->sections.s, w->sections.len);
	ks_td_sketch_cmdlines(&sk, meta);
	if (census)
		ks_td_sketch_census(&sk, meta, KS_CENSUS_END);
	ks_td_sketch_machine(&sk, meta);
	ks_td_sketch_end_pages(&sk, meta, ranges,
			       w->size - ks_td_sketch_pages_at(&sk, meta, ranges));
	if (sk.failed)
		err = -ENOMEM;
	else if (sk.text.len > w->reserve_len)
		err = -ENOSPC;
	else
		err = ks_td_write_at(w, w->reserve_at, sk.text.s, sk.text.len, NULL);
	*ret_options = sk.options_offset;
	ks_td_sketch_deinit(&sk);
	return err;
}

/* A census of many objects may be larger than the room that there is: then the file has none. */
static int write_tail(struct ks_td_writer *w, const struct ks_td_meta *meta,
		      const struct ks_td_ranges *ranges, u64 *ret_options)
{
	int err = write_tail_with(w, meta, ranges, true, ret_options);

	return err == -ENOSPC ? write_tail_with(w, meta, ranges, false, ret_options) : err;
}

/* This turns the journal into a finished file. Everything else must be on the disk before. */
static int write_pointer(struct ks_td_writer *w, u64 options)
{
	struct ks_strbuf sb;
	int err;

	ks_strbuf_init(&sb);
	ks_td_put(&sb, options, 8);
	err = sb.failed		 ? -ENOMEM
	      : fdatasync(w->fd) ? -errno
				 : ks_td_write_at(w, w->pointer_at, sb.s, sb.len, NULL);
	ks_strbuf_deinit(&sb);
	return err || !fdatasync(w->fd) ? err : -errno;
}

/* === Public =============================================================================== */

int ks_td_finish_in_place(struct ks_td_writer *w, const struct ks_td_meta *meta,
			  struct ks_td_ranges *ranges)
{
	u64 options;
	size_t i;
	int err;

	if (!w->reserve_len || w->trimmed)
		return -ENOSPC;
	for (i = 0; i < ranges->items.len; i++)
		if (!can_link(w, &ranges->items.items[i]))
			return -EINVAL;
	for (i = 0; i < ranges->items.len; i++) {
		err = link_blocks(w, &ranges->items.items[i]);
		if (err)
			return err;
	}
	err = write_tail(w, meta, ranges, &options);
	return err ? err : write_pointer(w, options);
}
