/* SPDX-License-Identifier: LGPL-2.1-only */
/* The summary of a DB: the facts of its capture, and the account by site without a filter. */
#ifndef KS_ANALYSIS_SUMMARY_H
#define KS_ANALYSIS_SUMMARY_H

#include "analysis/account.h"
#include "analysis/facts.h"
#include "db/ksdb.h"

/* @account is by site. */
void ks_summary_pack(const struct ks_facts *facts, const struct ks_account *account,
		     struct ks_strbuf *sb);

/*
 * Reads the facts and, where @account is not NULL, the account, which is empty and by site. @facts is to
 * be deinited in any case.
 */
int ks_summary_unpack(struct ks_db *db, struct ks_facts *facts, struct ks_account *account,
		      struct ks_diag *diag);

#endif
