/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The objects of an access map as a source of events: one for each allocation and each free, in the order
 * of time. So every analysis of captures can be run over a map.
 */
#ifndef KS_KMAP_SOURCE_H
#define KS_KMAP_SOURCE_H

#include "kmap/census.h"
#include "trace/source.h"

/*
 * Reads all of the map and holds its objects, since they must be sorted: the reader is not needed any
 * more. What events can't show is in info.map. @census adds the map up on the way; it and @opts may be NULL.
 */
int ks_kmap_source_new(struct ks_kmap_reader *reader, const struct ks_source_opts *opts,
		       struct ks_kmap_census *census, struct ks_source **ret_source,
		       struct ks_diag *diag);

/*
 * Whether a file that begins so is an access map, binary or text of any dialect: most of its lines are
 * those of a map. No line of a trace's log is.
 */
bool ks_kmap_probe(const void *head, size_t len);

/* Whether it is the second file of a CSV pair, which has no objects. */
bool ks_kmap_probe_accesses(const void *head, size_t len);

/* Opens the map in the input, which belongs to the source from now on, even on error. */
int ks_kmap_source_open(struct ks_input *input, const struct ks_source_opts *opts,
			struct ks_source **ret_source, struct ks_diag *diag);

#endif
