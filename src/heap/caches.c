// SPDX-License-Identifier: LGPL-2.1-only
/* Reads the caches: those that slabs name, and those of the kernel's own list. */
#include "heap/caches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	CACHES_MAX = 65536, /* of a list that may never end */
	NAME_MAX_LEN = 128,
	OBJECT_MAX = 1 << 22, /* no slab is larger */
};

/* === Internals ============================================================================ */

/* Follows the list from a node of it, until it comes back or makes no sense. */
static int follow(struct ks_kernel *k, struct ks_pages *pages, u64 start, size_t *ret_listed)
{
	u64 node = start;
	u32 i;

	for (i = 0; i < CACHES_MAX; i++) {
		/* The list's head is in the image, caches never are. */
		if (!ks_kernel_in_image(k, node)) {
			if (ks_map64_add(&pages->caches, node - k->layout.cache_list) == KS_NONE)
				return -ENOMEM;
			(*ret_listed)++;
		}
		if (ks_memory_word(k->memory, node, &node) || node == start || !node)
			return 0;
	}
	return 0;
}

/*
 * The numbers of listed caches are not contiguous: slabs have named most of them before. @listed is a map of the
 * addresses on the list.
 */
static int find_listed(struct ks_kernel *k, struct ks_pages *pages, struct ks_map64 *listed)
{
	struct ks_pages scratch = { .caches = *listed };
	u64 start = k->slab_caches;
	size_t count = 0, i;
	int err = 0;

	/* Any cache is on the list: the first that leads to others will do. */
	if (start)
		err = follow(k, &scratch, start, &count);
	for (i = 0; !err && count < 2 && i < pages->caches.keys.len; i++) {
		ks_map64_clear(&scratch.caches);
		count = 0;
		err = follow(k, &scratch, pages->caches.keys.items[i] + k->layout.cache_list,
			     &count);
	}
	*listed = scratch.caches;
	for (i = 0; !err && i < listed->keys.len; i++)
		if (ks_map64_add(&pages->caches, listed->keys.items[i]) == KS_NONE)
			err = -ENOMEM;
	return err;
}

static void parse(const struct ks_layout *l, const void *raw, struct ks_cache *c)
{
	c->flags = ks_u32_at(raw, l->cache_flags);
	c->ctor = ks_u64_at(raw, l->cache_ctor);
	c->size = ks_u32_at(raw, l->cache_stride);
	c->object_size = ks_u32_at(raw, l->cache_object_size);
	c->offset = ks_u32_at(raw, l->cache_offset);
	c->pad = ks_u32_at(raw, l->cache_red_left_pad);
	c->users = ks_u32_at(raw, l->cache_refcount);
	/* Those of the boot have a negative count, which keeps others from being merged into them. */
	if (c->users > INT32_MAX)
		c->users = 1;
	if (l->cache_random != KS_NONE)
		c->random = ks_u64_at(raw, l->cache_random);
	if (l->cache_cpu_slab != KS_NONE)
		c->cpu_slab = ks_u64_at(raw, l->cache_cpu_slab);
	if (l->cache_cpu_sheaves != KS_NONE)
		c->cpu_sheaves = ks_u64_at(raw, l->cache_cpu_sheaves);
	c->valid = c->size >= 8 && c->size <= OBJECT_MAX && c->object_size <= c->size &&
		   c->offset <= c->size - 8 && c->pad < c->size;
}

/* A string of the kernel; "" and not valid where it is none. */
static const char *read_name(struct ks_kernel *k, struct ks_arena *arena, u64 addr)
{
	char buf[NAME_MAX_LEN];

	if (!addr || ks_memory_string(k->memory, addr, buf, sizeof(buf)))
		return "";
	return ks_arena_strndup(arena, buf, strlen(buf));
}

static int read_one(struct ks_kernel *k, struct ks_caches *caches, struct ks_cache *c,
		    const void *raw)
{
	const struct ks_layout *l = &k->layout;

	parse(l, raw, c);
	if (!c->valid)
		return 0;
	c->name = read_name(k, &caches->arena, ks_u64_at(raw, l->cache_name));
	c->id = l->cache_id == KS_NONE ? ""
				       : read_name(k, &caches->arena, ks_u64_at(raw, l->cache_id));
	if (!c->name || !c->id)
		return -ENOMEM;
	c->valid = *c->name;
	return 0;
}

static int read_all(struct ks_kernel *k, const struct ks_pages *pages, struct ks_caches *caches,
		    const struct ks_map64 *listed, struct ks_diag *diag)
{
	u32 size = k->layout.cache_size, count = (u32)pages->caches.keys.len, i;
	struct ks_piece *pieces = calloc(count + 1, sizeof(*pieces));
	u8 *raw = malloc((size_t)count * size + 1);
	int err = pieces && raw ? 0 : ks_diag_nomem(diag, "reading caches");

	for (i = 0; !err && i < count; i++)
		pieces[i] = (struct ks_piece){ .addr = pages->caches.keys.items[i],
					       .buf = raw + (size_t)i * size,
					       .len = size };
	if (!err)
		err = ks_memory_read(k->memory, pieces, count, diag);
	for (i = 0; !err && i < count; i++) {
		struct ks_cache *c = ks_vec_push(&caches->items);

		if (!c) {
			err = ks_diag_nomem(diag, "reading caches");
			break;
		}
		c->addr = pieces[i].addr;
		c->name = c->id = "";
		c->listed = ks_map64_find(listed, c->addr) != KS_NONE;
		if (!pieces[i].failed && read_one(k, caches, c, pieces[i].buf))
			err = ks_diag_nomem(diag, "reading caches");
		caches->invalid += !c->valid;
	}
	free(pieces);
	free(raw);
	return err;
}

/* === Public =============================================================================== */

int ks_caches_read(struct ks_kernel *k, struct ks_pages *pages, struct ks_caches **ret_caches,
		   struct ks_diag *diag)
{
	struct ks_caches *caches = calloc(1, sizeof(*caches));
	struct ks_map64 listed;
	int err;

	if (!caches || ks_map64_init(&listed)) {
		free(caches);
		return ks_diag_nomem(diag, "reading caches");
	}
	ks_arena_init(&caches->arena);
	err = find_listed(k, pages, &listed);
	if (err)
		ks_diag_nomem(diag, "reading the list of caches");
	else
		err = read_all(k, pages, caches, &listed, diag);
	ks_map64_deinit(&listed);
	if (err) {
		ks_caches_free(caches);
		return err;
	}
	*ret_caches = caches;
	return 0;
}

void ks_caches_free(struct ks_caches *caches)
{
	if (!caches)
		return;
	ks_vec_free(&caches->items);
	ks_arena_deinit(&caches->arena);
	free(caches);
}
