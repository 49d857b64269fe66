// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level 2: draws allocations by their bytes, and follows those that were drawn to their end. An allocation that is not drawn
 * costs a subtraction, a free that is of none costs a look at one word.
 */
#include "live-common.h"

/* === Data ================================================================================= */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct ks_bpf_sample);
} samples SEC(".maps");

/* Gaps between samples in bytes, each as likely as the others. */
u32 gaps[KS_LIVE_GAPS];

/* For each hash of an address how many objects that are followed have it, in 8 bits. */
u32 marks[KS_LIVE_MARKS / 4];

enum { MARK_MOST = 200 };

/* === Internals ============================================================================ */

static __always_inline u32 mark_of(u64 ptr)
{
	return (u32)((ptr >> 3) * 0x9e3779b97f4a7c15ull >> 32) & (KS_LIVE_MARKS - 1);
}

static __always_inline u32 marked(u32 mark)
{
	return marks[mark / 4] >> (mark % 4 * 8) & 0xff;
}

static __always_inline int forget(u64 ptr, u32 mark)
{
	if (bpf_map_delete_elem(&samples, &ptr))
		return 0;
	__sync_fetch_and_add(&marks[mark / 4], -(1u << (mark % 4 * 8)));
	return 1;
}

static __always_inline void gone(u64 ptr)
{
	u32 mark = mark_of(ptr);

	if (marked(mark))
		forget(ptr, mark);
}

/* One that was drawn. Not inlined: nothing of it may cost those that are not. */
static __noinline int follow(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	struct ks_bpf_sample sample = { .site = site, .cache = cache, .size = size };
	struct ks_bpf_counts *c = my_counts();
	u32 mark = mark_of(ptr);

	if (!c)
		return 0;
	c->left = gaps[bpf_get_prandom_u32() & (KS_LIVE_GAPS - 1)];
	sample.birth_ns = bpf_ktime_get_boot_ns();
	who(ctx, &sample.task, c);
	if (marked(mark) >= MARK_MOST ||
	    bpf_map_update_elem(&samples, &ptr, &sample, BPF_NOEXIST)) {
		c->no_room++;
		return 0;
	}
	__sync_fetch_and_add(&marks[mark / 4], 1u << (mark % 4 * 8));
	return 1;
}

static __always_inline void made(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	struct ks_bpf_counts *c = my_counts();
	u32 mark = mark_of(ptr);

	if (!c)
		return;
	c->events++;
	/* Where one is followed that had this address, its end was not seen. */
	if (marked(mark))
		c->replaced += forget(ptr, mark);
	c->left -= size;
	if (c->left <= 0)
		follow(ctx, site, ptr, cache, size);
}

#include "live-events.h"
