// SPDX-License-Identifier: GPL-2.0-only
/* The sums of a capture or of a snapshot, to be held against a budget. */
#include "cli/gate-facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap-source.h"
#include "cli/run.h"
#include "heap/snapshot-file.h"
#include "heap/type-sums.h"

/* === Internals: captures ================================================================== */

static int read_capture(struct ks_cli *cli, unsigned int scopes, struct ks_cli_facts *facts)
{
	bool wanted[KS_BYS] = { [KS_BY_SITE] = true };
	struct ks_cli_analysis run;
	struct ks_diag diag = { 0 };
	int scope, by, err = 0, code = ks_cli_analysis_open(&run, cli, &cli->capture->filter);
	enum ks_by scope_by;

	if (code)
		return code;
	for (scope = 0; scope < KS_SCOPES; scope++)
		if (scopes & 1u << scope && ks_scope_by(scope, &scope_by))
			wanted[scope_by] = true;
	for (by = 0; by < KS_BYS && !err; by++)
		if (wanted[by])
			err = ks_analysis_account(run.analysis, (enum ks_by)by, &diag);
	code = ks_cli_analysis_run(&run, err, &diag, &facts->model);
	if (!code)
		ks_gate_facts_of_model(&facts->facts, facts->model, &cli->capture->filter);
	return code;
}

/* Only a map has layouts; of anything else the gate says that it has none. */
static int read_layouts(struct ks_cli *cli, const struct ks_kmap_fields_opts *types,
			struct ks_cli_facts *facts)
{
	int code;

	if (strcmp(facts->model->format, "access map"))
		return 0;
	code = ks_cli_layouts_read(cli, types, &facts->layouts);
	facts->facts.layouts = facts->layouts.items;
	facts->facts.nr_layouts = facts->layouts.len;
	return code;
}

/* === Internals: snapshots ================================================================= */

static void set_group(struct ks_group *group, const char *name, u64 objects, u64 bytes)
{
	*group = (struct ks_group){ .label = name, .func = "", .module = "", .path = "" };
	group->stat.live_objs = objects;
	group->stat.live_bytes = group->stat.live_req = bytes;
}

static int sum_snapshot(struct ks_cli_facts *facts)
{
	const struct ks_snapshot *s = facts->snapshot;
	struct ks_type_sums types;
	struct ks_group *caches;
	int err = ks_type_sums_init(&types, s);
	u32 i;

	facts->groups = calloc(types.items.len + s->caches.len + 1, sizeof(*facts->groups));
	if (err || !facts->groups) {
		ks_type_sums_deinit(&types);
		return -ENOMEM;
	}
	facts->facts = (struct ks_gate_facts){ .what = "heap snapshot", .live_only = true };
	for (i = 0; i < types.items.len; i++) {
		const struct ks_type_sum *sum = &types.items.items[i];

		set_group(&facts->groups[i], s->types.items[sum->type].name, sum->objects,
			  sum->bytes);
		facts->facts.total.live_objs += sum->objects;
		facts->facts.total.live_bytes += sum->bytes;
	}
	caches = &facts->groups[types.items.len];
	for (i = 0; i < s->caches.len; i++)
		set_group(&caches[i], s->caches.items[i].name, 0, 0);
	for (i = 0; i < s->count; i++) {
		struct ks_stat *stat = &caches[s->cache[i]].stat;

		stat->live_objs++;
		stat->live_bytes += s->caches.items[s->cache[i]].size;
		stat->live_req = stat->live_bytes;
	}
	facts->facts.groups[KS_SCOPE_TYPE].items = facts->groups;
	facts->facts.groups[KS_SCOPE_TYPE].len = types.items.len;
	facts->facts.groups[KS_SCOPE_CACHE].items = caches;
	facts->facts.groups[KS_SCOPE_CACHE].len = s->caches.len;
	facts->facts.groups[KS_SCOPE_TYPE].given = facts->facts.groups[KS_SCOPE_CACHE].given = true;
	ks_type_sums_deinit(&types);
	return 0;
}

static int read_snapshot(struct ks_cli *cli, struct ks_cli_facts *facts)
{
	struct ks_diag diag = { 0 };
	int err = ks_snapshot_load(cli->capture->input, &facts->snapshot, &diag);

	if (!err && sum_snapshot(facts))
		err = ks_diag_nomem(&diag, "adding up a snapshot");
	return err ? ks_cli_fail(cli, err, &diag) : 0;
}

/* === Public =============================================================================== */

int ks_cli_facts_open(struct ks_cli *cli, unsigned int scopes,
		      const struct ks_kmap_fields_opts *types, struct ks_cli_facts *facts)
{
	u64 bytes;
	int code;

	*facts = (struct ks_cli_facts){ 0 };
	if (!ks_heap_is_snapshot(cli->capture->input, &bytes)) {
		code = read_capture(cli, scopes, facts);
		if (!code && types)
			code = read_layouts(cli, types, facts);
		if (code)
			ks_cli_facts_close(facts);
		return code;
	}
	if (!ks_filter_is_empty(&cli->capture->filter) || cli->capture->pages)
		return ks_cli_error(cli, KS_EXIT_USAGE,
				    "%s is a heap snapshot, and filters are for captures",
				    cli->capture->input);
	code = read_snapshot(cli, facts);
	if (code)
		ks_cli_facts_close(facts);
	return code;
}

void ks_cli_facts_close(struct ks_cli_facts *facts)
{
	ks_model_free(facts->model);
	ks_snapshot_free(facts->snapshot);
	free(facts->groups);
	ks_cli_layouts_deinit(&facts->layouts);
	*facts = (struct ks_cli_facts){ 0 };
}
