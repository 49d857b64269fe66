// SPDX-License-Identifier: LGPL-2.1-only
/* The comparison of two models. */
#include "analysis/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
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
static u64 scale(const struct ks_diff *diff, u64 value)
{
	struct ks_u128 scaled =
		ks_u128_add(ks_u128_mul(value, diff->size_b), ks_u128_of(diff->size_a / 2));

	return ks_u128_div(scaled, diff->size_a);
}

static enum ks_change change_of(const struct ks_diff_row *row)
{
	if (!row->in_a)
		return KS_NEW;
	if (!row->in_b)
		return KS_GONE;
	if (row->before == row->after)
		return KS_SAME;
	return row->before < row->after ? KS_GROWN : KS_SHRUNK;
}

static void measure_row(const struct ks_diff *diff, struct ks_diff_row *row)
{
	row->before = scale(diff, ks_measure_of(&row->a, diff->measure));
	row->after = ks_measure_of(&row->b, diff->measure);
	row->change = change_of(row);
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

/* Rows are numbered as their labels are. */
static int add_groups(struct ks_diff *diff, struct ks_intern *labels, const struct ks_model *model,
		      bool second)
{
	const struct ks_sums *sums = ks_model_account_by(model, diff->by);
	size_t i;

	for (i = 0; sums && i < sums->groups.len; i++) {
		const struct ks_group *group = &sums->groups.items[i];
		u32 id = ks_intern_add(labels, group->label, strlen(group->label));
		struct ks_diff_row *row;

		if (id == KS_NONE)
			return -ENOMEM;
		if (id == diff->rows.len) {
			row = ks_vec_push(&diff->rows);
			if (!row)
				return -ENOMEM;
			row->label = group->label;
		}
		row = &diff->rows.items[id];
		add_stat(second ? &row->b : &row->a, &group->stat);
		*(second ? &row->in_b : &row->in_a) = true;
	}
	return 0;
}

static u64 change_size(const struct ks_diff_row *row)
{
	return row->after > row->before ? row->after - row->before : row->before - row->after;
}

static int compare(const void *pa, const void *pb)
{
	const struct ks_diff_row *a = pa, *b = pb;
	u64 keys[][2] = {
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

static int set_sizes(struct ks_diff *diff, const struct ks_filter *filter, struct ks_diag *diag)
{
	diff->size_a = ks_diff_size(diff->a, filter, diff->normal);
	diff->size_b = ks_diff_size(diff->b, filter, diff->normal);
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
		return ks_filter_span(filter, model->first_ts, model->last_ts);
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

int ks_diff_init(struct ks_diff *diff, const struct ks_model *a, const struct ks_model *b,
		 enum ks_by by, const struct ks_filter *filter, enum ks_measure measure,
		 enum ks_normal normal, struct ks_diag *diag)
{
	struct ks_intern labels = { 0 };
	size_t i;
	int err;

	*diff = (struct ks_diff){ .a = a, .b = b, .by = by, .measure = measure, .normal = normal };
	err = set_sizes(diff, filter, diag);
	if (err)
		return err;
	if (ks_intern_init(&labels) || add_groups(diff, &labels, a, false) ||
	    add_groups(diff, &labels, b, true)) {
		ks_intern_deinit(&labels);
		ks_diff_deinit(diff);
		return ks_diag_nomem(diag, "comparing captures");
	}
	ks_intern_deinit(&labels);
	for (i = 0; i < diff->rows.len; i++) {
		measure_row(diff, &diff->rows.items[i]);
		diff->changes[diff->rows.items[i].change]++;
	}
	if (diff->rows.len)
		qsort(diff->rows.items, diff->rows.len, sizeof(struct ks_diff_row), compare);
	diff->total = (struct ks_diff_row){
		.label = "all",
		.a = *ks_model_total(a),
		.b = *ks_model_total(b),
		.in_a = true,
		.in_b = true,
	};
	measure_row(diff, &diff->total);
	return 0;
}

void ks_diff_deinit(struct ks_diff *diff)
{
	ks_vec_free(&diff->rows);
}
