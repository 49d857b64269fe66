/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Leaves the recorder's own objects out of a capture: what its threads allocate, together with the
 * frees of just these objects, whoever does them. What its threads free of others stays.
 */
#ifndef KS_TRACE_SELF_FILTER_H
#define KS_TRACE_SELF_FILTER_H

#include "base/hash.h"
#include "base/map64.h"
#include "trace/event.h"

enum { KS_SELF_FILTER_BITS = 19 };

struct ks_self_filter {
	u64 tid_bits; /* by the low six bits of a tid: most tasks are seen not to be ours at once */
	KS_VEC(u32) tids;
	struct ks_map64 ptrs; /* numbered as is_ours */
	KS_VEC(u8) is_ours;   /* lives, and was allocated by us */
	u64 seed;
	bool nomem;
	/* By hash of an address: set where one of ours ever was. */
	u8 maybe[1 << (KS_SELF_FILTER_BITS - 3)];
};

int ks_self_filter_new(const u32 *tids, size_t len, struct ks_self_filter **ret_filter);
void ks_self_filter_free(struct ks_self_filter *self);

/* The rare case behind the inline test below. */
bool ks_self_filter_decide(struct ks_self_filter *self, const struct ks_event *ev, bool by_us);

/* @flags is common_flags of the record: what interrupts do is nobody's own doing. */
static inline bool ks_self_filter_drops(struct ks_self_filter *self, const struct ks_event *ev,
					u8 flags)
{
	enum { IN_INTERRUPT = 0x18 };
	bool by_us = self->tid_bits >> (ev->pid & 63) & 1 && !(flags & IN_INTERRUPT) &&
		     ks_kind_is_alloc(ev->kind);
	u64 at = ks_hash_u64(ev->ptr, self->seed) >> (64 - KS_SELF_FILTER_BITS);

	if (likely(!by_us && !(self->maybe[at / 8] >> at % 8 & 1)))
		return false;
	return ks_self_filter_decide(self, ev, by_us);
}

#endif
