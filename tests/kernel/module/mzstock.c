// SPDX-License-Identifier: GPL-2.0-only
/*
 * Known numbers of loads and stores to the objects of a cache with a name, for a kernel that counts
 * nothing itself: what QEMU must have counted is in tests/kernel/test-stock-map.sh. All of it
 * happens while the module is loaded.
 */
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "mzstock.h"

static struct kmem_cache *cache;
static struct mz_gadget *gadgets[GADGETS], *shared;

/* The compiler must not inline, clone or merge these functions. */
#define counted __attribute__((__noipa__))

static counted void mzstock_init(struct mz_gadget *g)
{
	WRITE_ONCE(g->limit, 7);
	WRITE_ONCE(g->mark, 1);
}

static counted void mzstock_read(struct mz_gadget *g, unsigned int n)
{
	while (n--)
		READ_ONCE(g->limit);
}

static counted void mzstock_count(struct mz_gadget *g, unsigned int n)
{
	while (n--)
		WRITE_ONCE(g->counter, n);
}

static counted void mzstock_state(struct mz_gadget *g, unsigned int n)
{
	while (n--)
		WRITE_ONCE(g->state, READ_ONCE(g->state) ^ n);
}

/* One instruction each. */
#ifdef CONFIG_ARM64

static inline void mzstock_increment(u32 *count)
{
	asm volatile(".arch_extension lse\n\tstadd %w1, %0" : "+Q"(*count) : "r"(1));
}

/* It has none that fills memory. */
static inline void mzstock_fill(void *to, unsigned long len)
{
	WRITE_ONCE(*(u64 *)to, len);
}

#else

static inline void mzstock_increment(u32 *count)
{
	asm volatile("lock incl %0" : "+m"(*count));
}

static inline void mzstock_fill(void *to, unsigned long len)
{
	asm volatile("rep stosb" : "+D"(to), "+c"(len) : "a"('x') : "memory");
}

#endif

static counted void mzstock_hold(struct mz_gadget *g, unsigned int n)
{
	while (n--)
		mzstock_increment(&g->users);
}

static counted void mzstock_name(struct mz_gadget *g)
{
	mzstock_fill(g->name, sizeof(g->name));
}

static void count_in_work(struct work_struct *unused)
{
	mzstock_count(shared, 1000);
}

static DECLARE_WORK(count_work, count_in_work);

/*
 * Memory that was somebody else's a moment ago, such as a page table, would bring its accesses with
 * it. So the slab must come after as many pages as a program that has ended may have left.
 */
enum { PAGES_HELD = 2048 };

static void hold_pages(struct list_head *held)
{
	struct page *page;
	unsigned int i;

	for (i = 0; i < PAGES_HELD; i++) {
		page = alloc_page(GFP_KERNEL);
		if (page)
			list_add(&page->lru, held);
	}
}

static void drop_pages(struct list_head *held)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, held, lru) __free_page(page);
}

static void use_gadgets(struct work_struct *unused)
{
	LIST_HEAD(held);
	unsigned int i;

	hold_pages(&held);
	for (i = 0; i < GADGETS; i++) {
		gadgets[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (!i)
			drop_pages(&held);
		if (!gadgets[i])
			return;
		mzstock_init(gadgets[i]);
		mzstock_read(gadgets[i], 500);
		mzstock_state(gadgets[i], 20);
		mzstock_hold(gadgets[i], 3);
		mzstock_name(gadgets[i]);
		shared = gadgets[i];
		schedule_work_on(cpumask_last(cpu_online_mask), &count_work);
		flush_work(&count_work);
	}
	for (i = 0; i < GADGETS_FREED; i++)
		kmem_cache_free(cache, gadgets[i]);
}

static DECLARE_WORK(gadget_work, use_gadgets);

/* All but the counter on the first processor. */
static int __init mzstock_start(void)
{
	cache = kmem_cache_create("mz_gadget", sizeof(struct mz_gadget), 0, 0, NULL);
	if (!cache)
		return -ENOMEM;
	schedule_work_on(cpumask_first(cpu_online_mask), &gadget_work);
	flush_work(&gadget_work);
	return 0;
}

static void __exit mzstock_exit(void)
{
	unsigned int i;

	for (i = GADGETS_FREED; i < GADGETS; i++)
		kmem_cache_free(cache, gadgets[i]);
	kmem_cache_destroy(cache);
}

module_init(mzstock_start);
module_exit(mzstock_exit);
MODULE_DESCRIPTION("Known numbers of loads and stores to the objects of a named cache");
MODULE_LICENSE("GPL");
