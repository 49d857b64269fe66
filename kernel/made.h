/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects that no allocator handed out: stacks, variables, page tables, memory from boot. */
#ifndef MEMORIZER_MADE_H
#define MEMORIZER_MADE_H

#include "locate.h"

struct mz_object *mz_made_object(const struct mz_place *place);
void mz_made_check(const struct mz_object *obj);
void mz_made_end_pages(unsigned long addr, size_t bytes);
void mz_made_end_area(unsigned long addr);

int mz_made_start(void);
void mz_made_stop(void);
u64 mz_made_nr(void);

#endif /* MEMORIZER_MADE_H */
