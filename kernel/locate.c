// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an address of the kernel belongs to. The index finds objects by their start: that of a slab
 * object comes from the slab allocator, that of pages and vmalloc areas from tables in this file.
 *
 * Lookups happen wherever the kernel loads or stores, so they take no lock but those of the index.
 */
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pfn.h>
#include <linux/vmalloc.h>
#include <asm/sections.h>

/* In the kernel tree: how a slab is cut into objects. */
#include "../../slab.h"

#include "locate.h"
#include "memorizer.h"
#include "spans.h"

/* === Data ================================================================================= */

/* Areas of vmalloc() that are tracked objects. A small budget has fewer. */
#define AREAS_MAX      8192
#define AREAS_PER_PAGE 2 /* for each page of the budget */

static struct mz_spans areas;
static atomic_long_t lost_areas; /* not found by their addresses: the table was full */

/* For each page frame 1 + the order of the tracked allocation that it was last part of, or 0. */
static u8 *orders;
static unsigned long nr_orders;
static atomic_long_t lost_pages; /* objects not found by their addresses: beyond the table */

/* The table of page frames may take this fraction of the budget, a quarter. */
#define ORDERS_SHARE 4

/* === Internals ============================================================================ */

static void clip(struct mz_place *place, unsigned long start, unsigned long end)
{
	place->start = max(place->start, start);
	place->end = min(place->end, end);
}

static unsigned long tracked_pages_at(unsigned long pfn)
{
	u8 order = pfn < nr_orders ? READ_ONCE(orders[pfn]) : 0;

	if (!order)
		return 0;
	return (unsigned long)__va(PFN_PHYS(pfn & ~((1UL << (order - 1)) - 1)));
}

static bool locate_in_slab(unsigned long addr, struct mz_place *place)
{
	struct slab *slab = virt_to_slab((void *)addr);
	struct kmem_cache *cache = slab ? READ_ONCE(slab->slab_cache) : NULL;
	unsigned long start;

	if (!cache)
		return false;
	start = (unsigned long)slab_address(slab);
	start += (unsigned long)obj_to_index(cache, slab, (void *)addr) * cache->size;
	clip(place, start, start + cache->size);
	place->base = (unsigned long)fixup_red_left(cache, (void *)start);
	place->class = MZ_TO_SLAB;
	return true;
}

static void locate_in_memory(unsigned long addr, struct mz_place *place)
{
	struct page *page = virt_to_page((void *)addr);

	place->page_object = tracked_pages_at(page_to_pfn(page));
	if (locate_in_slab(addr, place))
		return;
	if (place->page_object)
		place->base = place->page_object;
	place->class = PageReserved(page) ? MZ_TO_BOOT : MZ_TO_PAGES;
}

static bool in_modules(unsigned long addr)
{
#if defined(CONFIG_MODULES) && defined(MODULES_VADDR)
	if (addr >= MODULES_VADDR && addr < MODULES_END)
		return true;
#endif
	return is_module_address(addr);
}

static void locate_in_area(unsigned long addr, struct mz_place *place)
{
	struct mz_span span;

	if (mz_spans_find(&areas, addr, &span)) {
		clip(place, span.start, span.end);
		place->base = span.start;
		place->class = MZ_TO_VMALLOC;
	} else if (in_modules(addr)) {
		place->class = MZ_TO_MODULE;
	} else {
		place->class = is_vmalloc_addr((void *)addr) ? MZ_TO_VMALLOC : MZ_TO_OTHER;
	}
}

/* max_pfn may be too small: User Mode Linux 6.1 sets it to the number of pages that are free. */
static unsigned long end_of_frames(void)
{
	unsigned long end = max_pfn;
	int node;

	for_each_online_node(node)
		end = max(end, node_end_pfn(node));
	return end;
}

static long pages_for(size_t bytes)
{
	return DIV_ROUND_UP(bytes, PAGE_SIZE);
}

/* Where the budget has no room for the table, the objects that would need it are counted. */
static int orders_init(void)
{
	unsigned long nr = end_of_frames();
	long pages = pages_for(nr);

	if (pages > mz.index.max_pages / ORDERS_SHARE || !mz_index_set_aside(&mz.index, pages))
		return 0;
	orders = vzalloc(nr);
	if (!orders)
		return -ENOMEM;
	nr_orders = nr;
	return 0;
}

static int areas_init(void)
{
	long wanted = mz.index.max_pages * AREAS_PER_PAGE;
	u32 nr = min_t(long, wanted, AREAS_MAX);

	if (!mz_index_set_aside(&mz.index, 2 * pages_for(nr * sizeof(struct mz_span))))
		return -ENOMEM;
	return mz_spans_init(&areas, nr);
}

/* === Public =============================================================================== */

int mz_locate_init(void)
{
	int err;

	err = areas_init();
	if (err)
		return err;
	err = orders_init();
	if (err)
		mz_spans_deinit(&areas);
	return err;
}

void mz_locate(unsigned long addr, struct mz_place *ret_place)
{
	unsigned long page = addr & PAGE_MASK;

	*ret_place = (struct mz_place){ .start = page, .end = page + PAGE_SIZE, .base = page };
	if (addr >= (unsigned long)_stext && addr < (unsigned long)_end) {
		clip(ret_place, (unsigned long)_stext, (unsigned long)_end);
		ret_place->class = MZ_TO_GLOBAL;
	} else if (virt_addr_valid((void *)addr)) {
		locate_in_memory(addr, ret_place);
	} else {
		locate_in_area(addr, ret_place);
	}
}

/* The object at a place, or NULL. A slab object has precedence over the pages that it is in. */
struct mz_object *mz_locate_object(const struct mz_place *place)
{
	struct mz_object *obj = NULL;

	switch (place->class) {
	case MZ_TO_SLAB:
	case MZ_TO_VMALLOC:
		obj = mz_index_find(&mz.index, mz_key(place->base, false));
		break;
	default:
		/* A large kmalloc() object, which has its pages to itself. */
		if (place->page_object)
			obj = mz_index_find(&mz.index, mz_key(place->page_object, false));
		break;
	}
	if (!obj && place->page_object)
		obj = mz_index_find(&mz.index, mz_key(place->page_object, true));
	return obj;
}

/* Pages now belong to a tracked object. */
void mz_locate_pages(unsigned long addr, size_t bytes)
{
	unsigned long pfn = PHYS_PFN(__pa(addr)), nr = bytes >> PAGE_SHIFT;

	if (pfn + nr <= nr_orders)
		memset(orders + pfn, ilog2(nr) + 1, nr);
	else
		atomic_long_inc(&lost_pages);
}

/* An area of vmalloc() now is a tracked object. */
void mz_locate_add_area(unsigned long addr, size_t bytes)
{
	if (!mz_spans_add(&areas, addr, addr + bytes))
		atomic_long_inc(&lost_areas);
}

/* The area no longer is a tracked object. Return: its bytes, 0 if it was none. */
size_t mz_locate_remove_area(unsigned long addr)
{
	struct mz_span span;

	if (!mz_spans_find(&areas, addr, &span) || !mz_spans_remove(&areas, addr))
		return 0;
	return span.end - addr;
}

/* No area is a tracked object any more. */
void mz_locate_remove_all_areas(void)
{
	mz_spans_clear(&areas);
}

/* Areas whose accesses are not counted as theirs, because the table had no room. */
unsigned long mz_locate_lost_areas(void)
{
	return atomic_long_read(&lost_areas);
}

/* Likewise for objects that are pages. */
unsigned long mz_locate_lost_pages(void)
{
	return atomic_long_read(&lost_pages);
}
