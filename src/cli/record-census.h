/* SPDX-License-Identifier: GPL-2.0-only */
/* The census of a recording, from the kernel's memory. */
#ifndef KS_CLI_RECORD_CENSUS_H
#define KS_CLI_RECORD_CENSUS_H

#include "heap/kernel.h"
#include "trace/slab-census.h"

struct ks_record_census {
	struct ks_kernel *kernel; /* NULL until it is needed; stays open for the next time */
	bool refused;		  /* its memory can't be read */
	struct ks_diag why;	  /* where it was refused */
	bool types;		  /* at the start also by type */
};

/* A ks_record_census_fn; @ctx is a struct ks_record_census. */
int ks_record_census_take(void *ctx, bool objects, struct ks_slab_census *census);

void ks_record_census_deinit(struct ks_record_census *census);

#endif
