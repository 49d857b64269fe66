/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Writing trace.dat files, version 7. While events come in, the file is a journal: header, metadata
 * and then blocks of any CPU, each whole in itself, so that whatever was written can be read after a
 * crash. At the end the blocks are put together by CPU, as trace-cmd wants them.
 */
#ifndef KS_TRACE_TRACEDAT_WRITER_H
#define KS_TRACE_TRACEDAT_WRITER_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/slab-census.h"
#include "trace/tracedat-about.h"

struct ks_numbers {
	KS_VEC(u32) items;
};

/* What the file says of the traced machine; all strings are the caller's. */
struct ks_td_meta {
	struct ks_strbuf header_page, header_event;
	KS_VEC(struct ks_strbuf) ftrace_formats;
	KS_VEC(struct ks_strbuf) kmem_formats;
	KS_VEC(struct ks_strbuf) hook_formats; /* of the recorder's own probes */
	struct ks_strbuf kallsyms, printk, cmdlines;
	KS_VEC(struct ks_strbuf) cpu_stats; /* "CPU: n" and the text of its stats file */
	struct ks_numbers self;	 /* threads of the recorder, whose objects readers leave out */
	struct ks_numbers nodes; /* NUMA node by CPU */
	struct ks_strbuf census[KS_CENSUS_WHENS]; /* packed; empty = none */
	struct ks_td_about about;
	char clock[64];
	char uname[256];
	u32 page_size;	    /* of the machine */
	u32 ring_page_size; /* of the ring buffer */
	u32 cpus;
};

void ks_td_meta_init(struct ks_td_meta *meta);
void ks_td_meta_deinit(struct ks_td_meta *meta);

/* A line that kmemscope adds to cpu_stats: how many chunks of pages are not in the file. */
#define KS_TD_UNWRITTEN "unwritten chunks: "

/*
 * Rings of a second buffer, which has the frees of all processes where only allocations of some are recorded: their CPU
 * numbers have this bit.
 */
enum { KS_TD_FREES = 0x8000 };
#define KS_TD_FREES_NAME "frees"

struct ks_td_writer;

/* Creates the file, mode 0600, with all of @meta that is known before the first event. */
int ks_td_writer_open(const char *path, const struct ks_td_meta *meta,
		      struct ks_td_writer **ret_writer, struct ks_diag *diag);

/* One piece of a CPU's pages, compressed. Blocks of a CPU are ordered by @seq. @cpu may have KS_TD_FREES. */
int ks_td_writer_block(struct ks_td_writer *writer, u32 cpu, u32 seq, const void *stored,
		       u32 stored_len, u32 len, struct ks_diag *diag);

/* Names of tasks as saved_cmdlines has them, for whoever reads a journal. A finished file has those of its meta. */
int ks_td_writer_names(struct ks_td_writer *writer, const char *text, size_t len,
		       struct ks_diag *diag);

/* Bytes in the file so far, without holes. */
u64 ks_td_writer_size(const struct ks_td_writer *writer);

/*
 * Drops the oldest blocks, so that those that stay are at most about @max_bytes and at most @max_age ns old; 0 = any. Their
 * space goes back to the file system. *ret_names_lost: names of tasks went with them; write them all again.
 */
int ks_td_writer_trim(struct ks_td_writer *writer, u64 max_bytes, u64 max_age, bool *ret_names_lost,
		      struct ks_diag *diag);

/* Whether anything was dropped. */
bool ks_td_writer_trimmed(const struct ks_td_writer *writer);

/* Gives the journal another name, which nobody must have: -EEXIST. */
int ks_td_writer_move(struct ks_td_writer *writer, const char *path, struct ks_diag *diag);

/*
 * Another writer, of what there is now: to finish as a file of its own while the journal goes on. Until that is done, blocks
 * may be appended to the journal, but not dropped.
 */
int ks_td_writer_copy(const struct ks_td_writer *writer, const char *path,
		      struct ks_td_writer **ret_copy, struct ks_diag *diag);

/*
 * Turns the journal into a finished file: written beside it, then renamed over it; where that
 * fails, in place. Where that fails, too, the journal stays as it is. Frees the writer in any case.
 */
int ks_td_writer_finish(struct ks_td_writer *writer, const struct ks_td_meta *meta,
			struct ks_diag *diag);

/* Gives up: the file is removed. */
void ks_td_writer_abort(struct ks_td_writer *writer);

/* Frees the writer and leaves the journal as it is. */
void ks_td_writer_leave(struct ks_td_writer *writer);

/*
 * For a repair: takes over the descriptor of a journal, even on error, and one by one the blocks
 * that it was found to have.
 */
int ks_td_writer_adopt(const char *path, int fd, struct ks_td_writer **ret_writer,
		       struct ks_diag *diag);
int ks_td_writer_adopt_block(struct ks_td_writer *writer, u32 cpu, u32 seq, u64 offset,
			     u32 stored_len, u32 len);

/*
 * Finishes the journal at @path that another process left behind. 0 also where it was finished
 * already; *ret_done: there was something to do.
 */
int ks_td_repair(const char *path, bool *ret_done, struct ks_diag *diag);

#endif
