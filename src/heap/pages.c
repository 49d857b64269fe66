// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The walk over all struct pages, in blocks of one largest free block of the page allocator. Where such a
 * block is free as a whole, its other struct pages are not even read.
 */
#include "heap/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

#define BLOCK_ORDER  KS_BLOCK_ORDER
#define BLOCK	     (1u << BLOCK_ORDER) /* pages */
#define BATCH	     32u		 /* blocks that are read at once */
#define ORDER_MAX    30u /* no buddy is larger: beyond it the word is something else */
#define PP_MASK	     0xffff0000000000fcull
#define PP_SIGNATURE 0xdead000000000040ull /* 0x40 + POISON_POINTER_DELTA, of all 64-bit kernels */

struct walk {
	struct ks_kernel *kernel;
	const struct ks_layout *layout;
	struct ks_pages *pages;
	u8 *buf; /* BATCH blocks of struct pages */
	KS_VEC(u64) blocks;
	enum ks_page_use head; /* of the compound page that tails belong to; KS_USES = none */
	u64 skip;	       /* up to this page all is part of a free block */
};

static const struct {
	const char *name, *text;
} kinds[KS_USES] = {
	[KS_USE_FREE] = { "free", "free lists of the page allocator" },
	[KS_USE_UNUSED] = { "unreferenced",
			    "per-CPU free pages, and pages behind the first of a plain block" },
	[KS_USE_DEFERRED] = { "deferred", "free, not yet given to the page allocator" },
	[KS_USE_SLAB] = { "slab", "objects of caches, kmalloc up to 8 KiB" },
	[KS_USE_KMALLOC] = { "large kmalloc", "kmalloc of more than 8 KiB" },
	[KS_USE_ANON] = { "anonymous", "memory of processes" },
	[KS_USE_FILE] = { "page cache", "contents of files" },
	[KS_USE_SHMEM] = { "shared", "tmpfs and shared memory" },
	[KS_USE_TABLE] = { "page tables", "page tables of processes" },
	[KS_USE_VMALLOC] = { "vmalloc", "vmalloc, vmap, modules" },
	[KS_USE_STACK] = { "stacks", "kernel stacks of tasks" },
	[KS_USE_PERCPU] = { "per-CPU", "per-CPU memory beyond that of the boot" },
	[KS_USE_POOL] = { "page pool", "buffers of network devices" },
	[KS_USE_HUGETLB] = { "hugetlb", "huge pages that were set aside" },
	[KS_USE_ZSMALLOC] = { "zsmalloc", "compressed memory" },
	[KS_USE_OFFLINE] = { "offline", "given back to the host, or taken out of use" },
	[KS_USE_GUARD] = { "guard", "guard pages of the page allocator's debugging" },
	[KS_USE_UNACCEPTED] = { "unaccepted", "not yet accepted by a confidential guest" },
	[KS_USE_KERNEL] = { "other kernel", "in use, and struct page does not say by whom" },
	[KS_USE_RESERVED] = { "reserved", "kernel image, struct pages, firmware" },
	[KS_USE_UNREADABLE] = { "unreadable", "struct pages that could not be read" },
};

/* === Internals: one page ================================================================== */

static enum ks_page_use kind_of_number(const struct ks_layout *l, u32 number)
{
	const struct {
		u32 number;
		enum ks_page_use kind;
	} numbers[] = {
		{ l->type_slab, KS_USE_SLAB },
		{ l->type_buddy, KS_USE_FREE },
		{ l->type_table, KS_USE_TABLE },
		{ l->type_large_kmalloc, KS_USE_KMALLOC },
		{ l->type_offline, KS_USE_OFFLINE },
		{ l->type_guard, KS_USE_GUARD },
		{ l->type_hugetlb, KS_USE_HUGETLB },
		{ l->type_zsmalloc, KS_USE_ZSMALLOC },
		{ l->type_unaccepted, KS_USE_UNACCEPTED },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].number == number)
			return numbers[i].kind;
	return KS_USE_KERNEL;
}

/* The type of the page, or KS_USES where it has none. */
static enum ks_page_use kind_of_type(const struct ks_layout *l, u32 type)
{
	if (l->typing == KS_TYPING_NUMBER)
		return type >= 0xf0000000 && type < 0xff000000 ? kind_of_number(l, type >> 24)
							       : KS_USES;
	if ((type & 0xf0000000) != 0xf0000000 || (s32)type >= -128)
		return KS_USES;
	if (!(type & l->type_buddy))
		return KS_USE_FREE;
	if (!(type & l->type_table))
		return KS_USE_TABLE;
	if (!(type & l->type_offline))
		return KS_USE_OFFLINE;
	return !(type & l->type_guard) ? KS_USE_GUARD : KS_USE_KERNEL;
}

