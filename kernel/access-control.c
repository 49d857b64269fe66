// SPDX-License-Identifier: GPL-2.0-only
/* Starting and stopping the counting of accesses, waiting for it, and its numbers in show_stats. */
#include <linux/irq_work.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>

#include "access.h"
#include "callbacks.h"
#include "lane.h"
#include "made.h"
#include "memorizer.h"

/* === Data ================================================================================= */

/* Blank pages for records in each shard of the index. */
#define RESERVE_MAX 32

/* How many of them are taken in one interrupt. */
#define REFILL_BATCH 64

static struct irq_work refill_work;

/* What mz_access_update() has decided. At boot mz_access_on may be set before. */
static bool counting;

/* === Internals ============================================================================ */

/*
 * Gives the index blank pages. These page allocations are not tracked. Return: whether the index
 * wants more.
 */
static bool refill(void)
{
	int level = mz_guard_enter();
	bool more;

	if (level < 0)
		return false;
	more = mz_index_refill(&mz.index, REFILL_BATCH,
			       GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	mz_guard_leave(level);
	return more;
}

/* One batch: if the index wants more, the next access that makes a record queues the work again. */
static void refill_in_irq(struct irq_work *work)
{
	refill();
}

static u32 reserve(void)
{
	long max_pages = READ_ONCE(mz.index.max_pages);

	return clamp(max_pages >> (mz.index.shard_bits + 3), 1L, (long)RESERVE_MAX);
}

/*
 * All stamps change first: while no events were seen, pages may have been cut into other objects.
 */
static void start_counting(void)
{
	/* Without lanes the accesses are dropped, and counted as such. */
	if (mz_lanes_start())
		pr_warn_once("memorizer: no memory to count accesses\n");
	WRITE_ONCE(mz.index.reserve, reserve());
	while (refill())
		cond_resched();
	mz_access_all_changed();
	if (mz_made_start())
		pr_warn_once("memorizer: stacks and modules are not followed\n");
	WRITE_ONCE(mz_access_ready, true);
	WRITE_ONCE(mz_access_on, true);
	mz_callbacks_switch(true);
}

static void stop_counting(void)
{
	mz_access_stop();
	mz_callbacks_switch(false);
	mz_made_stop();
	WRITE_ONCE(mz.index.reserve, 0);
	mutex_lock(&mz.dead.lock);
	mz_index_shrink(&mz.index);
	mutex_unlock(&mz.dead.lock);
}

/* === Public =============================================================================== */

/* Counting is wanted before there is anything to count in. */
void mz_access_early(void)
{
	mz_access_on = true;
	mz_callbacks_switch(true);
}

int mz_access_init(void)
{
	init_irq_work(&refill_work, refill_in_irq);
	mz_lanes_init();
	return mz_locate_init();
}

/* mz_access_update() begins or ends counting, as the mode and memorizer_log_access want it. */
void mz_access_update(void)
{
	bool on = mz.log_access && mz.mode != MZ_OFF && !mz.failed;

	lockdep_assert_held(&mz.control);
	if (on == counting) {
		WRITE_ONCE(mz_access_on, on);
		mz_access_forget_tasks();
		mz_callbacks_switch(on);
		return;
	}
	counting = on;
	if (on)
		start_counting();
	else
		stop_counting();
}

/* Any context. */
void mz_access_stop(void)
{
	WRITE_ONCE(mz_access_on, false);
	mz_access_forget_tasks();
}

/* The memorizer is entered in this context of this processor, with preemption off. */
void mz_access_enter(int level)
{
	if (level == MEMORIZER_IN_TASK)
		raw_cpu_write(mz_quick_task, NULL);
	raw_cpu_ptr(&mz_lanes[level])->interrupted = false;
}

/* Any context: the reserve of blank pages runs low. */
void mz_access_refill(void)
{
	irq_work_queue(&refill_work);
}

/*
 * Waits until nobody counts any more in records of objects that have ended. Then their counts are
 * final, and their memory may be released. The head of core.c explains the two grace periods.
 */
void mz_access_settle(void)
{
	if (!READ_ONCE(mz_access_ready))
		return;
	synchronize_rcu();
	synchronize_rcu();
}

void mz_access_show(struct seq_file *m)
{
	static const char *const names[] = {
		[MZ_TO_OBJECT] = "objects",
		[MZ_TO_STACK] = "stack",
		[MZ_TO_GLOBAL] = "global",
		[MZ_TO_PERCPU] = "percpu",
		[MZ_TO_MODULE] = "module",
		[MZ_TO_PAGE_TABLE] = "page_tables",
		[MZ_TO_SLAB] = "untracked_slab",
		[MZ_TO_PAGES] = "untracked_pages",
		[MZ_TO_VMALLOC] = "untracked_vmalloc",
		[MZ_TO_BOOT] = "boot_memory",
		[MZ_TO_OTHER] = "other",
		[MZ_BY_IDLE] = "idle",
		[MZ_BY_OWN] = "own",
		[MZ_LOST_NESTED] = "dropped_nested",
		[MZ_LOST_NMI] = "dropped_nmi",
		[MZ_LOST_FULL] = "dropped_full",
		[MZ_LOST_FAR] = "dropped_far",
		[MZ_LOST_CPU] = "dropped_cpu",
	};
	unsigned int i;

	static_assert(ARRAY_SIZE(names) == MZ_CLASSES);
	seq_printf(m, "accesses: %s\n", READ_ONCE(mz_access_on) ? "counted" : "off");
	for (i = 0; i < MZ_CLASSES; i++)
		seq_printf(m, "accesses_%s: %llu\n", names[i], mz_lanes_sum(i));
	seq_printf(m, "accesses_before_tables: %llu\n", mz_access_nr_early());
	seq_printf(m, "objects_made: %llu\n", mz_made_nr());
	seq_printf(m, "access_records: %lu\n", mz_index_nr_accesses(&mz.index));
	seq_printf(m, "access_record_bytes: %zu\n", sizeof(struct mz_access));
	seq_printf(m, "vmalloc_areas_lost: %lu\n", mz_locate_lost_areas());
	seq_printf(m, "page_objects_lost: %lu\n", mz_locate_lost_pages());
}
