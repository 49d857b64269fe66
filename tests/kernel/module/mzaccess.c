// SPDX-License-Identifier: GPL-2.0-only
/*
 * Known numbers of loads and stores: of given widths, by given functions, to given objects, in
 * task, workqueue, softirq and hard interrupt context, on all processors.
 *
 * Writing a name to debugfs mzaccess/run runs the pattern of that name; mzaccess/expect then lists
 * what must have been counted, one line for each object, function and context:
 *   address function task|irq writes reads bytes-written bytes-read kind
 * The kind is a number of enum memorizer_kind, 0 if it does not matter.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/kernel_stat.h>
#include <linux/kasan-checks.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "../include/uapi/memorizer.h"
#include "../kernel/compat.h"
#include "files.h"

/* === Data ================================================================================= */

#define EXPECTED_MAX 128
#define OBJECT_SIZE  192
#define CACHE_SIZE   64
#define NEIGHBOURS   4
#define STORM	     200000
#define CROSS_SIZE   (PAGE_SIZE + 1003)
#define CROSS_PLACES 16
#define CROSS_ROUNDS 1000

struct expectation {
	unsigned long addr;
	const char *function, *context;
	u64 writes, reads, bytes_written, bytes_read;
	enum memorizer_kind kind;
};

static struct expectation expected[EXPECTED_MAX];
static unsigned int nr_expected;
static bool incomplete; /* something that was to be counted is not among them */
static struct kmem_cache *cache;
static void *shared;
static struct completion done;

/* === Functions that access =============================================================== */

/* The compiler must not inline, clone or merge these functions. */
#define counted __attribute__((__noipa__))

static counted void mzaccess_store8(u8 *p, unsigned int n)
{
	while (n--)
		WRITE_ONCE(*p, n);
	barrier();
}

static counted void mzaccess_load8(u8 *p, unsigned int n)
{
	while (n--)
		READ_ONCE(*p);
	barrier();
}

static counted void mzaccess_store16(u16 *p, unsigned int n)
{
	while (n--)
		WRITE_ONCE(*p, n);
	barrier();
}

static counted void mzaccess_load16(u16 *p, unsigned int n)
{
	while (n--)
		READ_ONCE(*p);
	barrier();
}

static counted void mzaccess_store32(u32 *p, unsigned int n)
{
	while (n--)
		WRITE_ONCE(*p, n);
	barrier();
}

static counted void mzaccess_load32(u32 *p, unsigned int n)
{
	while (n--)
		READ_ONCE(*p);
	barrier();
}

static counted void mzaccess_store64(u64 *p, unsigned int n)
{
	while (n--)
		WRITE_ONCE(*p, n);
	barrier();
}

static counted void mzaccess_load64(u64 *p, unsigned int n)
{
	while (n--)
		READ_ONCE(*p);
	barrier();
}

static counted void mzaccess_atomic(atomic_t *p, unsigned int n)
{
	while (n--)
		atomic_inc(p);
	barrier();
}

/* Plain loads and stores that both the kernel and the compiler instrument. */
static counted void mzaccess_atomic_set(atomic_t *p, unsigned int n)
{
	while (n--)
		atomic_set(p, n);
	barrier();
}

static counted void mzaccess_atomic_read(atomic_t *p, unsigned int n)
{
	while (n--)
		atomic_read(p);
	barrier();
}

static counted void mzaccess_memset(void *p, size_t len)
{
	memset(p, 0, len);
	barrier();
}

static counted void mzaccess_memcpy(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	barrier();
}

/* Prevents a tail call to memmove(): the caller must still be known. */
static counted void mzaccess_memmove(void *to, const void *from, size_t len)
{
	memmove(to, from, len);
}

static counted void mzaccess_storm(u32 *p, unsigned int n)
{
	while (n--)
		WRITE_ONCE(*p, n);
	barrier();
}

/* === Expectations ========================================================================= */

static void expect(const void *addr, const char *function, const char *context, u64 writes,
		   u64 reads, u64 bytes)
{
	if (!addr || nr_expected == EXPECTED_MAX) {
		incomplete = true;
		return;
	}
	expected[nr_expected++] = (struct expectation){
		.addr = (unsigned long)addr,
		.function = function,
		.context = context,
		.writes = writes,
		.reads = reads,
		.bytes_written = writes ? bytes : 0,
		.bytes_read = reads ? bytes : 0,
	};
}

