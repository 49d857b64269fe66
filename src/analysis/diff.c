// SPDX-License-Identifier: LGPL-2.1-only
/* The comparison of models: of two, or of several a side. */
#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/num.h"
#include "base/u128.h"

/* === Data ================================================================================= */

static const char *const measure_names[] = {
	[KS_MEASURE_LIVE] = "live", [KS_MEASURE_WASTE] = "waste", [KS_MEASURE_OBJECTS] = "objects",
	[KS_MEASURE_PEAK] = "peak", [KS_MEASURE_TOTAL] = "total", [KS_MEASURE_ALLOCS] = "allocs",
};
_Static_assert(ARRAY_SIZE(measure_names) == KS_MEASURES, "a name for every measure");

static const char *const normal_names[] = { "none", "time", "events" };
_Static_assert(ARRAY_SIZE(normal_names) == KS_NORMALS, "a name for every way");

static const char *const change_names[] = { "grown", "shrunk", "new", "gone", "same" };
_Static_assert(ARRAY_SIZE(change_names) == KS_CHANGES, "a name for every change");

/* === Internals ============================================================================ */

/* Rounded to the nearest, and stopped at the top. */
static u64 scale(u64 value, u64 to, u64 from)
{
	struct ks_u128 scaled = ks_u128_add(ks_u128_mul(value, to), ks_u128_of(from / 2));

	return ks_u128_div(scaled, from);
}

/* New is what was not there, and what had nothing of the measure: 0 grows to anything. */
static enum ks_change change_of(const struct ks_diff_row *row)
{
	if (!row->in_a || (!row->before && row->after))
		return KS_NEW;
	if (!row->in_b || (row->before && !row->after))
		return KS_GONE;
	if (row->before == row->after)
		return KS_SAME;
	return row->before < row->after ? KS_GROWN : KS_SHRUNK;
}

/* Peaks at different times add up to a bound: namesakes are rare, and nothing better is known. */
static void add_stat(struct ks_stat *sum, const struct ks_stat *stat)
{
	ks_stat_add_counts(sum, stat);
	if (ks_stat_has_peak(sum) && ks_stat_has_peak(stat))
		sum->peak_bytes += stat->peak_bytes;
	else
		sum->peak_bytes = KS_PEAK_UNKNOWN;
}

/* === Internals: values and noise ========================================================== */

/* The values of one side's captures for one row. */
struct spread {
	u64 min, max;
	double sum, squares;
	size_t seen; /* captures that have the group */
};

static void spread_add(struct spread *spread, u64 value)
{
	spread->min = spread->seen ? ks_min(spread->min, value) : value;
	spread->max = ks_max(spread->max, value);
	spread->sum += (double)value;
	spread->squares += (double)value * (double)value;
	spread->seen++;
}

/* Captures without the group have nothing of it. */
static void spread_close(struct spread *spread, size_t captures)
{
	if (spread->seen < captures)
		spread->min = 0;
}

static double deviation_sum(const struct spread *spread, size_t captures)
{
	return fmax(spread->squares - spread->sum * spread->sum / (double)captures, 0);
}

/* Student's t for one chance in a hundred, by degrees of freedom. */
static double student(size_t freedom)
{
	static const double values[] = { 63.66, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50,
					 3.36,	3.25, 3.17, 3.11, 3.05, 3.01, 2.98 };

	return freedom <= ARRAY_SIZE(values) ? values[freedom - 1] : 2.95;
}

static void judge_noise(const struct ks_diff *diff, struct ks_diff_row *row, const struct spread *a,
			const struct spread *b)
{
	size_t n = diff->before.len, m = diff->after.len;
	double variance = (deviation_sum(a, n) + deviation_sum(b, m)) / (double)(n + m - 2);
	double noise = student(n + m - 2) * sqrt(variance * (1 / (double)n + 1 / (double)m));
	double change = fabs((double)row->after - (double)row->before);

	row->noise = noise < 1e18 ? (u64)ceil(noise) : (u64)1e18;
	row->signal = change > noise && (a->max < b->min || b->max < a->min);
}

static void mean_stat(struct ks_stat *stat, size_t captures)
{
	stat->live_bytes /= captures;
	stat->live_req /= captures;
	stat->live_objs /= captures;
	stat->total_bytes /= captures;
	stat->total_req /= captures;
	stat->allocs /= captures;
	stat->frees /= captures;
	if (ks_stat_has_peak(stat))
		stat->peak_bytes /= captures;
}

