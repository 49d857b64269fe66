// SPDX-License-Identifier: LGPL-2.1-only
/* The second step of a watch: looks at what each site has in the chosen caches, and finds what grows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "live/watch-steps.h"

/* === Data ================================================================================= */

enum {
	ROWS_MOST = 2048, /* series of one round */
	OBJECTS_FEW = 16, /* a row of fewer has none */
};

static const double steady = 0.7; /* share of spans that are above the one before */

/*
 * What is allocated here goes with an inode, or with the slabs that inodes and dentries are in: the kernel takes it back
 * together with these, though its cache does not say so.
 */
static const char *const attached[] = {
	"security_inode_alloc",	    "inode_alloc_security",
	"lsm_inode_alloc",	    "alloc_slab_obj_exts",
	"memcg_alloc_slab",	    "jbd2_alloc_inode",
	"ext4_inode_attach_jinode", "xas_alloc",
	"radix_tree_node_alloc",    "alloc_buffer_head",
	"memcg_list_lru_alloc",	    "locks_get_lock_context",
};

/* === Internals ============================================================================ */

static struct ks_watch_row *find_row(struct ks_watch_state *w, u64 key, bool make)
{
	struct ks_watch_row **slot, *row;
	size_t i;

	for (i = 0; i < w->rows.len; i++)
		if (w->rows.items[i]->key == key)
			return w->rows.items[i];
	if (!make || w->rows.len >= ROWS_MOST)
		return NULL;
	row = calloc(1, sizeof(*row));
	slot = row ? ks_vec_push(&w->rows) : NULL;
	if (!slot) {
		free(row);
		return NULL;
	}
	row->key = key;
	*slot = row;
	return row;
}

static bool is_own(const struct ks_watch_state *w, const char *process)
{
	const char *at = process ? strrchr(process, '[') : NULL;

	return at && strtoul(at + 1, NULL, 10) == w->own_pid;
}

static const char *name_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
			   enum ks_live_by by)
{
	return cell->key[by] == KS_NONE ? NULL : ks_intern_get(&s->names[by], cell->key[by]).s;
}

static void add_to(struct ks_watch_state *w, const struct ks_live_snapshot *s,
		   const struct ks_live_cell *cell, bool by_process)
{
	const char *cache = name_of(s, cell, KS_LIVE_BY_CACHE);
	const char *site = name_of(s, cell, KS_LIVE_BY_SITE);
	const char *process = by_process ? name_of(s, cell, KS_LIVE_BY_PROCESS) : NULL;
	struct ks_watch_row *row;
	u64 key;

	if (!cache || !site || is_own(w, process))
		return;
	key = ks_hash_bytes(cache, strlen(cache), 1);
	key = ks_hash_bytes(site, strlen(site), key);
	if (process)
		key = ks_hash_bytes(process, strlen(process), key);
	row = find_row(w, key, cell->objects >= OBJECTS_FEW);
	if (!row)
		return;
	if (!row->seen)
		row->objects = row->bytes = 0;
	row->seen = true;
	row->cache = cache;
	row->site = site;
	row->process = process;
	row->objects += cell->objects;
	row->bytes += cell->bytes;
	row->example = cell->example;
}

static bool is_attached(const char *site)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attached); i++)
		if (!strncmp(site, attached[i], strlen(attached[i])))
			return true;
	return false;
}

/* Of a site, one process comes before all of them, where it makes most of the growth. */
static double rank(const struct ks_growing *g)
{
	return g->judgement.slope * (g->row->process ? 1.5 : 1);
}

static int by_rank(const void *a, const void *b)
{
	const struct ks_growing *x = a, *y = b;
	double rx = rank(x), ry = rank(y);

	if (rx != ry)
		return rx > ry ? -1 : 1;
	return x->row->key < y->row->key ? -1 : 1;
}

/* === Public =============================================================================== */

void ks_watch_forget_rows(struct ks_watch_state *w)
{
	size_t i;

	for (i = 0; i < w->rows.len; i++)
		free(w->rows.items[i]);
	w->rows.len = 0;
}

void ks_watch_look(struct ks_watch_state *w, const struct ks_live_snapshot *s)
{
	size_t i, kept = 0;

	for (i = 0; i < w->rows.len; i++)
		w->rows.items[i]->seen = false;
	for (i = 0; i < s->cells.len; i++) {
		if (s->cells.items[i].part != KS_LIVE_TRACED || !s->cells.items[i].objects)
			continue;
		add_to(w, s, &s->cells.items[i], false);
		add_to(w, s, &s->cells.items[i], true);
	}
	for (i = 0; i < w->rows.len; i++) {
		struct ks_watch_row *row = w->rows.items[i];

		if (!row->seen) {
			free(row);
			continue;
		}
		ks_series_add(&row->series, s->parts[KS_LIVE_TRACED].at_ns, (double)row->bytes);
		w->rows.items[kept++] = row;
	}
	w->rows.len = kept;
}

int ks_watch_find_growing(struct ks_watch *watch, struct ks_growings *growings)
{
	const struct ks_judging how = { .shortest_ns = watch->opts.look_ns * 3 / 4,
					.smallest = (double)watch->opts.smallest,
					.confidence = watch->opts.confidence };
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < w->rows.len; i++) {
		struct ks_judgement judgement;
		struct ks_growing *g;

		if (is_attached(w->rows.items[i]->site))
			continue;
		ks_judge(&w->rows.items[i]->series, &how, &judgement);
		if (judgement.finding != KS_FINDS_GROWS || judgement.steadiness < steady)
			continue;
		/* What everybody does swings with the load, and there are many of these rows. */
		if (!w->rows.items[i]->process &&
		    (judgement.p > 1e-4 || judgement.low < judgement.slope / 2))
			continue;
		g = ks_vec_push(&growings->items);
		if (!g)
			return -ENOMEM;
		*g = (struct ks_growing){ w->rows.items[i], judgement };
	}
	if (growings->items.len)
		qsort(growings->items.items, growings->items.len, sizeof(*growings->items.items),
		      by_rank);
	return 0;
}
