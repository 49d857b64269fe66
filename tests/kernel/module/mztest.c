// SPDX-License-Identifier: GPL-2.0-only
/*
 * A known pattern of allocations: objects of given sizes from given functions, freed by given
 * functions in task, softirq, RCU, workqueue and hard interrupt context.
 *
 * Writing a name to debugfs mztest/run runs the pattern of that name; mztest/expect then lists what
 * a tracer must have seen, one line for each object:
 *   address size allocating-function freeing-function ("-": still live) comm ("-": the writer's)
 */
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "files.h"

/* === Data ================================================================================= */

#define OBJECTS_MAX 256
#define BATCH	    8

struct expectation {
	const void *addr;
	size_t size;
	const char *alloc, *free, *comm;
};

struct rcu_object {
	struct rcu_head rcu;
	u8 data[80];
};

static struct expectation expected[OBJECTS_MAX];
static unsigned int nr_expected;
static bool incomplete; /* some object is not among them */
static struct kmem_cache *cache;
static struct kmem_cache *growing; /* while its slabs are expected to be live */

static void *batch[BATCH];
static struct completion done;
static struct work_struct work;
static struct timer_list timer;
static struct irq_work hard_work;

static void expect(const void *addr, size_t size, const char *alloc, const char *free,
		   const char *comm)
{
	if (!addr || nr_expected == OBJECTS_MAX)
		incomplete = true;
	else
		expected[nr_expected++] = (struct expectation){ addr, size, alloc, free, comm };
}

static void expect_batch(size_t size, const char *alloc, const char *free, const char *comm)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		expect(batch[i], size, alloc, free, comm);
}

/* === Allocating and freeing functions ===================================================== */

/* barrier() prevents tail calls, which would hide the caller. */

static noinline void mztest_alloc_small(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = kmalloc(100, GFP_KERNEL);
	barrier();
}

static noinline void mztest_alloc_sized(size_t size)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = kmalloc(size, GFP_KERNEL);
	barrier();
}

static noinline void mztest_alloc_cache(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = kmem_cache_alloc(cache, GFP_KERNEL);
	barrier();
}

static noinline void mztest_alloc_atomic(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = kmalloc(44, GFP_ATOMIC);
	barrier();
}

static noinline void mztest_alloc_pages(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = (void *)__get_free_pages(GFP_KERNEL, 1);
	barrier();
}

static noinline void mztest_free_all(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		kfree(batch[i]);
	barrier();
}

static noinline void mztest_free_cache(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		kmem_cache_free(cache, batch[i]);
	barrier();
}

static noinline void mztest_free_pages(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		free_pages((unsigned long)batch[i], 1);
	barrier();
}

static noinline void mztest_free_in_work(struct work_struct *unused)
{
	mztest_free_all();
	barrier();
}

static noinline void mztest_free_in_timer(struct timer_list *unused)
{
	mztest_free_all();
	complete(&done);
}

static noinline void mztest_free_in_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct rcu_object, rcu));
	barrier();
}

static noinline void mztest_both_in_timer(struct timer_list *unused)
{
	mztest_alloc_atomic();
	expect_batch(44, "mztest_alloc_atomic", "mztest_free_all", "softirq");
	mztest_free_all();
	complete(&done);
}

static noinline void mztest_both_in_irq(struct irq_work *unused)
{
	mztest_alloc_atomic();
	expect_batch(44, "mztest_alloc_atomic", "mztest_free_all", "hardirq");
	mztest_free_all();
	complete(&done);
}

/* === Patterns ============================================================================= */

static void run_task(void)
{
	static const size_t sizes[] = { 8, 33, 192, 1000, 4096, 20000 };
	unsigned int i;

	mztest_alloc_small();
	expect_batch(100, "mztest_alloc_small", "mztest_free_all", "-");
	mztest_free_all();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		mztest_alloc_sized(sizes[i]);
		expect_batch(sizes[i], "mztest_alloc_sized", "mztest_free_all", "-");
		mztest_free_all();
	}
	mztest_alloc_cache();
	expect_batch(120, "mztest_alloc_cache", "mztest_free_cache", "-");
	mztest_free_cache();
}

static void run_live(void)
{
	mztest_alloc_small();
	expect_batch(100, "mztest_alloc_small", "-", "-");
}

static void run_end_live(void)
{
	nr_expected = 0;
	expect_batch(100, "mztest_alloc_small", "mztest_free_all", "-");
	mztest_free_all();
}

