// SPDX-License-Identifier: LGPL-2.1-only
/* Reads sheaves in four rounds: pointers to them, barns, their heads, their objects. */
#include "heap/sheaves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	BARN_MAX = 1024,    /* full sheaves of a node: the kernel keeps ten */
	OBJECTS_MAX = 4096, /* of one sheaf: beyond it the number is something else */
};

struct sheaf {
	u64 addr;
	u32 cache, place;
	u32 count;
};

struct gather {
	struct ks_kernel *kernel;
	const struct ks_layout *layout;
	const struct ks_caches *caches;
	struct ks_waiting *waiting;
	struct ks_diag *diag;
	KS_VEC(struct sheaf) sheaves;
};

/* === Internals: reading many structs of one size ========================================== */

struct batch {
	KS_VEC(struct ks_piece) pieces;
	KS_VEC(u32) caches;
	u8 *raw;
};

static int batch_add(struct batch *b, u64 addr, u32 cache)
{
	struct ks_piece *piece = ks_vec_push(&b->pieces);
	u32 *slot = ks_vec_push(&b->caches);

	if (!piece || !slot)
		return -ENOMEM;
	piece->addr = addr;
	*slot = cache;
	return 0;
}

static int batch_read(struct gather *g, struct batch *b, u32 size)
{
	size_t i;

	b->raw = malloc(b->pieces.len * size + 1);
	if (!b->raw)
		return -ENOMEM;
	for (i = 0; i < b->pieces.len; i++) {
		b->pieces.items[i].buf = b->raw + i * size;
		b->pieces.items[i].len = size;
	}
	return ks_memory_read(g->kernel->memory, b->pieces.items, b->pieces.len, g->diag);
}

static void batch_deinit(struct batch *b)
{
	ks_vec_free(&b->pieces);
	ks_vec_free(&b->caches);
	free(b->raw);
}

/* === Internals: the rounds ================================================================ */

static int add_sheaf(struct gather *g, u64 addr, u32 cache, u32 place)
{
	struct sheaf *sheaf;

	if (!addr)
		return 0;
	sheaf = ks_vec_push(&g->sheaves);
	if (!sheaf)
		return -ENOMEM;
	*sheaf = (struct sheaf){ .addr = addr, .cache = cache, .place = place };
	return 0;
}

static int find_of_cpus(struct gather *g)
{
	const struct ks_memory_facts *facts = &g->kernel->memory->facts;
	const struct ks_layout *l = g->layout;
	struct batch b = { 0 };
	size_t i, cpu;
	int err = 0;

	for (i = 0; i < g->caches->items.len; i++) {
		const struct ks_cache *cache = &g->caches->items.items[i];

		for (cpu = 0; !err && cache->valid && cache->cpu_sheaves && cpu < facts->percpu.len;
		     cpu++)
			err = batch_add(&b, facts->percpu.items[cpu] + cache->cpu_sheaves, (u32)i);
	}
	if (!err)
		err = batch_read(g, &b, l->sheaves_size);
	for (i = 0; !err && i < b.pieces.len; i++) {
		const void *raw = b.pieces.items[i].buf;
		u32 cache = b.caches.items[i];

		err = add_sheaf(g, ks_u64_at(raw, l->sheaves_main), cache, KS_WAITING_SHEAF);
		if (!err)
			err = add_sheaf(g, ks_u64_at(raw, l->sheaves_spare), cache,
					KS_WAITING_SHEAF);
		if (!err && l->sheaves_rcu != KS_NONE)
			err = add_sheaf(g, ks_u64_at(raw, l->sheaves_rcu), cache, KS_WAITING_SHEAF);
	}
	batch_deinit(&b);
	return err;
}

/* The full sheaves of one barn. */
static int follow_barn(struct gather *g, u64 barn, u32 cache)
{
	u64 head = barn + g->layout->barn_full, node;
	u32 i;
	int err;

	if (ks_memory_word(g->kernel->memory, head, &node)) {
		g->waiting->torn++;
		return 0;
	}
	for (i = 0; node != head; i++) {
		if (i == BARN_MAX || !node) {
			g->waiting->torn++;
			return 0;
		}
		err = add_sheaf(g, node - g->layout->sheaf_list, cache, KS_WAITING_BARN);
		if (err)
			return err;
		if (ks_memory_word(g->kernel->memory, node, &node)) {
			g->waiting->torn++;
			return 0;
		}
	}
	return 0;
}

/* Nodes that have slabs; a barn of another holds nothing that could be theirs. */
static u32 nodes_in_use(const struct ks_layout *l, const struct ks_pages *pages)
{
	u32 nodes = 1;
	size_t i;

	for (i = 0; i < pages->slabs.len; i++)
		nodes = ks_max(nodes, pages->slabs.items[i].node + 1u);
	return ks_min(nodes, l->nodes);
}