static u64 mean_of(const struct spread *spread, size_t captures)
{
	if (captures == 1)
		return spread->max; /* exact, also where a double is not */
	return (u64)(spread->sum / (double)captures + 0.5);
}

static void measure_row(const struct ks_diff *diff, struct ks_diff_row *row, struct spread *a,
			struct spread *b)
{
	spread_close(a, diff->before.len);
	spread_close(b, diff->after.len);
	row->before = mean_of(a, diff->before.len);
	row->after = mean_of(b, diff->after.len);
	row->change = change_of(row);
	mean_stat(&row->a, diff->before.len);
	mean_stat(&row->b, diff->after.len);
	if (diff->has_noise)
		judge_noise(diff, row, a, b);
	else
		row->signal = row->before != row->after;
}

/* === Internals: rows ====================================================================== */

struct making {
	struct ks_diff *diff;
	const struct ks_filter *filter;
	struct ks_intern labels;
	KS_VEC(struct spread) a, b; /* by row */
	KS_VEC(struct ks_stat) one; /* of the capture that is added, by row */
	struct spread total_a, total_b;
};

static int add_row(struct making *making, const char *label)
{
	struct ks_diff_row *row = ks_vec_push(&making->diff->rows);

	if (!row || !ks_vec_push(&making->a) || !ks_vec_push(&making->b) ||
	    !ks_vec_push(&making->one))
		return -ENOMEM;
	row->label = label;
	return 0;
}

/* Rows are numbered as their labels are. */
static int add_model(struct making *making, const struct ks_model *model, bool second)
{
	struct ks_diff *diff = making->diff;
	const struct ks_sums *sums = ks_model_account_by(model, diff->by);
	u64 size = ks_diff_size(model, making->filter, diff->normal);
	size_t i;

	for (i = 0; i < making->one.len; i++)
		making->one.items[i] = (struct ks_stat){ 0 };
	for (i = 0; sums && i < sums->groups.len; i++) {
		const struct ks_group *group = &sums->groups.items[i];
		u32 id = ks_intern_add(&making->labels, group->label, strlen(group->label));
		struct ks_diff_row *row;

		if (id == KS_NONE || (id == diff->rows.len && add_row(making, group->label)))
			return -ENOMEM;
		row = &diff->rows.items[id];
		add_stat(second ? &row->b : &row->a, &group->stat);
		add_stat(&making->one.items[id], &group->stat);
		*(second ? &row->in_b : &row->in_a) = true;
	}
	for (i = 0; i < making->one.len; i++)
		spread_add(second ? &making->b.items[i] : &making->a.items[i],
			   scale(ks_measure_of(&making->one.items[i], diff->measure), diff->size_b,
				 size));
	spread_add(second ? &making->total_b : &making->total_a,
		   scale(ks_measure_of(ks_model_total(model), diff->measure), diff->size_b, size));
	add_stat(second ? &diff->total.b : &diff->total.a, ks_model_total(model));
	return 0;
}

static int add_models(struct making *making)
{
	const struct ks_diff *diff = making->diff;
	size_t i;
	int err = ks_intern_init(&making->labels);

	for (i = 0; i < diff->before.len && !err; i++)
		err = add_model(making, diff->before.models[i], false);
	for (i = 0; i < diff->after.len && !err; i++)
		err = add_model(making, diff->after.models[i], true);
	return err;
}

static u64 change_size(const struct ks_diff_row *row)
{
	return row->after > row->before ? row->after - row->before : row->before - row->after;
}