static void run_work(void)
{
	mztest_alloc_small();
	expect_batch(100, "mztest_alloc_small", "mztest_free_all", "-");
	schedule_work(&work);
	flush_work(&work);
}

static void run_timer(void (*function)(struct timer_list *))
{
	reinit_completion(&done);
	timer_setup(&timer, function, 0);
	mod_timer(&timer, jiffies + 1);
	wait_for_completion(&done);
}

static void run_softirq(void)
{
	mztest_alloc_small();
	expect_batch(100, "mztest_alloc_small", "mztest_free_all", "-");
	run_timer(mztest_free_in_timer);
}

static void run_rcu(void)
{
	unsigned int i;

	mztest_alloc_sized(sizeof(struct rcu_object));
	expect_batch(sizeof(struct rcu_object), "mztest_alloc_sized", "mztest_free_in_rcu", "-");
	for (i = 0; i < BATCH; i++)
		call_rcu(&((struct rcu_object *)batch[i])->rcu, mztest_free_in_rcu);
	rcu_barrier();
}

static void run_irq(void)
{
	run_timer(mztest_both_in_timer);
	reinit_completion(&done);
	irq_work_queue(&hard_work);
	wait_for_completion(&done);
	irq_work_sync(&hard_work);
}

static noinline void mztest_alloc_bulk(void)
{
	if (!kmem_cache_alloc_bulk(cache, GFP_KERNEL, BATCH, batch))
		memset(batch, 0, sizeof(batch));
	barrier();
}

static noinline void mztest_free_bulk(void)
{
	kmem_cache_free_bulk(cache, BATCH, batch);
	barrier();
}

static void run_bulk(void)
{
	mztest_alloc_bulk();
	expect_batch(120, "mztest_alloc_bulk", "mztest_free_bulk", "-");
	mztest_free_bulk();
}

/* Freed by the kernel itself, at once or seconds later. */
static void run_kfree_rcu(void)
{
	struct rcu_object *object;
	unsigned int i;

	mztest_alloc_sized(sizeof(*object));
	expect_batch(sizeof(*object), "mztest_alloc_sized", "?", "-");
	for (i = 0; i < BATCH; i++) {
		object = batch[i];
		kfree_rcu(object, rcu);
	}
}

/*
 * Objects that are freed in bulk and allocated again at once: implied frees, if bulk frees are not
 * seen.
 */
static void run_reuse(void)
{
	mztest_alloc_cache();
	expect_batch(120, "mztest_alloc_cache", "0xdeadbeef", "-");
	kmem_cache_free_bulk(cache, BATCH, batch);
	mztest_alloc_cache();
	expect_batch(120, "mztest_alloc_cache", "mztest_free_cache", "-");
	mztest_free_cache();
}

/* Two caches, one after the other, at one address: whatever is remembered of the first is wrong. */
#define REBIRTHS 64

static struct kmem_cache *reborn;

static void construct(void *object)
{
}

static noinline void mztest_alloc_reborn(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = kmem_cache_alloc(reborn, GFP_KERNEL);
	barrier();
}

static noinline void mztest_free_reborn(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		kmem_cache_free(reborn, batch[i]);
	barrier();
}

static void use_reborn(size_t size)
{
	mztest_alloc_reborn();
	expect_batch(size, "mztest_alloc_reborn", "mztest_free_reborn", "-");
	mztest_free_reborn();
}

static void run_reborn(void)
{
	struct kmem_cache *others[REBIRTHS], *before;
	unsigned int nr = 0;
	char name[32];

	before = kmem_cache_create("mztest_first", 200, 0, 0, construct);
	if (!before)
		return;
	reborn = before;
	use_reborn(200);
	kmem_cache_destroy(before);
	for (reborn = NULL; nr < REBIRTHS; nr++) {
		scnprintf(name, sizeof(name), "mztest_second%u", nr);
		others[nr] = kmem_cache_create(name, 328, 0, 0, construct);
		if (others[nr] == before) {
			reborn = before;
			use_reborn(328);
			kmem_cache_destroy(before);
			break;
		}
	}
	/* Nothing is expected where no cache is made at the same address, as with KASAN. */
	if (!reborn)
		nr_expected = 0;
	while (nr--)
		kmem_cache_destroy(others[nr]);
}

