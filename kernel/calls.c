// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting of calls and returns: by where a function was called from, and the function.
 *
 * Each processor has a table of its own. An entry is taken by one compare-and-exchange and counted
 * in by additions that no interrupt can divide, so the table needs no lock, and interrupts may come
 * at any point. Nothing is ever removed from a table but by mz_calls_clear(), on the processor
 * itself and with interrupts off.
 */
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/local64.h>
#include <asm/sections.h>

#include "calls.h"
#include "memorizer.h"

/* === Data ================================================================================= */

static unsigned int calls_max = 65536;
module_param(calls_max, uint, 0444);
MODULE_PARM_DESC(calls_max, "pairs of call site and function that each processor has room for");

#define CALLS_LEAST 64UL
#define CALLS_MOST  BIT(22)

/* Entries that are looked at for a pair; where all are others', the pair has no room. */
#define PROBES 64

/* Entries that a reader looks at before other tasks may run. */
#define BATCH 4096

struct entry {
	u64 key; /* call site and function, by their distances from the kernel's text; 0: free */
	local64_t calls, returns;
};

/* Whether calls of @task are wanted, as of this value of mz_wants_changes. */
struct wish {
	const struct task_struct *task;
	u32 changes;
	bool wanted;
	bool asking;
};

enum fate {
	CALL_OWN,	   /* of the memorizer itself */
	CALL_DROPPED_FULL, /* the table of the processor has no room for the pair */
	CALL_DROPPED_FAR,  /* code too far from the kernel's text */
	CALL_DROPPED_NMI,
	CALL_DROPPED_CPU, /* no memory for the table of the processor */
	CALL_FATES
};

static const char *const fate_names[] = {
	[CALL_OWN] = "own",
	[CALL_DROPPED_FULL] = "dropped_full",
	[CALL_DROPPED_FAR] = "dropped_far",
	[CALL_DROPPED_NMI] = "dropped_nmi",
	[CALL_DROPPED_CPU] = "dropped_cpu",
};
static_assert(ARRAY_SIZE(fate_names) == CALL_FATES);

struct callers {
	struct entry *entries; /* NULL: the processor has no table */
	struct wish wishes[MEMORIZER_IN_HARDIRQ + 1];
	local64_t fates[CALL_FATES];
};

static DEFINE_PER_CPU(struct callers, callers);

static bool calls_on __read_mostly;
static u8 table_bits;

/* === Internals: counting ================================================================== */

static size_t table_size(void)
{
	return (size_t)1 << table_bits;
}

/* Never 0, as no call returns to the first byte of the kernel's text. */
static u64 key_of(unsigned long site, unsigned long function)
{
	return (u64)(u32)(site - (unsigned long)_stext) << 32 |
	       (u32)(function - (unsigned long)_stext);
}

static unsigned long site_of(u64 key)
{
	return (unsigned long)_stext + (s64)(s32)(key >> 32);
}

static unsigned long function_of(u64 key)
{
	return (unsigned long)_stext + (s64)(s32)key;
}

static bool is_far(unsigned long addr)
{
	long distance = addr - (unsigned long)_stext;

	return distance != (s32)distance;
}

static struct entry *find_or_take(struct entry *entries, u64 key)
{
	unsigned int slot = hash_64(key, table_bits), i;

	for (i = 0; i < PROBES; i++) {
		struct entry *entry = &entries[(slot + i) & (table_size() - 1)];
		u64 found = READ_ONCE(entry->key);

		if (found == key)
			return entry;
		/* An interrupt may take it first, for the same pair or for another. */
		if (!found && (try_cmpxchg(&entry->key, &found, key) || found == key))
			return entry;
	}
	return NULL;
}

