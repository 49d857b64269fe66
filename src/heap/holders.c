// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Two passes over all references to selected objects: the first adds them up, the second sorts the objects by row, so that
 * those that a row holds more than once count once.
 */
#include "heap/holders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"

/* === Data ================================================================================= */

static const char *const kinds[KS_ROOT_KINDS] = {
	[KS_ROOT_DATA] = "variable", [KS_ROOT_PERCPU] = "per-CPU",
	[KS_ROOT_STACK] = "stack",   [KS_ROOT_VMALLOC] = "vmalloc",
	[KS_ROOT_PAGES] = "page",    [KS_ROOT_STRUCTS] = "struct page",
};

struct adding {
	const struct ks_snapshot *snapshot;
	const struct ks_field_index *fields;
	const struct ks_selection *selection;
	struct ks_holders *holders;
	struct ks_map64 rows;
	u32 *same;	  /* by field: the first of the type that has its name */
	KS_VEC(u32) last; /* by row: the holder that was counted last */
	/* the second pass */
	u64 *end;  /* by row: of its objects in @held, as far as they are there */
	u32 *held; /* objects by row, one for each reference */
};

/* What is done with a reference. */
typedef int take_fn(struct adding *a, u32 row, u32 type, u32 word, u32 holder, u32 object);

/* === Internals ============================================================================ */

static int by_objects(const void *a, const void *b)
{
	const struct ks_holders_row *x = a, *y = b;

	if (x->objects != y->objects)
		return x->objects > y->objects ? -1 : 1;
	if (x->references != y->references)
		return x->references > y->references ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->word != y->word)
		return x->word < y->word ? -1 : 1;
	return x->example < y->example ? -1 : x->example > y->example;
}

/* Elements of an array have one name: they are counted as the first of them. */
static u32 *find_same(const struct ks_snapshot *s)
{
	u32 *same = calloc(s->fields.len + 1, sizeof(*same)), i, k;
	size_t type;

	for (type = 0; same && type < s->types.len; type++) {
		u32 first = s->types.items[type].first_field;

		for (i = first; i < first + s->types.items[type].fields; i++) {
			same[i] = i;
			/* They follow each other, but for arrays of structs. */
			for (k = i; k-- > first && i - k <= 64;) {
				if (strcmp(s->fields.items[k].name, s->fields.items[i].name))
					continue;
				same[i] = same[k];
				break;
			}
		}
	}
	return same;
}

static int count(struct adding *a, u32 number, u32 type, u32 word, u32 holder, u32 object)
{
	struct ks_holders_row *row;

	(void)object;
	if (number == a->holders->items.len &&
	    (!ks_vec_push(&a->holders->items) || !ks_vec_push(&a->last)))
		return -ENOMEM;
	row = &a->holders->items.items[number];
	if (!row->references)
		*row = (struct ks_holders_row){ .type = type, .word = word, .example = holder };
	if (!row->references++ || a->last.items[number] != holder)
		row->holders++;
	a->last.items[number] = holder;
	return 0;
}

static int put(struct adding *a, u32 number, u32 type, u32 word, u32 holder, u32 object)
{
	(void)type, (void)word, (void)holder;
	a->held[a->end[number]++] = object;
	return 0;
}

/* Objects of no known type have rows by their caches, which also name them. */
static int take(struct adding *a, take_fn *fn, u32 type, u32 word, u32 holder, u32 object)
{
	u64 kind = type ? (u64)type << 16 : (u64)a->snapshot->cache[holder] << 48;
	u32 row = ks_map64_add(&a->rows, kind | word);

	return row == KS_NONE ? -ENOMEM : fn(a, row, type, word, holder, object);
}

