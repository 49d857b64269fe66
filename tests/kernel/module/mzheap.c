// SPDX-License-Identifier: GPL-2.0-only
/*
 * A known heap: objects of known types, held in known ways or leaked, for who reads the kernel's
 * memory.
 *
 * Writing "all" to debugfs mzheap/run makes them, "clear" frees them, the leaked ones too.
 * mzheap/expect is the truth, one line for each object that there is, in the order of allocation:
 *
 *   ADDRESS SIZE CACHE TYPE STATE WAY
 *
 *   ADDRESS  16 hexadecimal digits, where the object begins
 *   SIZE     bytes that were asked for
 *   CACHE    the cache that it is in: one of our own, or one of kmalloc() that nobody else uses
 *   TYPE     what it is: a struct of the kernel, the name of its cache, or "?" if nothing says it
 *   STATE    "held": a way leads to it from a root; "leaked": none does
 *   WAY      what holds it, or how it was leaked; make_*() and leak_*() below have each:
 *              held    list table field percpu percpu-module stack vmalloc slab-table large-table
 *                      xarray idr maple rbtree timer chain
 *              leaked  lost kmalloc ring tree
 *
 * Nothing else in the kernel has the address of a leaked object: the truth is kept and shown in two
 * halves, inverted, and the stack of the thread that made them is overwritten before it ends.
 * Leaked objects point to held ones, to themselves and to each other.
 */
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/ioport.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#ifdef HAS_MAPLE
#include <linux/maple_tree.h>
#endif

#include "files.h"

/* === Data ================================================================================= */

enum {
	NODES = 1000, /* on the list */
	CHAIN = 1000,
	LOST = 100,
	EACH = 64,   /* of the other ways */
	FEW = 16,    /* on a stack, on timers, on a CPU */
	FREED = 200, /* made and freed again */
	TRUTHS_MAX = 8192,
	FAR = 3600, /* seconds: no timer of ours ever fires */
};

/* Links are not at the beginning: who holds an object points into it. */
struct node {
	u64 number;
	u8 filler[56];
	struct list_head link;
	struct rb_node rb;
	void *to; /* another object */
	u8 rest[80];
};

struct timed {
	u64 number;
	u8 filler[120];
	struct delayed_work work;
	u8 rest[200];
};

enum kind { OWN_NODE, OWN_RESOURCE, RCL_64, RCL_512, RCL_1K, KINDS };

/* Nothing else in an idle kernel uses what kmalloc() has for reclaimable memory of these sizes. */
static const struct {
	const char *cache, *type;
	size_t size;
} kinds[KINDS] = {
	[OWN_NODE] = { "mzheap_node", "mzheap_node", sizeof(struct node) },
	[OWN_RESOURCE] = { "resource", "resource", sizeof(struct resource) },
	[RCL_64] = { "kmalloc-rcl-64", "resource", sizeof(struct resource) },
	[RCL_512] = { "kmalloc-rcl-512", "?", 440 },
	[RCL_1K] = { "kmalloc-rcl-1k", "?", EACH * sizeof(void *) + 400 },
};

struct truth {
	u32 low, high; /* of the address, inverted */
	enum kind kind;
	bool leaked;
	const char *way;
};

struct percpu_table {
	void *to[FEW];
};

static struct truth *truths;
static unsigned int nr_truths;
static bool incomplete; /* some object could not be made */
static struct kmem_cache *node_cache, *resource_cache;

/* The roots. */
static LIST_HEAD(list);
static struct resource *resources[EACH];
static struct percpu_table __percpu *percpu_table;
static DEFINE_PER_CPU(struct percpu_table, module_percpu);
static struct task_struct *holder;
static DECLARE_COMPLETION(holding);
static void **vmalloc_table, **slab_table, **large_table;
static DEFINE_XARRAY(xarray);
static DEFINE_IDR(idr);
#ifdef HAS_MAPLE
static DEFINE_MTREE(maple);
#endif
static struct rb_root rbtree = RB_ROOT;
static struct node *chain;

/* === Internals: objects =================================================================== */

static void construct(void *object)
{
}

static bool is_own(enum kind kind)
{
	return kind == OWN_NODE || kind == OWN_RESOURCE;
}

/* Not inlined: who allocated an object is this function, by name. */
static noinline void *new_object(enum kind kind, bool leaked, const char *way)
{
	void *object;

	if (nr_truths == TRUTHS_MAX) {
		incomplete = true;
		return NULL;
	}
	if (is_own(kind))
		object = kmem_cache_alloc(kind == OWN_NODE ? node_cache : resource_cache,
					  GFP_KERNEL);
	else
		object = kmalloc(kinds[kind].size, GFP_KERNEL | __GFP_RECLAIMABLE);
	if (!object) {
		incomplete = true;
		return NULL;
	}
	memset(object, 0, kinds[kind].size);
	truths[nr_truths++] = (struct truth){
		.low = ~(u32)(uintptr_t)object,
		.high = ~(u32)((uintptr_t)object >> 32),
		.kind = kind,
		.leaked = leaked,
		.way = way,
	};
	return object;
}

