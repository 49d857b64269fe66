// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope fleet html and export: the answer to a question in a file. */
#include <stdlib.h>
#include <string.h>

#include "cli/fleet.h"
#include "cli/output.h"
#include "fleet/page.h"
#include "serve/profile.h"
#include "table/render.h"

/* === Data ================================================================================= */

enum { CHARTS_MAX = 5 };

static const char *const formats[KS_FLEET_FORMATS] = {
	[KS_FLEET_PARQUET] = "parquet",
	[KS_FLEET_PPROF] = "pprof",
};

/* Charts of a page, with what they are called. */
struct charts {
	struct ks_fleet_chart items[CHARTS_MAX];
	struct ks_doc *docs[CHARTS_MAX];
	struct ks_strbuf titles[CHARTS_MAX];
	size_t len;
};

/* === Internals: the page ================================================================== */

static int add_chart(struct charts *charts, struct ks_store *store, const struct ks_question *of,
		     const char *title, struct ks_diag *diag)
{
	struct ks_question question = *of;
	struct ks_strbuf *text = &charts->titles[charts->len];
	struct ks_doc *doc;
	int err;

	question.kind = KS_ASK_HISTORY;
	question.top = 0;
	err = ks_question_ask(store, &question, &doc, diag);
	if (err)
		return err;
	ks_strbuf_printf(text, "live bytes a host%s%s", *title ? ": " : "", title);
	charts->docs[charts->len] = doc;
	charts->items[charts->len] = (struct ks_fleet_chart){ ks_strbuf_str(text), doc };
	charts->len++;
	return text->failed ? ks_diag_nomem(diag, "making a page") : 0;
}

static const char *name_in(const struct ks_table *table, size_t row, const char *column)
{
	unsigned int i;

	for (i = 0; i < table->nr_columns; i++)
		if (!strcmp(table->columns[i].name, column))
			return ks_table_state(table, row, i) == KS_CELL_UNSET
				       ? NULL
				       : ks_table_cell(table, row, i)->text;
	return NULL;
}

/* What is accused is shown on all builds, so that one can see the difference. */
static int add_leaks(struct charts *charts, struct ks_store *store, const struct ks_question *asked,
		     const struct ks_doc *answer, struct ks_diag *diag)
{
	const struct ks_table *table = answer->tables.len ? answer->tables.items[0] : NULL;
	size_t row;
	int err = 0;

	for (row = 0; !err && table && row < ks_table_len(table) && row < CHARTS_MAX; row++) {
		struct ks_question question = *asked;
		struct ks_strbuf title;

		question.build = NULL;
		question.cache = name_in(table, row, "cache");
		question.type = name_in(table, row, "type");
		question.site = name_in(table, row, "site");
		ks_strbuf_init(&title);
		ks_strbuf_printf(&title, "%s %s %s", question.cache ? question.cache : "",
				 question.type ? question.type : "",
				 question.site ? question.site : "");
		err = title.failed
			      ? ks_diag_nomem(diag, "making a page")
			      : add_chart(charts, store, &question, ks_strbuf_str(&title), diag);
		ks_strbuf_deinit(&title);
	}
	return err;
}

static int make_page(const struct ks_fleet_args *args, struct ks_store *store,
		     const struct ks_doc *answer, struct ks_strbuf *out, struct ks_diag *diag)
{
	const struct ks_question *question = &args->question;
	struct charts charts = { 0 };
	size_t i;
	int err = 0;

	if (question->kind == KS_ASK_LEAKS || question->kind == KS_ASK_OUTLIERS)
		err = add_leaks(&charts, store, question, answer, diag);
	else if (question->kind != KS_ASK_QUALITY)
		err = add_chart(&charts, store, question, "", diag);
	if (!err)
		ks_fleet_page(args->cli.command, answer, charts.items, charts.len, out);
	for (i = 0; i < charts.len; i++) {
		ks_doc_free(charts.docs[i]);
		ks_strbuf_deinit(&charts.titles[i]);
	}
	return err;
}

/* === Internals: a profile ================================================================= */

/* "outer;inner" as "inner <- outer". */
static void turn(const char *stack, struct ks_strbuf *out)
{
	size_t len = strlen(stack);

	while (len) {
		size_t from = len;

		while (from && stack[from - 1] != ';')
			from--;
		ks_strbuf_printf(out, "%s%.*s", out->len ? " <- " : "", (int)(len - from),
				 stack + from);
		len = from ? from - 1 : 0;
	}
}

/* The answer by stack: growth, bytes, objects, name. */
static int make_profile(const struct ks_doc *answer, u64 until, struct ks_strbuf *out,
			struct ks_diag *diag)
{
	enum { BYTES = 1, OBJECTS, NAME };
	const struct ks_table *table = answer->tables.items[0];
	size_t rows = ks_table_len(table), i, used = 0;
	struct ks_profile_stack *stacks = calloc(rows + 1, sizeof(*stacks));
	struct ks_strbuf *texts = calloc(rows + 1, sizeof(*texts));
	bool failed = !stacks || !texts;

	for (i = 0; !failed && i < rows; i++) {
		s64 bytes = ks_table_cell(table, i, BYTES)->s64;

		if (bytes <= 0)
			continue;
		if (ks_table_state(table, i, NAME) == KS_CELL_UNSET)
			ks_strbuf_puts(&texts[used], "(not traced)");
		else
			turn(ks_table_cell(table, i, NAME)->text, &texts[used]);
		failed |= texts[used].failed;
		stacks[used] = (struct ks_profile_stack){ ks_strbuf_str(&texts[used]),
							  ks_table_cell(table, i, OBJECTS)->u64,
							  (u64)bytes };
		used++;
	}
	if (!failed)
		ks_profile_pprof_stacks(stacks, used, until * 1000000000,
					"live slab objects of a fleet, by stack", out);
	for (i = 0; texts && i < used; i++)
		ks_strbuf_deinit(&texts[i]);
	free(texts);
	free(stacks);
	return failed ? ks_diag_nomem(diag, "making a profile") : 0;
}

/* === Public =============================================================================== */

const char *ks_fleet_format_name(unsigned int format)
{
	return formats[format];
}

int ks_fleet_check_report(const struct ks_fleet_args *args)
{
	const struct ks_question *q = &args->question;

	if (!args->output)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "name the file with -o FILE");
	if (args->report == KS_FLEET_EXPORT && args->format == KS_FLEET_PPROF &&
	    (q->kind != KS_ASK_TOP || args->by != KS_FLEET_BY_STACK))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "a profile is of stacks: kmemscope fleet export top --by stack "
				    "--format pprof");
	return 0;
}

int ks_fleet_write_report(struct ks_fleet_args *args, struct ks_store *store, struct ks_doc *answer)
{
	struct ks_diag diag = { 0 };
	struct ks_strbuf out;
	int code, err = 0;

	ks_strbuf_init(&out);
	ks_doc_for_people(answer);
	if (args->report == KS_FLEET_HTML)
		err = make_page(args, store, answer, &out, &diag);
	else if (args->format == KS_FLEET_PPROF)
		err = make_profile(answer, ks_question_until(answer), &out, &diag);
	else
		ks_render_table_parquet(answer->main, &out);
	code = err ? ks_cli_fail(&args->cli, err, &diag)
		   : ks_cli_write(&args->cli, args->output, &out);
	ks_strbuf_deinit(&out);
	return code;
}
