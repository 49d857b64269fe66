// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope export: a capture in the formats of other tools. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run.h"
#include "report/export.h"

/* === Data ================================================================================= */

static const char usage[] = "usage: kmemscope export --format FORMAT [OPTION...] FILE\n"
			    "\n"
			    "Writes a capture in the format of another tool.\n";

static const char examples[] =
	"examples:\n"
	"  kmemscope export --format pprof -o trace.pb.gz trace.dat\n"
	"  kmemscope export --format csv --table objects --comm sshd trace.dat\n";

enum table { SITES, OBJECTS, TABLES };

struct options {
	struct ks_capture_opts capture;
	unsigned int format; /* of ks_exporters */
	enum ks_measure measure;
	enum ks_frames frames;
	enum table table;
	struct ks_written written;
};

/* === Internals ============================================================================ */

static const char *table_name(unsigned int table)
{
	return table == SITES ? "sites" : "objects";
}

static int export_timeline(struct ks_cli *cli, struct options *opts,
			   const struct ks_exporter *exporter)
{
	struct ks_export export = { .measure = opts->measure };
	struct ks_model *model;
	struct ks_strbuf out;
	int code = ks_cli_timeline(cli, &model);

	if (code)
		return code;
	if (!ks_model_in_seconds(model)) {
		ks_model_free(model);
		return ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "%s: has no times in seconds, which counters need",
				    cli->capture->input);
	}
	export.model = model;
	export.timeline = model->timeline;
	ks_strbuf_init(&out);
	exporter->write(&export, &out);
	return ks_cli_conclude(cli, &opts->written, &out, model);
}

static enum ks_by grouping(const struct options *opts, const struct ks_exporter *exporter)
{
	if (exporter->needs == KS_NEEDS_SAMPLES)
		return KS_BY_SAMPLE;
	return exporter->needs == KS_NEEDS_STACKS && opts->frames == KS_FRAMES_STACK ? KS_BY_STACK
										     : KS_BY_SITE;
}

static void forget_callers(struct ks_model *model)
{
	size_t i;

	for (i = 0; i < ks_model_account(model)->groups.len; i++)
		model->accounts.items[0].groups.items[i].callers_len = 0;
}

static int export_sites(struct ks_cli *cli, struct options *opts,
			const struct ks_exporter *exporter)
{
	struct ks_export export = { .measure = opts->measure };
	struct ks_model *model;
	struct ks_strbuf out;
	struct ks_rows rows;
	int code = ks_cli_analyze(cli, grouping(opts, exporter), &model);

	if (code)
		return code;
	if (opts->frames == KS_FRAMES_PLACE)
		forget_callers(model);
	ks_strbuf_init(&out);
	if (ks_rows_init(&rows, model, KS_ORDER_CURRENT, 0))
		out.failed = true;
	export.model = model;
	export.rows = &rows;
	if (!out.failed)
		exporter->write(&export, &out);
	opts->written.rows = rows.len;
	ks_rows_deinit(&rows);
	return ks_cli_conclude(cli, &opts->written, &out, model);
}

/* Objects are written as they come: there may be any number of them. */
struct stream {
	struct ks_object_export *export;
	struct ks_outfile file;
	struct ks_strbuf text;
	u64 bytes; /* written so far */
};

static int flush(struct stream *stream, struct ks_diag *diag)
{
	int err = stream->text.failed
			  ? ks_diag_nomem(diag, "exporting objects")
			  : ks_outfile_write(&stream->file, ks_strbuf_str(&stream->text),
					     stream->text.len, diag);

	stream->bytes += stream->text.len;
	stream->text.len = 0;
	return err;
}

static int on_object(void *ctx, struct ks_object_source *source, const struct ks_object_row *row,
		     struct ks_diag *diag)
{
	enum { FLUSH_AT = 1 << 20 };
	struct stream *stream = ctx;
	int err = ks_object_export_add(stream->export, source, row, diag);

	if (unlikely(err))
		return err;
	if (likely(stream->text.len < FLUSH_AT && !stream->text.failed))
		return 0;
	return flush(stream, diag);
}

