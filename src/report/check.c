// SPDX-License-Identifier: LGPL-2.1-only
/* The verdict on captures: a table of files, each with a table of its CPUs. */
#include "report/check.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"

/* === Data ================================================================================= */

static const char *const verdict_names[] = {
	[KS_CHECK_OK] = "ok",
	[KS_CHECK_LOSS] = "loss",
	[KS_CHECK_DAMAGED] = "damaged",
};

enum {
	FILE_PATH,
	FORMAT,
	VERDICT,
	ERROR,
	UNFINISHED,
	REPAIRED,
	EVENTS,
	LOST,
	GAPS,
	NOT_UNDERSTOOD,
	CPUS,
	FILE_COLUMNS
};

static const struct ks_column file_columns[FILE_COLUMNS] = {
	[FILE_PATH] = { "file", NULL, KS_CELL_TEXT },
	[FORMAT] = { "format", NULL, KS_CELL_TEXT },
	[VERDICT] = { "verdict", NULL, KS_CELL_TEXT },
	[ERROR] = { "error", NULL, KS_CELL_TEXT },
	[UNFINISHED] = { "unfinished", NULL, KS_CELL_BOOL },
	[REPAIRED] = { "repaired", NULL, KS_CELL_BOOL },
	[EVENTS] = { "events", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[LOST] = { "lost", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[GAPS] = { "gaps", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[NOT_UNDERSTOOD] = { "not_understood", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CPUS] = { "cpus", NULL, KS_CELL_TABLE },
};

enum {
	CPU,
	CPU_EVENTS,
	CPU_LOST,
	CPU_GAPS,
	DAMAGED,
	OUT_OF_ORDER,
	IMPOSSIBLE,
	FIRST_TS,
	LAST_TS,
	CPU_VERDICT,
	CPU_COLUMNS
};

static const struct ks_column cpu_columns[CPU_COLUMNS] = {
	[CPU] = { "cpu", NULL, KS_CELL_U64 },
	[CPU_EVENTS] = { "events", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CPU_LOST] = { "lost", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CPU_GAPS] = { "gaps", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[DAMAGED] = { "damaged", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[OUT_OF_ORDER] = { "out_of_order", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[IMPOSSIBLE] = { "impossible", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[FIRST_TS] = { "first_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[LAST_TS] = { "last_ts", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[CPU_VERDICT] = { NULL, NULL, KS_CELL_TEXT }, /* for people */
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

/* ", 5 impossible", where there are any. */
static void say_count(const struct ks_table *table, size_t row, unsigned int column,
		      const char *what, struct ks_strbuf *out)
{
	if (number(table, row, column))
		ks_strbuf_printf(out, ", %" PRIu64 " %s", number(table, row, column), what);
}

static void say_cpu(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	if (number(table, row, CPU) == KS_CPU_UNKNOWN)
		ks_strbuf_printf(out, "  %-8s", "any CPU");
	else
		ks_strbuf_printf(out, "  CPU %-4" PRIu64, number(table, row, CPU));
	ks_strbuf_printf(out, " %12" PRIu64 " events", number(table, row, CPU_EVENTS));
	if (number(table, row, CPU_GAPS))
		ks_strbuf_printf(out, ", %" PRIu64 " lost in %" PRIu64 " gaps",
				 number(table, row, CPU_LOST), number(table, row, CPU_GAPS));
	say_count(table, row, DAMAGED, "damaged records or pages", out);
	say_count(table, row, OUT_OF_ORDER, "out of order", out);
	say_count(table, row, IMPOSSIBLE, "impossible", out);
	ks_strbuf_printf(out, ": %s\n", text(table, row, CPU_VERDICT));
}

static void say_file(const struct ks_table *table, size_t row, struct ks_strbuf *out)
{
	const struct ks_table *cpus = ks_table_cell(table, row, CPUS)->table;
	const char *path = text(table, row, FILE_PATH), *format = text(table, row, FORMAT);
	const char *verdict = text(table, row, VERDICT), *error = text(table, row, ERROR);
	size_t i;

	ks_escape_tty(out, path, strlen(path));
	ks_strbuf_printf(out, ": %s, %s\n", *format ? format : "unknown",
			 strcmp(verdict, verdict_names[KS_CHECK_LOSS]) ? verdict
								       : "events were lost");
	for (i = 0; cpus && i < ks_table_len(cpus); i++)
		say_cpu(cpus, i, out);
	if (number(table, row, NOT_UNDERSTOOD))
		ks_strbuf_printf(out, "  %" PRIu64 " records or lines not understood\n",
				 number(table, row, NOT_UNDERSTOOD));
	if (number(table, row, REPAIRED))
		ks_strbuf_puts(out, "  the recorder was killed; the file is finished now\n");
	else if (number(table, row, UNFINISHED))
		ks_strbuf_puts(out,
			       "  the recorder was killed: 'kmemscope check --repair' finishes "
			       "the file\n");
	if (*error) {
		ks_strbuf_puts(out, "  ");
		ks_escape_tty(out, error, strlen(error));
		ks_strbuf_puts(out, "\n");
	}
}

static struct ks_table *cpus_of(struct ks_doc *doc, const struct ks_check *check)
{
	struct ks_table *table = ks_doc_loose_table(doc, "cpus", cpu_columns, CPU_COLUMNS);
	size_t i;

	for (i = 0; i < check->cpus.len; i++) {
		const struct ks_check_cpu *cpu = &check->cpus.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, CPU, cpu->cpu);
		ks_row_u64(row, CPU_EVENTS, cpu->events);
		ks_row_u64(row, CPU_LOST, cpu->lost);
		ks_row_u64(row, CPU_GAPS, cpu->gaps);
		ks_row_u64(row, DAMAGED, cpu->damaged);
		ks_row_u64(row, OUT_OF_ORDER, cpu->backwards);
		ks_row_u64(row, IMPOSSIBLE, cpu->impossible);
		ks_row_u64(row, FIRST_TS, cpu->first_ts);
		ks_row_u64(row, LAST_TS, cpu->last_ts);
		ks_row_text(row, CPU_VERDICT, verdict_names[ks_check_cpu_verdict(cpu)]);
	}
	return table;
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_checks(struct ks_table **ret_files)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-check-1");
	struct ks_table *files;

	if (!doc)
		return NULL;
	files = ks_doc_table(doc, "files", file_columns, FILE_COLUMNS);
	if (files)
		files->say = say_file;
	*ret_files = files;
	return doc;
}

void ks_doc_add_check(struct ks_doc *doc, struct ks_table *files, const char *path,
		      const struct ks_check *check, bool repaired)
{
	struct ks_row row = ks_table_add(files);

	ks_row_text(row, FILE_PATH, path);
	ks_row_text(row, FORMAT, check->format ? check->format : "");
	ks_row_text(row, VERDICT, verdict_names[check->verdict]);
	ks_row_text(row, ERROR, check->error);
	ks_row_bool(row, UNFINISHED, check->unfinished);
	ks_row_bool(row, REPAIRED, repaired);
	ks_row_u64(row, EVENTS, check->events);
	ks_row_u64(row, LOST, check->lost);
	ks_row_u64(row, GAPS, check->gaps);
	ks_row_u64(row, NOT_UNDERSTOOD, check->damaged_elsewhere);
	ks_row_table(row, CPUS, cpus_of(doc, check));
}
