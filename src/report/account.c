// SPDX-License-Identifier: LGPL-2.1-only
/* trace_analyze's two files, line for line: the account and the callers. Text renderers of their own. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "report/groups.h"

/* === Internals ============================================================================ */

static u64 number(const struct ks_table *table, size_t row, enum ks_group_column column)
{
	return ks_table_cell(table, row, column)->u64;
}

/* The digits of the largest number, but at least @least: columns widen, they never overflow. */
static int width_of(const struct ks_table *table, enum ks_group_column column, int least)
{
	u64 most = 0;
	size_t row;
	int n = 1;

	for (row = 0; row < ks_table_len(table); row++)
		most = ks_max(most, number(table, row, column));
	while (most /= 10)
		n++;
	return ks_max(n, least);
}

static void head_line(struct ks_strbuf *out, const char *name, u64 value)
{
	ks_strbuf_printf(out, "%s:%*" PRIu64 "\n", name, 34 - (int)strlen(name), value);
}

static void put_label(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const char *label = ks_table_cell(table, row, KS_GROUP_LABEL)->text;

	ks_escape_tty(out, label, strlen(label));
}

/* The directory of a source path; what has none is marked. */
static void put_directory(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const char *path = ks_table_cell(table, row, KS_GROUP_PATH)->text;
	const char *slash = strrchr(path, '/');

	if (!*path)
		ks_strbuf_puts(out, "unresolved");
	else
		ks_escape_tty(out, slash ? path : ".", slash ? (size_t)(slash - path) : 1);
}

/* === Public =============================================================================== */

void ks_render_account(const struct ks_model *model, const struct ks_table *table,
		       struct ks_strbuf *out)
{
	int total = width_of(table, KS_GROUP_TOTAL_BYTES, 8);
	int waste = width_of(table, KS_GROUP_WASTE, 8);
	int net = width_of(table, KS_GROUP_LIVE_BYTES, 8);
	int allocs = width_of(table, KS_GROUP_ALLOCS, 5);
	int frees = width_of(table, KS_GROUP_FREES, 5);
	size_t row;

	head_line(out, "current bytes allocated", number(table, KS_TOTAL, KS_GROUP_LIVE_BYTES));
	head_line(out, "current bytes requested", number(table, KS_TOTAL, KS_GROUP_LIVE_REQ));
	head_line(out, "current wasted bytes", number(table, KS_TOTAL, KS_GROUP_WASTE));
	head_line(out, "number of allocs", number(table, KS_TOTAL, KS_GROUP_ALLOCS));
	head_line(out, "number of frees", number(table, KS_TOTAL, KS_GROUP_FREES));
	head_line(out, "number of callers", ks_model_callers(model));
	ks_strbuf_printf(out, "\n%*s %*s %*s %*s%-*s caller\n", total, "total", waste, "waste", net,
			 "net", allocs + 1, "alloc/", frees, "free");
	ks_strbuf_puts(out, "---------------------------------------------\n");
	for (row = 0; row < ks_table_len(table); row++) {
		ks_strbuf_printf(
			out, "%*" PRIu64 " %*" PRIu64 " %*" PRIu64 " %*" PRIu64 "/%-*" PRIu64 " ",
			total, number(table, row, KS_GROUP_TOTAL_BYTES), waste,
			number(table, row, KS_GROUP_WASTE), net,
			number(table, row, KS_GROUP_LIVE_BYTES), allocs,
			number(table, row, KS_GROUP_ALLOCS), frees,
			number(table, row, KS_GROUP_FREES));
		put_label(table, row, out);
		ks_strbuf_puts(out, "\n");
	}
	out->failed |= table->failed;
}

void ks_render_callers(const struct ks_table *table, struct ks_strbuf *out)
{
	int width = width_of(table, KS_GROUP_LIVE_BYTES, 8);
	size_t row;

	for (row = 0; row < ks_table_len(table); row++) {
		size_t start = out->len;

		put_label(table, row, out);
		if (out->len - start < 40)
			ks_strbuf_printf(out, "%*s", (int)(40 - (out->len - start)), "");
		ks_strbuf_printf(out, " %*" PRIu64 " %*" PRIu64 " ", width,
				 number(table, row, KS_GROUP_LIVE_BYTES), width,
				 number(table, row, KS_GROUP_WASTE));
		put_directory(table, row, out);
		ks_strbuf_puts(out, "\n");
	}
	out->failed |= table->failed;
}
