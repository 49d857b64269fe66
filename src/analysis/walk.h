/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Showing the objects of a DB to views: its events are matched already, so neither the live table nor
 * the engine is needed.
 */
#ifndef KS_ANALYSIS_WALK_H
#define KS_ANALYSIS_WALK_H

#include "analysis/engine.h"

struct ks_walk;

/* The audience has started. 0 or -ENOMEM. */
int ks_walk_new(struct ks_audience *to, struct ks_db *db, struct ks_walk **ret_walk);
void ks_walk_free(struct ks_walk *walk);

/* Blocks come in order, with all columns; those before the window may be left out. */
int ks_walk_block(struct ks_walk *walk, const struct ks_db_block *block, struct ks_diag *diag);

#endif