/* The same, of what no allocator handed out, or of pages that are used for something known. */
static void expect_kind(enum memorizer_kind kind, const void *addr, const char *function,
			u64 writes, u64 reads, u64 bytes)
{
	expect(addr, function, "task", writes, reads, bytes);
	if (nr_expected)
		expected[nr_expected - 1].kind = kind;
}

static void use_width(void *p, unsigned int bits, unsigned int writes, unsigned int reads)
{
	switch (bits) {
	case 8:
		mzaccess_store8(p, writes);
		mzaccess_load8(p, reads);
		break;
	case 16:
		mzaccess_store16(p, writes);
		mzaccess_load16(p, reads);
		break;
	case 32:
		mzaccess_store32(p, writes);
		mzaccess_load32(p, reads);
		break;
	default:
		mzaccess_store64(p, writes);
		mzaccess_load64(p, reads);
		break;
	}
}

/* A different number for each width and direction, in the context of the caller. */
static void use_all_widths(void *obj, const char *context)
{
	static const struct {
		unsigned int bits, writes, reads;
		const char *store, *load;
	} widths[] = {
		{ 8, 3, 5, "mzaccess_store8", "mzaccess_load8" },
		{ 16, 7, 11, "mzaccess_store16", "mzaccess_load16" },
		{ 32, 13, 17, "mzaccess_store32", "mzaccess_load32" },
		{ 64, 1019, 2003, "mzaccess_store64", "mzaccess_load64" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		unsigned int bytes = widths[i].bits / 8;

		/* At the start, inside, and at the end. */
		use_width(obj + i * 8, widths[i].bits, widths[i].writes, widths[i].reads);
		expect(obj, widths[i].store, context, widths[i].writes, 0,
		       widths[i].writes * bytes);
		expect(obj, widths[i].load, context, 0, widths[i].reads, widths[i].reads * bytes);
	}
}

/* === Patterns ============================================================================= */

static void run_task(void)
{
	void *obj = kmalloc(OBJECT_SIZE, GFP_KERNEL);

	if (!obj)
		return;
	use_all_widths(obj, "task");
	mzaccess_atomic(obj + 64, 23);
	expect(obj, "mzaccess_atomic", "task", 23, 0, 23 * sizeof(atomic_t));
	mzaccess_atomic_set(obj + 64, 29);
	expect(obj, "mzaccess_atomic_set", "task", 29, 0, 29 * sizeof(atomic_t));
	mzaccess_atomic_read(obj + 64, 37);
	expect(obj, "mzaccess_atomic_read", "task", 0, 37, 37 * sizeof(atomic_t));
	kfree(obj);
}

static void access_in_work(struct work_struct *unused)
{
	use_all_widths(shared, "task");
}

static DECLARE_WORK(work, access_in_work);

static void run_work(void)
{
	shared = kmalloc(OBJECT_SIZE, GFP_KERNEL);
	if (!shared)
		return;
	schedule_work(&work);
	flush_work(&work);
	kfree(shared);
}

static void access_in_timer(struct timer_list *unused)
{
	use_all_widths(shared, "irq");
	complete(&done);
}

static void access_in_irq(struct irq_work *unused)
{
	use_all_widths(shared, "irq");
	complete(&done);
}

static void run_softirq(void)
{
	static struct timer_list timer;

	shared = kmalloc(OBJECT_SIZE, GFP_KERNEL);
	if (!shared)
		return;
	reinit_completion(&done);
	timer_setup(&timer, access_in_timer, 0);
	mod_timer(&timer, jiffies + 1);
	wait_for_completion(&done);
	kfree(shared);
}

static void run_irq(void)
{
	static struct irq_work hard_work;

	shared = kmalloc(OBJECT_SIZE, GFP_KERNEL);
	if (!shared)
		return;
	reinit_completion(&done);
	init_irq_work(&hard_work, access_in_irq);
	irq_work_queue(&hard_work);
	wait_for_completion(&done);
	irq_work_sync(&hard_work);
	kfree(shared);
}

/* Several pages that are one object: an operation on all of them is one access. */
static void run_pages(void)
{
	void *pages = (void *)__get_free_pages(GFP_KERNEL, 2), *area = vmalloc(3 * PAGE_SIZE);

	if (pages && area) {
		mzaccess_memset(pages, 4 * PAGE_SIZE);
		expect(pages, "mzaccess_memset", "task", 1, 0, 4 * PAGE_SIZE);
		mzaccess_store32(pages + 3 * PAGE_SIZE, 31);
		expect(pages, "mzaccess_store32", "task", 31, 0, 31 * 4);
		mzaccess_memcpy(area, pages + 100, 3 * PAGE_SIZE);
		expect(pages, "mzaccess_memcpy", "task", 0, 1, 3 * PAGE_SIZE);
		expect(area, "mzaccess_memcpy", "task", 1, 0, 3 * PAGE_SIZE);
		mzaccess_load64(area + 2 * PAGE_SIZE + 8, 37);
		expect(area, "mzaccess_load64", "task", 0, 37, 37 * 8);
	}
	vfree(area);
	free_pages((unsigned long)pages, 2);
}

/* Larger than any slab object. */
static void run_large(void)
{
	void *obj = kmalloc(5 * PAGE_SIZE, GFP_KERNEL);

	if (!obj)
		return;
	mzaccess_store8(obj + 4 * PAGE_SIZE, 41);
	expect(obj, "mzaccess_store8", "task", 41, 0, 41);
	mzaccess_memset(obj, 5 * PAGE_SIZE);
	expect(obj, "mzaccess_memset", "task", 1, 0, 5 * PAGE_SIZE);
	kfree(obj);
}

/* The start of a sequence of adjacent objects, or NULL. */
static void *find_neighbours(void **objects, unsigned int nr)
{
	unsigned int i, j, k;

	for (i = 0; i < nr; i++) {
		for (j = 1; j < NEIGHBOURS; j++) {
			for (k = 0; k < nr && objects[k] != objects[i] + j * CACHE_SIZE; k++)
				;
			if (k == nr)
				break;
		}
		if (j == NEIGHBOURS)
			return objects[i];
	}
	return NULL;
}

/* One copy over several objects is one access to each of them. */
static void run_range(void)
{
	void *objects[64], *from = kmalloc(NEIGHBOURS * CACHE_SIZE, GFP_KERNEL), *to;
	size_t len = (NEIGHBOURS - 1) * CACHE_SIZE;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(objects); i++)
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
	to = find_neighbours(objects, ARRAY_SIZE(objects));
	if (!from || !to) {
		incomplete = true;
	} else {
		/* Half of the first and half of the last. */
		mzaccess_memcpy(to + CACHE_SIZE / 2, from, len);
		for (i = 0; i < NEIGHBOURS; i++)
			expect(to + i * CACHE_SIZE, "mzaccess_memcpy", "task", 1, 0,
			       i == 0 || i == NEIGHBOURS - 1 ? CACHE_SIZE / 2 : CACHE_SIZE);
		expect(from, "mzaccess_memcpy", "task", 0, 1, len);
		mzaccess_memmove(to, to + CACHE_SIZE, CACHE_SIZE);
		expect(to, "mzaccess_memmove", "task", 1, 0, CACHE_SIZE);
		expect(to + CACHE_SIZE, "mzaccess_memmove", "task", 0, 1, CACHE_SIZE);
	}
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		kmem_cache_free(cache, objects[i]);
	kfree(from);
}

