// SPDX-License-Identifier: LGPL-2.1-only
/* The analyser's entry points. */
#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/engine.h"
#include "analysis/facts.h"
#include "analysis/query.h"
#include "db/ksdb.h"
#include "source/open.h"

/* === Internals ============================================================================ */

static void mark_helpers(struct ks_model *model, const struct ks_helpers *helpers)
{
	struct ks_sums *sums = &model->accounts.items[0];
	size_t i;

	for (i = 0; i < sums->groups.len; i++) {
		struct ks_group *group = &sums->groups.items[i];

		group->helper = ks_helpers_has(helpers, group->func, strlen(group->func));
	}
}

static int make_model(const struct ks_facts *facts, struct ks_account *account,
		      const struct ks_analysis_opts *opts, struct ks_model **ret_model,
		      struct ks_diag *diag)
{
	struct ks_model *model = calloc(1, sizeof(*model));

	if (!model)
		return ks_diag_nomem(diag, "gathering results");
	ks_arena_init(&model->arena);
	if (ks_facts_fill(facts, account->names, &account->places, model) ||
	    ks_account_fill(account, opts->level, model)) {
		ks_model_free(model);
		return ks_account_error(account, diag);
	}
	if (opts->helpers)
		mark_helpers(model, opts->helpers);
	*ret_model = model;
	return 0;
}

static bool skip_frame(const void *ctx, const char *func, size_t len)
{
	return ks_helpers_has(ctx, func, len);
}

/* Feeds the whole trace to the engine. */
static int pump(struct ks_source *trace, const struct ks_analysis_opts *opts,
		struct ks_engine *engine, struct ks_diag *diag)
{
	struct ks_batch batch;
	u64 done, total;
	int err;

	for (;;) {
		err = ks_source_next(trace, &batch, diag);
		if (err || !batch.count)
			return err;
		err = ks_engine_feed(engine, batch.events, batch.count, diag);
		if (err)
			return err;
		if (!opts->progress)
			continue;
		trace->ops->progress(trace, &done, &total);
		if (opts->progress(opts->progress_ctx, done, total))
			return ks_diag_set(diag, -EINTR, "interrupted");
	}
}

static int finish_db(struct ks_db_writer *writer, const struct ks_facts *facts,
		     const struct ks_engine *engine, const struct ks_names *names,
		     struct ks_diag *diag)
{
	struct ks_strbuf summary;
	int err;

	ks_db_writer_set_nodes(writer, engine->info->cpu_nodes.items, engine->info->cpu_nodes.len);
	ks_strbuf_init(&summary);
	ks_facts_pack(facts, &summary);
	ks_tally_pack(&engine->account, &summary);
	err = summary.failed ? ks_diag_nomem(diag, "writing a DB")
			     : ks_db_writer_finish(writer, names, &facts->host, &summary, diag);
	ks_strbuf_deinit(&summary);
	return err;
}

static int bad_summary(const char *path, int err, struct ks_diag *diag)
{
	if (err == -ENOMEM)
		return ks_diag_nomem(diag, "asking a DB");
	return ks_diag_set(diag, KS_EBADINPUT,
			   "%s: the DB is damaged: its summary makes no sense; make it again from "
			   "the capture",
			   path);
}

/* A DB's events do not tell what the capture was: its summary does. */
static int facts_of_db(const char *path, struct ks_facts *ret_facts, struct ks_diag *diag)
{
	struct ks_bytes b;
	struct ks_db *db;
	size_t len;
	const void *summary;
	int err = ks_db_open(path, &db, diag);

	if (err)
		return err;
	summary = ks_db_summary(db, &len);
	ks_bytes_init(&b, summary, len);
	err = ks_facts_unpack(ret_facts, &b);
	ret_facts->host = *ks_db_host(db);
	ks_db_free(db);
	return err ? bad_summary(path, err, diag) : 0;
}

static int facts_of_trace(const char *path, const struct ks_engine *engine,
			  const struct ks_source_info *info, struct ks_facts *ret_facts,
			  struct ks_diag *diag)
{
	if (path && ks_db_is_db(path))
		return facts_of_db(path, ret_facts, diag);
	return ks_facts_init(ret_facts, &engine->matcher, info)
		       ? ks_diag_nomem(diag, "gathering results")
		       : 0;
}

/* @path is where the trace is from; NULL = from no file. */
static int run_trace(struct ks_source *trace, const char *path, const char *db_path,
		     const struct ks_analysis_opts *opts, struct ks_model **ret_model,
		     struct ks_diag *diag)
{
	struct ks_db_writer *writer = NULL;
	struct ks_facts facts = { 0 };
	struct ks_engine engine;
	int err = 0;

