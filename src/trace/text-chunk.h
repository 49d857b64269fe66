/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the text reader: one piece of a log, and the thread that parses it. */
#ifndef KS_TRACE_TEXT_CHUNK_H
#define KS_TRACE_TEXT_CHUNK_H

#include "trace/source.h"
#include "trace/text-stack.h"

/* The tables of names. */
enum ks_text_table {
	KS_TEXT_SITES,
	KS_TEXT_CACHES,
	KS_TEXT_COMMS,
	KS_TEXT_GFPS,
	KS_TEXT_FRAMES,
	KS_TEXT_STACKS,
	KS_TEXT_TABLES
};

struct ks_text_chunk {
	char *text; /* whole lines, and KS_LINE_SLACK bytes behind them */
	size_t len;
	struct ks_source_info info; /* line counts and samples of this chunk */
	enum ks_clock clock;
	KS_VEC(struct ks_event) events;
	struct ks_stack_notes notes; /* where stacks are wanted */
	/*
	 * Names that are new in this chunk, in order of their numbers. The worker's tables grow on
	 * while the caller reads these, but the strings themselves never move.
	 */
	KS_VEC(struct ks_str) new_names[KS_TEXT_TABLES];
};

/* What a thread needs to parse chunks one after the other. */
struct ks_chunk_parser {
	bool stacks; /* else they are only counted */
	struct ks_line_parser *lines;
	struct ks_stack_reader stack;
	u32 announced[KS_TEXT_TABLES]; /* names that its earlier chunks made known */
};

/* Parses all of the text. -ENOMEM is the only error. */
int ks_chunk_parse(struct ks_chunk_parser *parser, struct ks_text_chunk *chunk);

/* Makes it ready for another text; and its end. */
void ks_chunk_reset(struct ks_text_chunk *chunk);
void ks_chunk_deinit(struct ks_text_chunk *chunk);

#endif