/* An interrupt at any point finds either the old wish as a whole, or that it has to ask. */
static bool ask(struct wish *wish, int level)
{
	u32 changes = (u32)atomic_read(&mz_wants_changes);
	bool wanted;

	wish->asking = true;
	wish->task = NULL;
	barrier();
	smp_rmb(); /* pairs with atomic_inc_return() in wants_changed() */
	wanted = mz_wants(level);
	wish->wanted = wanted;
	wish->changes = changes;
	barrier();
	wish->task = current;
	wish->asking = false;
	return wanted;
}

static bool knows(const struct wish *wish)
{
	return wish->task == current && wish->changes == (u32)atomic_read(&mz_wants_changes);
}

/* With preemption off. What is not to be counted at all has CALL_FATES. */
static enum fate count_here(struct callers *here, unsigned long function, unsigned long site,
			    bool is_return)
{
	int level = interrupt_context_level();
	struct entry *entry;
	struct wish *wish;

	if (unlikely(level > MEMORIZER_IN_HARDIRQ))
		return CALL_DROPPED_NMI;
	wish = &here->wishes[level];
	if (unlikely(raw_cpu_read(mz_guard) & (MZ_GUARD_LOCKED | BIT(level)) || wish->asking))
		return CALL_OWN;
	if (!(knows(wish) ? wish->wanted : ask(wish, level)))
		return CALL_FATES;
	if (unlikely(!here->entries))
		return CALL_DROPPED_CPU;
	if (unlikely(is_far(function) || is_far(site)))
		return CALL_DROPPED_FAR;
	entry = find_or_take(here->entries, key_of(site, function));
	if (unlikely(!entry))
		return CALL_DROPPED_FULL;
	local64_inc(is_return ? &entry->returns : &entry->calls);
	return CALL_FATES;
}

static noinline void count(unsigned long function, unsigned long site, bool is_return)
{
	struct callers *here;
	enum fate fate;

	preempt_disable_notrace();
	here = raw_cpu_ptr(&callers);
	fate = count_here(here, function, site, is_return);
	if (unlikely(fate < CALL_FATES))
		local64_inc(&here->fates[fate]);
	preempt_enable_notrace();
}

/* === Internals: tables ==================================================================== */

static bool make_table(int cpu)
{
	struct callers *there = per_cpu_ptr(&callers, cpu);
	long pages = DIV_ROUND_UP(table_size() * sizeof(struct entry), PAGE_SIZE);
	struct entry *entries = NULL;

	if (there->entries)
		return true;
	if (!mz_index_set_aside(&mz.index, pages))
		return false;
	WRITE_ONCE(mz.own_task, current);
	entries = vzalloc_node(table_size() * sizeof(*entries), cpu_to_node(cpu));
	WRITE_ONCE(mz.own_task, NULL);
	if (!entries)
		mz_index_put_back(&mz.index, pages);
	smp_store_release(&there->entries, entries); /* zeroed, before it is seen */
	return entries;
}

/* All tables together may take a quarter of the budget, or they are smaller than was asked for. */
static u8 choose_bits(void)
{
	long share = mz.index.max_pages / 4 / num_present_cpus();
	u8 bits = order_base_2(clamp_t(unsigned long, calls_max, CALLS_LEAST, CALLS_MOST));

	while ((sizeof(struct entry) << bits) >> PAGE_SHIFT > share &&
	       bits > order_base_2(CALLS_LEAST))
		bits--;
	return bits;
}

static void make_tables(void)
{
	bool made = true;
	int cpu;

	if (!table_bits)
		table_bits = choose_bits();
	for_each_present_cpu(cpu) made &= make_table(cpu);
	if (!made)
		pr_warn_once("memorizer: no memory to count calls\n");
}

static void clear_table(struct callers *there)
{
	unsigned long flags;

	local_irq_save(flags);
	if (there->entries)
		memset(there->entries, 0, table_size() * sizeof(*there->entries));
	local_irq_restore(flags);
}

static void clear_here(struct work_struct *work)
{
	clear_table(this_cpu_ptr(&callers));
}

