// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Adds up the kernel's notes of charges. A note is a pointer to an obj_cgroup, and NULL for an object that is
 * free or that nobody pays for.
 */
#include "heap/charges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

/* === Data ================================================================================= */

enum {
	BATCH = 4096,	/* slabs that are read at once */
	DEPTH_MAX = 64, /* of cgroups */
	NAME_LEN = 256,
	PATH_LEN = 4096,
};

#define FLAGS 7ull /* in the low bits of pointers to notes, and of a page's word */

struct sum {
	struct ks_kernel *kernel;
	const struct ks_layout *layout;
	const struct ks_caches *caches;
	struct ks_charges *charges;
	struct ks_map64 pairs; /* payer << 32 | cache: the row */
};

/* === Internals: adding up ================================================================= */

static int add(struct sum *s, u64 payer, u32 cache, u64 objects, u64 bytes)
{
	u32 number = ks_map64_add(&s->charges->payers, payer), row;
	struct ks_charge *charge;

	if (number == KS_NONE)
		return -ENOMEM;
	row = ks_map64_add(&s->pairs, (u64)number << 32 | cache);
	if (row == KS_NONE)
		return -ENOMEM;
	if (row == s->charges->rows.len && !ks_vec_push(&s->charges->rows))
		return -ENOMEM;
	charge = &s->charges->rows.items[row];
	charge->cgroup = number;
	charge->cache = cache;
	charge->objects += objects;
	charge->bytes += bytes;
	return 0;
}

/* Neighbours mostly have one payer: a run of them is added at once. */
static int add_slab(struct sum *s, const struct ks_slab *slab, const u8 *notes, u32 stride)
{
	u64 size = s->caches->items.items[slab->cache].size, payer, last = 0, run = 0;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < slab->objects; i++, notes += stride) {
		payer = ks_u64_at(notes, s->layout->ext_objcg) & ~FLAGS;
		if (!payer)
			continue;
		if (payer != last && run) {
			err = add(s, last, slab->cache, run, run * size);
			run = 0;
		}
		last = payer;
		run++;
	}
	return err || !run ? err : add(s, last, slab->cache, run, run * size);
}

static u32 stride_of(const struct ks_layout *l, const struct ks_slab *slab)
{
	return slab->stride >= l->ext_size ? slab->stride : l->ext_size;
}

static bool has_notes(const struct sum *s, const struct ks_slab *slab)
{
	return slab->exts & ~FLAGS && slab->objects && slab->cache < s->caches->items.len &&
	       s->caches->items.items[slab->cache].valid;
}

/* From slab @*at on: as many as fit into one read. */
static int add_batch(struct sum *s, const struct ks_pages *pages, size_t *at, struct ks_diag *diag)
{
	static const size_t room = 4 << 20;
	struct ks_piece *pieces = calloc(BATCH, sizeof(*pieces));
	const struct ks_slab **slabs = calloc(BATCH, sizeof(*slabs));
	u8 *raw = malloc(room);
	size_t used = 0, n = 0, i, len;
	int err = pieces && slabs && raw ? 0 : -ENOMEM;

	for (; !err && *at < pages->slabs.len && n < BATCH; (*at)++) {
		const struct ks_slab *slab = &pages->slabs.items[*at];

		if (!has_notes(s, slab))
			continue;
		len = (size_t)slab->objects * stride_of(s->layout, slab);
		if (len > room) {
			s->charges->unreadable++;
			continue;
		}
		if (used + len > room)
			break;
		slabs[n] = slab;
		pieces[n++] = (struct ks_piece){ .addr = slab->exts & ~FLAGS,
						 .buf = raw + used,
						 .len = (u32)len };
		used += len;
	}
	if (!err)
		err = ks_memory_read(s->kernel->memory, pieces, n, diag);
	for (i = 0; !err && i < n; i++) {
		if (pieces[i].failed)
			s->charges->unreadable++;
		else
			err = add_slab(s, slabs[i], pieces[i].buf, stride_of(s->layout, slabs[i]));
	}
	free(pieces);
	free(slabs);
	free(raw);
	return err;
}

/* === Internals: names ===================================================================== */

/* The path of a cgroup, put together from its end; "" at the root. */
static void path_of(struct sum *s, u64 kn, char *path, size_t size)
{
	const struct ks_layout *l = s->layout;
	char name[NAME_LEN];
	size_t at = size - 1, len;
	u64 parent, addr;
	int depth;

	path[at] = '\0';
	for (depth = 0; depth < DEPTH_MAX; depth++, kn = parent) {
		if (ks_memory_word(s->kernel->memory, kn + l->kn_parent, &parent) || !parent)
			break;
		if (ks_memory_word(s->kernel->memory, kn + l->kn_name, &addr) ||
		    ks_memory_string(s->kernel->memory, addr, name, sizeof(name)))
			snprintf(name, sizeof(name), "?");
		len = strlen(name);
		if (len + 1 > at)
			break;
		at -= len;
		memcpy(path + at, name, len);
		path[--at] = '/';
	}
	memmove(path, path + at, size - at);
	if (!*path)
		strcpy(path, "/");
}

