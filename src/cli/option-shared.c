// SPDX-License-Identifier: GPL-2.0-only
/* The options that several commands share, and where they go. */
#include <assert.h>
#include <string.h>

#include "cli/cli.h"

/* === Internals ============================================================================ */

static const char *color_name(unsigned int color)
{
	static const char *const names[] = {
		[KS_COLOR_AUTO] = "auto", [KS_COLOR_ALWAYS] = "always", [KS_COLOR_NEVER] = "never"
	};

	return names[color];
}

/* === Public =============================================================================== */

size_t ks_cli_shared_options(struct ks_cli *cli, struct ks_option *ret_rows)
{
	/* Where options would go that the command does not have; its sets leave them out below. */
	static struct ks_capture_opts no_capture;
	static struct ks_rows_opts no_rows;
	struct ks_capture_opts *capture = cli->capture ? cli->capture : &no_capture;
	struct ks_rows_opts *rows = cli->rows ? cli->rows : &no_rows;
	const struct ks_option shared[] = {
		{ 'f', "file", "FILE", "the capture (or name it as an argument)",
		  .parse = ks_cli_parse_input, .set = KS_WITH_FILE },
		{ 0, "db-file", "FILE", "the same, for a DB file", .parse = ks_cli_parse_input,
		  .set = KS_WITH_DB_FILE },
		{ 'k', "kernel", "PATH", "kernel tree, vmlinux, System.map or kallsyms for symbols",
		  .parse = ks_cli_parse_kernel, .set = KS_WITH_KERNEL },
		{ 'b', "start-branch", "DIR",
		  "only call sites in this directory or file of the tree",
		  .string = &capture->filter.branch, .set = KS_WITH_BRANCH },
		{ 0, "malloc", NULL, "only kmalloc allocations",
		  .flag = &capture->filter.malloc_only, .set = KS_WITH_FILTER },
		{ 0, "cache", "[=NAME]",
		  "only kmem_cache allocations; with a name, only this cache",
		  .parse = ks_cli_parse_cache, .set = KS_WITH_FILTER },
		{ 0, "site", "NAME", "only allocations in this function, or at function+0xoffset",
		  .string = &capture->filter.site, .set = KS_WITH_FILTER },
		{ 0, "size", "BYTES", "only objects of this size, as allocated",
		  .parse = ks_cli_parse_bytes, .value = &capture->filter, .set = KS_WITH_FILTER },
		{ 0, "pid", "N", "only allocations by this task", .parse = ks_cli_parse_task,
		  .value = &capture->filter, .set = KS_WITH_FILTER },
		{ 0, "comm", "NAME", "only allocations by tasks of this name",
		  .string = &capture->filter.comm, .set = KS_WITH_FILTER },
		{ 0, "cgroup", "PATH", "only allocations by tasks in this cgroup, or below it",
		  .string = &capture->filter.cgroup, .set = KS_WITH_FILTER },
		{ 0, "cpu", "N", "only allocations on this CPU", .parse = ks_cli_parse_cpu,
		  .value = &capture->filter, .set = KS_WITH_FILTER },
		{ 0, "pages", NULL, "the page allocator instead of the slab allocator",
		  .flag = &capture->pages, .set = KS_WITH_FILTER },
		{ 0, "since", "T",
		  "only events from T on: 415.2 as in the log, +1.5 from its start, 10:00:05",
		  .parse = ks_cli_parse_when, .value = &capture->filter.since,
		  .set = KS_WITH_FILTER },
		{ 0, "until", "T", "only events before T", .parse = ks_cli_parse_when,
		  .value = &capture->filter.until, .set = KS_WITH_FILTER },
		{ 0, "skip-helpers", NULL,
		  "blame the caller of helpers such as kstrdup, using stack traces",
		  .flag = &capture->skip_helpers, .set = KS_WITH_FILTER },
		{ 0, "helpers", "FILE", "names of more helper functions, one per line",
		  .string = &capture->helpers, .set = KS_WITH_FILTER },
		{ 'o', "order-by", "KEY", "live (default), total, allocs, frees, waste, peak",
		  .parse = ks_cli_parse_order, .value = &rows->order, .set = KS_WITH_ORDER },
		{ 0, "top", "N", "only the first N rows", .number = &rows->top,
		  .set = KS_WITH_TOP },
		{ 0, "json", NULL, "all numbers, for programs", .flag = &cli->output.json,
		  .set = KS_WITH_JSON },
		{ 0, "csv", NULL, "the rows as CSV", .flag = &cli->output.csv, .set = KS_WITH_CSV },
		{ 0, "markdown", NULL, "the rows as a Markdown table",
		  .flag = &cli->output.markdown, .set = KS_WITH_MARKDOWN },
		{ 0, "bytes", NULL, "all digits of numbers, instead of MiB and k",
		  .flag = &cli->output.bytes, .set = KS_WITH_BYTES },
		{ 0, "strict", NULL, "exit with 4 when the capture lost events",
		  .flag = &cli->output.strict, .set = KS_WITH_COMMON },
		{ 'v', "verbose", NULL, "all counters of the capture quality",
		  .flag = &cli->output.verbose, .set = KS_WITH_FILTER },
		{ 0, "no-pager", NULL, "never use a pager", .flag = &cli->output.no_pager,
		  .set = KS_WITH_COMMON },
		{ 0, "color", "WHEN", "colour messages: auto, always, never",
		  .choice = &cli->output.color, .choices = KS_COLORS, .name_of = color_name,
		  .set = KS_WITH_COMMON },
	};

	static_assert(ARRAY_SIZE(shared) <= KS_SHARED_OPTIONS, "");
	memcpy(ret_rows, shared, sizeof(shared));
	return ARRAY_SIZE(shared);
}
