// SPDX-License-Identifier: LGPL-2.1-only
/* Analyses: options, the pass over a capture, and the model behind the answers. */
#include <string.h>

#include "analysis/views.h"
#include "api/api.h"
#include "base/num.h"
#include "source/open.h"

/* === Internals: options =================================================================== */

/* A copy that lives as long as the analyzer; NULL stays NULL. */
static int keep(struct ks_analyzer *analyzer, const char *given, const char **ret_kept,
		struct ks_diag *diag)
{
	if (!given)
		return 0;
	*ret_kept = ks_arena_strndup(&analyzer->arena, given, strlen(given));
	return *ret_kept ? 0 : ks_diag_nomem(diag, "preparing an analysis");
}

static int take_when(const char *what, const char *text, struct ks_when *ret_when,
		     struct ks_diag *diag)
{
	if (!text || !ks_when_parse(text, ret_when))
		return 0;
	return ks_diag_set(diag, -EINVAL,
			   "%s '%s': give seconds as the trace prints them (415.2), or after its "
			   "first event (+1.5, +20ms), or a time of day (10:00:05, "
			   "'2026-11-17 10:00')",
			   what, text);
}

static int take_filter(struct ks_analyzer *analyzer, const struct ks_analyzer_options *options,
		       struct ks_diag *diag)
{
	struct ks_filter *filter = &analyzer->filter;
	int err;

	*filter = (struct ks_filter){
		.malloc_only = options->filter & KS_FILTER_KMALLOC,
		.cache_only = options->filter & KS_FILTER_CACHE,
		.by_cpu = options->filter & KS_FILTER_CPU,
		.by_pid = options->filter & KS_FILTER_PID,
		.by_size = options->filter & KS_FILTER_BYTES,
		.cpu = options->cpu,
		.pid = options->pid,
		.size = options->bytes,
	};
	err = keep(analyzer, options->site, &filter->site, diag);
	if (!err)
		err = keep(analyzer, options->cache, &filter->cache, diag);
	if (!err)
		err = keep(analyzer, options->comm, &filter->comm, diag);
	if (!err)
		err = keep(analyzer, options->cgroup, &filter->cgroup, diag);
	if (!err)
		err = keep(analyzer, options->branch, &filter->branch, diag);
	if (!err)
		err = take_when("since", options->since, &filter->since, diag);
	return err ? err : take_when("until", options->until, &filter->until, diag);
}

static int open_symbols(struct ks_analyzer *analyzer, const struct ks_analyzer_options *options,
			struct ks_diag *diag)
{
	int err = 0;

	if (!options->kernel && (options->kallsyms || options->branch))
		return ks_diag_set(diag, -EINVAL, "%s needs the kernel tree or image beside it",
				   options->branch ? "a branch" : "kallsyms");
	if (options->kernel)
		err = ks_resolver_new(options->kernel, &analyzer->resolver, diag);
	if (!err && options->kallsyms)
		err = ks_resolver_add_kallsyms(analyzer->resolver, options->kallsyms, diag);
	if (!err && options->branch)
		err = ks_resolver_check_branch(analyzer->resolver, options->branch, diag);
	return err;
}

static int set_up(struct ks_analyzer *analyzer, const struct ks_analyzer_options *options,
		  struct ks_diag *diag)
{
	struct ks_analysis_opts opts = {
		.level = options->flags & KS_ANALYZE_PAGES ? KS_PAGES : KS_SLAB,
		.helpers = &analyzer->helpers,
		.skip_helpers = options->flags & KS_ANALYZE_SKIP_HELPERS,
		.progress = options->progress,
		.progress_ctx = options->progress_ctx,
	};
	int err = take_filter(analyzer, options, diag);

	if (!err)
		err = open_symbols(analyzer, options, diag);
	if (!err && ks_helpers_init(&analyzer->helpers))
		err = ks_diag_nomem(diag, "preparing an analysis");
	if (!err && options->helpers)
		err = ks_helpers_add_file(&analyzer->helpers, options->helpers, diag);
	if (err)
		return err;
	opts.filter = analyzer->filter;
	opts.resolver = analyzer->resolver;
	analyzer->analysis = ks_analysis_new(&opts);
	return analyzer->analysis ? 0 : ks_diag_nomem(diag, "preparing an analysis");
}

/* === Internals: the pass ================================================================== */

static int fresh(const struct ks_analyzer *analyzer, struct ks_diag *diag)
{
	return analyzer->source
		       ? ks_diag_set(diag, -EBUSY, "the analysis has begun: ask before it does")
		       : 0;
}

static int open_source(struct ks_analyzer *analyzer, struct ks_capture *capture,
		       struct ks_diag *diag)
{
	struct ks_source_opts opts;
	int err = fresh(analyzer, diag);

	if (err)
		return err;
	ks_analysis_wants(analyzer->analysis, &opts);
	return capture ? ks_api_capture_source(capture, &opts, &analyzer->source, diag)
		       : ks_api_empty_source(&opts, &analyzer->source, diag);
}

/* What was known until now is out of date. */
static int underway(struct ks_analyzer *analyzer, struct ks_diag *diag)
{
	ks_model_free(analyzer->model);
	analyzer->model = NULL;
	if (!analyzer->source)
		return ks_diag_set(diag, -EINVAL, "the analysis has not begun");
	return analyzer->finished ? ks_diag_set(diag, -EINVAL, "the analysis has ended") : 0;
}

static int absent(const struct ks_model *model, const char *what, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < model->absent.len; i++)
		if (!strcmp(model->absent.items[i].what, what))
			return ks_diag_set(diag, -ENODATA, "no %s: %s", what,
					   model->absent.items[i].why);
	return 0;
}

