// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Searches all memory of the kernel that is neither an object, nor free, nor a user's: what is mapped outside of the
 * direct map, pages that are reserved, pages of which nothing is known, and the struct pages themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/root-map.h"
#include "heap/vmap.h"

/* === Data ================================================================================= */

enum {
	RUN_PAGES = 256, /* that are read at once */
	BLOCK = 1 << KS_BLOCK_ORDER,
};

/* Pages in a row, as they are mapped. */
struct run {
	u64 addr, pfn;
	u32 pages;
};

/* A word that points to an object. */
struct hit {
	u64 addr;
	u32 to;
	u32 inside;
};

struct hits {
	KS_VEC(struct hit) items;
};

struct search {
	struct ks_taking *taking;
	const struct ks_numbers *numbers;
	KS_VEC(struct run) runs;
	KS_VEC(struct run) late; /* single pages, see add_late() */
	KS_VEC(u64) blocks;	 /* of struct pages: the first page */
	u64 *seen;		 /* a bit for each page that is in a run, or need not be */
	u64 *held;		 /* a bit for each object that a struct page points to */
	struct hits hits[KS_WORKERS_MAX];
	u8 *buf[KS_WORKERS_MAX];
	u64 unreadable[KS_WORKERS_MAX];
	int err[KS_WORKERS_MAX];
	bool failed;
};

/* === Internals: which pages =============================================================== */

static bool see(struct search *s, u64 pfn)
{
	u64 bit = 1ull << pfn % 64, *word = &s->seen[pfn / 64];
	bool seen = *word & bit;

	*word |= bit;
	return seen;
}

static void add_page(struct search *s, u64 addr, u64 pfn)
{
	struct run *run = s->runs.len ? &s->runs.items[s->runs.len - 1] : NULL;

	if (see(s, pfn))
		return;
	if (run && run->pages < RUN_PAGES && run->addr + run->pages * 4096ull == addr &&
	    run->pfn + run->pages == pfn) {
		run->pages++;
		return;
	}
	run = ks_vec_push(&s->runs);
	if (run)
		*run = (struct run){ addr, pfn, 1 };
	else
		s->failed = true;
}

/* What is mapped may be a device, which must not be read. */
static bool is_ram(const struct search *s, u64 pfn)
{
	const struct ks_memory_facts *facts = &s->taking->kernel->memory->facts;
	size_t i;

	for (i = 0; i < facts->ram.len; i++)
		if (pfn >= facts->ram.items[i].first && pfn < facts->ram.items[i].end)
			return true;
	return false;
}

/*
 * Pages of the image that were freed after the boot stay mapped there, and anybody may have them: also a module, whose
 * mapping is at a higher address and the one that has names; or a slab or a process, which are no roots.
 */
static bool may_be_freed(const struct search *s, u64 addr, u64 pfn)
{
	const struct ks_pages *pages = s->taking->census->pages;

	return ks_kernel_in_image(s->taking->kernel, addr) && pfn < pages->end &&
	       !(pages->reserved[pfn / 64] >> pfn % 64 & 1);
}

static void add_later(struct search *s, u64 addr, u64 pfn)
{
	struct run *run = ks_vec_push(&s->late);

	if (run)
		*run = (struct run){ addr, pfn, 1 };
	else
		s->failed = true;
}

/* Whether the kernel uses a page as plain memory, by its struct page. */
static bool is_plain(struct search *s, u64 pfn)
{
	struct ks_kernel *k = s->taking->kernel;
	const struct ks_layout *l = &k->layout;
	enum ks_page_use use;
	u8 page[256];
	u64 head;

	if (ks_memory_get(k->memory, ks_kernel_page(k, pfn), page, l->page_size))
		return false;
	use = ks_page_classify(l, page);
	head = ks_u64_at(page, l->page_head) & ~1ull;
	if (use == KS_USES && !ks_memory_get(k->memory, head, page, l->page_size))
		use = ks_page_classify(l, page);
	return use == KS_USE_KERNEL;
}

/* The highest mapping counts. */
static void add_late(struct search *s)
{
	size_t i;

	for (i = s->late.len; i--;)
		if (is_plain(s, s->late.items[i].pfn))
			add_page(s, s->late.items[i].addr, s->late.items[i].pfn);
}

