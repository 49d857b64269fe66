// SPDX-License-Identifier: GPL-2.0-only
/* The options that commands share, and messages. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/num.h"

/* === Internals ============================================================================ */

static int parse_order(struct ks_cli *cli, const char *arg)
{
	int order;

	if (!ks_order_parse(arg, &cli->order))
		return -1;
	fprintf(stderr, "%s: --order-by '%s': choose one of", cli->command, arg);
	for (order = 0; order < KS_ORDERS; order++)
		fprintf(stderr, " %s", ks_order_name((enum ks_order)order));
	fputc('\n', stderr);
	return KS_EXIT_USAGE;
}

static int parse_color(struct ks_cli *cli, const char *arg)
{
	static const char *const names[] = { "auto", "always", "never" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(arg, names[i])) {
			cli->color = (enum ks_color)i;
			return -1;
		}
	return ks_cli_error(cli, KS_EXIT_USAGE, "--color '%s': choose auto, always or never", arg);
}

static bool want_color(const struct ks_cli *cli)
{
	const char *no_color = getenv("NO_COLOR");

	if (cli->color != KS_COLOR_AUTO)
		return cli->color == KS_COLOR_ALWAYS;
	return !(no_color && *no_color) && isatty(STDERR_FILENO);
}

/* === Public =============================================================================== */

int ks_cli_error(const struct ks_cli *cli, int code, const char *fmt, ...)
{
	struct ks_strbuf clean;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ks_strbuf_init(&clean);
	ks_escape_tty(&clean, text, strlen(text));
	fprintf(stderr, want_color(cli) ? "\033[1;31m%s:\033[0m %s\n" : "%s: %s\n", cli->command,
		ks_strbuf_str(&clean));
	ks_strbuf_deinit(&clean);
	return code;
}

int ks_cli_fail(const struct ks_cli *cli, int err, const struct ks_diag *diag)
{
	int code = err == KS_EBADINPUT ? KS_EXIT_BAD_INPUT
		   : err == -EINTR     ? KS_EXIT_INTERRUPTED
				       : KS_EXIT_FAILED;

	return ks_cli_error(cli, code, "%s", diag->err ? diag->text : strerror(-err));
}

int ks_cli_when(const struct ks_cli *cli, const char *option, const char *arg, struct ks_when *when)
{
	when->relative = *arg == '+';
	if (ks_parse_time(arg + when->relative, &when->ns))
		return ks_cli_error(
			cli, KS_EXIT_USAGE,
			"%s '%s': give seconds as the trace prints them (415.2), or from its "
			"first event on (+1.5, +20ms)",
			option, arg);
	when->set = true;
	return -1;
}

int ks_cli_by(const struct ks_cli *cli, const char *arg, enum ks_by *ret_by)
{
	int by;

	for (by = 0; by < KS_BYS; by++)
		if (!strcmp(arg, ks_by_name((enum ks_by)by))) {
			*ret_by = (enum ks_by)by;
			return -1;
		}
	fprintf(stderr, "%s: --by '%s': choose one of", cli->command, arg);
	for (by = 0; by < KS_BYS; by++)
		fprintf(stderr, " %s", ks_by_name((enum ks_by)by));
	fputc('\n', stderr);
	return KS_EXIT_USAGE;
}

int ks_cli_frames(const struct ks_cli *cli, const char *arg, bool *ret_by_stack)
{
	*ret_by_stack = !strcmp(arg, "stack");
	if (*ret_by_stack || !strcmp(arg, "place"))
		return -1;
	return ks_cli_error(cli, KS_EXIT_USAGE, "--frames '%s': choose stack or place", arg);
}

int ks_cli_measure(const struct ks_cli *cli, const char *arg, enum ks_measure *ret_measure)
{
	if (!ks_measure_parse(arg, ret_measure))
		return -1;
	return ks_cli_error(cli, KS_EXIT_USAGE,
			    "--measure '%s': choose one of live waste objects peak total allocs",
			    arg);
}

