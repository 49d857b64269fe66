// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Reads the areas that the kernel has mapped: each is a struct vmap_area in a cache of this name, and points to a
 * vm_struct. A stack is the area that a task's stack begins with. Per-CPU memory has an area like those of vmalloc(),
 * but no list of its pages, as these come and go. Free slots of caches are read, too: what they say must fit together.
 */
#include "heap/vm-areas.h"

#include <stdlib.h>
#include <string.h>

#include "heap/btf-members.h"

/* === Data ================================================================================= */

enum {
	BATCH = 1024,	 /* pieces that are read at once */
	PIECE_MAX = 128, /* bytes of a struct */
	VM_ALLOC = 2,	 /* flag of a vm_struct: pages that were allocated for it */
};

struct reading {
	struct ks_kernel *kernel;
	const struct ks_pages *pages;
	const struct ks_caches *caches;
	struct ks_diag *diag;
	struct ks_piece pieces[BATCH];
	u8 raw[BATCH][PIECE_MAX];
	u32 count; /* of pieces that wait to be read */
	bool failed;
	void (*see)(struct reading *r, const u8 *piece);

	struct ks_map64 stacks; /* where stacks of tasks begin */
	u32 start, end, vm;	/* of a vmap_area */
	u32 addr, flags, list;	/* of a vm_struct */
	KS_VEC(struct ks_vm_area) areas;
	KS_VEC(u64) structs; /* the vm_struct of each area */
	size_t seen;	     /* areas whose vm_struct was read */
};

/* === Internals: many small pieces ========================================================= */

static int flush(struct reading *r)
{
	int err = ks_memory_read(r->kernel->memory, r->pieces, r->count, r->diag);
	u32 i;

	/* A piece that can't be read is all zeros. */
	for (i = 0; !err && i < r->count; i++)
		r->see(r, r->raw[i]);
	r->count = 0;
	return err;
}

static int want(struct reading *r, u64 addr, u32 len)
{
	r->pieces[r->count] =
		(struct ks_piece){ .addr = addr, .buf = r->raw[r->count], .len = len };
	return ++r->count == BATCH ? flush(r) : 0;
}

/* @len bytes at @at of each slot of the cache of this name. */
static int want_slots(struct reading *r, const char *name, u32 at, u32 len)
{
	size_t i;
	u32 k;
	int err = 0;

	for (i = 0; !err && i < r->pages->slabs.len; i++) {
		const struct ks_slab *slab = &r->pages->slabs.items[i];
		const struct ks_cache *cache = &r->caches->items.items[slab->cache];
		u64 base = ks_kernel_addr(r->kernel, slab->pfn) + cache->pad + at;

		if (!cache->valid || strcmp(cache->name, name) || at + len > cache->size)
			continue;
		for (k = 0; !err && k < slab->objects; k++)
			err = want(r, base + (u64)k * cache->size, len);
	}
	return err ? err : flush(r);
}

/* === Internals: what they say ============================================================= */

static void see_task(struct reading *r, const u8 *piece)
{
	u64 stack = ks_u64_at(piece, 0);

	if (stack && !(stack & 4095) && ks_map64_add(&r->stacks, stack) == KS_NONE)
		r->failed = true;
}

static void see_area(struct reading *r, const u8 *piece)
{
	struct ks_vm_area area = {
		.start = ks_u64_at(piece, r->start),
		.end = ks_u64_at(piece, r->end),
		.use = KS_USE_VMALLOC,
	};
	u64 vm = ks_u64_at(piece, r->vm), *to;
	struct ks_vm_area *slot;

	if (area.start >= area.end || (area.start | area.end) & 4095 ||
	    vm < r->kernel->layout.lowest || vm & 7)
		return;
	slot = ks_vec_push(&r->areas);
	to = ks_vec_push(&r->structs);
	if (!slot || !to) {
		r->failed = true;
		return;
	}
	*slot = area;
	*to = vm;
}