	if (ks_engine_init(&engine, opts, &trace->names))
		return ks_diag_nomem(diag, "starting the engine");
	if (db_path)
		err = ks_db_writer_new(db_path, &writer, diag);
	engine.writer = writer;
	engine.info = &trace->info;
	if (!err)
		err = pump(trace, opts, &engine, diag);
	if (!err && opts->observer && opts->observer->finish(opts->observer_ctx, &engine))
		err = ks_account_error(&engine.account, diag);
	if (!err)
		err = facts_of_trace(path, &engine, &trace->info, &facts, diag);
	if (!err && writer)
		err = finish_db(writer, &facts, &engine, &trace->names, diag);
	if (!err)
		err = make_model(&facts, &engine.account, opts, ret_model, diag);
	ks_db_writer_free(writer);
	ks_facts_deinit(&facts);
	ks_engine_deinit(&engine);
	return err;
}

static int analyze_trace(const char *path, const char *db_path, const struct ks_analysis_opts *opts,
			 struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_frame_filter filter = { skip_frame, opts->helpers };
	struct ks_source_opts trace_opts = {
		.stacks = opts->want_stacks || db_path || opts->by >= KS_BY_STACK,
		.helpers = opts->skip_helpers ? &filter : NULL,
		.kernel = opts->kernel,
	};
	struct ks_source *trace;
	int err;

	if (opts->trace)
		return run_trace(opts->trace, NULL, db_path, opts, ret_model, diag);
	err = ks_source_open(path, &trace_opts, &trace, diag);
	if (err)
		return err;
	err = run_trace(trace, path, db_path, opts, ret_model, diag);
	ks_source_close(trace);
	return err;
}

static int analyze_db(const char *path, const struct ks_analysis_opts *opts,
		      struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_frame_filter helpers = { skip_frame, opts->helpers };
	enum ks_by by = opts->by;
	bool ready;
	struct ks_facts facts = { 0 };
	struct ks_account account;
	struct ks_bytes b;
	struct ks_db *db;
	size_t len;
	const void *summary;
	int err;

	err = ks_db_open(path, &db, diag);
	if (err)
		return err;
	/* Where there are no stacks, profiles are of sites, whose sums are ready. */
	if (by == KS_BY_STACK && !ks_db_names(db)->stacks.strs.len)
		by = KS_BY_SITE;
	ready = by == KS_BY_SITE && !opts->skip_helpers && ks_filter_is_empty(&opts->filter);
	if (ks_account_init(&account, by, &opts->filter, ks_db_names(db), opts->resolver)) {
		ks_db_free(db);
		return ks_diag_nomem(diag, "asking a DB");
	}
	summary = ks_db_summary(db, &len);
	ks_bytes_init(&b, summary, len);
	err = ks_facts_unpack(&facts, &b);
	if (!err && ready)
		err = ks_tally_unpack(&account, &b);
	if (err)
		err = bad_summary(path, err, diag);
	facts.host = *ks_db_host(db);
	if (!err && !ready)
		err = ks_query_blocks(db, opts, opts->skip_helpers ? &helpers : NULL,
				      facts.first_ts, !facts.quality[KS_Q_BACKWARDS], &account,
				      diag);
	if (!err)
		err = make_model(&facts, &account, opts, ret_model, diag);
	ks_facts_deinit(&facts);
	ks_account_deinit(&account);
	ks_db_free(db);
	return err;
}

/* === Public =============================================================================== */

int ks_analyze(const char *path, const struct ks_analysis_opts *opts, struct ks_model **ret_model,
	       struct ks_diag *diag)
{
	/* An observer wants to see the events, which a DB gives too, if more slowly. */
	if (!opts->trace && !opts->observer && ks_db_is_db(path))
		return analyze_db(path, opts, ret_model, diag);
	return analyze_trace(path, NULL, opts, ret_model, diag);
}

int ks_import(const char *path, const char *db_path, const struct ks_analysis_opts *opts,
	      struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_analysis_opts whole = *opts;

	if (!opts->trace && ks_db_is_db(path))
		return ks_diag_set(diag, -EINVAL, "%s: is a DB already; copy the file instead",
				   path);
	whole.by = KS_BY_SITE;
	whole.filter = (struct ks_filter){ 0 };
	return analyze_trace(path, db_path, &whole, ret_model, diag);
}
