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
static struct kmem_cache *cache;

static void *batch[BATCH];
static struct completion done;
static struct work_struct work;
static struct timer_list timer;
static struct irq_work hard_work;

static void expect(const void *addr, size_t size, const char *alloc, const char *free,
		   const char *comm)
{
	if (addr && nr_expected < OBJECTS_MAX)
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
	if (kmem_cache_alloc_bulk(cache, GFP_KERNEL, BATCH, batch) != BATCH)
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

static void run_pages(void)
{
	mztest_alloc_pages();
	expect_batch(PAGE_SIZE * 2, "mztest_alloc_pages", "mztest_free_pages", "-");
	mztest_free_pages();
}

static void run_clear(void)
{
	nr_expected = 0;
}

static const struct test_pattern patterns[] = {
	{ "clear", run_clear },	      { "task", run_task },   { "live", run_live },
	{ "end_live", run_end_live }, { "work", run_work },   { "softirq", run_softirq },
	{ "rcu", run_rcu },	      { "irq", run_irq },     { "bulk", run_bulk },
	{ "reuse", run_reuse },	      { "pages", run_pages },
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
}

static struct test_files files = {
	.directory = "mztest",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_expected,
};

/* === Start and end ======================================================================== */

static void construct(void *object)
{
}

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
	kmem_cache_destroy(cache);
}

module_init(mztest_init);
module_exit(mztest_exit);
MODULE_DESCRIPTION("A known pattern of allocations");
MODULE_LICENSE("GPL");
