/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the parts of the trace.dat layout do for each other. Errors are kept in the cursor. */
#ifndef KS_TRACE_TRACEDAT_PARTS_H
#define KS_TRACE_TRACEDAT_PARTS_H

#include "trace/tracedat.h"

enum { KS_TD_MAX_CPUS = 65535 };

void ks_td_nomem(struct ks_cursor *cur);

/* NULL with the cursor failed. */
struct ks_td_buffer *ks_td_add_buffer(struct ks_tracedat *td, struct ks_cursor *cur);
struct ks_td_cpu *ks_td_add_cpu(struct ks_td_buffer *buffer, struct ks_cursor *cur, u32 cpu);

/* All but the pages, behind the start that both versions share. */
void ks_td_read_v6(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec);
void ks_td_read_v7(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec);

/* One option, with the cursor bounded to it. @stat_buffer: whose statistics come next. */
void ks_td_read_option(struct ks_tracedat *td, struct ks_cursor *cur, u32 id, u64 size,
		       struct ks_rawdec *dec, u32 *stat_buffer);

/* "[local] global counter": the clock in brackets; a bare word stands for itself. */
void ks_td_set_clock(char *clock, size_t cap, const char *text);

/* The section of version 7 at @offset, with a cursor of its own. */
void ks_td_read_section(struct ks_tracedat *td, u32 id, u64 offset, struct ks_rawdec *dec,
			struct ks_cursor *cur);

/* Collects the whole blocks of an unfinished file; the first piece that is none ends it. */
void ks_td_scan_journal(struct ks_tracedat *td, struct ks_cursor *cur, struct ks_rawdec *dec);

#endif
