// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope kmap convert: a map in another form, and what that form could not hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/outfile.h"
#include "cli/kmap.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "kmap/convert.h"
#include "kmap/source.h"
#include "sym/sym.h"

/* === Data ================================================================================= */

struct output {
	struct ks_outfile files[2]; /* the second for the accesses of a CSV pair */
	int nr_files;		    /* 0 = standard output */
	struct ks_kmap_reading reading;
};

/* === Internals ============================================================================ */

static int write_stdout(const char *data, size_t len, struct ks_diag *diag)
{
	int err = ks_write_all(STDOUT_FILENO, data, len);

	return err ? ks_diag_set(diag, err, "standard output: cannot write: %s", strerror(-err))
		   : 0;
}

static int write_part(void *ctx, bool second, const void *data, size_t len, struct ks_diag *diag)
{
	struct output *output = ctx;

	if (!output->nr_files)
		return write_stdout(data, len, diag);
	return ks_outfile_write(&output->files[second], data, len, diag);
}

/* A CSV pair is NAME-allocations.csv and NAME-accesses.csv. */
static int open_files(const char *path, bool pair, struct output *output, struct ks_diag *diag)
{
	static const char *const ends[] = { "-allocations.csv", "-accesses.csv" };
	int i, err = 0;

	if (!pair) {
		err = ks_outfile_open(&output->files[0], path, diag);
		output->nr_files = !err;
		return err;
	}
	for (i = 0; i < 2 && !err; i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, ends[i]) < 0)
			return ks_diag_nomem(diag, "opening files");
		err = ks_outfile_open(&output->files[i], name, diag);
		free(name);
		output->nr_files += !err;
	}
	return err;
}

static int close_files(struct output *output, int err, struct ks_diag *diag)
{
	int i;

	for (i = 0; i < output->nr_files; i++)
		if (err)
			ks_outfile_abort(&output->files[i]);
		else
			err = ks_outfile_commit(&output->files[i], diag);
	return err;
}

struct loss {
	u64 count;
	const char *what;
};

/* On standard error: standard output may be the map. */
static void say(const struct ks_kmap_args *args, const struct loss *losses, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (losses[i].count)
			fprintf(stderr, "%s: %llu %s\n", args->cli.command,
				(unsigned long long)losses[i].count, losses[i].what);
}

static void say_what_was_lost(const struct ks_kmap_args *args, const struct ks_kmap_converted *done,
			      const struct ks_kmap_quality *quality)
{
	const struct loss losses[] = {
		{ done->dropped_accesses, "access lines dropped: the target cannot hold them" },
		{ done->dropped_calls, "call lines dropped: the target cannot hold them" },
		{ done->dropped_types, "types dropped: the target cannot hold them" },
		{ done->changed_types, "types replaced by the nearest type that the target knows" },
		{ done->guessed_types,
		  "objects have no type: those of whole pages are taken for pages, the others for "
		  "kmalloc objects" },
		{ done->left_out,
		  "objects written without their accesses: no code is known that allocated them" },
		{ done->clipped_times, "times cut to the range that the target takes" },
		{ done->other_kernel,
		  "kernel given that is not the recorded kernel: addresses stay as they are" },
		{ done->dropped_caches, "cache names dropped: the target cannot hold them" },
		{ done->dropped_sizes,
		  "sizes of slots dropped: the target has only the requested size" },
		{ done->dropped_details,
		  "CPUs, GFP flags and processes dropped: the target cannot hold them" },
		{ done->dropped_anchors,
		  "notes of the kernel's address dropped: the target cannot hold them" },
		{ done->dropped_callers,
		  "callers of accesses dropped: the target cannot hold them" },
		{ done->dropped_contexts,
		  "kinds of interrupts dropped: the target has -1 for all" },
		{ done->changed_contexts,
		  "accesses in interrupts of unknown kind written as softirqs" },
		{ done->dropped_bytes,
		  "byte counts of accesses dropped: the target cannot hold them" },
		{ done->dropped_spots,
		  "accesses lost their offset in the object and their processor" },
		{ done->dropped_pids, "pids of accesses dropped: the target cannot hold them" },
		{ done->dropped_new_types,
		  "types of successors dropped: the target cannot hold them" },
		{ done->changed_names, "names had commas or line ends, which became _" },
		{ done->cut_names, "names truncated to the length of their field" },
		{ quality->bad_lines, "lines not understood, left out" },
		{ quality->orphan_accesses, "accesses without an object, left out" },
	};

	say(args, losses, ARRAY_SIZE(losses));
}

