// SPDX-License-Identifier: LGPL-2.1-only
/* The tables of a census: by cache, by cgroup or by node; then all of memory by kind, and what was noticed. */
#include "heap/census-doc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap/typing-doc.h"

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
	C_COLUMNS
};

static ks_show_fn show_reclaimable;

static const struct ks_column cache_columns[C_COLUMNS] = {
	[C_CACHE] = { "cache", "cache", KS_CELL_TEXT },
	[C_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 12 },
	[C_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[C_SIZE] = { "size", "size", KS_CELL_U64, KS_UNIT_BYTES, .width = 6, .optional = true },
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
	C_ASIDE, C_SLABINFO, C_CHANGED, C_RECLAIMABLE, C_CACHE,
};

enum { K_KIND, K_BYTES, K_SHARE, K_TEXT, K_COLUMNS };

static const struct ks_column kind_columns[K_COLUMNS] = {
	[K_KIND] = { "kind", "memory", KS_CELL_TEXT },
	[K_BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES, .width = 14 },
	[K_SHARE] = { "share", "share", KS_CELL_SHARE, KS_UNIT_RATIO, .width = 7,
		      .optional = true },
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
	const struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_witness *witness;
	const struct ks_aliases *aliases;
	u64 top;
};

static const char large_name[] = "large kmalloc";

/* === Internals ============================================================================ */

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
static void put_slabinfo(const struct making *m, struct ks_row out, u32 number)
{
	const struct ks_census_row *row = &m->census->rows.items[number];
	u64 active, expected = row->objects + waiting_of(row) + row->aside;

	if (!m->witness || m->witness->active[number] == UINT64_MAX)
		return;
	active = m->witness->active[number];
	ks_row_u64(out, C_SLABINFO, active);
	ks_row_s64(out, C_CHANGED, (s64)(active - expected));
	ks_row_bool(out, C_ESTIMATED, row->partial > KS_SLABINFO_COUNTS);
}

static void put_merged(const struct making *m, struct ks_row out, u32 number)
{
	const char *names[256];
	size_t count = 0, i;

	for (i = 0; m->aliases && i < m->aliases->items.len && count < ARRAY_SIZE(names); i++)
		if (m->aliases->items.items[i].cache == number)
			names[count++] = m->aliases->items.items[i].name;
	ks_row_texts(out, C_MERGED, names, count);
}

static void put_cache(const struct making *m, struct ks_table *table, u32 number)
{
	const struct ks_cache *cache = &m->census->caches->items.items[number];
	const struct ks_census_row *row = &m->census->rows.items[number];
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
	ks_row_bool(out, C_RECLAIMABLE, ks_cache_reclaimable(&m->kernel->layout, cache));
	put_slabinfo(m, out, number);
	put_merged(m, out, number);
}

static void put_large(const struct making *m, struct ks_table *table, const struct line *line)
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
}

static u64 large_bytes(const struct ks_census *c)
{
	u64 pages = 0;
	size_t i;

	for (i = 0; i < c->pages->large.len; i++)
		pages += c->pages->large.items[i].pages;
	return pages * 4096;
}

static void put_caches(struct making *m)
{
	const struct ks_census *c = m->census;
	struct ks_table *table = ks_doc_table(m->doc, "caches", cache_columns, C_COLUMNS);
	struct lines lines = { 0 };
	u64 bytes = 0, objects = 0, slab_bytes = 0, waiting = 0;
	struct ks_row total;
	u32 i;

	for (i = 0; i < c->rows.len; i++) {
		const struct ks_census_row *row = &c->rows.items[i];

		if (!row->slabs)
			continue;
		add_line(m, &lines, i, row->bytes, row->objects, c->caches->items.items[i].name);
		bytes += row->bytes;
		objects += row->objects;
		slab_bytes += row->pages * 4096;
		waiting += waiting_of(row);
	}
	if (c->pages->large.len)
		add_line(m, &lines, KS_NONE, large_bytes(c), c->pages->large.len, large_name);
	sort_lines(&lines);
	if (table) {
		ks_table_select(table, KS_FORM_TEXT, cache_text, ARRAY_SIZE(cache_text));
		table->text_rows = (size_t)m->top;
		table->more = "more caches";
		for (i = 0; i < lines.items.len; i++)
			if (lines.items.items[i].number == KS_NONE)
				put_large(m, table, &lines.items.items[i]);
			else
				put_cache(m, table, lines.items.items[i].number);
		total = ks_table_total(table);
		ks_row_u64(total, C_BYTES, bytes + large_bytes(c));
		ks_row_u64(total, C_OBJECTS, objects + c->pages->large.len);
		ks_row_u64(total, C_SLACK, slab_bytes - bytes);
		ks_row_u64(total, C_WAITING, waiting);
		ks_table_label_total(table, "in all");
	}
	ks_vec_free(&lines.items);
}

/* === Internals: cgroups and nodes ========================================================= */

