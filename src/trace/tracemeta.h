/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The part that trace.dat and perf.data share: event formats, symbols and task names of the
 * machine that was traced, in sections of one and the same layout.
 */
#ifndef KS_TRACE_TRACEMETA_H
#define KS_TRACE_TRACEMETA_H

#include "trace/cursor.h"
#include "trace/rawevent.h"
#include "trace/ring.h"

/* Each reads one section at the cursor; failures stay in the cursor. */
void ks_meta_header_info(struct ks_cursor *cur, struct ks_page_header *ret_header);
void ks_meta_ftrace_events(struct ks_cursor *cur, struct ks_rawdec *dec);
void ks_meta_events(struct ks_cursor *cur, struct ks_rawdec *dec);
void ks_meta_kallsyms(struct ks_cursor *cur, struct ks_rawdec *dec);
void ks_meta_printk(struct ks_cursor *cur);
void ks_meta_cmdlines(struct ks_cursor *cur, struct ks_rawdec *dec);

/* The magic number, version, byte order, word size and page size at the beginning. */
/* The system of the recorder's own probes, beside "kmem". */
#define KS_META_HOOKS "kmemscope"

struct ks_meta_start {
	char version[8];
	bool big_endian;
	u8 long_size;
	u32 page_size;
};
void ks_meta_start(struct ks_cursor *cur, struct ks_meta_start *ret_start);

#endif
