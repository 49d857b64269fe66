// SPDX-License-Identifier: LGPL-2.1-only
/* The comparison with another capture, in the data of the HTML report. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/html.h"

/* === Data ================================================================================= */

const enum ks_by ks_html_diff_by[KS_HTML_DIFFS] = { KS_BY_SITE, KS_BY_FUNCTION, KS_BY_CACHE,
						    KS_BY_MODULE };

/* === Internals ============================================================================ */

/* Each measure, or 0 for a group that this capture does not have. */
static void put_measures(struct ks_json *json, bool there, const struct ks_stat *stat)
{
	int measure;

	if (!there) {
		ks_json_u64(json, NULL, 0);
		return;
	}
	ks_json_array(json, NULL);
	for (measure = 0; measure < KS_MEASURES; measure++)
		ks_json_u64(json, NULL, ks_measure_of(stat, measure));
	ks_json_end_array(json);
}

/* [label, before, after] */
static void put_row(struct ks_json *json, const char *key, const struct ks_diff_row *row)
{
	ks_json_array(json, key);
	ks_json_string(json, NULL, row->label);
	put_measures(json, row->in_a, &row->a);
	put_measures(json, row->in_b, &row->b);
	ks_json_end_array(json);
}

static void put_digits(struct ks_json *json, u64 value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	ks_json_string(json, NULL, digits);
}

/* Strings: they are multiplied with bytes, which is too much for the numbers of JavaScript. */
static void put_sizes(struct ks_json *json, const struct ks_html_diff *diff)
{
	int normal;

	ks_json_object(json, "sizes");
	for (normal = 0; normal < KS_NORMALS; normal++) {
		ks_json_array(json, ks_normal_name(normal));
		put_digits(json, diff->size_before[normal]);
		put_digits(json, diff->size_after[normal]);
		ks_json_end_array(json);
	}
	ks_json_end_object(json);
}

static void put_grouping(struct ks_json *json, const struct ks_diff *diff)
{
	size_t i;

	ks_json_break(json);
	ks_json_object(json, ks_by_name(diff->by));
	put_row(json, "total", &diff->total);
	ks_json_array(json, "rows");
	for (i = 0; i < diff->rows.len; i++) {
		ks_json_break(json);
		put_row(json, NULL, &diff->rows.items[i]);
	}
	ks_json_end_array(json);
	ks_json_end_object(json);
}

/* === Public =============================================================================== */

int ks_html_diff_init(struct ks_html_diff *diff, const char *name, const struct ks_model *before,
		      const struct ks_model *after, const struct ks_filter *filter,
		      struct ks_diag *diag)
{
	int i, err;

	*diff = (struct ks_html_diff){ .name = name };
	for (i = 0; i < KS_HTML_DIFFS; i++) {
		err = ks_diff_init(&diff->by[i], before, after, ks_html_diff_by[i], filter,
				   KS_MEASURE_LIVE, KS_NORMAL_NONE, diag);
		if (err)
			return err;
		diff->len++;
	}
	for (i = 0; i < KS_NORMALS; i++) {
		diff->size_before[i] = ks_diff_size(before, filter, (enum ks_normal)i);
		diff->size_after[i] = ks_diff_size(after, filter, (enum ks_normal)i);
	}
	return 0;
}

void ks_html_diff_deinit(struct ks_html_diff *diff)
{
	while (diff->len)
		ks_diff_deinit(&diff->by[--diff->len]);
}

void ks_html_diff(const void *part, struct ks_json *json)
{
	const struct ks_html_diff *diff = part;
	const struct ks_model *before = diff->by[0].a, *after = diff->by[0].b;
	int measure, i;

	ks_json_break(json);
	ks_json_object(json, "diff");
	ks_json_string(json, "name", diff->name);
	ks_json_string(json, "kernel", before->kernel);
	ks_json_bool(json, "lossy", ks_model_has_loss(before));
	ks_json_bool(json, "same_clock", before->clock == after->clock);
	ks_json_array(json, "measures");
	for (measure = 0; measure < KS_MEASURES; measure++)
		ks_json_string(json, NULL, ks_measure_name(measure));
	ks_json_end_array(json);
	put_sizes(json, diff);
	ks_json_object(json, "by");
	for (i = 0; i < KS_HTML_DIFFS; i++)
		put_grouping(json, &diff->by[i]);
	ks_json_end_object(json);
	ks_json_end_object(json);
}
