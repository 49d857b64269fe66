// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope import: a capture into a DB file. */
#include "cli/cli.h"

static const char help[] =
	"usage: kmemscope import -o DB [OPTION...] FILE\n"
	"\n"
	"Reads a capture once and keeps all of it in a DB file, which every command reads in\n"
	"its place: at once where no filter is asked, and fast where one is.\n"
	"\n"
	"  -o, --output DB      the DB file to make (by custom, NAME.ksdb)\n"
	"  -f, --file FILE      the capture (or name it as an argument)\n"
	"      --json           tell what was imported as JSON\n"
	"      --strict         exit 4 when the capture lost events\n"
	"      --no-pager       never use a pager\n"
	"      --color WHEN     auto, always, never\n"
	"  -h, --help           this text\n";

int ks_cmd_import(int argc, char **argv)
{
	static const struct option options[] = {
		KS_LONG_COMMON,
		{ "file", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	const char *db_path = NULL;
	struct ks_model *model;
	struct ks_strbuf text;
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON "f:o:", options, NULL)) != -1) {
		if (opt == 'o')
			db_path = optarg;
		else if ((code = ks_cli_option(&cli, opt)) >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (!db_path)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "name the DB file to make with -o");
	code = ks_cli_import(&cli, db_path, &model);
	if (code)
		return code;
	ks_strbuf_init(&text);
	if (cli.json)
		ks_render_info_json(model, &text);
	else
		ks_render_quality(model, &text);
	code = ks_cli_print(&cli, &text);
	if (!code)
		code = ks_cli_verdict(&cli, model);
	ks_strbuf_deinit(&text);
	ks_model_free(model);
	return code;
}
