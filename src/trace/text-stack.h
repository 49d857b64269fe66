/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Private to the text reader: the stack traces that ftrace and perf print behind an event, as one
 * thread sees them in its chunk. Whose they are is found later, in file order (text-pairing.h): the
 * event may be in a chunk before.
 */
#ifndef KS_TRACE_TEXT_STACK_H
#define KS_TRACE_TEXT_STACK_H

#include "trace/names.h"
#include "trace/text-line.h"

enum ks_note_what {
	KS_NOTE_STRAY,	    /* frames that follow neither a header nor an event */
	KS_NOTE_LINE,	    /* no stack, but an event that is not ours and may have one */
	KS_NOTE_STACK,	    /* a stack with the header of its CPU and task */
	KS_NOTE_USER_STACK, /* the same of a program: nobody wants it */
	KS_NOTE_FRAMES,	    /* frames without a header: of the event in the line before */
	KS_NOTE_MORE,	    /* frames at the very beginning: the chunk before tells whose */
};

struct ks_stack_note {
	u32 at; /* the number of events of the chunk before it */
	u32 pid;
	u32 stack; /* the frames that are in the chunk, by the worker's number; KS_NONE = none */
	u16 cpu;
	u8 what; /* enum ks_note_what */
};

/* All of a chunk, in the order of its lines. */
struct ks_stack_notes {
	KS_VEC(struct ks_stack_note) list;
	bool open; /* the chunk ends inside of the last one's stack */
	/* What frames that follow now would be: FRAMES or STRAY, or MORE where there was no line yet. */
	enum ks_note_what after;
};

/* Of one thread. Zeroed, it is ready. */
struct ks_stack_reader {
	u32 len; /* of the stack that is open */
	u32 frames[KS_STACK_MAX];
};

/* A chunk begins. */
void ks_stack_begin(struct ks_stack_reader *reader, struct ks_stack_notes *notes);

/*
 * Every line of the chunk in turn: @ev is what ks_line_parse() said of it, @at the number of events
 * before it. -ENOMEM is the only error.
 */
int ks_stack_line(struct ks_stack_reader *reader, struct ks_stack_notes *notes,
		  struct ks_names *names, enum ks_line_class class, const char *line, size_t len,
		  const struct ks_event *ev, size_t at);

/* The chunk is over. 0 or -ENOMEM. */
int ks_stack_end(struct ks_stack_reader *reader, struct ks_stack_notes *notes,
		 struct ks_names *names);

#endif
