/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which event a stack trace is of. The kernel writes the stack behind its event, on the same CPU, but
 * the events of an interrupt may come between them, with stacks of their own. So a stack is of the
 * last line, or record, of its CPU that has none yet, be that an event of ours or not.
 *
 * The last events are kept back until no stack can be theirs any more. So it makes no difference in
 * what pieces a capture is read.
 */
#ifndef KS_TRACE_PAIR_H
#define KS_TRACE_PAIR_H

#include "trace/reader.h"

/* A stack is of one of so many lines before it, whatever their keys. */
enum { KS_PAIR_LINES = 4096 };

/* In the place of an event's number. */
#define KS_PAIR_NOBODY UINT64_MAX

struct ks_pair_line {
	u64 key;    /* a stack has that of its line: its CPU and task, say */
	u64 event;  /* its number, counted from the beginning; KS_PAIR_NOBODY: it is not ours */
	bool taken; /* has a stack, or can have none */
};

/* Zeroed, it is ready. */
struct ks_pairing {
	KS_VEC(struct ks_event)
	window;	       /* events that may still get a stack, and those handed out */
	u64 first;     /* number of window.items[0] */
	size_t given;  /* events that were handed out, at the front of the window */
	u64 lines_len; /* so many so far; the last ones are in lines[] */
	struct ks_pair_line lines[KS_PAIR_LINES]; /* number n is at n % KS_PAIR_LINES */
	u64 alone;				  /* stacks that are of no line */
};

void ks_pairing_deinit(struct ks_pairing *p);

/* The next event; and one that is not ours, or not wanted, but may have a stack. */
int ks_pairing_add(struct ks_pairing *p, const struct ks_event *ev, u64 key);
void ks_pairing_pass(struct ks_pairing *p, u64 key);

/*
 * The number of the event that a stack with this key is of, or of the last event or other line at
 * all. KS_PAIR_NOBODY: of none of ours.
 */
u64 ks_pairing_owner(struct ks_pairing *p, u64 key);
u64 ks_pairing_last(struct ks_pairing *p);

/* Gives it to an event that the above told, with no other added since. 0 or -ENOMEM. */
int ks_pairing_give(struct ks_pairing *p, struct ks_trace *trace, u64 event, u32 stack);

/* The events whose stacks are known by now; at the @end, all. They stay until the next call. */
void ks_pairing_take(struct ks_pairing *p, bool end, struct ks_batch *ret_batch);

#endif
