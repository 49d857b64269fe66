// SPDX-License-Identifier: GPL-2.0-only
/* What the patched kernel calls by itself: vmalloc areas that come and go. */
#include <linux/mm.h>

#include "events.h"
#include "hooks.h"
#include "memorizer.h"

/* === Public =============================================================================== */

void memorizer_vmalloc(const void *addr, unsigned long size, const void *caller, gfp_t gfp,
		       int node)
{
	if (!mz_events_attached())
		return;
	mz_alloc(&(struct mz_alloc){
		.kind = MEMORIZER_VMALLOC,
		.ip = (unsigned long)caller,
		.addr = (unsigned long)addr,
		.bytes_req = size,
		.bytes_alloc = PAGE_ALIGN(size),
		.gfp = gfp,
		.node = node,
	});
}

void memorizer_vfree(const void *addr, unsigned long caller)
{
	if (mz_events_attached())
		mz_free(MEMORIZER_VMALLOC, caller, (unsigned long)addr, 0);
}
