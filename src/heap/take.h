/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the files that take a snapshot: what they hand to each other. */
#ifndef KS_HEAP_TAKE_H
#define KS_HEAP_TAKE_H

#include "heap/numbers.h"
#include "heap/snapshot.h"

struct ks_taking {
	struct ks_kernel *kernel;
	struct ks_census *census;
	struct ks_slots *slots;
	struct ks_typing *typing;
	struct ks_numbers *numbers;
	u32 *type_of; /* by number of the snapshot's types: that of typing */
	struct ks_snapshot *snapshot;
};

/* Reads all objects: their checksums and, with @graph, what they point to (refs.c). */
int ks_take_contents(struct ks_taking *taking, bool graph, struct ks_diag *diag);

/* Names the fields that references are in, and types large kmalloc() by them (fields.c). */
int ks_take_fields(struct ks_taking *taking);

/* A field of a type, and how many bytes of it; at most 32. */
struct ks_wanted {
	const char *member;
	u32 len;
};

/* What was read, one behind the other as wanted, each with zeros behind it. */
typedef void ks_fields_fn(void *arg, u32 object, const u8 *const *fields);

/* Reads at most 4 fields of all objects of a type. None where the kernel lacks the type or a field (labels.c). */
int ks_take_read_fields(struct ks_taking *taking, const char *type, const struct ks_wanted *wanted,
			size_t count, ks_fields_fn *fn, void *arg, struct ks_diag *diag);

/* What single objects are called (labels.c). */
int ks_take_labels(struct ks_taking *taking, struct ks_diag *diag);

/* References that are in no object (roots.c). */
int ks_take_roots(struct ks_taking *taking, const char *kallsyms, struct ks_diag *diag);

#endif
