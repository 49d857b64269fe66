// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope check: is a capture whole, in order, and without loss? */
#include "cli/cli.h"

#include <getopt.h>

#include "analysis/check.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "report/check.h"
#include "trace/tracedat-writer.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope check [OPTION...] FILE...\n"
	"\n"
	"Validates captures: framing, order of time stamps or sequence numbers on each CPU,\n"
	"gaps and losses, records that cannot be true. A directory is a kmemtrace capture.\n"
	"Exits with 0 on success, and with 3 when a capture is damaged.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope check trace.dat\n"
			       "  kmemscope check --repair killed.dat\n";

/* === Internals ============================================================================ */

struct checking {
	const struct ks_cli *cli;
	struct ks_doc *doc;
	struct ks_table *files; /* of the document */
	bool repair;
	bool damaged, lost; /* what was found */
};

static int check_one(struct checking *all, const char *path)
{
	struct ks_check check;
	struct ks_diag diag = { 0 };
	bool repaired = false;
	int err = all->repair ? ks_td_repair(path, &repaired, &diag) : 0;

	if (!err || err == KS_EBADINPUT)
		err = ks_check_file(path, &check, &diag);
	if (err)
		return ks_cli_fail(all->cli, err, &diag);
	all->damaged |= check.verdict == KS_CHECK_DAMAGED;
	all->lost |= check.gaps > 0;
	ks_doc_add_check(all->doc, all->files, path, &check, repaired);
	ks_check_deinit(&check);
	return 0;
}

static int check_all(struct checking *all, int argc, char **argv)
{
	int i, code = 0;

	all->doc = ks_doc_of_checks(&all->files);
	if (!all->doc)
		return ks_cli_error(all->cli, KS_EXIT_FAILED, "out of memory");
	for (i = 0; i < argc && !code; i++)
		code = check_one(all, argv[i]);
	if (!code)
		return ks_cli_print_doc(all->cli, all->doc);
	ks_doc_free(all->doc);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_check(int argc, char **argv)
{
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_JSON | KS_WITH_COMMON,
	};
	struct checking all = { .cli = &cli };
	const struct ks_option own[] = {
		{ 0, "repair", NULL, "finish a trace.dat whose recorder was killed",
		  .flag = &all.repair },
		{ 0, "json", NULL, "print JSON, for programs", .flag = &cli.output.json },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (optind == argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "no capture given; name files");
	code = check_all(&all, argc - optind, argv + optind);
	if (code)
		return code;
	if (all.damaged)
		return KS_EXIT_BAD_INPUT;
	return cli.output.strict && all.lost ? KS_EXIT_LOST : KS_EXIT_OK;
}
