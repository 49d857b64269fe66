/* SPDX-License-Identifier: LGPL-2.1-only */
/* Every object of a capture, handed out one by one as it ends: for tables in other programs. */
#ifndef KS_ANALYSIS_OBJECTS_H
#define KS_ANALYSIS_OBJECTS_H

#include "analysis/model.h"
#include "base/diag.h"

/*
 * Names are numbers that stay the same for all objects of a call; ks_object_name() names them.
 * KS_NONE where the capture does not say.
 */
struct ks_object_row {
	u64 address; /* or the page frame number */
	u64 bytes_req, bytes_alloc;
	u64 alloc_ts, end_ts; /* end_ts: not of live ones */
	u32 site, cache, gfp, comm;
	u32 pid;
	u32 free_site;		 /* of those that an event freed; else KS_NONE */
	u16 alloc_cpu, free_cpu; /* KS_CPU_UNKNOWN */
	u8 kind;		 /* enum ks_kind */
	u8 end;			 /* enum ks_end */
};

enum ks_object_names { KS_NAMES_SITE, KS_NAMES_CACHE, KS_NAMES_GFP, KS_NAMES_COMM, KS_NAME_TABLES };

/* Where the names come from, for as long as the call lasts. */
struct ks_object_source;

/* The name of a number; "" for KS_NONE, NULL with the cause in diag when it can't be had. */
const char *ks_object_name(struct ks_object_source *source, enum ks_object_names table, u32 id,
			   struct ks_diag *diag);

/* Gets the next object. 0 or a negative errno, which ends the call with what it left in diag. */
typedef int ks_object_fn(void *ctx, struct ks_object_source *source,
			 const struct ks_object_row *row, struct ks_diag *diag);

#endif
