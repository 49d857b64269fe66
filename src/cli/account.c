// SPDX-License-Identifier: GPL-2.0-only
/* The account and its files, for "kmemscope account" and for trace_analyze. */
#include "cli/account.h"

#include <string.h>

#include "cli/output.h"
#include "cli/run.h"

/* === Internals ============================================================================ */

static int write_callers(const struct ks_cli *cli, const char *path, const struct ks_doc *doc)
{
	struct ks_strbuf text;
	int code;

	ks_strbuf_init(&text);
	ks_render_callers(doc->main, &text);
	code = ks_cli_write(cli, path, &text);
	ks_strbuf_deinit(&text);
	return code;
}

static void render(const struct ks_cli *cli, const struct ks_model *model, const struct ks_doc *doc,
		   struct ks_strbuf *text)
{
	if (cli->output.json)
		ks_render_doc_json(doc, text);
	else if (cli->output.csv)
		ks_render_doc_csv(doc, text);
	else
		ks_render_account(model, doc->main, text);
}

/*
 * The table where it was asked for; then the quality, on standard output. JSON documents hold their
 * quality, and CSV is for programs that want rows alone.
 */
static int write_account(const struct ks_cli *cli, const char *path, const struct ks_model *model,
			 const struct ks_doc *doc)
{
	bool to_stdout = path && !strcmp(path, "-"),
	     for_programs = cli->output.json || cli->output.csv;
	struct ks_strbuf text, last;
	int code = 0;

	ks_strbuf_init(&text);
	ks_strbuf_init(&last);
	render(cli, model, doc, &text);
	if (path && !to_stdout)
		code = ks_cli_write(cli, path, &text);
	else if (path)
		ks_strbuf_add(&last, text.s, text.len);
	if (to_stdout && !for_programs)
		ks_strbuf_puts(&last, "\n");
	if (!for_programs || !to_stdout)
		ks_render_quality(model, cli->output.verbose, &last);
	last.failed |= text.failed;
	if (!code)
		code = ks_cli_print(cli, &last);
	ks_strbuf_deinit(&text);
	ks_strbuf_deinit(&last);
	return code;
}

static struct ks_doc *make_doc(const struct ks_cli *cli, const struct ks_model *model)
{
	struct ks_doc *doc = NULL;
	struct ks_rows rows;

	if (!ks_rows_init(&rows, model, cli->rows->order, cli->rows->top))
		doc = ks_doc_of_groups(model, &rows, cli->rows->order, "kmemscope-account-1");
	ks_rows_deinit(&rows);
	if (doc && ks_doc_failed(doc)) {
		ks_doc_free(doc);
		return NULL;
	}
	return doc;
}

/* By site. What people read has no times in it. */
static int analyze(struct ks_cli *cli, struct ks_model **ret_model)
{
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);

	if (code)
		return code;
	if (!cli->output.json && !cli->output.csv)
		ks_analysis_untimed(run.analysis);
	err = ks_analysis_account(run.analysis, KS_BY_SITE, &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}

/* The DB holds the whole capture; a filter applies to what is asked of it. */
static int get_model(struct ks_cli *cli, const char *save_db, struct ks_model **ret_model)
{
	int code;

	if (!save_db)
		return analyze(cli, ret_model);
	code = ks_cli_import(cli, save_db, ret_model);
	if (code || (ks_filter_is_empty(&cli->capture->filter) && !cli->capture->pages))
		return code;
	ks_model_free(*ret_model);
	cli->capture->input = save_db;
	return analyze(cli, ret_model);
}

/* === Public =============================================================================== */

int ks_cli_account(struct ks_cli *cli, const struct ks_account_outputs *outputs)
{
	struct ks_model *model = NULL;
	struct ks_doc *doc;
	int code;

	if (outputs->save_db && cli->capture->skip_helpers)
		return ks_cli_error(
			cli, KS_EXIT_USAGE,
			"a DB holds the log as it is: --skip-helpers and --save-db do not "
			"go together");
	code = get_model(cli, outputs->save_db, &model);
	if (code)
		return code;
	doc = make_doc(cli, model);
	if (!doc) {
		ks_model_free(model);
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	}
	code = outputs->callers ? write_callers(cli, outputs->callers, doc) : 0;
	if (!code)
		code = write_account(cli, outputs->account, model, doc);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_doc_free(doc);
	ks_model_free(model);
	return code;
}
