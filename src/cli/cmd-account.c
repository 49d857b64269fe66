// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope account: trace_analyze's tables. */
#include "cli/cli.h"

#include "cli/account.h"
#include "cli/commands.h"

static const char usage[] =
	"usage: kmemscope account [OPTION...] FILE\n"
	"\n"
	"Adds up a capture by call site and prints trace_analyze's account file, then the\n"
	"capture quality. FILE is a capture of any kind: a text log, trace.dat, perf.data, a\n"
	"kmemtrace directory, compressed or not, or a DB file. - is standard input.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope account --top 10 trace.dat\n"
			       "  kmemscope account -k ~/linux -b fs/ext4 trace.dat\n";

int ks_cmd_account(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_rows_opts rows = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_ORDER | KS_WITH_TOP | KS_WITH_JSON |
			  KS_WITH_CSV,
		.capture = &capture,
		.rows = &rows,
	};
	struct ks_account_outputs outputs = { .account = "-" };
	const struct ks_option own[] = {
		{ 'c', "account-file", "FILE",
		  "write the table to FILE; the quality goes to standard output",
		  .string = &outputs.account },
		{ 'l', "callers-file", "FILE",
		  "write site, live bytes, waste and directory to FILE",
		  .string = &outputs.callers },
		{ 0, "save-db", "FILE", "also save the whole capture as a DB file",
		  .string = &outputs.save_db },
		{ 0 },
	};
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	return code >= 0 ? code : ks_cli_account(&cli, &outputs);
}