static int find_of_nodes(struct gather *g, u32 nodes)
{
	const struct ks_layout *l = g->layout;
	bool in_cache = l->barn_pointer != KS_NONE;
	struct batch b = { 0 }, c = { 0 };
	size_t i;
	u32 node;
	int err = 0;

	if (!in_cache && l->node_barn == KS_NONE)
		return 0;
	for (i = 0; i < g->caches->items.len; i++) {
		const struct ks_cache *cache = &g->caches->items.items[i];

		for (node = 0; !err && cache->valid && cache->cpu_sheaves && node < nodes; node++)
			err = batch_add(&b,
					cache->addr + l->cache_nodes + (u64)node * l->node_stride +
						(in_cache ? l->barn_pointer : l->node_pointer),
					(u32)i);
	}
	if (!err)
		err = batch_read(g, &b, 8);
	for (i = 0; !err && !in_cache && i < b.pieces.len; i++)
		if (ks_u64_at(b.pieces.items[i].buf, 0))
			err = batch_add(&c, ks_u64_at(b.pieces.items[i].buf, 0) + l->node_barn,
					b.caches.items[i]);
	if (!err && !in_cache) {
		err = batch_read(g, &c, 8);
		batch_deinit(&b);
		b = c;
		c = (struct batch){ 0 };
	}
	for (i = 0; !err && i < b.pieces.len; i++)
		if (ks_u64_at(b.pieces.items[i].buf, 0))
			err = follow_barn(g, ks_u64_at(b.pieces.items[i].buf, 0),
					  b.caches.items[i]);
	batch_deinit(&b);
	batch_deinit(&c);
	return err;
}

/* How many objects each has; what belongs to another cache is no sheaf of this one any more. */
static int read_counts(struct gather *g)
{
	const struct ks_layout *l = g->layout;
	struct batch b = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < g->sheaves.len; i++)
		err = batch_add(&b, g->sheaves.items[i].addr, g->sheaves.items[i].cache);
	if (!err)
		err = batch_read(g, &b, l->sheaf_size);
	for (i = 0; !err && i < b.pieces.len; i++) {
		struct sheaf *sheaf = &g->sheaves.items[i];
		const void *raw = b.pieces.items[i].buf;

		sheaf->count = b.pieces.items[i].failed ? 0 : ks_u32_at(raw, l->sheaf_count);
		if (b.pieces.items[i].failed || sheaf->count > OBJECTS_MAX ||
		    (sheaf->count && l->sheaf_cache != KS_NONE &&
		     ks_u64_at(raw, l->sheaf_cache) != g->caches->items.items[sheaf->cache].addr)) {
			g->waiting->torn++;
			sheaf->count = 0;
		}
	}
	batch_deinit(&b);
	return err;
}

static int read_objects(struct gather *g)
{
	size_t total = 0, at = 0, i;
	struct ks_piece *pieces;
	u64 *words;
	u32 n;
	int err;

	for (i = 0; i < g->sheaves.len; i++)
		total += g->sheaves.items[i].count;
	pieces = calloc(g->sheaves.len + 1, sizeof(*pieces));
	words = malloc(total * 8 + 1);
	err = pieces && words ? 0 : -ENOMEM;
	for (i = 0; !err && i < g->sheaves.len; i++) {
		pieces[i] = (struct ks_piece){
			.addr = g->sheaves.items[i].addr + g->layout->sheaf_objects,
			.buf = words + at,
			.len = g->sheaves.items[i].count * 8,
		};
		at += g->sheaves.items[i].count;
	}
	if (!err)
		err = ks_memory_read(g->kernel->memory, pieces, g->sheaves.len, g->diag);
	for (i = 0; !err && i < g->sheaves.len; i++) {
		for (n = 0; !err && !pieces[i].failed && n < g->sheaves.items[i].count; n++) {
			struct ks_waiting_object *o = ks_vec_push(&g->waiting->objects);

			if (!o)
				err = -ENOMEM;
			else
				*o = (struct ks_waiting_object){ ((u64 *)pieces[i].buf)[n],
								 g->sheaves.items[i].cache,
								 g->sheaves.items[i].place };
		}
	}
	free(pieces);
	free(words);
	return err;
}

/* === Public =============================================================================== */

int ks_sheaves_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		    const struct ks_caches *caches, struct ks_waiting *waiting,
		    struct ks_diag *diag)
{
	struct gather g = {
		.kernel = kernel,
		.layout = &kernel->layout,
		.caches = caches,
		.waiting = waiting,
		.diag = diag,
	};
	int err;

	if (kernel->layout.cache_cpu_sheaves == KS_NONE)
		return 0;
	err = find_of_cpus(&g);
	if (!err)
		err = find_of_nodes(&g, nodes_in_use(g.layout, pages));
	if (!err)
		err = read_counts(&g);
	if (!err)
		err = read_objects(&g);
	ks_vec_free(&g.sheaves);
	return err == -ENOMEM ? ks_diag_nomem(diag, "reading sheaves") : err;
}
