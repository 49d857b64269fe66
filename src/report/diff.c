// SPDX-License-Identifier: LGPL-2.1-only
/* The comparison of two captures. */
#include <inttypes.h>
#include <stddef.h>

#include "report/report.h"

/* === Data ================================================================================= */

enum {
	LABEL,
	CHANGE,
	BEFORE,
	AFTER,
	DELTA,
	NOISE,
	SIGNAL,
	PERCENT,
	A, /* the measures of the first capture, then those of the second */
	B = A + KS_MEASURES,
	COLUMNS = B + KS_MEASURES
};

static ks_show_fn show_change, show_percent;

/* A measure in both captures: in objects "a" and "b" of JSON, which a row may lack. */
#define MEASURE(measure, its_name, its_unit)                                  \
	[A + (measure)] = { its_name, NULL,	     KS_CELL_U64,             \
			    its_unit, .object = "a", .flat = "a_" its_name }, \
	     [B + (measure)] = { its_name, NULL,	  KS_CELL_U64,        \
				 its_unit, .object = "b", .flat = "b_" its_name }

/* The label's name is that of the grouping. */
static const struct ks_column columns[COLUMNS] = {
	[LABEL] = { "site", "site", KS_CELL_TEXT, .gap = 1 },
	[CHANGE] = { "change", "", KS_CELL_TEXT, .width = 7, .show = show_change },
	/* Their unit is that of the measure. */
	[BEFORE] = { "before", "before", KS_CELL_U64, .width = 12, .gap = 1 },
	[AFTER] = { "after", "after", KS_CELL_U64, .width = 12, .gap = 1 },
	[DELTA] = { "delta", "change", KS_CELL_CHANGE, .width = 12 },
	[NOISE] = { "noise", "noise", KS_CELL_U64, .width = 12, .gap = 1 },
	[SIGNAL] = { "signal", NULL, KS_CELL_BOOL },
	[PERCENT] = { NULL, "", KS_CELL_DOUBLE, KS_UNIT_RATIO, .width = 9, .gap = 1,
		      .show = show_percent },
	MEASURE(KS_MEASURE_LIVE, "live_bytes", KS_UNIT_BYTES),
	MEASURE(KS_MEASURE_WASTE, "waste", KS_UNIT_BYTES),
	MEASURE(KS_MEASURE_OBJECTS, "live_objects", KS_UNIT_OBJECTS),
	MEASURE(KS_MEASURE_PEAK, "peak_bytes", KS_UNIT_BYTES),
	MEASURE(KS_MEASURE_TOTAL, "total_bytes", KS_UNIT_BYTES),
	MEASURE(KS_MEASURE_ALLOCS, "allocs", KS_UNIT_COUNT),
};

/* === Internals ============================================================================ */

/* The totals change too, but it would say nothing to call that new or gone. */
static void show_change(const struct ks_table *table, size_t row, unsigned int column,
			struct ks_strbuf *out)
{
	if (row != KS_TOTAL)
		ks_strbuf_puts(out, ks_table_cell(table, row, column)->text);
}

/* "+25.0%", or nothing where there was nothing before. */
static void show_percent(const struct ks_table *table, size_t row, unsigned int column,
			 struct ks_strbuf *out)
{
	u64 before = ks_table_cell(table, row, BEFORE)->u64;
	u64 after = ks_table_cell(table, row, AFTER)->u64;
	double percent;

	(void)column;
	if (!before || before == after) {
		ks_strbuf_puts(out, before ? "0%" : "-");
		return;
	}
	percent = ((double)after - (double)before) * 100 / (double)before;
	if (percent > 99999)
		ks_strbuf_puts(out, ">99999%");
	else
		ks_strbuf_printf(out, "%+.1f%%", percent);
}

static enum ks_unit unit_of(enum ks_measure measure)
{
	if (measure == KS_MEASURE_OBJECTS)
		return KS_UNIT_OBJECTS;
	return measure == KS_MEASURE_ALLOCS ? KS_UNIT_COUNT : KS_UNIT_BYTES;
}

