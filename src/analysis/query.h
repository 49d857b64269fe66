/* SPDX-License-Identifier: LGPL-2.1-only */
/* Asking a DB: the account of its blocks, or the ready one of its summary. */
#ifndef KS_ANALYSIS_QUERY_H
#define KS_ANALYSIS_QUERY_H

#include "analysis/account.h"
#include "analysis/analysis.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "db/ksdb.h"
#include "trace/source.h"

/* The tally of an account by site without a filter, and back into a fresh one. */
void ks_tally_pack(const struct ks_account *account, struct ks_strbuf *sb);
int ks_tally_unpack(struct ks_account *account, struct ks_bytes *b);

/*
 * Runs through the blocks. Sites that @helpers skips become their callers; it may be NULL. @first_ts is the
 * time of the first event; @ordered: time never goes back.
 */
int ks_query_blocks(struct ks_db *db, const struct ks_analysis_opts *opts,
		    const struct ks_frame_filter *helpers, u64 first_ts, bool ordered,
		    struct ks_account *account, struct ks_diag *diag);

#endif