/* From an obj_cgroup to its memory cgroup, to its cgroup, to the folder. */
static void name_payer(struct sum *s, u64 payer, char *path, size_t size)
{
	struct ks_memory *memory = s->kernel->memory;
	const struct ks_layout *l = s->layout;
	u64 memcg, cgroup, kn;

	if (l->memcg_css == KS_NONE || l->css_cgroup == KS_NONE || l->cgroup_kn == KS_NONE ||
	    l->kn_parent == KS_NONE || l->kn_name == KS_NONE ||
	    ks_memory_word(memory, payer + l->objcg_memcg, &memcg) ||
	    ks_memory_word(memory, memcg + l->memcg_css + l->css_cgroup, &cgroup) ||
	    ks_memory_word(memory, cgroup + l->cgroup_kn, &kn))
		snprintf(path, size, "?");
	else
		path_of(s, kn, path, size);
}

static int name_all(struct sum *s)
{
	struct ks_intern paths;
	char path[PATH_LEN];
	size_t i;
	u32 id, *slot;
	int err = ks_intern_init(&paths);

	for (i = 0; !err && i < s->charges->payers.keys.len; i++) {
		name_payer(s, s->charges->payers.keys.items[i], path, sizeof(path));
		id = ks_intern_add(&paths, path, strlen(path));
		slot = ks_vec_push(&s->charges->cgroup_of);
		if (id == KS_NONE || !slot)
			err = -ENOMEM;
		else
			*slot = id;
	}
	for (i = 0; !err && i < paths.strs.len; i++) {
		const char **into = ks_vec_push(&s->charges->paths);

		if (into)
			*into = ks_arena_strndup(&s->charges->arena, paths.strs.items[i].s,
						 paths.strs.items[i].len);
		if (!into || !*into)
			err = -ENOMEM;
	}
	ks_intern_deinit(&paths);
	return err;
}

/* A cgroup may have several payers, one for each child that is gone: their rows become one. */
static int merge(struct sum *s)
{
	struct ks_charges *c = s->charges;
	struct ks_map64 pairs;
	size_t i, n = 0;
	u32 row;

	if (ks_map64_init(&pairs))
		return -ENOMEM;
	for (i = 0; i < c->rows.len; i++) {
		struct ks_charge charge = c->rows.items[i];

		charge.cgroup = s->charges->cgroup_of.items[charge.cgroup];
		row = ks_map64_add(&pairs, (u64)charge.cgroup << 32 | charge.cache);
		if (row == KS_NONE) {
			ks_map64_deinit(&pairs);
			return -ENOMEM;
		}
		if (row == n) {
			c->rows.items[n++] = charge;
		} else {
			c->rows.items[row].objects += charge.objects;
			c->rows.items[row].bytes += charge.bytes;
		}
	}
	c->rows.len = n;
	ks_map64_deinit(&pairs);
	return 0;
}

/* === Public =============================================================================== */

int ks_charges_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		    const struct ks_caches *caches, struct ks_charges **ret_charges,
		    struct ks_diag *diag)
{
	struct ks_charges *charges = calloc(1, sizeof(*charges));
	struct sum s = {
		.kernel = kernel,
		.layout = &kernel->layout,
		.caches = caches,
		.charges = charges,
	};
	size_t at = 0, i;
	int err = charges ? 0 : -ENOMEM;

	if (charges)
		ks_arena_init(&charges->arena);
	if (!err)
		err = ks_map64_init(&charges->payers);
	if (!err)
		err = ks_map64_init(&s.pairs);
	while (!err && s.layout->ext_objcg != KS_NONE && at < pages->slabs.len)
		err = add_batch(&s, pages, &at, diag);
	/* Bit 0: the page is a slab's; bit 1: the word is an obj_cgroup. */
	for (i = 0; !err && s.layout->ext_objcg != KS_NONE && i < pages->large.len; i++)
		if ((pages->large.items[i].memcg & 3) == 2)
			err = add(&s, pages->large.items[i].memcg & ~FLAGS, KS_NONE, 1,
				  pages->large.items[i].pages * 4096ull);
	if (!err)
		err = name_all(&s);
	if (!err)
		err = merge(&s);
	ks_map64_deinit(&s.pairs);
	if (err) {
		ks_charges_free(charges);
		return err == -ENOMEM ? ks_diag_nomem(diag, "reading charges") : err;
	}
	*ret_charges = charges;
	return 0;
}

void ks_charges_free(struct ks_charges *charges)
{
	if (!charges)
		return;
	ks_vec_free(&charges->paths);
	ks_vec_free(&charges->rows);
	ks_vec_free(&charges->cgroup_of);
	ks_map64_deinit(&charges->payers);
	ks_arena_deinit(&charges->arena);
	free(charges);
}

u16 ks_charges_cgroup(const struct ks_charges *charges, u64 payer)
{
	u32 number;

	if (!payer)
		return KS_CHARGED_NOBODY;
	number = ks_map64_find(&charges->payers, payer);
	if (number == KS_NONE || charges->cgroup_of.items[number] >= KS_CHARGED_OTHER - 1)
		return KS_CHARGED_OTHER;
	return (u16)(charges->cgroup_of.items[number] + 1);
}
