// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope info: what is in a capture. */
#include "cli/cli.h"

static const char usage[] =
	"usage: kmemscope info [OPTION...] FILE\n"
	"\n"
	"Shows what is in a capture: format, time span, events by kind, totals, capture\n"
	"quality, misuse of the allocator, and the first lines that were not understood.\n";

int ks_cmd_info(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.shared = KS_WITH_INPUT | KS_WITH_JSON | KS_WITH_COMMON,
		.capture = &capture,
	};
	struct ks_model *model;
	int code = ks_cli_parse_capture(&cli, NULL, argc, argv);

	if (code >= 0)
		return code;
	code = ks_cli_analyze(&cli, KS_BY_SITE, &model);
	if (code)
		return code;
	return ks_cli_conclude_doc(&cli, ks_doc_of_info(model), model);
}
