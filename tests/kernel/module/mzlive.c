// SPDX-License-Identifier: GPL-2.0-only
/*
 * What live levels must see: known numbers of objects that stay, slabs that are filled, and leaks
 * of known rates. Writing a name to debugfs mzlive/run runs the pattern of that name;
 * mzlive/expect then says how many objects each function has in use, one line for each:
 *   function objects bytes-of-an-object
 * Ends are of all kinds, also of those that raise no event. Leaks go on until "stop"; all they
 * made is kept in a list, so that the module can give it back.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "files.h"

/* === Data ================================================================================= */

enum {
	THIRD = 100, /* of the objects that end in three ways, in each */
	STAY = 200,  /* of the others */
	MADE = 3 * THIRD + STAY,
	FILL = 600,   /* objects in slabs of their own */
	MANY = 24000, /* objects for samples, of KiB */
};

struct object {
	struct object *next;
	struct rcu_head rcu;
};

static struct kmem_cache *kept_cache, *slab_cache, *leaked_cache;
static void *made[MADE], *filled[FILL];
static struct object *many, *mallocs;
static unsigned int nr_many, nr_mallocs;

struct leak {
	struct delayed_work work; /* unless a thread of its own does it */
	const char *thread;
	struct task_struct *task;
	struct object *(*make)(void);
	unsigned int each, every_ms; /* objects, at once */
	struct object *all;
	atomic_t count;
	bool stop;
};

/* === Functions that are looked for ======================================================== */

/* barrier() prevents tail calls, which would hide the caller. */

static noinline void *mzlive_keep(void)
{
	void *p = kmem_cache_alloc(kept_cache, GFP_KERNEL);

	barrier();
	return p;
}

static noinline void *mzlive_fill(void)
{
	void *p = kmem_cache_alloc(slab_cache, GFP_KERNEL);

	barrier();
	return p;
}

static noinline struct object *mzlive_malloc(void)
{
	struct object *p = kmalloc(500, GFP_KERNEL);

	barrier();
	return p;
}

static noinline struct object *mzlive_many(void)
{
	struct object *p = kmalloc(1000, GFP_KERNEL);

	barrier();
	return p;
}

static noinline struct object *mzlive_leak_slow(void)
{
	struct object *p = kmalloc(64, GFP_KERNEL);

	barrier();
	return p;
}

static noinline struct object *mzlive_leak_cache(void)
{
	struct object *p = kmem_cache_alloc(leaked_cache, GFP_KERNEL);

	barrier();
	return p;
}

static noinline struct object *mzlive_leak_fast(void)
{
	struct object *p = kmalloc(4096, GFP_KERNEL);

	barrier();
	return p;
}

/* No leak: a second or so later all of it is gone, without an event. */
static noinline struct object *mzlive_churn(void)
{
	struct object *p = kmalloc(256, GFP_KERNEL);

	barrier();
	return p;
}

/* === Patterns ============================================================================= */

static void push(struct object **list, struct object *object)
{
	if (!object)
		return;
	object->next = *list;
	*list = object;
}

static unsigned int end_all(struct object **list)
{
	unsigned int n = 0;

	while (*list) {
		struct object *next = (*list)->next;

		kfree(*list);
		*list = next;
		n++;
	}
	return n;
}

static void run_keep(void)
{
	unsigned int i;

	for (i = 0; i < MADE; i++)
		made[i] = mzlive_keep();
	for (i = 0; i < THIRD; i++)
		kmem_cache_free(kept_cache, made[i]);
	kmem_cache_free_bulk(kept_cache, THIRD, made + THIRD);
	for (i = 2 * THIRD; i < 3 * THIRD; i++)
		kfree_rcu((struct object *)made[i], rcu);
	memset(made, 0, 3 * THIRD * sizeof(*made));
	for (i = 0; i < MADE; i++) {
		struct object *object = mzlive_malloc();

		if (!object)
			continue;
		if (i < THIRD) {
			kfree(object);
		} else if (i < 2 * THIRD) {
			kfree_rcu(object, rcu);
		} else {
			push(&mallocs, object);
			nr_mallocs++;
		}
	}
}

static void run_fill(void)
{
	unsigned int i;

	for (i = 0; i < FILL; i++)
		filled[i] = mzlive_fill();
}

static void run_many(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		push(&many, mzlive_many());
	nr_many = MANY;
}

static void run_clear(void)
{
	unsigned int i;

	for (i = 0; i < MADE; i++)
		if (made[i])
			kmem_cache_free(kept_cache, made[i]);
	for (i = 0; i < FILL; i++)
		if (filled[i])
			kmem_cache_free(slab_cache, filled[i]);
	memset(made, 0, sizeof(made));
	memset(filled, 0, sizeof(filled));
	end_all(&many);
	end_all(&mallocs);
	nr_many = 0;
	nr_mallocs = 0;
	rcu_barrier();
}

