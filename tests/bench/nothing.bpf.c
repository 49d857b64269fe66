// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that do nothing at the events that live levels look at: what is left of a level's cost is its own. With PAGES, at
 * that of level 1: a page that was just cleared has pushed a program out of the caches, so to call one costs more there.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#ifdef PAGES

SEC("raw_tp/mm_page_alloc")
int nothing_page_alloc(void *ctx)
{
	return 0;
}

#else

SEC("tp_btf/kmalloc")
int nothing_kmalloc(void *ctx)
{
	return 0;
}

SEC("tp_btf/kmem_cache_alloc")
int nothing_cache_alloc(void *ctx)
{
	return 0;
}

SEC("tp_btf/kfree")
int nothing_kfree(void *ctx)
{
	return 0;
}

SEC("tp_btf/kmem_cache_free")
int nothing_cache_free(void *ctx)
{
	return 0;
}

#endif
