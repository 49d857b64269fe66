/* SPDX-License-Identifier: GPL-2.0-only */
/* What an address of the kernel belongs to. */
#ifndef MEMORIZER_LOCATE_H
#define MEMORIZER_LOCATE_H

#include "index.h"

/* The kind of memory that an access is to, or the reason why it was not counted. */
enum mz_class {
	MZ_TO_OBJECT, /* a tracked object */
	MZ_TO_STACK,
	MZ_TO_GLOBAL,
	MZ_TO_MODULE,
	MZ_TO_SLAB, /* from here on, not part of a tracked object */
	MZ_TO_PAGES,
	MZ_TO_VMALLOC,
	MZ_TO_BOOT,
	MZ_TO_OTHER,
	MZ_BY_IDLE,
	MZ_LOST_NESTED,
	MZ_LOST_NMI,
	MZ_LOST_FULL,
	MZ_LOST_FAR,
	MZ_LOST_CPU,
	MZ_CLASSES
};

/* Where an address is. All of it holds for the addresses from @start to @end, within one page. */
struct mz_place {
	unsigned long start, end;
	unsigned long base;	   /* where an object that is here starts */
	unsigned long page_object; /* where the tracked pages below it start; 0: not tracked */
	enum mz_class class;	   /* of accesses, if there is no object */
};

int mz_locate_init(void);
void mz_locate(unsigned long addr, struct mz_place *ret_place);
struct mz_object *mz_locate_object(const struct mz_place *place);
void mz_locate_pages(unsigned long addr, size_t bytes);
void mz_locate_add_area(unsigned long addr, size_t bytes);
size_t mz_locate_remove_area(unsigned long addr);
void mz_locate_remove_all_areas(void);
unsigned long mz_locate_lost_areas(void);
unsigned long mz_locate_lost_pages(void);

#endif /* MEMORIZER_LOCATE_H */
