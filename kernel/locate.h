/* SPDX-License-Identifier: GPL-2.0-only */
/* What an address of the kernel belongs to. */
#ifndef MEMORIZER_LOCATE_H
#define MEMORIZER_LOCATE_H

#include "memorizer.h"

/* Where an address is. What holds for it holds from @start to @end, which are on one page. */
struct mz_place {
	unsigned long start, end;
	unsigned long base;	   /* where the object starts that would be here */
	unsigned long page_object; /* likewise, of the pages below it; 0: there is none */
	enum mz_counter class;	   /* of accesses, if there is no object */
};

int mz_locate_init(void);
void mz_locate(unsigned long addr, struct mz_place *ret_place);
struct mz_object *mz_locate_object(const struct mz_place *place);
void mz_locate_pages(unsigned long addr, size_t bytes);
void mz_locate_add_area(unsigned long addr, size_t bytes);
size_t mz_locate_remove_area(unsigned long addr);

#endif /* MEMORIZER_LOCATE_H */