static int take_objects(struct adding *a, take_fn *fn)
{
	const struct ks_snapshot *s = a->snapshot;
	u32 holder, i, field, word;
	bool array;
	int err = 0;

	for (holder = 0; !err && holder < s->count; holder++) {
		for (i = s->ref_first[holder]; !err && i < s->ref_first[holder + 1]; i++) {
			const struct ks_heap_ref *ref = &s->refs.items[i];

			if (likely(!ks_selected(a->selection, ref->to)))
				continue;
			field = ks_field_at(a->fields, s->type[holder], ref->at);
			array = strchr(s->types.items[s->type[holder]].name, '[');
			word = field != KS_NONE ? s->fields.items[a->same[field]].offset / 8
			       : array		? 0
						: ref->at;
			err = take(a, fn, s->type[holder], word, holder, ref->to);
		}
	}
	return err;
}

static int take_references(struct adding *a, take_fn *fn)
{
	const struct ks_snapshot *s = a->snapshot;
	int err = take_objects(a, fn);
	u32 root, i;

	for (root = 0; !err && root < s->roots.len; root++)
		for (i = s->root_first[root]; !err && i < s->root_first[root + 1]; i++)
			if (ks_selected(a->selection, s->root_refs.items[i].to))
				err = take(a, fn, KS_NONE, s->roots.items[root].kind, root,
					   s->root_refs.items[i].to);
	return err;
}

/* How many different objects each row holds. */
static int count_objects(struct adding *a)
{
	struct ks_holders_row *rows = a->holders->items.items;
	size_t len = a->holders->items.len, row;
	u32 *seen_in = calloc(a->snapshot->count + 1ul, sizeof(*seen_in)); /* row + 1, by object */
	u64 sum = 0, i;
	int err;

	a->end = ks_array_new(len + 1, sizeof(*a->end));
	for (row = 0; a->end && row < len; row++) {
		a->end[row] = sum;
		sum += rows[row].references;
	}
	a->held = ks_array_new(sum + 1, sizeof(*a->held));
	err = seen_in && a->end && a->held ? take_references(a, put) : -ENOMEM;
	for (row = 0, i = 0; !err && row < len; row++) {
		for (; i < a->end[row]; i++) {
			rows[row].objects += seen_in[a->held[i]] != row + 1;
			seen_in[a->held[i]] = (u32)row + 1;
		}
	}
	free(seen_in);
	return err;
}

/* === Public =============================================================================== */

int ks_holders_find(const struct ks_snapshot *s, const struct ks_field_index *fields,
		    const struct ks_selection *selection, struct ks_holders **ret_holders)
{
	struct adding a = { .snapshot = s, .fields = fields, .selection = selection };
	int err = ks_map64_init(&a.rows);

	a.holders = calloc(1, sizeof(*a.holders));
	a.same = find_same(s);
	if (!a.holders || !a.same)
		err = -ENOMEM;
	if (!err)
		err = take_references(&a, count);
	if (!err)
		err = count_objects(&a);
	if (!err && a.holders->items.len)
		qsort(a.holders->items.items, a.holders->items.len, sizeof(*a.holders->items.items),
		      by_objects);
	ks_map64_deinit(&a.rows);
	ks_vec_free(&a.last);
	free(a.end);
	free(a.held);
	free(a.same);
	if (err) {
		ks_holders_free(a.holders);
		return err;
	}
	*ret_holders = a.holders;
	return 0;
}

void ks_holders_free(struct ks_holders *holders)
{
	if (!holders)
		return;
	ks_vec_free(&holders->items);
	free(holders);
}

const char *ks_root_kind_name(enum ks_root_kind kind)
{
	return kinds[kind];
}

void ks_holders_row_text(const struct ks_snapshot *s, const struct ks_field_index *fields,
			 const struct ks_holders_row *row, char *text, size_t size)
{
	char field[256] = "";

	if (row->type == KS_NONE) {
		const char *name = row->holders == 1 ? s->roots.items[row->example].name : "";

		snprintf(text, size, "%s%s%s", ks_root_kind_name(row->word), *name ? " " : "",
			 name);
		return;
	}
	ks_field_text(s, fields, row->type, row->word, field, sizeof(field));
	snprintf(text, size, "%s%s",
		 row->type ? s->types.items[row->type].name
			   : s->caches.items[s->cache[row->example]].name,
		 field);
}
