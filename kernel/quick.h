/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The quick way to count a load or store of a task: the instruction did the same before, and
 * nothing has changed. It is inline in the callbacks and calls nothing, so it may run where user
 * memory is accessible.
 *
 * It uses what the task lane of the processor has found out, and does not enter the lane: an
 * interrupt may come between any two of its instructions, the last accesses of which look like
 * those of the task, and may count there, too. So whatever it changes, it changes by one
 * instruction. mz_quick_task says whether it may be used. It is NULL while the lane is busy, while
 * the memorizer has been entered or has a lock, and after a report that the next access is to be
 * compared with.
 */
#ifndef MEMORIZER_QUICK_H
#define MEMORIZER_QUICK_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "access.h"
#include "lane.h"
#include "port.h"
#include "stamps.h"

/*
 * Of the task lane, where the callbacks find it without its address. Right while mz_quick_task is
 * @task.
 */
struct mz_quick {
	u64 keys[2];
	struct mz_recent *recents;
	unsigned long mask;
};

DECLARE_PER_CPU(struct mz_quick, mz_quick);

/* A task that can be preempted must not be while it uses a record. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_PREEMPTION)

#define MZ_HAS_QUICK 1

static __always_inline void mz_add_at_once(u64 *value, u64 by)
{
	asm volatile("addq %1, %0" : "+m"(*value) : "er"(by));
}

/* Modules of User Mode Linux may be so far from its text that authors are no longer distinct. */
static __always_inline bool mz_quick_knows(unsigned long ip)
{
	long distance = ip - mz_access_text_start();

	return !IS_ENABLED(CONFIG_UML) || distance == (s32)distance;
}

/* Return: whether the access was counted. The instruction decides its size. */
static __always_inline bool mz_count_quickly(unsigned long addr, size_t size, bool write,
					     unsigned long ip)
{
	struct mz_access *access;
	struct mz_recent *recent;
	u64 author, *count;

	if (raw_cpu_read(mz_quick_task) != current || !mz_quick_knows(ip) ||
	    preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))
		return false;
	author = raw_cpu_read(mz_quick.keys[write]) + ip;
	recent = raw_cpu_read(mz_quick.recents) + (ip & raw_cpu_read(mz_quick.mask));
	access = READ_ONCE(recent->access);
	count = READ_ONCE(recent->count);
	if (addr - READ_ONCE(recent->start) > READ_ONCE(recent->span) ||
	    READ_ONCE(recent->stamp) != mz_stamp_value(READ_ONCE(recent->base_stamp)) +
						mz_stamp_value(READ_ONCE(recent->page_stamp)))
		return false;
	barrier(); /* what an interrupt has put there meanwhile has another author */
	if (READ_ONCE(recent->author) != author || --recent->left < 0)
		return false;
	mz_add_at_once(&access->sums, mz_sums(1, size, 0));
	mz_add_at_once(count, 1);
	return true;
}

#else

#define MZ_HAS_QUICK 0

static __always_inline bool mz_count_quickly(unsigned long addr, size_t size, bool write,
					     unsigned long ip)
{
	return false;
}

#endif

#endif /* MEMORIZER_QUICK_H */
