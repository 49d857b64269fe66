/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the text reader: the header of a line, which says who, where and when. */
#ifndef KS_TRACE_TEXT_HEADER_H
#define KS_TRACE_TEXT_HEADER_H

#include "base/intern.h"
#include "trace/event.h"
#include "trace/text-line.h"

enum { KS_PREFIXES = 8, KS_PREFIX_MAX = 104 };

/* The text in front of a time stamp, and what it means. */
struct ks_prefix {
	u32 comm, pid;
	u16 cpu;
	u16 len; /* 0 = unused */
	char text[KS_PREFIX_MAX];
};

struct ks_header_parser {
	enum ks_clock clock; /* of the last header that was read */
	u32 last;	     /* the prefix that fitted last */
	u32 victim;	     /* the prefix to be replaced next */
	struct ks_prefix prefixes[KS_PREFIXES];
};

/*
 * Takes the header from the front of *@p: fills ts, cpu, pid and comm and leaves *@p behind the
 * colon. False, with nothing changed: there is no header.
 */
bool ks_header_parse(struct ks_header_parser *parser, struct ks_intern *comms, const char **p,
		     const char *end, struct ks_event *ev);

#endif