/* What reads memory has the kernel keep what it read last, pointers to any object among it. */
static bool is_copy(const struct search *s, u64 addr)
{
	const struct ks_kernel *k = s->taking->kernel;
	unsigned int i;

	for (i = 0; i < KS_WORKERS_MAX && k->lanes[i]; i++)
		if (addr >= k->lanes[i]->facts.copies && addr < k->lanes[i]->facts.copies_end)
			return true;
	return false;
}

static void add_mapping(void *arg, const struct ks_mapping *mapping)
{
	struct search *s = arg;
	u64 i;

	for (i = 0; i < mapping->pages; i++) {
		if (!is_ram(s, mapping->pfn + i))
			continue;
		if (!mapping->executable &&
		    may_be_freed(s, mapping->addr + i * 4096, mapping->pfn + i))
			add_later(s, mapping->addr + i * 4096, mapping->pfn + i);
		else if (mapping->structs || mapping->executable ||
			 is_copy(s, mapping->addr + i * 4096))
			see(s, mapping->pfn + i);
		else
			add_page(s, mapping->addr + i * 4096, mapping->pfn + i);
	}
}

/* What is mapped nowhere else: tables from the time of boot, per-CPU memory, pages that were allocated as such. */
static void add_rest(struct search *s)
{
	const struct ks_pages *pages = s->taking->census->pages;
	u64 word, pfn;

	for (word = 0; word <= pages->end / 64; word++) {
		u64 bits = pages->reserved[word] | pages->unexplained[word];

		for (; bits; bits &= bits - 1) {
			pfn = word * 64 + (u64)__builtin_ctzll(bits);
			if (pfn < pages->end)
				add_page(s, ks_kernel_addr(s->taking->kernel, pfn), pfn);
		}
	}
}

/* === Internals: the search ================================================================ */

static void look_up(struct search *s, unsigned int worker, struct ks_lookup *lookups, u32 count)
{
	struct hit *hit;
	u32 i;

	ks_numbers_look_up(s->numbers, lookups, count);
	for (i = 0; i < count; i++) {
		if (lookups[i].to == KS_NONE)
			continue;
		hit = ks_vec_push(&s->hits[worker].items);
		if (!hit) {
			s->err[worker] = -ENOMEM;
			return;
		}
		*hit = (struct hit){ lookups[i].holder, lookups[i].to, lookups[i].inside };
	}
}

static void search_words(struct search *s, unsigned int worker, u64 addr, const u8 *data, u32 len)
{
	u64 base = s->numbers->index->page_offset, end = s->numbers->index->end << 12, word;
	struct ks_lookup lookups[KS_LOOKUPS];
	u32 at, count = 0;

	for (at = 0; at + 8 <= len; at += 8) {
		word = ks_u64_at(data, at);
		if (likely(word - base >= end))
			continue;
		lookups[count++] = (struct ks_lookup){ .word = word, .holder = addr + at };
		if (count == KS_LOOKUPS) {
			look_up(s, worker, lookups, count);
			count = 0;
		}
	}
	look_up(s, worker, lookups, count);
}

static void search_run(void *arg, size_t index, unsigned int worker)
{
	struct search *s = arg;
	const struct run *run = &s->runs.items[index];
	u64 from = ks_kernel_addr(s->taking->kernel, run->pfn);
	struct ks_memory *memory = s->taking->kernel->lanes[worker];
	u8 *buf = s->buf[worker];
	u32 i;

	if (s->err[worker])
		return;
	if (!ks_memory_get(memory, from, buf, run->pages * 4096)) {
		search_words(s, worker, run->addr, buf, run->pages * 4096);
		return;
	}
	/* Page by page, as far as it goes. */
	for (i = 0; i < run->pages; i++) {
		if (ks_memory_get(memory, from + i * 4096ull, buf, 4096))
			s->unreadable[worker]++;
		else
			search_words(s, worker, run->addr + i * 4096ull, buf, 4096);
	}
}

