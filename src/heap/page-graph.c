// SPDX-License-Identifier: LGPL-2.1-only
/* Asks the graph about the types of a page: who holds them, from which root, and what they retain. */
#include "heap/page-graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "heap/dominators.h"
#include "heap/holders.h"
#include "heap/unreachable.h"
#include "heap/ways.h"

/* === Data ================================================================================= */

enum {
	ASKED = 40,	   /* types: each is a walk over all references */
	HOLDERS = 8,	   /* of a type */
	WAY_ENDS = 8,	   /* steps at each end of a way */
	UNREACHABLE = 200, /* rows */
	TEXT_LEN = 400,
};

enum { R_TYPE, R_BYTES, R_COLUMNS };

static const struct ks_column retained_columns[R_COLUMNS] = {
	[R_TYPE] = { "type", NULL, KS_CELL_U64, KS_UNIT_NONE },
	[R_BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
};

enum { H_TYPE, H_HOLDER, H_OBJECTS, H_REFERENCES, H_HOLDERS, H_COLUMNS };

static const struct ks_column holder_columns[H_COLUMNS] = {
	[H_TYPE] = { "type", NULL, KS_CELL_U64, KS_UNIT_NONE },
	[H_HOLDER] = { "holder", NULL, KS_CELL_TEXT },
	[H_OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[H_REFERENCES] = { "references", NULL, KS_CELL_U64, KS_UNIT_COUNT },
	[H_HOLDERS] = { "holders", NULL, KS_CELL_U64, KS_UNIT_COUNT },
};

enum { W_TYPE, W_STEP, W_COLUMNS };

static const struct ks_column way_columns[W_COLUMNS] = {
	[W_TYPE] = { "type", NULL, KS_CELL_U64, KS_UNIT_NONE },
	[W_STEP] = { "step", NULL, KS_CELL_TEXT },
};

enum { U_TYPE, U_CACHE, U_OBJECTS, U_BYTES, U_EXAMPLE, U_COLUMNS };

static const struct ks_column unreachable_columns[U_COLUMNS] = {
	[U_TYPE] = { "type", NULL, KS_CELL_TEXT },
	[U_CACHE] = { "cache", NULL, KS_CELL_TEXT },
	[U_OBJECTS] = { "objects", NULL, KS_CELL_U64, KS_UNIT_OBJECTS },
	[U_BYTES] = { "bytes", NULL, KS_CELL_U64, KS_UNIT_BYTES },
	[U_EXAMPLE] = { "example", NULL, KS_CELL_TEXT },
};

struct asking {
	struct ks_doc *doc;
	const struct ks_snapshot *s;
	struct ks_field_index *fields;
	struct ks_dominators *dominators;
	struct ks_ways *ways;
	struct ks_table *retained, *holders, *steps;
};

/* === Internals: a type ==================================================================== */

static void select_type(const struct ks_snapshot *s, const struct ks_type_sum *type,
			struct ks_selection *selection)
{
	u32 i;

	memset(selection->set, 0, (s->count / 64 + 1ul) * sizeof(*selection->set));
	selection->objects = type->objects;
	selection->bytes = type->bytes;
	selection->first = type->example;
	for (i = 0; i < s->count; i++)
		if (s->type[i] == type->type && s->cache[i] == type->cache &&
		    s->known_by[i] == type->known_by)
			selection->set[i / 64] |= 1ull << i % 64;
}

static int put_holders(struct asking *a, u64 number, const struct ks_selection *selection)
{
	struct ks_holders *holders;
	char text[TEXT_LEN];
	struct ks_row row;
	size_t i;
	int err = ks_holders_find(a->s, a->fields, selection, &holders);

	if (err)
		return err;
	for (i = 0; i < holders->items.len && i < HOLDERS; i++) {
		const struct ks_holders_row *holder = &holders->items.items[i];

		ks_holders_row_text(a->s, a->fields, holder, text, sizeof(text));
		row = ks_table_add(a->holders);
		ks_row_u64(row, H_TYPE, number);
		ks_row_text(row, H_HOLDER, text);
		ks_row_u64(row, H_OBJECTS, holder->objects);
		ks_row_u64(row, H_REFERENCES, holder->references);
		ks_row_u64(row, H_HOLDERS, holder->holders);
	}
	ks_holders_free(holders);
	return 0;
}

/* "task_struct.files bash/17", "variable init_task +0x48": a step, and where it holds the next one. */
static void step_text(const struct asking *a, u32 from, u32 to, char *text, size_t size)
{
	const struct ks_heap_ref *ref = to == KS_NONE ? NULL : ks_ways_ref(a->s, from, to);
	const struct ks_snapshot *s = a->s;
	u32 number = from & ~KS_FROM_ROOT;
	char field[256] = "";
	const char *label;

	if (from & KS_FROM_ROOT) {
		if (ref && ref->at != UINT16_MAX)
			snprintf(field, sizeof(field), " +0x%x", ref->at * 8u);
		snprintf(text, size, "%s %s%s", ks_root_kind_name(s->roots.items[number].kind),
			 s->roots.items[number].name, field);
		return;
	}
	if (ref)
		ks_field_text(s, a->fields, s->type[number], ref->at, field, sizeof(field));
	label = ks_snapshot_label(s, number);
	snprintf(text, size, "%s%s%s%s",
		 s->type[number] ? s->types.items[s->type[number]].name
				 : s->caches.items[s->cache[number]].name,
		 field, *label ? "  " : "", label);
}

static void put_step(struct asking *a, u64 number, const char *text)
{
	struct ks_row row = ks_table_add(a->steps);

	ks_row_u64(row, W_TYPE, number);
	ks_row_text(row, W_STEP, text);
}

/* The first of the objects that a root leads to. */
static u32 reached(const struct asking *a, const struct ks_selection *selection)
{
	u32 i;

	for (i = selection->first; i < a->s->count; i++)
		if (ks_selected(selection, i) && a->ways->from[i] != KS_NONE)
			return i;
	return KS_NONE;
}

/* From the root down; a long way lacks its middle. */
static int put_way(struct asking *a, u64 number, const struct ks_selection *selection)
{
	u32 at = reached(a, selection), *slot;
	KS_VEC(u32) steps = { 0 };
	char text[TEXT_LEN];
	size_t i;

	while (at != KS_NONE) {
		slot = ks_vec_push(&steps);
		if (!slot) {
			ks_vec_free(&steps);
			return -ENOMEM;
		}
		*slot = at;
		at = at & KS_FROM_ROOT ? KS_NONE : a->ways->from[at];
	}
	for (i = steps.len; i-- > 0;) {
		if (steps.len > 2 * WAY_ENDS + 1 && i + WAY_ENDS + 1 == steps.len) {
			snprintf(text, sizeof(text), "... %zu steps ...", i + 1 - WAY_ENDS);
			put_step(a, number, text);
			i = WAY_ENDS;
			continue;
		}
		step_text(a, steps.items[i], i ? steps.items[i - 1] : KS_NONE, text, sizeof(text));
		put_step(a, number, text);
	}
	ks_vec_free(&steps);
	return 0;
}

static int ask(struct asking *a, u64 number, const struct ks_selection *selection)
{
	u64 bytes = 0;
	struct ks_row row;
	int err = ks_dominators_of_set(a->dominators, selection->set, &bytes);

	if (err)
		return err;
	row = ks_table_add(a->retained);
	ks_row_u64(row, R_TYPE, number);
	ks_row_u64(row, R_BYTES, bytes);
	err = put_holders(a, number, selection);
	return err ? err : put_way(a, number, selection);
}

static int ask_all(struct asking *a, const struct ks_type_sum *types, size_t count)
{
	struct ks_selection selection = { .set = calloc(a->s->count / 64 + 1ul, 8) };
	size_t i;
	int err = selection.set ? 0 : -ENOMEM;

	a->retained = ks_doc_table(a->doc, "retained", retained_columns, R_COLUMNS);
	a->holders = ks_doc_table(a->doc, "holders", holder_columns, H_COLUMNS);
	a->steps = ks_doc_table(a->doc, "ways", way_columns, W_COLUMNS);
	if (!a->retained || !a->holders || !a->steps)
		err = -ENOMEM;
	for (i = 0; i < count && i < ASKED && !err; i++) {
		select_type(a->s, &types[i], &selection);
		err = ask(a, i, &selection);
	}
	free(selection.set);
	return err;
}

/* === Internals: unreachable =============================================================== */

static int by_bytes(const void *a, const void *b)
{
	const struct ks_type_sum *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->example < y->example ? -1 : x->example > y->example;
}

static void put_unreachable(struct ks_doc *doc, const struct ks_snapshot *s,
			    const struct ks_type_sum *rows, size_t count)
{
	struct ks_table *table = ks_doc_table(doc, "unreachable", unreachable_columns, U_COLUMNS);
	u64 objects = 0, bytes = 0;
	char example[32];
	struct ks_row row;
	size_t i;

	for (i = 0; table && i < count; i++) {
		objects += rows[i].objects;
		bytes += rows[i].bytes;
		if (i >= UNREACHABLE)
			continue;
		snprintf(example, sizeof(example), "0x%" PRIx64, s->addr[rows[i].example]);
		row = ks_table_add(table);
		ks_row_text(row, U_TYPE, s->types.items[rows[i].type].name);
		ks_row_text(row, U_CACHE, s->caches.items[rows[i].cache].name);
		ks_row_u64(row, U_OBJECTS, rows[i].objects);
		ks_row_u64(row, U_BYTES, rows[i].bytes);
		ks_row_text(row, U_EXAMPLE, example);
	}
	ks_doc_u64(doc, "unreachable_objects", objects);
	ks_doc_u64(doc, "unreachable_bytes", bytes);
	ks_doc_u64(doc, "unreachable_folded", count - ks_min(count, (size_t)UNREACHABLE));
}

static int add_unreachable(struct ks_doc *doc, const struct ks_snapshot *s, struct ks_diag *diag)
{
	KS_VEC(struct ks_type_sum) rows = { 0 };
	struct ks_candidates_list list = { 0 };
	struct ks_type_sum *row;
	struct ks_map64 keys = { 0 };
	size_t i;
	u32 number, object;
	int err = ks_unreachable_find(s, &list, diag);

	if (!err)
		err = ks_map64_init(&keys);
	for (i = 0; !err && i < list.items.len; i++) {
		object = list.items.items[i].object;
		number = ks_map64_add(&keys, (u64)s->cache[object] << 32 | s->type[object]);
		if (number == KS_NONE || (number == rows.len && !ks_vec_push(&rows))) {
			err = -ENOMEM;
			break;
		}
		row = &rows.items[number];
		if (!row->objects++) {
			row->example = object;
			row->type = s->type[object];
			row->cache = s->cache[object];
		}
		row->bytes += s->caches.items[s->cache[object]].size;
	}
	if (rows.len)
		qsort(rows.items, rows.len, sizeof(*rows.items), by_bytes);
	if (!err)
		put_unreachable(doc, s, rows.items, rows.len);
	ks_map64_deinit(&keys);
	ks_vec_free(&rows);
	ks_candidates_deinit(&list);
	return err;
}

/* === Public =============================================================================== */

int ks_doc_add_page_graph(struct ks_doc *doc, const struct ks_snapshot *s,
			  const struct ks_type_sum *types, size_t count, struct ks_diag *diag)
{
	struct asking a = { .doc = doc, .s = s };
	/* What takes the most memory while it works comes first. */
	int err = ks_dominators_find(s, &a.dominators, diag);

	if (!err)
		err = ks_ways_find(s, &a.ways, diag);
	if (!err && (ks_field_index_new(s, &a.fields) || ask_all(&a, types, count)))
		err = ks_diag_nomem(diag, "asking who holds objects");
	if (!err)
		err = add_unreachable(doc, s, diag);
	ks_ways_free(a.ways);
	ks_dominators_free(a.dominators);
	ks_field_index_free(a.fields);
	return err == -ENOMEM ? ks_diag_nomem(diag, "asking who holds objects") : err;
}
