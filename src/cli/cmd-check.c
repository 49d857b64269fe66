// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope check: is a capture whole, in order, and without loss? */
#include "cli/check.h"
#include "cli/cli.h"
#include "trace/tracedat-writer.h"

/* === Data ================================================================================= */

static const char usage[] =
	"usage: kmemscope check [OPTION...] FILE...\n"
	"\n"
	"Validates captures: framing, order of time stamps or sequence numbers on each CPU,\n"
	"gaps and losses, records that cannot be true. A directory is a kmemtrace capture.\n"
	"Exits with 0 when all is well, with 3 when a capture is damaged.\n";

/* === Internals ============================================================================ */

static void put_json(const struct ks_check *check, struct ks_json *json)
{
	size_t i;

	ks_json_object(json, NULL);
	ks_json_string(json, "file", check->path);
	ks_json_string(json, "format", check->format ? check->format : "");
	ks_json_string(json, "verdict", check->damaged ? "damaged" : check->gaps ? "loss" : "ok");
	ks_json_string(json, "error", check->error);
	ks_json_bool(json, "unfinished", check->unfinished);
	ks_json_bool(json, "repaired", check->repaired);
	ks_json_u64(json, "events", check->events);
	ks_json_u64(json, "lost", check->lost);
	ks_json_u64(json, "gaps", check->gaps);
	ks_json_u64(json, "not_understood", check->damaged_elsewhere);
	ks_json_array(json, "cpus");
	for (i = 0; i < check->cpus.len; i++) {
		const struct ks_check_cpu *cpu = &check->cpus.items[i];

		ks_json_object(json, NULL);
		ks_json_u64(json, "cpu", cpu->cpu);
		ks_json_u64(json, "events", cpu->events);
		ks_json_u64(json, "lost", cpu->lost);
		ks_json_u64(json, "gaps", cpu->gaps);
		ks_json_u64(json, "damaged", cpu->damaged);
		ks_json_u64(json, "out_of_order", cpu->backwards);
		ks_json_u64(json, "impossible", cpu->impossible);
		ks_json_u64(json, "first_ts", cpu->first_ts);
		ks_json_u64(json, "last_ts", cpu->last_ts);
		ks_json_end_object(json);
	}
	ks_json_end_array(json);
	ks_json_end_object(json);
}

struct checking {
	const struct ks_cli *cli;
	struct ks_strbuf text;
	struct ks_json json;
	bool repair;
	bool damaged, lost; /* what was found */
};

static int check_one(struct checking *all, const char *path)
{
	struct ks_check check;
	struct ks_diag diag = { 0 };
	bool repaired = false;
	int code, err = all->repair ? ks_td_repair(path, &repaired, &diag) : 0;

	if (err && err != KS_EBADINPUT)
		return ks_cli_fail(all->cli, err, &diag);
	code = ks_check_file(&check, path);
	check.repaired = repaired;
	all->damaged |= check.damaged;
	all->lost |= check.gaps > 0;
	if (code)
		ks_cli_error(all->cli, code, "%s", check.error);
	else if (all->cli->json)
		put_json(&check, &all->json);
	else
		ks_check_print(&check, &all->text);
	ks_check_deinit(&check);
	return code;
}

static int check_all(struct checking *all, int argc, char **argv)
{
	bool as_json = all->cli->json;
	int i, code = 0;

	ks_strbuf_init(&all->text);
	ks_json_init(&all->json, &all->text);
	if (as_json) {
		ks_json_object(&all->json, NULL);
		ks_json_string(&all->json, "schema", "kmemscope-check-1");
		ks_json_array(&all->json, "files");
	}
	for (i = 0; i < argc && !code; i++)
		code = check_one(all, argv[i]);
	if (as_json) {
		ks_json_end_array(&all->json);
		ks_json_end_object(&all->json);
		ks_json_finish(&all->json);
	}
	if (!code)
		code = ks_cli_print(all->cli, &all->text);
	ks_strbuf_deinit(&all->text);
	return code;
}

/* === Public =============================================================================== */

int ks_cmd_check(int argc, char **argv)
{
	struct ks_cli cli = {
		.command = argv[0],
		.usage = usage,
		.shared = KS_WITH_JSON | KS_WITH_COMMON,
	};
	struct checking all = { .cli = &cli };
	const struct ks_option own[] = {
		{ 0, "repair", NULL, "finish a trace.dat whose recorder was killed",
		  .flag = &all.repair },
		{ 0, "json", NULL, "the same, for programs", .flag = &cli.json },
		{ 0 },
	};
	int code = ks_cli_parse(&cli, own, argc, argv);

	if (code >= 0)
		return code;
	if (optind == argc)
		return ks_cli_error(&cli, KS_EXIT_USAGE, "no capture given; name files");
	code = check_all(&all, argc - optind, argv + optind);
	if (code)
		return code;
	if (all.damaged)
		return KS_EXIT_BAD_INPUT;
	return cli.strict && all.lost ? KS_EXIT_LOST : KS_EXIT_OK;
}
