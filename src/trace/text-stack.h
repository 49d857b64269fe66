/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the text reader: the stack traces that ftrace prints behind an event, where one wants to
 * know on whose behalf a helper allocated.
 */
#ifndef KS_TRACE_TEXT_STACK_H
#define KS_TRACE_TEXT_STACK_H

#include "trace/reader.h"
#include "trace/text-line.h"

/* Events of other CPUs, or of an interrupt, may come between an event and its stack: so many. */
enum { KS_STACK_LOOK_BACK = 256 };

struct ks_stack_reader {
	const struct ks_frame_filter *filter;
	u32 owners[KS_STACK_LOOK_BACK]; /* events in the chunk that had their stack, by number */
	u32 event;	  /* in the chunk: the one whose stack is being read; KS_NONE = none */
	bool passed_site; /* the frame of its own site was seen: callers follow */
};

void ks_stack_reader_init(struct ks_stack_reader *reader, const struct ks_frame_filter *filter);

/*
 * One line of a stack trace: its header, whose CPU and task are in @header, or a frame. May change the
 * site of the event, which is among the last of @events. -ENOMEM is the only error.
 */
int ks_stack_line(struct ks_stack_reader *reader, struct ks_line_parser *parser, const char *line,
		  size_t len, const struct ks_event *header, struct ks_event *events,
		  size_t events_len);

/*
 * Where to cut a text whose last whole line ends at @newline, so that no stack trace is apart from its
 * event: the newline before that event, or @newline itself where there is no place to cut.
 */
char *ks_stack_cut(char *text, char *newline);

#endif
