// SPDX-License-Identifier: LGPL-2.1-only
/* What the HTML report shows of a heap: types by cache, memory by use, and the changes since another snapshot. */
#include "heap/page-doc.h"

#include "heap/page-graph.h"
#include "heap/snapshot-doc.h"

/* === Data ================================================================================= */

enum { MAX_ROWS = 600 }; /* of a table */

enum { T_TYPE, T_CACHE, T_OBJECTS, T_BYTES, T_SIZE, T_KNOWN_BY, T_EXAMPLE, T_COLUMNS };

static const struct ks_column type_columns[T_COLUMNS] = {
	[T_TYPE] = { "type", NULL, KS_CELL_TEXT },
	[T_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[T_OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[T_BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[T_SIZE] = { "size", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[T_KNOWN_BY] = { "known_by", NULL, KS_CELL_TEXT },
	/* Text: it does not fit the numbers of JavaScript. */
	[T_EXAMPLE] = { "example", NULL, KS_CELL_TEXT },
};

enum { M_KIND, M_BYTES, M_TEXT, M_COLUMNS };

static const struct ks_column memory_columns[M_COLUMNS] = {
	[M_KIND] = { "kind", NULL, KS_CELL_TEXT },
	[M_BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[M_TEXT] = { "what", NULL, KS_CELL_TEXT },
};

enum {
	D_TYPE,
	D_CACHE,
	D_BYTES_BEFORE,
	D_BYTES_AFTER,
	D_BEFORE,
	D_AFTER,
	D_NEW,
	D_NEW_BYTES,
	D_CHANGED,
	D_GONE,
	D_COLUMNS
};

static const struct ks_column change_columns[D_COLUMNS] = {
	[D_TYPE] = { "type", NULL, KS_CELL_TEXT },
	[D_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[D_BYTES_BEFORE] = { "bytes_before", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[D_BYTES_AFTER] = { "bytes_after", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[D_BEFORE] = { "before", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[D_AFTER] = { "after", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[D_NEW] = { "fresh", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[D_NEW_BYTES] = { "fresh_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[D_CHANGED] = { "changed", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[D_GONE] = { "gone", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
};

/* === Internals ============================================================================ */

static void put_type(struct ks_table *table, const struct ks_snapshot *s,
		     const struct ks_type_sum *sum)
{
	struct ks_row row = ks_table_add(table);
	struct ks_strbuf example;

	ks_strbuf_init(&example);
	ks_strbuf_printf(&example, "0x%llx", (unsigned long long)s->addr[sum->example]);
	ks_row_text(row, T_TYPE, s->types.items[sum->type].name);
	ks_row_text(row, T_CACHE, s->caches.items[sum->cache].name);
	ks_row_u64(row, T_OBJECTS, sum->objects);
	ks_row_u64(row, T_BYTES, sum->bytes);
	ks_row_u64(row, T_SIZE, s->caches.items[sum->cache].size);
	ks_row_text(row, T_KNOWN_BY, ks_known_by_name(sum->known_by));
	ks_row_text(row, T_EXAMPLE, ks_strbuf_str(&example));
	table->failed |= example.failed;
	ks_strbuf_deinit(&example);
}

/* The last row may stand for many types. */
static void put_types(struct ks_doc *doc, const struct ks_snapshot *s,
		      const struct ks_type_sums *sums)
{
	struct ks_table *table = ks_doc_table(doc, "types", type_columns, T_COLUMNS);
	struct ks_type_sum rest = { 0 };
	struct ks_row row;
	size_t i;

	for (i = 0; table && i < sums->items.len; i++) {
		if (i < MAX_ROWS) {
			put_type(table, s, &sums->items.items[i]);
			continue;
		}
		rest.objects += sums->items.items[i].objects;
		rest.bytes += sums->items.items[i].bytes;
	}
	if (table && rest.objects) {
		row = ks_table_add(table);
		ks_row_text(row, T_TYPE, "(others)");
		ks_row_text(row, T_CACHE, "(others)");
		ks_row_u64(row, T_OBJECTS, rest.objects);
		ks_row_u64(row, T_BYTES, rest.bytes);
		ks_row_u64(row, T_SIZE, 0);
		ks_row_text(row, T_KNOWN_BY, "");
		ks_row_text(row, T_EXAMPLE, "");
	}
	ks_doc_u64(doc, "folded", sums->items.len - ks_min(sums->items.len, (size_t)MAX_ROWS));
	ks_doc_u64(doc, "folded_bytes", rest.bytes);
}

static void put_memory(struct ks_doc *doc, const struct ks_snapshot *s)
{
	struct ks_table *table = ks_doc_table(doc, "memory", memory_columns, M_COLUMNS);
	struct ks_row row;
	int i;

	for (i = 0; table && i < KS_USES; i++) {
		if (!s->kinds[i])
			continue;
		row = ks_table_add(table);
		ks_row_text(row, M_KIND, ks_page_use_name(i));
		ks_row_u64(row, M_BYTES, s->kinds[i] * 4096);
		ks_row_text(row, M_TEXT, ks_page_use_text(i));
	}
}

/* Rows are by growth: what shrank the most is at the end. */
static void put_changes(struct ks_doc *doc, const struct ks_heap_compare *c)
{
	struct ks_table *table = ks_doc_table(doc, "changes", change_columns, D_COLUMNS);
	u64 folded = 0;
	struct ks_row row;
	size_t i;

	for (i = 0; table && i < c->types.len; i++) {
		const struct ks_heap_change *change = &c->types.items[i];

		if (change->before == change->after && !change->fresh && !change->gone)
			continue;
		if (i >= MAX_ROWS / 2 && i + MAX_ROWS / 2 < c->types.len) {
			folded++;
			continue;
		}
		row = ks_table_add(table);
		ks_row_text(row, D_TYPE, ks_intern_get(&c->names, change->type).s);
		ks_row_text(row, D_CACHE, ks_intern_get(&c->names, change->cache).s);
		ks_row_u64(row, D_BYTES_BEFORE, change->bytes_before);
		ks_row_u64(row, D_BYTES_AFTER, change->bytes_after);
		ks_row_u64(row, D_BEFORE, change->before);
		ks_row_u64(row, D_AFTER, change->after);
		ks_row_u64(row, D_NEW, change->fresh);
		ks_row_u64(row, D_NEW_BYTES, change->fresh_bytes);
		ks_row_u64(row, D_CHANGED, change->changed);
		ks_row_u64(row, D_GONE, change->gone);
	}
	ks_doc_u64(doc, "changes_folded", folded);
}

static void put_before(struct ks_doc *doc, const struct ks_heap_compare *c)
{
	char taken[40];

	ks_heap_time_text(c->before->taken_ns, taken);
	ks_doc_text(doc, "before_taken", taken);
	ks_doc_text(doc, "before_kernel", c->before->release);
	ks_doc_bool(doc, "same_boot", c->same_boot);
	ks_doc_u64(doc, "seconds",
		   c->after->taken_ns > c->before->taken_ns
			   ? (c->after->taken_ns - c->before->taken_ns) / 1000000000
			   : 0);
	ks_doc_u64(doc, "before_objects", c->total.before);
	ks_doc_u64(doc, "before_bytes", c->total.bytes_before);
	ks_doc_u64(doc, "fresh_objects", c->total.fresh);
	ks_doc_u64(doc, "fresh_bytes", c->total.fresh_bytes);
	ks_doc_u64(doc, "changed_objects", c->total.changed);
	ks_doc_u64(doc, "gone_objects", c->total.gone);
}

static void put_facts(struct ks_doc *doc, const struct ks_snapshot *s,
		      const struct ks_type_sums *sums)
{
	char taken[40];
	u64 bytes = 0;
	size_t i;

	for (i = 0; i < sums->items.len; i++)
		bytes += sums->items.items[i].bytes;
	ks_heap_time_text(s->taken_ns, taken);
	ks_doc_text(doc, "kernel", s->release);
	ks_doc_text(doc, "machine", s->machine);
	ks_doc_text(doc, "taken", taken);
	ks_doc_bool(doc, "graph", s->ref_first);
	ks_doc_u64(doc, "objects", s->count);
	ks_doc_u64(doc, "bytes", bytes);
	ks_doc_u64(doc, "references", s->refs.len);
	ks_doc_u64(doc, "mem_total", s->total);
}

/* === Public =============================================================================== */

int ks_doc_of_heap_page(const struct ks_snapshot *s, const struct ks_heap_compare *compare,
			struct ks_doc **ret_doc, struct ks_diag *diag)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-page-1");
	struct ks_type_sums sums = { 0 };
	int err = doc && !ks_type_sums_init(&sums, s)
			  ? 0
			  : ks_diag_nomem(diag, "making a page of a heap");

	if (!err) {
		put_facts(doc, s, &sums);
		put_types(doc, s, &sums);
		put_memory(doc, s);
		if (compare) {
			put_before(doc, compare);
			put_changes(doc, compare);
		}
		ks_doc_add_heap_quality(doc, s);
	}
	if (!err && s->ref_first)
		err = ks_doc_add_page_graph(doc, s, sums.items.items, sums.items.len, diag);
	ks_type_sums_deinit(&sums);
	if (err)
		ks_doc_free(doc);
	else
		*ret_doc = doc;
	return err;
}
