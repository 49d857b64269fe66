// SPDX-License-Identifier: LGPL-2.1-only
/* What a gate found. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "report/report.h"

/* === Data ================================================================================= */

enum { LINE, SCOPE, NAME, WHAT, VALUE, LIMIT, FOUND, EXCEEDED, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[LINE] = { "line", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[SCOPE] = { "scope", NULL, KS_CELL_TEXT },
	[NAME] = { "name", NULL, KS_CELL_TEXT },
	[WHAT] = { "what", NULL, KS_CELL_TEXT },
	[VALUE] = { "value", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[LIMIT] = { "limit", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[FOUND] = { "found", NULL, KS_CELL_BOOL },
	[EXCEEDED] = { "exceeded", NULL, KS_CELL_BOOL },
};

/* === Internals ============================================================================ */

static const char *text(const struct ks_table *table, size_t row, unsigned int column)
{
	return ks_table_cell(table, row, column)->text;
}

static u64 number(const struct ks_table *table, size_t row, unsigned int column)
{
	return ks_table_cell(table, row, column)->u64;
}

/* "OVER  live of module ext4: 5 B of 4 B, 1 B too much (line 3)" */
static void say_check(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const char *name = text(table, row, NAME);
	bool is_rate = !strcmp(text(table, row, WHAT), ks_limit_kind_name(KS_LIMIT_RATE));
	const char *unit = is_rate ? "B/s" : "B";
	u64 value = number(table, row, VALUE), limit = number(table, row, LIMIT);

	ks_strbuf_printf(out, "%s%s of %s%s", number(table, row, EXCEEDED) ? "OVER  " : "ok    ",
			 text(table, row, WHAT), text(table, row, SCOPE), *name ? " " : "");
	ks_escape_tty(out, name, strlen(name));
	ks_strbuf_printf(out, ": %" PRIu64 " %s of %" PRIu64 " %s", value, unit, limit, unit);
	if (number(table, row, EXCEEDED))
		ks_strbuf_printf(out, ", %" PRIu64 " %s too much", value - limit, unit);
	else if (!number(table, row, FOUND))
		ks_strbuf_puts(out, " (nothing of that name in the capture)");
	ks_strbuf_printf(out, " (line %" PRIu64 ")\n", number(table, row, LINE));
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_gate(const struct ks_model *model, const struct ks_gate *gate)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-gate-1");
	struct ks_table *table;
	size_t i;

	if (!doc)
		return NULL;
	ks_doc_text(doc, "level", ks_level_name(model->level));
	ks_doc_bool(doc, "passed", !gate->exceeded);
	ks_doc_u64(doc, "exceeded", gate->exceeded);
	table = ks_doc_table(doc, "checks", columns, COLUMNS);
	if (table)
		table->say = say_check;
	for (i = 0; i < gate->checks.len; i++) {
		const struct ks_budget_check *check = &gate->checks.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, LINE, check->rule->line);
		ks_row_text(row, SCOPE, ks_scope_kind_name(check->rule->scope));
		ks_row_text(row, NAME, check->name);
		ks_row_text(row, WHAT, ks_limit_kind_name(check->rule->kind));
		ks_row_u64(row, VALUE, check->value);
		ks_row_u64(row, LIMIT, check->rule->limit);
		ks_row_bool(row, FOUND, check->found);
		ks_row_bool(row, EXCEEDED, check->exceeded);
	}
	ks_doc_say(doc, "%" PRIu64 " of %zu over budget\n\n", gate->exceeded, gate->checks.len);
	ks_doc_quality(doc, model);
	return doc;
}
