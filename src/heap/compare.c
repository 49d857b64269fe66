// SPDX-License-Identifier: LGPL-2.1-only
/* Compares two snapshots: walks both in the order of addresses, and adds up by type and by cache. */
#include "heap/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"

/* === Data ================================================================================= */

/* What is known of one side: the common numbers of its names. */
struct side {
	const struct ks_snapshot *s;
	u32 *types, *caches;
};

struct comparing {
	struct ks_heap_compare *c;
	struct side before, after;
	struct ks_map64 types, caches; /* names to rows */
	int err;
};

/* === Internals: rows ====================================================================== */

static struct ks_heap_change *row_of(struct comparing *m, u32 type, u32 cache)
{
	u64 key = (u64)type << 32 | cache;
	u32 number = ks_map64_add(type == KS_NONE ? &m->caches : &m->types, key);
	struct ks_heap_change *row;
	size_t len;

	if (type == KS_NONE) {
		len = m->c->caches.len;
		row = number == len ? ks_vec_push(&m->c->caches) : &m->c->caches.items[number];
	} else {
		len = m->c->types.len;
		row = number == len ? ks_vec_push(&m->c->types) : &m->c->types.items[number];
	}
	if (number == KS_NONE || !row) {
		m->err = -ENOMEM;
		return NULL;
	}
	if (number == len)
		*row = (struct ks_heap_change){ .type = type, .cache = cache, .example = KS_NONE };
	return row;
}

static void add_before(struct ks_heap_change *row, u64 bytes, bool gone)
{
	row->before++;
	row->bytes_before += bytes;
	row->gone += gone;
}

static void add_after(struct ks_heap_change *row, u64 bytes, u32 object, enum ks_heap_fate fate)
{
	row->after++;
	row->bytes_after += bytes;
	row->changed += fate == KS_FATE_CHANGED;
	if (fate < KS_FATE_REPLACED)
		return;
	if (row->example == KS_NONE)
		row->example = object;
	row->fresh++;
	row->fresh_bytes += bytes;
}

static u64 size_of(const struct side *side, u32 object)
{
	return side->s->caches.items[side->s->cache[object]].size;
}

/* The type's row, the cache's, and the whole. */
static void count_before(struct comparing *m, u32 object, bool gone)
{
	const struct side *side = &m->before;
	u32 cache = side->caches[side->s->cache[object]];
	struct ks_heap_change *type = row_of(m, side->types[side->s->type[object]], cache);
	struct ks_heap_change *all = row_of(m, KS_NONE, cache);

	if (m->err)
		return;
	add_before(type, size_of(side, object), gone);
	add_before(all, size_of(side, object), gone);
	add_before(&m->c->total, size_of(side, object), gone);
}

static void count_after(struct comparing *m, u32 object, enum ks_heap_fate fate)
{
	const struct side *side = &m->after;
	u32 cache = side->caches[side->s->cache[object]];
	struct ks_heap_change *type = row_of(m, side->types[side->s->type[object]], cache);
	struct ks_heap_change *all = row_of(m, KS_NONE, cache);

	if (m->err)
		return;
	m->c->fate[object] = (u8)fate;
	add_after(type, size_of(side, object), object, fate);
	add_after(all, size_of(side, object), object, fate);
	add_after(&m->c->total, size_of(side, object), object, fate);
}

/* === Internals: objects =================================================================== */

/* Two objects at one address. A type that only one of the snapshots knows says nothing. */
static enum ks_heap_fate fate_of(const struct comparing *m, u32 old, u32 new)
{
	const struct ks_snapshot *a = m->before.s, *b = m->after.s;

	if (m->before.caches[a->cache[old]] != m->after.caches[b->cache[new]])
		return KS_FATE_REPLACED;
	if (a->checksum[old] == b->checksum[new])
		return KS_FATE_SAME;
	if (a->type[old] && b->type[new] &&
	    m->before.types[a->type[old]] != m->after.types[b->type[new]])
		return KS_FATE_REPLACED;
	return KS_FATE_CHANGED;
}

