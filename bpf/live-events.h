/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/*
 * The events of the slab allocator, and the ends of objects that no event shows. Who includes this has made() and gone()
 * before it, and a program of its own for kmem_cache_alloc.
 *
 * Arguments of raw_tp programs are plain numbers. Those of tp_btf have types, and the verifiers of many kernels (6.12) let
 * nobody read one that is a pointer to const void, as addresses of objects are.
 */
#ifndef KS_BPF_LIVE_EVENTS_H
#define KS_BPF_LIVE_EVENTS_H

const volatile struct ks_bpf_filter only;

enum { BULK_MOST = 4096 };

/* === Internals ============================================================================ */

static __always_inline int is_chosen(u64 site)
{
	u32 i;

	for (i = 0; i < KS_BPF_SITES && i < only.nr_sites; i++)
		if (site >= only.sites[i].from && site < only.sites[i].to)
			return 1;
	return 0;
}

/* What costs least comes first; what is not asked for, the verifier takes out. */
static __always_inline int wanted(u64 site, u64 cache, u32 size)
{
	u32 i;

	if (only.nr_sites && !is_chosen(site))
		return 0;
	if (only.pid && bpf_get_current_pid_tgid() >> 32 != only.pid)
		return 0;
	if (only.cgroup &&
	    bpf_get_current_ancestor_cgroup_id((int)only.cgroup_depth) != only.cgroup)
		return 0;
	if (!only.nr_caches)
		return 1;
	for (i = 0; i < KS_BPF_CACHES && i < only.nr_caches; i++)
		if (cache ? only.caches[i] == cache : only.sizes[i] == size)
			return 1;
	return 0;
}

static long gone_of_many(u32 i, void *at)
{
	u64 ptr = 0;

	if (!bpf_probe_read_kernel(&ptr, sizeof(ptr), (const void *)(*(u64 *)at + i * sizeof(u64))))
		gone(ptr, KS_LIVE_BY_OTHERS);
	return 0;
}

/* === Public: events ======================================================================= */

SEC("raw_tp/kmalloc")
int on_kmalloc(struct bpf_raw_tracepoint_args *ctx)
{
	u64 ptr = ctx->args[1];
	u32 size = (u32)ctx->args[3];

	if (ptr && wanted(ctx->args[0], 0, size))
		made(ctx, ctx->args[0], ptr, 0, size);
	return 0;
}

SEC("raw_tp/kfree")
int on_kfree(struct bpf_raw_tracepoint_args *ctx)
{
	u64 ptr = ctx->args[1];

	if (ptr)
		gone(ptr, KS_LIVE_BY_KFREE);
	return 0;
}

SEC("raw_tp/kmem_cache_free")
int on_cache_free(struct bpf_raw_tracepoint_args *ctx)
{
	gone(ctx->args[1], KS_LIVE_BY_CACHE_FREE);
	return 0;
}

/* === Public: what raises no event, where trampolines are allowed ========================== */

/* Behind it the object ends when readers are done; nobody may use it from now on but they. */
SEC("fentry/kvfree_call_rcu")
int on_free_rcu(u64 *ctx)
{
	u64 ptr = 0;

	if (!bpf_get_func_arg(ctx, 1, &ptr) && ptr)
		gone(ptr, KS_LIVE_BY_OTHERS);
	return 0;
}

SEC("fentry/kmem_cache_free_bulk")
int on_free_bulk(u64 *ctx)
{
	u64 count = 0, at = 0;

	if (bpf_get_func_arg(ctx, 1, &count) || bpf_get_func_arg(ctx, 2, &at))
		return 0;
	if (count > BULK_MOST)
		count = BULK_MOST;
	bpf_loop(count, gone_of_many, &at, 0);
	return 0;
}

#endif
