/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The grammar of one line of a text log: any kernel from 2.6.30 on, as printed by the trace and
 * trace_pipe files, by "trace-cmd report" and by "perf script".
 */
#ifndef KS_TRACE_TEXT_LINE_H
#define KS_TRACE_TEXT_LINE_H

#include "trace/event.h"
#include "trace/names.h"

enum ks_line_class {
	KS_LINE_EVENT,	     /* one of ours, in ret_event */
	KS_LINE_OTHER_EVENT, /* a well-formed event of another kind */
	KS_LINE_COMMENT,     /* empty, or # header, or "cpus=2" */
	KS_LINE_OVERWRITTEN, /* the header line that counts overwritten events: in lost.count */
	KS_LINE_STACK,	     /* announces a stack trace: CPU and task are in ret_event */
	KS_LINE_USER_STACK,  /* announces that of a program, which tells nothing of the kernel */
	KS_LINE_FRAME,	     /* of a stack trace: " => function", or as perf prints it */
	KS_LINE_UNPARSED,
};

/*
 * The state of one parsing thread. Names are interned in tables of its own; the events that it
 * makes point into these.
 */
struct ks_line_parser;

int ks_line_parser_new(struct ks_line_parser **ret_parser);
void ks_line_parser_free(struct ks_line_parser *parser);

struct ks_names *ks_line_parser_names(struct ks_line_parser *parser);
enum ks_clock ks_line_parser_clock(const struct ks_line_parser *parser);

/* How many addresses it saw, and how many of them had no bit set in the upper half. */
void ks_line_parser_ptr_stats(const struct ks_line_parser *parser, u64 *ret_wide, u64 *ret_low);

/*
 * Reads the line without its newline; *ret_event is scratch where the class says that there is
 * none. -ENOMEM is the only error. KS_LINE_SLACK bytes behind the line
 * must be readable, whatever they hold: numbers are read a word at a time.
 */
enum { KS_LINE_SLACK = 16 };

int ks_line_parse(struct ks_line_parser *parser, const char *line, size_t len,
		  enum ks_line_class *ret_class, struct ks_event *ret_event);

#endif
