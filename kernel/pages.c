// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of the index: single pages out of one budget, mz_index::max_pages. Blank ones are the
 * spares of a shard; the others are cut into items of one size.
 */
#include "pages.h"

/* === Internals ============================================================================ */

/* Makes a blank page a page of free items, a hundred or so in 4 KiB. */
static void format_page(struct mz_shard *shard, struct mz_item_page *page, size_t size)
{
	char *start = (char *)(page + 1);
	size_t i, nr = (PAGE_SIZE - sizeof(*page)) / size;

	page->shard = shard;
	page->free = NULL;
	page->nr_used = 0;
	for (i = 0; i < nr; i++) {
		struct mz_item *item = (struct mz_item *)(start + i * size);

		item->next = page->free;
		page->free = item;
	}
}

/* === Public =============================================================================== */

void *mz_take_page(struct mz_index *idx, gfp_t gfp)
{
	unsigned long page;

	if (atomic_long_inc_return(&idx->nr_pages) > READ_ONCE(idx->max_pages))
		goto refuse;
	page = __get_free_page(gfp);
	if (!page)
		goto refuse;
	return (void *)page;
refuse:
	atomic_long_dec(&idx->nr_pages);
	return NULL;
}

void mz_give_page(struct mz_index *idx, void *page)
{
	free_page((unsigned long)page);
	atomic_long_dec(&idx->nr_pages);
}

/* Up to @nr pages, linked through their first word; NULL if there is none. */
void *mz_take_pages(struct mz_index *idx, unsigned int nr, gfp_t gfp)
{
	void *first = NULL, *page;

	while (nr-- && (page = mz_take_page(idx, gfp))) {
		*(void **)page = first;
		first = page;
	}
	return first;
}

void mz_push_spare(struct mz_shard *shard, void *page)
{
	*(void **)page = shard->spares;
	shard->spares = page;
	shard->nr_spares++;
}

void mz_push_spares(struct mz_shard *shard, void *pages)
{
	while (pages) {
		void *next = *(void **)pages;

		mz_push_spare(shard, pages);
		pages = next;
	}
}

void *mz_pop_spare(struct mz_shard *shard)
{
	void *page = shard->spares;

	if (page) {
		shard->spares = *(void **)page;
		shard->nr_spares--;
	}
	return page;
}

void *mz_take_item(struct mz_shard *shard, struct list_head *pages, size_t size)
{
	struct mz_item_page *page;
	struct mz_item *item;

	if (list_empty(pages)) {
		page = mz_pop_spare(shard);
		if (!page)
			return NULL;
		format_page(shard, page, size);
		list_add(&page->node, pages);
	}
	page = list_first_entry(pages, struct mz_item_page, node);
	item = page->free;
	page->free = item->next;
	page->nr_used++;
	if (!page->free)
		list_del(&page->node);
	return item;
}

/* Return: the page if this was its last item in use; then it is on no list any more. */
struct mz_item_page *mz_put_item(struct list_head *pages, void *data)
{
	struct mz_item_page *page = mz_page_of(data);
	struct mz_item *item = data;

	if (!page->free)
		list_add(&page->node, pages);
	item->next = page->free;
	page->free = item;
	if (--page->nr_used)
		return NULL;
	list_del(&page->node);
	return page;
}