static void see_vm(struct reading *r, const u8 *piece)
{
	struct ks_vm_area *area = &r->areas.items[r->seen++];

	if (ks_u64_at(piece, r->addr) != area->start)
		return;
	if (ks_map64_find(&r->stacks, area->start) != KS_NONE)
		area->use = KS_USE_STACK;
	else if (ks_u64_at(piece, r->flags) & VM_ALLOC && !ks_u64_at(piece, r->list))
		area->use = KS_USE_PERCPU;
}

static int by_start(const void *a, const void *b)
{
	const struct ks_vm_area *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* How many bytes of a struct to read for three of its members. */
static u32 length(u32 first, u32 second, u32 third)
{
	u32 last = ks_max(first, second);

	return ks_max(last, third) + 8;
}

static bool know_areas(struct reading *r)
{
	const struct btf *btf = r->kernel->btf;

	return ks_btf_member(btf, "vmap_area", "va_start", &r->start) &&
	       ks_btf_member(btf, "vmap_area", "va_end", &r->end) &&
	       ks_btf_member(btf, "vmap_area", "vm", &r->vm) &&
	       ks_btf_member(btf, "vm_struct", "addr", &r->addr) &&
	       ks_btf_member(btf, "vm_struct", "flags", &r->flags) &&
	       ks_btf_member(btf, "vm_struct", "pages", &r->list) &&
	       length(r->start, r->end, r->vm) <= PIECE_MAX &&
	       length(r->addr, r->flags, r->list) <= PIECE_MAX;
}

static int read_areas(struct reading *r, u32 stack)
{
	u32 len = length(r->addr, r->flags, r->list);
	size_t i;
	int err;

	r->see = see_task;
	err = want_slots(r, "task_struct", stack, 8);
	r->see = see_area;
	if (!err)
		err = want_slots(r, "vmap_area", 0, length(r->start, r->end, r->vm));
	r->see = see_vm;
	for (i = 0; !err && !r->failed && i < r->structs.len; i++)
		err = want(r, r->structs.items[i], len);
	if (!err && !r->failed)
		err = flush(r);
	return err ? err : r->failed ? ks_diag_nomem(r->diag, "reading areas of vmalloc") : 0;
}

/* Only those that say something. */
static int keep(const struct reading *r, struct ks_vm_areas *areas)
{
	struct ks_vm_area *to;
	size_t i;

	for (i = 0; i < r->areas.len; i++) {
		if (r->areas.items[i].use == KS_USE_VMALLOC)
			continue;
		to = ks_vec_push(&areas->items);
		if (!to)
			return ks_diag_nomem(r->diag, "reading areas of vmalloc");
		*to = r->areas.items[i];
	}
	if (areas->items.len)
		qsort(areas->items.items, areas->items.len, sizeof(*areas->items.items), by_start);
	return 0;
}

/* === Public =============================================================================== */

int ks_vm_areas_read(struct ks_kernel *kernel, const struct ks_pages *pages,
		     const struct ks_caches *caches, struct ks_vm_areas *ret_areas,
		     struct ks_diag *diag)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct ks_vm_areas areas = { 0 };
	u32 stack;
	int err = 0;

	if (!r)
		return ks_diag_nomem(diag, "reading areas of vmalloc");
	r->kernel = kernel;
	r->pages = pages;
	r->caches = caches;
	r->diag = diag;
	if (ks_map64_init(&r->stacks)) {
		err = ks_diag_nomem(diag, "reading areas of vmalloc");
	} else if (know_areas(r) && ks_btf_member(kernel->btf, "task_struct", "stack", &stack)) {
		err = read_areas(r, stack);
		if (!err)
			err = keep(r, &areas);
	}
	ks_map64_deinit(&r->stacks);
	ks_vec_free(&r->areas);
	ks_vec_free(&r->structs);
	free(r);
	if (err)
		ks_vm_areas_free(&areas);
	else
		*ret_areas = areas;
	return err;
}

void ks_vm_areas_free(struct ks_vm_areas *areas)
{
	ks_vec_free(&areas->items);
}

enum ks_page_use ks_vm_areas_use(const struct ks_vm_areas *areas, u64 addr)
{
	size_t from = 0, to = areas->items.len, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (areas->items.items[middle].start <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from && addr < areas->items.items[from - 1].end ? areas->items.items[from - 1].use
							       : KS_USE_VMALLOC;
}
