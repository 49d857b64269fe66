// SPDX-License-Identifier: LGPL-2.1-only
/* An analysis: accounts and views over one source. */
#include "analysis/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/db-run.h"
#include "analysis/engine.h"
#include "analysis/kernel-slabs.h"
#include "analysis/page-sites.h"
#include "analysis/save.h"

/* === Data ================================================================================= */

struct ks_analysis {
	struct ks_analysis_opts opts;
	struct ks_frame_filter helpers;	    /* for the source */
	KS_VEC(enum ks_by) bys;		    /* what accounts are wanted by */
	KS_VEC(struct ks_view *) all_views; /* that were added */
	struct ks_view *save;		    /* one of them; NULL = no DB is written */
	bool names_counted;		    /* the model is to have their numbers */
	bool untimed;			    /* it need not have times of groups */

	/* From the start on. */
	struct ks_source *source;
	struct ks_places places, frames;
	struct ks_page_sites page_sites; /* where pages are looked at */
	struct ks_audience to;
	struct ks_matcher matcher; /* of a source of events */
	struct ks_map64 late;	   /* what was allocated since the census at the end began */
	struct ks_facts facts;	   /* of a DB */
	KS_VEC(struct ks_absent) absent;
};

/* === Internals: what a source can serve ==================================================== */

static bool skip_frame(const void *ctx, const char *func, size_t len)
{
	return ks_helpers_has(ctx, func, len);
}

static int add_absent(struct ks_analysis *a, const char *what, const char *why,
		      struct ks_diag *diag)
{
	struct ks_absent *absent = ks_vec_push(&a->absent);

	if (!absent)
		return ks_diag_nomem(diag, "starting an analysis");
	*absent = (struct ks_absent){ what, why };
	return 0;
}

#define NO_CGROUPS "the capture does not say which cgroups its tasks are in"

static bool has_cgroup(const struct ks_task_cgroups *tasks, const char *name)
{
	u32 i;

	for (i = 0; i < tasks->paths.strs.len; i++)
		if (ks_task_cgroup_is_in(tasks, i, name))
			return true;
	return false;
}

/* Why objects can't be told apart by the cgroup of the filter; NULL = they can. */
static const char *why_no_cgroup(const struct ks_analysis *a)
{
	if (!a->opts.filter.cgroup)
		return NULL;
	if (!a->source->names.tasks)
		return NO_CGROUPS;
	return has_cgroup(a->source->names.tasks, a->opts.filter.cgroup)
		       ? NULL
		       : "no task of the capture is in it; report --by cgroup lists those that there are";
}

/* Why a source can't be grouped so; NULL = it can. */
static const char *why_not_by(const struct ks_source *source, enum ks_by by)
{
	if (by == KS_BY_CPU)
		return source->gives & KS_GIVES_CPUS ? NULL : "the source does not name CPUs";
	if (by == KS_BY_GFP)
		return source->gives & KS_GIVES_GFP ? NULL : "the source does not have GFP flags";
	if (by == KS_BY_NODE)
		return source->gives & KS_GIVES_NODES ? NULL : "the source does not name nodes";
	if (by == KS_BY_CGROUP && !source->names.tasks)
		return NO_CGROUPS;
	if (ks_by_is_task(by))
		return source->gives & KS_GIVES_TASKS ? NULL
						      : "the source does not say who allocates";
	if (by == KS_BY_SITE || by == KS_BY_FUNCTION || by == KS_BY_MODULE || by >= KS_BY_STACK)
		return source->gives & KS_GIVES_SITES
			       ? NULL
			       : "the source does not say where it allocates";
	return NULL;
}

static const char *why_no_view(const struct ks_source *source, const struct ks_view *view)
{
	if (!(source->gives & (KS_GIVES_EVENTS | KS_GIVES_MATCHES)))
		return "the source gives sums, and no single objects";
	if (view->ops->needs & ~source->gives & KS_GIVES_AGES)
		return "the source does not say how old objects are";
	return NULL;
}

/* Where a DB has no stacks, profiles are of sites, whose sums are ready. */
static enum ks_by by_for(const struct ks_source *source, enum ks_by by)
{
	return by == KS_BY_STACK && source->db && !source->names.stacks.strs.len ? KS_BY_SITE : by;
}

