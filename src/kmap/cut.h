/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where records end in a stream that arrives in pieces: lines of text, or binary records. */
#ifndef KS_KMAP_CUT_H
#define KS_KMAP_CUT_H

#include "base/types.h"

struct ks_kmap_cut {
	size_t record_size; /* of a binary stream; 0 = text, or nothing seen yet */
};

/* How many of the bytes, which begin at a boundary, are whole records. */
size_t ks_kmap_cut_whole(struct ks_kmap_cut *cut, const void *data, size_t len);

#endif
