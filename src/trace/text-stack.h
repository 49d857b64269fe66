/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the text reader: the stack traces that ftrace and perf print behind an event. */
#ifndef KS_TRACE_TEXT_STACK_H
#define KS_TRACE_TEXT_STACK_H

#include "trace/reader.h"

struct ks_stack_reader {
	const struct ks_frame_filter *blame; /* may be NULL */
	u32 event; /* in the chunk: the one whose stack is being read; KS_NONE = of none of ours */
	bool reading; /* some line of the stack was seen */
	u32 len;
	u32 frames[KS_STACK_MAX];
};

void ks_stack_reader_init(struct ks_stack_reader *reader, const struct ks_frame_filter *blame);

/*
 * One line of a stack trace: its header, whose CPU and task are in @header, or a frame. The event is
 * among the last of @events; what perf prints has no header and belongs to the very last. -ENOMEM is
 * the only error.
 */
int ks_stack_line(struct ks_stack_reader *reader, struct ks_names *names, const char *line,
		  size_t len, const struct ks_event *header, struct ks_event *events,
		  size_t events_len);

/* The stack that may follow is of an event that is not ours. */
void ks_stack_pass(struct ks_stack_reader *reader);

/* To be called in front of any other line, and at the end: the event gets its stack. 0 or -ENOMEM. */
int ks_stack_end(struct ks_stack_reader *reader, struct ks_names *names, struct ks_event *events);

/*
 * Where to cut a text whose last whole line ends at @newline, so that no stack trace is apart from its
 * event: the newline before that event, or @newline itself where there is no place to cut.
 */
char *ks_stack_cut(char *text, char *newline);

#endif
