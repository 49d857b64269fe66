/* SPDX-License-Identifier: LGPL-2.1-only */
/* Who allocated an object, by what slub_debug=U has the kernel note behind each one. */
#ifndef KS_HEAP_TRACKS_H
#define KS_HEAP_TRACKS_H

#include "heap/sites.h"
#include "heap/unreachable.h"

/* Adds the sites of those that have such a note. @kallsyms: names of functions; NULL = none, and no site is added. */
int ks_heap_sites_add_tracks(struct ks_heap_sites *sites, struct ks_kernel *kernel,
			     const struct ks_candidates_list *list, const char *kallsyms);

#endif