static int compare(const void *pa, const void *pb)
{
	const struct ks_diff_row *a = pa, *b = pb;
	u64 keys[][2] = {
		{ a->signal, b->signal },
		{ change_size(a), change_size(b) },
		{ a->after, b->after },
		{ a->b.total_bytes, b->b.total_bytes },
		{ a->a.total_bytes, b->a.total_bytes },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	return strcmp(a->label, b->label);
}

static u64 mean_size(const struct ks_diff_side *side, const struct ks_filter *filter,
		     enum ks_normal normal)
{
	u64 sum = 0, size;
	size_t i;

	for (i = 0; i < side->len; i++) {
		size = ks_diff_size(side->models[i], filter, normal);
		if (!size)
			return 0;
		sum = ks_add_sat(sum, size);
	}
	return sum / side->len;
}

static int set_sizes(struct ks_diff *diff, const struct ks_filter *filter, struct ks_diag *diag)
{
	diff->size_a = mean_size(&diff->before, filter, diff->normal);
	diff->size_b = mean_size(&diff->after, filter, diff->normal);
	if (diff->size_a && diff->size_b)
		return 0;
	return ks_diag_set(diag, KS_EBADINPUT, "the %s capture covers no %s to normalise by",
			   diff->size_a ? "second" : "first", normal_names[diff->normal]);
}

/* === Public =============================================================================== */

const char *ks_measure_name(enum ks_measure measure)
{
	return measure < KS_MEASURES ? measure_names[measure] : "?";
}

u64 ks_measure_of(const struct ks_stat *stat, enum ks_measure measure)
{
	switch (measure) {
	case KS_MEASURE_LIVE:
		return stat->live_bytes;
	case KS_MEASURE_WASTE:
		return ks_stat_waste(stat);
	case KS_MEASURE_OBJECTS:
		return stat->live_objs;
	case KS_MEASURE_PEAK:
		return ks_stat_has_peak(stat) ? stat->peak_bytes : 0;
	case KS_MEASURE_TOTAL:
		return stat->total_bytes;
	case KS_MEASURE_ALLOCS:
		return stat->allocs;
	case KS_MEASURES:
		break;
	}
	return 0;
}

const char *ks_normal_name(enum ks_normal normal)
{
	return normal < KS_NORMALS ? normal_names[normal] : "?";
}

u64 ks_diff_size(const struct ks_model *model, const struct ks_filter *filter,
		 enum ks_normal normal)
{
	const struct ks_stat *total = ks_model_total(model);

	switch (normal) {
	case KS_NORMAL_TIME:
		return ks_filter_span(filter, &model->wall, model->first_ts, model->last_ts);
	case KS_NORMAL_EVENTS:
		return total->allocs + total->frees + total->failed;
	default:
		return 1;
	}
}

const char *ks_change_name(enum ks_change change)
{
	return change < KS_CHANGES ? change_names[change] : "?";
}

int ks_diff_init_sides(struct ks_diff *diff, const struct ks_diff_side *before,
		       const struct ks_diff_side *after, enum ks_by by,
		       const struct ks_filter *filter, enum ks_measure measure,
		       enum ks_normal normal, struct ks_diag *diag)
{
	struct making making = { .diff = diff, .filter = filter };
	size_t i;
	int err;

	*diff = (struct ks_diff){
		.a = before->models[0],
		.b = after->models[0],
		.before = *before,
		.after = *after,
		.has_noise = before->len + after->len > 2,
		.by = by,
		.measure = measure,
		.normal = normal,
		.total = { .label = "all", .in_a = true, .in_b = true },
	};
	err = set_sizes(diff, filter, diag);
	if (err)
		return err;
	err = add_models(&making);
	for (i = 0; i < diff->rows.len && !err; i++) {
		struct ks_diff_row *row = &diff->rows.items[i];

		measure_row(diff, row, &making.a.items[i], &making.b.items[i]);
		diff->changes[row->change]++;
		diff->signals += row->signal;
	}
	measure_row(diff, &diff->total, &making.total_a, &making.total_b);
	if (diff->rows.len && !err)
		qsort(diff->rows.items, diff->rows.len, sizeof(struct ks_diff_row), compare);
	ks_intern_deinit(&making.labels);
	ks_vec_free(&making.a);
	ks_vec_free(&making.b);
	ks_vec_free(&making.one);
	if (!err)
		return 0;
	ks_diff_deinit(diff);
	return ks_diag_nomem(diag, "comparing captures");
}

int ks_diff_init(struct ks_diff *diff, const struct ks_model *a, const struct ks_model *b,
		 enum ks_by by, const struct ks_filter *filter, enum ks_measure measure,
		 enum ks_normal normal, struct ks_diag *diag)
{
	const struct ks_diff_side before = { &a, 1 }, after = { &b, 1 };
	int err = ks_diff_init_sides(diff, &before, &after, by, filter, measure, normal, diag);

	diff->before.models = diff->after.models = NULL; /* they were the caller's for the call */
	return err;
}

void ks_diff_deinit(struct ks_diff *diff)
{
	ks_vec_free(&diff->rows);
}
