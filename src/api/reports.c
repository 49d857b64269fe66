// SPDX-License-Identifier: LGPL-2.1-only
/* The reports of an analysis by name: what each asks of it, and how its document is made. */
#include <string.h>

#include "analysis/timeline.h"
#include "analysis/views.h"
#include "api/api.h"
#include "report/timeline.h"

/* === Data ================================================================================= */

struct report {
	const char *name, *summary;
	int (*ask)(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		   struct ks_diag *diag);
	int (*answer)(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		      struct ks_doc **ret_doc, struct ks_diag *diag);
};

enum { INFO, GROUPS, LEAKS, FRAG, TIMELINE, BEFORE, REPORTS };

enum { BUCKETS = 60 }; /* of a timeline, where nobody says */

static const struct report reports[REPORTS];

/* === Internals ============================================================================ */

static int take_by(const struct ks_report_options *options, enum ks_by *ret_by,
		   struct ks_diag *diag)
{
	unsigned int by;
	int err = ks_api_choice("by", options->by, ks_api_by_name, KS_BYS, &by, diag);

	if (!err)
		*ret_by = (enum ks_by)by;
	return err;
}

static int take_order(const struct ks_report_options *options, enum ks_order *ret_order,
		      struct ks_diag *diag)
{
	int order = options->order ? ks_order_from_name(options->order) : KS_ORDER_CURRENT;

	if (order < 0)
		return ks_diag_set(diag, -EINVAL,
				   "order '%s': choose one of live total allocs frees waste peak",
				   options->order);
	*ret_order = (enum ks_order)order;
	return 0;
}

/* A view is asked for once, whatever its options. */
static int add_view(struct ks_analyzer *analyzer, unsigned int report, struct ks_view *view,
		    struct ks_diag *diag)
{
	int err = ks_analysis_add(analyzer->analysis, view, diag);

	if (!err)
		analyzer->asked |= 1u << report;
	return err;
}

/* Why the capture gave nothing for a report that was asked for. */
static int lacks(const struct ks_model *model, const char *what, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < model->absent.len; i++)
		if (!strcmp(model->absent.items[i].what, what))
			return ks_diag_set(diag, -ENODATA, "no %s: %s", what,
					   model->absent.items[i].why);
	return ks_diag_set(diag, -ENODATA, "no %s: the capture has no events", what);
}

static const char *dim_name(unsigned int dim)
{
	return ks_tl_dim_name((enum ks_tl_dim)dim);
}

/* === Internals: each report =============================================================== */

static int ask_info(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		    struct ks_diag *diag)
{
	ks_analysis_count_names(analyzer->analysis);
	analyzer->asked |= 1u << INFO;
	return 0;
}

static int answer_info(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		       struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_model *model;
	int err = ks_api_model(analyzer, &model, diag);

	if (!err)
		*ret_doc = ks_doc_of_info(model);
	return err;
}

static int ask_groups(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		      struct ks_diag *diag)
{
	enum ks_order order = KS_ORDER_CURRENT;
	enum ks_by by = KS_BY_SITE;
	int err = take_by(options, &by, diag);

	if (!err)
		err = take_order(options, &order, diag);
	if (!err && !analyzer->bys[by])
		err = ks_analysis_account(analyzer->analysis, by, diag);
	if (err)
		return err;
	analyzer->bys[by] = true;
	analyzer->asked |= 1u << GROUPS;
	return 0;
}

static int answer_groups(struct ks_analyzer *analyzer, const struct ks_report_options *options,
			 struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_model *model;
	struct ks_rows rows;
	enum ks_order order = KS_ORDER_CURRENT;
	enum ks_by by = KS_BY_SITE;
	int err = take_by(options, &by, diag);

	if (!err)
		err = take_order(options, &order, diag);
	if (!err)
		err = ks_api_account(analyzer, by, &model, diag);
	if (err)
		return err;
	*ret_doc = NULL;
	if (!ks_rows_init(&rows, model, order, options->top))
		*ret_doc = ks_doc_of_groups(model, &rows, order, "kmemscope-report-1");
	ks_rows_deinit(&rows);
	return 0;
}

static int ask_leaks(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		     struct ks_diag *diag)
{
	bool stacks = options->flags & KS_REPORT_STACKS;

	if (!(analyzer->asked & 1u << LEAKS)) {
		analyzer->leaks = *options;
		return add_view(analyzer, LEAKS, ks_leaks_view_new(options->min_age_ns, stacks),
				diag);
	}
	if (analyzer->leaks.min_age_ns == options->min_age_ns &&
	    !!(analyzer->leaks.flags & KS_REPORT_STACKS) == stacks)
		return 0;
	return ks_diag_set(diag, -EEXIST, "leaks were asked for with another age or stacks");
}

static int answer_leaks(struct ks_analyzer *analyzer, const struct ks_report_options *options,
			struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_model *model;
	int err = ks_api_model(analyzer, &model, diag);

	if (err)
		return err;
	if (!model->leaks)
		return lacks(model, "leaks", diag);
	*ret_doc =
		ks_doc_of_leaks(model, model->leaks, options->top, options->flags & KS_REPORT_ALL);
	return 0;
}

