/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernels that the memorizer is for. Only this file tests the version of the kernel. */
#ifndef MEMORIZER_COMPAT_H
#define MEMORIZER_COMPAT_H

#include <linux/fs.h>
#include <linux/splice.h>
#include <linux/version.h>

/* Since 6.1 the kmem tracepoints have the prototypes that the probes are written for. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "memorizer needs Linux 6.1 or later"
#endif

/* The same conditions as in Kconfig, for builds out of the kernel tree. */
#ifndef CONFIG_64BIT
#error "memorizer needs a 64-bit kernel"
#endif

/* The probes take pages where preemption is off, which a real-time kernel does not allow. */
#ifdef CONFIG_PREEMPT_RT
#error "memorizer does not work with PREEMPT_RT"
#endif

/* kernel.h had it before, and included it for a while. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define copy_splice_read generic_file_splice_read
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define text_poke_bp smp_text_poke_single
#endif

#endif /* MEMORIZER_COMPAT_H */
