// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an address of the kernel belongs to. The index finds objects by their start: that of a slab
 * object comes from the slab allocator, that of pages and vmalloc areas from tables in this file.
 *
 * Lookups happen wherever the kernel loads or stores, so they take no lock but those of the index.
 */
#include <linux/memblock.h>
#include <linux/percpu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pfn.h>
#include <linux/vmalloc.h>
#include <asm/sections.h>

/* In the kernel tree: how a slab is cut into objects. */
#include "../../slab.h"

#include "access.h"
#include "locate.h"
#include "made.h"
#include "memorizer.h"
#include "spans.h"

/* === Data ================================================================================= */

/* How many bytes of the variables of one of several processors are one object. */
#define PERCPU_SPAN 64UL

/* Areas of vmalloc() that are tracked objects. A small budget has fewer. */
#define AREAS_MAX      8192
#define AREAS_PER_PAGE 2 /* for each page of the budget */

static struct mz_spans areas;
static atomic_long_t lost_areas; /* not found by their addresses: the table was full */

/*
 * For each page frame 1 + the order of the tracked allocation that it was last part of, or 0; and
 * what is noted of it, MZ_FRAME_MADE and so on.
 */
static u8 *orders;
#define ORDER_MASK 0x1f
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

static u8 noted_at(unsigned long pfn)
{
	return pfn < nr_orders ? READ_ONCE(orders[pfn]) : 0;
}

static unsigned long tracked_pages_at(unsigned long pfn)
{
	u8 order = noted_at(pfn) & ORDER_MASK;

	if (!order)
		return 0;
	return (unsigned long)__va(PFN_PHYS(pfn & ~((1UL << (order - 1)) - 1)));
}

