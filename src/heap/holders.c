// SPDX-License-Identifier: LGPL-2.1-only
/* One pass over all references, which adds up those that lead to selected objects. */
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

/* A pair of a row and a thing that was counted in it. */
struct pair {
	u32 row, object;
};

struct adding {
	const struct ks_snapshot *snapshot;
	const struct ks_selection *selection;
	struct ks_holders *holders;
	struct ks_map64 rows;
	u32 *same;	  /* by field: the first of the type that has its name */
	KS_VEC(u32) last; /* by row: the holder that was counted last */
	KS_VEC(struct pair) held;
};

/* === Internals ============================================================================ */

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

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

/* Objects of no known type are told apart, and named, by their caches. */
static int count(struct adding *a, u32 type, u32 word, u32 holder, u32 object)
{
	u64 kind = type ? (u64)type << 16 : (u64)a->snapshot->cache[holder] << 48;
	u32 number = ks_map64_add(&a->rows, kind | word);
	struct ks_holders_row *row;
	struct pair *pair;

	if (number == KS_NONE || (number == a->holders->items.len &&
				  (!ks_vec_push(&a->holders->items) || !ks_vec_push(&a->last))))
		return -ENOMEM;
	row = &a->holders->items.items[number];
	if (!row->references)
		*row = (struct ks_holders_row){ .type = type, .word = word, .example = holder };
	if (!row->references++ || a->last.items[number] != holder)
		row->holders++;
	a->last.items[number] = holder;
	pair = ks_vec_push(&a->held);
	if (!pair)
		return -ENOMEM;
	*pair = (struct pair){ number, object };
	return 0;
}

static int add_objects(struct adding *a, const struct ks_field_index *fields)
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
			field = ks_field_at(fields, s->type[holder], ref->at);
			array = strchr(s->types.items[s->type[holder]].name, '[');
			word = field != KS_NONE ? s->fields.items[a->same[field]].offset / 8
			       : array		? 0
						: ref->at;
			err = count(a, s->type[holder], word, holder, ref->to);
		}
	}
	return err;
}

static int add_roots(struct adding *a)
{
	const struct ks_snapshot *s = a->snapshot;
	u32 root, i;
	int err = 0;

	for (root = 0; !err && root < s->roots.len; root++)
		for (i = s->root_first[root]; !err && i < s->root_first[root + 1]; i++)
			if (ks_selected(a->selection, s->root_refs.items[i].to))
				err = count(a, KS_NONE, s->roots.items[root].kind, root,
					    s->root_refs.items[i].to);
	return err;
}

/* How many different objects each row holds. */
static void count_objects(struct adding *a)
{
	const struct pair *pairs = a->held.items;
	size_t i;

	if (a->held.len)
		qsort(a->held.items, a->held.len, sizeof(*a->held.items), by_pair);
	for (i = 0; i < a->held.len; i++)
		if (!i || by_pair(&pairs[i - 1], &pairs[i]))
			a->holders->items.items[pairs[i].row].objects++;
	if (a->holders->items.len)
		qsort(a->holders->items.items, a->holders->items.len,
		      sizeof(*a->holders->items.items), by_objects);
}

/* === Public =============================================================================== */

int ks_holders_find(const struct ks_snapshot *s, const struct ks_field_index *fields,
		    const struct ks_selection *selection, struct ks_holders **ret_holders)
{
	struct adding a = { .snapshot = s, .selection = selection };
	int err = ks_map64_init(&a.rows);

	a.holders = calloc(1, sizeof(*a.holders));
	a.same = find_same(s);
	if (!a.holders || !a.same)
		err = -ENOMEM;
	if (!err)
		err = add_objects(&a, fields);
	if (!err)
		err = add_roots(&a);
	if (!err)
		count_objects(&a);
	ks_map64_deinit(&a.rows);
	ks_vec_free(&a.held);
	ks_vec_free(&a.last);
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