static bool has_flag(u64 flags, u32 bit)
{
	return bit < 64 && flags >> bit & 1;
}

static enum ks_page_use kind_of_user(const struct ks_layout *l, const void *page, u64 flags)
{
	u64 mapping = ks_u64_at(page, l->page_mapping);

	if (l->page_pp_magic != KS_NONE &&
	    (ks_u64_at(page, l->page_pp_magic) & PP_MASK) == PP_SIGNATURE)
		return KS_USE_POOL;
	if (!mapping || mapping < l->lowest)
		return KS_USE_KERNEL;
	if (mapping & 1)
		return KS_USE_ANON;
	if (mapping & 2)
		return KS_USE_KERNEL; /* movable by its driver */
	return has_flag(flags, l->flag_swapbacked) ? KS_USE_SHMEM : KS_USE_FILE;
}

static u16 node_of(const struct ks_layout *l, const void *page)
{
	if (l->node_shift >= 64)
		return 0;
	return (u16)(ks_u64_at(page, l->page_flags) >> l->node_shift);
}

/* === Internals: the walk ================================================================== */

static int add_slab(struct walk *w, const void *page, u64 pfn)
{
	struct ks_slab *slab = ks_vec_push(&w->pages->slabs);
	u64 cache;

	if (!slab)
		return -ENOMEM;
	ks_slab_parse(w->layout, page, slab, &cache);
	slab->pfn = pfn;
	slab->pages = 1;
	slab->cache = ks_map64_add(&w->pages->caches, cache);
	return slab->cache == KS_NONE ? -ENOMEM : 0;
}

static int add_large(struct walk *w, const void *page, u64 pfn)
{
	struct ks_large *large = ks_vec_push(&w->pages->large);

	if (!large)
		return -ENOMEM;
	large->pfn = pfn;
	large->pages = 1;
	large->node = node_of(w->layout, page);
	if (w->layout->page_memcg != KS_NONE)
		large->memcg = ks_u64_at(page, w->layout->page_memcg);
	return 0;
}

static void set_unexplained(struct walk *w, u64 pfn)
{
	w->pages->unexplained[pfn / 64] |= 1ull << pfn % 64;
}

static void add_tail(struct walk *w, u64 pfn)
{
	struct ks_pages *pages = w->pages;

	if (w->head == KS_USES) {
		pages->torn++;
		pages->kinds[KS_USE_KERNEL]++;
		set_unexplained(w, pfn);
		return;
	}
	pages->kinds[w->head]++;
	if (w->head == KS_USE_KERNEL)
		set_unexplained(w, pfn);
	if (w->head == KS_USE_SLAB && pages->slabs.items[pages->slabs.len - 1].pages < UINT16_MAX)
		pages->slabs.items[pages->slabs.len - 1].pages++;
	else if (w->head == KS_USE_KMALLOC)
		pages->large.items[pages->large.len - 1].pages++;
}

/* The order of a free block, aligned as the page allocator has them; else 0, and one more torn page. */
static u32 free_order(struct walk *w, const void *page, u64 pfn)
{
	u64 order = ks_u64_at(page, w->layout->page_private);

	if (order <= ORDER_MAX && !(pfn & ((1ull << order) - 1)))
		return (u32)order;
	w->pages->torn++;
	return 0;
}

static int visit(struct walk *w, const void *page, u64 pfn)
{
	enum ks_page_use kind = ks_page_classify(w->layout, page);
	struct ks_pages *pages = w->pages;

	if (kind == KS_USES) {
		add_tail(w, pfn);
		return 0;
	}
	w->head = kind;
	pages->kinds[kind]++;
	if (kind == KS_USE_FREE) {
		w->skip = pfn + (1ull << free_order(w, page, pfn));
		w->head = KS_USES;
	} else if (kind == KS_USE_SLAB) {
		return add_slab(w, page, pfn);
	} else if (kind == KS_USE_KMALLOC) {
		return add_large(w, page, pfn);
	} else if (kind == KS_USE_KERNEL) {
		set_unexplained(w, pfn);
	} else if (kind == KS_USE_RESERVED) {
		pages->reserved[pfn / 64] |= 1ull << pfn % 64;
	}
	return 0;
}

/* Pages [first, end), whose structs are at @structs. */
static int visit_run(struct walk *w, const u8 *structs, u64 first, u64 end)
{
	u64 pfn;
	int err;

	for (pfn = first; pfn < end; pfn++, structs += w->layout->page_size) {
		if (pfn < w->skip) {
			w->pages->kinds[KS_USE_FREE]++;
			continue;
		}
		err = visit(w, structs, pfn);
		if (err)
			return err;
	}
	return 0;
}

