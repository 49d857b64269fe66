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

struct ks_bpf_marks marks;

/* === Internals ============================================================================ */

static __always_inline int forget(u64 ptr)
{
	if (bpf_map_delete_elem(&samples, &ptr))
		return 0;
	ks_live_unmark(&marks, ptr);
	return 1;
}

static __always_inline void gone(u64 ptr, u32 by)
{
	if (ks_live_is_marked(&marks, ptr))
		forget(ptr);
}

/* One that was drawn. Not inlined: nothing of it may cost those that are not. */
static __noinline int follow(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	struct ks_bpf_sample sample = { .site = site, .cache = cache, .size = size };
	struct ks_bpf_counts *c = my_counts();

	if (!c)
		return 0;
	c->left = gaps[bpf_get_prandom_u32() & (KS_LIVE_GAPS - 1)];
	sample.birth_ns = bpf_ktime_get_boot_ns();
	who(ctx, &sample.task, c);
	if (!ks_live_can_mark(&marks, ptr) ||
	    bpf_map_update_elem(&samples, &ptr, &sample, BPF_NOEXIST)) {
		c->no_room++;
		return 0;
	}
	ks_live_mark(&marks, ptr);
	return 1;
}

static __always_inline void made(void *ctx, u64 site, u64 ptr, u64 cache, u32 size)
{
	struct ks_bpf_counts *c = my_counts();

	if (!c)
		return;
	c->events++;
	/* Where one is followed that had this address, its end was not seen. */
	if (ks_live_is_marked(&marks, ptr))
		c->replaced += forget(ptr);
	c->left -= size;
	if (c->left <= 0)
		follow(ctx, site, ptr, cache, size);
}

#include "live-events.h"

/* One of these two. The size of an object is needed each time, and this is the only way to it that calls no function. */
SEC("tp_btf/kmem_cache_alloc")
int on_cache_alloc(u64 *ctx)
{
	struct kmem_cache *cache = (struct kmem_cache *)ctx[2];
	u64 ptr = ctx[1];

	if (ptr && wanted(ctx[0], (u64)cache, 0))
		made(ctx, ctx[0], ptr, (u64)cache, cache->size);
	return 0;
}

/* Where the verifier lets nobody read the address. */
SEC("tp_btf/kmem_cache_alloc")
int on_cache_alloc_copy(u64 *ctx)
{
	struct kmem_cache *cache = (struct kmem_cache *)ctx[2];
	u64 ptr = 0;

	bpf_probe_read_kernel(&ptr, sizeof(ptr), &ctx[1]);
	if (ptr && wanted(ctx[0], (u64)cache, 0))
		made(ctx, ctx[0], ptr, (u64)cache, cache->size);
	return 0;
}
