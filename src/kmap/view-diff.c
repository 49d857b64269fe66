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

static const struct ks_view_column site_columns[] = {
	{ "change", "change", KS_CELL_TEXT, false },
	{ "objects_old", "objects", KS_CELL_U64, false },
	{ "objects_new", "new", KS_CELL_U64, false },
	{ "bytes_old", "bytes", KS_CELL_U64, false },
	{ "bytes_new", "new", KS_CELL_U64, false },
	{ "reads_old", "reads", KS_CELL_U64, false },
	{ "reads_new", "new", KS_CELL_U64, false },
	{ "writes_old", "writes", KS_CELL_U64, false },
	{ "writes_new", "new", KS_CELL_U64, false },
	{ "site", "allocated by", KS_CELL_TEXT, false },
};

static const struct ks_view_column edge_columns[] = {
	{ "change", "change", KS_CELL_TEXT, false },
	{ "reads_old", "reads", KS_CELL_U64, false },
	{ "reads_new", "new", KS_CELL_U64, false },
	{ "writes_old", "writes", KS_CELL_U64, false },
	{ "writes_new", "new", KS_CELL_U64, false },
	{ "code", "code", KS_CELL_TEXT, false },
	{ "site", "objects of", KS_CELL_TEXT, false },
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
		     const struct ks_kmap_places *places, enum ks_kmap_level level, int side)
{
	size_t i;

	for (i = 0; i < census->sites.len; i++) {
		const struct ks_kmap_stat *stat = &census->sites.items[i].stat;
		struct pair *pair = find(pairs, ks_kmap_label(places, places->sites[i][level]), "");

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
		     const struct ks_kmap_places *places, enum ks_kmap_level level, int side)
{
	size_t i;

	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		struct pair *pair;

		if (!edge->reads && !edge->writes)
			continue;
		pair = find(pairs, ks_kmap_label(places, places->sites[edge->site][level]),
			    ks_kmap_label(places, places->codes[edge->code][level]));
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

static void put_site(union ks_view_cell *row, const struct pair *pair)
{
	int side;

	for (side = OLD; side <= NEW; side++) {
		row[1 + side].u64 = pair->objects[side];
		row[3 + side].u64 = pair->bytes[side];
		row[5 + side].u64 = pair->reads[side];
		row[7 + side].u64 = pair->writes[side];
	}
}

static void put_edge(union ks_view_cell *row, const struct pair *pair)
{
	int side;

	for (side = OLD; side <= NEW; side++) {
		row[1 + side].u64 = pair->reads[side];
		row[3 + side].u64 = pair->writes[side];
	}
}

static void put(struct ks_view *view, struct ks_view_table *table, struct pairs *pairs, bool edges,
		u64 top)
{
	size_t i, rows = 0;

	if (pairs->items.len)
		qsort(pairs->items.items, pairs->items.len, sizeof(*pairs->items.items),
		      compare_pairs);
	for (i = 0; i < pairs->items.len && (!top || rows < top); i++) {
		const struct pair *pair = &pairs->items.items[i];
		const char *change = change_of(pair);
		union ks_view_cell *row = change ? ks_view_add_row(view, table) : NULL;

		if (!row)
			continue;
		rows++;
		row[0].text = change;
		(edges ? put_edge : put_site)(row, pair);
		if (edges)
			row[5].text = ks_view_string(view, pair->code);
		row[edges ? 6 : 9].text = ks_view_string(view, pair->site);
	}
}

/* === Public =============================================================================== */

struct ks_view *ks_kmap_view_diff(const struct ks_kmap_census *const *censuses,
				  const struct ks_kmap_places *const *places,
				  enum ks_kmap_level level, u64 top)
{
	struct ks_view *view = ks_view_new("kmemscope-kmap-diff-1");
	struct ks_view_table *table;
	struct pairs sites, edges;
	int side, err;

	if (!view)
		return NULL;
	err = pairs_init(&sites);
	err = pairs_init(&edges) || err;
	for (side = OLD; side <= NEW && !err; side++) {
		err = add_sites(&sites, censuses[side], places[side], level, side);
		err = err || add_edges(&edges, censuses[side], places[side], level, side);
	}
	if (err) {
		view->failed = true;
	} else {
		table = ks_view_add_table(view, "sites", "allocating code", site_columns,
					  ARRAY_SIZE(site_columns));
		put(view, table, &sites, false, top);
		table = ks_view_add_table(view, "accessors", "accessors", edge_columns,
					  ARRAY_SIZE(edge_columns));
		put(view, table, &edges, true, top);
	}
	pairs_deinit(&sites);
	pairs_deinit(&edges);
	ks_kmap_view_quality(view, censuses[NEW], places[NEW]);
	return view;
}
