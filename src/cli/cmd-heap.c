// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope heap: what is in the kernel's memory now. */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "heap/census-doc.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope heap [OPTION...]\n"
	"\n"
	"Counts the objects in the memory of the running kernel: by cache, by type, by the\n"
	"cgroup that they are charged to, or by NUMA node. Reads the kernel's own structures, without\n"
	"tracing, and changes nothing. Needs root.\n";

enum memory { MEMORY_AUTO, MEMORY_BPF, MEMORY_KCORE, MEMORIES };

static const char kcore[] = "/proc/kcore";

/* === Internals ============================================================================ */

static const char *memory_name(unsigned int memory)
{
	static const char *const names[MEMORIES] = { "auto", "bpf", "kcore" };

	return names[memory];
}

/* BPF is the faster; where it is refused, /proc/kcore may not be. */
static int open_memory(unsigned int memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct ks_diag other;
	int err;

	if (memory == MEMORY_KCORE)
		return ks_memory_open_kcore(kcore, ret_memory, diag);
	err = ks_memory_open_bpf(ret_memory, diag);
	if (err && memory == MEMORY_AUTO && !ks_memory_open_kcore(kcore, ret_memory, &other))
		return 0;
	return err;
}

static int make_types(struct ks_kernel *kernel, struct ks_census *census,
		      struct ks_typing **ret_typing, struct ks_diag *diag)
{
	struct ks_slots *slots;
	int err = ks_slots_read(kernel, census, &slots, diag);

	if (err)
		return err;
	err = ks_typing_make(kernel, census, slots, "/proc/kallsyms", ret_typing, diag);
	ks_slots_free(slots);
	return err;
}

static int report(struct ks_cli *cli, struct ks_kernel *kernel, unsigned int by)
{
	const struct ks_census_options options = { .charges = by == KS_HEAP_BY_CGROUP };
	struct ks_aliases *aliases = NULL;
	struct ks_witness *witness = NULL;
	struct ks_typing *typing = NULL;
	struct ks_census *census;
	struct ks_diag diag;
	struct ks_doc *doc = NULL;
	int err = ks_census_take(kernel, &options, &census, &diag);

	if (err)
		return ks_cli_fail(cli, err, &diag);
	if (by == KS_HEAP_BY_TYPE)
		err = make_types(kernel, census, &typing, &diag);
	if (!err && !ks_witness_read(census->caches, &witness) &&
	    !ks_aliases_read(kernel, census->caches, &aliases))
		doc = ks_doc_of_census(&(struct ks_heap_report){
			.kernel = kernel,
			.census = census,
			.witness = witness,
			.aliases = aliases,
			.typing = typing,
			.by = by,
			.top = cli->rows->top,
		});
	ks_witness_free(witness);
	ks_aliases_free(aliases);
	ks_typing_free(typing);
	ks_census_free(census);
	if (err)
		return ks_cli_fail(cli, err, &diag);
	if (!doc)
		return ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	return ks_cli_print_doc(cli, doc);
}

/* === Public =============================================================================== */

int ks_cmd_heap(int argc, char **argv)
{
	struct ks_rows_opts rows = { 0 };
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.shared = KS_WITH_TOP | KS_WITH_JSON | KS_WITH_CSV | KS_WITH_COMMON,
		.rows = &rows,
	};
	unsigned int by = KS_HEAP_BY_CACHE, source = MEMORY_AUTO;
	const struct ks_option own[] = {
		{ 0, "by", "WHAT", "a row for each cache, type, cgroup or node", .choice = &by,
		  .choices = KS_HEAP_BYS, .name_of = ks_heap_by_name },
		{ 0, "memory", "HOW",
		  "read memory by bpf or kcore; auto takes the first that works", .choice = &source,
		  .choices = MEMORIES, .name_of = memory_name },
		{ 0, "strict", NULL, "accepted, but has no effect here",
		  .flag = &cli.output.strict },
		{ 0 },
	};
	struct ks_memory *memory;
	struct ks_kernel *kernel;
	struct ks_diag diag;
	int code = ks_cli_parse(&cli, own, argc, argv), err;

	if (code >= 0)
		return code;
	if (optind < argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "takes no argument, but got '%s'",
				    argv[optind]);
	err = open_memory(source, &memory, &diag);
	if (!err)
		err = ks_kernel_open(memory, NULL, &kernel, &diag);
	if (err)
		return ks_cli_fail(&cli, err, &diag);
	code = report(&cli, kernel, by);
	ks_kernel_free(kernel);
	return code;
}
