// SPDX-License-Identifier: GPL-2.0-only
/* Running an analysis for a person: progress on a terminal, Ctrl-C, the verdict. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/timeline.h"
#include "cli/signals.h"
#include "cli/this-kernel.h"

/* === Data ================================================================================= */

static volatile sig_atomic_t interrupted;

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
	if (!ks_cli_hangup_is_ignored())
		sigaction(SIGHUP, &action, NULL);
	signal(SIGXFSZ, SIG_IGN); /* "ulimit -f": an error like a full disk */
}

static double seconds_since(const struct timespec *then, const struct timespec *now)
{
	return (double)(now->tv_sec - then->tv_sec) + (double)(now->tv_nsec - then->tv_nsec) * 1e-9;
}

/* What to ask the analyser for; one of the views, a DB, or neither. */
struct wish {
	enum ks_by by;
	const char *db_path;
	struct ks_frag *frag;
	struct ks_leaks *leaks;
	struct ks_timeline **timeline;
	u64 min_age;
	bool stacks;
	ks_object_fn *objects;
	void *objects_ctx;
};

static int analyze(const char *input, const struct wish *wish, const struct ks_analysis_opts *opts,
		   struct ks_model **ret_model, struct ks_diag *diag)
{
	if (wish->db_path)
		return ks_import(input, wish->db_path, opts, ret_model, diag);
	if (wish->frag)
		return ks_analyze_frag(input, opts, wish->frag, ret_model, diag);
	if (wish->leaks)
		return ks_analyze_leaks(input, opts, wish->min_age, wish->leaks, ret_model, diag);
	if (wish->objects)
		return ks_analyze_objects(input, opts, wish->objects, wish->objects_ctx, ret_model,
					  diag);
	if (wish->timeline)
		return ks_analyze_timeline(input, opts, wish->timeline, ret_model, diag);
	return ks_analyze(input, opts, ret_model, diag);
}

/* Names and places are then a guess: most functions stay in their file from release to release. */
static void tell_other_kernel(const struct ks_cli *cli, const struct ks_resolver *resolver,
			      const struct ks_model *model)
{
	const char *release = resolver ? ks_resolver_release(resolver) : NULL;

	if (release && *model->kernel && strcmp(release, model->kernel))
		fprintf(stderr,
			"%s: the capture is of Linux %s, but %s is Linux %s; places may be wrong\n",
			cli->command, model->kernel, cli->kernel, release);
}

/* Zeros in a report look like an answer: who asked beside the capture is told so. */
static void tell_empty_window(const struct ks_cli *cli, const struct ks_model *model)
{
	u64 since = ks_when_in_trace(&cli->filter.since, model->first_ts, 0);
	u64 until = ks_when_in_trace(&cli->filter.until, model->first_ts, UINT64_MAX);
	struct ks_strbuf span;

	if (model->quality[KS_Q_BACKWARDS] ||
	    (since < until && since <= model->last_ts && until > model->first_ts))
		return;
	ks_strbuf_init(&span);
	ks_render_time(model, model->first_ts, &span);
	ks_strbuf_puts(&span, " to ");
	ks_render_time(model, model->last_ts, &span);
	fprintf(stderr, "%s: no event is in the window that was asked for; the capture has %s\n",
		cli->command, ks_strbuf_str(&span));
	ks_strbuf_deinit(&span);
}

static int run_with(struct ks_cli *cli, const struct wish *wish, const struct ks_helpers *helpers,
		    struct ks_model **ret_model)
{
	struct ks_this_kernel kernel;
	struct ks_progress progress;
	struct ks_analysis_opts opts = {
		.by = wish->by,
		.level = cli->pages ? KS_PAGES : KS_SLAB,
		.filter = cli->filter,
		.want_stacks = wish->stacks,
		.helpers = helpers,
		.skip_helpers = cli->skip_helpers,
		.progress = ks_cli_progress,
		.progress_ctx = &progress,
		.trace = cli->trace,
		.kernel = &kernel.known,
	};
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_resolver(cli, &opts.resolver);

