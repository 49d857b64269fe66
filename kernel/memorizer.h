/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of the memorizer, and what turns events into objects (core.c). */
#ifndef MEMORIZER_H
#define MEMORIZER_H

#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>
#include <linux/trace_clock.h>

#include "dead.h"
#include "mode.h"
#include "record.h"
#include "stats.h"

struct kmem_cache;
struct task_struct;

/* Which lock guards what is said at the head of core.c. */
struct memorizer {
	struct mz_index index;
	struct mz_names names;
	struct mz_dead dead;
	u32 implied_site;
	long max_pages; /* bound of all memory that grows: see memory_bounds() in core.c */
	long max_snapshot_pages;
	struct mutex control; /* serialises changes of the mode and of the probes */
	enum mz_mode mode;
	int mode_pid;	  /* the process that the mode was set for, in the writer's numbers */
	bool mode_is_pid; /* the number written was a pid, not 2 or 3 */
	bool print_live;
	bool log_access;
	bool log_calls;
	/* The task that is in prepare_cpu() of lane.c: it may sleep, so mz_guard can't be used. */
	const struct task_struct *own_task;
	/* In use before the first object could be tracked; 0 in a module. */
	unsigned long boot_pages, boot_slab_pages;
	const char *failed;	 /* why the memorizer has switched itself off, or NULL */
	struct irq_work failure; /* writes that to the kernel log */
};

extern struct memorizer mz;

/*
 * What ftrace calls its local clock: it works in all contexts, and is cheap. User Mode Linux has
 * only ticks there.
 */
static inline u64 mz_now(void)
{
	return IS_ENABLED(CONFIG_UML) ? ktime_get_mono_fast_ns() : trace_clock_local();
}

/* The clock and jiffies drift apart in the long run, so each reader takes a new pair. */
static inline struct mz_clock mz_clock_sample(void)
{
	return (struct mz_clock){
		.base_ns = mz_now(),
		.base_jiffies = get_jiffies_64(),
		.tick_ns = TICK_NSEC,
	};
}

/* One allocation as a tracepoint reports it. */
struct mz_alloc {
	enum memorizer_kind kind;
	unsigned long ip;
	unsigned long addr;
	size_t bytes_req;
	size_t bytes_alloc;
	struct kmem_cache *cache; /* of MEMORIZER_CACHE: the cache has the sizes */
	gfp_t gfp;
	int node;
};

void mz_alloc(struct mz_alloc *alloc);
void mz_free(enum memorizer_kind kind, unsigned long ip, unsigned long addr, size_t bytes);
int mz_guard_enter(void);
void mz_guard_leave(int level);
void mz_fail(const char *why);

DECLARE_PER_CPU(unsigned int, mz_guard);

#endif /* MEMORIZER_H */
