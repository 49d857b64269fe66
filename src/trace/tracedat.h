/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The layout of a trace.dat, version 6 or 7: what it says of the traced machine, and where the
 * pages of each CPU are. Also of the unfinished file that a recorder leaves behind when it is
 * killed (see kmemscope-captures(5)).
 */
#ifndef KS_TRACE_TRACEDAT_H
#define KS_TRACE_TRACEDAT_H

#include "trace/host.h"
#include "trace/tracedat-writer.h"
#include "trace/tracemeta.h"

enum ks_td_codec { KS_TD_NONE, KS_TD_ZSTD, KS_TD_ZLIB };

/* Section and option numbers of version 7. */
enum {
	KS_TD_OPT_DONE = 0,
	KS_TD_OPT_CPUSTAT = 2,
	KS_TD_OPT_BUFFER = 3,
	KS_TD_OPT_CLOCK = 4,
	KS_TD_OPT_UNAME = 5,
	KS_TD_OPT_OFFSET = 7,
	KS_TD_OPT_CPUCOUNT = 8,
	KS_TD_OPT_VERSION = 9,
	KS_TD_OPT_TSC2NSEC = 14,
	KS_TD_SEC_STRINGS = 15,
	KS_TD_SEC_HEADER = 16,
	KS_TD_SEC_FTRACE = 17,
	KS_TD_SEC_EVENTS = 18,
	KS_TD_SEC_KALLSYMS = 19,
	KS_TD_SEC_PRINTK = 20,
	KS_TD_SEC_CMDLINES = 21,
	/* kmemscope's own, in a file that is being recorded: where the blocks begin, and a block. */
	KS_TD_OPT_JOURNAL = 0x4b53,
	KS_TD_SEC_BLOCK = 0x4b53,
	/* kmemscope's own, to which no option points: see KS_TD_OWN. */
	KS_TD_SEC_CENSUS = 0x4b54,
};

enum {
	KS_TD_FL_COMPRESSED = 1,
	KS_TD_FL_LINKED =
		2, /* of a journal's block: it has room for what makes it part of a list */
};

/* Of a journal's block: no CPU, but names of tasks. */
#define KS_TD_BLOCK_NAMES 0xffff0001u

enum { KS_TD_LINK = 16 }; /* bytes of room behind such a block; see tracedat-inplace.h */

/* In the text of KS_TD_OPT_VERSION: the recorder's own threads, with commas in between. */
#define KS_TD_SELF " self="
/* Also in the text of KS_TD_OPT_VERSION: the NUMA node of each CPU, with commas in between. */
#define KS_TD_NODES " nodes="
/*
 * Also there: where kmemscope's own sections are, with commas in between. Options of their own would do, but
 * trace-cmd complains of each that it does not know.
 */
#define KS_TD_OWN " sections="

/* A piece of one CPU's pages inside an unfinished file. */
struct ks_td_block {
	u64 offset; /* of the data */
	u32 stored, size;
	u32 seq;
};

struct ks_td_cpu {
	u32 cpu;
	u64 offset, size;
	bool compressed;
	KS_VEC(struct ks_td_block) blocks; /* journal only, in order */
};

struct ks_td_buffer {
	char name[256];
	char clock[64];
	u32 page_size;
	u64 table; /* version 6: where its CPUs are listed */
	KS_VEC(struct ks_td_cpu) cpus;
};

/* The statistics of one CPU at the end. */
struct ks_td_stat {
	u32 buffer; /* 0 = the top one, n = the nth that has a name */
	u32 cpu;
	u64 entries, overrun, commit_overrun, dropped, read;
	u64 unwritten; /* chunks that kmemscope's recorder had no room for */
};

struct ks_tracedat {
	const char *name;
	int fd;
	u64 size;
	struct ks_meta_start start;
	int version; /* 6 or 7 */
	enum ks_td_codec codec;
	struct ks_page_header page;
	char clock[64];
	u32 cpu_count;
	struct ks_host host; /* but for the number of CPUs */
	bool has_tsc;
	u32 tsc_mult, tsc_shift;
	u64 tsc_offset;
	s64 ts_offset;
	bool journal;			/* the recorder was killed */
	u64 journal_start, journal_end; /* whole blocks lie in between */
	KS_VEC(struct ks_td_buffer) buffers;
	KS_VEC(struct ks_td_stat) stats;
	struct ks_numbers self;	     /* threads of the recorder, whose objects are left out */
	bool some_tasks;	     /* kmemscope recorded one command or process, not all */
	struct ks_numbers nodes;     /* NUMA node by CPU; empty = not known */
	struct ks_strbuf task_names; /* of a journal: as saved_cmdlines has them */
	struct ks_slab_census *census[KS_CENSUS_WHENS]; /* NULL = there is none */
	struct ks_td_about about;
};

/*
 * Reads all but the pages. @names gets the comms; @dec is initialised here, once the byte order is
 * known, and is the caller's to free on success.
 */
int ks_tracedat_open(struct ks_tracedat *td, const char *name, int fd, u64 size,
		     struct ks_names *names, struct ks_rawdec *dec, struct ks_diag *diag);
void ks_tracedat_deinit(struct ks_tracedat *td);

struct ZSTD_DCtx_s;

/*
 * Decompresses one piece, whose sizes must agree: 0 or KS_EBADINPUT. *@zstd is a decompressor to use again
 * for the next one, made here when it is NULL; the caller frees it with ZSTD_freeDCtx().
 */
int ks_td_inflate(struct ZSTD_DCtx_s **zstd, enum ks_td_codec codec, void *dst, size_t dst_len,
		  const void *src, size_t src_len);

/* As ks_td_inflate(), for a single piece. */
int ks_td_decompress(enum ks_td_codec codec, void *dst, size_t dst_len, const void *src,
		     size_t src_len);

#endif
