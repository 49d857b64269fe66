/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Objects behind pointers to void. What a file's private_data is depends on the file's operations: where those are the
 * same, it is of the same type. So one of them whose type is known tells those of all others.
 */
#ifndef KS_HEAP_LIKENESS_H
#define KS_HEAP_LIKENESS_H

#include "heap/slot-index.h"
#include "heap/typing.h"

struct ks_likeness;
struct ks_symtab;

/* Reads the places that are known to depend on operations. */
int ks_likeness_find(struct ks_kernel *kernel, const struct ks_census *census,
		     const struct ks_slots *slots, const struct ks_slot_index *index,
		     const struct ks_typing *typing, struct ks_likeness **ret_alike,
		     struct ks_diag *diag);
void ks_likeness_free(struct ks_likeness *alike);

/* Calls @fn for each slot that has no type and is like one that has. */
void ks_likeness_each(const struct ks_likeness *alike, const struct ks_census *census,
		      const struct ks_typing *typing, void (*fn)(void *arg, u32 slot, u32 type),
		      void *arg);

/* Calls @fn for each slot that an open file leads to, with the type that this kind of file has there. */
void ks_likeness_released(const struct ks_likeness *alike, struct ks_kernel *kernel,
			  const struct ks_symtab *symbols, const struct ks_census *census,
			  const struct ks_typing *typing,
			  void (*fn)(void *arg, u32 slot, u32 cache, u32 type), void *arg);

/* What still has no type is called by its holder: "file.private_data (table with ep_eventpoll_poll())". */
int ks_likeness_name(const struct ks_likeness *alike, struct ks_kernel *kernel,
		     const struct ks_symtab *symbols, struct ks_typing *typing);

#endif
