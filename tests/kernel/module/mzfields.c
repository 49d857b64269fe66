// SPDX-License-Identifier: GPL-2.0-only
/*
 * Known numbers of loads and stores to each field of a struct: for "kmemscope kmap fields".
 *
 * Writing "widgets" to debugfs mzfields/run makes objects and uses their fields, some of them on
 * another processor; mzfields/expect then lists what must have been counted, a line for each field:
 *   field offset size reads writes ranges reader-cpu writer-cpu verdict
 * with "-" for no processor, and "_" for blanks.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "files.h"

/* === Data ================================================================================= */

#define WIDGETS 10

struct mz_pair {
	u64 left, right, top;
};

struct mz_widget {
	u64 limit;   /* read often, written once */
	u64 counter; /* written often, on the last processor */
	u32 state;   /* written and read */
	u32 unused;  /* never accessed */
	u8 mark;     /* written, never read; a hole follows */
	struct mz_pair pair;
	union {
		u64 number;
		void *pointer;
	};
	u32 low : 3, high : 5;
	char name[24];	/* a range */
	u64 table[16];	/* a loop */
	atomic_t users; /* beyond the second cache line */
};

static struct mz_widget *shared;

/* === Functions that access =============================================================== */

/* The compiler must not inline, clone or merge these functions. */
#define counted __attribute__((__noipa__))

static counted void mzfields_init(struct mz_widget *w)
{
	WRITE_ONCE(w->limit, 7);
	WRITE_ONCE(w->mark, 1);
	WRITE_ONCE(w->number, 9);
	barrier();
}

static counted void mzfields_read(struct mz_widget *w, unsigned int n)
{
	while (n--)
		READ_ONCE(w->limit);
	READ_ONCE(w->pair.right);
	READ_ONCE(w->number);
	barrier();
}

static counted void mzfields_count(struct mz_widget *w, unsigned int n)
{
	while (n--)
		WRITE_ONCE(w->counter, n);
	barrier();
}

/* In functions of their own: the compiler reports only the first of two accesses to one address. */
static counted void mzfields_set_state(struct mz_widget *w, unsigned int n)
{
	while (n--)
		WRITE_ONCE(w->state, n);
	barrier();
}

static counted void mzfields_get_state(struct mz_widget *w, unsigned int n)
{
	while (n--)
		READ_ONCE(w->state);
	barrier();
}

static counted void mzfields_name(struct mz_widget *w, const char *name)
{
	memcpy(w->name, name, sizeof(w->name));
	barrier();
}

/* A part of what it is called with: the members "left" and "right". */
static counted void mzfields_clear_pair(struct mz_pair *pair, size_t len)
{
	memset(pair, 0, len);
	barrier();
}

static counted void mzfields_loop(struct mz_widget *w)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(w->table); i++)
		WRITE_ONCE(w->table[i], i);
	barrier();
}

static counted void mzfields_hold(struct mz_widget *w, unsigned int n)
{
	while (n--)
		atomic_inc(&w->users);
	barrier();
}

/* === Patterns ============================================================================= */

static void count_in_work(struct work_struct *unused)
{
	mzfields_count(shared, 1000);
}

static DECLARE_WORK(count_work, count_in_work);

static void use_widget(struct mz_widget *w, const char *name)
{
	mzfields_init(w);
	mzfields_read(w, 500);
	mzfields_set_state(w, 20);
	mzfields_get_state(w, 20);
	mzfields_name(w, name);
	mzfields_clear_pair(&w->pair, 2 * sizeof(u64));
	mzfields_loop(w);
	mzfields_hold(w, 3);
	shared = w;
	schedule_work_on(cpumask_last(cpu_online_mask), &count_work);
	flush_work(&count_work);
}

static struct work_struct widget_work;

