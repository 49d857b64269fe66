// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope gate: fails when a capture is over its budget, for automatic tests of a kernel. */
#include "cli/cli.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope gate --budget FILE [OPTION...] CAPTURE\n"
	"\n"
	"Checks a capture against a budget and exits with 5 when it is exceeded. A rule of the\n"
	"budget is a line such as 'module ext4 live 4M' or 'site * waste 64K'.\n";

/* === Internals ============================================================================ */

static int judge(const struct ks_cli *cli, const struct ks_budget *budget,
		 const struct ks_model *model)
{
	struct ks_diag diag = { 0 };
	struct ks_gate gate;
	int code, err = ks_gate_init(&gate, budget, model, &cli->capture->filter, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	code = ks_cli_print_doc(cli, ks_doc_of_gate(model, &gate));
	if (!code && gate.exceeded)
		code = ks_cli_error(cli, KS_EXIT_BUDGET, "%s: over budget in %llu of %zu checks",
				    cli->capture->input, (unsigned long long)gate.exceeded,
				    gate.checks.len);
	ks_gate_deinit(&gate);
	return code;
}

static int run_gate(struct ks_cli *cli, const char *budget_path)
{
	struct ks_model *model = NULL;
	struct ks_diag diag = { 0 };
	struct ks_budget budget;
	int code, err = ks_budget_load(&budget, budget_path, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	code = ks_cli_analyze(cli, KS_BY_SITE, &model);
	if (!code)
		code = judge(cli, &budget, model);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_model_free(model);
	ks_budget_deinit(&budget);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_gate(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON,
		.capture = &capture,
	};
	const char *budget = NULL;
	const struct ks_option own[] = {
		{ 0, "budget", "FILE", "the budget", .string = &budget },
		{ 0 },
	};
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (!budget)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "no budget given; name it with --budget");
	return run_gate(&cli, budget);
}
