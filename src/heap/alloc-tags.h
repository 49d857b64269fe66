/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which code allocated an object, where the kernel notes it beside each (CONFIG_MEM_ALLOC_PROFILING, since 6.10). */
#ifndef KS_HEAP_ALLOC_TAGS_H
#define KS_HEAP_ALLOC_TAGS_H

#include "heap/sites.h"
#include "heap/typing.h"
#include "heap/unreachable.h"

/* Objects of no known type become those "of fs/pipe.c:792 alloc_pipe_info()". */
int ks_alloc_tags_type(struct ks_kernel *kernel, const struct ks_census *census,
		       const struct ks_slots *slots, struct ks_typing *typing,
		       struct ks_diag *diag);

/* The sites of these objects. -ENOMEM, or 0. */
int ks_heap_sites_add_tags(struct ks_heap_sites *sites, struct ks_kernel *kernel,
			   const struct ks_candidates_list *list);

#endif