static void make_widgets(struct work_struct *unused)
{
	static const char name[24] = "a name of 23 characters";
	unsigned int i;

	for (i = 0; i < WIDGETS; i++) {
		struct mz_widget *widget = kmalloc(sizeof(*widget), GFP_KERNEL);

		if (!widget)
			return;
		use_widget(widget, name);
		kfree(widget);
	}
}

/* All but the counter on the first processor. */
static void run_widgets(void)
{
	INIT_WORK(&widget_work, make_widgets);
	schedule_work_on(cpumask_first(cpu_online_mask), &widget_work);
	flush_work(&widget_work);
}

/* An array of structs, of which each instruction uses one field. */
static void run_pairs(void)
{
	struct mz_pair *pairs = kmalloc_array(5, sizeof(*pairs), GFP_KERNEL);
	unsigned int i;

	if (!pairs)
		return;
	for (i = 0; i < 5; i++)
		mzfields_clear_pair(&pairs[i], sizeof(u64));
	kfree(pairs);
}

static const struct test_pattern patterns[] = {
	{ "widgets", run_widgets },
	{ "pairs", run_pairs },
};

/* === Files ================================================================================ */

#define AT(field)   offsetof(struct mz_widget, field)
#define SIZE(field) sizeof_field(struct mz_widget, field)

struct expected {
	unsigned int reads, writes, ranges; /* of each widget */
	const char *reader, *writer, *verdict;
};

static void show_field(struct seq_file *m, const char *name, size_t offset, size_t size,
		       struct expected e)
{
	seq_printf(m, "%s %zu %zu %u %u %u %s %s %s\n", name, offset, size, e.reads * WIDGETS,
		   e.writes * WIDGETS, e.ranges * WIDGETS, e.reader, e.writer, e.verdict);
}

static void show_expected(struct seq_file *m)
{
	char first[12], last[12];

	snprintf(first, sizeof(first), "%u", cpumask_first(cpu_online_mask));
	snprintf(last, sizeof(last), "%u", cpumask_last(cpu_online_mask));
	show_field(m, "limit", AT(limit), SIZE(limit),
		   (struct expected){ 500, 1, 0, first, first, "written_once" });
	show_field(m, "counter", AT(counter), SIZE(counter),
		   (struct expected){ 0, 1000, 0, "-", last, "never_read" });
	show_field(m, "state", AT(state), SIZE(state),
		   (struct expected){ 20, 20, 0, first, first, "-" });
	show_field(m, "unused", AT(unused), SIZE(unused),
		   (struct expected){ 0, 0, 0, "-", "-", "never_accessed" });
	show_field(m, "mark", AT(mark), SIZE(mark),
		   (struct expected){ 0, 1, 0, "-", first, "never_read" });
	show_field(m, "pair.left", AT(pair.left), SIZE(pair.left),
		   (struct expected){ 0, 1, 1, "-", first, "never_read" });
	show_field(m, "pair.right", AT(pair.right), SIZE(pair.right),
		   (struct expected){ 1, 1, 1, first, first, "written_once" });
	show_field(m, "pair.top", AT(pair.top), SIZE(pair.top),
		   (struct expected){ 0, 0, 0, "-", "-", "never_accessed" });
	show_field(m, "{number|pointer}", AT(number), SIZE(number),
		   (struct expected){ 1, 1, 0, first, first, "written_once" });
	show_field(m, "name", AT(name), SIZE(name),
		   (struct expected){ 0, 1, 0, "-", first, "never_read" });
	show_field(m, "users", AT(users), SIZE(users),
		   (struct expected){ 0, 3, 0, "-", first, "never_read" });
}

static struct test_files files = {
	.directory = "mzfields",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_expected,
};

/* === Start and end ======================================================================== */

static int __init mzfields_start(void)
{
	test_files_create(&files);
	return 0;
}

static void __exit mzfields_exit(void)
{
	test_files_remove(&files);
}

module_init(mzfields_start);
module_exit(mzfields_exit);
MODULE_DESCRIPTION("Known numbers of loads and stores to each field of a struct");
MODULE_LICENSE("GPL");