/* A block that can't be read in one: page by page of struct pages, as far as it goes. */
static int visit_in_parts(struct walk *w, u8 *structs, u64 first, u64 end)
{
	u32 part = 4096 / w->layout->page_size;
	u64 pfn, n;
	int err;

	for (pfn = first; pfn < end; pfn += n) {
		n = ks_min(end - pfn, (u64)(part - pfn % part));
		if (ks_memory_get(w->kernel->memory, ks_kernel_page(w->kernel, pfn), structs,
				  (u32)n * w->layout->page_size)) {
			w->pages->kinds[KS_USE_UNREADABLE] += n;
			w->head = KS_USES;
			continue;
		}
		err = visit_run(w, structs, pfn, pfn + n);
		if (err)
			return err;
	}
	return 0;
}

/* Blocks that are one free block get a mark in bit 63. */
static int peek(struct walk *w, struct ks_diag *diag)
{
	const struct ks_layout *l = w->layout;
	size_t count = w->blocks.len, i;
	struct ks_piece *pieces = calloc(count, sizeof(*pieces));
	u8 *structs = malloc(count * l->page_size);
	int err = pieces && structs ? 0 : ks_diag_nomem(diag, "reading struct pages");

	for (i = 0; !err && i < count; i++)
		pieces[i] =
			(struct ks_piece){ .addr = ks_kernel_page(w->kernel, w->blocks.items[i]),
					   .buf = structs + i * l->page_size,
					   .len = l->page_size };
	if (!err)
		err = ks_memory_read(w->kernel->memory, pieces, count, diag);
	for (i = 0; !err && i < count; i++) {
		u64 order = ks_u64_at(pieces[i].buf, l->page_private);

		if (!pieces[i].failed && ks_page_classify(l, pieces[i].buf) == KS_USE_FREE &&
		    order == BLOCK_ORDER)
			w->blocks.items[i] |= 1ull << 63;
	}
	free(pieces);
	free(structs);
	return err;
}

static u64 block_end(u64 pfn, u64 end)
{
	return ks_min(end, (pfn | (BLOCK - 1)) + 1);
}

/* Up to BATCH blocks that are not free, in their order; free ones in between are counted. */
static int visit_batch(struct walk *w, size_t *at, u64 end, struct ks_diag *diag)
{
	u32 page_size = w->layout->page_size, n = 0, i;
	struct ks_piece pieces[BATCH];
	size_t first = *at;
	u64 pfn;
	int err;

	for (; *at < w->blocks.len && n < BATCH; (*at)++) {
		pfn = w->blocks.items[*at];
		if (pfn >> 63)
			continue;
		pieces[n] =
			(struct ks_piece){ .addr = ks_kernel_page(w->kernel, pfn),
					   .buf = w->buf + (size_t)n * BLOCK * page_size,
					   .len = (u32)(block_end(pfn, end) - pfn) * page_size };
		n++;
	}
	err = ks_memory_read(w->kernel->memory, pieces, n, diag);
	for (i = 0; !err && first < *at; first++) {
		pfn = w->blocks.items[first];
		if (pfn >> 63) {
			pfn &= ~(1ull << 63);
			w->pages->kinds[KS_USE_FREE] += block_end(pfn, end) - pfn;
			w->head = KS_USES;
			continue;
		}
		w->pages->busy[(pfn >> BLOCK_ORDER) / 64] |= 1ull << (pfn >> BLOCK_ORDER) % 64;
		err = pieces[i].failed ? visit_in_parts(w, pieces[i].buf, pfn, block_end(pfn, end))
				       : visit_run(w, pieces[i].buf, pfn, block_end(pfn, end));
		if (err)
			ks_diag_nomem(diag, "collecting slabs");
		i++;
	}
	return err;
}

static int visit_range(struct walk *w, const struct ks_ram *ram, struct ks_diag *diag)
{
	size_t at = 0;
	u64 pfn, *slot;
	int err;

	w->blocks.len = 0;
	w->head = KS_USES;
	w->skip = 0;
	for (pfn = ram->first; pfn < ram->end; pfn = block_end(pfn, ram->end)) {
		slot = ks_vec_push(&w->blocks);
		if (!slot)
			return ks_diag_nomem(diag, "reading struct pages");
		*slot = pfn;
	}
	err = peek(w, diag);
	while (!err && at < w->blocks.len)
		err = visit_batch(w, &at, ram->end, diag);
	return err;
}

/* === Public =============================================================================== */

enum ks_page_use ks_page_classify(const struct ks_layout *l, const void *page)
{
	u64 flags = ks_u64_at(page, l->page_flags);
	enum ks_page_use kind;
	u32 type;

