// SPDX-License-Identifier: LGPL-2.1-only
/* Who touches whose objects: the accessors of a site, the objects of a function, and the matrix. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

struct toucher {
	const char *name;
	u64 reads, writes, bytes_read, bytes_written, foreign, irq, frees, objects;
};

/* The name of what is at the other side of the edges stands behind these. */
static const struct ks_view_column toucher_columns[] = {
	{ "reads", "reads", KS_CELL_U64, false },
	{ "writes", "writes", KS_CELL_U64, false },
	{ "bytes_read", "B read", KS_CELL_U64, true },
	{ "bytes_written", "B written", KS_CELL_U64, true },
	{ "foreign_accesses", "foreign", KS_CELL_U64, true },
	{ "irq_accesses", "irq", KS_CELL_U64, true },
	{ "objects", NULL, KS_CELL_U64, false },
	{ "frees", "frees", KS_CELL_U64, true },
};

/* A question about edges: the two sides of them are the site of an object and the code. */
struct row {
	const char *schema, *name;
	struct ks_view_column other; /* the side that was not named */
	bool site_is_named;
};

static const struct row accesses_row = {
	.schema = "kmemscope-kmap-accesses-1",
	.name = "accesses",
	.other = { "code", "accessed by", KS_CELL_TEXT, false },
	.site_is_named = true,
};

static const struct row touches_row = {
	.schema = "kmemscope-kmap-touches-1",
	.name = "touches",
	.other = { "site", "objects of", KS_CELL_TEXT, false },
};

static const struct ks_view_column matrix_columns[] = {
	{ "reads", "reads", KS_CELL_U64, false },
	{ "writes", "writes", KS_CELL_U64, false },
	{ "bytes_read", "B read", KS_CELL_U64, true },
	{ "bytes_written", "B written", KS_CELL_U64, true },
	{ "share", "share", KS_CELL_RATIO, false },
	{ "code", "code", KS_CELL_TEXT, false },
	{ "owner", "objects of", KS_CELL_TEXT, false },
};

/* === Internals: one row =================================================================== */

