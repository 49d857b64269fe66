/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the writer of trace.dat files: a piece of one under construction, in memory. Sections
 * are appended, each with the option that says where it is; the options come last.
 */
#ifndef KS_TRACE_TRACEDAT_SKETCH_H
#define KS_TRACE_TRACEDAT_SKETCH_H

#include "trace/tracedat-writer.h"

enum { KS_TD_SECTION_HEADER = 16, KS_TD_OWN_MAX = 8 };

/* Where the pages of one CPU are. */
struct ks_td_range {
	u32 cpu;
	size_t first, count; /* of the sorted blocks */
	u64 offset, size;
};

struct ks_td_ranges {
	KS_VEC(struct ks_td_range) items;
};

/* Where kmemscope's own sections are. */
struct ks_td_own {
	u64 at[KS_TD_OWN_MAX];
	u32 len;
};

/* Zeroed, it is ready. */
struct ks_td_sketch {
	struct ks_strbuf text;
	struct ks_strbuf options;
	u64 base;	    /* where the text will be in the file */
	size_t options_at;  /* where the header has the offset of the options */
	u64 options_offset; /* that offset, once they are there */
	struct ks_td_own own;
	bool failed;
};

void ks_td_sketch_deinit(struct ks_td_sketch *sk);

/* Files are in this machine's byte order, as the ring's pages are. */
void ks_td_put(struct ks_strbuf *sb, u64 v, unsigned int size);
void ks_td_put_string(struct ks_strbuf *sb, const char *s);
void ks_td_put_section_header(struct ks_strbuf *sb, u32 id, u32 flags, u32 name, u64 size);
void ks_td_put_option(struct ks_strbuf *options, u32 id, const void *data, size_t len);

/* The header of the file; then what is known before the first event, and what only at the end. */
void ks_td_sketch_begin(struct ks_td_sketch *sk, const struct ks_td_meta *meta);
void ks_td_sketch_metadata(struct ks_td_sketch *sk, const struct ks_td_meta *meta);
void ks_td_sketch_cmdlines(struct ks_td_sketch *sk, const struct ks_td_meta *meta);
void ks_td_sketch_census(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			 enum ks_census_when when);
void ks_td_sketch_machine(struct ks_td_sketch *sk, const struct ks_td_meta *meta);

/* Appends the options. */
void ks_td_sketch_end(struct ks_td_sketch *sk);

/* Where the content of the section of pages will begin if only the options of the pages follow. */
u64 ks_td_sketch_pages_at(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			  const struct ks_td_ranges *ranges);

/* The option of the pages, the end of the options, and the header of the section, of @size bytes. */
void ks_td_sketch_end_pages(struct ks_td_sketch *sk, const struct ks_td_meta *meta,
			    const struct ks_td_ranges *ranges, u64 size);

/* Writes the offset of the options into the header. */
void ks_td_sketch_point(struct ks_td_sketch *sk);

#endif
