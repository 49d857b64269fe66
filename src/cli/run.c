// SPDX-License-Identifier: GPL-2.0-only
/* Running an analysis for a person: progress on a terminal, Ctrl-C, the verdict. */
#include "cli/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/view.h"
#include "analysis/views.h"
#include "base/clock.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/this-kernel.h"
#include "source/open.h"

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

/* Names and places are then a guess: most functions stay in their file from release to release. */
static void tell_other_kernel(const struct ks_cli *cli, const struct ks_resolver *resolver,
			      const struct ks_model *model)
{
	const char *release = resolver ? ks_resolver_release(resolver) : NULL;

	if (release && *model->kernel && strcmp(release, model->kernel))
		fprintf(stderr,
			"%s: the capture is of Linux %s, but %s is Linux %s; source files may be wrong\n",
			cli->command, model->kernel, cli->capture->kernel, release);
}

/* Whether the capture has nothing in the window. A window without ends is never empty. */
static bool window_is_empty(const struct ks_cli *cli, const struct ks_model *model)
{
	struct ks_when from = cli->capture->filter.since, to = cli->capture->filter.until;
	u64 since, until;

	if ((!from.set && !to.set) || model->quality[KS_Q_BACKWARDS] ||
	    ks_when_resolve(&from, &model->wall, NULL) || ks_when_resolve(&to, &model->wall, NULL))
		return false;
	since = ks_when_in_trace(&from, model->first_ts, 0);
	until = ks_when_in_trace(&to, model->first_ts, UINT64_MAX);
	return since >= until || since > model->last_ts || until <= model->first_ts;
}

/* Zeros in a report look like an answer: who asked beside the capture is told so. */
static void tell_empty_window(const struct ks_cli *cli, const struct ks_model *model)
{
	struct ks_strbuf span;

	if (!window_is_empty(cli, model))
		return;
	ks_strbuf_init(&span);
	ks_render_time(model, model->first_ts, &span);
	ks_strbuf_puts(&span, " to ");
	ks_render_time(model, model->last_ts, &span);
	if (model->wall.len) {
		ks_strbuf_puts(&span, ", ");
		ks_render_wall_span(model, &span);
	}
	fprintf(stderr, "%s: no event is in the requested window; the capture has %s\n",
		cli->command, ks_strbuf_str(&span));
	ks_strbuf_deinit(&span);
}

/* What was asked for and is not there is said, lest nothing looks like an answer. */
static void tell_absent(const struct ks_cli *cli, const struct ks_model *model)
{
	size_t i;

	for (i = 0; i < model->absent.len; i++)
		fprintf(stderr, "%s: no %s: %s\n", cli->command, model->absent.items[i].what,
			model->absent.items[i].why);
}

static int run_over(struct ks_cli_analysis *run, struct ks_source *source,
		    struct ks_model **ret_model, struct ks_diag *diag)
{
	int err = ks_analysis_run(run->analysis, source, diag);

	return err ? err : ks_analysis_snapshot(run->analysis, ret_model, diag);
}

static int open_and_run(struct ks_cli_analysis *run, struct ks_model **ret_model,
			struct ks_diag *diag)
{
	struct ks_this_kernel kernel;
	struct ks_source_opts opts;
	struct ks_source *source;
	int err;

	if (run->cli->capture->source)
		return run_over(run, run->cli->capture->source, ret_model, diag);
	ks_analysis_wants(run->analysis, &opts);
	ks_this_kernel_init(&kernel);
	opts.kernel = &kernel.known;
	err = ks_source_open(run->cli->capture->input, &opts, &source, diag);
	if (err)
		return err;
	err = run_over(run, source, ret_model, diag);
	if (!err && source->info.map.other_kernel && !run->again)
		fprintf(stderr,
			"%s: %s is not the recorded kernel: a function is at another address; names may be wrong\n",
			run->cli->command, run->cli->capture->kernel);
	ks_source_close(source);
	return err;
}

/* Adds an account and a view, of which either may be missing, and runs. */
static int run_one(struct ks_cli *cli, enum ks_by by, bool with_view, struct ks_view *view,
		   struct ks_model **ret_model)
{
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err = 0, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);

	if (code) {
		if (view)
			view->ops->free(view);
		return code;
	}
	if (with_view)
		err = ks_analysis_add(run.analysis, view, &diag);
	if (!err)
		err = ks_analysis_account(run.analysis, by, &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}

/* === Public =============================================================================== */

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

