/* SPDX-License-Identifier: GPL-2.0-only */
/* The log of single slab events, kmemtrace/. */
#ifndef MEMORIZER_KMEMTRACE_H
#define MEMORIZER_KMEMTRACE_H

#include "memorizer.h"

int kmemtrace_init(void);
void kmemtrace_exit(void);
bool kmemtrace_is_on(void);
void kmemtrace_log_alloc(const struct mz_alloc *alloc);
void kmemtrace_log_free(enum memorizer_kind kind, unsigned long ip, unsigned long addr);

#endif /* MEMORIZER_KMEMTRACE_H */
