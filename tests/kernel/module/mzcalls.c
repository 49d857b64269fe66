// SPDX-License-Identifier: GPL-2.0-only
/*
 * Known numbers of calls and returns between functions: for function_calls and function_returns.
 *
 * Writing the name of a pattern to debugfs mzcalls/run makes the calls; mzcalls/expect then lists,
 * for each pair of functions, how many calls and returns must have been counted:
 *   caller called calls returns
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "files.h"

/* === Data ================================================================================= */

#define ROUNDS 1000U
#define DEPTH  20U

static struct {
	unsigned int leaf, recurse, inlined, far, other;
	unsigned int irq, softirq, cpus, lost, kept;
} expected;

static int sink;

/* === Functions that call ================================================================== */

/* The compiler must not inline, clone or merge these functions. */
#define counted __attribute__((__noipa__))

static counted void mzcalls_leaf(void)
{
	WRITE_ONCE(sink, 1);
}

static counted void mzcalls_other(void)
{
	WRITE_ONCE(sink, 2);
}

/* Two places that call the same function, one of them as the last thing that is done. */
static counted void mzcalls_twice(void)
{
	mzcalls_leaf();
	barrier();
	mzcalls_leaf();
}

static counted void mzcalls_recurse(unsigned int depth)
{
	if (depth > 1)
		mzcalls_recurse(depth - 1);
	barrier();
}

/* By a pointer, so that nobody but the processor knows which. */
static counted void mzcalls_far(void (*function)(void))
{
	function();
	barrier();
}

/* What is declared inline is a part of its caller, whether the compiler inlines it or not. */
static inline void mzcalls_inlined(void)
{
	mzcalls_leaf();
	barrier();
}

static counted void mzcalls_inliner(void)
{
	mzcalls_inlined();
}

/* Not declared inline, called once: it must not be inlined where calls are counted. */
static void mzcalls_small(void)
{
	WRITE_ONCE(sink, 3);
	mzcalls_other();
}

static counted void mzcalls_keep(void)
{
	mzcalls_small();
	barrier();
}

static counted void mzcalls_top(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		mzcalls_twice();
	for (i = 0; i < ROUNDS; i++)
		mzcalls_inliner();
	for (i = 0; i < ROUNDS; i++)
		mzcalls_far(i % 4 ? mzcalls_leaf : mzcalls_other);
	for (i = 0; i < ROUNDS; i++)
		mzcalls_keep();
	mzcalls_recurse(DEPTH);
}

/* === Patterns ============================================================================= */

static void pattern_clear(void)
{
	memset(&expected, 0, sizeof(expected));
}

static void expect_top(unsigned int times)
{
	expected.leaf += times * 2 * ROUNDS;
	expected.inlined += times * ROUNDS;
	expected.far += times * (ROUNDS - ROUNDS / 4);
	expected.other += times * (ROUNDS / 4);
	expected.kept += times * ROUNDS;
	expected.recurse += times * (DEPTH - 1);
}

static void pattern_task(void)
{
	mzcalls_top();
	expect_top(1);
}

static counted void mzcalls_in_work(struct work_struct *unused)
{
	mzcalls_top();
}

static DEFINE_PER_CPU(struct work_struct, works);

/* On all processors, at the same time. */
static void pattern_cpus(void)
{
	int cpu;

	for_each_online_cpu(cpu) {
		INIT_WORK(per_cpu_ptr(&works, cpu), mzcalls_in_work);
		schedule_work_on(cpu, per_cpu_ptr(&works, cpu));
	}
	for_each_online_cpu(cpu)
		flush_work(per_cpu_ptr(&works, cpu));
	expected.cpus += num_online_cpus();
	expect_top(num_online_cpus());
}

static counted void mzcalls_in_irq(struct irq_work *unused)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		mzcalls_leaf();
}

static void pattern_irq(void)
{
	struct irq_work work;

	init_irq_work(&work, mzcalls_in_irq);
	irq_work_queue(&work);
	irq_work_sync(&work);
	expected.irq += ROUNDS;
}