static void walk(struct comparing *m)
{
	const struct ks_snapshot *a = m->before.s, *b = m->after.s;
	bool same_boot = m->c->same_boot;
	enum ks_heap_fate fate;
	u32 i = 0, k = 0;

	while ((i < a->count || k < b->count) && !m->err) {
		if (i < a->count && k < b->count && a->addr[i] == b->addr[k]) {
			fate = same_boot ? fate_of(m, i, k) : KS_FATE_UNKNOWN;
			count_before(m, i++, fate >= KS_FATE_REPLACED);
			count_after(m, k++, fate);
		} else if (k == b->count || (i < a->count && a->addr[i] < b->addr[k])) {
			count_before(m, i++, same_boot);
		} else {
			count_after(m, k++, same_boot ? KS_FATE_NEW : KS_FATE_UNKNOWN);
		}
	}
}

static int name_side(struct comparing *m, struct side *side, const struct ks_snapshot *s)
{
	size_t i;

	side->s = s;
	side->types = calloc(s->types.len + 1, sizeof(*side->types));
	side->caches = calloc(s->caches.len + 1, sizeof(*side->caches));
	if (!side->types || !side->caches)
		return -ENOMEM;
	for (i = 0; i < s->types.len; i++) {
		side->types[i] = ks_intern_add(&m->c->names, s->types.items[i].name,
					       strlen(s->types.items[i].name));
		if (side->types[i] == KS_NONE)
			return -ENOMEM;
	}
	for (i = 0; i < s->caches.len; i++) {
		side->caches[i] = ks_intern_add(&m->c->names, s->caches.items[i].name,
						strlen(s->caches.items[i].name));
		if (side->caches[i] == KS_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* === Internals: order ===================================================================== */

static int by_growth(const void *a, const void *b)
{
	const struct ks_heap_change *x = a, *y = b;
	s64 more_x = (s64)(x->bytes_after - x->bytes_before);
	s64 more_y = (s64)(y->bytes_after - y->bytes_before);

	if (more_x != more_y)
		return more_x > more_y ? -1 : 1;
	if (x->fresh_bytes != y->fresh_bytes)
		return x->fresh_bytes > y->fresh_bytes ? -1 : 1;
	if (x->bytes_after != y->bytes_after)
		return x->bytes_after > y->bytes_after ? -1 : 1;
	/* Names have numbers in the order of the snapshots' tables. */
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->cache < y->cache ? -1 : x->cache > y->cache;
}

/* === Public =============================================================================== */

int ks_heap_compare_make(const struct ks_snapshot *before, const struct ks_snapshot *after,
			 struct ks_heap_compare **ret_compare, struct ks_diag *diag)
{
	struct ks_heap_compare *c = calloc(1, sizeof(*c));
	struct comparing m = { .c = c };

	if (!c)
		return ks_diag_nomem(diag, "comparing snapshots");
	c->before = before;
	c->after = after;
	c->same_boot = *before->boot && !strcmp(before->boot, after->boot);
	c->total.example = KS_NONE;
	c->fate = calloc(after->count + 1ull, sizeof(*c->fate));
	if (!c->fate || ks_intern_init(&c->names) || ks_map64_init(&m.types) ||
	    ks_map64_init(&m.caches) || name_side(&m, &m.before, before) ||
	    name_side(&m, &m.after, after))
		m.err = -ENOMEM;
	if (!m.err)
		walk(&m);
	ks_map64_deinit(&m.types);
	ks_map64_deinit(&m.caches);
	free(m.before.types);
	free(m.before.caches);
	free(m.after.types);
	free(m.after.caches);
	if (m.err) {
		ks_heap_compare_free(c);
		return ks_diag_nomem(diag, "comparing snapshots");
	}
	if (c->types.len)
		qsort(c->types.items, c->types.len, sizeof(*c->types.items), by_growth);
	if (c->caches.len)
		qsort(c->caches.items, c->caches.len, sizeof(*c->caches.items), by_growth);
	*ret_compare = c;
	return 0;
}

void ks_heap_compare_free(struct ks_heap_compare *c)
{
	if (!c)
		return;
	ks_intern_deinit(&c->names);
	ks_vec_free(&c->types);
	ks_vec_free(&c->caches);
	free(c->fate);
	free(c);
}