/* === Leaks ================================================================================ */

static struct leak slow = {
	.make = mzlive_leak_slow, .each = 1, .every_ms = 1000, .thread = "mzslow"
};
static struct leak middle = { .make = mzlive_leak_cache, .each = 2, .every_ms = 200 };
static struct leak fast = { .make = mzlive_leak_fast, .each = 26, .every_ms = 100 };
static struct leak churn = { .make = mzlive_churn, .each = 50, .every_ms = 100 };

static void leak_some(struct leak *leak)
{
	unsigned int i;

	for (i = 0; i < leak->each; i++) {
		struct object *object = leak->make();

		if (object && leak == &churn) {
			kfree_rcu(object, rcu);
		} else if (object) {
			push(&leak->all, object);
			atomic_inc(&leak->count);
		}
	}
}

static void leak_by_work(struct work_struct *work)
{
	struct leak *leak = container_of(to_delayed_work(work), struct leak, work);

	leak_some(leak);
	if (!READ_ONCE(leak->stop))
		schedule_delayed_work(&leak->work, msecs_to_jiffies(leak->every_ms));
}

static int leak_by_thread(void *arg)
{
	struct leak *leak = arg;

	while (!kthread_should_stop()) {
		leak_some(leak);
		msleep_interruptible(leak->every_ms);
	}
	return 0;
}

static void start_leak(struct leak *leak)
{
	leak->stop = false;
	if (leak->thread) {
		struct task_struct *task = kthread_run(leak_by_thread, leak, "%s", leak->thread);

		leak->task = IS_ERR(task) ? NULL : task;
		return;
	}
	INIT_DELAYED_WORK(&leak->work, leak_by_work);
	schedule_delayed_work(&leak->work, 0);
}

static void stop_leak(struct leak *leak)
{
	WRITE_ONCE(leak->stop, true);
	if (leak->task)
		kthread_stop(leak->task);
	else if (leak->work.work.func)
		cancel_delayed_work_sync(&leak->work);
	leak->task = NULL;
	end_all(&leak->all);
	atomic_set(&leak->count, 0);
}

static void run_slow(void)
{
	start_leak(&slow);
	start_leak(&churn);
}

static void run_leaks(void)
{
	start_leak(&middle);
	start_leak(&fast);
}

static void run_stop(void)
{
	stop_leak(&slow);
	stop_leak(&middle);
	stop_leak(&fast);
	stop_leak(&churn);
	rcu_barrier();
}

/* === Files ================================================================================ */

static const struct test_pattern patterns[] = {
	{ "keep", run_keep }, { "fill", run_fill },   { "many", run_many }, { "clear", run_clear },
	{ "slow", run_slow }, { "leaks", run_leaks }, { "stop", run_stop },
};

static unsigned int in_use(void **objects, unsigned int nr)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		n += !!objects[i];
	return n;
}

static void show_expected(struct seq_file *m)
{
	seq_printf(m, "mzlive_keep %u %u\n", in_use(made, MADE), kmem_cache_size(kept_cache));
	seq_printf(m, "mzlive_fill %u %u\n", in_use(filled, FILL), kmem_cache_size(slab_cache));
	seq_printf(m, "mzlive_malloc %u 512\n", nr_mallocs);
	seq_printf(m, "mzlive_many %u 1024\n", nr_many);
	seq_printf(m, "mzlive_leak_slow %d 64\n", atomic_read(&slow.count));
	seq_printf(m, "mzlive_leak_cache %d %u\n", atomic_read(&middle.count),
		   kmem_cache_size(leaked_cache));
	seq_printf(m, "mzlive_leak_fast %d 4096\n", atomic_read(&fast.count));
}

static struct test_files files = {
	.directory = "mzlive",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_expected,
};

/* A constructor keeps a cache from being merged with others. */
static void construct(void *object)
{
}

static void destroy_caches(void)
{
	kmem_cache_destroy(kept_cache);
	kmem_cache_destroy(slab_cache);
	kmem_cache_destroy(leaked_cache);
}

static int __init mzlive_init(void)
{
	kept_cache = kmem_cache_create("mzlive_kept", 200, 0, 0, construct);
	slab_cache = kmem_cache_create("mzlive_slab", 1000, 0, 0, construct);
	leaked_cache = kmem_cache_create("mzlive_leaked", 320, 0, 0, construct);
	if (!kept_cache || !slab_cache || !leaked_cache) {
		destroy_caches();
		return -ENOMEM;
	}
	test_files_create(&files);
	return 0;
}

static void __exit mzlive_exit(void)
{
	test_files_remove(&files);
	run_stop();
	run_clear();
	destroy_caches();
}

module_init(mzlive_init);
module_exit(mzlive_exit);
MODULE_DESCRIPTION("Known objects and leaks for tests of live levels");
MODULE_LICENSE("GPL");