int ks_cli_option(struct ks_cli *cli, int opt)
{
	switch (opt) {
	case 'h':
		fputs(cli->help, stdout);
		return KS_EXIT_OK;
	case 'f':
	case KS_OPT_DB_FILE:
		if (cli->input)
			return ks_cli_error(cli, KS_EXIT_USAGE,
					    "more than one input file: '%s' and '%s'", cli->input,
					    optarg);
		cli->input = optarg;
		return -1;
	case 'k':
		/* A tree, and the kallsyms of the boot that was traced. */
		if (cli->kernel && cli->kallsyms)
			return ks_cli_error(cli, KS_EXIT_USAGE, "more than two of --kernel");
		*(cli->kernel ? &cli->kallsyms : &cli->kernel) = optarg;
		return -1;
	case 'b':
		cli->filter.branch = optarg;
		return -1;
	case 'o':
		return parse_order(cli, optarg);
	case KS_OPT_JSON:
		cli->json = true;
		return -1;
	case KS_OPT_CSV:
		cli->csv = true;
		return -1;
	case KS_OPT_SKIP_HELPERS:
		cli->skip_helpers = true;
		return -1;
	case KS_OPT_HELPERS:
		cli->helpers = optarg;
		return -1;
	case KS_OPT_NO_PAGER:
		cli->no_pager = true;
		return -1;
	case KS_OPT_COLOR:
		return parse_color(cli, optarg);
	case KS_OPT_STRICT:
		cli->strict = true;
		return -1;
	case KS_OPT_PAGES:
		cli->pages = true;
		return -1;
	case KS_OPT_MALLOC:
		cli->filter.malloc_only = true;
		return -1;
	case KS_OPT_CACHE:
		cli->filter.cache_only = true;
		return -1;
	case KS_OPT_SINCE:
		return ks_cli_when(cli, "--since", optarg, &cli->filter.since);
	case KS_OPT_UNTIL:
		return ks_cli_when(cli, "--until", optarg, &cli->filter.until);
	case KS_OPT_TOP:
		if (!ks_parse_u64(optarg, &cli->top))
			return -1;
		return ks_cli_error(cli, KS_EXIT_USAGE, "--top '%s': give a number of rows",
				    optarg);
	default: /* getopt has said what is wrong */
		fprintf(stderr, "Try '%s --help'.\n", cli->command);
		return KS_EXIT_USAGE;
	}
}

int ks_cli_input(struct ks_cli *cli, int argc, char **argv)
{
	if (optind < argc && !cli->input)
		cli->input = argv[optind++];
	if (optind < argc)
		return ks_cli_error(cli, KS_EXIT_USAGE, "one file at a time: what is '%s'?",
				    argv[optind]);
	if (!cli->input)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "no capture given; name a file, or - for standard input");
	if (cli->json && cli->csv)
		return ks_cli_error(cli, KS_EXIT_USAGE, "--json and --csv: choose one");
	return -1;
}

int ks_cli_resolver(struct ks_cli *cli, struct ks_resolver **ret_resolver)
{
	struct ks_resolver *resolver = NULL;
	struct ks_diag diag = { 0 };
	int err = 0;

	if (!cli->kernel && cli->filter.branch)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--start-branch needs the kernel tree: give it with --kernel");
	if (cli->kernel)
		err = ks_resolver_new(cli->kernel, &resolver, &diag);
	if (!err && cli->kallsyms)
		err = ks_resolver_add_kallsyms(resolver, cli->kallsyms, &diag);
	if (!err && cli->filter.branch)
		err = ks_resolver_check_branch(resolver, cli->filter.branch, &diag);
	if (err) {
		ks_resolver_free(resolver);
		return ks_cli_fail(cli, err, &diag);
	}
	*ret_resolver = resolver;
	return 0;
}
