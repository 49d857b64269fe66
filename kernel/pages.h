/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the index: its memory. Functions with a shard as parameter need the lock of the
 * shard; pages are taken and given back without it.
 */
#ifndef MEMORIZER_PAGES_H
#define MEMORIZER_PAGES_H

#include "index.h"

/* Objects and accesses start with the pointer that links them while they are free. */
struct mz_item {
	struct mz_item *next;
};

/* In front of the items of a page, which are all objects or all accesses. */
struct mz_item_page {
	struct mz_shard *shard;
	struct list_head node; /* in mz_shard::pages or access_pages while there is room */
	struct mz_item *free;
	u32 nr_used;
} __aligned(8); /* items have words of 64 bits that change by compare-and-exchange */

static inline struct mz_item_page *mz_page_of(const void *item)
{
	return (struct mz_item_page *)((unsigned long)item & ~(PAGE_SIZE - 1));
}

/* Whether no page can be taken before one is given back. */
static inline bool mz_budget_used_up(const struct mz_index *idx)
{
	return atomic_long_read(&idx->nr_pages) >= READ_ONCE(idx->max_pages);
}

void *mz_take_page(struct mz_index *idx, gfp_t gfp);
void *mz_take_pages(struct mz_index *idx, unsigned int nr, gfp_t gfp);
void mz_give_page(struct mz_index *idx, void *page);

void mz_push_spare(struct mz_shard *shard, void *page);
void mz_push_spares(struct mz_shard *shard, void *pages);
void *mz_pop_spare(struct mz_shard *shard);

void *mz_take_item(struct mz_shard *shard, struct list_head *pages, size_t size);
struct mz_item_page *mz_put_item(struct list_head *pages, void *data);

#endif /* MEMORIZER_PAGES_H */
