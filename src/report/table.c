// SPDX-License-Identifier: LGPL-2.1-only
/* The table of "kmemscope report", and the same rows as JSON and CSV. */
#include "report/report.h"

#include <string.h>

#include "base/escape.h"

/* === Data ================================================================================= */

/* The columns: one list for CSV, JSON and the table's head. */
static const struct {
	const char *name;
	size_t offset;
	bool is_time;
} fields[] = {
	{ "total_bytes", offsetof(struct ks_stat, total_bytes), false },
	{ "total_requested", offsetof(struct ks_stat, total_req), false },
	{ "live_bytes", offsetof(struct ks_stat, live_bytes), false },
	{ "live_requested", offsetof(struct ks_stat, live_req), false },
	{ "live_objects", offsetof(struct ks_stat, live_objs), false },
	{ "peak_bytes", offsetof(struct ks_stat, peak_bytes), false },
	{ "allocs", offsetof(struct ks_stat, allocs), false },
	{ "frees", offsetof(struct ks_stat, frees), false },
	{ "implied_frees", offsetof(struct ks_stat, implied_frees), false },
	{ "failed", offsetof(struct ks_stat, failed), false },
	{ "peak_ts", offsetof(struct ks_stat, peak_ts), true },
	{ "first_ts", offsetof(struct ks_stat, first_ts), true },
	{ "last_ts", offsetof(struct ks_stat, last_ts), true },
};

/* === Internals ============================================================================ */

static u64 field_of(const struct ks_stat *stat, size_t i)
{
	u64 value;

	memcpy(&value, (const char *)stat + fields[i].offset, sizeof(value));
	return value;
}

static void put_stat_json(struct ks_json *json, const struct ks_stat *stat)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		ks_json_u64(json, fields[i].name, field_of(stat, i));
	ks_json_u64(json, "waste", ks_stat_waste(stat));
	ks_json_ratio(json, "observed_free_ratio", stat->frees, stat->frees + stat->implied_frees);
}

/* How many of an object's ends were seen as events: low means that frees are invisible here. */
static void put_seen(struct ks_strbuf *out, const struct ks_stat *stat)
{
	u64 ends = stat->frees + stat->implied_frees;

	if (!ends)
		ks_strbuf_printf(out, " %5s", "-");
	else
		ks_strbuf_printf(out, " %4llu%%", (unsigned long long)(stat->frees * 100 / ends));
}

static void put_row(struct ks_strbuf *out, const struct ks_stat *stat, const int *width)
{
	u64 values[] = { stat->live_bytes,  ks_stat_waste(stat), stat->live_objs, stat->peak_bytes,
			 stat->total_bytes, stat->allocs,	 stat->frees };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		ks_strbuf_printf(out, "%s%*llu", i ? " " : "", width[i],
				 (unsigned long long)values[i]);
	put_seen(out, stat);
	ks_strbuf_puts(out, "  ");
}

/* === Public =============================================================================== */

void ks_render_table(const struct ks_model *model, const struct ks_rows *rows,
		     struct ks_strbuf *out)
{
	static const char *const heads[] = { "live",  "waste",	"objects", "peak",
					     "total", "allocs", "frees" };
	const struct ks_stat *total = ks_model_total(model);
	int width[ARRAY_SIZE(heads)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		u64 values[] = { total->live_bytes, ks_stat_waste(total), total->live_objs,
				 total->peak_bytes, total->total_bytes,	  total->allocs,
				 total->frees };
		u64 v = values[i];

		for (width[i] = 1; v >= 10; v /= 10)
			width[i]++;
		width[i] = ks_max(width[i], 8);
	}
	for (i = 0; i < ARRAY_SIZE(heads); i++)
		ks_strbuf_printf(out, "%s%*s", i ? " " : "", width[i], heads[i]);
	ks_strbuf_printf(out, "  seen  %s\n", ks_by_name(ks_model_account(model)->by));
	for (i = 0; i < rows->len; i++) {
		put_row(out, &rows->items[i]->stat, width);
		ks_escape_tty(out, rows->items[i]->label, strlen(rows->items[i]->label));
		ks_strbuf_puts(out, "\n");
	}
	put_row(out, total, width);
	ks_strbuf_printf(out, "all (%zu)\n", ks_model_account(model)->groups.len);
}

void ks_render_json(const struct ks_model *model, const struct ks_rows *rows, enum ks_order order,
		    const char *schema, struct ks_strbuf *out)
{
	struct ks_json json;
	size_t i;

	ks_json_init(&json, out);
	ks_json_object(&json, NULL);
	ks_json_string(&json, "schema", schema);
	ks_json_string(&json, "level", ks_level_name(model->level));
	ks_json_string(&json, "by", ks_by_name(ks_model_account(model)->by));
	ks_json_string(&json, "order_by", ks_order_name(order));
	ks_json_string(&json, "clock", ks_clock_name(model->clock));
	ks_json_object(&json, "total");
	put_stat_json(&json, ks_model_total(model));
	ks_json_u64(&json, "callers", ks_model_callers(model));
	ks_json_end_object(&json);
	ks_json_array(&json, "rows");
	for (i = 0; i < rows->len; i++) {
		const struct ks_group *row = rows->items[i];

		ks_json_object(&json, NULL);
		ks_json_string(&json, ks_by_name(ks_model_account(model)->by), row->label);
		if (ks_model_account(model)->by == KS_BY_SITE) {
			ks_json_string(&json, "function", row->func);
			ks_json_hex(&json, "offset", row->offset);
			ks_json_string(&json, "module", row->module);
			ks_json_string(&json, "path", row->path);
			if (*row->inlined)
				ks_json_string(&json, "inlined", row->inlined);
			ks_json_bool(&json, "helper", row->helper);
			if (row->addr)
				ks_json_hex(&json, "address", row->addr);
		}
		put_stat_json(&json, &row->stat);
		ks_json_end_object(&json);
	}
	ks_json_end_array(&json);
	ks_render_quality_json(model, &json);
	ks_json_end_object(&json);
	ks_json_finish(&json);
}

void ks_render_csv(const struct ks_model *model, const struct ks_rows *rows, struct ks_strbuf *out)
{
	size_t row, i;

	ks_strbuf_puts(out, ks_by_name(ks_model_account(model)->by));
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		ks_strbuf_printf(out, ",%s", fields[i].name);
	ks_strbuf_puts(out, ",waste");
	if (ks_model_account(model)->by == KS_BY_SITE)
		ks_strbuf_puts(out, ",module,path");
	ks_strbuf_puts(out, "\n");
	for (row = 0; row < rows->len; row++) {
		const struct ks_group *group = rows->items[row];

		ks_escape_csv(out, group->label, strlen(group->label));
		for (i = 0; i < ARRAY_SIZE(fields); i++)
			ks_strbuf_printf(out, ",%llu",
					 (unsigned long long)field_of(&group->stat, i));
		ks_strbuf_printf(out, ",%llu", (unsigned long long)ks_stat_waste(&group->stat));
		if (ks_model_account(model)->by == KS_BY_SITE) {
			ks_strbuf_puts(out, ",");
			ks_escape_csv(out, group->module, strlen(group->module));
			ks_strbuf_puts(out, ",");
			ks_escape_csv(out, group->path, strlen(group->path));
		}
		ks_strbuf_puts(out, "\n");
	}
}
