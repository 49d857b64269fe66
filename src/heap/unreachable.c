// SPDX-License-Identifier: LGPL-2.1-only
/* Finds what no root leads to, and compares two looks. */
#include "heap/unreachable.h"

#include <errno.h>
#include <stdlib.h>

/* === Data ================================================================================= */

enum { AHEAD = 8 }; /* objects in the queue whose references are brought into the cache */

/* Which objects are reached. Ways to them do not matter here, so a bit for each will do, and they fit into a cache. */
struct marking {
	const struct ks_snapshot *snapshot;
	u64 *reached;
	u32 *queue;
	u32 head, tail;
};

/* === Internals ============================================================================ */

static void reach(struct marking *m, u32 object)
{
	u64 bit = 1ull << object % 64, *word = &m->reached[object / 64];

	if (*word & bit)
		return;
	*word |= bit;
	m->queue[m->tail++] = object;
}

static void follow_all(struct marking *m)
{
	const struct ks_snapshot *s = m->snapshot;
	u32 object, ref, end;

	while (m->head < m->tail) {
		if (m->head + 2 * AHEAD < m->tail)
			__builtin_prefetch(&s->ref_first[m->queue[m->head + 2 * AHEAD]]);
		if (m->head + AHEAD < m->tail)
			__builtin_prefetch(&s->refs.items[s->ref_first[m->queue[m->head + AHEAD]]]);
		object = m->queue[m->head++];
		end = s->ref_first[object + 1];
		for (ref = s->ref_first[object]; ref < end; ref++)
			reach(m, s->refs.items[ref].to);
	}
}

static int mark(struct marking *m)
{
	const struct ks_snapshot *s = m->snapshot;
	size_t i;

	m->reached = calloc(s->count / 64 + 1ul, sizeof(*m->reached));
	m->queue = malloc((s->count + 1ul) * sizeof(*m->queue));
	if (!m->reached || !m->queue)
		return -ENOMEM;
	for (i = 0; i < s->root_refs.len; i++)
		reach(m, s->root_refs.items[i].to);
	follow_all(m);
	return 0;
}

/* === Public =============================================================================== */

int ks_unreachable_find(const struct ks_snapshot *s, struct ks_candidates_list *ret_list,
			struct ks_diag *diag)
{
	struct ks_candidates_list list = { .objects = s->count };
	struct marking m = { .snapshot = s };
	struct ks_candidate *candidate;
	u32 i;
	int err;

	if (!s->ref_first)
		return ks_diag_set(diag, KS_EBADINPUT, "this snapshot has no references");
	err = mark(&m);
	for (i = 0; !err && i < s->count; i++) {
		if (m.reached[i / 64] >> i % 64 & 1)
			continue;
		candidate = ks_vec_push(&list.items);
		if (candidate)
			*candidate = (struct ks_candidate){ s->addr[i], s->checksum[i], i };
		else
			err = -ENOMEM;
	}
	free(m.reached);
	free(m.queue);
	if (err) {
		ks_candidates_deinit(&list);
		return ks_diag_nomem(diag, "looking for unreachable objects");
	}
	*ret_list = list;
	return 0;
}

void ks_unreachable_confirm(struct ks_candidates_list *list,
			    const struct ks_candidates_list *before)
{
	size_t i, k = 0, n = 0;

	for (i = 0; i < list->items.len; i++) {
		const struct ks_candidate *candidate = &list->items.items[i];

		while (k < before->items.len && before->items.items[k].addr < candidate->addr)
			k++;
		if (k < before->items.len && before->items.items[k].addr == candidate->addr &&
		    before->items.items[k].checksum == candidate->checksum)
			list->items.items[n++] = *candidate;
	}
	list->items.len = n;
	list->twice = true;
}

void ks_candidates_deinit(struct ks_candidates_list *list)
{
	ks_vec_free(&list->items);
}
