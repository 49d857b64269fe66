// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope export: a capture in the formats of other tools. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "report/export-objects.h"
#include "report/export.h"

/* === Data ================================================================================= */

static const char usage[] = "usage: kmemscope export --format FORMAT [OPTION...] FILE\n"
			    "\n"
			    "Writes a capture in the format of another tool.\n";

enum format { PPROF, SPEEDSCOPE, COLLAPSED, CHROME, CSV, JSON, PARQUET, FORMATS };

static const struct {
	const char *name;
	bool is_binary;
} formats[] = {
	[PPROF] = { "pprof", true },
	[SPEEDSCOPE] = { "speedscope", false },
	[COLLAPSED] = { "collapsed", false },
	[CHROME] = { "chrome", false },
	[CSV] = { "csv", false },
	[JSON] = { "json", false },
	[PARQUET] = { "parquet", true },
};
_Static_assert(ARRAY_SIZE(formats) == FORMATS, "a name for every format");

enum table { SITES, OBJECTS, TABLES };

struct wish {
	enum format format;
	enum ks_measure measure;
	enum ks_frames frames;
	enum table table;
	const char *output;
};

/* === Internals ============================================================================ */

static const char *format_name(unsigned int format)
{
	return formats[format].name;
}

static const char *table_name(unsigned int table)
{
	return table == SITES ? "sites" : "objects";
}

static void render(const struct wish *wish, const struct ks_model *model,
		   const struct ks_rows *rows, struct ks_strbuf *out)
{
	switch (wish->format) {
	case PPROF:
		ks_export_pprof(model, rows, out);
		break;
	case SPEEDSCOPE:
		ks_export_speedscope(model, rows, out);
		break;
	case COLLAPSED:
		ks_export_collapsed(rows, wish->measure, out);
		break;
	case CSV:
		ks_render_csv(model, rows, out);
		break;
	case JSON:
		ks_render_json(model, rows, KS_ORDER_CURRENT, "kmemscope-export-1", out);
		break;
	case PARQUET:
		ks_export_parquet(rows, out);
		break;
	case CHROME: /* needs a timeline */
	case FORMATS:
		break;
	}
}

static int export_chrome(struct ks_cli *cli, const struct wish *wish)
{
	struct ks_timeline *timeline;
	struct ks_model *model;
	struct ks_strbuf out;
	int code = ks_cli_timeline(cli, &timeline, &model);

	if (code)
		return code;
	if (model->clock != KS_CLOCK_SECONDS) {
		ks_timeline_free(timeline);
		ks_model_free(model);
		return ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "%s: has no time in seconds to put counters on", cli->input);
	}
	ks_strbuf_init(&out);
	ks_export_chrome(model, timeline, &out);
	ks_timeline_free(timeline);
	return ks_cli_conclude(cli, wish->output, &out, model);
}

/* pprof labels each sample with its cache, so it needs them apart; tables are of sites. */
static enum ks_by grouping(const struct wish *wish)
{
	if (wish->format == PPROF)
		return KS_BY_SAMPLE;
	return wish->frames == KS_FRAMES_STACK && wish->format < CHROME ? KS_BY_STACK : KS_BY_SITE;
}

static void forget_callers(struct ks_model *model)
{
	size_t i;

	for (i = 0; i < ks_model_account(model)->groups.len; i++)
		model->accounts.items[0].groups.items[i].callers_len = 0;
}

static int export_sites(struct ks_cli *cli, const struct wish *wish)
{
	struct ks_model *model;
	struct ks_strbuf out;
	struct ks_rows rows;
	int code = ks_cli_analyze(cli, grouping(wish), &model);

	if (code)
		return code;
	if (wish->frames == KS_FRAMES_PLACE)
		forget_callers(model);
	ks_strbuf_init(&out);
	if (ks_rows_init(&rows, model, KS_ORDER_CURRENT, 0))
		out.failed = true;
	else
		render(wish, model, &rows, &out);
	ks_rows_deinit(&rows);
	return ks_cli_conclude(cli, wish->output, &out, model);
}