static int start_account(struct ks_analysis *a, enum ks_by by, struct ks_diag *diag)
{
	const char *why = why_not_by(a->source, by);
	struct ks_account **slot = ks_vec_push(&a->to.accounts);
	struct ks_account *account = slot ? calloc(1, sizeof(*account)) : NULL;

	if (!account || ks_account_init(account, by_for(a->source, by), &a->source->names,
					&a->places, &a->frames)) {
		free(account);
		return ks_diag_nomem(diag, "starting an analysis");
	}
	*slot = account;
	return why ? add_absent(a, ks_by_name(by), why, diag) : 0;
}

static int start_view(struct ks_analysis *a, struct ks_view *view, struct ks_diag *diag)
{
	const char *why = why_no_view(a->source, view);
	struct ks_view **slot;

	if (why)
		return add_absent(a, view->ops->name, why, diag);
	slot = ks_vec_push(&a->to.views);
	if (!slot)
		return ks_diag_nomem(diag, "starting an analysis");
	*slot = view;
	return 0;
}

static int start_run(struct ks_analysis *a, struct ks_diag *diag)
{
	struct ks_source *source = a->source;

	ks_places_init(&a->places, &source->names.sites, a->opts.resolver, a->opts.filter.branch);
	ks_places_init(&a->frames, &source->names.frames, a->opts.resolver, NULL);
	ks_selector_init(&a->to.selector, &a->opts.filter, &source->names, &a->places);
	a->page_sites = (struct ks_page_sites){
		.names = &source->names,
		.frames = &a->frames,
		.helpers = a->opts.helpers,
	};
	a->to.run = (struct ks_run){
		.names = &source->names,
		.places = &a->places,
		.frames = &a->frames,
		.info = &source->info,
		.level = a->opts.level,
		.until = UINT64_MAX,
		.shape = KS_NONE,
		.task = KS_NONE,
	};
	if (source->gives & KS_GIVES_EVENTS && !source->db && ks_matcher_init(&a->matcher))
		return ks_diag_nomem(diag, "starting an analysis");
	return 0;
}

/* Pages get sites where they are looked at. A DB keeps events as they are. */
static bool places_pages(const struct ks_analysis *a)
{
	return a->opts.level == KS_PAGES && !a->save;
}

/* Whether groups depend on the site of an event and nothing else. */
static bool is_by_site(enum ks_by by)
{
	return by == KS_BY_SITE || by == KS_BY_FUNCTION || by == KS_BY_MODULE;
}

/* === Internals: taking what there is ======================================================= */

/* The census at the end of the recording, if it can say which objects have ended. */
static const struct ks_slab_census *end_census(const struct ks_analysis *a)
{
	const struct ks_slab_census *census = a->source->info.census[KS_CENSUS_END];

	return census && census->has_objects && !a->source->db && !a->source->info.ptrs_hashed
		       ? census
		       : NULL;
}

