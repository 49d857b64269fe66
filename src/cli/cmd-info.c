// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope info: what is in a capture. */
#include "cli/report.h"

static struct ks_doc *make(const struct ks_model *model, const struct ks_cli *cli, const void *opts)
{
	(void)cli;
	(void)opts;
	return ks_doc_of_info(model);
}

const struct ks_report ks_report_info = {
	.usage =
		"usage: kmemscope info [OPTION...] FILE\n"
		"\n"
		"Shows what is in a capture: format, time span, events by kind, totals, capture\n"
		"quality, misuse of the allocator, and the first lines that were not understood.\n",
	.shared = KS_WITH_INPUT | KS_WITH_JSON | KS_WITH_COMMON,
	.make = make,
};
