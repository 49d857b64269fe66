/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The kernel's events that readers understand, by name. In a header of its own, so that the compiler can
 * unroll the search of the text reader, which runs once a line.
 */
#ifndef KS_TRACE_EVENT_NAMES_H
#define KS_TRACE_EVENT_NAMES_H

#include "trace/event.h"

/* The most frequent events of a log come first. */
static const struct {
	const char *name;
	u8 len; /* of the name */
	u8 kind;
} ks_event_names[] = {
	{ "kmem_cache_alloc", 16, KS_CACHE_ALLOC },
	{ "kmem_cache_free", 15, KS_CACHE_FREE },
	{ "kmalloc", 7, KS_KMALLOC },
	{ "kfree", 5, KS_KFREE },
	{ "mm_page_alloc", 13, KS_PAGE_ALLOC },
	{ "mm_page_free", 12, KS_PAGE_FREE },
	{ "kmalloc_node", 12, KS_KMALLOC },
	{ "kmem_cache_alloc_node", 21, KS_CACHE_ALLOC },
	{ "mm_page_free_direct", 19, KS_PAGE_FREE }, /* Linux 2.6.32 to 3.2 */
	{ "mm_pagevec_free", 15, KS_PAGE_FREE },     /* likewise; these frees have no other event */
};

/* A larger order in a page event is damage: no kernel can be configured for it. */
enum { KS_ORDER_MAX = 19 };

#endif