static struct ks_table *new_table(struct ks_doc *doc, const struct ks_diff *diff)
{
	static const unsigned int in_text[] = { DELTA, BEFORE, AFTER, PERCENT, CHANGE, LABEL };
	static const unsigned int with_noise[] = { DELTA,   NOISE,  BEFORE, AFTER,
						   PERCENT, CHANGE, LABEL };
	unsigned int in_json[COLUMNS], in_csv[COLUMNS] = { LABEL, CHANGE, BEFORE, AFTER, DELTA };
	const char *label = ks_by_name(diff->by);
	struct ks_column mine[COLUMNS];
	size_t json = 0, csv = DELTA + 1, i;
	struct ks_table *table;

	for (i = 0; i < COLUMNS; i++) {
		mine[i] = columns[i];
		if (i >= BEFORE && i <= NOISE)
			mine[i].unit = unit_of(diff->measure);
		/* JSON has the two numbers and no need for a third. */
		if (i < DELTA || i >= A || (diff->has_noise && (i == NOISE || i == SIGNAL)))
			in_json[json++] = (unsigned int)i;
	}
	if (diff->has_noise) {
		in_csv[csv++] = NOISE;
		in_csv[csv++] = SIGNAL;
	}
	/* A measure of the first capture stands beside that of the second. */
	for (i = 0; i < KS_MEASURES; i++) {
		in_csv[csv++] = (unsigned int)(A + i);
		in_csv[csv++] = (unsigned int)(B + i);
	}
	mine[LABEL].name = mine[LABEL].head = label;
	table = ks_doc_loose_table(doc, "rows", mine, COLUMNS);
	if (diff->has_noise)
		ks_table_select(table, KS_FORM_TEXT, with_noise, ARRAY_SIZE(with_noise));
	else
		ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	ks_table_select(table, KS_FORM_JSON, in_json, json);
	ks_table_select(table, KS_FORM_CSV, in_csv, csv);
	ks_table_select(table, KS_FORM_PARQUET, in_csv, csv);
	return table;
}

/* People look for what changed. Rows that did not, or by no more than noise, are the last ones. */
static size_t count_changed(const struct ks_table *table)
{
	size_t shown = 0;

	while (table && shown < ks_table_len(table) && ks_table_cell(table, shown, SIGNAL)->u64)
		shown++;
	return shown;
}

static void put_row(struct ks_row row, const struct ks_diff_row *from)
{
	int i;

	ks_row_text(row, CHANGE, ks_change_name(from->change));
	ks_row_u64(row, BEFORE, from->before);
	ks_row_u64(row, AFTER, from->after);
	ks_row_change(row, DELTA, from->before, from->after);
	ks_row_u64(row, NOISE, from->noise);
	ks_row_bool(row, SIGNAL, from->signal);
	for (i = 0; i < KS_MEASURES; i++) {
		if (from->in_a)
			ks_row_u64(row, A + (unsigned int)i, ks_measure_of(&from->a, i));
		if (from->in_b)
			ks_row_u64(row, B + (unsigned int)i, ks_measure_of(&from->b, i));
	}
}

static void add_capture(struct ks_doc *doc, const char *name, const struct ks_model *model,
			u64 size)
{
	ks_doc_open(doc, name);
	ks_doc_text(doc, "format", model->format);
	ks_doc_u64(doc, "first_ts", model->first_ts);
	ks_doc_u64(doc, "last_ts", model->last_ts);
	ks_doc_u64(doc, "events_total", model->events_total);
	ks_doc_u64(doc, "size", size);
	ks_doc_quality(doc, model);
	ks_doc_close(doc);
}

/* "live: 3 grown, 1 shrunk, ...; 2 by more than noise" */
static void put_summary(const struct ks_diff *diff, struct ks_strbuf *out)
{
	int change;

	ks_strbuf_printf(out, "%s: ", ks_measure_name(diff->measure));
	for (change = 0; change < KS_CHANGES; change++)
		ks_strbuf_printf(out, "%s%" PRIu64 " %s", change ? ", " : "", diff->changes[change],
				 ks_change_name(change));
	if (diff->has_noise)
		ks_strbuf_printf(out, "; %" PRIu64 " changed by more than noise", diff->signals);
}

