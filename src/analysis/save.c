// SPDX-License-Identifier: LGPL-2.1-only
/* The view that writes a DB. */
#include "analysis/save.h"

#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

struct save_view {
	struct ks_view base;
	char *path;
	struct ks_db_writer *writer;
};

/* === Internals ============================================================================ */

static int begin_file(struct save_view *v, struct ks_diag *diag)
{
	return v->writer ? 0 : ks_db_writer_new(v->path, &v->writer, diag);
}

static int save_start(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag)
{
	(void)run;
	return begin_file(ks_container_of(view, struct save_view, base), diag);
}

static int save_match(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
		      const struct ks_match *match, struct ks_diag *diag)
{
	struct save_view *v = ks_container_of(view, struct save_view, base);
	int err = unlikely(!v->writer) ? begin_file(v, diag) : 0;

	(void)run;
	return err ? err : ks_db_writer_add(v->writer, ev, match, diag);
}

static void save_free(struct ks_view *view)
{
	struct save_view *v = ks_container_of(view, struct save_view, base);

	ks_db_writer_free(v->writer);
	free(v->path);
	free(v);
}

/* === Public =============================================================================== */

struct ks_view *ks_save_view_new(const char *path)
{
	static const struct ks_view_ops ops = {
		.name = "the DB",
		.start = save_start,
		.match = save_match,
		.free = save_free,
	};
	struct save_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->base = (struct ks_view){ .ops = &ops, .wants_stacks = true };
	v->path = strdup(path);
	if (!v->path) {
		free(v);
		return NULL;
	}
	return &v->base;
}

int ks_save_view_finish(struct ks_view *view, const struct ks_run *run,
			const struct ks_facts *facts, const struct ks_account *account,
			struct ks_diag *diag)
{
	struct save_view *v = ks_container_of(view, struct save_view, base);
	struct ks_strbuf summary;
	int err = begin_file(v, diag);

	if (err)
		return err;
	ks_db_writer_set_nodes(v->writer, run->info->cpu_nodes.items, run->info->cpu_nodes.len);
	ks_db_writer_set_census(v->writer, run->info->census);
	ks_strbuf_init(&summary);
	ks_summary_pack(facts, account, &summary);
	err = summary.failed
		      ? ks_diag_nomem(diag, "writing a DB")
		      : ks_db_writer_finish(v->writer, run->names, &facts->host, &summary, diag);
	ks_strbuf_deinit(&summary);
	return err;
}
