/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the portable files (index.c, table.c, record.c) take from the kernel. In user space, where
 * the unit tests compile the same files, this header stands in for it.
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

#else

#include "port-user.h"

#endif /* __KERNEL__ */

#endif /* MEMORIZER_PORT_H */