/* Objects are written as they come: there may be any number of them. */
struct stream {
	struct ks_object_export *export;
	struct ks_outfile file;
	struct ks_strbuf text;
};

static int flush(struct stream *stream, struct ks_diag *diag)
{
	int err = stream->text.failed
			  ? ks_diag_nomem(diag, "exporting objects")
			  : ks_outfile_write(&stream->file, ks_strbuf_str(&stream->text),
					     stream->text.len, diag);

	stream->text.len = 0;
	return err;
}

static int on_object(void *ctx, struct ks_object_source *source, const struct ks_object_row *row,
		     struct ks_diag *diag)
{
	enum { FLUSH_AT = 1 << 20 };
	struct stream *stream = ctx;

	ks_object_export_add(stream->export, source, row);
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

static int export_objects(struct ks_cli *cli, const struct wish *wish)
{
	struct ks_model *model = NULL;
	struct ks_diag diag = { 0 };
	struct stream stream;
	int err, code;

	ks_strbuf_init(&stream.text);
	stream.export = ks_object_export_new(wish->format == CSV    ? KS_OBJECTS_CSV
					     : wish->format == JSON ? KS_OBJECTS_JSON
								    : KS_OBJECTS_PARQUET,
					     &stream.text);
	if (!stream.export)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	err = strcmp(wish->output, "-") ? ks_outfile_open(&stream.file, wish->output, &diag)
					: ks_outfile_open_stdout(&stream.file, &diag);
	code = err ? ks_cli_fail(cli, err, &diag) : run_stream(cli, &stream, &model);
	ks_object_export_free(stream.export);
	ks_strbuf_deinit(&stream.text);
	if (!code && strcmp(wish->output, "-"))
		code = ks_cli_print_quality(cli, model);
	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_model_free(model);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_export(int argc, char **argv)
{
	struct ks_cli cli = { .command = argv[0], .usage = usage, .shared = KS_WITH_CAPTURE };
	struct wish wish = { .format = FORMATS, .output = "-" };
	const struct ks_option own[] = {
		{ 0, "format", "FORMAT",
		  "pprof, speedscope, collapsed, csv, json, parquet or chrome",
		  .choice = &wish.format, .choices = FORMATS, .name_of = format_name },
		{ 'o', "output", "FILE", "write here; - is standard output, the default",
		  .string = &wish.output },
		{ 0, "table", "WHAT", "of csv, json and parquet: sites (default) or objects",
		  .choice = &wish.table, .choices = TABLES, .name_of = table_name },
		{ 0, "measure", "WHAT",
		  "of collapsed stacks: live (default), waste, objects, peak,\n"
		  "total, allocs",
		  .choice = &wish.measure, .choices = KS_MEASURES, .name_of = ks_measure_name },
		{ 0, "frames", "WHAT",
		  "of pprof, speedscope and collapsed stacks: stack, by call stack\n"
		  "where there are any (default), or place, by directory and file",
		  .choice = &wish.frames, .choices = KS_FRAMES, .name_of = ks_frames_name },
		{ 0 },
	};
	int code = ks_cli_parse_capture(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (wish.format == FORMATS)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "no format given; name it with --format");
	if (formats[wish.format].is_binary && !strcmp(wish.output, "-") && isatty(STDOUT_FILENO))
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "%s is binary: name a file with --output, or use a pipe",
				    formats[wish.format].name);
	if (wish.table == OBJECTS && wish.format < CSV)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "%s has no objects: csv, json and parquet do",
				    formats[wish.format].name);
	if (wish.table == OBJECTS)
		return export_objects(&cli, &wish);
	return wish.format == CHROME ? export_chrome(&cli, &wish) : export_sites(&cli, &wish);
}