static atomic_t storms;

static int storm(void *unused)
{
	mzaccess_storm(shared, STORM);
	if (atomic_dec_and_test(&storms))
		complete(&done);
	return 0;
}

/* Two threads on each processor, all accessing one object. */
static void run_storm(void)
{
	unsigned int cpu, i, started = 0;

	shared = kmalloc(OBJECT_SIZE, GFP_KERNEL);
	if (!shared)
		return;
	reinit_completion(&done);
	atomic_set(&storms, 1);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		for (i = 0; i < 2; i++) {
			struct task_struct *task = kthread_create(storm, NULL, "storm/%u", cpu);

			if (IS_ERR(task))
				continue;
			kthread_bind(task, cpu);
			atomic_inc(&storms);
			started++;
			wake_up_process(task);
		}
	}
	cpus_read_unlock();
	if (atomic_dec_and_test(&storms))
		complete(&done);
	wait_for_completion(&done);
	expect(shared, "mzaccess_storm", "task", (u64)started * STORM, 0,
	       (u64)started * STORM * sizeof(u32));
	kfree(shared);
}

/* Objects that are freed on a processor other than the one that used them, again and again. */
static void free_in_work(struct work_struct *unused)
{
	kfree(shared);
}

static DECLARE_WORK(free_work, free_in_work);

