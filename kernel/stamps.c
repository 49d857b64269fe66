// SPDX-License-Identifier: GPL-2.0-only
/* Changes the stamps of memory in which objects start or end, and notes where the objects are. */
#include <linux/kernel.h>
#include <linux/mm.h>

#include "access.h"
#include "locate.h"
#include "made.h"
#include "stamps.h"

/* === Data ================================================================================= */

atomic_t mz_stamps[BIT(MZ_STAMP_BITS)];

/* === Internals ============================================================================ */

static void stamp_change(u16 stamp)
{
	/* A full barrier, as it returns a value: what has changed comes before it. */
	atomic_inc_return(&mz_stamps[stamp]);
}

static void change_pages(unsigned long addr, size_t bytes)
{
	size_t done;

	if (bytes >> PAGE_SHIFT >= ARRAY_SIZE(mz_stamps)) {
		mz_access_all_changed();
		return;
	}
	for (done = 0; done < bytes; done += PAGE_SIZE)
		stamp_change(mz_stamp_of(addr + done));
}

/* === Public =============================================================================== */

/* An object starts or ends. */
void mz_access_object_changed(unsigned long addr)
{
	stamp_change(mz_stamp_of(addr));
}

void mz_access_all_changed(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mz_stamps); i++)
		stamp_change(i);
}

/* Pages are allocated or freed, tracked or not: they may be cut into other objects next. */
void mz_access_pages_changed(unsigned long addr, size_t bytes, bool tracked)
{
	mz_made_end_pages(addr, bytes);
	if (tracked)
		mz_locate_pages(addr, bytes);
	change_pages(addr, bytes);
}

/* An area of vmalloc() starts, or ends with the object in it. */
void mz_access_area_changed(unsigned long addr, size_t bytes, bool tracked)
{
	mz_made_end_area(addr);
	change_pages(addr, mz_locate_remove_area(addr));
	if (tracked) {
		mz_locate_add_area(addr, bytes);
		change_pages(addr, bytes);
	}
}

/* Called before all objects are dropped, so that objects that start meanwhile keep their areas. */
void mz_access_forget_areas(void)
{
	mz_locate_remove_all_areas();
}
