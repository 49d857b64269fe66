// SPDX-License-Identifier: LGPL-2.1-only
/* Which event of a text log a stack trace is of. */
#include "trace/text-pair.h"

#include <errno.h>
#include <string.h>

/* === Data ================================================================================= */

/* In the place of an event's number: a line that is not ours. */
#define NO_EVENT UINT64_MAX

/* === Internals ============================================================================ */

static struct ks_pair_line *line_at(struct ks_pairing *p, u64 number)
{
	return &p->lines[number % KS_PAIR_LINES];
}

static void add_line(struct ks_pairing *p, const struct ks_pair_line *line)
{
	*line_at(p, p->lines_len++) = *line;
}

/* The line that a stack of this CPU and task is of, or NULL. */
static struct ks_pair_line *find_line(struct ks_pairing *p, u32 pid, u16 cpu)
{
	u64 i = p->lines_len, first = i > KS_PAIR_LINES ? i - KS_PAIR_LINES : 0;

	while (i-- > first) {
		struct ks_pair_line *line = line_at(p, i);

		if (line->cpu == cpu && line->pid == pid && !line->taken)
			return line;
	}
	return NULL;
}

/* The open stack is whole: its event gets it. */
static int close_stack(struct ks_pairing *p, struct ks_trace *trace)
{
	struct ks_event *ev;
	u32 len = p->len;

	p->open = false;
	p->len = 0;
	if (!len)
		return 0;
	ev = &p->window.items[p->owner - p->first];
	ev->stack = ks_names_add_stack(&trace->names, p->frames, len);
	if (ev->stack == KS_NONE)
		return -ENOMEM;
	return trace->opts.blame ? ks_trace_blame(trace, ev) : 0;
}

static void open_stack(struct ks_pairing *p, struct ks_pair_line *line)
{
	p->open = true;
	p->owner = line ? line->event : NO_EVENT;
	p->alone += !line;
	if (line)
		line->taken = true;
}

static void drop_given(struct ks_pairing *p)
{
	p->window.len -= p->given;
	if (p->given)
		memmove(p->window.items, p->window.items + p->given,
			p->window.len * sizeof(*p->window.items));
	p->first += p->given;
	p->given = 0;
}

/* === Public =============================================================================== */

void ks_pairing_deinit(struct ks_pairing *p)
{
	ks_vec_free(&p->window);
}

int ks_pairing_events(struct ks_pairing *p, struct ks_trace *trace, const struct ks_event *events,
		      size_t len)
{
	size_t i;

	if (!len)
		return 0;
	if (p->open && close_stack(p, trace))
		return -ENOMEM;
	drop_given(p);
	if (ks_vec_reserve(&p->window, p->window.len + len))
		return -ENOMEM;
	for (i = 0; i < len; i++)
		add_line(p, &(struct ks_pair_line){ .event = p->first + p->window.len + i,
						    .pid = events[i].pid,
						    .cpu = events[i].cpu,
						    .taken = events[i].kind == KS_LOST });
	memcpy(p->window.items + p->window.len, events, len * sizeof(*events));
	p->window.len += len;
	return 0;
}

int ks_pairing_note(struct ks_pairing *p, struct ks_trace *trace, const struct ks_stack_note *note,
		    bool *ret_wanted)
{
	enum ks_note_what what = (enum ks_note_what)note->what;

	if (what != KS_NOTE_MORE) {
		if (p->open && close_stack(p, trace))
			return -ENOMEM;
	} else if (!p->open) {
		what = p->after;
	}
	switch (what) {
	case KS_NOTE_LINE:
		add_line(p, &(struct ks_pair_line){
				    .event = NO_EVENT, .pid = note->pid, .cpu = note->cpu });
		break;
	case KS_NOTE_STACK:
		open_stack(p, find_line(p, note->pid, note->cpu));
		break;
	case KS_NOTE_USER_STACK:
		p->open = true;
		p->owner = NO_EVENT;
		break;
	case KS_NOTE_FRAMES:
		open_stack(p, line_at(p, p->lines_len - 1));
		break;
	case KS_NOTE_STRAY:
		open_stack(p, NULL);
		break;
	case KS_NOTE_MORE:
		break;
	}
	*ret_wanted = p->open && p->owner != NO_EVENT;
	return 0;
}

void ks_pairing_frame(struct ks_pairing *p, u32 frame)
{
	if (p->len < KS_STACK_MAX)
		p->frames[p->len++] = frame;
}

int ks_pairing_edge(struct ks_pairing *p, struct ks_trace *trace,
		    const struct ks_stack_notes *notes)
{
	if (notes->after == KS_NOTE_MORE) /* no line but frames, if any: nothing ended */
		return 0;
	p->after = notes->after;
	return p->open && !notes->open ? close_stack(p, trace) : 0;
}

/*
 * The owner of a stack is among the last lines, so it is among as many last events, and is held back
 * while its stack is open.
 */
int ks_pairing_take(struct ks_pairing *p, struct ks_trace *trace, bool end,
		    struct ks_batch *ret_batch)
{
	if (end && p->open && close_stack(p, trace))
		return -ENOMEM;
	drop_given(p);
	p->given = p->window.len - (end ? 0 : ks_min(p->window.len, (size_t)KS_PAIR_LINES));
	*ret_batch = (struct ks_batch){ p->window.items, p->given };
	return 0;
}
