// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope fleet top, leaks, diff, host, types, history, quality: questions to the database. */
#include "cli/fleet.h"
#include "cli/output.h"
#include "fleet/files.h"

/* === Data ================================================================================= */

enum { ASK_SECS = 600 }; /* who waits for an answer can end it */

/* === Public =============================================================================== */

int ks_fleet_ask(struct ks_fleet_args *args)
{
	struct ks_question *question = &args->question;
	struct ks_diag diag = { 0 };
	struct ks_doc *doc = NULL;
	struct ks_store store;
	int code = args->report ? ks_fleet_check_report(args) : 0, err = 0;

	if (code)
		return code;
	if (question->kind == KS_ASK_LEAKS && args->by_host)
		question->kind = KS_ASK_OUTLIERS;
	if (question->kind == KS_ASK_HOST)
		question->host = args->operands[0];
	if (question->kind == KS_ASK_DIFF) {
		question->builds[0] = args->operands[0];
		question->builds[1] = args->operands[1];
	}
	question->hours = (u32)ks_min(args->since_ns / 3600000000000ull, (u64)1000000);
	question->by = args->by;
	question->top = args->rows.top;
	question->least = args->least;
	question->sigmas = (double)args->sigmas;
	if (args->from) {
		store = (struct ks_store){ 0 };
		err = ks_files_open(args->from, false, &store.files, &diag);
	} else {
		args->server.http.timeout_secs = ASK_SECS;
		code = ks_fleet_connect(&args->cli, &args->server, &store);
	}
	if (!code && !err)
		err = ks_question_ask(&store, question, &doc, &diag);
	if (!code && err)
		code = ks_cli_fail(&args->cli, err, &diag);
	if (!code && args->report)
		code = ks_fleet_write_report(args, &store, doc);
	ks_files_close(store.files);
	ks_fleet_disconnect(&args->server, &store);
	if (code || args->report) {
		ks_doc_free(doc);
		return code;
	}
	return ks_cli_print_doc(&args->cli, doc);
}