static void say_summary(struct ks_doc *doc, const struct ks_diff *diff, size_t hidden)
{
	struct ks_strbuf summary;

	ks_strbuf_init(&summary);
	put_summary(diff, &summary);
	doc->headline = ks_doc_string(doc, ks_strbuf_str(&summary));
	ks_doc_say(doc, "%s%s\n", diff->signals ? "\n" : "", ks_strbuf_str(&summary));
	doc->failed |= summary.failed;
	ks_strbuf_deinit(&summary);
	if (hidden)
		ks_doc_say(doc, "%zu rows that did not change%s are left out: see --verbose\n",
			   hidden, diff->has_noise ? ", or not by more than noise," : "");
	if (diff->has_noise)
		ks_doc_say(doc,
			   "of %zu captures before and %zu after: numbers are means, and a change "
			   "within the noise may be chance\n",
			   diff->before.len, diff->after.len);
	if (diff->normal != KS_NORMAL_NONE)
		ks_doc_say(doc, "before is scaled by %.4f (%s of the second to the first)\n",
			   (double)diff->size_b / (double)diff->size_a,
			   ks_normal_name(diff->normal));
}

/* People read the quality of both captures last; programs find it with each capture. */
static void say_qualities(struct ks_doc *doc, const struct ks_diff *diff)
{
	ks_doc_show_in(doc, KS_IN_TEXT);
	ks_doc_say(doc, "\nthe first: ");
	ks_doc_quality(doc, diff->a);
	ks_doc_say(doc, "\nthe second: ");
	ks_doc_quality(doc, diff->b);
	ks_doc_show_in(doc, KS_IN_BOTH);
}

static void add_head(struct ks_doc *doc, const struct ks_diff *diff)
{
	int change;

	ks_doc_text(doc, "level", ks_level_name(diff->a->level));
	ks_doc_text(doc, "by", ks_by_name(diff->by));
	ks_doc_text(doc, "measure", ks_measure_name(diff->measure));
	ks_doc_text(doc, "normalize", ks_normal_name(diff->normal));
	ks_doc_show_in(doc, KS_IN_JSON);
	add_capture(doc, "first", diff->a, diff->size_a);
	add_capture(doc, "second", diff->b, diff->size_b);
	ks_doc_show_in(doc, KS_IN_BOTH);
	ks_doc_open(doc, "changes");
	for (change = 0; change < KS_CHANGES; change++)
		ks_doc_u64(doc, ks_change_name(change), diff->changes[change]);
	ks_doc_close(doc);
	if (!diff->has_noise)
		return;
	ks_doc_u64(doc, "captures_before", diff->before.len);
	ks_doc_u64(doc, "captures_after", diff->after.len);
	ks_doc_u64(doc, "signals", diff->signals);
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_diff(const struct ks_diff *diff, u64 top, bool all)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-diff-1");
	struct ks_table *table;
	size_t i, shown;

	if (!doc)
		return NULL;
	add_head(doc, diff);
	table = new_table(doc, diff);
	for (i = 0; i < diff->rows.len && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, LABEL, diff->rows.items[i].label);
		put_row(row, &diff->rows.items[i]);
	}
	put_row(ks_table_total(table), &diff->total);
	ks_table_label_total(table, diff->total.label);
	ks_doc_open(doc, "total");
	ks_doc_total(doc, table);
	ks_doc_close(doc);
	shown = all ? i : count_changed(table);
	ks_doc_place(doc, table, shown ? KS_IN_BOTH : KS_IN_JSON);
	if (table) {
		doc->main = table;
		table->text_rows = shown;
	}
	say_summary(doc, diff, i - shown);
	say_qualities(doc, diff);
	return doc;
}
