// SPDX-License-Identifier: LGPL-2.1-only
/* The stacks of a text log, in file order. */
#include "trace/text-pairing.h"

#include <errno.h>

/* === Internals ============================================================================ */

/* Other CPUs' lines may come between an event and its stack in a log. */
static u64 key_of(u32 pid, u16 cpu)
{
	return (u64)cpu << 32 | pid;
}

static void open_stack(struct ks_text_pairing *p, u64 owner)
{
	p->open = true;
	p->owner = owner;
}

/* The open stack is whole: its event gets it. */
static int close_stack(struct ks_text_pairing *p, struct ks_source *source)
{
	size_t len = p->len, skipped;
	u32 stack;

	p->open = false;
	p->len = 0;
	if (!len)
		return 0;
	skipped = ks_names_tracer_frames(&source->names, p->frames, len);
	stack = ks_names_add_stack(&source->names, p->frames + skipped, len - skipped);
	return stack == KS_NONE ? -ENOMEM
				: ks_stack_pairing_give(&p->pairs, source, p->owner, stack);
}

/* === Public =============================================================================== */

int ks_text_pair_events(struct ks_text_pairing *p, struct ks_source *source,
			const struct ks_event *events, size_t len)
{
	size_t i;

	if (len && p->open && close_stack(p, source))
		return -ENOMEM;
	for (i = 0; i < len; i++)
		if (ks_stack_pairing_add(&p->pairs, &events[i],
					 key_of(events[i].pid, events[i].cpu)))
			return -ENOMEM;
	return 0;
}

int ks_text_pair_note(struct ks_text_pairing *p, struct ks_source *source,
		      const struct ks_stack_note *note, bool *ret_wanted)
{
	enum ks_note_what what = (enum ks_note_what)note->what;

	if (what != KS_NOTE_MORE) {
		if (p->open && close_stack(p, source))
			return -ENOMEM;
	} else if (!p->open) {
		what = p->after;
	}
	switch (what) {
	case KS_NOTE_LINE:
		ks_stack_pairing_pass(&p->pairs, key_of(note->pid, note->cpu));
		break;
	case KS_NOTE_STACK:
		open_stack(p, ks_stack_pairing_owner(&p->pairs, key_of(note->pid, note->cpu)));
		break;
	case KS_NOTE_FRAMES:
		open_stack(p, ks_stack_pairing_last(&p->pairs));
		break;
	case KS_NOTE_STRAY:
		p->pairs.alone++;
		open_stack(p, KS_PAIRING_NO_EVENT);
		break;
	case KS_NOTE_USER_STACK:
		open_stack(p, KS_PAIRING_NO_EVENT);
		break;
	case KS_NOTE_MORE:
		break;
	}
	*ret_wanted = p->open && p->owner != KS_PAIRING_NO_EVENT;
	return 0;
}

void ks_text_pair_frame(struct ks_text_pairing *p, u32 frame)
{
	if (p->len < KS_STACK_MAX)
		p->frames[p->len++] = frame;
}

int ks_text_pair_edge(struct ks_text_pairing *p, struct ks_source *source,
		      const struct ks_stack_notes *notes)
{
	bool open = notes && notes->open;

	if (notes && notes->after == KS_NOTE_MORE) /* only frames, if any: nothing ended */
		return 0;
	if (notes)
		p->after = notes->after;
	return p->open && !open ? close_stack(p, source) : 0;
}