/* The struct pages of a block. Those of free pages have what was there before. */
static void search_block(void *arg, size_t index, unsigned int worker)
{
	struct search *s = arg;
	const struct ks_layout *l = &s->taking->kernel->layout;
	u64 first = s->blocks.items[index];
	u32 count = (u32)ks_min((u64)BLOCK - first % BLOCK, s->taking->census->pages->end - first);
	u32 i, at, to, inside;
	enum ks_page_use use;

	if (ks_memory_get(s->taking->kernel->lanes[worker],
			  ks_kernel_page(s->taking->kernel, first), s->buf[worker],
			  count * l->page_size))
		return;
	for (i = 0; i < count; i++) {
		const u8 *page = s->buf[worker] + (size_t)i * l->page_size;

		use = ks_page_classify(l, page);
		if (use == KS_USE_FREE || use == KS_USE_UNUSED || use == KS_USE_DEFERRED)
			continue;
		for (at = 0; at + 8 <= l->page_size; at += 8) {
			to = ks_number_at(s->numbers, ks_u64_at(page, at), &inside);
			if (to != KS_NONE)
				__atomic_fetch_or(&s->held[to / 64], 1ull << to % 64,
						  __ATOMIC_RELAXED);
		}
	}
}

static int find_blocks(struct search *s)
{
	const struct ks_memory_facts *facts = &s->taking->kernel->memory->facts;
	const struct ks_pages *pages = s->taking->census->pages;
	size_t i;
	u64 pfn, *slot;

	for (i = 0; i < facts->ram.len; i++) {
		for (pfn = facts->ram.items[i].first; pfn < facts->ram.items[i].end;
		     pfn = (pfn | (BLOCK - 1)) + 1) {
			if (!(pages->busy[(pfn / BLOCK) / 64] >> (pfn / BLOCK) % 64 & 1))
				continue;
			slot = ks_vec_push(&s->blocks);
			if (!slot)
				return -ENOMEM;
			*slot = pfn;
		}
	}
	return 0;
}

static int search_all(struct search *s, struct ks_diag *diag)
{
	struct ks_snapshot *snapshot = s->taking->snapshot;
	size_t room = ks_max((size_t)RUN_PAGES * 4096,
			     (size_t)BLOCK * s->taking->kernel->layout.page_size);
	unsigned int workers = ks_max(ks_parallel_workers(s->runs.len),
				      ks_parallel_workers(s->blocks.len)),
		     i;
	int err = ks_kernel_lanes(s->taking->kernel, workers, diag);

	for (i = 0; !err && i < workers; i++) {
		s->buf[i] = malloc(room);
		if (!s->buf[i])
			err = -ENOMEM;
	}
	if (!err) {
		ks_parallel_for(s->runs.len, search_run, s);
		ks_parallel_for(s->blocks.len, search_block, s);
	}
	for (i = 0; i < workers; i++) {
		snapshot->quality[KS_HEAP_UNREADABLE_PAGES] += s->unreadable[i];
		err = err ? err : s->err[i];
		free(s->buf[i]);
	}
	return err;
}

/* === Internals: from words to roots ======================================================= */

