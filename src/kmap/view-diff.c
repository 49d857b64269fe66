// SPDX-License-Identifier: LGPL-2.1-only
/* Two access maps: sites and accessors that appeared, vanished or changed, found by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum { OLD, NEW, BOTH };

/* A site, or an accessor of a site, in the one and the other map. */
struct pair {
	const char *site, *code;
	u64 objects[BOTH], bytes[BOTH], reads[BOTH], writes[BOTH];
	bool in[BOTH];
};

struct pairs {
	struct ks_intern names;
	struct ks_map64 index; /* the numbers of two names */
	KS_VEC(struct pair) items;
};

enum {
	SITE_CHANGE,
	SITE_OBJECTS_OLD,
	SITE_OBJECTS_NEW,
	SITE_BYTES_OLD,
	SITE_BYTES_NEW,
	SITE_READS_OLD,
	SITE_READS_NEW,
	SITE_WRITES_OLD,
	SITE_WRITES_NEW,
	SITE_SITE,
	SITE_COLUMNS
};

static const struct ks_column site_columns[SITE_COLUMNS] = {
	[SITE_CHANGE] = { "change", "change", KS_CELL_TEXT },
	[SITE_OBJECTS_OLD] = { "objects_old", "objects", KS_CELL_U64, KS_UNIT_OBJECTS },
	[SITE_OBJECTS_NEW] = { "objects_new", "new", KS_CELL_U64, KS_UNIT_OBJECTS },
	[SITE_BYTES_OLD] = { "bytes_old", "bytes", KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_BYTES_NEW] = { "bytes_new", "new", KS_CELL_U64, KS_UNIT_BYTES },
	[SITE_READS_OLD] = { "reads_old", "reads", KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_READS_NEW] = { "reads_new", "new", KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_WRITES_OLD] = { "writes_old", "writes", KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_WRITES_NEW] = { "writes_new", "new", KS_CELL_U64, KS_UNIT_COUNT },
	[SITE_SITE] = { "site", "allocated by", KS_CELL_TEXT },
};

enum {
	EDGE_CHANGE,
	EDGE_READS_OLD,
	EDGE_READS_NEW,
	EDGE_WRITES_OLD,
	EDGE_WRITES_NEW,
	EDGE_CODE,
	EDGE_SITE,
	EDGE_COLUMNS
};

static const struct ks_column edge_columns[EDGE_COLUMNS] = {
	[EDGE_CHANGE] = { "change", "change", KS_CELL_TEXT },
	[EDGE_READS_OLD] = { "reads_old", "reads", KS_CELL_U64, KS_UNIT_COUNT },
	[EDGE_READS_NEW] = { "reads_new", "new", KS_CELL_U64, KS_UNIT_COUNT },
	[EDGE_WRITES_OLD] = { "writes_old", "writes", KS_CELL_U64, KS_UNIT_COUNT },
	[EDGE_WRITES_NEW] = { "writes_new", "new", KS_CELL_U64, KS_UNIT_COUNT },
	[EDGE_CODE] = { "code", "code", KS_CELL_TEXT },
	[EDGE_SITE] = { "site", "objects of", KS_CELL_TEXT },
};

/* === Internals ============================================================================ */

static int pairs_init(struct pairs *pairs)
{
	*pairs = (struct pairs){ 0 };
	return ks_intern_init(&pairs->names) || ks_map64_init(&pairs->index) ? -ENOMEM : 0;
}

static void pairs_deinit(struct pairs *pairs)
{
	ks_intern_deinit(&pairs->names);
	ks_map64_deinit(&pairs->index);
	ks_vec_free(&pairs->items);
}

static struct pair *find(struct pairs *pairs, const char *site, const char *code)
{
	u32 a = ks_intern_add(&pairs->names, site, strlen(site));
	u32 b = ks_intern_add(&pairs->names, code, strlen(code));
	u32 number = a == KS_NONE || b == KS_NONE ? KS_NONE
						  : ks_map64_add(&pairs->index, (u64)a << 32 | b);
	struct pair *pair;

	if (number == KS_NONE)
		return NULL;
	if (number < pairs->items.len)
		return &pairs->items.items[number];
	pair = ks_vec_push(&pairs->items);
	if (pair) {
		pair->site = ks_intern_get(&pairs->names, a).s;
		pair->code = ks_intern_get(&pairs->names, b).s;
	}
	return pair;
}

static int add_sites(struct pairs *pairs, const struct ks_kmap_census *census,
		     const struct ks_kmap_places *places, enum ks_kmap_unit unit, int side)
{
	size_t i;

	for (i = 0; i < census->sites.len; i++) {
		const struct ks_kmap_stat *stat = &census->sites.items[i].stat;
		struct pair *pair = find(pairs, ks_kmap_label(places, places->sites[i][unit]), "");

		if (!pair)
			return -ENOMEM;
		pair->in[side] = true;
		pair->objects[side] += stat->objects;
		pair->bytes[side] = ks_add_sat(pair->bytes[side], stat->bytes);
		pair->reads[side] = ks_add_sat(pair->reads[side], stat->reads);
		pair->writes[side] = ks_add_sat(pair->writes[side], stat->writes);
	}
	return 0;
}

