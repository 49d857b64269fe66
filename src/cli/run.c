// SPDX-License-Identifier: GPL-2.0-only
/* Running an analysis for a person: progress on a terminal, Ctrl-C, the verdict. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* === Data ================================================================================= */

static volatile sig_atomic_t interrupted;

struct progress {
	const char *what;
	bool tty, shown;
	struct timespec start, last;
};

/* === Internals ============================================================================ */

/* The first signal asks for an orderly end; a second one gets its usual way. */
static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static double seconds_since(const struct timespec *then, const struct timespec *now)
{
	return (double)(now->tv_sec - then->tv_sec) + (double)(now->tv_nsec - then->tv_nsec) * 1e-9;
}

/* A line on standard error, from the second second on, ten times a second at most. */
static int show_progress(void *ctx, u64 done, u64 total)
{
	struct progress *progress = ctx;
	struct timespec now;

	if (interrupted)
		return 1;
	if (!progress->tty)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (seconds_since(&progress->start, &now) < 1 || seconds_since(&progress->last, &now) < 0.1)
		return 0;
	progress->last = now;
	progress->shown = true;
	if (total)
		fprintf(stderr, "\r\033[K%s: %llu %%", progress->what,
			(unsigned long long)(done * 100 / total));
	else
		fprintf(stderr, "\r\033[K%s: %llu MB", progress->what,
			(unsigned long long)(done / 1000000));
	return 0;
}

static int run(struct ks_cli *cli, const char *db_path, enum ks_by by,
	       const struct ks_helpers *helpers, struct ks_model **ret_model)
{
	struct progress progress = { .what = db_path ? "importing" : "reading",
				     .tty = isatty(STDERR_FILENO) };
	struct ks_analysis_opts opts = {
		.by = by,
		.level = cli->pages ? KS_PAGES : KS_SLAB,
		.filter = cli->filter,
		.helpers = helpers,
		.skip_helpers = cli->skip_helpers,
		.progress = show_progress,
		.progress_ctx = &progress,
	};
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_resolver(cli, &opts.resolver);

	if (code)
		return code;
	catch_signals();
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	err = db_path ? ks_import(cli->input, db_path, &opts, ret_model, &diag)
		      : ks_analyze(cli->input, &opts, ret_model, &diag);
	if (progress.shown)
		fputs("\r\033[K", stderr);
	ks_resolver_free(opts.resolver);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

static int run_with_helpers(struct ks_cli *cli, const char *db_path, enum ks_by by,
			    struct ks_model **ret_model)
{
	struct ks_helpers helpers;
	struct ks_diag diag = { 0 };
	int code, err = ks_helpers_init(&helpers);

	if (err)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	if (cli->helpers)
		err = ks_helpers_add_file(&helpers, cli->helpers, &diag);
	code = err ? ks_cli_fail(cli, err, &diag) : run(cli, db_path, by, &helpers, ret_model);
	ks_helpers_deinit(&helpers);
	return code;
}

/* === Public =============================================================================== */

int ks_cli_analyze(struct ks_cli *cli, enum ks_by by, struct ks_model **ret_model)
{
	return run_with_helpers(cli, NULL, by, ret_model);
}

int ks_cli_import(struct ks_cli *cli, const char *db_path, struct ks_model **ret_model)
{
	return run_with_helpers(cli, db_path, KS_BY_SITE, ret_model);
}

int ks_cli_verdict(const struct ks_cli *cli, const struct ks_model *model)
{
	if (!cli->strict || !ks_model_has_loss(model))
		return 0;
	return ks_cli_error(cli, KS_EXIT_LOST, "the capture lost events (--strict)");
}
