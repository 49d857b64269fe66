/* SPDX-License-Identifier: GPL-2.0-only */
/* What an address of the kernel belongs to. */
#ifndef MEMORIZER_LOCATE_H
#define MEMORIZER_LOCATE_H

#include "../include/uapi/memorizer.h"
#include "index.h"

/* The kind of memory that an access is to, or the reason why no object has it. */
enum mz_class {
	MZ_TO_OBJECT, /* an object that an allocator was seen to hand out */
	MZ_TO_STACK,  /* from here on, an object that no allocator handed out: see made.c */
	MZ_TO_GLOBAL,
	MZ_TO_PERCPU,
	MZ_TO_MODULE,
	MZ_TO_PAGE_TABLE,
	MZ_TO_BOOT,
	MZ_TO_OTHER,
	MZ_TO_SLAB, /* from here on, no object */
	MZ_TO_PAGES,
	MZ_TO_VMALLOC,
	MZ_BY_IDLE,
	MZ_BY_OWN, /* by functions that the memorizer calls */
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
	enum mz_class class;	   /* of accesses, if no tracked object is there */
	/* The object that is made, if no tracked object is there and it has a kind. */
	enum memorizer_kind kind;
	unsigned long size;
	unsigned long ip; /* memorizer_record::alloc_ip; 0: the type */
};

/* What is noted of a page frame. */
#define MZ_FRAME_MADE  0x80 /* an object was made that starts on it */
#define MZ_FRAME_STACK 0x40 /* it is part of a task's stack */
#define MZ_FRAME_SLAB  0x20 /* the pages that it is part of are known to be a slab */

int mz_locate_init(void);
void mz_locate(unsigned long addr, struct mz_place *ret_place);
bool mz_locate_variable(unsigned long addr, struct mz_place *place);
bool mz_locate_in_module(unsigned long addr, struct mz_place *place);
struct mz_object *mz_locate_object(struct mz_place *place);
void mz_locate_pages(unsigned long addr, size_t bytes);
void mz_locate_add_area(unsigned long addr, size_t bytes);
size_t mz_locate_remove_area(unsigned long addr);
void mz_locate_remove_all_areas(void);
bool mz_locate_flag(unsigned long addr, u8 flag);
u8 mz_locate_take_flags(unsigned long addr);
void mz_locate_forget_flags(void);
unsigned long mz_locate_tracked_pages(unsigned long addr);
unsigned long mz_locate_lost_areas(void);
unsigned long mz_locate_lost_pages(void);

#endif /* MEMORIZER_LOCATE_H */
