// SPDX-License-Identifier: LGPL-2.1-only
/* Finds the event to which a stack trace belongs. */
#include "trace/stack-pairing.h"

#include <errno.h>
#include <string.h>

/* === Internals ============================================================================ */

static struct ks_pairing_line *line_at(struct ks_stack_pairing *p, u64 number)
{
	return &p->lines[number % KS_PAIRING_LINES];
}

static void drop_given(struct ks_stack_pairing *p)
{
	if (!p->given)
		return;
	p->window.len -= p->given;
	memmove(p->window.items, p->window.items + p->given,
		p->window.len * sizeof(*p->window.items));
	p->first += p->given;
	p->given = 0;
}

/* === Public =============================================================================== */

void ks_stack_pairing_deinit(struct ks_stack_pairing *p)
{
	ks_vec_free(&p->window);
}

int ks_stack_pairing_add(struct ks_stack_pairing *p, const struct ks_event *ev, u64 key)
{
	drop_given(p);
	if (ks_vec_reserve(&p->window, p->window.len + 1))
		return -ENOMEM;
	*line_at(p, p->lines_len++) = (struct ks_pairing_line){ .key = key,
								.event = p->first + p->window.len,
								.taken = ev->kind == KS_LOST };
	p->window.items[p->window.len++] = *ev;
	return 0;
}

void ks_stack_pairing_pass(struct ks_stack_pairing *p, u64 key)
{
	*line_at(p, p->lines_len++) =
		(struct ks_pairing_line){ .key = key, .event = KS_PAIRING_NO_EVENT };
}

u64 ks_stack_pairing_owner(struct ks_stack_pairing *p, u64 key)
{
	u64 i = p->lines_len, first = i > KS_PAIRING_LINES ? i - KS_PAIRING_LINES : 0;

	while (i-- > first) {
		struct ks_pairing_line *line = line_at(p, i);

		if (line->key == key && !line->taken) {
			line->taken = true;
			return line->event;
		}
	}
	p->alone++;
	return KS_PAIRING_NO_EVENT;
}

u64 ks_stack_pairing_last(struct ks_stack_pairing *p)
{
	struct ks_pairing_line *line = line_at(p, p->lines_len - 1);

	line->taken = true;
	return line->event;
}

int ks_stack_pairing_give(struct ks_stack_pairing *p, struct ks_source *source, u64 event,
			  u32 stack)
{
	struct ks_event *ev = &p->window.items[event - p->first];

	ev->stack = stack;
	return source->opts.helpers ? ks_source_skip_helper(source, ev) : 0;
}

/*
 * An owner is among the last lines, so it is among as many last events, and those are held back until
 * others are added.
 */
void ks_stack_pairing_take(struct ks_stack_pairing *p, bool end, struct ks_batch *ret_batch)
{
	drop_given(p);
	p->given = p->window.len - (end ? 0 : ks_min(p->window.len, (size_t)KS_PAIRING_LINES));
	*ret_batch = (struct ks_batch){ p->window.items, p->given };
}