/* What is allocated while the census is taken, or later, is in it or not. */
static int note_late(struct ks_analysis *a, const struct ks_event *events, size_t count)
{
	const struct ks_slab_census *census = end_census(a);
	size_t i;

	for (i = 0; census && i < count; i++) {
		const struct ks_event *ev = &events[i];

		if (likely(ev->ts < census->from) || ev->kind == KS_LOST ||
		    ks_kind_is_page(ev->kind) || !ks_kind_is_alloc(ev->kind))
			continue;
		if (!a->late.index && ks_map64_init(&a->late))
			return -ENOMEM;
		if (ks_map64_add(&a->late, ev->ptr) == KS_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int take_census(struct ks_analysis *a, struct ks_diag *diag)
{
	const struct ks_slab_census *census = end_census(a);

	if (!census || !a->to.started)
		return 0;
	if (!a->late.index && ks_map64_init(&a->late))
		return ks_diag_nomem(diag, "matching events");
	return ks_engine_census(&a->matcher, &a->to, census, &a->late, diag);
}

/* Feeds all events of the source. */
static int pump(struct ks_analysis *a, struct ks_diag *diag)
{
	struct ks_batch batch;
	u64 done, total;
	int err;

	for (;;) {
		err = ks_source_next(a->source, &batch, diag);
		if (err || !batch.count)
			return err;
		err = ks_analysis_feed(a, batch.events, batch.count, diag);
		if (err)
			return err;
		if (!a->opts.progress)
			continue;
		ks_source_progress(a->source, &done, &total);
		if (a->opts.progress(a->opts.progress_ctx, done, total))
			return ks_diag_set(diag, -EINTR, "interrupted");
	}
}

static int ask_db(struct ks_analysis *a, struct ks_diag *diag)
{
	const struct ks_db_run run = {
		.source = a->source,
		.helpers = a->opts.skip_helpers ? &a->helpers : NULL,
		.pages = places_pages(a) ? &a->page_sites : NULL,
		.untimed = a->untimed,
		.progress = a->opts.progress,
		.progress_ctx = a->opts.progress_ctx,
	};

	return ks_db_run(&run, &a->to, &a->facts, diag);
}

/* A row of a source of sums, into all accounts. */
static int take_sum(void *ctx, const struct ks_sum *sum, struct ks_diag *diag)
{
	struct ks_analysis *a = ctx;
	enum ks_level level = ks_level_of(sum->key.kind);
	int err = ks_selector_passes(&a->to.selector, &sum->key, diag);
	size_t i;

	if (err <= 0)
		return err;
	for (i = 0, err = 0; i < a->to.accounts.len && !err; i++) {
		struct ks_account *account = a->to.accounts.items[i];
		u32 group;

		err = ks_account_group(account, &sum->key, &group, diag);
		if (!err)
			ks_tally_add(&account->tally[level], group, &sum->stat);
	}
	return err;
}

static int take_sums(struct ks_analysis *a, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < a->to.accounts.len; i++)
		ks_account_clear(a->to.accounts.items[i]);
	return a->source->ops->sums(a->source, take_sum, a, diag);
}

static const struct ks_account *account_by(const struct ks_analysis *a, enum ks_by by)
{
	size_t i;

	for (i = 0; i < a->to.accounts.len; i++)
		if (a->to.accounts.items[i]->grouping.by == by)
			return a->to.accounts.items[i];
	return NULL;
}

static int finish_save(struct ks_analysis *a, struct ks_diag *diag)
{
	struct ks_facts facts;
	int err = ks_facts_init(&facts, &a->matcher, &a->source->info);

	err = err ? ks_diag_nomem(diag, "gathering results")
		  : ks_save_view_finish(a->save, &a->to.run, &facts, account_by(a, KS_BY_SITE),
					diag);
	ks_facts_deinit(&facts);
	return err;
}

/* === Internals: a model =================================================================== */

static void mark_helpers(struct ks_sums *sums, const struct ks_helpers *helpers)
{
	size_t i;

	for (i = 0; i < sums->groups.len; i++) {
		struct ks_group *group = &sums->groups.items[i];

		group->helper = ks_helpers_has(helpers, group->func, strlen(group->func));
	}
}

static int fill_accounts(struct ks_analysis *a, struct ks_model *model, struct ks_diag *diag)
{
	const struct ks_account *first = a->to.accounts.items[0];
	size_t i;
	int err = 0;

	model->level = a->opts.level;
	for (i = 0; i < KS_LEVELS; i++)
		model->levels[i] = ks_tally_total(&first->tally[i]);
	for (i = 0; i < a->to.accounts.len && !err; i++)
		err = ks_account_fill(a->to.accounts.items[i], a->opts.level, model, diag);
	for (i = 0; i < model->accounts.len && !err && a->opts.helpers; i++)
		mark_helpers(&model->accounts.items[i], a->opts.helpers);
	return err;
}

static bool lacks_peaks(const struct ks_model *model)
{
	size_t i, k;

	for (i = 0; i < model->accounts.len; i++)
		for (k = 0; k < model->accounts.items[i].groups.len; k++)
			if (!ks_stat_has_peak(&model->accounts.items[i].groups.items[k].stat))
				return true;
	return !ks_stat_has_peak(ks_model_total(model));
}

static int fill_absent(const struct ks_analysis *a, struct ks_model *model, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < a->absent.len; i++) {
		struct ks_absent *absent = ks_vec_push(&model->absent);

		if (!absent)
			return ks_diag_nomem(diag, "gathering results");
		*absent = a->absent.items[i]; /* both are constants */
	}
	if (lacks_peaks(model)) {
		struct ks_absent *absent = ks_vec_push(&model->absent);

		if (!absent)
			return ks_diag_nomem(diag, "gathering results");
		*absent = (struct ks_absent){ "peaks",
					      "the source gives sums, whose peaks do not add up" };
	}
	return 0;
}

/* A DB's events do not say what the capture was: its summary does. */
static int fill_facts(struct ks_analysis *a, struct ks_model *model, struct ks_diag *diag)
{
	const struct ks_names *names = &a->source->names;
	struct ks_facts facts;
	int err;

	if (a->source->db)
		return ks_facts_fill(&a->facts, names, &a->places, model, diag);
	err = ks_facts_init(&facts, a->source->gives & KS_GIVES_EVENTS ? &a->matcher : NULL,
			    &a->source->info);
	err = err ? ks_diag_nomem(diag, "gathering results")
		  : ks_facts_fill(&facts, names, &a->places, model, diag);
	ks_facts_deinit(&facts);
	return err;
}

static int fill_views(struct ks_analysis *a, struct ks_model *model, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < a->to.views.len && !err; i++) {
		struct ks_view *view = a->to.views.items[i];

		if (view->ops->snapshot)
			err = view->ops->snapshot(view, &a->to.run, model, diag);
	}
	return err;
}

