// SPDX-License-Identifier: LGPL-2.1-only
/* The comparison of two captures, as a table, JSON and CSV. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static size_t shown_rows(const struct ks_diff *diff, u64 top)
{
	return top && top < diff->rows.len ? (size_t)top : diff->rows.len;
}

/* After minus before, with its sign; JSON's and C's signed numbers are both too small for it. */
static void put_delta(struct ks_strbuf *out, const struct ks_diff_row *row, int width)
{
	char text[32];
	size_t len = sizeof(text) - 1;
	u64 v = row->after > row->before ? row->after - row->before : row->before - row->after;

	text[len] = '\0';
	do {
		text[--len] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (row->after != row->before)
		text[--len] = row->after > row->before ? '+' : '-';
	ks_strbuf_printf(out, "%*s", width, text + len);
}

/* "+25%", or nothing where there was nothing before. */
static void put_percent(struct ks_strbuf *out, const struct ks_diff_row *row)
{
	double percent;

	if (!row->before || row->before == row->after) {
		ks_strbuf_printf(out, " %9s", row->before ? "0%" : "-");
		return;
	}
	percent = ((double)row->after - (double)row->before) * 100 / (double)row->before;
	if (percent > 99999)
		ks_strbuf_printf(out, " %9s", ">99999%");
	else
		ks_strbuf_printf(out, " %+8.1f%%", percent);
}

static void put_row(struct ks_strbuf *out, const struct ks_diff_row *row, const char *change)
{
	put_delta(out, row, 14);
	ks_strbuf_printf(out, " %14llu %14llu", (unsigned long long)row->before,
			 (unsigned long long)row->after);
	put_percent(out, row);
	ks_strbuf_printf(out, "  %-7s ", change);
	ks_escape_tty(out, row->label, strlen(row->label));
	ks_strbuf_puts(out, "\n");
}

static const struct {
	const char *name;
	enum ks_measure measure;
} columns[] = {
	{ "live_bytes", KS_MEASURE_LIVE },	{ "waste", KS_MEASURE_WASTE },
	{ "live_objects", KS_MEASURE_OBJECTS }, { "peak_bytes", KS_MEASURE_PEAK },
	{ "total_bytes", KS_MEASURE_TOTAL },	{ "allocs", KS_MEASURE_ALLOCS },
};

static void put_side_json(struct ks_json *json, const char *key, const struct ks_stat *stat)
{
	size_t i;

	ks_json_object(json, key);
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		ks_json_u64(json, columns[i].name, ks_measure_of(stat, columns[i].measure));
	ks_json_end_object(json);
}

static void put_row_json(struct ks_json *json, const struct ks_diff_row *row)
{
	ks_json_string(json, "change", ks_change_name(row->change));
	ks_json_u64(json, "before", row->before);
	ks_json_u64(json, "after", row->after);
	if (row->in_a)
		put_side_json(json, "a", &row->a);
	if (row->in_b)
		put_side_json(json, "b", &row->b);
}

static void put_capture_json(struct ks_json *json, const char *key, const struct ks_model *model,
			     u64 size)
{
	ks_json_object(json, key);
	ks_json_string(json, "format", model->format);
	ks_json_u64(json, "first_ts", model->first_ts);
	ks_json_u64(json, "last_ts", model->last_ts);
	ks_json_u64(json, "events_total", model->events_total);
	ks_json_u64(json, "size", size);
	ks_render_quality_json(model, json);
	ks_json_end_object(json);
}

/* === Public =============================================================================== */

void ks_render_diff(const struct ks_diff *diff, u64 top, struct ks_strbuf *out)
{
	size_t shown = shown_rows(diff, top), i;
	int change;

	ks_strbuf_printf(out, "%14s %14s %14s %9s  %-7s %s\n", "change", "before", "after", "", "",
			 ks_by_name(diff->by));
	for (i = 0; i < shown; i++)
		put_row(out, &diff->rows.items[i], ks_change_name(diff->rows.items[i].change));
	put_row(out, &diff->total, "");
	ks_strbuf_printf(out, "\n%s, ", ks_measure_name(diff->measure));
	for (change = 0; change < KS_CHANGES; change++)
		ks_strbuf_printf(out, "%llu %s%s", (unsigned long long)diff->changes[change],
				 ks_change_name(change), change + 1 < KS_CHANGES ? ", " : "\n");
	if (diff->normal != KS_NORMAL_NONE)
		ks_strbuf_printf(out, "before is scaled by %.4f (%s of the second to the first)\n",
				 (double)diff->size_b / (double)diff->size_a,
				 ks_normal_name(diff->normal));
	ks_strbuf_puts(out, "\nthe first: ");
	ks_render_quality(diff->a, out);
	ks_strbuf_puts(out, "\nthe second: ");
	ks_render_quality(diff->b, out);
}

void ks_render_diff_json(const struct ks_diff *diff, u64 top, struct ks_strbuf *out)
{
	size_t shown = shown_rows(diff, top), i;
	struct ks_json json;
	int change;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", "kmemscope-diff-1");
	ks_json_string(&json, "level", ks_level_name(diff->a->level));
	ks_json_string(&json, "by", ks_by_name(diff->by));
	ks_json_string(&json, "measure", ks_measure_name(diff->measure));
	ks_json_string(&json, "normalize", ks_normal_name(diff->normal));
	put_capture_json(&json, "first", diff->a, diff->size_a);
	put_capture_json(&json, "second", diff->b, diff->size_b);
	ks_json_object(&json, "changes");
	for (change = 0; change < KS_CHANGES; change++)
		ks_json_u64(&json, ks_change_name(change), diff->changes[change]);
	ks_json_end_object(&json);
	ks_json_object(&json, "total");
	put_row_json(&json, &diff->total);
	ks_json_end_object(&json);
	ks_json_array(&json, "rows");
	for (i = 0; i < shown; i++) {
		ks_json_object(&json, NULL);
		ks_json_string(&json, ks_by_name(diff->by), diff->rows.items[i].label);
		put_row_json(&json, &diff->rows.items[i]);
		ks_json_end_object(&json);
	}
	ks_json_end_array(&json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}

void ks_render_diff_csv(const struct ks_diff *diff, u64 top, struct ks_strbuf *out)
{
	size_t shown = shown_rows(diff, top), i, k;

	ks_strbuf_printf(out, "%s,change,before,after,delta", ks_by_name(diff->by));
	for (k = 0; k < ARRAY_SIZE(columns); k++)
		ks_strbuf_printf(out, ",a_%s,b_%s", columns[k].name, columns[k].name);
	ks_strbuf_puts(out, "\n");
	for (i = 0; i < shown; i++) {
		const struct ks_diff_row *row = &diff->rows.items[i];

		ks_escape_csv(out, row->label, strlen(row->label));
		ks_strbuf_printf(out, ",%s,%llu,%llu,", ks_change_name(row->change),
				 (unsigned long long)row->before, (unsigned long long)row->after);
		put_delta(out, row, 0);
		for (k = 0; k < ARRAY_SIZE(columns); k++)
			ks_strbuf_printf(
				out, ",%llu,%llu",
				(unsigned long long)ks_measure_of(&row->a, columns[k].measure),
				(unsigned long long)ks_measure_of(&row->b, columns[k].measure));
		ks_strbuf_puts(out, "\n");
	}
}
