// SPDX-License-Identifier: LGPL-2.1-only
/* The walk over x86-64 page tables, a level at a time. */
#include "heap/vmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

enum {
	ENTRIES = 512,
	BATCH = 512,	      /* tables that are read at once */
	TABLES_MAX = 1 << 20, /* 2 TiB of mapped pages */
};

#define PRESENT	   1ull
#define LARGE	   (1ull << 7)
#define NO_EXECUTE (1ull << 63)
#define FRAME_MASK 0x000ffffffffff000ull

struct table {
	u64 at;	  /* its address in the direct map */
	u64 from; /* the first address that it maps */
	bool top;
};

struct tables {
	KS_VEC(struct table) items;
};

struct walk {
	struct ks_kernel *kernel;
	u64 end; /* of memory, in pages */
	ks_vmap_fn *fn;
	void *arg;
	struct ks_map64 seen; /* tables; KASAN's shadow shares one among many entries */
	u8 *raw;
};

struct explaining {
	const struct ks_vm_areas *areas;
	struct ks_pages *pages;
};

/* === Internals ============================================================================ */

/* The direct map: all of memory is there, and it says nothing of its use. */
static bool is_direct(const struct walk *w, u64 from, u64 size)
{
	u64 base = w->kernel->page_offset;

	return from + (size - 1) >= base && from < base + (w->end << 12);
}

/* Pages that are mapped have a use, but for those that the struct pages are in. */
static void explain(void *arg, const struct ks_mapping *mapping)
{
	const struct explaining *e = arg;
	struct ks_pages *pages = e->pages;
	u64 bit, pfn, end = ks_min(mapping->pfn + mapping->pages, pages->end);

	if (mapping->structs)
		return;
	for (pfn = mapping->pfn; pfn < end; pfn++) {
		bit = 1ull << pfn % 64;
		if (!(pages->unexplained[pfn / 64] & bit))
			continue;
		pages->unexplained[pfn / 64] &= ~bit;
		pages->kinds[KS_USE_KERNEL]--;
		pages->kinds[ks_vm_areas_use(e->areas,
					     mapping->addr + (pfn - mapping->pfn) * 4096)]++;
	}
}

static void visit(struct walk *w, u64 from, u64 span, u64 entry)
{
	const struct ks_kernel *k = w->kernel;
	struct ks_mapping mapping = {
		.addr = from,
		.pfn = (entry & FRAME_MASK) >> 12,
		.pages = span >> 12,
		.executable = !(entry & NO_EXECUTE),
		.structs = from + (span - 1) >= k->vmemmap && from < ks_kernel_page(k, w->end),
	};

	/* In a large entry, a bit of the address says how it is cached. */
	mapping.pfn &= ~(mapping.pages - 1);
	if (!is_direct(w, from, span))
		w->fn(w->arg, &mapping);
}

/* One table of @level (0: its entries are pages); tables below it go to @below. */
static int read_table(struct walk *w, const struct table *table, const u8 *raw, u32 level,
		      struct tables *below)
{
	u64 span = 4096ull << 9 * level, entry, from, pfn;
	struct table *slot;
	u32 i;

	/* Of the top level, the upper half is the kernel's. */
	for (i = table->top ? ENTRIES / 2 : 0; i < ENTRIES; i++) {
		entry = ks_u64_at(raw, i * 8);
		from = table->from + i * span;
		if (!(entry & PRESENT))
			continue;
		pfn = (entry & FRAME_MASK) >> 12;
		if (pfn >= w->end)
			continue;
		if (!level || entry & LARGE) {
			visit(w, from, span, entry);
			continue;
		}
		/* A table may lie astride of the direct map's end: only whole ones are left out. */
		if (is_direct(w, from, 1) && is_direct(w, from + span - 4096, 1))
			continue;
		if (ks_map64_find(&w->seen, pfn) != KS_NONE)
			continue;
		slot = w->seen.keys.len < TABLES_MAX ? ks_vec_push(&below->items) : NULL;
		if (!slot || ks_map64_add(&w->seen, pfn) == KS_NONE)
			return slot ? -ENOMEM : -E2BIG;
		*slot = (struct table){ .at = ks_kernel_addr(w->kernel, pfn), .from = from };
	}
	return 0;
}

static int read_level(struct walk *w, const struct tables *tables, u32 level, struct tables *below,
		      struct ks_diag *diag)
{
	struct ks_piece pieces[BATCH];
	size_t at, n, i;
	int err = 0;

	for (at = 0; !err && at < tables->items.len; at += n) {
		n = ks_min(tables->items.len - at, (size_t)BATCH);
		for (i = 0; i < n; i++)
			pieces[i] = (struct ks_piece){ .addr = tables->items.items[at + i].at,
						       .buf = w->raw + i * 4096,
						       .len = 4096 };
		err = ks_memory_read(w->kernel->memory, pieces, n, diag);
		for (i = 0; !err && i < n; i++)
			if (!pieces[i].failed)
				err = read_table(w, &tables->items.items[at + i], pieces[i].buf,
						 level, below);
	}
	return err;
}

/* === Public =============================================================================== */

int ks_vmap_read(struct ks_kernel *k, const struct ks_vm_areas *areas, struct ks_pages *pages,
		 struct ks_diag *diag)
{
	struct explaining e = { areas, pages };

	return ks_vmap_walk(k, explain, &e, diag);
}

int ks_vmap_walk(struct ks_kernel *k, ks_vmap_fn *fn, void *arg, struct ks_diag *diag)
{
	struct walk w = { .kernel = k, .end = ks_kernel_end(k), .fn = fn, .arg = arg };
	struct tables tables = { 0 }, below = { 0 };
	bool five = k->page_offset < 0xffff000000000000ull;
	int level = five ? 4 : 3, err;
	struct table *top;

	if (!k->page_table)
		return 0;
	w.raw = malloc((size_t)BATCH * 4096);
	top = ks_vec_push(&tables.items);
	err = !w.raw || !top || ks_map64_init(&w.seen) ? -ENOMEM : 0;
	if (!err)
		*top = (struct table){
			.at = k->page_table,
			.from = five ? 0xfe00000000000000ull : 0xffff000000000000ull,
			.top = true,
		};
	for (; !err && level >= 0; level--) {
		err = read_level(&w, &tables, (u32)level, &below, diag);
		ks_vec_free(&tables.items);
		tables = below;
		below = (struct tables){ 0 };
	}
	ks_vec_free(&tables.items);
	ks_vec_free(&below.items);
	ks_map64_deinit(&w.seen);
	free(w.raw);
	/* There are more tables than make sense: what was found before holds. */
	if (err == -E2BIG)
		return 0;
	return err == -ENOMEM ? ks_diag_nomem(diag, "walking page tables") : err;
}