	if (code)
		return code;
	ks_this_kernel_init(&kernel);
	ks_cli_progress_start(&progress, wish->db_path ? "importing" : "reading");
	err = analyze(cli->input, wish, &opts, ret_model, &diag);
	ks_cli_progress_end(&progress);
	if (!err) {
		tell_other_kernel(cli, opts.resolver, *ret_model);
		tell_empty_window(cli, *ret_model);
	}
	ks_resolver_free(opts.resolver);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

static int run(struct ks_cli *cli, const struct wish *wish, struct ks_model **ret_model)
{
	struct ks_helpers helpers;
	struct ks_diag diag = { 0 };
	int code, err = ks_helpers_init(&helpers);

	if (err)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	if (cli->helpers)
		err = ks_helpers_add_file(&helpers, cli->helpers, &diag);
	code = err ? ks_cli_fail(cli, err, &diag) : run_with(cli, wish, &helpers, ret_model);
	ks_helpers_deinit(&helpers);
	return code;
}

/* === Public =============================================================================== */

u64 ks_cli_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void ks_cli_progress_start(struct ks_progress *progress, const char *what)
{
	*progress = (struct ks_progress){ .what = what, .tty = isatty(STDERR_FILENO) };
	catch_signals();
	clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

int ks_cli_progress(void *ctx, u64 done, u64 total)
{
	struct ks_progress *progress = ctx;
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

void ks_cli_progress_end(const struct ks_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}

int ks_cli_analyze(struct ks_cli *cli, enum ks_by by, struct ks_model **ret_model)
{
	struct wish wish = { .by = by };

	return run(cli, &wish, ret_model);
}

int ks_cli_import(struct ks_cli *cli, const char *db_path, struct ks_model **ret_model)
{
	struct wish wish = { .by = KS_BY_SITE, .db_path = db_path };

	return run(cli, &wish, ret_model);
}

int ks_cli_frag(struct ks_cli *cli, struct ks_frag *ret_frag, struct ks_model **ret_model)
{
	struct wish wish = { .by = KS_BY_SITE, .frag = ret_frag };

	return run(cli, &wish, ret_model);
}

int ks_cli_leaks(struct ks_cli *cli, u64 min_age, bool stacks, struct ks_leaks *ret_leaks,
		 struct ks_model **ret_model)
{
	struct wish wish = {
		.by = KS_BY_SITE, .leaks = ret_leaks, .min_age = min_age, .stacks = stacks
	};

	return run(cli, &wish, ret_model);
}

int ks_cli_timeline(struct ks_cli *cli, struct ks_timeline **ret_timeline,
		    struct ks_model **ret_model)
{
	struct wish wish = { .by = KS_BY_SITE, .timeline = ret_timeline };

	return run(cli, &wish, ret_model);
}

int ks_cli_objects(struct ks_cli *cli, ks_object_fn *fn, void *ctx, struct ks_model **ret_model)
{
	struct wish wish = { .by = KS_BY_SITE, .objects = fn, .objects_ctx = ctx };

	return run(cli, &wish, ret_model);
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

int ks_cli_verdict(const struct ks_cli *cli, const struct ks_model *model)
{
	if (!cli->strict || !ks_model_has_loss(model))
		return 0;
	return ks_cli_error(cli, KS_EXIT_LOST, "the capture lost events (--strict)");
}

int ks_cli_conclude_doc(const struct ks_cli *cli, struct ks_doc *doc, struct ks_model *model)
{
	int code = ks_cli_print_doc(cli, doc);

	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_model_free(model);
	return code;
}

int ks_cli_conclude(const struct ks_cli *cli, struct ks_written *written, struct ks_strbuf *text,
		    struct ks_model *model)
{
	int code = ks_cli_write(cli, written->path, text);

	written->bytes = text->len;
	if (!code)
		code = ks_cli_print_written(cli, model, written);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_strbuf_deinit(text);
	ks_model_free(model);
	return code;
}
