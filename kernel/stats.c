// SPDX-License-Identifier: GPL-2.0-only
/* show_stats: the numbers that say how far the recorded objects can be trusted. */
#include <linux/seq_file.h>

#include "access.h"
#include "calls.h"
#include "events.h"
#include "files.h"
#include "memorizer.h"

/* === Data ================================================================================= */

DEFINE_PER_CPU(struct mz_counters, mz_counters);

static const char *const counter_names[] = {
	[MZ_ALLOCS] = "allocs",
	[MZ_FREES] = "frees",
	[MZ_FREES_IMPLIED] = "frees_implied",
	[MZ_FREES_UNKNOWN] = "frees_unknown",
	[MZ_FREES_NULL] = "frees_null",
	[MZ_ALLOCS_FAILED] = "allocs_failed",
	[MZ_DROPPED_FULL] = "dropped_full",
	[MZ_DROPPED_RECURSION] = "dropped_recursion",
	[MZ_DROPPED_NMI] = "dropped_nmi",
	[MZ_NAMELESS_SITES] = "nameless_sites",
	[MZ_NAMELESS_COMMS] = "nameless_comms",
	[MZ_MARKS_LOST] = "marks_lost",
	[MZ_STREAMED] = "streamed",
	[MZ_CLEARED] = "cleared",
	[MZ_SNAPSHOTS_FAILED] = "snapshots_failed",
};
static_assert(ARRAY_SIZE(counter_names) == MZ_COUNTERS);

/* === Internals ============================================================================ */

static void show_memory(struct seq_file *m)
{
	const unsigned long page_kb = PAGE_SIZE / 1024;
	size_t fixed = mz_table_bytes(&mz.names.sites) + mz_table_bytes(&mz.names.comms) +
		       mz_caller_bytes() + (sizeof(struct mz_shard) << mz.index.shard_bits);

	seq_printf(m, "memory_kb: %lu\n", atomic_long_read(&mz.index.nr_pages) * page_kb);
	seq_printf(m, "memory_tables_kb: %lu\n", READ_ONCE(mz.index.nr_aside) * page_kb);
	seq_printf(m, "memory_snapshots_kb: %lu\n", mz_snapshot_pages() * page_kb);
	seq_printf(m, "memory_max_kb: %lu\n", mz.max_pages * page_kb);
	seq_printf(m, "memory_fixed_kb: %zu\n", DIV_ROUND_UP(fixed, 1024));
}

/* === Public =============================================================================== */

u64 mz_counter_sum(enum mz_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(mz_counters, cpu).value[counter]);
	return sum;
}

int mz_stats_show(struct seq_file *m, void *unused)
{
	const char *failed = READ_ONCE(mz.failed);
	unsigned long waiting;
	unsigned int i;

	mutex_lock(&mz.dead.lock);
	waiting = mz.dead.chain.nr + mz_index_nr_freed(&mz.index);
	mutex_unlock(&mz.dead.lock);

	seq_printf(m, "state: %s%s\n", failed ? "failed: " : "ok", failed ?: "");
	seq_printf(m, "mode: %d\n", READ_ONCE(mz.mode));
	seq_printf(m, "live: %lu\n", mz_index_nr_live(&mz.index));
	seq_printf(m, "freed_waiting: %lu\n", waiting);
	for (i = 0; i < MZ_COUNTERS; i++)
		seq_printf(m, "%s: %llu\n", counter_names[i], mz_counter_sum(i));
	show_memory(m);
	seq_printf(m, "sites: %u of %u\n", READ_ONCE(mz.names.sites.nr), mz.names.sites.capacity);
	seq_printf(m, "comms: %u of %u\n", READ_ONCE(mz.names.comms.nr), mz.names.comms.capacity);
	seq_printf(m, "anchor: %s %016llx\n", MZ_ANCHOR_NAME, mz_anchor());
	seq_printf(m, "pages_before_start_kb: %lu\n", mz.boot_pages * (PAGE_SIZE / 1024));
	seq_printf(m, "slab_before_start_kb: %lu\n", mz.boot_slab_pages * (PAGE_SIZE / 1024));
	mz_access_show(m);
	mz_calls_show(m);
	mz_events_show(m);
	return 0;
}
