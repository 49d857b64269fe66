// SPDX-License-Identifier: LGPL-2.1-only
/* Rows of a snapshot as a table for a screen: few digits, and units. */
#include <inttypes.h>
#include <math.h>

#include "tui/top.h"

/* === Data ================================================================================= */

static ks_show_fn show_bytes, show_change, show_count_change, show_rate, show_age, show_yes;

static const struct ks_column columns[KS_TOP_COLUMNS] = {
	[KS_TOP_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 7,
			   .show = show_bytes },
	[KS_TOP_CHANGE] = { "change", "change", KS_CELL_S64, KS_UNIT_BYTES, .width = 8,
			    .show = show_change },
	[KS_TOP_RATE] = { "rate", "per s", KS_CELL_DOUBLE, KS_UNIT_BYTES, .optional = true,
			  .width = 8, .show = show_rate },
	[KS_TOP_COUNT] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[KS_TOP_AGE] = { "age", "age", KS_CELL_U64, KS_UNIT_NS, .if_any = true, .optional = true,
			 .width = 5, .show = show_age },
	[KS_TOP_ERROR] = { "error", "+-", KS_CELL_DOUBLE, KS_UNIT_BYTES, .if_any = true,
			   .optional = true, .width = 7, .show = show_rate },
	[KS_TOP_COUNT_CHANGE] = { "objects_change", "+objects", KS_CELL_S64, KS_UNIT_OBJECTS,
				  .width = 9, .show = show_count_change },
	[KS_TOP_RECLAIMABLE] = { "reclaimable", "recl", KS_CELL_BOOL, .if_any = true, .width = 4,
				 .show = show_yes },
	[KS_TOP_NAME] = { "name", "name", KS_CELL_TEXT },
};

/* === Internals ============================================================================ */

static void show_bytes(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	ks_top_bytes(out, (double)ks_table_cell(table, row, column)->u64, false);
}

static void show_change(const struct ks_table *table, size_t row, unsigned int column,
			struct ks_strbuf *out)
{
	ks_top_bytes(out, (double)ks_table_cell(table, row, column)->s64, true);
}

static void show_count_change(const struct ks_table *table, size_t row, unsigned int column,
			      struct ks_strbuf *out)
{
	s64 change = ks_table_cell(table, row, column)->s64;

	ks_strbuf_printf(out, "%s%" PRId64, change > 0 ? "+" : "", change);
}

static void show_rate(const struct ks_table *table, size_t row, unsigned int column,
		      struct ks_strbuf *out)
{
	if (ks_table_state(table, row, column) == KS_CELL_UNSET)
		ks_strbuf_puts(out, "-");
	else
		ks_top_bytes(out, ks_table_cell(table, row, column)->number, column == KS_TOP_RATE);
}

static void show_age(const struct ks_table *table, size_t row, unsigned int column,
		     struct ks_strbuf *out)
{
	if (ks_table_state(table, row, column) == KS_CELL_UNSET)
		ks_strbuf_puts(out, "-");
	else
		ks_top_duration(out, ks_table_cell(table, row, column)->u64);
}

static void show_yes(const struct ks_table *table, size_t row, unsigned int column,
		     struct ks_strbuf *out)
{
	ks_strbuf_puts(out, ks_table_cell(table, row, column)->u64 ? "yes" : "");
}

static const char *name_of(const struct ks_live_row *row)
{
	return *row->name ? row->name : "unknown";
}

/* === Public =============================================================================== */

void ks_top_bytes(struct ks_strbuf *out, double bytes, bool sign)
{
	static const char units[] = " KMGTPE";
	double value = fabs(bytes);
	size_t unit = 0;

	/* What would be printed as 1024 of a unit is 1.0 of the next. */
	while (value >= (unit ? 1023.5 : 1024) && unit + 2 < sizeof(units)) {
		value /= 1024;
		unit++;
	}
	/* Less than half a byte, as a rate may be, has no sign. */
	if (value >= 0.5 || unit)
		ks_strbuf_puts(out, bytes < 0 ? "-" : sign ? "+" : "");
	if (!unit)
		ks_strbuf_printf(out, "%.0f", value);
	else
		ks_strbuf_printf(out,
				 value < 9.995	 ? "%.2f%c"
				 : value < 99.95 ? "%.1f%c"
						 : "%.0f%c",
				 value, units[unit]);
}

void ks_top_duration(struct ks_strbuf *out, u64 ns)
{
	u64 s = ns / 1000000000;

	if (s < 60)
		ks_strbuf_printf(out, "%" PRIu64 "s", s);
	else if (s < 3600)
		ks_strbuf_printf(out, "%" PRIu64 "m%02" PRIu64, s / 60, s % 60);
	else if (s < 86400)
		ks_strbuf_printf(out, "%" PRIu64 "h%02" PRIu64, s / 3600, s / 60 % 60);
	else
		ks_strbuf_printf(out, "%" PRIu64 "d%02" PRIu64, s / 86400, s / 3600 % 24);
}

struct ks_table *ks_top_table(const struct ks_live_rows *rows, enum ks_live_by by)
{
	struct ks_table *table = ks_table_new("rows", columns, KS_TOP_COLUMNS);
	size_t i;

	for (i = 0; table && i < rows->items.len; i++) {
		const struct ks_live_row *row = &rows->items.items[i];
		struct ks_row out = ks_table_add(table);

		ks_row_u64(out, KS_TOP_BYTES, row->bytes);
		ks_row_s64(out, KS_TOP_CHANGE, row->bytes_change);
		if (!isnan(row->rate))
			ks_row_double(out, KS_TOP_RATE, row->rate);
		ks_row_u64(out, KS_TOP_COUNT, row->objects);
		ks_row_s64(out, KS_TOP_COUNT_CHANGE, row->objects_change);
		if (row->age_ns != UINT64_MAX)
			ks_row_u64(out, KS_TOP_AGE, row->age_ns);
		if (row->error > 0)
			ks_row_double(out, KS_TOP_ERROR, row->error);
		ks_row_bool(out, KS_TOP_RECLAIMABLE, by == KS_LIVE_BY_CACHE && row->reclaimable);
		ks_row_text(out, KS_TOP_NAME, name_of(row));
	}
	return table;
}

enum ks_style ks_top_paint(const struct ks_table *table, size_t row, unsigned int column)
{
	double change = 0;

	if (column == KS_TOP_CHANGE || column == KS_TOP_COUNT_CHANGE)
		change = (double)ks_table_cell(table, row, column)->s64;
	if (column == KS_TOP_RATE && ks_table_state(table, row, column) != KS_CELL_UNSET)
		change = ks_table_cell(table, row, column)->number;
	return change >= 0.5 ? KS_STYLE_GROWN : change <= -0.5 ? KS_STYLE_SHRUNK : KS_STYLE_PLAIN;
}