static counted void mzcalls_in_softirq(struct tasklet_struct *unused)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		mzcalls_leaf();
}

static DECLARE_TASKLET(tasklet, mzcalls_in_softirq);

static void pattern_softirq(void)
{
	tasklet_schedule(&tasklet);
	tasklet_unlock_wait(&tasklet);
	while (test_bit(TASKLET_STATE_SCHED, &tasklet.state))
		schedule_timeout_interruptible(1);
	tasklet_unlock_wait(&tasklet);
	expected.softirq += ROUNDS;
}

static DECLARE_COMPLETION(ended);

/* A function that does not return, since its thread ends in it. */
static counted void mzcalls_lost(void)
{
	mzcalls_leaf();
	kthread_complete_and_exit(&ended, 0);
}

static int mzcalls_thread(void *unused)
{
	mzcalls_lost();
	return 0;
}

static void pattern_lost(void)
{
	if (IS_ERR(kthread_run(mzcalls_thread, NULL, "mzcalls")))
		return;
	wait_for_completion(&ended);
	expected.lost++;
}

static const struct test_pattern patterns[] = {
	{ "clear", pattern_clear }, { "task", pattern_task },	    { "cpus", pattern_cpus },
	{ "irq", pattern_irq },	    { "softirq", pattern_softirq }, { "lost", pattern_lost },
};

static void show(struct seq_file *m, const char *caller, const char *called, unsigned int calls,
		 unsigned int returns)
{
	if (calls || returns)
		seq_printf(m, "%s %s %u %u\n", caller, called, calls, returns);
}

static void show_expected(struct seq_file *m)
{
	show(m, "mzcalls_twice", "mzcalls_leaf", expected.leaf, expected.leaf);
	show(m, "mzcalls_top", "mzcalls_twice", expected.leaf / 2, expected.leaf / 2);
	show(m, "mzcalls_inliner", "mzcalls_leaf", expected.inlined, expected.inlined);
	show(m, "mzcalls_top", "mzcalls_inliner", expected.inlined, expected.inlined);
	show(m, "mzcalls_far", "mzcalls_leaf", expected.far, expected.far);
	show(m, "mzcalls_far", "mzcalls_other", expected.other, expected.other);
	show(m, "mzcalls_top", "mzcalls_far", expected.far + expected.other,
	     expected.far + expected.other);
	show(m, "mzcalls_keep", "mzcalls_small", expected.kept, expected.kept);
	show(m, "mzcalls_small", "mzcalls_other", expected.kept, expected.kept);
	show(m, "mzcalls_top", "mzcalls_keep", expected.kept, expected.kept);
	show(m, "mzcalls_recurse", "mzcalls_recurse", expected.recurse, expected.recurse);
	show(m, "mzcalls_top", "mzcalls_recurse", expected.recurse / (DEPTH - 1),
	     expected.recurse / (DEPTH - 1));
	show(m, "mzcalls_in_work", "mzcalls_top", expected.cpus, expected.cpus);
	show(m, "mzcalls_in_irq", "mzcalls_leaf", expected.irq, expected.irq);
	show(m, "mzcalls_in_softirq", "mzcalls_leaf", expected.softirq, expected.softirq);
	show(m, "mzcalls_thread", "mzcalls_lost", expected.lost, 0);
	show(m, "mzcalls_lost", "mzcalls_leaf", expected.lost, expected.lost);
}

static struct test_files files = {
	.directory = "mzcalls",
	.patterns = patterns,
	.nr_patterns = ARRAY_SIZE(patterns),
	.show_expected = show_expected,
};

/* === Start and end ======================================================================== */

static int __init mzcalls_start(void)
{
	test_files_create(&files);
	return 0;
}

static void __exit mzcalls_exit(void)
{
	tasklet_kill(&tasklet);
	test_files_remove(&files);
}

module_init(mzcalls_start);
module_exit(mzcalls_exit);
MODULE_DESCRIPTION("Known numbers of calls and returns between functions");
MODULE_LICENSE("GPL");
