// SPDX-License-Identifier: LGPL-2.1-only
/* Finds what no root leads to, and compares two looks. */
#include "heap/unreachable.h"

#include <errno.h>

#include "heap/ways.h"

/* === Public =============================================================================== */

int ks_unreachable_find(const struct ks_snapshot *s, struct ks_candidates_list *ret_list,
			struct ks_diag *diag)
{
	struct ks_candidates_list list = { .objects = s->count };
	struct ks_candidate *candidate;
	struct ks_ways *ways;
	u32 i;
	int err = ks_ways_find(s, &ways, diag);

	if (err)
		return err;
	for (i = 0; !err && i < s->count; i++) {
		if (ways->from[i] != KS_NONE)
			continue;
		candidate = ks_vec_push(&list.items);
		if (candidate)
			*candidate = (struct ks_candidate){ s->addr[i], s->checksum[i], i };
		else
			err = ks_diag_nomem(diag, "looking for unreachable objects");
	}
	ks_ways_free(ways);
	if (err)
		ks_candidates_deinit(&list);
	else
		*ret_list = list;
	return err;
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
