// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope static: the static footprint of a built kernel tree. */
#include "analysis/static.h"

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/rings.h"
#include "report/static.h"

static const char usage[] =
	"usage: kmemscope static -k TREE [OPTION...]\n"
	"\n"
	"Measures what a built kernel occupies before it allocates anything: each linked\n"
	"object, by section. TREE is a build directory (in-tree or O=) or a vmlinux.\n";

static const char examples[] = "examples:\n"
			       "  kmemscope static -k ~/linux --by dir\n"
			       "  kmemscope static -k vmlinux --by symbol --top 20\n";

struct static_args {
	enum ks_static_by by;
	u64 depth;
	bool skipped;
};

static int print_static(const struct ks_cli *cli, const struct static_args *args,
			const struct ks_static_model *model)
{
	struct ks_static_rows rows;
	int code;

	if (args->skipped && !cli->output.json)
		return ks_cli_print_doc(cli, ks_doc_of_skipped(model));
	if (ks_static_rows_init(&rows, model, args->by, (unsigned int)args->depth, cli->rows->top))
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	code = ks_cli_print_doc(cli, ks_doc_of_static(model, &rows));
	ks_static_rows_deinit(&rows);
	return code;
}

/*
 * Whether it is a file, or a directory that has what every built kernel has, or every module that was built beside one.
 * All else may be as large as a file system, with archives and objects of anything in it.
 */
static bool is_built_tree(const char *path)
{
	static const char *const signs[] = { "vmlinux", ".config", "modules.order" };
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool built = false;
	size_t i;

	if (fd < 0)
		return true;
	for (i = 0; i < ARRAY_SIZE(signs); i++)
		built |= !faccessat(fd, signs[i], F_OK, 0);
	close(fd);
	return built;
}

int ks_cli_static_model(const struct ks_cli *cli, bool symbols, struct ks_static_model **ret_model)
{
	struct ks_static_options options = { .branch = cli->capture->filter.branch,
					     .symbols = symbols };
	struct ks_diag diag = { 0 };
	size_t i;
	int err;

	if (!is_built_tree(cli->capture->kernel))
		return ks_cli_error(cli, KS_EXIT_BAD_INPUT,
				    "%s does not look like a built kernel: it has neither vmlinux "
				    "nor .config nor modules.order",
				    cli->capture->kernel);
	err = ks_static_measure(cli->capture->kernel, &options, ret_model, &diag);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	for (i = 0; i < (*ret_model)->bad.len; i++)
		ks_cli_error(cli, 0, "%s; the other objects are counted",
			     (*ret_model)->bad.items[i].message);
	return 0;
}

int ks_cmd_static(int argc, char **argv)
{
	struct ks_capture_opts capture = { 0 };
	struct ks_rows_opts rows = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.epilogue = examples,
		.shared = KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV | KS_WITH_COMMON,
		.capture = &capture,
		.rows = &rows,
	};
	struct static_args args = { .by = KS_STATIC_DIR, .depth = 1 };
	const struct ks_option own[] = {
		{ 'k', "kernel", "TREE", "the built tree or a vmlinux (or name it as an argument)",
		  .string = &cli.capture->kernel },
		{ 'b', "start-branch", "DIR", "only this directory or file of the tree",
		  .string = &cli.capture->filter.branch },
		{ 0, "by", "KEY", "dir (default), file, section, symbol", .choice = &args.by,
		  .choices = KS_STATIC_BYS, .name_of = ks_static_by_name },
		{ 0, "depth", "N", "with dir: number of levels below the branch (default 1)",
		  .number = &args.depth, .min = 1, .max = 64 },
		{ 0, "skipped", NULL, "list the object files that were not counted, and why",
		  .flag = &args.skipped },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &cli.output.strict },
		{ 0 },
	};
	struct ks_static_model *model = NULL;
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (!cli.capture->kernel && optind < argc)
		cli.capture->kernel = argv[optind++];
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "unexpected argument '%s'", argv[optind]);
	if (!cli.capture->kernel)
		return ks_cli_error(&cli, KS_EXIT_USAGE,
				    "name a built kernel tree or a vmlinux with -k");
	code = ks_cli_static_model(&cli, args.by == KS_STATIC_SYMBOL, &model);
	if (code)
		return code;
	code = print_static(&cli, &args, model);
	if (!code && model->bad.len)
		code = KS_EXIT_BAD_INPUT;
	ks_static_free(model);
	return code;
}