static void put_cgroups(struct making *m)
{
	const struct ks_census *c = m->census;
	struct ks_table *table = ks_doc_table(m->doc, "cgroups", cgroup_columns, G_COLUMNS);
	struct lines lines = { 0 };
	u64 bytes = large_bytes(c), objects = c->pages->large.len;
	struct ks_row out;
	size_t i;

	for (i = 0; i < c->rows.len; i++) {
		bytes += c->rows.items[i].bytes;
		objects += c->rows.items[i].objects;
	}
	for (i = 0; i < c->charges->paths.len; i++)
		add_line(m, &lines, (u32)i, 0, 0, c->charges->paths.items[i]);
	for (i = 0; i < c->charges->rows.len && !m->doc->failed; i++) {
		const struct ks_charge *charge = &c->charges->rows.items[i];

		lines.items.items[charge->cgroup].bytes += charge->bytes;
		lines.items.items[charge->cgroup].objects += charge->objects;
		bytes -= ks_min(bytes, charge->bytes);
		objects -= ks_min(objects, charge->objects);
	}
	add_line(m, &lines, KS_NONE, bytes, objects, "(charged to none)");
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
	const struct ks_census *c = m->census;
	struct ks_table *table;
	struct lines lines = { 0 };
	struct ks_row out;
	size_t i;

	ks_doc_show_in(m->doc, KS_IN_JSON);
	table = ks_doc_table(m->doc, "charges", charge_columns, H_COLUMNS);
	ks_doc_show_in(m->doc, KS_IN_BOTH);
	for (i = 0; i < c->charges->rows.len; i++)
		add_line(m, &lines, (u32)i, c->charges->rows.items[i].bytes,
			 c->charges->rows.items[i].objects,
			 c->charges->paths.items[c->charges->rows.items[i].cgroup]);
	sort_lines(&lines);
	for (i = 0; table && i < lines.items.len; i++) {
		const struct ks_charge *charge =
			&c->charges->rows.items[lines.items.items[i].number];

		out = ks_table_add(table);
		ks_row_text(out, H_CGROUP, lines.items.items[i].name);
		ks_row_text(out, H_CACHE,
			    charge->cache == KS_NONE ? large_name
						     : c->caches->items.items[charge->cache].name);
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

	for (i = 0; table && i < m->census->nodes.len; i++) {
		const struct ks_census_node *node = &m->census->nodes.items[i];

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
	const u64 *kinds = m->census->pages->kinds;
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
	if (!m->witness || !m->witness->total)
		return;
	ks_doc_u64(m->doc, "mem_total", m->witness->total);
	if (total == m->witness->total)
		ks_doc_say(m->doc, "%14" PRIu64 "  in all but what is reserved: MemTotal\n", total);
	else
		ks_doc_say(m->doc,
			   "%14" PRIu64 "  in all but what is reserved; MemTotal is %" PRIu64 "\n",
			   total, m->witness->total);
}

static void put_notes(struct making *m)
{
	const struct ks_census *c = m->census;
	u64 estimated = 0;
	size_t i;

	for (i = 0; m->witness && i < c->rows.len; i++)
		estimated += c->rows.items[i].partial > KS_SLABINFO_COUNTS;
	ks_doc_open(m->doc, "quality");
	ks_doc_note(m->doc, "torn_slabs", c->torn,
		    "slabs changed whenever they were read and are in no row", false);
	ks_doc_note(m->doc, "reread_slabs", c->reread,
		    "slabs changed while they were read and were read again", false);
	ks_doc_note(
		m->doc, "torn_lists", c->waiting->torn,
		"lists of free objects changed whenever they were read: their objects count as used",
		false);
	ks_doc_note(m->doc, "stray_objects", c->waiting->stray,
		    "free objects on lists were in no slab of their cache", false);
	ks_doc_note(m->doc, "vanished_objects", c->over,
		    "free objects on lists were more than their slabs counted as used", false);
	ks_doc_note(m->doc, "invalid_caches", c->caches->invalid,
		    "caches that slabs named made no sense", false);
	ks_doc_note(m->doc, "torn_pages", c->pages->torn,
		    "struct pages contradicted their neighbours", false);
	ks_doc_note(
		m->doc, "slabinfo_estimates", estimated,
		"caches have so many partial slabs that /proc/slabinfo only estimates their objects",
		false);
	if (c->charges)
		ks_doc_note(m->doc, "unreadable_charges", c->charges->unreadable,
			    "slabs' charges could not be read", false);
	ks_doc_close(m->doc);
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
		.kernel = report->kernel,
		.census = report->census,
		.witness = report->witness,
		.aliases = report->aliases,
		.top = report->top,
	};

	if (!m.doc)
		return NULL;
	ks_doc_text(m.doc, "memory_by", report->kernel->memory->ops->name);
	ks_doc_text(m.doc, "by", ks_heap_by_name(report->by));
	if (report->by == KS_HEAP_BY_CACHE) {
		put_caches(&m);
	} else if (report->by == KS_HEAP_BY_TYPE) {
		ks_doc_add_types(m.doc, report->census, report->typing, report->top);
	} else if (report->by == KS_HEAP_BY_CGROUP) {
		put_cgroups(&m);
		put_charges(&m);
	} else {
		put_nodes(&m);
	}
	put_kinds(&m);
	put_notes(&m);
	return m.doc;
}
