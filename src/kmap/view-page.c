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

enum { MOST = 5000 }; /* sites, and functions, that have a name of their own */

/* Sites of one name, or instructions of one function. */
struct group {
	const u32 *labels; /* of the first in it */
	const char *cache; /* of the sites with most bytes */
	u64 cache_bytes;
	bool caches;		  /* the sites are of several */
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

enum {
	SITE_LABEL,
	SITE_FUNC,
	SITE_PATH,
	SITE_MODULE,
	SITE_CACHE,
	SITE_OBJECTS,
	SITE_BYTES,
	SITE_LIVE_OBJECTS,
	SITE_LIVE_BYTES,
	SITE_MEAN_BYTES,
	SITE_ENDED,
	SITE_LIFETIME_MEAN,
	SITE_READS,
	SITE_WRITES,
	SITE_BYTES_READ,
	SITE_BYTES_WRITTEN,
	SITE_OWN_ACCESSES,
	SITE_FOREIGN_ACCESSES,
	SITE_IRQ_ACCESSES,
	SITE_COLD_OBJECTS,
	SITE_COLD_BYTES,
	SITE_UNREAD_BYTES,
	SITE_UNWRITTEN_BYTES,
	SITE_WRITE_ONLY_BYTES,
	SITE_READ_ONCE_BYTES,
	SITE_COLUMNS
};

static const struct ks_column site_columns[SITE_COLUMNS] = {
	[SITE_LABEL] = { "label", NULL, KS_CELL_TEXT },
	[SITE_FUNC] = { "func", NULL, KS_CELL_TEXT },
	[SITE_PATH] = { "path", NULL, KS_CELL_TEXT },
	[SITE_MODULE] = { "module", NULL, KS_CELL_TEXT },
	[SITE_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[SITE_OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[SITE_BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_LIVE_OBJECTS] = { "live_objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[SITE_LIVE_BYTES] = { "live_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_MEAN_BYTES] = { "mean_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_ENDED] = { "ended", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[SITE_LIFETIME_MEAN] = { "lifetime_mean", NULL, KS_CELL_U64, KS_UNIT_TICKS },
	[SITE_READS] = { "reads", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_WRITES] = { "writes", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_BYTES_READ] = { "bytes_read", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_BYTES_WRITTEN] = { "bytes_written", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_OWN_ACCESSES] = { "own_accesses", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_FOREIGN_ACCESSES] = { "foreign_accesses", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_IRQ_ACCESSES] = { "irq_accesses", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_COLD_OBJECTS] = { "cold_objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[SITE_COLD_BYTES] = { "cold_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_UNREAD_BYTES] = { "unread_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_UNWRITTEN_BYTES] = { "unwritten_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_WRITE_ONLY_BYTES] = { "write_only_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_READ_ONCE_BYTES] = { "read_once_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
};

enum { CODE_LABEL, CODE_PATH, CODE_MODULE, CODE_COLUMNS };

static const struct ks_column code_columns[CODE_COLUMNS] = {
	[CODE_LABEL] = { "label", NULL, KS_CELL_TEXT },
	[CODE_PATH] = { "path", NULL, KS_CELL_TEXT },
	[CODE_MODULE] = { "module", NULL, KS_CELL_TEXT },
};

enum {
	LINK_SITE,
	LINK_CODE,
	LINK_READS,
	LINK_WRITES,
	LINK_BYTES_READ,
	LINK_BYTES_WRITTEN,
	LINK_FOREIGN_ACCESSES,
	LINK_IRQ_ACCESSES,
	LINK_FREES,
	LINK_COLUMNS
};

static const struct ks_column link_columns[LINK_COLUMNS] = {
	[LINK_SITE] = { "site", NULL, KS_CELL_U64 },
	[LINK_CODE] = { "code", NULL, KS_CELL_U64 },
	[LINK_READS] = { "reads", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[LINK_WRITES] = { "writes", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[LINK_BYTES_READ] = { "bytes_read", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[LINK_BYTES_WRITTEN] = { "bytes_written", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[LINK_FOREIGN_ACCESSES] = { "foreign_accesses", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[LINK_IRQ_ACCESSES] = { "irq_accesses", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[LINK_FREES] = { "frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
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
				enum ks_kmap_unit unit)
{
	u64 key = (u64)labels[unit] << 32 | labels[KS_KMAP_FILE];
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
		const char *cache = ks_intern_get(&census->caches, site->cache).s;

		if (!group)
			return -ENOMEM;
		ks_kmap_stat_add(&group->stat, &site->stat);
		group->weight = ks_add_sat(group->weight, site->stat.bytes);
		group->caches |= group->cache && group->cache != cache;
		if (!group->cache || site->stat.bytes > group->cache_bytes) {
			group->cache = cache;
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
	for (i = 0; i < KS_KMAP_UNITS && !order; i++)
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

/* What the last group is called, which stands for the rest. */
static void put_others(struct ks_row row, unsigned int column, const struct groups *groups)
{
	char text[40];

	snprintf(text, sizeof(text), "%zu others", groups->items.len - MOST);
	ks_row_text(row, column, text);
}

/* The label at a unit; "" of the group that stands for the rest. */
static void put_label(struct ks_row row, unsigned int column, const struct ks_kmap_places *places,
		      const struct group *group, enum ks_kmap_unit unit)
{
	ks_row_text(row, column,
		    group->number == MOST ? "" : ks_kmap_label(places, group->labels[unit]));
}

/* Of a group with several caches, the one that has most of its bytes. */
static void put_cache(struct ks_row row, const struct group *group)
{
	char text[192];

	if (group->caches && *group->cache)
		snprintf(text, sizeof(text), "%s and others", group->cache);
	ks_row_text(row, SITE_CACHE, group->caches && *group->cache ? text : group->cache);
}

static void put_site(struct ks_row row, const struct ks_kmap_census *census,
		     const struct group *group)
{
	const struct ks_kmap_stat *stat = &group->stat;
	bool known = census->nr_accesses;

	put_cache(row, group);
	ks_row_u64(row, SITE_OBJECTS, stat->objects);
	ks_row_u64(row, SITE_BYTES, stat->bytes);
	ks_row_u64(row, SITE_LIVE_OBJECTS, stat->live_objects);
	ks_row_u64(row, SITE_LIVE_BYTES, stat->live_bytes);
	ks_row_u64(row, SITE_MEAN_BYTES, ks_kmap_mean_bytes(census, stat));
	ks_row_u64(row, SITE_ENDED, stat->ended);
	ks_row_u64(row, SITE_LIFETIME_MEAN,
		   stat->ended ? ks_u128_div(stat->lifetime_sum, stat->ended) : 0);
	ks_row_u64(row, SITE_READS, stat->reads);
	ks_row_u64(row, SITE_WRITES, stat->writes);
	ks_row_u64(row, SITE_BYTES_READ, stat->bytes_read);
	ks_row_u64(row, SITE_BYTES_WRITTEN, stat->bytes_written);
	ks_row_u64(row, SITE_OWN_ACCESSES, group->own);
	ks_row_u64(row, SITE_FOREIGN_ACCESSES, stat->foreign);
	ks_row_u64(row, SITE_IRQ_ACCESSES, stat->irq);
	ks_row_u64(row, SITE_COLD_OBJECTS, known ? stat->cold_objects : 0);
	ks_row_u64(row, SITE_COLD_BYTES, known ? stat->cold_bytes : 0);
	ks_row_u64(row, SITE_UNREAD_BYTES, known ? stat->unread_bytes : 0);
	ks_row_u64(row, SITE_UNWRITTEN_BYTES, known ? stat->unwritten_bytes : 0);
	ks_row_u64(row, SITE_WRITE_ONLY_BYTES, stat->write_only_bytes);
	ks_row_u64(row, SITE_READ_ONCE_BYTES, stat->read_once_bytes);
}

static void put_sites(struct ks_doc *doc, const struct ks_kmap_census *census,
		      const struct ks_kmap_places *places, const struct groups *sites)
{
	struct ks_table *table = ks_doc_table(doc, "sites", site_columns, SITE_COLUMNS);
	size_t i;

	for (i = 0; i < sites->items.len && i <= MOST; i++) {
		const struct group *group = sites->sorted[i];
		struct ks_row row = ks_table_add(table);

		if (i == MOST)
			put_others(row, SITE_LABEL, sites);
		else
			put_label(row, SITE_LABEL, places, group, KS_KMAP_SITE);
		put_label(row, SITE_FUNC, places, group, KS_KMAP_FUNCTION);
		put_label(row, SITE_PATH, places, group, KS_KMAP_FILE);
		put_label(row, SITE_MODULE, places, group, KS_KMAP_MODULE);
		put_site(row, census, group);
	}
}

static void put_codes(struct ks_doc *doc, const struct ks_kmap_places *places,
		      const struct groups *codes)
{
	struct ks_table *table = ks_doc_table(doc, "codes", code_columns, CODE_COLUMNS);
	size_t i;

	for (i = 0; i < codes->items.len && i <= MOST; i++) {
		const struct group *group = codes->sorted[i];
		struct ks_row row = ks_table_add(table);

		if (i == MOST)
			put_others(row, CODE_LABEL, codes);
		else
			put_label(row, CODE_LABEL, places, group, KS_KMAP_FUNCTION);
		put_label(row, CODE_PATH, places, group, KS_KMAP_FILE);
		put_label(row, CODE_MODULE, places, group, KS_KMAP_MODULE);
	}
}

static int compare_links(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static void add_edge(struct ks_kmap_edge *sum, const struct ks_kmap_edge *edge)
{
	sum->reads = ks_add_sat(sum->reads, edge->reads);
	sum->writes = ks_add_sat(sum->writes, edge->writes);
	sum->bytes_read = ks_add_sat(sum->bytes_read, edge->bytes_read);
	sum->bytes_written = ks_add_sat(sum->bytes_written, edge->bytes_written);
	sum->foreign = ks_add_sat(sum->foreign, edge->foreign);
	sum->irq = ks_add_sat(sum->irq, edge->irq);
	sum->frees = ks_add_sat(sum->frees, edge->frees);
}

static void put_link(struct ks_row row, const struct link *link)
{
	ks_row_u64(row, LINK_SITE, link->site);
	ks_row_u64(row, LINK_CODE, link->code);
	ks_row_u64(row, LINK_READS, link->sum.reads);
	ks_row_u64(row, LINK_WRITES, link->sum.writes);
	ks_row_u64(row, LINK_BYTES_READ, link->sum.bytes_read);
	ks_row_u64(row, LINK_BYTES_WRITTEN, link->sum.bytes_written);
	ks_row_u64(row, LINK_FOREIGN_ACCESSES, link->sum.foreign);
	ks_row_u64(row, LINK_IRQ_ACCESSES, link->sum.irq);
	ks_row_u64(row, LINK_FREES, link->sum.frees);
}

/* Edges of one pair of groups stand together once sorted, and make one row. */
static void put_links(struct ks_doc *doc, struct link *links, size_t len)
{
	struct ks_table *table = ks_doc_table(doc, "links", link_columns, LINK_COLUMNS);
	size_t i, next;

	if (len)
		qsort(links, len, sizeof(*links), compare_links);
	for (i = 0; i < len; i = next) {
		for (next = i + 1; next < len && !compare_links(&links[i], &links[next]); next++)
			add_edge(&links[i].sum, &links[next].sum);
		put_link(ks_table_add(table), &links[i]);
	}
}

static int put_all(struct ks_doc *doc, const struct ks_kmap_census *census,
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
	put_sites(doc, census, places, sites);
	put_codes(doc, places, codes);
	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];

		links[i] = (struct link){ sites->items.items[sites->of[edge->site]].number,
					  codes->items.items[codes->of[edge->code]].number, *edge };
	}
	put_links(doc, links, census->edges.len);
	free(links);
	return 0;
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_page(const struct ks_kmap_census *census,
				 const struct ks_kmap_places *places,
				 const struct ks_kmap_fields *fields)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-page-1");
	struct groups sites = { 0 }, codes = { 0 };

	if (!doc)
		return NULL;
	if (put_all(doc, census, places, &sites, &codes))
		doc->failed = true;
	groups_deinit(&sites);
	groups_deinit(&codes);
	if (fields && fields->structs.len)
		ks_kmap_page_fields(doc, places, fields);
	ks_kmap_view_quality(doc, census, places);
	ks_doc_note(doc, "in_ns", !strcmp(census->info.time, "ns"), "clocks of nanoseconds", false);
	return doc;
}
