/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The "accesses" half of a CSV pair. It refers to objects by their alloc_index, in any order, so it
 * is held in memory: the one form of map whose cost grows with accesses.
 */
#ifndef KS_KMAP_CSV_PAIR_H
#define KS_KMAP_CSV_PAIR_H

#include "kmap/reader.h"

struct ks_kmap_csv_pair;

/* Reads all of @input, which stays the caller's. */
int ks_kmap_csv_pair_new(struct ks_input *input, struct ks_kmap_quality *quality,
			 struct ks_kmap_csv_pair **ret_pair, struct ks_diag *diag);
void ks_kmap_csv_pair_free(struct ks_kmap_csv_pair *pair);

/* Gives the object its accesses. */
void ks_kmap_csv_pair_take(struct ks_kmap_csv_pair *pair, struct ks_kmap_object *object,
			   struct ks_kmap_quality *quality);

/* Counts the accesses that no object took. */
void ks_kmap_csv_pair_finish(struct ks_kmap_csv_pair *pair, struct ks_kmap_quality *quality);

#endif