/* === Public =============================================================================== */

struct ks_analysis *ks_analysis_new(const struct ks_analysis_opts *opts)
{
	struct ks_analysis *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->opts = *opts;
	a->helpers = (struct ks_frame_filter){ skip_frame, opts->helpers };
	return a;
}

void ks_analysis_free(struct ks_analysis *a)
{
	size_t i;

	if (!a)
		return;
	for (i = 0; i < a->all_views.len; i++)
		a->all_views.items[i]->ops->free(a->all_views.items[i]);
	for (i = 0; i < a->to.accounts.len; i++) {
		if (a->to.accounts.items[i])
			ks_account_deinit(a->to.accounts.items[i]);
		free(a->to.accounts.items[i]);
	}
	if (a->source) {
		ks_places_deinit(&a->places);
		ks_places_deinit(&a->frames);
		ks_page_sites_deinit(&a->page_sites);
		ks_matcher_deinit(&a->matcher);
		ks_map64_deinit(&a->late);
		ks_facts_deinit(&a->facts);
	}
	ks_vec_free(&a->bys);
	ks_vec_free(&a->all_views);
	ks_vec_free(&a->to.accounts);
	ks_vec_free(&a->to.views);
	ks_vec_free(&a->absent);
	free(a);
}

int ks_analysis_account(struct ks_analysis *a, enum ks_by by, struct ks_diag *diag)
{
	enum ks_by *slot = ks_vec_push(&a->bys);

	if (!slot)
		return ks_diag_nomem(diag, "preparing an analysis");
	*slot = by;
	return 0;
}

int ks_analysis_add(struct ks_analysis *a, struct ks_view *view, struct ks_diag *diag)
{
	struct ks_view **slot = view ? ks_vec_push(&a->all_views) : NULL;

	if (!slot) {
		if (view)
			view->ops->free(view);
		return ks_diag_nomem(diag, "preparing an analysis");
	}
	*slot = view;
	return 0;
}

int ks_analysis_save(struct ks_analysis *a, const char *path, struct ks_diag *diag)
{
	struct ks_view *save = ks_save_view_new(path);
	int err = ks_analysis_add(a, save, diag);

	if (!err)
		a->save = save;
	return err;
}

void ks_analysis_count_names(struct ks_analysis *a)
{
	a->names_counted = true;
}

void ks_analysis_untimed(struct ks_analysis *a)
{
	a->untimed = true;
}

void ks_analysis_wants(const struct ks_analysis *a, struct ks_source_opts *ret_opts)
{
	size_t i;

	*ret_opts = (struct ks_source_opts){
		.helpers = a->opts.skip_helpers ? &a->helpers : NULL,
		.resolver = a->opts.resolver,
		.progress = a->opts.progress,
		.progress_ctx = a->opts.progress_ctx,
		.stacks = places_pages(a),
		.bare = !a->names_counted && !a->all_views.len && !a->opts.filter.comm &&
			!a->opts.filter.cache && !places_pages(a),
	};
	for (i = 0; i < a->bys.len; i++) {
		ret_opts->stacks |= a->bys.items[i] == KS_BY_STACK ||
				    a->bys.items[i] == KS_BY_SAMPLE;
		ret_opts->bare &= is_by_site(a->bys.items[i]);
	}
	for (i = 0; i < a->all_views.len; i++)
		ret_opts->stacks |= a->all_views.items[i]->wants_stacks;
}

