// SPDX-License-Identifier: LGPL-2.1-only
/*
 * A map for a page that aggregates by itself: sites, functions, and what each function did to the
 * objects of each site. Those that matter least are added up in one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum { MOST = 5000 }; /* sites, and functions, that are told by name */

/* Sites of one name, or instructions of one function. */
struct group {
	const u32 *labels; /* of the first in it */
	const char *cache; /* of the sites with most bytes */
	u64 cache_bytes;
	struct ks_kmap_stat stat; /* of sites */
	u64 own;		  /* accesses by the allocating function */
	u64 weight;		  /* for its place */
	u32 number;		  /* that place; MOST = one of the others */
};

struct groups {
	struct ks_map64 index;
	KS_VEC(struct group) items;
	u32 *of; /* by number of the site, or of the instruction */
	struct group **sorted;
};

struct link {
	u32 site, code;
	struct ks_kmap_edge sum;
};

static const struct ks_view_column site_columns[] = {
	{ "label", NULL, KS_CELL_TEXT, false },
	{ "func", NULL, KS_CELL_TEXT, false },
	{ "path", NULL, KS_CELL_TEXT, false },
	{ "module", NULL, KS_CELL_TEXT, false },
	{ "cache", NULL, KS_CELL_TEXT, false },
	{ "objects", NULL, KS_CELL_U64, false },
	{ "bytes", NULL, KS_CELL_U64, false },
	{ "live_objects", NULL, KS_CELL_U64, false },
	{ "live_bytes", NULL, KS_CELL_U64, false },
	{ "mean_bytes", NULL, KS_CELL_U64, false },
	{ "ended", NULL, KS_CELL_U64, false },
	{ "lifetime_mean", NULL, KS_CELL_U64, false },
	{ "reads", NULL, KS_CELL_U64, false },
	{ "writes", NULL, KS_CELL_U64, false },
	{ "bytes_read", NULL, KS_CELL_U64, false },
	{ "bytes_written", NULL, KS_CELL_U64, false },
	{ "own_accesses", NULL, KS_CELL_U64, false },
	{ "foreign_accesses", NULL, KS_CELL_U64, false },
	{ "irq_accesses", NULL, KS_CELL_U64, false },
	{ "cold_objects", NULL, KS_CELL_U64, false },
	{ "cold_bytes", NULL, KS_CELL_U64, false },
	{ "unread_bytes", NULL, KS_CELL_U64, false },
	{ "unwritten_bytes", NULL, KS_CELL_U64, false },
	{ "write_only_bytes", NULL, KS_CELL_U64, false },
	{ "read_once_bytes", NULL, KS_CELL_U64, false },
};

static const struct ks_view_column code_columns[] = {
	{ "label", NULL, KS_CELL_TEXT, false },
	{ "path", NULL, KS_CELL_TEXT, false },
	{ "module", NULL, KS_CELL_TEXT, false },
};

static const struct ks_view_column link_columns[] = {
	{ "site", NULL, KS_CELL_U64, false },
	{ "code", NULL, KS_CELL_U64, false },
	{ "reads", NULL, KS_CELL_U64, false },
	{ "writes", NULL, KS_CELL_U64, false },
	{ "bytes_read", NULL, KS_CELL_U64, false },
	{ "bytes_written", NULL, KS_CELL_U64, false },
	{ "foreign_accesses", NULL, KS_CELL_U64, false },
	{ "irq_accesses", NULL, KS_CELL_U64, false },
	{ "frees", NULL, KS_CELL_U64, false },
};

/* === Internals: groups ==================================================================== */

static int groups_init(struct groups *groups, size_t members)
{
	groups->of = calloc(members + 1, sizeof(*groups->of));
	return !groups->of || ks_map64_init(&groups->index) ? -ENOMEM : 0;
}

static void groups_deinit(struct groups *groups)
{
	ks_map64_deinit(&groups->index);
	ks_vec_free(&groups->items);
	free(groups->of);
	free(groups->sorted);
}

/* Two static functions of one name are told apart by their file. */
static struct group *add_member(struct groups *groups, size_t member, const u32 *labels,
				enum ks_kmap_level level)
{
	u64 key = (u64)labels[level] << 32 | labels[KS_KMAP_FILE];
	u32 number = ks_map64_add(&groups->index, key);
	struct group *group;

