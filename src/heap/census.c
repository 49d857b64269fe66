// SPDX-License-Identifier: LGPL-2.1-only
/* Takes the census: pages, caches, what waits, who pays; then adds up. */
#include "heap/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/vmap.h"

/* === Internals ============================================================================ */

/* Whether a slab's own numbers fit each other and its cache. */
static bool makes_sense(const struct ks_census *c, const struct ks_slab *slab)
{
	const struct ks_cache *cache = &c->caches->items.items[slab->cache];
	u64 bytes = slab->pages * 4096ull;

	return cache->valid && slab->objects && slab->inuse <= slab->objects &&
	       cache->pad + (u64)slab->objects * cache->size <= bytes;
}

/* Slabs that were being made or given back while they were read: once more, and then no more. */
static int recheck(struct ks_kernel *k, struct ks_census *c, struct ks_diag *diag)
{
	KS_VEC(struct ks_slab *) odd = { 0 };
	struct ks_slab **slot;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < c->pages->slabs.len; i++) {
		if (makes_sense(c, &c->pages->slabs.items[i]))
			continue;
		slot = ks_vec_push(&odd);
		if (slot)
			*slot = &c->pages->slabs.items[i];
		else
			err = ks_diag_nomem(diag, "checking slabs");
	}
	if (!err)
		err = ks_slabs_refresh(k, c->pages, odd.items, odd.len, diag);
	for (i = 0; !err && i < odd.len; i++) {
		if (makes_sense(c, odd.items[i])) {
			c->reread++;
			continue;
		}
		c->torn++;
		odd.items[i]->objects = odd.items[i]->inuse = 0;
		odd.items[i]->exts = 0;
	}
	ks_vec_free(&odd);
	return err;
}

/* Slabs that changed again while the lists of CPUs were read. */
static void drop_odd(struct ks_census *c)
{
	size_t i;

	for (i = 0; i < c->pages->slabs.len; i++) {
		struct ks_slab *slab = &c->pages->slabs.items[i];

		if (!slab->objects || makes_sense(c, slab))
			continue;
		slab->objects = slab->inuse = 0;
		slab->exts = 0;
		c->torn++;
	}
}

static struct ks_census_node *node_of(struct ks_census *c, u32 node)
{
	while (c->nodes.len <= node)
		if (!ks_vec_push(&c->nodes))
			return NULL;
	return &c->nodes.items[node];
}

static int add_slabs(struct ks_kernel *k, struct ks_census *c)
{
	size_t i;

	for (i = 0; i < c->pages->slabs.len; i++) {
		const struct ks_slab *slab = &c->pages->slabs.items[i];
		const struct ks_cache *cache = &c->caches->items.items[slab->cache];
		struct ks_census_row *row = &c->rows.items[slab->cache];
		struct ks_census_node *node = node_of(c, slab->node);

		if (!node)
			return -ENOMEM;
		if (!slab->objects)
			continue;
		row->slabs++;
		row->partial += slab->inuse < slab->objects;
		row->pages += slab->pages;
		row->room += slab->objects;
		row->used += slab->inuse;
		node->slabs++;
		node->pages += slab->pages;
		node->used += slab->inuse;
		node->bytes += (u64)slab->inuse * cache->size;
	}
	for (i = 0; i < c->waiting->objects.len; i++) {
		const struct ks_waiting_object *o = &c->waiting->objects.items[i];
		const struct ks_slab *slab = ks_slab_at(k, c->pages, o->addr);

		if (!slab->objects)
			continue;
		c->rows.items[o->cache].waiting[o->place]++;
		c->nodes.items[slab->node].waiting++;
		c->nodes.items[slab->node].bytes -= c->caches->items.items[o->cache].size;
	}
	return 0;
}

static void finish(struct ks_census *c)
{
	size_t i, place;
	u64 waiting;

	for (i = 0; i < c->rows.len; i++) {
		struct ks_census_row *row = &c->rows.items[i];

		for (place = 0, waiting = 0; place < KS_WAITING_PLACES; place++)
			waiting += row->waiting[place];
		row->objects = row->used > waiting ? row->used - waiting : 0;
		c->over += row->objects + waiting - row->used;
		row->bytes = row->objects * c->caches->items.items[i].size;
	}
}

static int add_up(struct ks_kernel *k, struct ks_census *c, struct ks_diag *diag)
{
	u64 *aside = calloc(c->caches->items.len + 1, sizeof(*aside));
	int err = aside ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; !err && i < c->caches->items.len; i++)
		if (!ks_vec_push(&c->rows))
			err = -ENOMEM;
	if (!err)
		err = add_slabs(k, c);
	if (err)
		ks_diag_nomem(diag, "adding up slabs");
	else
		err = ks_aside_read(k, c->pages, c->caches, aside, diag);
	for (i = 0; !err && i < c->rows.len; i++)
		c->rows.items[i].aside = aside[i];
	free(aside);
	if (!err)
		finish(c);
	return err;
}

/* === Public =============================================================================== */

int ks_census_take(struct ks_kernel *k, const struct ks_census_options *options,
		   struct ks_census **ret_census, struct ks_diag *diag)
{
	struct ks_census *c = calloc(1, sizeof(*c));
	struct ks_vm_areas areas = { 0 };
	int err;

	if (!c)
		return ks_diag_nomem(diag, "taking the census");
	err = ks_pages_read(k, &c->pages, diag);
	if (!err)
		err = ks_caches_read(k, c->pages, &c->caches, diag);
	if (!err)
		err = recheck(k, c, diag);
	if (!err)
		err = ks_waiting_read(k, c->pages, c->caches, &c->waiting, diag);
	if (!err)
		drop_odd(c);
	if (!err)
		err = add_up(k, c, diag);
	if (!err && options->charges)
		err = ks_charges_read(k, c->pages, c->caches, &c->charges, diag);
	if (!err)
		err = ks_vm_areas_read(k, c->pages, c->caches, &areas, diag);
	if (!err)
		err = ks_vmap_read(k, &areas, c->pages, diag);
	ks_vm_areas_free(&areas);
	if (err) {
		ks_census_free(c);
		return err;
	}
	*ret_census = c;
	return 0;
}

void ks_census_free(struct ks_census *c)
{
	if (!c)
		return;
	ks_pages_free(c->pages);
	ks_caches_free(c->caches);
	ks_waiting_free(c->waiting);
	ks_charges_free(c->charges);
	ks_vec_free(&c->rows);
	ks_vec_free(&c->nodes);
	free(c);
}
