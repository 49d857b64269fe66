/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the writer of trace.dat files: the journal, and how it is finished where it is.
 *
 * trace-cmd wants the pages of a CPU as a list of chunks, one right behind the other: two sizes of
 * 4 bytes, stored and raw, and a zstd frame. In the journal the blocks of all CPUs are mixed, but
 * the two sizes do stand in front of each block's frame. What lies between two blocks of a CPU can
 * be made a chunk, too: one of no content, which is what zstd takes a skippable frame for. So each
 * block has room behind it, the link, for the beginning of such a chunk; and room in front of its
 * sizes for the number of chunks, where the list of a CPU begins. To fill these in needs no space
 * and moves nothing, and whoever reads the journal does not look at them.
 */
#ifndef KS_TRACE_TRACEDAT_INPLACE_H
#define KS_TRACE_TRACEDAT_INPLACE_H

#include "trace/tracedat-sketch.h"
#include "trace/tracedat.h"

enum {
	KS_TD_COUNT_AT = -12,	 /* of the number of chunks, from the data of a block */
	KS_TD_SIZES_AT = -8,	 /* of its sizes */
	KS_TD_BLOCK_HEADER = 32, /* bytes in front of a block's data */
};

struct ks_td_place {
	u64 offset; /* of a block's data in the journal */
	u32 cpu, seq, stored, len;
	u64 when; /* it was written: CLOCK_MONOTONIC, in ns */
};

struct ks_td_writer {
	char *path;
	char *tmp_path; /* until it has its name */
	int fd;
	u64 size; /* of what was written in whole */
	KS_VEC(struct ks_td_place) blocks;

	/* Of a journal that keeps only the last of it. */
	u64 journal_at; /* where the options have the place of the first block */
	u64 first_at;	/* that place */
	u64 names_at;	/* of the oldest names of tasks that are needed; 0 = there are none */
	bool trimmed;	/* blocks are gone, so it can't be finished in place */

	/* To finish it in place. A journal that was adopted has none of these. */
	struct ks_strbuf sections; /* the options that say where the metadata is */
	struct ks_td_own own;	   /* sections that no option points to */
	size_t pointer_at;	   /* where the header has the offset of the options */
	u64 reserve_at;		   /* room for options */
	size_t reserve_len;	   /* 0 = none */
};

int ks_td_write_at(struct ks_td_writer *w, u64 at, const void *data, size_t len,
		   struct ks_diag *diag);

/*
 * Makes the journal a finished file without more space. @ranges are of the sorted blocks. On error,
 * -errno, the journal stays what it is.
 */
int ks_td_finish_in_place(struct ks_td_writer *w, const struct ks_td_meta *meta,
			  struct ks_td_ranges *ranges);

#endif
