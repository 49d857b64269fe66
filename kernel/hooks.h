/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that the patched kernel calls; the calls of the compiler are in callbacks.c. */
#ifndef MEMORIZER_HOOKS_H
#define MEMORIZER_HOOKS_H

#include <linux/fs.h>
#include <linux/types.h>

#ifdef CONFIG_MEMORIZER_ACCESS
void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller, gfp_t gfp,
		       int node);
void memorizer_vfree(const void *addr, unsigned long caller);

/* A process' file in /proc. */
extern const struct file_operations memorizer_proc_operations;
#else
static inline void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller,
				     gfp_t gfp, int node)
{
}

static inline void memorizer_vfree(const void *addr, unsigned long caller)
{
}
#endif

#endif /* MEMORIZER_HOOKS_H */