int ks_cli_analysis_open(struct ks_cli_analysis *run, struct ks_cli *cli,
			 const struct ks_filter *filter)
{
	struct ks_diag diag = { 0 };
	struct ks_analysis_opts opts = {
		.level = cli->capture->pages ? KS_PAGES : KS_SLAB,
		.filter = *filter,
		.helpers = &run->helpers,
		.skip_helpers = cli->capture->skip_helpers,
		.progress = ks_cli_progress,
		.progress_ctx = &run->progress,
	};
	int code, err;

	*run = (struct ks_cli_analysis){ .cli = cli, .what = "reading" };
	err = ks_helpers_init(&run->helpers);
	if (err)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	if (cli->capture->helpers)
		err = ks_helpers_add_file(&run->helpers, cli->capture->helpers, &diag);
	code = err ? ks_cli_fail(cli, err, &diag) : ks_cli_resolver(cli, &run->resolver);
	if (!code) {
		opts.resolver = run->resolver;
		run->analysis = ks_analysis_new(&opts);
		if (!run->analysis)
			code = ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	}
	if (code)
		ks_cli_analysis_close(run);
	return code;
}

void ks_cli_analysis_close(struct ks_cli_analysis *run)
{
	ks_analysis_free(run->analysis);
	ks_resolver_free(run->resolver);
	ks_helpers_deinit(&run->helpers);
}

int ks_cli_analysis_run(struct ks_cli_analysis *run, int err, struct ks_diag *diag,
			struct ks_model **ret_model)
{
	struct ks_cli *cli = run->cli;

	if (!err) {
		ks_cli_progress_start(&run->progress, run->what);
		err = open_and_run(run, ret_model, diag);
		ks_cli_progress_end(&run->progress);
	}
	if (!err && !run->again) {
		tell_other_kernel(cli, run->resolver, *ret_model);
		tell_empty_window(cli, *ret_model);
		tell_absent(cli, *ret_model);
	}
	ks_cli_analysis_close(run);
	return err ? ks_cli_fail(cli, err, diag) : 0;
}

int ks_cli_analyze(struct ks_cli *cli, enum ks_by by, struct ks_model **ret_model)
{
	return run_one(cli, by, false, NULL, ret_model);
}

int ks_cli_import(struct ks_cli *cli, const char *db_path, struct ks_model **ret_model)
{
	static const struct ks_filter everything;
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_analysis_open(&run, cli, &everything);

	if (code)
		return code;
	run.what = "importing";
	ks_analysis_count_names(run.analysis);
	err = ks_analysis_save(run.analysis, db_path, &diag);
	return ks_cli_analysis_run(&run, err, &diag, ret_model);
}

int ks_cli_frag(struct ks_cli *cli, struct ks_model **ret_model)
{
	return run_one(cli, KS_BY_SITE, true, ks_frag_view_new(), ret_model);
}

int ks_cli_timeline(struct ks_cli *cli, struct ks_model **ret_model)
{
	return run_one(cli, KS_BY_SITE, true, ks_timeline_view_new(), ret_model);
}

int ks_cli_objects(struct ks_cli *cli, ks_object_fn *fn, void *ctx, struct ks_model **ret_model)
{
	return run_one(cli, KS_BY_SITE, true, ks_objects_view_new(fn, ctx), ret_model);
}

int ks_cli_resolver(struct ks_cli *cli, struct ks_resolver **ret_resolver)
{
	struct ks_resolver *resolver = NULL;
	struct ks_diag diag = { 0 };
	int err = 0;

	if (!cli->capture->kernel && cli->capture->filter.branch)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "--start-branch needs the kernel tree: give it with --kernel");
	if (cli->capture->kernel)
		err = ks_resolver_new(cli->capture->kernel, &resolver, &diag);
	if (!err && cli->capture->kallsyms)
		err = ks_resolver_add_kallsyms(resolver, cli->capture->kallsyms, &diag);
	if (!err && cli->capture->filter.branch)
		err = ks_resolver_check_branch(resolver, cli->capture->filter.branch, &diag);
	if (err) {
		ks_resolver_free(resolver);
		return ks_cli_fail(cli, err, &diag);
	}
	*ret_resolver = resolver;
	return 0;
}

int ks_cli_verdict(const struct ks_cli *cli, const struct ks_model *model)
{
	if (cli->output.strict && ks_model_has_loss(model))
		return ks_cli_error(cli, KS_EXIT_LOST, "the capture lost events (--strict)");
	/* That was said before the report. A script that reads the report alone has to know, too. */
	return window_is_empty(cli, model) ? KS_EXIT_FAILED : 0;
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
