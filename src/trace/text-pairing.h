/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the text reader: the stacks that were noted in chunks, on one thread and in file order.
 * A stack may begin in one chunk and go on in the next.
 */
#ifndef KS_TRACE_TEXT_PAIRING_H
#define KS_TRACE_TEXT_PAIRING_H

#include "trace/stack-pairing.h"
#include "trace/text-stack.h"

/* Zeroed, it is ready. */
struct ks_text_pairing {
	struct ks_stack_pairing pairs;
	enum ks_note_what after; /* what frames would be, see ks_stack_notes */
	bool open;		 /* a stack is being read */
	u64 owner;		 /* the event that it is of */
	u32 len;
	u32 frames[KS_STACK_MAX];
};

/* The next @len events. 0 or -ENOMEM, as all of these. */
int ks_text_pair_events(struct ks_text_pairing *p, struct ks_source *source,
			const struct ks_event *events, size_t len);

/* The next note; says whether the frames of its stack are wanted, by ks_text_pair_frame(). */
int ks_text_pair_note(struct ks_text_pairing *p, struct ks_source *source,
		      const struct ks_stack_note *note, bool *ret_wanted);
void ks_text_pair_frame(struct ks_text_pairing *p, u32 frame);

/* A chunk with these notes is over; NULL: so is the file. */
int ks_text_pair_edge(struct ks_text_pairing *p, struct ks_source *source,
		      const struct ks_stack_notes *notes);

#endif
