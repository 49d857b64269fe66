// SPDX-License-Identifier: LGPL-2.1-only
/* What a gate found. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/quantity.h"
#include "report/report.h"

/* === Data ================================================================================= */

enum { LINE, VERDICT, SCOPE, NAME, WHAT, VALUE, LIMIT, FOUND, EXCEEDED, COLUMNS };

static ks_show_fn show_value, show_thing;

/* Text has sentences in place of columns; these are the columns of Markdown. */
static const struct ks_column columns[COLUMNS] = {
	[LINE] = { "line", "line", KS_CELL_U64, KS_UNIT_COUNT },
	[VERDICT] = { "verdict", "", KS_CELL_TEXT },
	[SCOPE] = { "scope", NULL, KS_CELL_TEXT },
	[NAME] = { "name", "of", KS_CELL_TEXT, .show = show_thing },
	[WHAT] = { "what", "what", KS_CELL_TEXT },
	[VALUE] = { "value", "value", KS_CELL_U64, KS_UNIT_BYTES, .show = show_value },
	[LIMIT] = { "limit", "limit", KS_CELL_U64, KS_UNIT_BYTES, .show = show_value },
	[FOUND] = { "found", NULL, KS_CELL_BOOL },
	[EXCEEDED] = { "exceeded", NULL, KS_CELL_BOOL },
};

static const unsigned int in_text[] = { VERDICT, WHAT, NAME, VALUE, LIMIT, LINE };
static const unsigned int in_json[] = { LINE,  VERDICT, SCOPE, NAME,	WHAT,
					VALUE, LIMIT,	FOUND, EXCEEDED };

static const char *const verdict_names[] = {
	[KS_GATE_OVER] = "OVER",
	[KS_GATE_MISSING] = "MISSING",
	[KS_GATE_OK] = "ok",
};
_Static_assert(ARRAY_SIZE(verdict_names) == KS_GATE_VERDICTS, "a name for every verdict");

/* === Internals ============================================================================ */

static const char *text(const struct ks_table *table, size_t row, unsigned int column)
{
	return ks_table_cell(table, row, column)->text;
}

static u64 number(const struct ks_table *table, size_t row, unsigned int column)
{
	return ks_table_cell(table, row, column)->u64;
}

static enum ks_limit_kind kind_of(const char *what)
{
	enum ks_limit_kind kind = 0;

	while (kind < KS_LIMITS && strcmp(what, ks_limit_kind_name(kind)))
		kind++;
	return kind;
}

/* "1.9 MiB/s", "1994838 B/s", "15 objects"; the size of one object always has all digits. */
static void put_quantity(const char *what, bool people, u64 value, struct ks_strbuf *out)
{
	enum ks_limit_kind kind = kind_of(what);
	bool bytes = !strcmp(ks_limit_kind_unit(kind), "bytes");

	if (ks_limit_is_layout(kind))
		people = false;
	if (!bytes && people)
		ks_render_count(out, value);
	else if (people)
		ks_render_bytes(out, value);
	else
		ks_strbuf_printf(out, "%" PRIu64 "%s", value, bytes ? " B" : "");
	if (!strcmp(what, ks_limit_kind_name(KS_LIMIT_RATE)))
		ks_strbuf_puts(out, "/s");
}

static void show_value(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	if (column == VALUE && !number(table, row, FOUND))
		ks_strbuf_puts(out, "-");
	else
		put_quantity(text(table, row, WHAT), table->people, number(table, row, column),
			     out);
}

static void show_thing(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	const char *name = text(table, row, column);

	ks_strbuf_printf(out, "%s%s%s", text(table, row, SCOPE), *name ? " " : "", name);
}

/* "OVER  live of module ext4: 5 B of 4 B, 1 B too much (line 3)" */
static void say_check(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const char *name = text(table, row, NAME), *what = text(table, row, WHAT);
	u64 value = number(table, row, VALUE), limit = number(table, row, LIMIT);

	ks_strbuf_printf(out, "%-7s %s of %s%s", text(table, row, VERDICT), what,
			 text(table, row, SCOPE), *name ? " " : "");
	ks_escape_tty(out, name, strlen(name));
	ks_strbuf_puts(out, ": ");
	if (number(table, row, FOUND)) {
		put_quantity(what, table->people, value, out);
		ks_strbuf_puts(out, " of ");
		put_quantity(what, table->people, limit, out);
	} else {
		ks_strbuf_puts(out, "nothing of that name is there");
	}
	if (number(table, row, EXCEEDED)) {
		ks_strbuf_puts(out, ", ");
		put_quantity(what, table->people, value - limit, out);
		ks_strbuf_puts(out, " too much");
	}
	ks_strbuf_printf(out, " (line %" PRIu64 ")\n", number(table, row, LINE));
}

