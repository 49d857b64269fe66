// SPDX-License-Identifier: LGPL-2.1-only
/* Rows of a snapshot: cells added up by one of their keys. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "live/snapshot.h"

/* === Data ================================================================================= */

/* While a row is added up. */
struct sum {
	struct ks_live_row row;
	u32 cache; /* KS_NONE = several */
	u64 births_ms;
	u64 base_objects, base_bytes, mark;
	double variance;
};

struct adding {
	const struct ks_live_snapshot *s;
	enum ks_live_part part;
	enum ks_live_by by;
	u32 key[KS_LIVE_BYS];	 /* that a cell must have */
	unsigned int keys;	 /* bits: which of these */
	KS_VEC(struct sum) sums; /* by number of the name; the last is of those without one */
};

/* === Internals ============================================================================ */

/* The names of the filter as numbers. False: the snapshot has no such name. */
static bool find_keys(struct adding *a, const struct ks_live_within *within)
{
	unsigned int by;

	for (by = 0; within && by < KS_LIVE_BYS; by++) {
		const char *name = within->name[by];

		if (!name)
			continue;
		a->keys |= 1u << by;
		a->key[by] = ks_intern_find(&a->s->names[by], name, strlen(name));
		if (a->key[by] == KS_NONE)
			return false;
	}
	return true;
}

/* The first part that tells what is asked for. */
static bool find_part(struct adding *a, enum ks_live_part *ret_part)
{
	unsigned int wanted = a->keys | 1u << a->by, part;

	for (part = 0; part < KS_LIVE_PARTS; part++) {
		if (!a->s->parts[part].present || (wanted & ~a->s->parts[part].tells))
			continue;
		*ret_part = part;
		return true;
	}
	return false;
}

static bool wanted(const struct adding *a, const struct ks_live_cell *cell)
{
	unsigned int by;

	if (cell->part != a->part)
		return false;
	for (by = 0; by < KS_LIVE_BYS; by++)
		if ((a->keys >> by & 1) && cell->key[by] != a->key[by])
			return false;
	return true;
}

static void add_cell(struct adding *a, const struct ks_live_cell *cell)
{
	u32 key = cell->key[a->by], cache = cell->key[KS_LIVE_BY_CACHE];
	struct sum *sum = &a->sums.items[key == KS_NONE ? a->sums.len - 1 : key];
	bool first = !sum->row.name;

	sum->row.name = ks_intern_get(&a->s->names[a->by], key).s;
	sum->row.key = key;
	sum->cache = first || sum->cache == cache ? cache : KS_NONE;
	sum->row.reclaimable = (first || sum->row.reclaimable) && cell->reclaimable;
	sum->row.objects += cell->objects;
	sum->row.bytes += cell->bytes;
	sum->row.slab_bytes += cell->slab_bytes;
	sum->base_objects += cell->base_objects;
	sum->base_bytes += cell->base_bytes;
	sum->mark += cell->marks[0];
	sum->births_ms += cell->births_ms;
	sum->variance += cell->variance;
}

static void finish(const struct adding *a, struct sum *sum)
{
	u64 at = a->s->parts[a->part].at_ns, from = a->s->marks_ns[a->part][0];
	struct ks_live_row *row = &sum->row;

	row->objects_change = (s64)(row->objects - sum->base_objects);
	row->bytes_change = (s64)(row->bytes - sum->base_bytes);
	row->rate = at > from ? (double)(s64)(row->bytes - sum->mark) * 1e9 / (double)(at - from)
			      : (double)NAN;
	row->error = sqrt(sum->variance);
	row->age_ns = UINT64_MAX;
	if (sum->births_ms && row->objects && at / 1000000 >= sum->births_ms / row->objects)
		row->age_ns = at - sum->births_ms / row->objects * 1000000;
	row->cache = sum->cache == KS_NONE
			     ? NULL
			     : ks_intern_get(&a->s->names[KS_LIVE_BY_CACHE], sum->cache).s;
}

static int by_bytes(const void *a, const void *b)
{
	const struct ks_live_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add_up(struct adding *a, struct ks_live_rows *rows)
{
	size_t i;

	while (a->sums.len <= a->s->names[a->by].strs.len)
		if (!ks_vec_push(&a->sums))
			return -ENOMEM;
	for (i = 0; i < a->s->cells.len; i++)
		if (wanted(a, &a->s->cells.items[i]))
			add_cell(a, &a->s->cells.items[i]);
	for (i = 0; i < a->sums.len; i++) {
		struct sum *sum = &a->sums.items[i];
		struct ks_live_row *row;

		if (!sum->row.name)
			continue;
		finish(a, sum);
		row = ks_vec_push(&rows->items);
		if (!row)
			return -ENOMEM;
		*row = sum->row;
	}
	if (rows->items.len)
		qsort(rows->items.items, rows->items.len, sizeof(*rows->items.items), by_bytes);
	return 0;
}

/* === Public =============================================================================== */

int ks_live_rows(const struct ks_live_snapshot *s, enum ks_live_by by,
		 const struct ks_live_within *within, struct ks_live_rows *ret_rows)
{
	struct adding a = { .s = s, .by = by };
	struct ks_live_rows rows = { 0 };
	bool known = find_keys(&a, within);
	int err = 0;

	rows.present = find_part(&a, &a.part);
	rows.part = a.part;
	if (rows.present && known)
		err = add_up(&a, &rows);
	ks_vec_free(&a.sums);
	if (err) {
		ks_live_rows_free(&rows);
		return err;
	}
	*ret_rows = rows;
	return 0;
}

void ks_live_rows_free(struct ks_live_rows *rows)
{
	ks_vec_free(&rows->items);
}