int ks_analysis_start(struct ks_analysis *a, struct ks_source *source, struct ks_diag *diag)
{
	size_t i;
	int err = 0;

	if (a->save && source->db)
		return ks_diag_set(diag, -EINVAL, "%s: is a DB already; copy the file instead",
				   ks_db_path(source->db));
	if (!a->bys.len)
		err = ks_analysis_account(a, KS_BY_SITE, diag);
	if (!err)
		err = ks_when_resolve(&a->opts.filter.since, &source->info.wall, diag);
	if (!err)
		err = ks_when_resolve(&a->opts.filter.until, &source->info.wall, diag);
	if (err)
		return err;
	a->source = source;
	err = start_run(a, diag);
	for (i = 0; i < a->bys.len && !err; i++)
		err = start_account(a, a->bys.items[i], diag);
	for (i = 0; i < a->all_views.len && !err; i++)
		err = start_view(a, a->all_views.items[i], diag);
	if (!err && a->opts.filter.by_cpu && !(source->gives & KS_GIVES_CPUS))
		err = add_absent(a, "objects of one CPU", "the source does not name CPUs", diag);
	if (!err && why_no_cgroup(a))
		err = add_absent(a, "objects of that cgroup", why_no_cgroup(a), diag);
	return err;
}

int ks_analysis_feed(struct ks_analysis *a, const struct ks_event *events, size_t count,
		     struct ks_diag *diag)
{
	int err = 0;

	if (places_pages(a))
		err = ks_page_sites_of_events(&a->page_sites, events, count, &events, diag);
	if (!err && note_late(a, events, count))
		err = ks_diag_nomem(diag, "matching events");
	return err ? err : ks_engine_feed(&a->matcher, &a->to, events, count, diag);
}

int ks_analysis_finish(struct ks_analysis *a, struct ks_diag *diag)
{
	size_t i;
	int err = a->source->gives & KS_GIVES_EVENTS ? take_census(a, diag) : 0;

	for (i = 0; i < a->to.views.len && !err; i++) {
		struct ks_view *view = a->to.views.items[i];

		if (view->ops->finish)
			err = view->ops->finish(view, &a->to.run, diag);
	}
	return !err && a->save ? finish_save(a, diag) : err;
}

int ks_analysis_run(struct ks_analysis *a, struct ks_source *source, struct ks_diag *diag)
{
	int err = a->source ? 0 : ks_analysis_start(a, source, diag);

	if (err)
		return err;
	if (source->db)
		err = ask_db(a, diag);
	else if (source->gives & KS_GIVES_EVENTS)
		err = pump(a, diag);
	else
		err = take_sums(a, diag);
	return err ? err : ks_analysis_finish(a, diag);
}

int ks_analysis_snapshot(struct ks_analysis *a, struct ks_model **ret_model, struct ks_diag *diag)
{
	struct ks_model *model = calloc(1, sizeof(*model));
	int err;

	if (!model)
		return ks_diag_nomem(diag, "gathering results");
	ks_arena_init(&model->arena);
	err = fill_facts(a, model, diag);
	if (!err && ks_kernel_slabs_fill(a->source->info.census, model))
		err = ks_diag_nomem(diag, "gathering results");
	if (!a->names_counted)
		model->caches = model->comms = 0;
	model->pages_unplaced = a->page_sites.guessed;
	model->wall = a->source->info.wall;
	if (!err && a->source->info.only) {
		model->only = ks_arena_strndup(&model->arena, a->source->info.only,
					       strlen(a->source->info.only));
		if (!model->only)
			err = ks_diag_nomem(diag, "gathering results");
	}
	if (!err)
		err = fill_accounts(a, model, diag);
	model->window_ends = a->opts.filter.until.set;
	model->filtered = !ks_filter_is_empty(&a->opts.filter);
	if (!err)
		ks_kernel_slabs_compare(model);
	if (!err)
		err = fill_views(a, model, diag);
	if (!err)
		err = fill_absent(a, model, diag);
	if (err)
		ks_model_free(model);
	else
		*ret_model = model;
	return err;
}