static const struct entry *entries_of(int cpu)
{
	return smp_load_acquire(&per_cpu(callers, cpu).entries); /* made by make_table() */
}

static u64 sum_of(enum fate fate)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += local64_read(&per_cpu_ptr(&callers, cpu)->fates[fate]);
	return sum;
}

static void gather(struct memorizer_call *slots, size_t mask, const struct entry *entry, u64 key)
{
	size_t slot = hash_64(key, 32) & mask;

	while (slots[slot].site &&
	       (slots[slot].site != site_of(key) || slots[slot].function != function_of(key)))
		slot = (slot + 1) & mask;
	slots[slot].site = site_of(key);
	slots[slot].function = function_of(key);
	slots[slot].calls += local64_read(&entry->calls);
	slots[slot].returns += local64_read(&entry->returns);
}

/* === Interface to the compiler ============================================================ */

void __cyg_profile_func_enter(void *function, void *site)
{
	if (unlikely(READ_ONCE(calls_on)))
		count((unsigned long)function, (unsigned long)site, false);
}
EXPORT_SYMBOL(__cyg_profile_func_enter);

void __cyg_profile_func_exit(void *function, void *site)
{
	if (unlikely(READ_ONCE(calls_on)))
		count((unsigned long)function, (unsigned long)site, true);
}
EXPORT_SYMBOL(__cyg_profile_func_exit);

/* === Public =============================================================================== */

/* Begins or ends counting, as the mode and log_calls want it. */
void mz_calls_update(void)
{
	bool on = mz.log_calls && mz.mode != MZ_OFF && !mz.failed;

	lockdep_assert_held(&mz.control);
	if (on)
		make_tables();
	WRITE_ONCE(calls_on, on);
}

/* Any context. */
void mz_calls_stop(void)
{
	WRITE_ONCE(calls_on, false);
}

/*
 * On each processor, since only there nobody is in the midst of counting: this is a task, and
 * interrupts are off. Nobody counts on a processor that is offline, and none comes online
 * meanwhile.
 */
int mz_calls_clear(void)
{
	int cpu, err;

	mutex_lock(&mz.control);
	err = schedule_on_each_cpu(clear_here);
	cpus_read_lock();
	for_each_possible_cpu(cpu) {
		if (!cpu_online(cpu))
			clear_table(per_cpu_ptr(&callers, cpu));
	}
	cpus_read_unlock();
	mutex_unlock(&mz.control);
	return err;
}

/* At least the number of pairs that all tables have. */
size_t mz_calls_most(void)
{
	size_t nr = 0, i;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct entry *entries = entries_of(cpu);

		for (i = 0; entries && i < table_size(); i++) {
			nr += READ_ONCE(entries[i].key) != 0;
			if (i % BATCH == 0)
				cond_resched();
		}
	}
	return nr;
}

/**
 * mz_calls_gather() - adds up the tables of all processors
 * @slots: zeroed; a table by hash
 * @mask: its size less one; more than two times mz_calls_most(), to be sure that it does not fill
 *
 * Pairs that would fill more than half are left for the next time: they are newer than the table.
 */
void mz_calls_gather(struct memorizer_call *slots, size_t mask)
{
	size_t nr = 0, i;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct entry *entries = entries_of(cpu);

		for (i = 0; entries && i < table_size(); i++) {
			u64 key = READ_ONCE(entries[i].key);

			if (key && nr <= mask / 2) {
				gather(slots, mask, &entries[i], key);
				nr++;
			}
			if (i % BATCH == 0)
				cond_resched();
		}
	}
}

void mz_calls_show(struct seq_file *m)
{
	unsigned int i;

	seq_printf(m, "calls: %s\n", READ_ONCE(calls_on) ? "counted" : "off");
	seq_printf(m, "call_pairs: %zu\n", mz_calls_most());
	for (i = 0; i < CALL_FATES; i++)
		seq_printf(m, "calls_%s: %llu\n", fate_names[i], sum_of(i));
}
