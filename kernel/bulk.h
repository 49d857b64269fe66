/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocations and frees in bulk, which raise no tracepoint. */
#ifndef MEMORIZER_BULK_H
#define MEMORIZER_BULK_H

#include <linux/seq_file.h>
#include <linux/slab.h>

#include "events.h"

/* Since there is allocation profiling, kmem_cache_alloc_bulk() is a macro around the function. */
#ifdef kmem_cache_alloc_bulk
#define MZ_ALLOC_BULK kmem_cache_alloc_bulk_noprof
#else
#define MZ_ALLOC_BULK kmem_cache_alloc_bulk
#endif

#if defined(CONFIG_MEMORIZER_ACCESS)

/*
 * The patched kernel reports them by itself: see hooks.c, whose functions are called instead of
 * these of SLUB (see Makefile.access).
 */
extern typeof(MZ_ALLOC_BULK) memorizer_slub_alloc_bulk;
extern typeof(kmem_cache_free_bulk) memorizer_slub_free_bulk;
bool memorizer_slub_kfree_rcu(struct kmem_cache *cache, void *object, unsigned int flags);

static inline void mz_bulk_attach(void)
{
}

static inline void mz_bulk_detach(void)
{
}

static inline void mz_bulk_show(struct seq_file *m)
{
	const char *state = mz_events_attached() ? "attached" : "detached";

	seq_printf(m, "event bulk_alloc: %s\nevent bulk_free: %s\n", state, state);
}

/* The kernel must be able to probe functions and to give access to their arguments. */
#elif defined(CONFIG_KRETPROBES) && defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)

void mz_bulk_attach(void);
void mz_bulk_detach(void);
void mz_bulk_show(struct seq_file *m);

#else

static inline void mz_bulk_attach(void)
{
}

static inline void mz_bulk_detach(void)
{
}

static inline void mz_bulk_show(struct seq_file *m)
{
	seq_puts(m, "event bulk_alloc: not available\nevent bulk_free: not available\n");
}

#endif

#endif /* MEMORIZER_BULK_H */