static int ask_frag(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		    struct ks_diag *diag)
{
	return analyzer->asked & 1u << FRAG ? 0
					    : add_view(analyzer, FRAG, ks_frag_view_new(), diag);
}

static int answer_frag(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		       struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_model *model;
	int err = ks_api_model(analyzer, &model, diag);

	if (err)
		return err;
	if (!model->frag)
		return lacks(model, "fragmentation", diag);
	*ret_doc = ks_doc_of_frag(model, model->frag, options->top);
	return 0;
}

static int ask_timeline(struct ks_analyzer *analyzer, const struct ks_report_options *options,
			struct ks_diag *diag)
{
	return analyzer->asked & 1u << TIMELINE
		       ? 0
		       : add_view(analyzer, TIMELINE, ks_timeline_view_new(), diag);
}

static int answer_timeline(struct ks_analyzer *analyzer, const struct ks_report_options *options,
			   struct ks_doc **ret_doc, struct ks_diag *diag)
{
	u64 buckets = options->buckets ? options->buckets : BUCKETS;
	struct ks_moments moments;
	struct ks_model *model;
	unsigned int dim = 0;
	int err = ks_api_choice("by", options->by, dim_name, KS_TL_STACK, &dim, diag);

	if (!err)
		err = ks_api_model(analyzer, &model, diag);
	if (err)
		return err;
	if (!model->timeline)
		return lacks(model, "timeline", diag);
	while (model->timeline->buckets > buckets && model->timeline->buckets > 1)
		ks_timeline_halve(model->timeline);
	*ret_doc = NULL;
	if (!ks_moments_init(&moments, model, model->timeline, (enum ks_tl_dim)dim,
			     options->top ? options->top : UINT64_MAX)) {
		*ret_doc = ks_doc_of_timeline(&moments);
		ks_moments_deinit(&moments);
	}
	/* The next answer may want finer buckets. */
	ks_model_free(analyzer->model);
	analyzer->model = NULL;
	return 0;
}

static int ask_before(struct ks_analyzer *analyzer, const struct ks_report_options *options,
		      struct ks_diag *diag)
{
	analyzer->asked |= 1u << BEFORE;
	return 0;
}

static int answer_before(struct ks_analyzer *analyzer, const struct ks_report_options *options,
			 struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_model *model;
	int err = ks_api_model(analyzer, &model, diag);

	if (!err)
		*ret_doc = ks_doc_of_before(model, options->top);
	return err;
}

static const struct report reports[REPORTS] = {
	[INFO] = { "info", "what is in the capture: format, span, events, quality", ask_info,
		   answer_info },
	[GROUPS] = { "report", "live bytes, waste, peak, allocations and frees by any group",
		     ask_groups, answer_groups },
	[LEAKS] = { "leaks", "what lives at the end, with what speaks for a leak", ask_leaks,
		    answer_leaks },
	[FRAG] = { "frag", "requested and allocated bytes by site and by size", ask_frag,
		   answer_frag },
	[TIMELINE] = { "timeline", "live bytes, peaks and rates over time", ask_timeline,
		       answer_timeline },
	[BEFORE] = { "before", "what the kernel had when recording began", ask_before,
		     answer_before },
};

static int find(const char *name, unsigned int *ret_report, struct ks_diag *diag)
{
	unsigned int i;

	for (i = 0; i < REPORTS; i++) {
		if (strcmp(name, reports[i].name))
			continue;
		*ret_report = i;
		return 0;
	}
	return ks_diag_set(diag, -ENOENT, "there is no report '%s'", name);
}

/* === Public =============================================================================== */

const char *ks_report_name(size_t number)
{
	return number < REPORTS ? reports[number].name : NULL;
}

const char *ks_report_summary(size_t number)
{
	return number < REPORTS ? reports[number].summary : NULL;
}

int ks_analyzer_ask(struct ks_analyzer *analyzer, const char *report,
		    const struct ks_report_options *options, struct ks_diag *diag)
{
	struct ks_report_options own;
	unsigned int number = 0;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (!err)
		err = find(report, &number, diag);
	if (!err && analyzer->source)
		err = ks_diag_set(diag, -EBUSY, "the analysis has begun: ask before it does");
	return err ? err : reports[number].ask(analyzer, &own, diag);
}

int ks_analyzer_answer(struct ks_analyzer *analyzer, const char *report,
		       const struct ks_report_options *options, struct ks_document **ret_document,
		       struct ks_diag *diag)
{
	struct ks_report_options own;
	struct ks_doc *doc = NULL;
	unsigned int number = 0;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (!err)
		err = find(report, &number, diag);
	if (!err && !(analyzer->asked & 1u << number))
		err = ks_diag_set(diag, -ENOENT, "nobody asked for the report '%s'", report);
	if (!err)
		err = reports[number].answer(analyzer, &own, &doc, diag);
	return err ? err : ks_api_document(doc, ret_document, diag);
}