static void run_pass(void)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		shared = kmalloc(OBJECT_SIZE, GFP_KERNEL);
		if (!shared)
			return;
		mzaccess_store32(shared, 1000 + i);
		expect(shared, "mzaccess_store32", "task", 1000 + i, 0, (1000 + i) * 4);
		schedule_work_on(cpumask_last(cpu_online_mask), &free_work);
		flush_work(&free_work);
	}
}

/*
 * One instruction stores to objects of two pages that are allocated one after the other at one
 * address, each time to the other page. No expectations: there is one store to each object.
 */
static void run_cross(void)
{
	void *held[CROSS_PLACES];
	unsigned int i, round;

	for (i = 0; i < CROSS_PLACES; i++) {
		for (round = 0; round < CROSS_ROUNDS; round++) {
			void *obj = kmalloc(CROSS_SIZE, GFP_KERNEL);

			if (obj)
				mzaccess_store8(obj + round % 2 * PAGE_SIZE, 1);
			kfree(obj);
		}
		/* Then at another address. */
		held[i] = kmalloc(CROSS_SIZE - 1, GFP_KERNEL);
	}
	for (i = 0; i < CROSS_PLACES; i++)
		kfree(held[i]);
}

/* Accesses that the kernel announces before they happen, to pointers that are error values. */
static void run_error(void)
{
	kasan_check_read(ERR_PTR(-EINVAL), 8);
	kasan_check_read((void *)-PAGE_SIZE, 8);
	kasan_check_read((void *)(-PAGE_SIZE - 4), 8);
	kasan_check_write((void *)(-2 * PAGE_SIZE), 3 * PAGE_SIZE);
}

/*
 * A request to reschedule that an interrupt makes while an access is being counted: it is there
 * when preemption is on again, at the end of the access, and must not outlast it.
 */
#define RESCHEDS 100

static unsigned int missed = RESCHEDS;
module_param(missed, uint, 0444);
MODULE_PARM_DESC(missed, "how often pattern resched found its request still there");

static void run_resched(void)
{
	u32 *obj = kmalloc(OBJECT_SIZE, GFP_KERNEL);
	unsigned int i;

	if (!obj)
		return;
	missed = 0;
	for (i = 0; i < RESCHEDS; i++) {
		set_tsk_need_resched(current);
		set_preempt_need_resched();
		mzaccess_store32(obj, 1);
		if (need_resched()) {
			missed++;
			schedule();
		}
	}
	kfree(obj);
}

/* === Patterns: what no allocator handed out =============================================== */

static u64 known_data[3];
static DEFINE_PER_CPU(u64, known_percpu);

/* Variables of one of several processors are objects of 64 bytes; others are variables. */
static const void *percpu_object(const void *variable)
{
	return IS_ENABLED(CONFIG_SMP) ? PTR_ALIGN_DOWN(variable, 64) : variable;
}

/* The object that a page struct is in: the array of them, if it is one, else a page from boot. */
static const void *page_structs(const struct page *page)
{
#if defined(CONFIG_FLATMEM)
	return mem_map;
#elif defined(CONFIG_SPARSEMEM_VMEMMAP)
	return vmemmap;
#else
	return PTR_ALIGN_DOWN(page, PAGE_SIZE);
#endif
}

static void run_variables(void)
{
	bool several = IS_ENABLED(CONFIG_SMP);
	enum memorizer_kind own = several ? MEMORIZER_PERCPU : MEMORIZER_MODULE;
	enum memorizer_kind kernels = several ? MEMORIZER_PERCPU : MEMORIZER_GLOBAL;
	unsigned int cpu;

	mzaccess_store64(&known_data[1], 43);
	expect_kind(MEMORIZER_MODULE, known_data, "mzaccess_store64", 43, 0, 43 * 8);
	mzaccess_load16((u16 *)&known_data[2], 47);
	expect_kind(MEMORIZER_MODULE, known_data, "mzaccess_load16", 0, 47, 47 * 2);
	mzaccess_load8((u8 *)hex_asc + 3, 53);
	expect_kind(MEMORIZER_GLOBAL, hex_asc, "mzaccess_load8", 0, 53, 53);
	mzaccess_load64((u64 *)virt_to_page(current), 59);
	expect_kind(MEMORIZER_BOOT, page_structs(virt_to_page(current)), "mzaccess_load64", 0, 59,
		    59 * 8);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		void *in_module = per_cpu_ptr(&known_percpu, cpu);
		void *in_kernel = per_cpu_ptr(&kstat, cpu);

		mzaccess_store32(in_module, 61 + cpu);
		expect_kind(own, percpu_object(in_module), "mzaccess_store32", 61 + cpu, 0,
			    (61 + cpu) * 4);
		mzaccess_load32(in_kernel, 71 + cpu);
		expect_kind(kernels, percpu_object(in_kernel), "mzaccess_load32", 0, 71 + cpu,
			    (71 + cpu) * 4);
	}
	cpus_read_unlock();
}