static struct node *new_node(bool leaked, const char *way)
{
	struct node *node = new_object(OWN_NODE, leaked, way);

	if (node) {
		node->number = nr_truths;
		INIT_LIST_HEAD(&node->link);
	}
	return node;
}

static void free_object(enum kind kind, void *object)
{
	if (kind == OWN_NODE)
		kmem_cache_free(node_cache, object);
	else if (kind == OWN_RESOURCE)
		kmem_cache_free(resource_cache, object);
	else
		kfree(object);
}

/* === Internals: what is held ============================================================== */

static void make_list(void)
{
	struct node *node;
	int i;

	for (i = 0; i < NODES; i++) {
		node = new_node(false, "list");
		if (node)
			list_add_tail(&node->link, &list);
	}
}

/* The cache is named after the struct of its objects; a field of it says what they point to. */
static void make_fields(void)
{
	int i;

	for (i = 0; i < EACH; i++) {
		resources[i] = new_object(OWN_RESOURCE, false, "table");
		if (resources[i])
			resources[i]->child = new_object(RCL_64, false, "field");
	}
}

static void make_percpu(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		for (i = 0; percpu_table && i < FEW; i++)
			per_cpu_ptr(percpu_table, cpu)->to[i] =
				new_object(RCL_512, false, "percpu");
		for (i = 0; i < FEW; i++)
			per_cpu(module_percpu, cpu).to[i] =
				new_object(RCL_512, false, "percpu-module");
	}
}

static int hold_on_stack(void *unused)
{
	void *volatile mine[FEW];
	int i;

	for (i = 0; i < FEW; i++)
		mine[i] = new_object(RCL_512, false, "stack");
	complete(&holding);
	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
	for (i = 0; i < FEW; i++)
		mine[i] = NULL;
	return 0;
}

static void make_stack(void)
{
	reinit_completion(&holding);
	holder = kthread_run(hold_on_stack, NULL, "mzheap-holder");
	if (IS_ERR(holder)) {
		holder = NULL;
		incomplete = true;
		return;
	}
	wait_for_completion(&holding);
}

/* Tables of pointers: in pages of vmalloc(), in an object, in pages of one large kmalloc(). */
static void make_tables(void)
{
	int i;

	vmalloc_table = vzalloc(64 * PAGE_SIZE);
	slab_table = new_object(RCL_1K, false, "table");
	large_table = kzalloc(64 * PAGE_SIZE, GFP_KERNEL);
	if (!vmalloc_table || !slab_table || !large_table) {
		incomplete = true;
		return;
	}
	for (i = 0; i < EACH; i++) {
		vmalloc_table[i * PAGE_SIZE / sizeof(void *) + 7] =
			new_object(RCL_512, false, "vmalloc");
		slab_table[i] = new_object(RCL_512, false, "slab-table");
		large_table[i * PAGE_SIZE / sizeof(void *) + 5] =
			new_object(RCL_512, false, "large-table");
	}
}

/* Pointers with bits set that are no part of the address. */
static void make_trees(void)
{
	struct rb_node **at, *parent = NULL;
	struct node *node;
	void *object;
	int i;

	for (i = 0; i < EACH; i++) {
		object = new_object(RCL_512, false, "xarray");
		if (object &&
		    xa_err(xa_store(&xarray, i * 37, xa_tag_pointer(object, 1), GFP_KERNEL)))
			incomplete = true;
		object = new_object(RCL_512, false, "idr");
		if (object && idr_alloc(&idr, object, 0, 0, GFP_KERNEL) < 0)
			incomplete = true;
#ifdef HAS_MAPLE
		object = new_object(RCL_512, false, "maple");
		if (object && mtree_store(&maple, i * 1000, object, GFP_KERNEL))
			incomplete = true;
#endif
		node = new_node(false, "rbtree");
		if (!node)
			continue;
		for (at = &rbtree.rb_node; *at;
		     at = i * 5 % 7 < 3 ? &parent->rb_left : &parent->rb_right)
			parent = *at;
		rb_link_node(&node->rb, parent, at);
		rb_insert_color(&node->rb, &rbtree);
	}
}

static void never(struct work_struct *work)
{
}

/* Only the lists of a CPU's timers have them. */
static void make_timers(void)
{
	struct timed *timed;
	int i;

	BUILD_BUG_ON(sizeof(*timed) > 512);
	for (i = 0; i < FEW; i++) {
		timed = new_object(RCL_512, false, "timer");
		if (!timed)
			continue;
		INIT_DELAYED_WORK(&timed->work, never);
		schedule_delayed_work(&timed->work, FAR * HZ + i);
	}
}

static void make_chain(void)
{
	struct node *node;
	int i;

	for (i = 0; i < CHAIN; i++) {
		node = new_node(false, "chain");
		if (!node)
			return;
		node->to = chain;
		chain = node;
	}
}

/* === Internals: what is leaked ============================================================ */

