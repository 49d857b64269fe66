/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Walking through the objects of a DB: their events are matched already, so that whoever wants to see
 * each of them needs neither the live table nor the engine.
 */
#ifndef KS_ANALYSIS_WALK_H
#define KS_ANALYSIS_WALK_H

#include "analysis/account.h"
#include "analysis/analysis.h"
#include "db/ksdb.h"

/* What a walker is told. Each returns 0 or a negative errno, which ends the walk. */
struct ks_walker {
	/* Before all else. The account is to ask for names and places. */
	int (*start)(void *ctx, struct ks_account *account, const struct ks_model *model);

	/* A block begins: its shapes and tasks can be made ready. */
	int (*block)(void *ctx, const struct ks_db_block *block);

	/*
	 * Event @i of the block is an allocation of opts->level that passes the filter; @slot KS_NONE: of
	 * an object that cannot be followed.
	 */
	int (*begin)(void *ctx, const struct ks_db_block *block, u32 i, u32 slot, u64 ptr);

	/*
	 * Event @i ends the object that begin was told of with @slot: a free or, @implied, an allocation at
	 * its address. Behind the window it does so unseen.
	 */
	int (*end)(void *ctx, const struct ks_db_block *block, u32 i, u32 slot, bool implied,
		   bool in_window);

	/* begin or end will be told of this slot soon; may be NULL. */
	void (*prefetch)(void *ctx, u32 slot);

	/* After all else, if nothing failed. */
	int (*finish)(void *ctx, struct ks_account *account);
};

/*
 * Makes the model as ks_analyze() by site does, and then walks. What a walker's function leaves in *@why,
 * which may be NULL, explains its error; else it is lack of memory, or a kernel tree that can't be read.
 */
int ks_walk_db(const char *path, const struct ks_analysis_opts *opts,
	       const struct ks_walker *walker, void *ctx, const struct ks_diag *why,
	       struct ks_model **ret_model, struct ks_diag *diag);

#endif