	if (number == KS_NONE)
		return NULL;
	groups->of[member] = number;
	if (number < groups->items.len)
		return &groups->items.items[number];
	group = ks_vec_push(&groups->items);
	if (group)
		group->labels = labels;
	return group;
}

static int add_sites(struct groups *groups, const struct ks_kmap_census *census,
		     const struct ks_kmap_places *places)
{
	size_t i;

	for (i = 0; i < census->sites.len; i++) {
		const struct ks_kmap_site *site = &census->sites.items[i];
		struct group *group = add_member(groups, i, places->sites[i], KS_KMAP_SITE);

		if (!group)
			return -ENOMEM;
		ks_kmap_stat_add(&group->stat, &site->stat);
		group->weight = ks_add_sat(group->weight, site->stat.bytes);
		if (!group->cache || site->stat.bytes > group->cache_bytes) {
			group->cache = ks_intern_get(&census->caches, site->cache).s;
			group->cache_bytes = site->stat.bytes;
		}
	}
	return 0;
}

static int add_codes(struct groups *codes, struct groups *sites,
		     const struct ks_kmap_census *census, const struct ks_kmap_places *places)
{
	size_t i;

	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		const u32 *labels = places->codes[edge->code];
		struct group *site = &sites->items.items[sites->of[edge->site]];
		struct group *code = add_member(codes, edge->code, labels, KS_KMAP_FUNCTION);
		u64 both = ks_add_sat(edge->reads, edge->writes);

		if (!code)
			return -ENOMEM;
		code->weight = ks_add_sat(code->weight, ks_add_sat(both, edge->frees));
		if (labels[KS_KMAP_FUNCTION] == places->sites[edge->site][KS_KMAP_FUNCTION])
			site->own = ks_add_sat(site->own, both);
	}
	return 0;
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	const struct ks_kmap_places *places = ctx;
	int i, order = 0;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	for (i = 0; i < KS_KMAP_LEVELS && !order; i++)
		order = strcmp(ks_kmap_label(places, x->labels[i]),
			       ks_kmap_label(places, y->labels[i]));
	return order;
}

/* The heaviest first; those behind the last place become one. */
static int rank(struct groups *groups, const struct ks_kmap_places *places)
{
	size_t i, len = groups->items.len;

	groups->sorted = calloc(len + 1, sizeof(*groups->sorted));
	if (!groups->sorted)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		groups->sorted[i] = &groups->items.items[i];
	qsort_r(groups->sorted, len, sizeof(*groups->sorted), compare_groups, (void *)places);
	for (i = 0; i < len; i++) {
		struct group *group = groups->sorted[i];

		group->number = (u32)ks_min(i, (size_t)MOST);
		if (i > MOST) {
			ks_kmap_stat_add(&groups->sorted[MOST]->stat, &group->stat);
			groups->sorted[MOST]->own =
				ks_add_sat(groups->sorted[MOST]->own, group->own);
		}
	}
	return 0;
}

/* === Internals: rows ====================================================================== */

static const char *others(struct ks_view *view, const struct groups *groups)
{
	char text[40];

	snprintf(text, sizeof(text), "%zu others", groups->items.len - MOST);
	return ks_view_string(view, text);
}

/* The label at a level; of the group that stands for the rest, "". */
static const char *label_of(struct ks_view *view, const struct ks_kmap_places *places,
			    const struct group *group, enum ks_kmap_level level)
{
	if (group->number == MOST)
		return "";
	return ks_view_string(view, ks_kmap_label(places, group->labels[level]));
}

static void put_site(struct ks_view *view, union ks_view_cell *row,
		     const struct ks_kmap_census *census, const struct group *group)
{
	const struct ks_kmap_stat *stat = &group->stat;
	bool known = census->nr_accesses;
	u64 numbers[] = {
		stat->objects,
		stat->bytes,
		stat->live_objects,
		stat->live_bytes,
		ks_kmap_mean_bytes(census, stat),
		stat->ended,
		stat->ended ? (u64)(stat->lifetime_sum / stat->ended) : 0,
		stat->reads,
		stat->writes,
		stat->bytes_read,
		stat->bytes_written,
		group->own,
		stat->foreign,
		stat->irq,
		known ? stat->cold_objects : 0,
		known ? stat->cold_bytes : 0,
		known ? stat->unread_bytes : 0,
		known ? stat->unwritten_bytes : 0,
		stat->write_only_bytes,
		stat->read_once_bytes,
	};
	size_t i;

	row[4].text = ks_view_string(view, group->cache);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		row[5 + i].u64 = numbers[i];
}

