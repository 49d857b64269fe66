/* SPDX-License-Identifier: LGPL-2.1-only */
/* The view that writes a DB: it sees every event with its match. */
#ifndef KS_ANALYSIS_SAVE_H
#define KS_ANALYSIS_SAVE_H

#include "analysis/summary.h"
#include "analysis/view.h"

/* NULL when there is no memory. The file is begun at the start. */
struct ks_view *ks_save_view_new(const char *path);

/* Gives the file its summary and its name. @account is by site. */
int ks_save_view_finish(struct ks_view *view, const struct ks_run *run,
			const struct ks_facts *facts, const struct ks_account *account,
			struct ks_diag *diag);

#endif
