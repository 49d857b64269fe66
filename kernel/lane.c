// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of the lanes. A processor gets its lanes when counting is first switched on, or when
 * it comes online after that, and keeps them. They come out of the budget of the index. A
 * processor that finds no memory for its lanes stays online, and its accesses are dropped and
 * counted.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "lane.h"
#include "memorizer.h"
#include "quick.h"

/* === Data ================================================================================= */

DEFINE_PER_CPU(struct mz_lane, mz_lanes[MEMORIZER_IN_HARDIRQ + 1]);
DEFINE_PER_CPU(const struct task_struct *, mz_quick_task);
DEFINE_PER_CPU(struct mz_quick, mz_quick);

/* log2 of the slots. Tasks touch more memory than interrupts do. */
#define TASK_RECENT_BITS 13
#define TASK_PLACE_BITS	 13
#define TASK_RECORD_BITS 14
#define IRQ_RECENT_BITS	 10
#define IRQ_PLACE_BITS	 10
#define IRQ_RECORD_BITS	 11

/* With a small budget the caches are halved up to this often. */
#define SHRINK_MAX 6

/* All lanes together may take this fraction of the budget, a quarter, before they shrink. */
#define BUDGET_SHARE 4

static unsigned int shrink;
static bool started;

/* === Internals ============================================================================ */

static u8 recent_bits(int level)
{
	return (level == MEMORIZER_IN_TASK ? TASK_RECENT_BITS : IRQ_RECENT_BITS) - shrink;
}

static u8 place_bits(int level)
{
	return (level == MEMORIZER_IN_TASK ? TASK_PLACE_BITS : IRQ_PLACE_BITS) - shrink;
}

static u8 record_bits(int level)
{
	return (level == MEMORIZER_IN_TASK ? TASK_RECORD_BITS : IRQ_RECORD_BITS) - shrink;
}

static long pages_for(size_t bytes)
{
	return DIV_ROUND_UP(bytes, PAGE_SIZE);
}

/* Pages of all lanes of one processor. */
static long lanes_pages(void)
{
	long nr = 0;
	int level;

	for (level = 0; level <= MEMORIZER_IN_HARDIRQ; level++) {
		nr += pages_for(sizeof(struct mz_recent) << recent_bits(level));
		nr += pages_for(sizeof(struct mz_where) << place_bits(level));
		nr += pages_for(sizeof(struct mz_record_slot) << record_bits(level));
	}
	return nr;
}

static void choose_sizes(void)
{
	long share = mz.index.max_pages / BUDGET_SHARE;

	for (shrink = 0; shrink < SHRINK_MAX; shrink++) {
		if (lanes_pages() * num_present_cpus() <= share)
			break;
	}
}

static void free_lane(struct mz_lane *lane)
{
	vfree(lane->recents);
	vfree(lane->places);
	vfree(lane->records);
	lane->recents = NULL;
	lane->places = NULL;
	lane->records = NULL;
}

static bool make_lane(struct mz_lane *lane, int level, int node)
{
	lane->level = level;
	lane->recent_bits = recent_bits(level);
	lane->place_bits = place_bits(level);
	lane->record_bits = record_bits(level);
	lane->places = vzalloc_node(sizeof(*lane->places) << lane->place_bits, node);
	lane->records = vzalloc_node(sizeof(*lane->records) << lane->record_bits, node);
	lane->recents = vzalloc_node(sizeof(*lane->recents) << lane->recent_bits, node);
	return lane->places && lane->records && lane->recents;
}

/* Either all lanes of a processor or none. Memory for them has been set aside. */
static bool make_lanes(int cpu)
{
	bool made = true;
	int level;

	for (level = 0; level <= MEMORIZER_IN_HARDIRQ && made; level++)
		made = make_lane(per_cpu_ptr(&mz_lanes[level], cpu), level, cpu_to_node(cpu));
	for (level = 0; level <= MEMORIZER_IN_HARDIRQ && !made; level++)
		free_lane(per_cpu_ptr(&mz_lanes[level], cpu));
	return made;
}

static void set_busy(int cpu, bool busy)
{
	int level;

	for (level = 0; level <= MEMORIZER_IN_HARDIRQ; level++)
		WRITE_ONCE(per_cpu_ptr(&mz_lanes[level], cpu)->busy, busy);
}

/*
 * On the processor of the lanes: it may be counting drops in them, and sees its own stores in
 * order. Nobody else has set "busy" meanwhile: lanes without caches are never entered.
 */
static void open_here(void *unused)
{
	set_busy(smp_processor_id(), false);
}

/*
 * Never fails: a processor must come online whether its accesses can be counted or not. The core of
 * CPU hotplug serialises the calls.
 */
static int prepare_cpu(unsigned int cpu)
{
	long nr = lanes_pages();
	bool made;

	if (per_cpu(mz_lanes[MEMORIZER_IN_TASK], cpu).recents || !mz_index_set_aside(&mz.index, nr))
		return 0;
	WRITE_ONCE(mz.own_task, current);
	made = make_lanes(cpu);
	WRITE_ONCE(mz.own_task, NULL);
	if (!made)
		mz_index_put_back(&mz.index, nr);
	else if (cpu_online(cpu))
		smp_call_function_single(cpu, open_here, NULL, 1);
	else
		set_busy(cpu, false);
	return 0;
}

/* === Public =============================================================================== */

/* No lane has caches yet. */
void mz_lanes_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		set_busy(cpu, true);
}

/* Gives lanes to the processors that are online, and later to those that come online. */
int mz_lanes_start(void)
{
	int err;

	if (started)
		return 0;
	choose_sizes();
	err = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "mm/memorizer:prepare", prepare_cpu, NULL);
	if (err < 0)
		return err;
	started = true;
	return 0;
}

u64 mz_lanes_sum(enum mz_class class)
{
	u64 sum = 0;
	int cpu, level;

	for_each_possible_cpu(cpu) {
		for (level = 0; level <= MEMORIZER_IN_HARDIRQ; level++)
			sum += READ_ONCE(per_cpu_ptr(&mz_lanes[level], cpu)->counts[class]);
	}
	return sum;
}
