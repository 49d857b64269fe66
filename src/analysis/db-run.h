/* SPDX-License-Identifier: LGPL-2.1-only */
/* Taking what a DB gives: each block is read once, for all accounts and views. */
#ifndef KS_ANALYSIS_DB_RUN_H
#define KS_ANALYSIS_DB_RUN_H

#include "analysis/engine.h"
#include "analysis/facts.h"
#include "analysis/page-sites.h"

struct ks_db_run {
	struct ks_source *source; /* gives matches; learns its clock and the size of its pages */
	const struct ks_frame_filter
		*helpers;	     /* their allocations belong to their callers; may be NULL */
	struct ks_page_sites *pages; /* gives sites to pages; NULL = nobody looks at pages */
	bool untimed;		     /* no account needs times */
	int (*progress)(void *ctx, u64 done, u64 total); /* may be NULL */
	void *progress_ctx;
};

/* Fills the accounts and shows the objects to the views. The facts are those of the DB's summary. */
int ks_db_run(const struct ks_db_run *run, struct ks_audience *to, struct ks_facts *ret_facts,
	      struct ks_diag *diag);

#endif