/* What is made for an access is an object of that kind; the place is what of it is on the page. */
static void make(struct mz_place *place, enum mz_class class, enum memorizer_kind kind,
		 unsigned long base, unsigned long size)
{
	clip(place, base, base + size);
	place->base = base;
	place->size = size;
	place->class = class;
	place->kind = kind;
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

/* Stacks are aligned to their size, in physical memory. */
static unsigned long stack_of(unsigned long addr)
{
	return (unsigned long)__va(__pa(addr) & ~(THREAD_SIZE - 1));
}

static void locate_in_memory(unsigned long addr, struct mz_place *place)
{
	struct page *page = virt_to_page((void *)addr);

	place->page_object = tracked_pages_at(page_to_pfn(page));
	if (locate_in_slab(addr, place))
		return;
	if (place->page_object)
		place->base = place->page_object;
	place->class = MZ_TO_PAGES;
	if (noted_at(page_to_pfn(page)) & MZ_FRAME_STACK)
		make(place, MZ_TO_STACK, MEMORIZER_STACK, stack_of(addr), THREAD_SIZE);
	else if (PageTable(page) && nr_orders)
		make(place, MZ_TO_PAGE_TABLE, MEMORIZER_PAGE_TABLE, place->start, PAGE_SIZE);
	else if (PageReserved(page))
		make(place, MZ_TO_BOOT, MEMORIZER_BOOT, place->start, PAGE_SIZE);
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

/* The array of page structs is one object. */
static bool locate_in_page_structs(unsigned long addr, struct mz_place *place)
{
	unsigned long start = 0, end = 0;

#if defined(CONFIG_SPARSEMEM_VMEMMAP)
	start = (unsigned long)vmemmap;
	end = (unsigned long)(vmemmap + end_of_frames());
#elif defined(CONFIG_FLATMEM)
	start = (unsigned long)mem_map;
	end = (unsigned long)(mem_map + end_of_frames() - ARCH_PFN_OFFSET);
#endif
	if (addr < start || addr >= end)
		return false;
	make(place, MZ_TO_BOOT, MEMORIZER_BOOT, start, end - start);
	return true;
}

/*
 * A processor's copy of variables: static ones, those of modules, and the first ones that were
 * allocated. What the addresses of the copies have in common is the address of the variable. In a
 * kernel for one processor these are variables like all others.
 */
static bool locate_in_percpu(unsigned long addr, struct mz_place *place)
{
#ifdef CONFIG_SMP
	const unsigned long len = ALIGN(__per_cpu_end - __per_cpu_start, SMP_CACHE_BYTES) +
				  PERCPU_MODULE_RESERVE + PERCPU_DYNAMIC_RESERVE;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		unsigned long own = addr - per_cpu_offset(cpu);

		if (own - (unsigned long)__per_cpu_start >= len)
			continue;
		make(place, MZ_TO_PERCPU, MEMORIZER_PERCPU, addr & ~(PERCPU_SPAN - 1), PERCPU_SPAN);
		place->ip = own & ~(PERCPU_SPAN - 1);
		return true;
	}
#endif
	return false;
}

static void locate_in_image(unsigned long addr, struct mz_place *place)
{
	clip(place, (unsigned long)_stext, (unsigned long)_end);
	if (!mz_locate_variable(addr, place)) {
		place->base = place->start;
		place->size = place->end - place->start;
	}
	place->class = MZ_TO_GLOBAL;
	place->kind = MEMORIZER_GLOBAL;
}

static void locate_in_area(unsigned long addr, struct mz_place *place)
{
	struct mz_span span;

	if (mz_locate_in_module(addr, place)) {
		place->class = MZ_TO_MODULE;
		place->kind = MEMORIZER_MODULE;
	} else if (mz_spans_find(&areas, addr, &span)) {
		clip(place, span.start, span.end);
		place->base = span.start;
		place->class = MZ_TO_VMALLOC;
	} else if (is_vmalloc_or_module_addr((void *)addr)) {
		place->class = MZ_TO_VMALLOC;
	} else {
		make(place, MZ_TO_OTHER, MEMORIZER_OTHER, place->start, PAGE_SIZE);
	}
}

/* The object that an allocator was seen to hand out, or NULL. */
static struct mz_object *tracked_object(const struct mz_place *place)
{
	struct mz_object *obj = NULL;

	switch (place->class) {
	case MZ_TO_SLAB:
	case MZ_TO_VMALLOC:
		obj = mz_index_find(&mz.index, mz_key(place->base, false));
		break;
	case MZ_TO_PAGES:
		/* A large kmalloc() object, which has its pages to itself. */
		if (place->page_object)
			obj = mz_index_find(&mz.index, mz_key(place->page_object, false));
		break;
	default:
		break;
	}
	/* A slab object has precedence over the pages that it is in. */
	if (!obj && place->page_object)
		obj = mz_index_find(&mz.index, mz_key(place->page_object, true));
	return obj;
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
	if (addr >= (unsigned long)_stext && addr < (unsigned long)_end)
		locate_in_image(addr, ret_place);
	else if (locate_in_percpu(addr, ret_place) || locate_in_page_structs(addr, ret_place))
		; /* all is known */
	else if (virt_addr_valid((void *)addr))
		locate_in_memory(addr, ret_place);
	else
		locate_in_area(addr, ret_place);
}

/**
 * mz_locate_object() - the object at a place
 * @place: what mz_locate() has found; its class becomes that of accesses to the object
 *
 * Return: NULL if there is none, or no memory to make it (MZ_LOST_FULL).
 */
struct mz_object *mz_locate_object(struct mz_place *place)
{
	struct mz_object *obj = tracked_object(place);

	if (obj) {
		place->class = MZ_TO_OBJECT;
	} else if (place->kind) {
		obj = mz_made_object(place);
		if (!obj)
			place->class = MZ_LOST_FULL;
	}
	return obj;
}

/* The name of the cache that a slab object is of; in no slab, @name stays as it is. */
void mz_access_name_cache(unsigned long addr, char *name, size_t size)
{
	struct slab *slab = virt_to_slab((void *)addr);

	if (slab)
		strscpy_pad(name, slab->slab_cache->name, size);
}

/* Notes something of a page. Return: false if it was known, or the page is beyond the table. */
bool mz_locate_flag(unsigned long addr, u8 flag)
{
	unsigned long pfn = PHYS_PFN(__pa(addr));
	u8 noted = noted_at(pfn);

	if (pfn >= nr_orders || noted & flag)
		return false;
	WRITE_ONCE(orders[pfn], noted | flag);
	return true;
}

/* Nothing is noted of any page any more. Nobody counts meanwhile. */
void mz_locate_forget_flags(void)
{
	unsigned long pfn;

	for (pfn = 0; pfn < nr_orders; pfn++) {
		if (orders[pfn] & ~ORDER_MASK)
			WRITE_ONCE(orders[pfn], orders[pfn] & ORDER_MASK);
	}
}

/* Where the tracked pages start that the page of the address was last part of; 0: none. */
unsigned long mz_locate_tracked_pages(unsigned long addr)
{
	return tracked_pages_at(PHYS_PFN(__pa(addr)));
}

/* What was noted of a page, which is forgotten. */
u8 mz_locate_take_flags(unsigned long addr)
{
	unsigned long pfn = PHYS_PFN(__pa(addr));
	u8 noted = noted_at(pfn);

	if (noted & ~ORDER_MASK)
		WRITE_ONCE(orders[pfn], noted & ORDER_MASK);
	return noted & ~ORDER_MASK;
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
