// SPDX-License-Identifier: LGPL-2.1-only
/* The tables of a comparison: types and caches by growth, and in words what is certain and what is not. */
#include "heap/compare-doc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap/holders.h"
#include "heap/snapshot-doc.h"

/* === Data ================================================================================= */

enum {
	TYPE,
	CACHE,
	CHANGE,
	BYTES_BEFORE,
	BYTES_AFTER,
	OBJECTS_CHANGE,
	BEFORE,
	AFTER,
	NEW,
	NEW_BYTES,
	CHANGED,
	GONE,
	EXAMPLE,
	COLUMNS
};

static const struct ks_column columns[COLUMNS] = {
	[TYPE] = { "type", "type", KS_CELL_TEXT },
	[CACHE] = { "cache", "cache", KS_CELL_TEXT },
	[CHANGE] = { "bytes_change", "bytes", KS_CELL_CHANGE, KS_UNIT_BYTES, .width = 12 },
	[BYTES_BEFORE] = { "bytes_before", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[BYTES_AFTER] = { "bytes_after", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[OBJECTS_CHANGE] = { "objects_change", "objects", KS_CELL_CHANGE, KS_UNIT_OBJECTS,
			     .width = 9 },
	[BEFORE] = { "objects_before", "before", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[AFTER] = { "objects_after", "after", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	/* These need one boot. */
	[NEW] = { "new", "new", KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true, .width = 8 },
	[NEW_BYTES] = { "new_bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES, .optional = true },
	[CHANGED] = { "changed", "changed", KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true,
		      .width = 8 },
	[GONE] = { "gone", "gone", KS_CELL_U64, KS_UNIT_OBJECTS, .optional = true, .width = 8 },
	[EXAMPLE] = { "example", NULL, KS_CELL_HEX, KS_UNIT_ADDRESS, .optional = true },
};

static const unsigned int type_columns[] = { TYPE,	  CACHE,	  CHANGE,  BYTES_BEFORE,
					     BYTES_AFTER, OBJECTS_CHANGE, BEFORE,  AFTER,
					     NEW,	  NEW_BYTES,	  CHANGED, GONE,
					     EXAMPLE };
static const unsigned int type_text[] = { CHANGE,  OBJECTS_CHANGE, BEFORE, AFTER, NEW,
					  CHANGED, GONE,	   CACHE,  TYPE };

enum { H_TYPE, H_CACHE, H_HOLDER, H_OBJECTS, H_REFERENCES, H_HOLDERS, H_COLUMNS };

static const struct ks_column holder_columns[H_COLUMNS] = {
	[H_TYPE] = { "type", "new", KS_CELL_TEXT },
	[H_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[H_HOLDER] = { "holder", "held by", KS_CELL_TEXT },
	[H_OBJECTS] = { "objects", "objects", KS_CELL_U64, KS_UNIT_OBJECTS, .width = 9 },
	[H_REFERENCES] = { "references", "references", KS_CELL_U64, KS_UNIT_COUNT, .width = 10 },
	[H_HOLDERS] = { "holders", "holders", KS_CELL_U64, KS_UNIT_COUNT, .width = 9 },
};

static const unsigned int holder_text[] = { H_OBJECTS, H_REFERENCES, H_HOLDERS, H_TYPE, H_HOLDER };

enum { HELD = 8, HOLDERS = 4 }; /* types with the most new bytes; holders of each */

/* === Internals ============================================================================ */

static void fill(struct ks_row row, const struct ks_heap_compare *c,
		 const struct ks_heap_change *change)
{
	ks_row_change(row, CHANGE, change->bytes_before, change->bytes_after);
	ks_row_u64(row, BYTES_BEFORE, change->bytes_before);
	ks_row_u64(row, BYTES_AFTER, change->bytes_after);
	ks_row_change(row, OBJECTS_CHANGE, change->before, change->after);
	ks_row_u64(row, BEFORE, change->before);
	ks_row_u64(row, AFTER, change->after);
	if (!c->same_boot)
		return;
	ks_row_u64(row, NEW, change->fresh);
	ks_row_u64(row, NEW_BYTES, change->fresh_bytes);
	ks_row_u64(row, CHANGED, change->changed);
	ks_row_u64(row, GONE, change->gone);
	if (change->example != KS_NONE)
		ks_row_u64(row, EXAMPLE, c->after->addr[change->example]);
}

static bool is_changed(const struct ks_heap_change *change)
{
	return change->before != change->after || change->fresh || change->gone;
}

/* Without what can't be told, and of caches without the type. */
static void choose(struct ks_table *table, bool types, bool same_boot)
{
	unsigned int ids[COLUMNS];
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(type_text); i++) {
		unsigned int id = type_text[i];

		if ((id != TYPE || types) &&
		    (same_boot || (id != NEW && id != CHANGED && id != GONE)))
			ids[len++] = id;
	}
	ks_table_select(table, KS_FORM_TEXT, ids, len);
	if (types)
		return;
	ks_table_select(table, KS_FORM_JSON, type_columns + 1, ARRAY_SIZE(type_columns) - 1);
	ks_table_select(table, KS_FORM_CSV, type_columns + 1, ARRAY_SIZE(type_columns) - 1);
}

static void put_table(struct ks_doc *doc, const struct ks_heap_compare *c, bool types, u64 top)
{
	const struct ks_heap_change *rows = types ? c->types.items : c->caches.items;
	size_t len = types ? c->types.len : c->caches.len, i;
	struct ks_table *table = ks_doc_table(doc, types ? "types" : "caches", columns, COLUMNS);
	struct ks_row row;

	if (!table)
		return;
	choose(table, types, c->same_boot);
	table->title = types ? "Types, those that grew first" : "Caches, those that grew first";
	table->text_rows = (size_t)top;
	table->more = types ? "more types" : "more caches";
	for (i = 0; i < len; i++) {
		if (!is_changed(&rows[i]))
			continue;
		row = ks_table_add(table);
		ks_row_text(row, TYPE, types ? ks_intern_get(&c->names, rows[i].type).s : "");
		ks_row_text(row, CACHE, ks_intern_get(&c->names, rows[i].cache).s);
		fill(row, c, &rows[i]);
	}
	row = ks_table_total(table);
	fill(row, c, &c->total);
	ks_table_label_total(table, "in all");
}

/* The types whose new objects have the most bytes: their rows, the most first. */
static size_t most_new(const struct ks_heap_compare *c, const struct ks_heap_change *top[HELD])
{
	const struct ks_heap_change *row;
	size_t len = 0, i, at;

	for (i = 0; i < c->types.len; i++) {
		row = &c->types.items[i];
		for (at = len; at && top[at - 1]->fresh_bytes < row->fresh_bytes; at--)
			if (at < HELD)
				top[at] = top[at - 1];
		if (at < HELD && row->fresh)
			top[at] = row;
		if (at < HELD && row->fresh && len < HELD)
			len++;
	}
	return len;
}

static void select_new(const struct ks_heap_compare *c, const struct ks_heap_change *change,
		       struct ks_selection *selection)
{
	const struct ks_snapshot *s = c->after;
	const char *type = ks_intern_get(&c->names, change->type).s;
	const char *cache = ks_intern_get(&c->names, change->cache).s;
	u32 i;

	memset(selection->set, 0, (s->count / 64 + 1ul) * sizeof(*selection->set));
	for (i = change->example; i < s->count; i++)
		if (ks_heap_is_new(c, i) && !strcmp(s->types.items[s->type[i]].name, type) &&
		    !strcmp(s->caches.items[s->cache[i]].name, cache))
			selection->set[i / 64] |= 1ull << i % 64;
}

static int put_held(struct ks_table *table, const struct ks_heap_compare *c,
		    const struct ks_field_index *fields, const struct ks_heap_change *change,
		    const struct ks_selection *selection)
{
	struct ks_holders *holders;
	char text[400];
	struct ks_row row;
	size_t i;
	int err = ks_holders_find(c->after, fields, selection, &holders);

	for (i = 0; !err && i < holders->items.len && i < HOLDERS; i++) {
		const struct ks_holders_row *holder = &holders->items.items[i];

		ks_holders_row_text(c->after, fields, holder, text, sizeof(text));
		row = ks_table_add(table);
		ks_row_text(row, H_TYPE, ks_intern_get(&c->names, change->type).s);
		ks_row_text(row, H_CACHE, ks_intern_get(&c->names, change->cache).s);
		ks_row_text(row, H_HOLDER, text);
		ks_row_u64(row, H_OBJECTS, holder->objects);
		ks_row_u64(row, H_REFERENCES, holder->references);
		ks_row_u64(row, H_HOLDERS, holder->holders);
	}
	if (!err)
		ks_holders_free(holders);
	return err;
}

/* Who holds what is new, now. */
static int put_holders(struct ks_doc *doc, const struct ks_heap_compare *c)
{
	struct ks_selection selection = { .set = calloc(c->after->count / 64 + 1ul, 8) };
	const struct ks_heap_change *top[HELD] = { 0 };
	struct ks_field_index *fields = NULL;
	size_t len = most_new(c, top), i;
	struct ks_table *table = ks_doc_table(doc, "holders", holder_columns, H_COLUMNS);
	int err = selection.set && table ? ks_field_index_new(c->after, &fields) : -ENOMEM;

	if (table) {
		ks_table_select(table, KS_FORM_TEXT, holder_text, ARRAY_SIZE(holder_text));
		table->title = "Who holds what is new";
	}
	for (i = 0; i < len && !err; i++) {
		select_new(c, top[i], &selection);
		err = put_held(table, c, fields, top[i], &selection);
	}
	ks_field_index_free(fields);
	free(selection.set);
	return err;
}

static void say_snapshot(struct ks_doc *doc, const char *name, const struct ks_snapshot *s)
{
	char taken[40];

	ks_heap_time_text(s->taken_ns, taken);
	ks_doc_say_escaped(doc, name);
	ks_doc_say(doc, ": ");
	ks_doc_say_escaped(doc, *s->release ? s->release : "a kernel");
	ks_doc_say(doc, " on %s, %" PRIu32 " objects\n", taken, s->count);
}

static void say_apart(struct ks_doc *doc, const struct ks_heap_compare *c)
{
	double seconds = ((double)c->after->taken_ns - (double)c->before->taken_ns) / 1e9;

	if (c->same_boot)
		ks_doc_say(doc, "%.1f s %s, in the same boot\n\n", seconds < 0 ? -seconds : seconds,
			   seconds < 0 ? "EARLIER" : "later");
	else
		ks_doc_say(doc,
			   "Not of the same boot: objects can't be known again, only counted.\n\n");
	if (strcmp(c->before->release, c->after->release))
		ks_doc_say(doc, "The kernels differ: types and caches may have other names.\n\n");
}

/* What is certain, and what is not. */
static void say_certainty(struct ks_doc *doc, const struct ks_heap_compare *c)
{
	if (!c->same_boot)
		return;
	ks_doc_say(doc, "%" PRIu64 " objects of ", c->total.fresh);
	ks_doc_say_bytes(doc, 0, c->total.fresh_bytes, " bytes");
	ks_doc_say(doc, " were allocated since the first snapshot and are still there.\n");
	ks_doc_say(doc,
		   "%" PRIu64 " objects have other contents: most of them changed, but some may be "
		   "new ones of the\nsame type in the place of old ones.\n",
		   c->total.changed);
}

/* === Public =============================================================================== */

void ks_doc_add_changes(struct ks_doc *doc, const struct ks_heap_compare *c, u64 top)
{
	put_table(doc, c, true, top);
	put_table(doc, c, false, top);
}

struct ks_doc *ks_doc_of_compare(const struct ks_heap_compare *c, const char *first,
				 const char *second, u64 top)
{
	struct ks_doc *doc = ks_doc_new("kmemscope-heap-diff-1");

	if (!doc)
		return NULL;
	ks_doc_text(doc, "first_file", first);
	ks_doc_text(doc, "second_file", second);
	ks_doc_add_snapshot(doc, "first", c->before);
	ks_doc_add_snapshot(doc, "second", c->after);
	ks_doc_bool(doc, "same_boot", c->same_boot);
	if (c->same_boot) {
		ks_doc_u64(doc, "new_objects", c->total.fresh);
		ks_doc_u64(doc, "new_bytes", c->total.fresh_bytes);
		ks_doc_u64(doc, "changed_objects", c->total.changed);
		ks_doc_u64(doc, "gone_objects", c->total.gone);
	}
	say_snapshot(doc, first, c->before);
	say_snapshot(doc, second, c->after);
	say_apart(doc, c);
	ks_doc_add_changes(doc, c, top);
	if (c->same_boot && c->after->ref_first && c->total.fresh && put_holders(doc, c))
		doc->failed = true;
	say_certainty(doc, c);
	return doc;
}
