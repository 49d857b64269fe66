// SPDX-License-Identifier: LGPL-2.1-only
/* The last step of a watch: says who grows, of what type it is, and from where it comes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/watch-steps.h"

/* === Internals ============================================================================ */

static void describe(struct ks_suspect *suspect, const struct ks_watch_row *row,
		     const struct ks_judgement *judgement, const struct ks_live_snapshot *s)
{
	double a_second = judgement->slope;

	snprintf(suspect->cache, sizeof(suspect->cache), "%s", row->cache);
	snprintf(suspect->site, sizeof(suspect->site), "%s", row->site);
	snprintf(suspect->process, sizeof(suspect->process), "%s",
		 row->process ? row->process : "");
	suspect->no_program = row->no_program;
	suspect->objects = row->objects;
	suspect->example = row->example;
	suspect->size = (u32)(row->bytes / row->objects);
	suspect->judgement = *judgement;
	suspect->found_ns = s->wall_ns;
	suspect->full_s = UINT64_MAX;
	if (a_second > 0 && (double)s->memory.available / a_second < 1e12)
		suspect->full_s = (u64)((double)s->memory.available / a_second);
}

/* The stack that most of what was traced has, and its cgroup. */
static int add_stack(struct ks_suspect *suspect, const struct ks_live_snapshot *s)
{
	struct ks_live_within in = {
		.name = { [KS_LIVE_BY_CACHE] = suspect->cache, [KS_LIVE_BY_SITE] = suspect->site }
	};
	struct ks_live_rows rows;

	if (*suspect->process)
		in.name[KS_LIVE_BY_PROCESS] = suspect->process;
	if (ks_live_rows(s, KS_LIVE_BY_STACK, &in, &rows))
		return -ENOMEM;
	if (rows.items.len && *rows.items.items[0].name)
		suspect->stack = strdup(rows.items.items[0].name);
	ks_live_rows_free(&rows);
	if (ks_live_rows(s, KS_LIVE_BY_CGROUP, &in, &rows))
		return -ENOMEM;
	if (rows.items.len)
		snprintf(suspect->cgroup, sizeof(suspect->cgroup), "%s", rows.items.items[0].name);
	ks_live_rows_free(&rows);
	return 0;
}

static bool has_site(const struct ks_suspect *s, const struct ks_watch_row *row)
{
	return !strcmp(s->site, row->site) || strstr(s->also, row->site);
}

/*
 * One leak may show in several caches: what one process makes is one suspect. What all processes make at a site is none
 * where one of them was found to. And work of the kernel's own is done by whichever of its threads is free: such a thread
 * has no leaks of its own, only sites have.
 */
static bool is_same(const struct ks_suspect *s, const struct ks_watch_row *row)
{
	if (!row->process)
		return has_site(s, row);
	if (!row->of_kernel && !strcmp(s->process, row->process))
		return true;
	return s->no_program && row->no_program && has_site(s, row);
}

static struct ks_suspect *same_suspect(const struct ks_watch_state *w,
				       const struct ks_watch_row *row)
{
	size_t i;

	for (i = 0; i < w->tracing.len; i++)
		if (is_same(w->tracing.items[i], row))
			return w->tracing.items[i];
	return NULL;
}

/* What was said once is not said again: a leak goes on. */
static bool is_known(const struct ks_watch *watch, const struct ks_watch_row *row)
{
	const char *process = row->process ? row->process : "";
	size_t i;

	for (i = 0; i < watch->suspects.len; i++) {
		const struct ks_suspect *s = watch->suspects.items[i];

		if (has_site(s, row) &&
		    (!strcmp(s->process, process) || (s->no_program && row->no_program)))
			return true;
	}
	return false;
}

static void add_also(struct ks_suspect *suspect, const struct ks_watch_row *row)
{
	size_t len = strlen(suspect->also);

	if (has_site(suspect, row))
		return;
	snprintf(suspect->also + len, sizeof(suspect->also) - len, "%s%s (%s)", len ? ", " : "",
		 row->site, row->cache);
}

/* === Public =============================================================================== */

void ks_suspect_free(struct ks_suspect *suspect)
{
	if (suspect)
		free(suspect->stack);
	free(suspect);
}

int ks_watch_suspect(struct ks_watch *watch, const struct ks_growings *growings,
		     const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < growings->items.len; i++) {
		const struct ks_growing *g = &growings->items.items[i];
		struct ks_suspect *suspect = same_suspect(w, g->row), **slot;

		if (suspect) {
			add_also(suspect, g->row);
			continue;
		}
		if (w->tracing.len == KS_WATCH_ACCUSED || is_known(watch, g->row))
			continue;
		suspect = calloc(1, sizeof(*suspect));
		slot = suspect ? ks_vec_push(&w->tracing) : NULL;
		if (!slot) {
			free(suspect);
			return -ENOMEM;
		}
		*slot = suspect;
		describe(suspect, g->row, &g->judgement, s);
	}
	return 0;
}

int ks_suspect_add_census(struct ks_suspect *suspect, const struct ks_live_snapshot *s)
{
	const struct ks_live_within in = { .name = { [KS_LIVE_BY_CACHE] = suspect->cache } };
	struct ks_live_rows rows;
	size_t i;

	if (ks_live_rows(s, KS_LIVE_BY_CACHE, &in, &rows))
		return -ENOMEM;
	if (rows.items.len) {
		suspect->all_objects = rows.items.items[0].objects;
		suspect->reclaimable = rows.items.items[0].reclaimable;
	}
	ks_live_rows_free(&rows);
	for (i = 0; i < s->typed.len; i++)
		if (s->typed.items[i].addr == suspect->example)
			snprintf(suspect->type, sizeof(suspect->type), "%s",
				 s->typed.items[i].type);
	if (!*suspect->type)
		return 0;
	if (ks_live_rows(s, KS_LIVE_BY_TYPE, &in, &rows))
		return -ENOMEM;
	for (i = 0; i < rows.items.len; i++)
		if (!strcmp(rows.items.items[i].name, suspect->type))
			suspect->type_objects = rows.items.items[i].objects;
	ks_live_rows_free(&rows);
	return 0;
}

int ks_watch_accuse(struct ks_watch *watch, const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	size_t i;
	int err = 0;

	if (ks_vec_reserve(&watch->suspects, watch->suspects.len + w->tracing.len))
		return -ENOMEM;
	for (i = 0; i < w->tracing.len; i++) {
		struct ks_suspect *suspect = w->tracing.items[i];

		watch->suspects.items[watch->suspects.len++] = suspect;
		if (!err)
			err = add_stack(suspect, s);
	}
	w->tracing.len = 0;
	return err;
}