static void put_sites(struct ks_view *view, const struct ks_kmap_census *census,
		      const struct ks_kmap_places *places, const struct groups *sites)
{
	struct ks_view_table *table =
		ks_view_add_table(view, "sites", "", site_columns, ARRAY_SIZE(site_columns));
	size_t i;

	for (i = 0; i < sites->items.len && i <= MOST; i++) {
		const struct group *group = sites->sorted[i];
		union ks_view_cell *row = ks_view_add_row(view, table);

		if (!row)
			return;
		row[0].text = i == MOST ? others(view, sites)
					: label_of(view, places, group, KS_KMAP_SITE);
		row[1].text = label_of(view, places, group, KS_KMAP_FUNCTION);
		row[2].text = label_of(view, places, group, KS_KMAP_FILE);
		row[3].text = label_of(view, places, group, KS_KMAP_MODULE);
		put_site(view, row, census, group);
	}
}

static void put_codes(struct ks_view *view, const struct ks_kmap_places *places,
		      const struct groups *codes)
{
	struct ks_view_table *table =
		ks_view_add_table(view, "codes", "", code_columns, ARRAY_SIZE(code_columns));
	size_t i;

	for (i = 0; i < codes->items.len && i <= MOST; i++) {
		const struct group *group = codes->sorted[i];
		union ks_view_cell *row = ks_view_add_row(view, table);

		if (!row)
			return;
		row[0].text = i == MOST ? others(view, codes)
					: label_of(view, places, group, KS_KMAP_FUNCTION);
		row[1].text = label_of(view, places, group, KS_KMAP_FILE);
		row[2].text = label_of(view, places, group, KS_KMAP_MODULE);
	}
}

static int compare_links(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

/* Edges of one pair of groups stand together once sorted. */
static void put_links(struct ks_view *view, struct link *links, size_t len)
{
	struct ks_view_table *table =
		ks_view_add_table(view, "links", "", link_columns, ARRAY_SIZE(link_columns));
	union ks_view_cell *row = NULL;
	size_t i;

	if (len)
		qsort(links, len, sizeof(*links), compare_links);
	for (i = 0; i < len; i++) {
		const struct ks_kmap_edge *edge = &links[i].sum;
		u64 numbers[] = { edge->reads,	       edge->writes,  edge->bytes_read,
				  edge->bytes_written, edge->foreign, edge->irq,
				  edge->frees };
		size_t j;

		if (!i || compare_links(&links[i - 1], &links[i]))
			row = ks_view_add_row(view, table);
		if (!row)
			return;
		row[0].u64 = links[i].site;
		row[1].u64 = links[i].code;
		for (j = 0; j < ARRAY_SIZE(numbers); j++)
			row[2 + j].u64 = ks_add_sat(row[2 + j].u64, numbers[j]);
	}
}

static int put_all(struct ks_view *view, const struct ks_kmap_census *census,
		   const struct ks_kmap_places *places, struct groups *sites, struct groups *codes)
{
	struct link *links = calloc(census->edges.len + 1, sizeof(*links));
	size_t i;

	if (!links || groups_init(sites, census->sites.len) ||
	    groups_init(codes, census->codes.keys.len) || add_sites(sites, census, places) ||
	    add_codes(codes, sites, census, places) || rank(sites, places) || rank(codes, places)) {
		free(links);
		return -ENOMEM;
	}
	put_sites(view, census, places, sites);
	put_codes(view, places, codes);
	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];

		links[i] = (struct link){ sites->items.items[sites->of[edge->site]].number,
					  codes->items.items[codes->of[edge->code]].number, *edge };
	}
	put_links(view, links, census->edges.len);
	free(links);
	return 0;
}

/* === Public =============================================================================== */

struct ks_view *ks_kmap_view_page(const struct ks_kmap_census *census,
				  const struct ks_kmap_places *places)
{
	struct ks_view *view = ks_view_new("kmemscope-kmap-page-1");
	struct groups sites = { 0 }, codes = { 0 };

	if (!view)
		return NULL;
	if (put_all(view, census, places, &sites, &codes))
		view->failed = true;
	groups_deinit(&sites);
	groups_deinit(&codes);
	ks_kmap_view_quality(view, census, places);
	ks_view_note(view, "in_ns", !strcmp(census->info.time, "ns"), "clocks of nanoseconds");
	return view;
}
