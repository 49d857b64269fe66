/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the text reader: which event a stack trace is of. The kernel writes the stack behind
 * its event, on the same CPU, but other CPUs' lines may come between them in a log, and so may the
 * events of an interrupt, with stacks of their own. So a stack is of the last line of its CPU and
 * task that has none yet, be that line an event of ours or not.
 *
 * Works on one thread and in file order, and keeps the last events back until no stack can be theirs
 * any more. So it makes no difference where the file was cut.
 */
#ifndef KS_TRACE_TEXT_PAIR_H
#define KS_TRACE_TEXT_PAIR_H

#include "trace/reader.h"
#include "trace/text-stack.h"

/* A stack is of one of so many lines before it. */
enum { KS_PAIR_LINES = 4096 };

struct ks_pair_line {
	u64 event; /* its number, counted from the beginning, where it is one of ours */
	u32 pid;
	u16 cpu;
	bool taken; /* has a stack, or can have none */
};

struct ks_pairing {
	KS_VEC(struct ks_event)
	window;	       /* events that may still get a stack, and those handed out */
	u64 first;     /* number of window.items[0] */
	size_t given;  /* events that were handed out, at the front of the window */
	u64 lines_len; /* so many so far; the last ones are in lines[] */
	struct ks_pair_line lines[KS_PAIR_LINES]; /* number n is at n % KS_PAIR_LINES */
	enum ks_note_what after;		  /* what frames would be, see ks_stack_notes */
	bool open;				  /* a stack is being read */
	u64 owner;				  /* the event that it is of */
	u32 len;
	u32 frames[KS_STACK_MAX];
	u64 alone; /* stacks that are of no line */
};

/* Zeroed, it is ready but for the memory that it may take. */
void ks_pairing_deinit(struct ks_pairing *p);

/* The next @len events. 0 or -ENOMEM, as all of these. */
int ks_pairing_events(struct ks_pairing *p, struct ks_trace *trace, const struct ks_event *events,
		      size_t len);

/* The next note; says whether the frames of its stack are wanted, by ks_pairing_frame(). */
int ks_pairing_note(struct ks_pairing *p, struct ks_trace *trace, const struct ks_stack_note *note,
		    bool *ret_wanted);
void ks_pairing_frame(struct ks_pairing *p, u32 frame);

/* A chunk with these notes is over. */
int ks_pairing_edge(struct ks_pairing *p, struct ks_trace *trace,
		    const struct ks_stack_notes *notes);

/* The events whose stacks are known by now; at the @end, all. They stay until the next call. */
int ks_pairing_take(struct ks_pairing *p, struct ks_trace *trace, bool end,
		    struct ks_batch *ret_batch);

#endif