static void say_what_was_not_traced(const struct ks_kmap_args *args,
				    const struct ks_map_info *traced,
				    const struct ks_kmap_quality *quality)
{
	const struct loss losses[] = {
		{ traced->accesses, "access lines dropped: a DB cannot hold them" },
		{ traced->calls, "call lines dropped: a DB cannot hold them" },
		{ traced->not_allocated, "objects that no allocator made dropped, with" },
		{ traced->not_allocated_bytes, "bytes in them" },
		{ traced->guessed,
		  "objects have no type: those of whole pages are taken for pages, the "
		  "others for kmalloc objects" },
		{ traced->other_kernel,
		  "kernel given that is not the recorded kernel: names may be wrong" },
		{ traced->unseen, "objects whose free was not seen: freed without a site" },
		{ traced->timeless, "objects whose free has no time, or an earlier time than the "
				    "allocation: freed at once" },
		{ quality->bad_lines, "lines not understood, left out" },
		{ quality->orphan_accesses, "accesses without an object, left out" },
	};

	say(args, losses, ARRAY_SIZE(losses));
}

static int parse_target(struct ks_kmap_args *args, enum ks_kmap_target *ret_target)
{
	size_t i;

	if (args->convert.to && !ks_kmap_target_parse(args->convert.to, ret_target))
		return 0;
	fprintf(stderr, "%s: --to: choose one of", args->cli.command);
	for (i = 0; i < KS_KMAP_TARGETS; i++)
		fprintf(stderr, " %s", ks_kmap_target_name((enum ks_kmap_target)i));
	fputs(" ksdb\n", stderr);
	return KS_EXIT_USAGE;
}

/* A DB takes a resolver, for its sites, and an engine, for its summary. */
static int write_db(struct ks_kmap_args *args, struct ks_kmap_reader *reader)
{
	struct ks_progress progress;
	struct ks_analysis_opts opts = { .progress = ks_cli_progress, .progress_ctx = &progress };
	struct ks_source_opts wanted = { .progress = ks_cli_progress, .progress_ctx = &progress };
	struct ks_analysis *analysis = NULL;
	struct ks_diag diag = { 0 };
	struct ks_source *trace = NULL;
	int err, code = ks_cli_resolver(&args->cli, &opts.resolver);

	if (code)
		return code;
	wanted.resolver = opts.resolver;
	ks_cli_progress_start(&progress, "converting");
	err = ks_kmap_source_new(reader, &wanted, NULL, &trace, &diag);
	if (!err) {
		analysis = ks_analysis_new(&opts);
		err = analysis ? ks_analysis_save(analysis, args->convert.output, &diag)
			       : ks_diag_nomem(&diag, "converting an access map");
	}
	if (!err)
		err = ks_analysis_run(analysis, trace, &diag);
	ks_cli_progress_end(&progress);
	if (!err)
		say_what_was_not_traced(args, &trace->info.map, ks_kmap_reader_quality(reader));
	ks_source_close(trace);
	ks_analysis_free(analysis);
	ks_resolver_free(opts.resolver);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}

static int convert_to_db(struct ks_kmap_args *args, bool to_file)
{
	struct ks_kmap_reader *reader;
	int code;

	if (!to_file)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE, "name the DB file to make with -o");
	code = ks_kmap_open(args, args->operands[0], &reader);
	if (code)
		return code;
	code = write_db(args, reader);
	ks_kmap_reader_free(reader);
	return code;
}

/* === Public =============================================================================== */

int ks_kmap_convert_command(struct ks_kmap_args *args)
{
	struct output output = { 0 };
	struct ks_kmap_sink sink = { write_part, &output };
	struct ks_kmap_converted done;
	enum ks_kmap_target target;
	struct ks_kmap_reader *reader;
	struct ks_resolver *resolver = NULL;
	struct ks_diag diag = { 0 };
	bool to_file = args->convert.output && strcmp(args->convert.output, "-");
	int err = 0, code;

	if (args->convert.to && !strcmp(args->convert.to, "ksdb"))
		return convert_to_db(args, to_file);
	code = parse_target(args, &target);
	if (code)
		return code;
	if (args->cli.capture->kernel && target != KS_KMAP_TO_USCOPE)
		return ks_cli_error(
			&args->cli, KS_EXIT_USAGE,
			"--kernel goes with --to ksdb, for names, and with --to uscope, "
			"whose addresses are those of the image");
	if (target == KS_KMAP_TO_CSV && !to_file)
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "CSV is two files: give the beginning of their names with -o");
	code = ks_cli_resolver(&args->cli, &resolver);
	if (!code)
		code = ks_kmap_open(args, args->operands[0], &reader);
	if (code) {
		ks_resolver_free(resolver);
		return code;
	}
	output.reading.reader = reader;
	ks_cli_progress_start(&output.reading.progress, "converting");
	if (to_file)
		err = open_files(args->convert.output, target == KS_KMAP_TO_CSV, &output, &diag);
	if (!err)
		err = ks_kmap_convert(reader, target, resolver, &sink, ks_kmap_show_progress,
				      &output.reading, &done, &diag);
	err = close_files(&output, err, &diag);
	ks_cli_progress_end(&output.reading.progress);
	if (!err)
		say_what_was_lost(args, &done, ks_kmap_reader_quality(reader));
	ks_kmap_reader_free(reader);
	ks_resolver_free(resolver);
	return err ? ks_cli_fail(&args->cli, err, &diag) : 0;
}
