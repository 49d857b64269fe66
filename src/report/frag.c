// SPDX-License-Identifier: LGPL-2.1-only
/* Fragmentation: kmemtrace's report. */
#include <inttypes.h>

#include "report/report.h"

/* === Data ================================================================================= */

enum {
	LABEL,
	REQUESTED,
	ALLOCATED,
	WASTED,
	SHARE,
	ALLOCS,
	FREES,
	CROSS_CPU,
	NODE_REQUESTS,
	CROSS_NODE,
	COLUMNS
};

static ks_show_fn show_tenths;

/* The label's name is "site" or "size". */
static const struct ks_column columns[COLUMNS] = {
	[LABEL] = { "site", "site", KS_CELL_TEXT },
	[REQUESTED] = { "requested", "requested", KS_CELL_U64, KS_UNIT_BYTES, .width = 14 },
	[ALLOCATED] = { "allocated", "allocated", KS_CELL_U64, KS_UNIT_BYTES, .width = 14,
			.gap = 1 },
	[WASTED] = { "wasted", "wasted", KS_CELL_U64, KS_UNIT_BYTES, .width = 12, .gap = 1 },
	[SHARE] = { "fragmentation", "frag", KS_CELL_SHARE, KS_UNIT_RATIO, .width = 8, .gap = 1,
		    .show = show_tenths },
	[ALLOCS] = { "allocs", "allocs", KS_CELL_U64, KS_UNIT_COUNT, .width = 10, .gap = 1 },
	[FREES] = { "frees", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CROSS_CPU] = { "cross_cpu_frees", "cross-CPU", KS_CELL_U64, KS_UNIT_COUNT, .width = 10,
			.gap = 1 },
	[NODE_REQUESTS] = { "node_requests", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[CROSS_NODE] = { "cross_node_requests", "cross-node", KS_CELL_U64, KS_UNIT_COUNT,
			 .width = 10, .gap = 1 },
};

static const unsigned int in_text[] = {
	REQUESTED, ALLOCATED, WASTED, SHARE, ALLOCS, CROSS_CPU, CROSS_NODE, LABEL,
};

/* === Internals ============================================================================ */

static u64 waste_of(const struct ks_frag_row *row)
{
	return row->bytes_alloc - ks_min(row->bytes_req, row->bytes_alloc);
}

/* In tenths of a per cent, rounded down; nothing wastes nothing. */
static void show_tenths(const struct ks_table *table, size_t row, unsigned int column,
			struct ks_strbuf *out)
{
	u64 tenths = ks_table_cell(table, row, column)->u64 / 10;

	ks_strbuf_printf(out, "%" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
}

static void put_numbers(struct ks_row row, const struct ks_frag_row *from)
{
	ks_row_u64(row, REQUESTED, from->bytes_req);
	ks_row_u64(row, ALLOCATED, from->bytes_alloc);
	ks_row_u64(row, WASTED, waste_of(from));
	ks_row_share(row, SHARE, waste_of(from), from->bytes_alloc);
	ks_row_u64(row, ALLOCS, from->allocs);
	ks_row_u64(row, FREES, from->frees);
	ks_row_u64(row, CROSS_CPU, from->cross_cpu);
	ks_row_u64(row, NODE_REQUESTS, from->node_requests);
	ks_row_u64(row, CROSS_NODE, from->cross_node);
}

static struct ks_table *new_table(struct ks_doc *doc, const char *name, const char *label)
{
	struct ks_column mine[COLUMNS];
	struct ks_table *table;

	__builtin_memcpy(mine, columns, sizeof(mine));
	mine[LABEL].name = mine[LABEL].head = label;
	table = ks_doc_loose_table(doc, name, mine, COLUMNS);
	ks_table_select(table, KS_FORM_TEXT, in_text, ARRAY_SIZE(in_text));
	return table;
}

static void add_rows(struct ks_doc *doc, const char *name, const char *label,
		     const struct ks_frag_row *rows, size_t len, u64 top)
{
	struct ks_table *table = new_table(doc, name, label);
	size_t i;

	ks_doc_place(doc, table, KS_IN_BOTH);
	for (i = 0; i < len && (!top || i < top); i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_text(row, LABEL, rows[i].label);
		put_numbers(row, &rows[i]);
	}
	if (!table)
		return;
	table->left_out = len - i;
	table->more = "more";
}

static void say_total(struct ks_doc *doc, const struct ks_frag_row *total,
		      const struct ks_table *table)
{
	struct ks_strbuf share;

	ks_strbuf_init(&share);
	if (table)
		show_tenths(table, KS_TOTAL, SHARE, &share);
	ks_doc_say(doc, "\ntotal\n");
	ks_doc_say_bytes(doc, 14, total->bytes_req, " bytes");
	ks_doc_say(doc, " requested\n");
	ks_doc_say_bytes(doc, 14, total->bytes_alloc, " bytes");
	ks_doc_say(doc, " allocated\n");
	ks_doc_say_bytes(doc, 14, waste_of(total), " bytes");
	ks_doc_say(doc, " wasted, %8s\n", ks_strbuf_str(&share));
	ks_doc_say(doc, "%14" PRIu64 " allocations, %" PRIu64 " frees seen\n", total->allocs,
		   total->frees);
	ks_doc_say(doc, "%14" PRIu64 " frees on another CPU than the allocation\n",
		   total->cross_cpu);
	ks_doc_say(doc,
		   "%14" PRIu64 " allocations that asked for a node, %" PRIu64
		   " for another one\n\n",
		   total->node_requests, total->cross_node);
	doc->failed |= share.failed;
	ks_strbuf_deinit(&share);
}

/* === Public =============================================================================== */

struct ks_doc *ks_doc_of_frag(const struct ks_model *model, const struct ks_frag *frag, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-frag-1");
	struct ks_table *total;

	if (!doc)
		return NULL;
	ks_doc_text(doc, "level", ks_level_name(model->level));
	total = new_table(doc, "total", "site");
	put_numbers(ks_table_total(total), &frag->total);
	ks_doc_open(doc, "total");
	ks_doc_total(doc, total);
	ks_doc_close(doc);
	add_rows(doc, "sites", "site", frag->by_site.items, frag->by_site.len, top);
	ks_doc_say(doc, "\n");
	add_rows(doc, "sizes", "size", frag->by_size.items, frag->by_size.len, top);
	say_total(doc, &frag->total, total);
	ks_doc_findings(doc, model);
	ks_doc_quality(doc, model);
	return doc;
}
