// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope gate: fails when a capture is over its budget, for automatic tests of a kernel. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/gate-facts.h"
#include "cli/output.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope gate --budget FILE [OPTION...] CAPTURE\n"
	"       kmemscope gate --init [--output FILE] CAPTURE...\n"
	"\n"
	"Checks a capture or a heap snapshot against a budget and exits with 5 when it is exceeded.\n"
	"A rule of the budget is a line such as 'function ext4_alloc_inode live 4M', 'cache dentry\n"
	"live 64M', 'process sshd live 1M', 'site * waste 64K'; of an access map's types, 'type\n"
	"tcp_sock hot-lines 12'. --init writes a budget from captures that are good.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope gate --init -o budget good1.dat good2.dat good3.dat\n"
			       "  kmemscope gate --budget budget --junit gate.xml new.dat\n";

/* Scopes of the rules that --init writes. */
enum { INIT_SCOPES = 1u << KS_SCOPE_FUNCTION | 1u << KS_SCOPE_CACHE, INIT_TOP = 20 };

struct options {
	struct ks_capture_opts capture;
	struct ks_kmap_fields_opts types;
	const char *budget, *junit, *output;
	bool init, allow_missing;
	u64 top;
};

/* === Internals: judging =================================================================== */

static int write_junit(const struct ks_cli *cli, const struct options *opts,
		       const struct ks_doc *doc)
{
	struct ks_strbuf xml;
	int code;

	ks_strbuf_init(&xml);
	ks_render_gate_junit(doc, cli->capture->input, opts->allow_missing, &xml);
	code = ks_cli_write(cli, opts->junit, &xml);
	ks_strbuf_deinit(&xml);
	return code;
}

static int print_gate(const struct ks_cli *cli, const struct options *opts,
		      const struct ks_model *model, const struct ks_gate *gate)
{
	struct ks_doc *doc = ks_doc_of_gate(model, gate, cli->output.verbose);
	int code = 0;

	if (!doc || ks_doc_failed(doc)) {
		ks_doc_free(doc);
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	}
	if (opts->junit)
		code = write_junit(cli, opts, doc);
	if (code)
		ks_doc_free(doc);
	else
		code = ks_cli_print_doc(cli, doc);
	if (code || ks_gate_passes(gate))
		return code;
	if (gate->verdicts[KS_GATE_OVER])
		return ks_cli_error(cli, KS_EXIT_BUDGET, "%s: over budget in %llu of %zu checks",
				    cli->capture->input,
				    (unsigned long long)gate->verdicts[KS_GATE_OVER],
				    gate->checks.len);
	return ks_cli_error(cli, KS_EXIT_BUDGET,
			    "%s: %llu rules match nothing: correct the budget, or give "
			    "--allow-missing",
			    cli->capture->input,
			    (unsigned long long)gate->verdicts[KS_GATE_MISSING]);
}

static int judge(struct ks_cli *cli, const struct options *opts, const struct ks_budget *budget)
{
	struct ks_diag diag = { 0 };
	struct ks_cli_facts facts;
	unsigned int scopes = 0;
	bool layouts = false;
	struct ks_gate gate;
	size_t i;
	int code, err;

	for (i = 0; i < budget->rules.len; i++) {
		scopes |= 1u << budget->rules.items[i].scope;
		layouts |= ks_limit_is_layout(budget->rules.items[i].kind);
	}
	code = ks_cli_facts_open(cli, scopes, layouts ? &opts->types : NULL, &facts);
	if (code)
		return code;
	err = ks_gate_init(&gate, budget, &facts.facts, opts->allow_missing, &diag);
	if (err) {
		code = ks_cli_fail(cli, err, &diag);
	} else {
		code = print_gate(cli, opts, facts.model, &gate);
		ks_gate_deinit(&gate);
	}
	if (!code && facts.model)
		code = ks_cli_verdict(cli, facts.model);
	ks_cli_facts_close(&facts);
	return code;
}

