// SPDX-License-Identifier: LGPL-2.1-only
/* Who calls whom: calls and returns by the code on both sides. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "kmap/views.h"

/* === Data ================================================================================= */

enum { CALLS, RETURNS, SHARE, SITES, CALLER, CALLED, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[CALLS] = { "calls", "calls", KS_CELL_U64, KS_UNIT_COUNT },
	[RETURNS] = { "returns", "returns", KS_CELL_U64, KS_UNIT_COUNT, .if_any = true },
	[SHARE] = { "share", "share", KS_CELL_DOUBLE, KS_UNIT_RATIO },
	[SITES] = { "sites", "sites", KS_CELL_U64, KS_UNIT_COUNT },
	[CALLER] = { "caller", "caller", KS_CELL_TEXT },
	[CALLED] = { "called", "called", KS_CELL_TEXT },
};

/* === Internals ============================================================================ */

static int compare_cells(const void *a, const void *b, void *ctx)
{
	const struct ks_kmap_places *places = ctx;
	const struct ks_kmap_calls_entry *x = a, *y = b;
	int order;

	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	if (x->returns != y->returns)
		return x->returns > y->returns ? -1 : 1;
	order = strcmp(ks_kmap_label(places, x->caller), ks_kmap_label(places, y->caller));
	return order ? order
		     : strcmp(ks_kmap_label(places, x->called), ks_kmap_label(places, y->called));
}

static int add_up(struct ks_kmap_call_cells *cells, const struct ks_kmap_census *census,
		  enum ks_kmap_unit unit, struct ks_map64 *index)
{
	size_t i;

	for (i = 0; i < census->calls.len; i++) {
		const struct ks_kmap_calls *calls = &census->calls.items[i];
		u32 caller = cells->places->codes[calls->from][unit];
		u32 called = cells->places->codes[calls->to][unit];
		u32 number = ks_map64_add(index, (u64)caller << 32 | called);
		struct ks_kmap_calls_entry *cell;

		if (number == KS_NONE ||
		    (number == cells->entries.len && !ks_vec_push(&cells->entries)))
			return -ENOMEM;
		cell = &cells->entries.items[number];
		cell->caller = caller;
		cell->called = called;
		cell->calls = ks_add_sat(cell->calls, calls->count);
		cell->returns = ks_add_sat(cell->returns, calls->returns);
		cell->sites++;
		cells->total = ks_add_sat(cells->total, calls->count);
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_call_cells_init(struct ks_kmap_call_cells *cells, const struct ks_kmap_census *census,
			    const struct ks_kmap_places *places, enum ks_kmap_unit unit)
{
	struct ks_map64 index;
	int err = ks_map64_init(&index);

	*cells = (struct ks_kmap_call_cells){ .places = places };
	if (!err)
		err = add_up(cells, census, unit, &index);
	ks_map64_deinit(&index);
	if (err)
		ks_kmap_call_cells_deinit(cells);
	else if (cells->entries.len)
		qsort_r(cells->entries.items, cells->entries.len, sizeof(*cells->entries.items),
			compare_cells, (void *)places);
	return err;
}

void ks_kmap_call_cells_deinit(struct ks_kmap_call_cells *cells)
{
	ks_vec_free(&cells->entries);
}

struct ks_doc *ks_kmap_view_calls(const struct ks_kmap_census *census,
				  const struct ks_kmap_call_cells *cells, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-kmap-calls-1");
	struct ks_table *table;
	size_t i;

	if (!doc)
		return NULL;
	table = ks_doc_table(doc, "calls", columns, COLUMNS);
	if (table)
		table->title = "who calls whom";
	for (i = 0; i < cells->entries.len && (!top || i < top); i++) {
		const struct ks_kmap_calls_entry *cell = &cells->entries.items[i];
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, CALLS, cell->calls);
		ks_row_u64(row, RETURNS, cell->returns);
		ks_row_double(row, SHARE,
			      cells->total ? (double)cell->calls / (double)cells->total : 0);
		ks_row_u64(row, SITES, cell->sites);
		ks_row_text(row, CALLER, ks_kmap_label(cells->places, cell->caller));
		ks_row_text(row, CALLED, ks_kmap_label(cells->places, cell->called));
	}
	ks_kmap_view_quality(doc, census, cells->places);
	return doc;
}

int ks_kmap_call_matrix(const struct ks_kmap_call_cells *cells, struct ks_kmap_matrix *ret_matrix)
{
	struct ks_kmap_matrix matrix = { .places = cells->places, .of_calls = true };
	size_t i;

	for (i = 0; i < cells->entries.len; i++) {
		struct ks_kmap_matrix_entry *entry = ks_vec_push(&matrix.entries);

		if (!entry) {
			ks_kmap_matrix_deinit(&matrix);
			return -ENOMEM;
		}
		entry->code = cells->entries.items[i].caller;
		entry->owner = cells->entries.items[i].called;
		entry->reads = cells->entries.items[i].calls;
	}
	*ret_matrix = matrix;
	return 0;
}
