// SPDX-License-Identifier: LGPL-2.1-only
/* What was there before the capture: the kernel's objects when recording began, by cache and type. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* === Data ================================================================================= */

enum { BYTES, OBJECTS, TYPE, CACHE, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 10, .gap = 1 },
	[TYPE] = { "type", "type", KS_CELL_TEXT, .width = 28, .gap = 2, .optional = true },
	[CACHE] = { "cache", "cache", KS_CELL_TEXT, .gap = 2 },
};

static const unsigned int in_text[] = { BYTES, OBJECTS, TYPE, CACHE };
static const unsigned int without_types[] = { BYTES, OBJECTS, CACHE };

/* === Internals ============================================================================ */

static int compare_start(const void *pa, const void *pb)
{
	const struct ks_kernel_cache *a = *(const struct ks_kernel_cache *const *)pa;
	const struct ks_kernel_cache *b = *(const struct ks_kernel_cache *const *)pb;

	if (a->bytes[0] != b->bytes[0])
		return a->bytes[0] > b->bytes[0] ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void add_row(struct ks_table *table, u64 bytes, u64 objects, const char *type,
		    const char *cache)
{
	struct ks_row row;

	if (!objects)
		return;
	row = ks_table_add(table);
	ks_row_u64(row, BYTES, bytes);
	ks_row_u64(row, OBJECTS, objects);
	if (type)
		ks_row_text(row, TYPE, type);
	ks_row_text(row, CACHE, cache);
}

/* The caches, most bytes at the start first. */
static void add_caches(struct ks_doc *doc, struct ks_table *table,
		       const struct ks_kernel_slabs *slabs)
{
	const struct ks_kernel_cache **order = calloc(slabs->caches.len + 1, sizeof(*order));
	size_t i;

	if (!order) {
		doc->failed = true;
		return;
	}
	for (i = 0; i < slabs->caches.len; i++)
		order[i] = &slabs->caches.items[i];
	qsort(order, slabs->caches.len, sizeof(*order), compare_start);
	for (i = 0; i < slabs->caches.len; i++)
		add_row(table, order[i]->bytes[0], order[i]->objects[0], NULL, order[i]->name);
	free(order);
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_before(const struct ks_model *model, u64 top)
{
	const struct ks_kernel_slabs *slabs = &model->kernel_slabs;
	struct ks_doc *doc = ks_doc_new("kmemscope-before-1");
	struct ks_table *table;
	size_t i;

	if (!doc)
		return NULL;
	ks_doc_bool(doc, "counted", slabs->counted[0]);
	ks_doc_u64(doc, "bytes", slabs->bytes[0]);
	ks_doc_u64(doc, "objects", slabs->objects[0]);
	table = ks_doc_loose_table(doc, "rows", columns, COLUMNS);
	if (slabs->types.len)
		ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	else
		ks_table_select(table, KS_FORM_TEXT, without_types, ARRAY_SIZE(without_types));
	for (i = 0; i < slabs->types.len; i++)
		add_row(table, slabs->types.items[i].bytes, slabs->types.items[i].objects,
			slabs->types.items[i].name, slabs->types.items[i].cache);
	if (!slabs->types.len)
		add_caches(doc, table, slabs);
	if (table) {
		table->text_rows = (size_t)top;
		table->more = "more";
	}
	ks_doc_place(doc, table, slabs->counted[0] ? KS_IN_BOTH : KS_IN_JSON);
	if (slabs->counted[0]) {
		ks_doc_say_bytes(doc, 12, slabs->bytes[0], "");
		ks_doc_say(doc, " %10" PRIu64 "  in use when recording began%s\n\n",
			   slabs->objects[0],
			   slabs->types.len ? "" : "; record --types has types, too");
	} else {
		ks_doc_say(doc, "the capture does not say what was there before it\n\n");
	}
	ks_doc_quality(doc, model);
	return doc;
}
