// SPDX-License-Identifier: LGPL-2.1-only
/* Which events are of the recorder's own objects. */
#include "trace/self-filter.h"

#include <errno.h>
#include <stdlib.h>

/* === Internals ============================================================================ */

static bool is_our_tid(const struct ks_self_filter *self, u32 tid)
{
	size_t i;

	for (i = 0; i < self->tids.len; i++)
		if (self->tids.items[i] == tid)
			return true;
	return false;
}

static void remember(struct ks_self_filter *self, u64 ptr)
{
	u64 at = ks_hash_u64(ptr, self->seed) >> (64 - KS_SELF_FILTER_BITS);
	u32 number;

	if (ks_vec_reserve(&self->is_ours, self->is_ours.len + 1)) {
		self->nomem = true;
		return;
	}
	number = ks_map64_add(&self->ptrs, ptr);
	if (number == KS_NONE) {
		self->nomem = true;
		return;
	}
	if (number == self->is_ours.len)
		self->is_ours.len++;
	self->is_ours.items[number] = true;
	self->maybe[at / 8] |= (u8)(1 << at % 8);
}

/* === Public =============================================================================== */

int ks_self_filter_new(const u32 *tids, size_t len, struct ks_self_filter **ret_filter)
{
	struct ks_self_filter *self = calloc(1, sizeof(*self));
	size_t i;

	if (!self || ks_map64_init(&self->ptrs))
		goto nomem;
	self->seed = ks_hash_seed();
	for (i = 0; i < len; i++) {
		u32 *tid = ks_vec_push(&self->tids);

		if (!tid)
			goto nomem;
		*tid = tids[i];
		self->tid_bits |= 1ull << (tids[i] & 63);
	}
	*ret_filter = self;
	return 0;
nomem:
	ks_self_filter_free(self);
	return -ENOMEM;
}

void ks_self_filter_free(struct ks_self_filter *self)
{
	if (!self)
		return;
	ks_map64_deinit(&self->ptrs);
	ks_vec_free(&self->is_ours);
	ks_vec_free(&self->tids);
	free(self);
}

bool ks_self_filter_decide(struct ks_self_filter *self, const struct ks_event *ev, bool by_us)
{
	u32 number;
	bool ours;

	if (by_us && is_our_tid(self, ev->pid)) {
		remember(self, ev->ptr);
		return true;
	}
	number = ks_map64_find(&self->ptrs, ev->ptr);
	if (number == KS_NONE)
		return false;
	/* An allocation by somebody else ends what was ours there, unseen. */
	ours = self->is_ours.items[number];
	self->is_ours.items[number] = false;
	return ours && !ks_kind_is_alloc(ev->kind);
}
