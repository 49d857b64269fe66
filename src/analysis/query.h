/* SPDX-License-Identifier: LGPL-2.1-only */
/* Asking a DB: an account fed with its blocks. */
#ifndef KS_ANALYSIS_QUERY_H
#define KS_ANALYSIS_QUERY_H

#include "analysis/account.h"
#include "analysis/filter.h"
#include "db/ksdb.h"

struct ks_query;

/* The selector's window is known. @untimed: the sums need no times. 0 or -ENOMEM. */
int ks_query_new(struct ks_account *account, struct ks_selector *selector, struct ks_db *db,
		 bool untimed, struct ks_query **ret_query);
void ks_query_free(struct ks_query *query);

/* Which columns it needs: KS_DB_*. */
unsigned int ks_query_columns(const struct ks_query *query);

/* Adds up a block. Blocks come in order; those that lie outside of the window may be left out. */
int ks_query_block(struct ks_query *query, const struct ks_db_block *block,
		   const struct ks_db_block_info *info, struct ks_diag *diag);

#endif