static void leak_lost(void)
{
	struct node *node;
	int i;

	for (i = 0; i < LOST; i++) {
		node = new_node(true, "lost");
		/* What it points to does not hold it. */
		if (node)
			node->to = chain;
		new_object(RCL_512, true, "kmalloc");
	}
}

static void leak_ring(void)
{
	struct node *node, *first = NULL;
	int i;

	for (i = 0; i < EACH; i++) {
		node = new_node(true, "ring");
		if (node && first)
			list_add_tail(&node->link, &first->link);
		else
			first = node;
	}
}

static void leak_tree(void)
{
	void **table = new_object(RCL_1K, true, "tree");
	int i;

	for (i = 0; table && i < EACH; i++)
		table[i] = new_object(RCL_512, true, "tree");
}

/* Free objects between those in use. */
static void make_and_free(void)
{
	static void *freed[FREED];
	int i;

	for (i = 0; i < FREED; i++)
		freed[i] = kmem_cache_alloc(node_cache, GFP_KERNEL);
	for (i = 0; i < FREED; i++) {
		if (freed[i])
			kmem_cache_free(node_cache, freed[i]);
		freed[i] = NULL;
	}
}

/* === Internals: patterns ================================================================== */

/* Overwrites what earlier calls have left on this stack. */
static noinline void scrub(int depth)
{
	volatile u8 area[1024];
	unsigned int i;

	for (i = 0; i < sizeof(area); i++)
		area[i] = 0;
	if (depth)
		scrub(depth - 1);
	area[0] = 1;
}

static noinline void make_all(void)
{
	make_list();
	make_and_free();
	leak_lost();
	make_fields();
	make_percpu();
	make_stack();
	make_tables();
	make_chain();
	leak_ring();
	make_trees();
	make_timers();
	leak_tree();
}

static int maker(void *done)
{
	make_all();
	scrub(8);
	complete(done);
	return 0;
}

static void run_clear(void)
{
	unsigned int i;
	void *object;
	int cpu;

	if (holder)
		kthread_stop(holder);
	holder = NULL;
	xa_destroy(&xarray);
	idr_destroy(&idr);
	idr_init(&idr);
#ifdef HAS_MAPLE
	mtree_destroy(&maple);
	mt_init_flags(&maple, 0);
#endif
	for (i = 0; i < nr_truths; i++) {
		object = (void *)((uintptr_t)~truths[i].high << 32 | (u32)~truths[i].low);
		if (!strcmp(truths[i].way, "timer"))
			cancel_delayed_work_sync(&((struct timed *)object)->work);
		free_object(truths[i].kind, object);
	}
	nr_truths = 0;
	incomplete = false;
	INIT_LIST_HEAD(&list);
	rbtree = RB_ROOT;
	chain = NULL;
	memset(resources, 0, sizeof(resources));
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&module_percpu, cpu), 0, sizeof(struct percpu_table));
	vfree(vmalloc_table);
	kfree(large_table);
	vmalloc_table = NULL;
	slab_table = NULL;
	large_table = NULL;
}

static void run_all(void)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *thread;

	run_clear();
	thread = kthread_run(maker, &done, "mzheap-maker");
	if (IS_ERR(thread))
		incomplete = true;
	else
		wait_for_completion(&done);
}

static const struct test_pattern patterns[] = {
	{ "all", run_all },
	{ "clear", run_clear },
};

static void show_truth(struct seq_file *m)
{
	const struct truth *truth;

	for (truth = truths; truth < truths + nr_truths; truth++)
		seq_printf(m, "%08x%08x %zu %s %s %s %s\n", ~truth->high, ~truth->low,
			   kinds[truth->kind].size, kinds[truth->kind].cache,
			   kinds[truth->kind].type, truth->leaked ? "leaked" : "held", truth->way);
	if (incomplete)
		seq_puts(m, "incomplete\n");
}

static struct test_files files = {
	.directory = "mzheap",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_truth,
};

static void release(void)
{
	kmem_cache_destroy(node_cache);
	kmem_cache_destroy(resource_cache);
	free_percpu(percpu_table);
	vfree(truths);
}

static int __init mzheap_init(void)
{
	truths = vzalloc(TRUTHS_MAX * sizeof(*truths));
	percpu_table = alloc_percpu(struct percpu_table);
	/* Caches with a constructor are never merged. */
	node_cache =
		kmem_cache_create(kinds[OWN_NODE].cache, kinds[OWN_NODE].size, 0, 0, construct);
	resource_cache = kmem_cache_create(kinds[OWN_RESOURCE].cache, kinds[OWN_RESOURCE].size, 0,
					   0, construct);
	if (!truths || !percpu_table || !node_cache || !resource_cache) {
		release();
		return -ENOMEM;
	}
	test_files_create(&files);
	return 0;
}

static void __exit mzheap_exit(void)
{
	test_files_remove(&files);
	run_clear();
	release();
}

module_init(mzheap_init);
module_exit(mzheap_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A known heap for tests");