static int run_gate(struct ks_cli *cli, const struct options *opts)
{
	struct ks_diag diag = { 0 };
	struct ks_budget budget;
	int code, err = ks_budget_load(&budget, opts->budget, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	code = judge(cli, opts, &budget);
	ks_budget_deinit(&budget);
	return code;
}

/* === Internals: a budget from captures ==================================================== */

static int propose(struct ks_cli *cli, const struct options *opts, size_t len, char **paths)
{
	struct ks_cli_facts *read = calloc(len, sizeof(*read));
	struct ks_gate_facts *facts = calloc(len, sizeof(*facts));
	struct ks_strbuf text;
	size_t i, done = 0;
	int code = 0;

	ks_strbuf_init(&text);
	if (!read || !facts)
		code = ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	for (i = 0; i < len && !code; i++) {
		cli->capture->input = paths[i];
		/* What is read from a pipe can't be read again for its layouts. */
		code = ks_cli_facts_open(cli, INIT_SCOPES,
					 strcmp(paths[i], "-") ? &opts->types : NULL, &read[i]);
		if (code)
			break;
		done++;
		facts[i] = read[i].facts;
		if (!read[i].model != !read[0].model)
			code = ks_cli_error(cli, KS_EXIT_USAGE,
					    "%s is a %s, and %s a %s: a budget is for one of them",
					    paths[i], facts[i].what, paths[0], facts[0].what);
		else if (read[i].model)
			code = ks_cli_verdict(cli, read[i].model);
	}
	if (!code) {
		ks_budget_propose(&text, facts, len, opts->top);
		code = ks_cli_write(cli, opts->output, &text);
	}
	for (i = 0; i < done; i++)
		ks_cli_facts_close(&read[i]);
	ks_strbuf_deinit(&text);
	free(read);
	free(facts);
	return code;
}

static int run_init(struct ks_cli *cli, const struct options *opts, int argc, char **argv)
{
	char *one[1];

	if (opts->budget || opts->junit || cli->output.json || cli->output.markdown)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--init writes a budget, and judges nothing");
	if (cli->capture->input) { /* --file */
		one[0] = (char *)cli->capture->input;
		return propose(cli, opts, 1, one);
	}
	if (optind == argc)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "no capture given; name one or several that are good");
	return propose(cli, opts, (size_t)(argc - optind), &argv[optind]);
}

/* === Public =============================================================================== */

int ks_cmd_gate(int argc, char **argv)
{
	struct options opts = { .top = INIT_TOP, .output = "-" };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON | KS_WITH_BYTES | KS_WITH_MARKDOWN,
		.capture = &opts.capture,
	};
	const struct ks_option own[] = {
		{ 0, "budget", "FILE", "the budget", .string = &opts.budget },
		{ 0, "allow-missing", NULL, "a rule that matches nothing passes",
		  .flag = &opts.allow_missing },
		{ 0, "junit", "FILE", "also write the checks as JUnit's XML",
		  .string = &opts.junit },
		{ 0, "init", NULL, "write a budget that these captures keep to",
		  .flag = &opts.init },
		{ 'o', "output", "FILE", "with --init: the budget's file (default: -)",
		  .string = &opts.output },
		{ 0, "types", "PATH",
		  "debug information for the layouts of a map's types: a file\n"
		  "or a directory; may be repeated",
		  .parse = ks_kmap_take_types, .value = &opts.types },
		{ 0, "top", "N", "with --init: names with a rule of their own (default: 20)",
		  .number = &opts.top },
		{ 'v', "verbose", NULL, "also the checks that passed, and all counters",
		  .flag = &cli.output.verbose },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (opts.init)
		return run_init(&cli, &opts, argc, argv);
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (!opts.budget)
		return ks_cli_error(
			&cli, KS_EXIT_USAGE,
			"no budget given; name it with --budget, or make one with --init");
	return run_gate(&cli, &opts);
}
