// SPDX-License-Identifier: GPL-2.0-only
/* Messages, and the exit codes that go with errors. */
#include "base/nearest.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"

/* === Internals ============================================================================ */

static bool want_color(const struct ks_cli *cli)
{
	const char *no_color = getenv("NO_COLOR");

	if (cli->output.color != KS_COLOR_AUTO)
		return cli->output.color == KS_COLOR_ALWAYS;
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
		clean.failed ? "out of memory" : ks_strbuf_str(&clean));
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

int ks_cli_unknown_subcommand(struct ks_cli *cli, const char *command,
			      const struct ks_nearest *nearest)
{
	char name[64];

	snprintf(name, sizeof(name), "kmemscope %s", command);
	cli->command = name;
	if (nearest->best)
		ks_cli_error(cli, KS_EXIT_USAGE, "unknown subcommand '%s'; did you mean '%s'?",
			     nearest->word, nearest->best);
	else
		ks_cli_error(cli, KS_EXIT_USAGE, "unknown subcommand '%s'", nearest->word);
	fprintf(stderr, "Try '%s --help'.\n", name);
	return KS_EXIT_USAGE;
}
