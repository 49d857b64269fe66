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

static const char help[] =
	"usage: kmemscope export --format FORMAT [OPTION...] FILE\n"
	"\n"
	"Writes a capture in the format of another tool.\n"
	"\n"
	"      --format FORMAT      pprof, speedscope, collapsed, csv, json, parquet or chrome\n"
	"  -o, --output FILE        write here; - is standard output, the default\n"
	"      --table WHAT         of csv, json and parquet: sites (default) or objects\n"
	"      --measure WHAT       of collapsed stacks: live (default), waste, objects, peak,\n"
	"                           total, allocs\n"
	"      --frames WHAT        of pprof, speedscope and collapsed stacks: stack, by call stack\n"
	"                           where there are any (default), or place, by directory and file\n"
	"  -f, --file FILE          the capture (or name it as an argument)\n"
	"      --db-file FILE       the same, for a DB file\n"
	"  -k, --kernel PATH        kernel tree, vmlinux, System.map or kallsyms for symbols\n"
	"  -b, --start-branch DIR   only call sites in this directory or file of the tree\n"
	"      --malloc             only kmalloc\n"
	"      --cache              only kmem_cache\n"
	"      --pages              the page allocator instead of the slab allocator\n"
	"      --skip-helpers       blame kstrdup's allocations on its caller, by stack traces\n"
	"      --helpers FILE       more functions to treat so, one a line\n"
	"      --since T, --until T only this window: 415.2 as in the log, or +1.5 from its start\n"
	"      --strict             exit 4 when the capture lost events\n"
	"      --no-pager           never use a pager\n"
	"      --color WHEN         auto, always, never\n"
	"  -h, --help               this text\n";

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

struct wish {
	enum format format;
	enum ks_measure measure;
	const char *output;
	bool objects;
	bool by_stack;
};

enum { OPT_FORMAT = KS_OPT_OWN, OPT_MEASURE, OPT_TABLE, OPT_FRAMES };

/* === Internals ============================================================================ */

static int parse_format(const struct ks_cli *cli, const char *arg, enum format *ret_format)
{
	size_t i;

	for (i = 0; i < FORMATS; i++)
		if (!strcmp(arg, formats[i].name)) {
			*ret_format = (enum format)i;
			return -1;
		}
	fprintf(stderr, "%s: --format '%s': choose one of", cli->command, arg);
	for (i = 0; i < FORMATS; i++)
		fprintf(stderr, " %s", formats[i].name);
	fputc('\n', stderr);
	return KS_EXIT_USAGE;
}

static int own_option(struct ks_cli *cli, int opt, struct wish *wish)
{
	switch (opt) {
	case OPT_FORMAT:
		return parse_format(cli, optarg, &wish->format);
	case OPT_MEASURE:
		return ks_cli_measure(cli, optarg, &wish->measure);
	case OPT_FRAMES:
		return ks_cli_frames(cli, optarg, &wish->by_stack);
	case OPT_TABLE:
		wish->objects = !strcmp(optarg, "objects");
		if (wish->objects || !strcmp(optarg, "sites"))
			return -1;
		return ks_cli_error(cli, KS_EXIT_USAGE, "--table '%s': choose sites or objects",
				    optarg);
	case 'o':
		wish->output = optarg;
		return -1;
	default:
		return ks_cli_option(cli, opt);
	}
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

/*
 * What every way ends with, once the file is written: frees the model. The quality goes to standard
 * output where that is free; pprof and JSON hold it as well.
 */
static int conclude(const struct ks_cli *cli, const struct wish *wish, struct ks_model *model)
{
	int code = strcmp(wish->output, "-") ? ks_cli_print_quality(cli, model) : 0;

	if (!code)
		code = ks_cli_verdict(cli, model);
	ks_model_free(model);
	return code;
}

static int export_chrome(struct ks_cli *cli, const struct wish *wish)
{
	struct ks_timeline *timeline;
	struct ks_model *model;
	struct ks_strbuf out;
	int code = ks_cli_timeline(cli, &timeline, &model);

	if (code)
		return code;
	ks_strbuf_init(&out);
	if (strcmp(model->clock, "seconds"))
		code = ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "%s: has no time in seconds to put counters on", cli->input);
	else
		ks_export_chrome(model, timeline, &out);
	if (!code)
		code = ks_cli_write(cli, wish->output, &out);
	ks_strbuf_deinit(&out);
	ks_timeline_free(timeline);
	if (!code)
		return conclude(cli, wish, model);
	ks_model_free(model);
	return code;
}

/* pprof labels each sample with its cache, so it needs them apart; tables are of sites. */
static enum ks_by grouping(const struct wish *wish)
{
	if (wish->format == PPROF)
		return KS_BY_SAMPLE;
	return wish->by_stack && wish->format < CHROME ? KS_BY_STACK : KS_BY_SITE;
}

static void forget_callers(struct ks_model *model)
{
	size_t i;

	for (i = 0; i < model->groups.len; i++)
		model->groups.items[i].callers_len = 0;
}

static int export_sites(struct ks_cli *cli, const struct wish *wish)
{
	struct ks_model *model;
	struct ks_strbuf out;
	struct ks_rows rows;
	int code = ks_cli_analyze(cli, grouping(wish), &model);

	if (code)
		return code;
	if (!wish->by_stack)
		forget_callers(model);
	ks_strbuf_init(&out);
	if (ks_rows_init(&rows, model, KS_ORDER_CURRENT, 0))
		out.failed = true;
	else
		render(wish, model, &rows, &out);
	ks_rows_deinit(&rows);
	code = ks_cli_write(cli, wish->output, &out);
	ks_strbuf_deinit(&out);
	if (!code)
		return conclude(cli, wish, model);
	ks_model_free(model);
	return code;
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
	if (err) {
		ks_model_free(*ret_model);
		return ks_cli_fail(cli, err, &diag);
	}
	return 0;
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
	return code ? code : conclude(cli, wish, model);
}

/* === Public =============================================================================== */

int ks_cmd_export(int argc, char **argv)
{
	static const struct option options[] = {
		KS_LONG_PLAIN,
		KS_LONG_INPUT,
		KS_LONG_FILTER,
		{ "pages", no_argument, NULL, KS_OPT_PAGES },
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ "output", required_argument, NULL, 'o' },
		{ "table", required_argument, NULL, OPT_TABLE },
		{ "measure", required_argument, NULL, OPT_MEASURE },
		{ "frames", required_argument, NULL, OPT_FRAMES },
		{ NULL, 0, NULL, 0 },
	};
	struct ks_cli cli = { .command = argv[0], .help = help };
	struct wish wish = { .format = FORMATS, .output = "-", .by_stack = true };
	int opt, code;

	while ((opt = getopt_long(argc, argv, KS_SHORT_COMMON KS_SHORT_INPUT KS_SHORT_FILTER "o:",
				  options, NULL)) != -1) {
		code = own_option(&cli, opt, &wish);
		if (code >= 0)
			return code;
	}
	code = ks_cli_input(&cli, argc, argv);
	if (code >= 0)
		return code;
	if (wish.format == FORMATS)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "no format given; name it with --format");
	if (formats[wish.format].is_binary && !strcmp(wish.output, "-") && isatty(STDOUT_FILENO))
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "%s is binary: name a file with --output, or use a pipe",
				    formats[wish.format].name);
	if (wish.objects && wish.format < CSV)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "%s has no objects: csv, json and parquet do",
				    formats[wish.format].name);
	if (wish.objects)
		return export_objects(&cli, &wish);
	return wish.format == CHROME ? export_chrome(&cli, &wish) : export_sites(&cli, &wish);
}