static int add_edges(struct pairs *pairs, const struct ks_kmap_census *census,
		     const struct ks_kmap_places *places, enum ks_kmap_unit unit, int side)
{
	size_t i;

	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		struct pair *pair;

		if (!edge->reads && !edge->writes)
			continue;
		pair = find(pairs, ks_kmap_label(places, places->sites[edge->site][unit]),
			    ks_kmap_label(places, places->codes[edge->code][unit]));
		if (!pair)
			return -ENOMEM;
		pair->in[side] = true;
		pair->reads[side] = ks_add_sat(pair->reads[side], edge->reads);
		pair->writes[side] = ks_add_sat(pair->writes[side], edge->writes);
	}
	return 0;
}

static const char *change_of(const struct pair *pair)
{
	if (!pair->in[OLD])
		return "appeared";
	if (!pair->in[NEW])
		return "vanished";
	if (pair->objects[OLD] != pair->objects[NEW] || pair->bytes[OLD] != pair->bytes[NEW] ||
	    pair->reads[OLD] != pair->reads[NEW] || pair->writes[OLD] != pair->writes[NEW])
		return "changed";
	return NULL;
}

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	u64 bytes_x = distance(x->bytes[OLD], x->bytes[NEW]);
	u64 bytes_y = distance(y->bytes[OLD], y->bytes[NEW]);
	u64 uses_x = ks_add_sat(distance(x->reads[OLD], x->reads[NEW]),
				distance(x->writes[OLD], x->writes[NEW]));
	u64 uses_y = ks_add_sat(distance(y->reads[OLD], y->reads[NEW]),
				distance(y->writes[OLD], y->writes[NEW]));
	int order;

	if (bytes_x != bytes_y)
		return bytes_x > bytes_y ? -1 : 1;
	if (uses_x != uses_y)
		return uses_x > uses_y ? -1 : 1;
	order = strcmp(x->site, y->site);
	return order ? order : strcmp(x->code, y->code);
}

static void put_site(struct ks_row row, const struct pair *pair)
{
	ks_row_u64(row, SITE_OBJECTS_OLD, pair->objects[OLD]);
	ks_row_u64(row, SITE_OBJECTS_NEW, pair->objects[NEW]);
	ks_row_u64(row, SITE_BYTES_OLD, pair->bytes[OLD]);
	ks_row_u64(row, SITE_BYTES_NEW, pair->bytes[NEW]);
	ks_row_u64(row, SITE_READS_OLD, pair->reads[OLD]);
	ks_row_u64(row, SITE_READS_NEW, pair->reads[NEW]);
	ks_row_u64(row, SITE_WRITES_OLD, pair->writes[OLD]);
	ks_row_u64(row, SITE_WRITES_NEW, pair->writes[NEW]);
	ks_row_text(row, SITE_SITE, pair->site);
	ks_row_text(row, SITE_CHANGE, change_of(pair));
}

static void put_edge(struct ks_row row, const struct pair *pair)
{
	ks_row_u64(row, EDGE_READS_OLD, pair->reads[OLD]);
	ks_row_u64(row, EDGE_READS_NEW, pair->reads[NEW]);
	ks_row_u64(row, EDGE_WRITES_OLD, pair->writes[OLD]);
	ks_row_u64(row, EDGE_WRITES_NEW, pair->writes[NEW]);
	ks_row_text(row, EDGE_CODE, pair->code);
	ks_row_text(row, EDGE_SITE, pair->site);
	ks_row_text(row, EDGE_CHANGE, change_of(pair));
}

/* The pairs that changed, the largest change first. */
static void put(struct ks_table *table, struct pairs *pairs,
		void (*put_pair)(struct ks_row row, const struct pair *pair), u64 top)
{
	size_t i, rows = 0;

	if (pairs->items.len)
		qsort(pairs->items.items, pairs->items.len, sizeof(*pairs->items.items),
		      compare_pairs);
	for (i = 0; i < pairs->items.len && (!top || rows < top); i++) {
		if (!change_of(&pairs->items.items[i]))
			continue;
		rows++;
		put_pair(ks_table_add(table), &pairs->items.items[i]);
	}
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_diff(const struct ks_kmap_census *const *censuses,
				 const struct ks_kmap_places *const *places, enum ks_kmap_unit unit,
				 u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-diff-1");
	struct ks_table *table;
	struct pairs sites, edges;
	int side, err;

	if (!doc)
		return NULL;
	err = pairs_init(&sites);
	err = pairs_init(&edges) || err;
	for (side = OLD; side <= NEW && !err; side++) {
		err = add_sites(&sites, censuses[side], places[side], unit, side);
		err = err || add_edges(&edges, censuses[side], places[side], unit, side);
	}
	if (err) {
		doc->failed = true;
	} else {
		table = ks_doc_table(doc, "sites", site_columns, SITE_COLUMNS);
		if (table)
			table->title = "allocating code";
		put(table, &sites, put_site, top);
		table = ks_doc_table(doc, "accessors", edge_columns, EDGE_COLUMNS);
		if (table)
			table->title = "accessors";
		put(table, &edges, put_edge, top);
	}
	pairs_deinit(&sites);
	pairs_deinit(&edges);
	ks_kmap_view_quality(doc, censuses[NEW], places[NEW]);
	return doc;
}
