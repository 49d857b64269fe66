// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmemtrace's three programs under their own names: kmemtraced records into the current directory,
 * kmemtrace_check validates a per-CPU file, kmemtrace-report prints the short summary.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/check.h"
#include "capture/recorder.h"
#include "capture/relay-capture.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "report/check.h"

/* === Data ================================================================================= */

static const char daemon_usage[] =
	"usage: kmemtraced\n"
	"\n"
	"Records all allocations of the running kernel into the current directory until\n"
	"Ctrl-C: cpu0.out, cpu1.out, ... and the symbol list, kallsyms. Reads the relay files\n"
	"of the kernel module where they exist, else tracefs. Needs root.\n";

static const char check_usage[] =
	"usage: kmemtrace_check FILE...\n"
	"\n"
	"Checks per-CPU files of kmemtraced (cpu0.out, ...): framing, sequence numbers,\n"
	"records that cannot be true. Exits with 0 on success, and with 3 when a file is damaged.\n";

static const char report_usage[] =
	"usage: kmemtrace-report [DIRECTORY]\n"
	"\n"
	"Prints a short summary of what kmemtraced recorded, from the current directory or\n"
	"another one: bytes requested, allocated and wasted by call site and by size, totals,\n"
	"cross-CPU frees, misuse of the allocator.\n";

enum { REPORT_ROWS = 20 };

/* === Internals: recording ================================================================= */

static void announce(const char *from)
{
	printf("Logging from %s... Press Control-C to stop.\n", from);
	fflush(stdout);
}

static int record_relay(const struct ks_cli *cli, const char *relay_dir, const sigset_t *signals)
{
	struct ks_relay_capture *capture;
	struct ks_diag diag = { 0 };
	u64 bytes, overruns;
	int signal, err = ks_relay_capture_start(relay_dir, ".", &capture, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	announce(relay_dir);
	sigwait(signals, &signal);
	err = ks_relay_capture_stop(capture, &bytes, &overruns, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	printf("%llu bytes logged, %llu overruns.\n", (unsigned long long)bytes,
	       (unsigned long long)overruns);
	return KS_EXIT_OK;
}

/* Records a trace.dat beside the files and makes them from it. */
static int record_tracefs(const struct ks_cli *cli, const sigset_t *signals)
{
	static const char path[] = "kmemtraced.dat";
	struct ks_record_opts opts = {
		.path = path, .slab = true, .pages = true, .clock = "local"
	};
	u32 cpus = (u32)ks_max(1, sysconf(_SC_NPROCESSORS_CONF));
	struct ks_record_stats stats;
	struct ks_recorder *rec;
	struct ks_diag diag = { 0 };
	u64 events, lost;
	int err = ks_recorder_new(&opts, &rec, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	err = ks_recorder_start(rec, &diag);
	if (err) {
		ks_recorder_abort(rec);
		return ks_cli_fail(cli, err, &diag);
	}
	announce("tracefs");
	for (;;) {
		struct timespec wait = { 0, 250000000 };

		if (sigtimedwait(signals, NULL, &wait) > 0)
			break;
		ks_recorder_poll(rec, &stats);
		if (stats.failed)
			break;
	}
	err = ks_recorder_stop(rec, &stats, &diag);
	if (!err)
		err = ks_relay_convert(path, ".", cpus, &events, &lost, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	unlink(path);
	printf("%llu events logged, %llu overruns.\n", (unsigned long long)events,
	       (unsigned long long)lost);
	return KS_EXIT_OK;
}

/* === Public =============================================================================== */

int ks_kmemtraced(int argc, char **argv)
{
	struct ks_cli cli = { .command = "kmemtraced", .usage = daemon_usage };
	const char *relay_dir = getenv("KMEMTRACE_DIR");
	struct ks_diag diag = { 0 };
	sigset_t signals;
	int code = ks_cli_parse(&cli, NULL, argc, argv), err;

	if (code >= 0)
		return code;
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	if (!relay_dir)
		relay_dir = KS_RELAY_DIR;
	ks_cli_block_signals((const int[]){ 0 }, &signals);
	puts("Copying /proc/kallsyms...");
	err = ks_relay_save_symbols(".", &diag);
	if (err)
		return ks_cli_fail(&cli, err, &diag);
	return ks_relay_available(relay_dir) ? record_relay(&cli, relay_dir, &signals)
					     : record_tracefs(&cli, &signals);
}

int ks_kmemtrace_check(int argc, char **argv)
{
	struct ks_cli cli = { .command = "kmemtrace_check", .usage = check_usage };
	bool damaged = false;
	int code = ks_cli_parse(&cli, NULL, argc, argv);

	if (code >= 0)
		return code;
	if (optind == argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name the file to check, such as cpu0.out");
	for (; optind < argc; optind++) {
		struct ks_diag diag = { 0 };
		struct ks_table *files;
		struct ks_check check;
		struct ks_doc *doc;
		int err = ks_check_file(argv[optind], &check, &diag);

		if (err)
			return ks_cli_fail(&cli, err, &diag);
		doc = ks_doc_of_checks(&files);
		if (doc)
			ks_doc_add_check(doc, files, argv[optind], &check, false);
		code = ks_cli_print_doc(&cli, doc);
		damaged |= check.verdict == KS_CHECK_DAMAGED;
		ks_check_deinit(&check);
		if (code)
			return code;
	}
	return damaged ? KS_EXIT_BAD_INPUT : KS_EXIT_OK;
}

int ks_kmemtrace_report(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_cli cli = { .command = "kmemtrace-report",
			      .usage = report_usage,
			      .capture = &capture };
	struct ks_model *model;
	struct ks_doc *doc;
	int code = ks_cli_parse(&cli, NULL, argc, argv);

	if (code >= 0)
		return code;
	cli.capture->input = optind < argc ? argv[optind++] : ".";
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "takes one directory: unexpected argument '%s'", argv[optind]);
	code = ks_cli_frag(&cli, &model);
	if (code)
		return code;
	doc = ks_doc_of_frag(model, model->frag, REPORT_ROWS);
	return ks_cli_conclude_doc(&cli, doc, model);
}
