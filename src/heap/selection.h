/* SPDX-License-Identifier: LGPL-2.1-only */
/* Objects that a person names: by type, by cache, or by an address. */
#ifndef KS_HEAP_SELECTION_H
#define KS_HEAP_SELECTION_H

#include "heap/snapshot.h"

struct ks_selection {
	u64 *set; /* a bit for each object */
	u64 objects, bytes;
	u32 first; /* the lowest of them */
	bool by_address;
};

/* Whether a text is an address, "0x..." or at least 12 digits of one; all others are names. */
bool ks_selection_address(const char *text, u64 *ret_addr);

/* -ENOENT: there is no such type, cache or object. */
int ks_selection_make(const struct ks_snapshot *snapshot, const char *text,
		      struct ks_selection **ret_selection, struct ks_diag *diag);
void ks_selection_free(struct ks_selection *selection);

static inline bool ks_selected(const struct ks_selection *selection, u32 object)
{
	return selection->set[object / 64] >> object % 64 & 1;
}

#endif