static void use_stack(unsigned int n)
{
	u8 buffer[96];

	mzaccess_store8(buffer, n);
	mzaccess_load8(buffer + 7, n + 1);
	expect_kind(MEMORIZER_STACK, task_stack_page(current), "mzaccess_store8", n, 0, n);
	expect_kind(MEMORIZER_STACK, task_stack_page(current), "mzaccess_load8", 0, n + 1, n + 1);
}

static int use_stack_in_thread(void *n)
{
	use_stack((unsigned long)n);
	complete(&done);
	return 0;
}

/* That of a task that is older than the recording, and those of new ones. */
static void run_stack(void)
{
	unsigned long n;

	use_stack(73);
	for (n = 79; n < 82; n++) {
		reinit_completion(&done);
		if (!IS_ERR(kthread_run(use_stack_in_thread, (void *)n, "stack")))
			wait_for_completion(&done);
	}
}

static void run_table(void)
{
	void *table = (void *)__get_free_page(GFP_KERNEL);

	if (!table)
		return;
	mzaccess_memset(table, PAGE_SIZE);
	expect_kind(MEMORIZER_PAGE_TABLE, table, "mzaccess_memset", 1, 0, PAGE_SIZE);
	__SetPageTable(virt_to_page(table));
	mzaccess_store64(table + 64, 83);
	expect_kind(MEMORIZER_PAGE_TABLE, table, "mzaccess_store64", 83, 0, 83 * 8);
	__ClearPageTable(virt_to_page(table));
	free_page((unsigned long)table);
}

static void run_bulk(void)
{
	void *objects[24];
	unsigned int i;

	if (!kmem_cache_alloc_bulk(cache, GFP_KERNEL, ARRAY_SIZE(objects), objects)) {
		incomplete = true;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		mzaccess_store16(objects[i], 89 + i);
		expect_kind(MEMORIZER_CACHE, objects[i], "mzaccess_store16", 89 + i, 0,
			    (89 + i) * 2);
	}
	kmem_cache_free_bulk(cache, ARRAY_SIZE(objects), objects);
}

static void run_clear(void)
{
	nr_expected = 0;
	incomplete = false;
}

static const struct test_pattern patterns[] = {
	{ "clear", run_clear },	    { "task", run_task },	    { "work", run_work },
	{ "irq", run_irq },	    { "pages", run_pages },	    { "softirq", run_softirq },
	{ "large", run_large },	    { "range", run_range },	    { "storm", run_storm },
	{ "pass", run_pass },	    { "cross", run_cross },	    { "error", run_error },
	{ "resched", run_resched }, { "stack", run_stack },	    { "table", run_table },
	{ "bulk", run_bulk },	    { "variables", run_variables },
};

/* === Files ================================================================================ */

static void show_expected(struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < nr_expected; i++) {
		const struct expectation *e = &expected[i];

		seq_printf(m, "%lx %s %s %llu %llu %llu %llu %u\n", e->addr, e->function,
			   e->context, e->writes, e->reads, e->bytes_written, e->bytes_read,
			   e->kind);
	}
	/* Nothing is ever counted like this, so the test fails. */
	if (incomplete)
		seq_puts(m, "0 incomplete task 1 1 1 1 0\n");
}

static struct test_files files = {
	.directory = "mzaccess",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_expected,
};

/* === Start and end ======================================================================== */

static int __init mzaccess_init(void)
{
	cache = kmem_cache_create("mzaccess_cache", CACHE_SIZE, 0, 0, NULL);
	if (!cache)
		return -ENOMEM;
	init_completion(&done);
	test_files_create(&files);
	return 0;
}

static void __exit mzaccess_exit(void)
{
	test_files_remove(&files);
	/* A timer callback may have signalled completion without having returned. */
	synchronize_rcu();
	kmem_cache_destroy(cache);
}

module_init(mzaccess_init);
module_exit(mzaccess_exit);
MODULE_DESCRIPTION("Known numbers of loads and stores");
MODULE_LICENSE("GPL");
