// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope import: a capture into a DB file. */
#include "cli/cli.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"

static const char usage[] =
	"usage: kmemscope import -o DB [OPTION...] FILE\n"
	"\n"
	"Reads a capture once and saves all of it in a DB file, which every command reads\n"
	"instead of the capture: at once without a filter, and fast with one.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope import -o trace.ksdb trace.dat\n";

int ks_cmd_import(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_FILE | KS_WITH_JSON | KS_WITH_COMMON,
		.capture = &capture,
	};
	const char *db_path = NULL;
	const struct ks_option own[] = {
		{ 'o', "output", "DB", "the DB file to make (by convention, NAME.ksdb)",
		  .string = &db_path },
		{ 0 },
	};
	struct ks_model *model;
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (!db_path)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "name the DB file to make with -o");
	code = ks_cli_import(&cli, db_path, &model);
	if (code)
		return code;
	if (cli.output.json)
		return ks_cli_conclude_doc(&cli, ks_doc_of_info(model), model);
	code = ks_cli_print_quality(&cli, model);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_model_free(model);
	return code;
}