static void add_checks(const struct ks_gate *gate, struct ks_table *table)
{
	size_t i;

	for (i = 0; i < gate->checks.len; i++) {
		const struct ks_budget_check *check = &gate->checks.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, LINE, check->rule->line);
		ks_row_text(row, VERDICT, verdict_names[check->verdict]);
		ks_row_text(row, SCOPE, ks_scope_kind_name(check->rule->scope));
		ks_row_text(row, NAME, check->name);
		ks_row_text(row, WHAT, ks_limit_kind_name(check->rule->kind));
		ks_row_u64(row, VALUE, check->value);
		ks_row_u64(row, LIMIT, check->rule->limit);
		ks_row_bool(row, FOUND, check->verdict != KS_GATE_MISSING);
		ks_row_bool(row, EXCEEDED, check->verdict == KS_GATE_OVER);
	}
}

/* "1 of 3 over budget, 1 with a name that nothing has", with a newline. */
static void put_summary(const struct ks_gate *gate, struct ks_strbuf *out)
{
	u64 missing = gate->verdicts[KS_GATE_MISSING];

	ks_strbuf_printf(out, "%" PRIu64 " of %zu over budget", gate->verdicts[KS_GATE_OVER],
			 gate->checks.len);
	if (missing)
		ks_strbuf_printf(out, ", %" PRIu64 " with a name that nothing has%s", missing,
				 gate->allow_missing ? " (allowed)" : "");
}

static struct ks_table *new_table(struct ks_doc *doc)
{
	struct ks_table *table = ks_doc_loose_table(doc, "checks", columns, COLUMNS);

	ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	ks_table_select(table, KS_FORM_JSON, in_json, ARRAY_SIZE(in_json));
	if (table)
		table->say = say_check;
	return table;
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_gate(const struct ks_model *model, const struct ks_gate *gate, bool all)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-gate-1");
	size_t failed = (size_t)(gate->verdicts[KS_GATE_OVER] + gate->verdicts[KS_GATE_MISSING]);
	struct ks_strbuf summary;
	struct ks_table *table;

	if (!doc)
		return NULL;
	ks_strbuf_init(&summary);
	put_summary(gate, &summary);
	if (model)
		ks_doc_text(doc, "level", ks_level_name(model->level));
	ks_doc_bool(doc, "passed", ks_gate_passes(gate));
	ks_doc_u64(doc, "exceeded", gate->verdicts[KS_GATE_OVER]);
	ks_doc_u64(doc, "missing", gate->verdicts[KS_GATE_MISSING]);
	table = new_table(doc);
	add_checks(gate, table);
	/* What keeps to the budget is of interest to programs, and to people who ask. */
	ks_doc_place(doc, table, all || failed ? KS_IN_BOTH : KS_IN_JSON);
	if (table && !all)
		table->text_rows = failed;
	doc->headline = ks_doc_string(doc, ks_strbuf_str(&summary));
	ks_doc_say(doc, "%s\n", ks_strbuf_str(&summary));
	if (model) {
		ks_doc_say(doc, "\n");
		ks_doc_quality(doc, model);
	}
	doc->failed |= summary.failed;
	ks_strbuf_deinit(&summary);
	return doc;
}

void ks_render_gate_junit(const struct ks_doc *doc, const char *suite, bool allow_missing,
			  struct ks_strbuf *out)
{
	const struct ks_table *table = doc->main;
	u64 failures = 0, skipped = 0;
	struct ks_strbuf line;
	size_t i;

	ks_strbuf_init(&line);
	for (i = 0; i < ks_table_len(table); i++) {
		failures += number(table, i, EXCEEDED) ||
			    (!number(table, i, FOUND) && !allow_missing);
		skipped += !number(table, i, FOUND) && allow_missing;
	}
	ks_strbuf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite "
			    "name=\"kmemscope gate: ");
	ks_escape_xml(out, suite, strlen(suite));
	ks_strbuf_printf(out,
			 "\" tests=\"%zu\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"%" PRIu64
			 "\">\n",
			 ks_table_len(table), failures, skipped);
	for (i = 0; i < ks_table_len(table); i++) {
		bool found = number(table, i, FOUND);

		line.len = 0;
		show_thing(table, i, NAME, &line);
		ks_strbuf_printf(out,
				 "<testcase classname=\"budget.line%" PRIu64 "\" name=\"%s of ",
				 number(table, i, LINE), text(table, i, WHAT));
		ks_escape_xml(out, ks_strbuf_str(&line), line.len);
		if (found && !number(table, i, EXCEEDED)) {
			ks_strbuf_puts(out, "\"/>\n");
			continue;
		}
		line.len = 0;
		say_check(table, i, &line);
		ks_strbuf_printf(out, "\"><%s message=\"",
				 !found && allow_missing ? "skipped" : "failure");
		ks_escape_xml(out, ks_strbuf_str(&line), line.len ? line.len - 1 : 0);
		ks_strbuf_puts(out, "\"/></testcase>\n");
	}
	ks_strbuf_puts(out, "</testsuite>\n</testsuites>\n");
	out->failed |= line.failed || ks_doc_failed(doc);
	ks_strbuf_deinit(&line);
}
