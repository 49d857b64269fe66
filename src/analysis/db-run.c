// SPDX-License-Identifier: LGPL-2.1-only
/* Taking what a DB gives. */
#include "analysis/db-run.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/query.h"
#include "analysis/summary.h"
#include "analysis/walk.h"

/* === Data ================================================================================= */

/* Those who want to see blocks. */
struct askers {
	KS_VEC(struct ks_query *) queries;
	struct ks_walk *walk; /* NULL = there are no views */
	unsigned int columns;
};

/* === Internals ============================================================================ */

static bool is_ready(const struct ks_db_run *run, const struct ks_audience *to,
		     const struct ks_account *account)
{
	return account->grouping.by == KS_BY_SITE && !run->helpers && !run->pages &&
	       ks_filter_is_empty(&to->selector.filter);
}

/* The first account that is ready in the summary; NULL = there is none. */
static struct ks_account *find_ready(const struct ks_db_run *run, const struct ks_audience *to)
{
	size_t i;

	for (i = 0; i < to->accounts.len; i++)
		if (is_ready(run, to, to->accounts.items[i]))
			return to->accounts.items[i];
	return NULL;
}

static int add_query(struct askers *askers, const struct ks_db_run *run, struct ks_audience *to,
		     struct ks_account *account)
{
	struct ks_query **query = ks_vec_push(&askers->queries);

	if (!query || ks_query_new(account, &to->selector, run->source->db, run->untimed, query))
		return -ENOMEM;
	askers->columns |= ks_query_columns(*query);
	return 0;
}

static int find_askers(struct askers *askers, const struct ks_db_run *run, struct ks_audience *to,
		       const struct ks_account *ready)
{
	size_t i;

	for (i = 0; i < to->accounts.len; i++)
		if (to->accounts.items[i] != ready &&
		    add_query(askers, run, to, to->accounts.items[i]))
			return -ENOMEM;
	if (!to->views.len)
		return 0;
	askers->columns = KS_DB_TASKS | KS_DB_TIMES | KS_DB_SLOTS | KS_DB_PTRS;
	return ks_walk_new(to, run->source->db, &askers->walk);
}

static void free_askers(struct askers *askers)
{
	size_t i;

	for (i = 0; i < askers->queries.len; i++)
		ks_query_free(askers->queries.items[i]);
	ks_vec_free(&askers->queries);
	ks_walk_free(askers->walk);
}

static int ask(struct askers *askers, const struct ks_db_block *block,
	       const struct ks_db_block_info *info, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < askers->queries.len && !err; i++)
		err = ks_query_block(askers->queries.items[i], block, info, diag);
	if (!err && askers->walk)
		err = ks_walk_block(askers->walk, block, diag);
	return err;
}

/* @ordered: time never goes back, so a block is before the window, in it, or behind it. */
static int ask_blocks(struct askers *askers, const struct ks_db_run *run,
		      const struct ks_audience *to, bool ordered, struct ks_diag *diag)
{
	size_t blocks = ks_db_blocks(run->source->db), i;
	struct ks_db_block block = { 0 };
	int err = 0;

	for (i = 0; i < blocks && !err; i++) {
		struct ks_db_block_info info = ks_db_block_info(run->source->db, i);

		if (ordered &&
		    (info.max_ts < to->selector.since || info.min_ts >= to->selector.until))
			continue;
		err = ks_db_block_read(run->source->db, i, askers->columns, &block, diag);
		if (!err && run->helpers &&
		    ks_db_skip_helpers(run->helpers, ks_db_names(run->source->db), block.shapes,
				       block.shapes_len))
			err = ks_diag_nomem(diag, "asking a DB");
		if (!err && run->pages)
			err = ks_page_sites_of_shapes(run->pages, block.shapes, block.shapes_len,
						      diag);
		if (!err)
			err = ask(askers, &block, &info, diag);
		if (!err && run->progress && run->progress(run->progress_ctx, i, blocks))
			err = ks_diag_set(diag, -EINTR, "interrupted");
	}
	ks_db_block_deinit(&block);
	return err;
}

/* === Public =============================================================================== */

int ks_db_run(const struct ks_db_run *run, struct ks_audience *to, struct ks_facts *ret_facts,
	      struct ks_diag *diag)
{
	struct ks_account *ready = find_ready(run, to);
	struct askers askers = { 0 };
	int err = ks_summary_unpack(run->source->db, ret_facts, ready, diag);

	if (err)
		return err;
	to->run.last_ts = ret_facts->last_ts;
	run->source->info.page_shift = ret_facts->page_shift;
	ks_source_set_clock(run->source, ret_facts->clock);
	err = ks_audience_start(to, ret_facts->first_ts, diag);
	if (!err && find_askers(&askers, run, to, ready))
		err = ks_diag_nomem(diag, "asking a DB");
	if (!err && (askers.queries.len || askers.walk))
		err = ask_blocks(&askers, run, to, !ret_facts->quality[KS_Q_BACKWARDS], diag);
	free_askers(&askers);
	return err;
}
