/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the kernel notes beside each object of a slab (obj_exts): who is charged for it, and which code allocated it. */
#ifndef KS_HEAP_NOTES_H
#define KS_HEAP_NOTES_H

#include "heap/objects.h"

#define KS_NOTE_FLAGS 7ull /* in the low bits of pointers to notes, and in those that they have */

/* @note: that of this slot, as long as the layout says. */
typedef void ks_note_fn(void *arg, u32 slot, const u8 *note);

/* Calls @fn for each slot that has a note. What can't be read is left out; the census has counted it. */
int ks_notes_walk(struct ks_kernel *kernel, const struct ks_census *census,
		  const struct ks_slots *slots, ks_note_fn *fn, void *arg, struct ks_diag *diag);

#endif
