/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Finds the event to which a stack trace belongs. The kernel writes the stack after its event, on the
 * same CPU, but the events of an interrupt may come between the two, with stacks of their own. So a stack
 * belongs to the last line, or record, of its CPU that has no stack yet. That line may be an event of
 * another kind, which the reader drops.
 *
 * The last events are held back until no later stack can belong to them. So it makes no difference in
 * what pieces a capture is read.
 */
#ifndef KS_TRACE_STACK_PAIRING_H
#define KS_TRACE_STACK_PAIRING_H

#include "trace/source.h"

/* A stack belongs to one of this many lines before it, whatever their keys. */
enum { KS_PAIRING_LINES = 4096 };

/* Stands for the number of an event where there is none. */
#define KS_PAIRING_NO_EVENT UINT64_MAX

struct ks_pairing_line {
	u64 key;    /* the same for a stack and its line: CPU and task, for instance */
	u64 event;  /* counted from the start of the capture, or KS_PAIRING_NO_EVENT */
	bool taken; /* has a stack, or can have none */
};

/* Zeroed, it is ready. */
struct ks_stack_pairing {
	KS_VEC(struct ks_event)
	window;	       /* events that may still get a stack, and those handed out */
	u64 first;     /* number of window.items[0] */
	size_t given;  /* events that were handed out, at the front of the window */
	u64 lines_len; /* lines so far; the last ones are in lines[] */
	struct ks_pairing_line lines[KS_PAIRING_LINES]; /* number n is at n % KS_PAIRING_LINES */
	u64 alone;					/* stacks without a line to belong to */
};

void ks_stack_pairing_deinit(struct ks_stack_pairing *p);

/* Adds the next event. */
int ks_stack_pairing_add(struct ks_stack_pairing *p, const struct ks_event *ev, u64 key);

/* Notes an event that the reader drops, but which may have a stack. */
void ks_stack_pairing_pass(struct ks_stack_pairing *p, u64 key);

/* The number of the event to which a stack with this key belongs, or KS_PAIRING_NO_EVENT. */
u64 ks_stack_pairing_owner(struct ks_stack_pairing *p, u64 key);

/* The number of the last event, for a stack without a key; or KS_PAIRING_NO_EVENT. */
u64 ks_stack_pairing_last(struct ks_stack_pairing *p);

/*
 * Gives the stack to an event that one of the two functions above returned. No other event may have been
 * added since. 0 or -ENOMEM.
 */
int ks_stack_pairing_give(struct ks_stack_pairing *p, struct ks_source *source, u64 event,
			  u32 stack);

/* The events whose stacks are known by now; at the @end, all. They stay until the next call. */
void ks_stack_pairing_take(struct ks_stack_pairing *p, bool end, struct ks_batch *ret_batch);

#endif