static int compare_touchers(const void *a, const void *b)
{
	const struct toucher *x = a, *y = b;
	u64 key_x = ks_add_sat(x->reads, x->writes), key_y = ks_add_sat(y->reads, y->writes);

	if (key_x != key_y)
		return key_x > key_y ? -1 : 1;
	if (x->frees != y->frees)
		return x->frees > y->frees ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_edge(struct toucher *toucher, const struct ks_kmap_edge *edge)
{
	toucher->reads = ks_add_sat(toucher->reads, edge->reads);
	toucher->writes = ks_add_sat(toucher->writes, edge->writes);
	toucher->bytes_read = ks_add_sat(toucher->bytes_read, edge->bytes_read);
	toucher->bytes_written = ks_add_sat(toucher->bytes_written, edge->bytes_written);
	toucher->foreign = ks_add_sat(toucher->foreign, edge->foreign);
	toucher->irq = ks_add_sat(toucher->irq, edge->irq);
	toucher->frees += edge->frees;
	toucher->objects += edge->objects;
}

static void put_touchers(struct ks_view *view, const struct row *row,
			 const struct toucher *touchers, size_t len, u64 top)
{
	enum { NUMBERS = ARRAY_SIZE(toucher_columns) };
	struct ks_view_column columns[NUMBERS + 1];
	struct ks_view_table *table;
	size_t i;

	memcpy(columns, toucher_columns, sizeof(toucher_columns));
	columns[NUMBERS] = row->other;
	table = ks_view_add_table(view, row->name, row->name, columns, ARRAY_SIZE(columns));
	for (i = 0; i < len && (!top || i < top); i++) {
		union ks_view_cell *cells = ks_view_add_row(view, table);

		if (!cells)
			return;
		cells[0].u64 = touchers[i].reads;
		cells[1].u64 = touchers[i].writes;
		cells[2].u64 = touchers[i].bytes_read;
		cells[3].u64 = touchers[i].bytes_written;
		cells[4].u64 = touchers[i].foreign;
		cells[5].u64 = touchers[i].irq;
		cells[6].u64 = touchers[i].objects;
		cells[7].u64 = touchers[i].frees;
		cells[NUMBERS].text = ks_view_string(view, touchers[i].name);
	}
}

/* Edges whose one side is called @name, added up by the label of the other side. */
static struct ks_view *make_row(const struct ks_kmap_census *census,
				const struct ks_kmap_places *places, const struct row *row,
				const char *name, enum ks_kmap_level by, u64 top, bool *ret_found)
{
	struct ks_view *view = ks_view_new(row->schema);
	size_t i, len = places->labels.strs.len, used = 0;
	struct toucher *touchers = calloc(len + 1, sizeof(*touchers));
	bool found = false;

	if (!view || !touchers) {
		ks_view_free(view);
		free(touchers);
		return NULL;
	}
	for (i = 0; row->site_is_named && i < census->sites.len; i++)
		found |= ks_kmap_labels_match(places, places->sites[i], name);
	for (i = 0; i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		const u32 *site = places->sites[edge->site], *code = places->codes[edge->code];
		u32 label = row->site_is_named ? code[by] : site[by];

		if (!ks_kmap_labels_match(places, row->site_is_named ? site : code, name))
			continue;
		found = true;
		touchers[label].name = ks_kmap_label(places, label);
		add_edge(&touchers[label], edge);
	}
	for (i = 0; i < len; i++)
		if (touchers[i].name)
			touchers[used++] = touchers[i];
	qsort(touchers, used, sizeof(*touchers), compare_touchers);
	put_touchers(view, row, touchers, used, top);
	free(touchers);
	ks_kmap_view_quality(view, census, places);
	*ret_found = found;
	return view;
}

/* === Internals: the matrix ================================================================ */

static int compare_cells(const void *a, const void *b, void *ctx)
{
	const struct ks_kmap_places *places = ctx;
	const struct ks_kmap_cell *x = a, *y = b;
	int order = strcmp(ks_kmap_label(places, x->code), ks_kmap_label(places, y->code));

	return order ? order
		     : strcmp(ks_kmap_label(places, x->owner), ks_kmap_label(places, y->owner));
}

static int compare_heat(const void *a, const void *b, void *ctx)
{
	const struct ks_kmap_cell *x = a, *y = b;
	u64 key_x = ks_add_sat(x->reads, x->writes), key_y = ks_add_sat(y->reads, y->writes);

	if (key_x != key_y)
		return key_x > key_y ? -1 : 1;
	return compare_cells(a, b, ctx);
}

/* === Public =============================================================================== */

struct ks_view *ks_kmap_view_accesses(const struct ks_kmap_census *census,
				      const struct ks_kmap_places *places, const char *site,
				      enum ks_kmap_level by, u64 top, bool *ret_found)
{
	return make_row(census, places, &accesses_row, site, by, top, ret_found);
}

struct ks_view *ks_kmap_view_touches(const struct ks_kmap_census *census,
				     const struct ks_kmap_places *places, const char *code,
				     enum ks_kmap_level by, u64 top, bool *ret_found)
{
	return make_row(census, places, &touches_row, code, by, top, ret_found);
}

int ks_kmap_matrix_init(struct ks_kmap_matrix *matrix, const struct ks_kmap_census *census,
			const struct ks_kmap_places *places, enum ks_kmap_level level)
{
	struct ks_map64 index;
	int err = ks_map64_init(&index);
	size_t i;

	*matrix = (struct ks_kmap_matrix){ .places = places };
	for (i = 0; !err && i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		u32 code = places->codes[edge->code][level],
		    owner = places->sites[edge->site][level];
		struct ks_kmap_cell *cell;
		u32 number;

		if (!edge->reads && !edge->writes)
			continue;
		number = ks_map64_add(&index, (u64)code << 32 | owner);
		if (number == KS_NONE ||
		    (number == matrix->cells.len && !ks_vec_push(&matrix->cells))) {
			err = -ENOMEM;
			break;
		}
		cell = &matrix->cells.items[number];
		cell->code = code;
		cell->owner = owner;
		cell->reads = ks_add_sat(cell->reads, edge->reads);
		cell->writes = ks_add_sat(cell->writes, edge->writes);
		cell->bytes_read = ks_add_sat(cell->bytes_read, edge->bytes_read);
		cell->bytes_written = ks_add_sat(cell->bytes_written, edge->bytes_written);
	}
	ks_map64_deinit(&index);
	if (err)
		ks_kmap_matrix_deinit(matrix);
	else if (matrix->cells.len)
		qsort_r(matrix->cells.items, matrix->cells.len, sizeof(*matrix->cells.items),
			compare_cells, (void *)places);
	return err;
}

void ks_kmap_matrix_deinit(struct ks_kmap_matrix *matrix)
{
	ks_vec_free(&matrix->cells);
}

struct ks_view *ks_kmap_view_matrix(const struct ks_kmap_census *census,
				    const struct ks_kmap_matrix *matrix, u64 top)
{
	struct ks_view *view = ks_view_new("kmemscope-kmap-matrix-1");
	size_t i, len = matrix->cells.len;
	struct ks_kmap_cell *sorted = calloc(len + 1, sizeof(*sorted));
	struct ks_view_table *table;
	u64 total = 0;

	if (!view || !sorted) {
		ks_view_free(view);
		free(sorted);
		return NULL;
	}
	for (i = 0; i < len; i++) {
		sorted[i] = matrix->cells.items[i];
		total = ks_add_sat(total, ks_add_sat(sorted[i].reads, sorted[i].writes));
	}
	qsort_r(sorted, len, sizeof(*sorted), compare_heat, (void *)matrix->places);
	table = ks_view_add_table(view, "cells", "code and whose objects it touches",
				  matrix_columns, ARRAY_SIZE(matrix_columns));
	for (i = 0; i < len && (!top || i < top); i++) {
		union ks_view_cell *row = ks_view_add_row(view, table);

		if (!row)
			break;
		row[0].u64 = sorted[i].reads;
		row[1].u64 = sorted[i].writes;
		row[2].u64 = sorted[i].bytes_read;
		row[3].u64 = sorted[i].bytes_written;
		row[4].ratio =
			(double)ks_add_sat(sorted[i].reads, sorted[i].writes) / (double)total;
		row[5].text = ks_view_string(view, ks_kmap_label(matrix->places, sorted[i].code));
		row[6].text = ks_view_string(view, ks_kmap_label(matrix->places, sorted[i].owner));
	}
	free(sorted);
	ks_kmap_view_quality(view, census, matrix->places);
	return view;
}
