/* SPDX-License-Identifier: LGPL-2.1-only */
/* Access maps in the forms that other programs read. What a form cannot hold is dropped and counted. */
#ifndef KS_KMAP_CONVERT_H
#define KS_KMAP_CONVERT_H

#include "kmap/reader.h"

struct ks_resolver;

enum ks_kmap_target {
	KS_KMAP_TO_SEED,   /* 8 fields: the first Memorizer */
	KS_KMAP_TO_USCOPE, /* 10 fields: CAPMAP readers */
	KS_KMAP_TO_ITI,	   /* 11 fields: later Memorizers */
	KS_KMAP_TO_CSV,	   /* allocations and accesses, with heads */
	KS_KMAP_TO_JSON,   /* an object a line */
	KS_KMAP_TO_BINARY, /* include/uapi/memorizer.h */
	KS_KMAP_TARGETS
};

const char *ks_kmap_target_name(enum ks_kmap_target target);
int ks_kmap_target_parse(const char *name, enum ks_kmap_target *ret_target);

/* Where a converted map goes; @second is the accesses file of a CSV pair. */
struct ks_kmap_sink {
	int (*write)(void *ctx, bool second, const void *data, size_t len, struct ks_diag *diag);
	void *ctx;
};

/* What was written, and what the target has no place for. */
struct ks_kmap_converted {
	u64 objects, accesses, calls;
	u64 dropped_accesses, dropped_calls;
	u64 dropped_types, changed_types; /* not in the target; written as a related one */
	u64 guessed_types;		  /* of objects that have none */
	u64 left_out;	   /* objects without code that allocates: with them their accesses */
	u64 clipped_times; /* beyond what the target believes */
	u64 other_kernel;  /* the image is not that of the map */
	u64 dropped_caches;
	u64 dropped_sizes;    /* of slots */
	u64 dropped_details;  /* of objects: cpu, gfp flags, process */
	u64 dropped_anchors;  /* where the kernel was */
	u64 dropped_callers;  /* of accesses */
	u64 dropped_contexts; /* of accesses: the kind of interrupt */
	u64 changed_contexts; /* of accesses: interrupts of unknown kind became softirqs */
	u64 dropped_bytes;    /* of accesses: how many they moved */
	u64 dropped_spots;    /* of accesses: where in the object, and on which processor */
	u64 dropped_pids;     /* of accesses; lines of one instruction become one */
	u64 dropped_new_types;
	u64 changed_names; /* with commas or line ends: these became _ */
	u64 cut_names;	   /* longer than their field */
};

/*
 * @progress as in the census. With @resolver, addresses of code are those of its image, wherever the kernel ran; NULL =
 * they stay.
 */
int ks_kmap_convert(struct ks_kmap_reader *reader, enum ks_kmap_target target,
		    struct ks_resolver *resolver, const struct ks_kmap_sink *sink,
		    int (*progress)(void *ctx), void *ctx, struct ks_kmap_converted *ret_converted,
		    struct ks_diag *diag);

#endif
