// SPDX-License-Identifier: LGPL-2.1-only
/* The tables of a census: by cache, by cgroup or by node; then all of memory by kind, and what was noticed. */
#include "heap/census-doc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap/snapshot-doc.h"
#include "heap/types-doc.h"
#include "heap/witness.h"

/* === Data ================================================================================= */

enum {
	C_CACHE,
	C_BYTES,
	C_OBJECTS,
	C_SIZE,
	C_OBJECT_SIZE,
	C_SLABS,
	C_SLAB_BYTES,
	C_SLACK,
	C_WAITING,
	C_CPU_LISTS,
	C_SHEAVES,
	C_BARNS,
	C_ASIDE,
	C_RECLAIMABLE,
	C_SLABINFO,
	C_CHANGED,
	C_ESTIMATED,
	C_MERGED,
	C_NAMES,
	C_COLUMNS
};

static ks_show_fn show_reclaimable, show_share;

static const struct ks_column cache_columns[C_COLUMNS] = {
	[C_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[C_NAMES] = { NULL, "cache", KS_CELL_TEXT, .optional = true },
	[C_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[C_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[C_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .width = 6, .optional = true,
		     .exact = true },
	[C_OBJECT_SIZE] = { "object_size", NULL, KS_CELL_U64, KS_UNIT_BYTES, .optional = true },
	[C_SLABS] = { "slabs", NULL, KS_CELL_U64, KS_UNIT_COUNT, .optional = true },
	[C_SLAB_BYTES] = { "slab_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[C_SLACK] = { "slack", "slack", KS_CELL_U64, KS_UNIT_BYTES, .width = 11 },
	[C_WAITING] = { "waiting", "waiting", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 8 },
	[C_CPU_LISTS] = { "cpu_lists", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[C_SHEAVES] = { "sheaves", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[C_BARNS] = { "barns", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[C_ASIDE] = { "aside", "aside", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 6 },
	[C_RECLAIMABLE] = { "reclaimable", "recl", KS_CELL_BOOL, .show = show_reclaimable },
	[C_SLABINFO] = { "slabinfo", "slabinfo", KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true,
			 .width = 9 },
	[C_CHANGED] = { "unexplained", "differs", KS_CELL_S64, KS_UNIT_OBJECTS, .optional = true,
			.width = 8 },
	[C_ESTIMATED] = { "slabinfo_estimates", NULL, KS_CELL_BOOL, .optional = true },
	[C_MERGED] = { "merged", NULL, KS_CELL_TEXTS },
};

static const unsigned int cache_text[] = {
	C_BYTES, C_OBJECTS,  C_SIZE,	C_SLACK,       C_WAITING,
	C_ASIDE, C_SLABINFO, C_CHANGED, C_RECLAIMABLE, C_NAMES,
};

enum { NAMES_MAX = 3 }; /* of merged caches, in text */

enum { K_KIND, K_BYTES, K_SHARE, K_TEXT, K_COLUMNS };

static const struct ks_column kind_columns[K_COLUMNS] = {
	[K_KIND] = { "kind", "memory", KS_CELL_TEXT },
	[K_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 14 },
	[K_SHARE] = { "share", "share", KS_CELL_SHARE, KS_UNIT_RATIO, .width = 7, .optional = true,
		      .show = show_share },
	[K_TEXT] = { "what", "what", KS_CELL_TEXT, .optional = true },
};

static const unsigned int kind_text[] = { K_BYTES, K_SHARE, K_KIND, K_TEXT };

enum { G_CGROUP, G_BYTES, G_OBJECTS, G_COLUMNS };

static const struct ks_column cgroup_columns[G_COLUMNS] = {
	[G_CGROUP] = { "cgroup", "cgroup", KS_CELL_TEXT },
	[G_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 14 },
	[G_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 10 },
};

static const unsigned int cgroup_text[] = { G_BYTES, G_OBJECTS, G_CGROUP };

enum { H_CGROUP, H_CACHE, H_BYTES, H_OBJECTS, H_COLUMNS };

static const struct ks_column charge_columns[H_COLUMNS] = {
	[H_CGROUP] = { "cgroup", NULL, KS_CELL_TEXT },
	[H_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[H_BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[H_OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
};

enum { N_NODE, N_BYTES, N_OBJECTS, N_SLABS, N_SLAB_BYTES, N_WAITING, N_COLUMNS };

static const struct ks_column node_columns[N_COLUMNS] = {
	[N_NODE] = { "node", "node", KS_CELL_U64, KS_UNIT_NONE },
	[N_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 14 },
	[N_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 10 },
	[N_SLABS] = { "slabs", "slabs", KS_CELL_U64, KS_UNIT_COUNT, .width = 9 },
	[N_SLAB_BYTES] = { "slab_bytes", "slab bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 14 },
	[N_WAITING] = { "waiting", "waiting", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
};

/* One row to be: by bytes, then by name. */
struct line {
	u32 number;
	u64 bytes, objects;
	const char *name;
};

struct lines {
	KS_VEC(struct line) items;
};

struct making {
	struct ks_doc *doc;
	const struct ks_snapshot *heap;
	const struct ks_heap_charges *charges;
	u64 top;
};

static const char large_name[] = "large kmalloc";

/* === Internals ============================================================================ */

static void show_share(const struct ks_table *table, size_t row, unsigned int column,
		       struct ks_strbuf *out)
{
	u64 share = ks_table_cell(table, row, column)->u64;

	if (ks_table_state(table, row, column) == KS_CELL_UNSET)
		ks_strbuf_puts(out, "-");
	else
		ks_strbuf_printf(out, "%" PRIu64 ".%" PRIu64 "%%", share / 100, share / 10 % 10);
}

static void show_reclaimable(const struct ks_table *table, size_t row, unsigned int column,
			     struct ks_strbuf *out)
{
	ks_strbuf_puts(out, ks_table_cell(table, row, column)->u64 ? "yes" : "");
}

static int by_bytes(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : x->number < y->number ? -1 : 1;
}

static void add_line(struct making *m, struct lines *lines, u32 number, u64 bytes, u64 objects,
		     const char *name)
{
	struct line *line = ks_vec_push(&lines->items);

	if (line)
		*line = (struct line){ number, bytes, objects, name };
	else
		m->doc->failed = true;
}

static void sort_lines(struct lines *lines)
{
	if (lines->items.len)
		qsort(lines->items.items, lines->items.len, sizeof(*lines->items.items), by_bytes);
}

/* === Internals: caches ==================================================================== */

static u64 waiting_of(const struct ks_census_row *row)
{
	return row->waiting[KS_WAITING_CPU] + row->waiting[KS_WAITING_SHEAF] +
	       row->waiting[KS_WAITING_BARN];
}

/* What slabinfo has, and how much of it neither the objects nor those that wait explain. */
static void put_slabinfo(struct ks_row out, const struct ks_heap_cache *cache)
{
	const struct ks_census_row *row = &cache->census;
	u64 expected = row->objects + waiting_of(row) + row->aside;

	if (cache->slabinfo == UINT64_MAX)
		return;
	ks_row_u64(out, C_SLABINFO, cache->slabinfo);
	ks_row_s64(out, C_CHANGED, (s64)(cache->slabinfo - expected));
	ks_row_bool(out, C_ESTIMATED, row->partial > KS_SLABINFO_COUNTS);
}

/* With the first of those that were merged into it; its own name may be among these. */
static void put_names(struct ks_table *table, struct ks_row out, const struct ks_heap_cache *cache)
{
	struct ks_strbuf names = { 0 };
	size_t others = 0, i;

	ks_strbuf_puts(&names, cache->name);
	for (i = 0; i < cache->nr_merged; i++)
		if (strcmp(cache->merged[i], cache->name) && others++ < NAMES_MAX)
			ks_strbuf_printf(&names, "%s%s", others > 1 ? ", " : " = ",
					 cache->merged[i]);
	if (others > NAMES_MAX)
		ks_strbuf_printf(&names, " and %zu more", others - NAMES_MAX);
	ks_row_text(out, C_NAMES, ks_strbuf_str(&names));
	table->failed |= names.failed;
	ks_strbuf_deinit(&names);
}

static void put_cache(struct ks_table *table, const struct ks_heap_cache *cache)
{
	const struct ks_census_row *row = &cache->census;
	struct ks_row out = ks_table_add(table);

	ks_row_text(out, C_CACHE, cache->name);
	ks_row_u64(out, C_BYTES, row->bytes);
	ks_row_u64(out, C_OBJECTS, row->objects);
	ks_row_u64(out, C_SIZE, cache->size);
	ks_row_u64(out, C_OBJECT_SIZE, cache->object_size);
	ks_row_u64(out, C_SLABS, row->slabs);
	ks_row_u64(out, C_SLAB_BYTES, row->pages * 4096);
	ks_row_u64(out, C_SLACK, row->pages * 4096 - row->bytes);
	ks_row_u64(out, C_WAITING, waiting_of(row));
	ks_row_u64(out, C_CPU_LISTS, row->waiting[KS_WAITING_CPU]);
	ks_row_u64(out, C_SHEAVES, row->waiting[KS_WAITING_SHEAF]);
	ks_row_u64(out, C_BARNS, row->waiting[KS_WAITING_BARN]);
	ks_row_u64(out, C_ASIDE, row->aside);
	ks_row_bool(out, C_RECLAIMABLE, cache->reclaimable);
	put_slabinfo(out, cache);
	ks_row_texts(out, C_MERGED, cache->merged, cache->nr_merged);
	put_names(table, out, cache);
}

static void put_large(struct ks_table *table, const struct line *line)
{
	struct ks_row out = ks_table_add(table);

	ks_row_text(out, C_CACHE, line->name);
	ks_row_u64(out, C_BYTES, line->bytes);
	ks_row_u64(out, C_OBJECTS, line->objects);
	ks_row_u64(out, C_SLAB_BYTES, line->bytes);
	ks_row_u64(out, C_SLACK, 0);
	ks_row_u64(out, C_WAITING, 0);
	ks_row_u64(out, C_CPU_LISTS, 0);
	ks_row_u64(out, C_SHEAVES, 0);
	ks_row_u64(out, C_BARNS, 0);
	ks_row_u64(out, C_ASIDE, 0);
	ks_row_bool(out, C_RECLAIMABLE, false);
	ks_row_texts(out, C_MERGED, NULL, 0);
	ks_row_text(out, C_NAMES, line->name);
}

/* Large kmalloc() is one line, whatever the sizes are. */
static struct line add_lines(struct making *m, struct lines *lines)
{
	struct line large = { .number = KS_NONE, .name = large_name };
	u32 i;

	for (i = 0; i < m->heap->caches.len; i++) {
		const struct ks_heap_cache *cache = &m->heap->caches.items[i];

		if (!cache->census.slabs)
			continue;
		if (!cache->large) {
			add_line(m, lines, i, cache->census.bytes, cache->census.objects,
				 cache->name);
			continue;
		}
		large.bytes += cache->census.bytes;
		large.objects += cache->census.objects;
	}
	if (large.objects)
		add_line(m, lines, KS_NONE, large.bytes, large.objects, large.name);
	return large;
}

static void put_total(const struct making *m, struct ks_table *table, const struct line *large)
{
	u64 bytes = 0, objects = 0, slab_bytes = 0, waiting = 0;
	struct ks_row total;
	size_t i;

	for (i = 0; i < m->heap->caches.len; i++) {
		const struct ks_heap_cache *cache = &m->heap->caches.items[i];

		if (cache->large || !cache->census.slabs)
			continue;
		bytes += cache->census.bytes;
		objects += cache->census.objects;
		slab_bytes += cache->census.pages * 4096;
		waiting += waiting_of(&cache->census);
	}
	total = ks_table_total(table);
	ks_row_u64(total, C_BYTES, bytes + large->bytes);
	ks_row_u64(total, C_OBJECTS, objects + large->objects);
	ks_row_u64(total, C_SLACK, slab_bytes - bytes);
	ks_row_u64(total, C_WAITING, waiting);
	ks_table_label_total(table, "in all");
}

static void put_caches(struct making *m)
{
	struct ks_table *table = ks_doc_table(m->doc, "caches", cache_columns, C_COLUMNS);
	struct lines lines = { 0 };
	struct line large = add_lines(m, &lines);
	size_t i;

	sort_lines(&lines);
	if (table) {
		ks_table_select(table, KS_FORM_TEXT, cache_text, ARRAY_SIZE(cache_text));
		table->text_rows = (size_t)m->top;
		table->more = "more caches";
		for (i = 0; i < lines.items.len; i++)
			if (lines.items.items[i].number == KS_NONE)
				put_large(table, &lines.items.items[i]);
			else
				put_cache(table,
					  &m->heap->caches.items[lines.items.items[i].number]);
		put_total(m, table, &large);
	}
	ks_vec_free(&lines.items);
}

/* === Internals: cgroups and nodes ========================================================= */

static const char *cgroup_name(const struct making *m, u32 cgroup)
{
	if (!cgroup)
		return "(charged to none)";
	return cgroup < m->heap->cgroups.len ? m->heap->cgroups.items[cgroup] : "(others)";
}

static void add_cgroups(struct making *m, struct lines *lines)
{
	const struct ks_heap_charges *charges = m->charges;
	u64 bytes = 0, objects = 0;
	struct line *line;
	size_t i;

	for (i = 0; i < m->heap->caches.len; i++) {
		bytes += m->heap->caches.items[i].census.bytes;
		objects += m->heap->caches.items[i].census.objects;
	}
	for (i = 0; i <= m->heap->cgroups.len; i++)
		add_line(m, lines, (u32)i, 0, 0, cgroup_name(m, (u32)i));
	for (i = 0; i < charges->rows.len && !m->doc->failed; i++) {
		const struct ks_charge *charge = &charges->rows.items[i];

		line = &lines->items.items[ks_min((size_t)charge->cgroup, m->heap->cgroups.len)];
		line->bytes += charge->bytes;
		line->objects += charge->objects;
		bytes -= ks_min(bytes, charge->bytes);
		objects -= ks_min(objects, charge->objects);
	}
	if (m->doc->failed)
		return;
	lines->items.items[0].bytes = bytes;
	lines->items.items[0].objects = objects;
	if (!lines->items.items[m->heap->cgroups.len].objects)
		lines->items.len--; /* all have a number */
}

static void put_cgroups(struct making *m)
{
	struct ks_table *table = ks_doc_table(m->doc, "cgroups", cgroup_columns, G_COLUMNS);
	struct lines lines = { 0 };
	struct ks_row out;
	size_t i;

	add_cgroups(m, &lines);
	sort_lines(&lines);
	if (table) {
		ks_table_select(table, KS_FORM_TEXT, cgroup_text, ARRAY_SIZE(cgroup_text));
		table->text_rows = (size_t)m->top;
		table->more = "more cgroups";
	}
	for (i = 0; table && i < lines.items.len; i++) {
		out = ks_table_add(table);
		ks_row_text(out, G_CGROUP, lines.items.items[i].name);
		ks_row_u64(out, G_BYTES, lines.items.items[i].bytes);
		ks_row_u64(out, G_OBJECTS, lines.items.items[i].objects);
	}
	ks_vec_free(&lines.items);
}

/* For programs: each cgroup's objects by cache. */
static void put_charges(struct making *m)
{
	const struct ks_charge *charges = m->charges->rows.items;
	struct ks_table *table;
	struct lines lines = { 0 };
	struct ks_row out;
	size_t i;

	ks_doc_show_in(m->doc, KS_IN_JSON);
	table = ks_doc_table(m->doc, "charges", charge_columns, H_COLUMNS);
	ks_doc_show_in(m->doc, KS_IN_BOTH);
	for (i = 0; i < m->charges->rows.len; i++)
		add_line(m, &lines, (u32)i, charges[i].bytes, charges[i].objects,
			 cgroup_name(m, charges[i].cgroup));
	sort_lines(&lines);
	for (i = 0; table && i < lines.items.len; i++) {
		const struct ks_charge *charge = &charges[lines.items.items[i].number];

		out = ks_table_add(table);
		ks_row_text(out, H_CGROUP, lines.items.items[i].name);
		ks_row_text(out, H_CACHE,
			    charge->cache == KS_NONE ? large_name
						     : m->heap->caches.items[charge->cache].name);
		ks_row_u64(out, H_BYTES, charge->bytes);
		ks_row_u64(out, H_OBJECTS, charge->objects);
	}
	ks_vec_free(&lines.items);
}

static void put_nodes(struct making *m)
{
	struct ks_table *table = ks_doc_table(m->doc, "nodes", node_columns, N_COLUMNS);
	struct ks_row out;
	size_t i;

	for (i = 0; table && i < m->heap->nodes.len; i++) {
		const struct ks_census_node *node = &m->heap->nodes.items[i];

		if (!node->slabs)
			continue;
		out = ks_table_add(table);
		ks_row_u64(out, N_NODE, i);
		ks_row_u64(out, N_BYTES, node->bytes);
		ks_row_u64(out, N_OBJECTS, node->used - ks_min(node->used, node->waiting));
		ks_row_u64(out, N_SLABS, node->slabs);
		ks_row_u64(out, N_SLAB_BYTES, node->pages * 4096);
		ks_row_u64(out, N_WAITING, node->waiting);
	}
}

/* === Internals: all of memory ============================================================= */

static void put_kinds(struct making *m)
{
	const u64 *kinds = m->heap->kinds;
	struct ks_table *table = ks_doc_table(m->doc, "memory", kind_columns, K_COLUMNS);
	struct ks_row out;
	u64 total = 0;
	int i;

	for (i = 0; i < KS_USE_RESERVED; i++)
		total += kinds[i] * 4096;
	if (!table)
		return;
	ks_table_select(table, KS_FORM_TEXT, kind_text, ARRAY_SIZE(kind_text));
	table->title = "Memory by use";
	for (i = 0; i < KS_USES; i++) {
		if (!kinds[i])
			continue;
		out = ks_table_add(table);
		ks_row_text(out, K_KIND, ks_page_use_name(i));
		ks_row_u64(out, K_BYTES, kinds[i] * 4096);
		if (i < KS_USE_RESERVED)
			ks_row_share(out, K_SHARE, kinds[i] * 4096, total);
		ks_row_text(out, K_TEXT, ks_page_use_text(i));
	}
	ks_doc_u64(m->doc, "total", total);
	if (!m->heap->total)
		return;
	ks_doc_u64(m->doc, "mem_total", m->heap->total);
	ks_doc_say_bytes(m->doc, 14, total, "");
	if (total == m->heap->total) {
		ks_doc_say(m->doc, "  in all but what is reserved: MemTotal\n");
	} else {
		ks_doc_say(m->doc, "  in all but what is reserved; MemTotal is ");
		ks_doc_say_bytes(m->doc, 0, m->heap->total, "");
		ks_doc_say(m->doc, "\n");
	}
}

/* Which snapshot it is. */
static void put_origin(struct making *m, const char *path)
{
	char taken[40];

	ks_doc_text(m->doc, "from", path);
	ks_doc_add_snapshot(m->doc, "snapshot", m->heap);
	ks_heap_time_text(m->heap->taken_ns, taken);
	ks_doc_say_escaped(m->doc, path);
	ks_doc_say(m->doc, ": ");
	ks_doc_say_escaped(m->doc, *m->heap->release ? m->heap->release : "a kernel");
	ks_doc_say(m->doc, " on %s\n\n", taken);
}

/* === Public =============================================================================== */

const char *ks_heap_by_name(unsigned int by)
{
	static const char *const names[KS_HEAP_BYS] = { "cache", "type", "cgroup", "node" };

	return names[by];
}

struct ks_doc *ks_doc_of_census(const struct ks_heap_report *report)
{
	struct making m = {
		.doc = ks_doc_new("kmemscope-heap-1"),
		.heap = report->heap,
		.charges = report->charges,
		.top = report->top,
	};

	if (!m.doc)
		return NULL;
	ks_doc_text(m.doc, "memory_by", report->heap->memory_by);
	ks_doc_text(m.doc, "by", ks_heap_by_name(report->by));
	if (report->from)
		put_origin(&m, report->from);
	if (report->by == KS_HEAP_BY_CACHE) {
		put_caches(&m);
	} else if (report->by == KS_HEAP_BY_TYPE) {
		ks_doc_add_types(m.doc, report->heap, report->top);
		ks_doc_say(m.doc, "\n");
	} else if (report->by == KS_HEAP_BY_CGROUP) {
		put_cgroups(&m);
		put_charges(&m);
	} else {
		put_nodes(&m);
	}
	put_kinds(&m);
	ks_doc_add_heap_quality(m.doc, report->heap);
	return m.doc;
}
