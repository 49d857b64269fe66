// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope leaks: what still lives at the end of a capture. */
#include "cli/cli.h"

static const char usage[] =
	"usage: kmemscope leaks [OPTION...] FILE\n"
	"\n"
	"Lists what was allocated during the capture and is still live at its end, by call\n"
	"site, with ages. Sites whose frees raise no event are listed separately.\n";

int ks_cmd_leaks(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_rows_opts rows = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.shared = KS_WITH_CAPTURE | KS_WITH_TOP | KS_WITH_JSON,
		.capture = &capture,
		.rows = &rows,
	};
	bool stacks = false;
	u64 min_age = 0;
	const struct ks_option own[] = {
		{ 0, "min-age", "TIME", "only objects at least this old: 1.5, 200ms, 1m",
		  .parse = ks_cli_parse_time, .value = &min_age },
		{ 0, "stacks", NULL, "by stack trace; needs a capture made with record --stack",
		  .flag = &stacks },
		{ 0 },
	};
	struct ks_model *model;
	struct ks_doc *doc;
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	code = ks_cli_leaks(&cli, min_age, stacks, &model);
	if (code)
		return code;
	doc = ks_doc_of_leaks(model, model->leaks, cli.rows->top);
	return ks_cli_conclude_doc(&cli, doc, model);
}