/* === Interface ============================================================================ */

int ks_api_model(struct ks_analyzer *analyzer, struct ks_model **ret_model, struct ks_diag *diag)
{
	int err = 0;

	if (!analyzer->source)
		return ks_diag_set(diag, -EINVAL, "the analysis has not begun");
	if (!analyzer->model)
		err = ks_analysis_snapshot(analyzer->analysis, &analyzer->model, diag);
	if (!err)
		*ret_model = analyzer->model;
	return err;
}

int ks_api_account(struct ks_analyzer *analyzer, enum ks_by by, struct ks_model **ret_model,
		   struct ks_diag *diag)
{
	struct ks_sums *first, wanted;
	struct ks_model *model = NULL;
	int err = ks_api_model(analyzer, &model, diag);
	size_t i;

	if (!err)
		err = absent(model, ks_by_name(by), diag);
	if (err)
		return err;
	first = model->accounts.items;
	for (i = 0; i < model->accounts.len; i++) {
		if (first[i].by != by)
			continue;
		wanted = first[i];
		first[i] = first[0];
		first[0] = wanted;
		*ret_model = model;
		return 0;
	}
	return ks_diag_set(diag, -ENOENT, "nobody asked for the report by %s", ks_by_name(by));
}

/* === Public =============================================================================== */

int ks_analyzer_new(const struct ks_analyzer_options *options, struct ks_analyzer **ret_analyzer,
		    struct ks_diag *diag)
{
	struct ks_analyzer_options own;
	struct ks_analyzer *analyzer;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (err)
		return err;
	analyzer = calloc(1, sizeof(*analyzer));
	if (!analyzer)
		return ks_diag_nomem(diag, "preparing an analysis");
	ks_arena_init(&analyzer->arena);
	err = set_up(analyzer, &own, diag);
	if (err)
		ks_analyzer_free(analyzer);
	else
		*ret_analyzer = analyzer;
	return err;
}

void ks_analyzer_free(struct ks_analyzer *analyzer)
{
	if (!analyzer)
		return;
	ks_model_free(analyzer->model);
	ks_source_close(analyzer->source);
	ks_analysis_free(analyzer->analysis);
	ks_resolver_free(analyzer->resolver);
	ks_helpers_deinit(&analyzer->helpers);
	ks_arena_deinit(&analyzer->arena);
	free(analyzer);
}

int ks_analyzer_ask_objects(struct ks_analyzer *analyzer, ks_object_callback *callback, void *ctx,
			    struct ks_diag *diag)
{
	int err = fresh(analyzer, diag);

	if (err)
		return err;
	if (analyzer->objects.callback)
		return ks_diag_set(diag, -EEXIST, "the objects were asked for");
	analyzer->objects = (struct ks_api_objects){ callback, ctx };
	return ks_analysis_add(analyzer->analysis,
			       ks_objects_view_new(ks_api_hand_out, &analyzer->objects), diag);
}

int ks_analyzer_ask_db(struct ks_analyzer *analyzer, const char *path, struct ks_diag *diag)
{
	const char *kept = NULL;
	int err = fresh(analyzer, diag);

	if (!err && !ks_filter_is_empty(&analyzer->filter))
		err = ks_diag_set(diag, -EINVAL, "%s: a DB has all events: it goes with no filter",
				  path);
	if (!err)
		err = keep(analyzer, path, &kept, diag);
	if (!err && !analyzer->bys[KS_BY_SITE]) {
		analyzer->bys[KS_BY_SITE] = true;
		err = ks_analysis_account(analyzer->analysis, KS_BY_SITE, diag);
	}
	return err ? err : ks_analysis_save(analyzer->analysis, kept, diag);
}

int ks_analyzer_run(struct ks_analyzer *analyzer, struct ks_capture *capture, struct ks_diag *diag)
{
	int err = open_source(analyzer, capture, diag);

	if (!err)
		err = ks_analysis_run(analyzer->analysis, analyzer->source, diag);
	analyzer->finished = true;
	return err;
}

int ks_analyzer_begin(struct ks_analyzer *analyzer, struct ks_capture *capture,
		      struct ks_diag *diag)
{
	int err = open_source(analyzer, capture, diag);

	return err ? err : ks_analysis_start(analyzer->analysis, analyzer->source, diag);
}

int ks_analyzer_step(struct ks_analyzer *analyzer, struct ks_diag *diag)
{
	struct ks_batch batch;
	int err = underway(analyzer, diag);

	if (err)
		return err;
	if (analyzer->source->db || !(analyzer->source->gives & KS_GIVES_EVENTS)) {
		analyzer->finished = true;
		return ks_analysis_run(analyzer->analysis, analyzer->source, diag);
	}
	err = ks_source_next(analyzer->source, &batch, diag);
	if (err)
		return err;
	if (!batch.count)
		return ks_analyzer_finish(analyzer, diag);
	err = ks_analysis_feed(analyzer->analysis, batch.events, batch.count, diag);
	return err ? err : 1;
}

int ks_analyzer_feed(struct ks_analyzer *analyzer, const struct ks_event_data *event,
		     struct ks_diag *diag)
{
	struct ks_event ev;
	int err = underway(analyzer, diag);

	if (!err)
		err = ks_api_event(event, &analyzer->source->names, &ev, diag);
	return err ? err : ks_analysis_feed(analyzer->analysis, &ev, 1, diag);
}

int ks_analyzer_finish(struct ks_analyzer *analyzer, struct ks_diag *diag)
{
	int err = underway(analyzer, diag);

	if (err)
		return err;
	analyzer->finished = true;
	return ks_analysis_finish(analyzer->analysis, diag);
}
