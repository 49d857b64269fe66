// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level 1: notes who made each slab, by its struct page. What becomes of it, the caller sees in the struct page itself, so
 * nothing is attached to the end of slabs.
 */
#include "live-common.h"

/* === Data ================================================================================= */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct ks_bpf_slab);
} slabs SEC(".maps");

/*
 * Pages for slabs are asked for with these flags, and are not of this migrate type: what else is allocated is left alone
 * before it costs more than that.
 */
const volatile u32 gfp_mask;
const volatile int movable;

/* === Internals ============================================================================ */

static __always_inline void note(void *ctx, u64 page, u32 order, u32 sure)
{
	struct ks_bpf_counts *c = my_counts();
	struct ks_bpf_slab slab = { .order = order, .sure = sure };

	if (!c)
		return;
	slab.birth_ns = bpf_ktime_get_boot_ns();
	who(ctx, &slab.task, c);
	c->no_room += bpf_map_update_elem(&slabs, &page, &slab, BPF_ANY) != 0;
}

/* === Public =============================================================================== */

/* Where trampolines are allowed: once for each slab. Its address is that of its struct page. */
SEC("fexit/allocate_slab")
int slab_made(u64 *ctx)
{
	u64 slab = ctx[3]; /* behind cache, flags and node: what it returns */

	if (slab)
		note(ctx, slab, 0, 1);
	return 0;
}

/* Elsewhere: page, order, flags, migrate type of each allocation of pages. */
SEC("raw_tp/mm_page_alloc")
int page_made(struct bpf_raw_tracepoint_args *ctx)
{
	u64 page = ctx->args[0];

	if (((u32)ctx->args[2] & gfp_mask) != gfp_mask || (int)ctx->args[3] == movable || !page)
		return 0;
	note(ctx, page, (u32)ctx->args[1], 0);
	return 0;
}