static int run_stream(struct ks_cli *cli, struct stream *stream, struct ks_model **ret_model)
{
	struct ks_diag diag = { 0 };
	int err, code = ks_cli_objects(cli, on_object, stream, ret_model);

	if (code) {
		ks_outfile_abort(&stream->file);
		return code;
	}
	ks_object_export_finish(stream->export, *ret_model);
	err = flush(stream, &diag);
	if (err)
		ks_outfile_abort(&stream->file);
	else
		err = ks_outfile_commit(&stream->file, &diag);
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

static int export_objects(struct ks_cli *cli, struct options *opts,
			  const struct ks_exporter *exporter)
{
	struct ks_written *written = &opts->written;
	struct ks_model *model = NULL;
	struct ks_diag diag = { 0 };
	struct stream stream = { 0 };
	int err, code;

	ks_strbuf_init(&stream.text);
	stream.export = ks_object_export_new(exporter->objects, &stream.text);
	if (!stream.export)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	err = strcmp(written->path, "-") ? ks_outfile_open(&stream.file, written->path, &diag)
					 : ks_outfile_open_stdout(&stream.file, &diag);
	code = err ? ks_cli_fail(cli, err, &diag) : run_stream(cli, &stream, &model);
	written->bytes = stream.bytes;
	written->rows = ks_object_export_rows(stream.export);
	ks_object_export_free(stream.export);
	ks_strbuf_deinit(&stream.text);
	if (!code)
		code = ks_cli_print_written(cli, model, written);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_model_free(model);
	return code;
}

static int run_export(struct ks_cli *cli, struct options *opts)
{
	const struct ks_exporter *exporter = &ks_exporters[opts->format];
	bool to_stdout = !strcmp(opts->written.path, "-");

	if (exporter->is_binary && to_stdout && isatty(STDOUT_FILENO))
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "%s is binary: name a file with --output, or use a pipe",
				    exporter->name);
	if (opts->table == OBJECTS && exporter->objects == KS_OBJECTS_NONE)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "%s cannot hold objects: use csv, json or parquet",
				    exporter->name);
	opts->written.format = exporter->name;
	if (exporter->objects != KS_OBJECTS_NONE)
		opts->written.table = table_name(opts->table);
	if (opts->table == OBJECTS)
		return export_objects(cli, opts, exporter);
	return exporter->needs == KS_NEEDS_TIMELINE ? export_timeline(cli, opts, exporter)
						    : export_sites(cli, opts, exporter);
}

/* === Public =============================================================================== */

int ks_cmd_export(int argc, char **argv)
{
	struct options opts = { .format = ks_nr_exporters, .written.path = "-" };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_CAPTURE | KS_WITH_JSON,
		.capture = &opts.capture,
	};
	const struct ks_option own[] = {
		{ 0, "format", "FORMAT",
		  "pprof, speedscope, collapsed, csv, json, parquet or chrome",
		  .choice = &opts.format, .choices = ks_nr_exporters, .name_of = ks_exporter_name },
		{ 'o', "output", "FILE", "the file to write; - is standard output, the default",
		  .string = &opts.written.path },
		{ 0, "table", "WHAT", "for csv, json and parquet: sites (default) or objects",
		  .choice = &opts.table, .choices = TABLES, .name_of = table_name },
		{ 0, "measure", "WHAT",
		  "for collapsed stacks: live (default), waste, objects, peak,\n"
		  "total, allocs",
		  .choice = &opts.measure, .choices = KS_MEASURES, .name_of = ks_measure_name },
		{ 0, "frames", "WHAT",
		  "for pprof, speedscope and collapsed stacks: stack (default), by\n"
		  "call stack if there are any, or place, by directory and file",
		  .choice = &opts.frames, .choices = KS_FRAMES, .name_of = ks_frames_name },
		{ 0, "json", NULL, "with a file: say what was written, for programs",
		  .flag = &cli.output.json },
		{ 0 },
	};
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (opts.format == ks_nr_exporters)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "no format given; name it with --format");
	code = ks_cli_check_written(&cli, opts.written.path);
	return code ? code : run_export(&cli, &opts);
}
