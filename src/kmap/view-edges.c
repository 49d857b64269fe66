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

enum {
	TOUCHER_READS,
	TOUCHER_WRITES,
	TOUCHER_BYTES_READ,
	TOUCHER_BYTES_WRITTEN,
	TOUCHER_FOREIGN_ACCESSES,
	TOUCHER_IRQ_ACCESSES,
	TOUCHER_OBJECTS,
	TOUCHER_FREES,
	TOUCHER_OTHER, /* the name of what is at the other side of the edges */
	TOUCHER_COLUMNS
};

static const struct ks_column toucher_columns[TOUCHER_COLUMNS] = {
	[TOUCHER_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT },
	[TOUCHER_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT },
	[TOUCHER_BYTES_READ] = { "bytes_read", "B read", KS_CELL_U64, KS_UNIT_BYTES,
				 .if_any = true },
	[TOUCHER_BYTES_WRITTEN] = { "bytes_written", "B written", KS_CELL_U64, KS_UNIT_BYTES,
				    .if_any = true },
	[TOUCHER_FOREIGN_ACCESSES] = { "foreign_accesses", "foreign", KS_CELL_U64, KS_UNIT_COUNT,
				       .if_any = true },
	[TOUCHER_IRQ_ACCESSES] = { "irq_accesses", "irq", KS_CELL_U64, KS_UNIT_COUNT,
				   .if_any = true },
	[TOUCHER_OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[TOUCHER_FREES] = { "frees", "frees", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
};

/* A question about edges: the two sides of them are the site of an object and the code. */
struct row {
	const char *schema, *name;
	struct ks_column other; /* the side that was not named */
	bool site_is_named;
};

static const struct row accesses_row = {
	.schema = "kmemscope-kmap-accesses-1",
	.name = "accesses",
	.other = { "code", "accessed by", KS_CELL_TEXT },
	.site_is_named = true,
};

static const struct row touches_row = {
	.schema = "kmemscope-kmap-touches-1",
	.name = "touches",
	.other = { "site", "objects of", KS_CELL_TEXT },
};

enum {
	CELL_READS,
	CELL_WRITES,
	CELL_BYTES_READ,
	CELL_BYTES_WRITTEN,
	CELL_SHARE,
	CELL_CODE,
	CELL_OWNER,
	CELL_COLUMNS
};

static const struct ks_column matrix_columns[CELL_COLUMNS] = {
	[CELL_READS] = { "reads", "reads", KS_CELL_U64, KS_UNIT_COUNT },
	[CELL_WRITES] = { "writes", "writes", KS_CELL_U64, KS_UNIT_COUNT },
	[CELL_BYTES_READ] = { "bytes_read", "B read", KS_CELL_U64, KS_UNIT_BYTES, .if_any = true },
	[CELL_BYTES_WRITTEN] = { "bytes_written", "B written", KS_CELL_U64, KS_UNIT_BYTES,
				 .if_any = true },
	[CELL_SHARE] = { "share", "share", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[CELL_CODE] = { "code", "code", KS_CELL_TEXT },
	[CELL_OWNER] = { "owner", "objects of", KS_CELL_TEXT },
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

static void put_touchers(struct ks_doc *doc, const struct row *question,
			 const struct toucher *touchers, size_t len, u64 top)
{
	struct ks_column columns[TOUCHER_COLUMNS];
	struct ks_table *table;
	size_t i;

	memcpy(columns, toucher_columns, sizeof(columns));
	columns[TOUCHER_OTHER] = question->other;
	table = ks_doc_table(doc, question->name, columns, TOUCHER_COLUMNS);
	if (table)
		table->title = question->name;
	for (i = 0; i < len && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, TOUCHER_READS, touchers[i].reads);
		ks_row_u64(row, TOUCHER_WRITES, touchers[i].writes);
		ks_row_u64(row, TOUCHER_BYTES_READ, touchers[i].bytes_read);
		ks_row_u64(row, TOUCHER_BYTES_WRITTEN, touchers[i].bytes_written);
		ks_row_u64(row, TOUCHER_FOREIGN_ACCESSES, touchers[i].foreign);
		ks_row_u64(row, TOUCHER_IRQ_ACCESSES, touchers[i].irq);
		ks_row_u64(row, TOUCHER_OBJECTS, touchers[i].objects);
		ks_row_u64(row, TOUCHER_FREES, touchers[i].frees);
		ks_row_text(row, TOUCHER_OTHER, touchers[i].name);
	}
}

/* Edges whose one side is called @name, added up by the label of the other side. */
static struct ks_doc *make_row(const struct ks_kmap_census *census,
			       const struct ks_kmap_places *places, const struct row *row,
			       const char *name, enum ks_kmap_unit by, u64 top, bool *ret_found)
{
	struct ks_doc *doc = ks_doc_new(row->schema);
	size_t i, len = places->labels.strs.len, used = 0;
	struct toucher *touchers = calloc(len + 1, sizeof(*touchers));
	bool found = false;

	if (!doc || !touchers) {
		ks_doc_free(doc);
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
	put_touchers(doc, row, touchers, used, top);
	free(touchers);
	ks_kmap_view_quality(doc, census, places);
	*ret_found = found;
	return doc;
}

/* === Internals: the matrix ================================================================ */

static int compare_cells(const void *a, const void *b, void *ctx)
{
	const struct ks_kmap_places *places = ctx;
	const struct ks_kmap_matrix_entry *x = a, *y = b;
	int order = strcmp(ks_kmap_label(places, x->code), ks_kmap_label(places, y->code));

	return order ? order
		     : strcmp(ks_kmap_label(places, x->owner), ks_kmap_label(places, y->owner));
}

static int compare_heat(const void *a, const void *b, void *ctx)
{
	const struct ks_kmap_matrix_entry *x = a, *y = b;
	u64 key_x = ks_add_sat(x->reads, x->writes), key_y = ks_add_sat(y->reads, y->writes);

	if (key_x != key_y)
		return key_x > key_y ? -1 : 1;
	return compare_cells(a, b, ctx);
}

/* === Public =============================================================================== */

struct ks_doc *ks_kmap_view_accesses(const struct ks_kmap_census *census,
				     const struct ks_kmap_places *places, const char *site,
				     enum ks_kmap_unit by, u64 top, bool *ret_found)
{
	return make_row(census, places, &accesses_row, site, by, top, ret_found);
}

struct ks_doc *ks_kmap_view_touches(const struct ks_kmap_census *census,
				    const struct ks_kmap_places *places, const char *code,
				    enum ks_kmap_unit by, u64 top, bool *ret_found)
{
	return make_row(census, places, &touches_row, code, by, top, ret_found);
}

int ks_kmap_matrix_init(struct ks_kmap_matrix *matrix, const struct ks_kmap_census *census,
			const struct ks_kmap_places *places, enum ks_kmap_unit unit)
{
	struct ks_map64 index;
	int err = ks_map64_init(&index);
	size_t i;

	*matrix = (struct ks_kmap_matrix){ .places = places };
	for (i = 0; !err && i < census->edges.len; i++) {
		const struct ks_kmap_edge *edge = &census->edges.items[i];
		u32 code = places->codes[edge->code][unit], owner = places->sites[edge->site][unit];
		struct ks_kmap_matrix_entry *cell;
		u32 number;

		if (!edge->reads && !edge->writes)
			continue;
		number = ks_map64_add(&index, (u64)code << 32 | owner);
		if (number == KS_NONE ||
		    (number == matrix->entries.len && !ks_vec_push(&matrix->entries))) {
			err = -ENOMEM;
			break;
		}
		cell = &matrix->entries.items[number];
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
	else if (matrix->entries.len)
		qsort_r(matrix->entries.items, matrix->entries.len, sizeof(*matrix->entries.items),
			compare_cells, (void *)places);
	return err;
}

void ks_kmap_matrix_deinit(struct ks_kmap_matrix *matrix)
{
	ks_vec_free(&matrix->entries);
}

struct ks_doc *ks_kmap_view_matrix(const struct ks_kmap_census *census,
				   const struct ks_kmap_matrix *matrix, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-matrix-1");
	size_t i, len = matrix->entries.len;
	struct ks_kmap_matrix_entry *sorted = calloc(len + 1, sizeof(*sorted));
	struct ks_table *table;
	u64 total = 0;

	if (!doc || !sorted) {
		ks_doc_free(doc);
		free(sorted);
		return NULL;
	}
	for (i = 0; i < len; i++) {
		sorted[i] = matrix->entries.items[i];
		total = ks_add_sat(total, ks_add_sat(sorted[i].reads, sorted[i].writes));
	}
	qsort_r(sorted, len, sizeof(*sorted), compare_heat, (void *)matrix->places);
	table = ks_doc_table(doc, "cells", matrix_columns, CELL_COLUMNS);
	if (table)
		table->title = "code and whose objects it touches";
	for (i = 0; i < len && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);
		u64 both = ks_add_sat(sorted[i].reads, sorted[i].writes);

		ks_row_u64(row, CELL_READS, sorted[i].reads);
		ks_row_u64(row, CELL_WRITES, sorted[i].writes);
		ks_row_u64(row, CELL_BYTES_READ, sorted[i].bytes_read);
		ks_row_u64(row, CELL_BYTES_WRITTEN, sorted[i].bytes_written);
		ks_row_double(row, CELL_SHARE, (double)both / (double)total);
		ks_row_text(row, CELL_CODE, ks_kmap_label(matrix->places, sorted[i].code));
		ks_row_text(row, CELL_OWNER, ks_kmap_label(matrix->places, sorted[i].owner));
	}
	free(sorted);
	ks_kmap_view_quality(doc, census, matrix->places);
	return doc;
}
