/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel services that the portable files use (index.c, index-access.c, buckets.c, pages.c,
 * chain.c, table.c, record.c, spans.c). The unit tests compile these files in user space, where
 * port-user.h replaces the services.
 */
#ifndef MEMORIZER_PORT_H
#define MEMORIZER_PORT_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

#ifdef CONFIG_MEMORIZER_ACCESS

#include <linux/irqflags.h>
#include <linux/percpu.h>

#define MZ_ACCESS
#define MZ_HAS_ACCESS 1

/*
 * Which contexts of this processor are inside the memorizer: a bit for each level, and one for
 * all levels while a lock is held. The functions that lock are instrumented, and their accesses
 * must not be counted under the lock.
 */
DECLARE_PER_CPU(unsigned int, mz_guard);
#define MZ_GUARD_LOCKED ((unsigned int)BIT(31))

/* The task whose accesses are counted in quick.h on this processor; NULL while none may be. */
DECLARE_PER_CPU(const struct task_struct *, mz_quick_task);

/* The functions that lock are instrumented, and many. What they are made of is inline, and not. */
#if defined(CONFIG_LOCKDEP) || defined(CONFIG_DEBUG_SPINLOCK)
#define mz_spin_lock(lock)   raw_spin_lock(lock)
#define mz_spin_unlock(lock) raw_spin_unlock(lock)
#else
#define mz_spin_lock(lock)   arch_spin_lock(&(lock)->raw_lock)
#define mz_spin_unlock(lock) arch_spin_unlock(&(lock)->raw_lock)
#endif

#define mz_lock(lock, flags)                            \
	do {                                            \
		local_irq_save(flags);                  \
		raw_cpu_write(mz_quick_task, NULL);     \
		this_cpu_or(mz_guard, MZ_GUARD_LOCKED); \
		barrier();                              \
		mz_spin_lock(lock);                     \
	} while (0)

#define mz_unlock(lock, flags)                            \
	do {                                              \
		mz_spin_unlock(lock);                     \
		barrier();                                \
		this_cpu_and(mz_guard, ~MZ_GUARD_LOCKED); \
		local_irq_restore(flags);                 \
	} while (0)

#else

#define MZ_HAS_ACCESS	       0
#define mz_lock(lock, flags)   raw_spin_lock_irqsave(lock, flags)
#define mz_unlock(lock, flags) raw_spin_unlock_irqrestore(lock, flags)

#endif /* CONFIG_MEMORIZER_ACCESS */

#else

#include "port-user.h"

#endif /* __KERNEL__ */

#endif /* MEMORIZER_PORT_H */