/* Pages by other ways than __get_free_pages(), each of which has its own functions in between. */
static noinline void mztest_callers_alloc(void)
{
	batch[0] = page_address(alloc_pages(GFP_KERNEL, 0));
	batch[1] = (void *)get_zeroed_page(GFP_KERNEL);
	batch[2] = page_address(alloc_pages(GFP_KERNEL | __GFP_COMP, 2));
	batch[3] = page_address(alloc_page(GFP_ATOMIC));
	batch[4] = kmalloc(20000, GFP_KERNEL);
	barrier();
}

static noinline void mztest_callers_free(void)
{
	__free_pages(virt_to_page(batch[0]), 0);
	free_page((unsigned long)batch[1]);
	put_page(virt_to_page(batch[2]));
	put_page(virt_to_page(batch[3]));
	kfree(batch[4]);
	barrier();
}

static void expect_callers(unsigned int i, size_t size)
{
	expect(batch[i], size, "mztest_callers_alloc", "mztest_callers_free", "-");
}

/* The slabs of a new cache belong to who asks it for an object. */
static noinline void mztest_callers_grow(void)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		batch[i] = kmem_cache_alloc(growing, GFP_KERNEL);
	barrier();
}

static void stop_growing(void)
{
	unsigned int i;

	for (i = 0; i < BATCH && growing; i++)
		kmem_cache_free(growing, batch[i]);
	kmem_cache_destroy(growing);
	growing = NULL;
}

static void run_callers(void)
{
	struct page *page;
	unsigned int i;

	stop_growing();
	mztest_callers_alloc();
	for (i = 0; i < 4; i++)
		expect_callers(i, PAGE_SIZE << (i == 2 ? 2 : 0));
	expect_callers(4, 20000);
	expect_callers(4, PAGE_SIZE << get_order(20000));
	mztest_callers_free();

	growing = kmem_cache_create("mztest_growing", 2000, 0, 0, construct);
	if (!growing)
		return;
	mztest_callers_grow();
	for (i = 0; i < BATCH; i++)
		expect(batch[i], 2000, "mztest_callers_grow", "-", "-");
	page = virt_to_head_page(batch[0]);
	expect(page_address(page), PAGE_SIZE << compound_order(page), "mztest_callers_grow", "-",
	       "-");
}

static void run_pages(void)
{
	mztest_alloc_pages();
	expect_batch(PAGE_SIZE * 2, "mztest_alloc_pages", "mztest_free_pages", "-");
	mztest_free_pages();
}

static void run_clear(void)
{
	stop_growing();
	nr_expected = 0;
	incomplete = false;
}

static const struct test_pattern patterns[] = {
	{ "clear", run_clear },	  { "task", run_task },
	{ "live", run_live },	  { "end_live", run_end_live },
	{ "work", run_work },	  { "softirq", run_softirq },
	{ "rcu", run_rcu },	  { "irq", run_irq },
	{ "bulk", run_bulk },	  { "kfree_rcu", run_kfree_rcu },
	{ "reuse", run_reuse },	  { "pages", run_pages },
	{ "reborn", run_reborn }, { "callers", run_callers },
};

/* === Files ================================================================================ */

static void show_expected(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < nr_expected; i++) {
		const struct expectation *e = &expected[i];

		seq_printf(m, "%lx %zu %s %s %s\n", (unsigned long)e->addr, e->size, e->alloc,
			   e->free, e->comm);
	}
	/* No object is ever like this one, so the test fails. */
	if (incomplete)
		seq_puts(m, "0 0 incomplete list -\n");
}

static struct test_files files = {
	.directory = "mztest",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_expected,
};

/* === Start and end ======================================================================== */

static int __init mztest_init(void)
{
	/* With a constructor it is not merged with another cache of its size. */
	cache = kmem_cache_create("mztest_cache", 120, 0, 0, construct);
	if (!cache)
		return -ENOMEM;
	init_completion(&done);
	INIT_WORK(&work, mztest_free_in_work);
	init_irq_work(&hard_work, mztest_both_in_irq);
	test_files_create(&files);
	return 0;
}

static void __exit mztest_exit(void)
{
	test_files_remove(&files);
	/* A timer callback may have signalled completion without having returned. */
	synchronize_rcu();
	stop_growing();
	kmem_cache_destroy(cache);
}

module_init(mztest_init);
module_exit(mztest_exit);
MODULE_DESCRIPTION("A known pattern of allocations");
MODULE_LICENSE("GPL");