	/* A tail's type and flags are used for other things: ask for tails first. */
	if (ks_u64_at(page, l->page_head) & 1)
		return KS_USES;
	if (has_flag(flags, l->flag_reserved))
		return KS_USE_RESERVED;
	if (l->typing == KS_TYPING_BITS && has_flag(flags, l->flag_slab))
		return KS_USE_SLAB;
	type = ks_u32_at(page, l->page_type);
	kind = kind_of_type(l, type);
	if (kind != KS_USES)
		return kind;
	/* Nobody's page has a map count of -1: a kernel that puts preparing off leaves 0 here. */
	if (!ks_u32_at(page, l->page_refcount))
		return type ? KS_USE_UNUSED : KS_USE_DEFERRED;
	return kind_of_user(l, page, flags);
}

void ks_slab_parse(const struct ks_layout *l, const void *page, struct ks_slab *ret_slab,
		   u64 *ret_cache)
{
	*ret_cache = ks_u64_at(page, l->slab_cache);
	ret_slab->freelist = ks_u64_at(page, l->slab_freelist);
	ret_slab->inuse = (u16)ks_bits_get(&l->slab_inuse, page);
	ret_slab->objects = (u16)ks_bits_get(&l->slab_objects, page);
	ret_slab->frozen = ks_bits_get(&l->slab_frozen, page);
	ret_slab->stride = (u16)ks_bits_get(&l->slab_stride, page);
	ret_slab->exts = l->slab_exts != KS_NONE ? ks_u64_at(page, l->slab_exts) : 0;
	ret_slab->node = node_of(l, page);
}

int ks_pages_read(struct ks_kernel *kernel, struct ks_pages **ret_pages, struct ks_diag *diag)
{
	struct walk w = { .kernel = kernel, .layout = &kernel->layout };
	const struct ks_memory_facts *facts = &kernel->memory->facts;
	struct ks_pages *pages = calloc(1, sizeof(*pages));
	size_t words, i;
	int err = 0;

	w.buf = malloc((size_t)BATCH * BLOCK * w.layout->page_size);
	w.pages = pages;
	if (pages) {
		pages->end = ks_kernel_end(kernel);
		words = (size_t)(pages->end / 64) + 1;
		pages->unexplained = calloc(words, sizeof(*pages->unexplained));
		pages->reserved = calloc(words, sizeof(*pages->reserved));
		pages->busy = calloc((words >> BLOCK_ORDER) + 1, sizeof(*pages->busy));
	}
	if (!pages || !w.buf || !pages->unexplained || !pages->reserved || !pages->busy ||
	    ks_map64_init(&pages->caches))
		err = ks_diag_nomem(diag, "reading struct pages");
	for (i = 0; !err && i < facts->ram.len; i++)
		err = visit_range(&w, &facts->ram.items[i], diag);
	ks_vec_free(&w.blocks);
	free(w.buf);
	if (err) {
		ks_pages_free(pages);
		return err;
	}
	*ret_pages = pages;
	return 0;
}

int ks_slabs_refresh(struct ks_kernel *k, struct ks_pages *pages, struct ks_slab **slabs,
		     size_t count, struct ks_diag *diag)
{
	u32 size = k->layout.page_size;
	struct ks_piece *pieces = calloc(count + 1, sizeof(*pieces));
	u8 *raw = malloc(count * size + 1);
	int err = pieces && raw ? 0 : ks_diag_nomem(diag, "reading slabs");
	size_t i;
	u64 cache;

	for (i = 0; !err && i < count; i++)
		pieces[i] = (struct ks_piece){ .addr = ks_kernel_page(k, slabs[i]->pfn),
					       .buf = raw + i * size,
					       .len = size };
	if (!err)
		err = ks_memory_read(k->memory, pieces, count, diag);
	for (i = 0; !err && i < count; i++) {
		if (ks_page_classify(&k->layout, pieces[i].buf) == KS_USE_SLAB)
			ks_slab_parse(&k->layout, pieces[i].buf, slabs[i], &cache);
		else
			cache = 0;
		if (ks_map64_find(&pages->caches, cache) != slabs[i]->cache)
			slabs[i]->inuse = slabs[i]->objects = 0;
	}
	free(pieces);
	free(raw);
	return err;
}

void ks_pages_free(struct ks_pages *pages)
{
	if (!pages)
		return;
	ks_vec_free(&pages->slabs);
	ks_vec_free(&pages->large);
	free(pages->unexplained);
	free(pages->reserved);
	free(pages->busy);
	ks_map64_deinit(&pages->caches);
	free(pages);
}

const char *ks_page_use_name(enum ks_page_use kind)
{
	return kinds[kind].name;
}

const char *ks_page_use_text(enum ks_page_use kind)
{
	return kinds[kind].text;
}