static int by_place(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int gather(struct search *s, struct hits *all)
{
	size_t i, k;

	/* Those of the first thread stay where they are. */
	*all = s->hits[0];
	s->hits[0] = (struct hits){ 0 };
	for (i = 1; i < KS_WORKERS_MAX; i++) {
		if (!s->hits[i].items.len)
			continue;
		if (ks_vec_reserve(&all->items, all->items.len + s->hits[i].items.len))
			return -ENOMEM;
		for (k = 0; k < s->hits[i].items.len; k++)
			all->items.items[all->items.len++] = s->hits[i].items.items[k];
		ks_vec_free(&s->hits[i].items);
	}
	if (all->items.len)
		qsort(all->items.items, all->items.len, sizeof(*all->items.items), by_place);
	return 0;
}

static int add_root(struct ks_snapshot *s, const struct ks_heap_root *root, size_t *cap)
{
	struct ks_heap_root *to = ks_vec_push(&s->roots);

	if (!to || ks_reserve(s->root_first, *cap, s->roots.len + 1))
		return -ENOMEM;
	*to = *root;
	to->name = ks_arena_strndup(&s->arena, root->name, strlen(root->name));
	s->root_first[s->roots.len - 1] = (u32)s->root_refs.len;
	return to->name ? 0 : -ENOMEM;
}

static int add_ref(struct ks_snapshot *s, u32 to, u64 at, u32 inside)
{
	struct ks_heap_ref *ref = ks_vec_push(&s->root_refs);

	if (!ref)
		return -ENOMEM;
	*ref = (struct ks_heap_ref){ to, (u16)ks_min(at / 8, (u64)UINT16_MAX),
				     (u16)ks_min(inside / 8, (u32)UINT16_MAX) };
	return 0;
}

static int make_roots(struct search *s, const struct ks_root_map *map, const struct hits *all)
{
	struct ks_snapshot *snapshot = s->taking->snapshot;
	u32 *last = calloc(snapshot->count + 1ul, sizeof(*last)); /* the root that had it last */
	struct ks_heap_root root = { 0 };
	size_t i, cap = 0;
	u64 end = 0, from = 0;
	bool added = false;
	u32 to;
	int err = last ? 0 : -ENOMEM;

	for (i = 0; !err && i < all->items.len; i++) {
		const struct hit *hit = &all->items.items[i];

		if (!i || hit->addr >= end) {
			from = ks_root_map_find(map, hit->addr, &root, &end);
			added = false;
		}
		if (hit->addr < from)
			continue;
		if (!added)
			err = add_root(snapshot, &root, &cap);
		added = true;
		if (err || last[hit->to] == snapshot->roots.len)
			continue;
		last[hit->to] = (u32)snapshot->roots.len;
		err = add_ref(snapshot, hit->to, hit->addr - root.addr, hit->inside);
	}
	free(last);
	root = (struct ks_heap_root){ KS_ROOT_STRUCTS, "", s->taking->kernel->vmemmap };
	if (!err)
		err = add_root(snapshot, &root, &cap);
	for (to = 0; !err && to < snapshot->count; to++)
		if (s->held[to / 64] >> to % 64 & 1)
			err = add_ref(snapshot, to, UINT64_MAX, 0);
	if (!err)
		snapshot->root_first[snapshot->roots.len] = (u32)snapshot->root_refs.len;
	return err;
}

static void count_bytes(struct search *s, const struct ks_root_map *map)
{
	u64 *bytes = s->taking->snapshot->root_bytes, end;
	struct ks_heap_root root;
	size_t i;

	for (i = 0; i < s->runs.len; i++) {
		ks_root_map_find(map, s->runs.items[i].addr, &root, &end);
		bytes[root.kind] += s->runs.items[i].pages * 4096ull;
	}
	bytes[KS_ROOT_STRUCTS] = s->blocks.len * BLOCK * s->taking->kernel->layout.page_size;
}

/* === Public =============================================================================== */

int ks_take_roots(struct ks_taking *t, const char *kallsyms, struct ks_diag *diag)
{
	struct search *s = calloc(1, sizeof(*s));
	struct ks_root_map *map = NULL;
	struct hits all = { 0 };
	size_t i;
	int err = s ? 0 : -ENOMEM;

	if (!err) {
		s->taking = t;
		s->numbers = t->numbers;
		s->seen = calloc((size_t)(t->census->pages->end / 64) + 1, sizeof(*s->seen));
		s->held = calloc(t->snapshot->count / 64 + 1ul, sizeof(*s->held));
		err = s->seen && s->held ? ks_root_map_new(t, kallsyms, &map, diag) : -ENOMEM;
	}
	/* Before the walk, which has to know of all of them. */
	if (!err)
		err = ks_kernel_lanes(t->kernel, ks_parallel_workers(KS_WORKERS_MAX), diag);
	if (!err)
		err = ks_vmap_walk(t->kernel, add_mapping, s, diag);
	if (!err) {
		add_late(s);
		add_rest(s);
		err = s->failed ? -ENOMEM : find_blocks(s);
	}
	if (!err)
		err = search_all(s, diag);
	if (!err)
		err = gather(s, &all);
	if (!err)
		err = make_roots(s, map, &all);
	if (!err)
		count_bytes(s, map);
	ks_root_map_free(map);
	ks_vec_free(&all.items);
	for (i = 0; s && i < KS_WORKERS_MAX; i++)
		ks_vec_free(&s->hits[i].items);
	if (s) {
		ks_vec_free(&s->runs);
		ks_vec_free(&s->late);
		ks_vec_free(&s->blocks);
		free(s->seen);
		free(s->held);
	}
	free(s);
	return err;
}
