// SPDX-License-Identifier: GPL-2.0-only
/* The census of made-up kernels: what was put into them must be found, whatever their structures are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "heap/alloc-tags.h"
#include "heap/census.h"
#include "heap/model.h"
#include "heap/shape.h"

/* === Data ================================================================================= */

enum { SIZE = 256 }; /* of the objects of "alpha" */

struct taken {
	struct model model;
	void *image;
	struct ks_kernel *kernel;
	struct ks_census *census;
	struct ks_diag diag;
};

/* === Internals ============================================================================ */

static int take(struct taken *t)
{
	const struct ks_census_options options = { .charges = true };
	struct ks_memory *memory;
	size_t len;
	int err;

	t->image = model_pack(&t->model, &len);
	assert_int_equal(ks_memory_open_image(t->image, len, &memory, &t->diag), 0);
	err = ks_kernel_open_btf(memory, model_btf(t->model.kind), false, &t->kernel, &t->diag);
	return err ? err : ks_census_take(t->kernel, &options, &t->census, &t->diag);
}

static void drop(struct taken *t)
{
	ks_census_free(t->census);
	ks_kernel_free(t->kernel);
	free(t->image);
	model_deinit(&t->model);
}

static const struct ks_census_row *row_of(const struct taken *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->census->rows.len; i++)
		if (!strcmp(t->census->caches->items.items[i].name, name))
			return &t->census->rows.items[i];
	fail_msg("no cache %s", name);
	return NULL;
}

static u64 sum_of_kinds(const struct taken *t)
{
	u64 sum = 0;

	for (int i = 0; i < KS_USES; i++)
		sum += t->census->pages->kinds[i];
	return sum;
}

static void put64(const struct taken *t, u64 addr, u64 value)
{
	memcpy(model_at(&t->model, addr), &value, 8);
}

/* === Tests ================================================================================ */

static void test_slabs(void **state)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };
		const struct ks_census_row *row;
		u64 alpha;

		model_init(&t.model, kind);
		alpha = model_cache(&t.model, "alpha", SIZE, 0);
		model_cache(&t.model, "empty", 64, 0);
		model_slab(&t.model, alpha, SIZE, 16);
		model_slab(&t.model, alpha, SIZE, 5);
		model_slab(&t.model, alpha, SIZE, 1);
		assert_int_equal(take(&t), 0);
		row = row_of(&t, "alpha");
		assert_int_equal(row->slabs, 3);
		assert_int_equal(row->room, 48);
		assert_int_equal(row->objects, 22);
		assert_int_equal(row->bytes, 22 * SIZE);
		assert_int_equal(row_of(&t, "empty")->slabs, 0);
		assert_int_equal(t.census->caches->items.len, 2);
		assert_int_equal(t.census->torn, 0);
		assert_int_equal(sum_of_kinds(&t), MODEL_PAGES);
		assert_int_equal(t.census->pages->kinds[KS_USE_SLAB], 3);
		assert_int_equal(t.census->pages->kinds[KS_USE_RESERVED], 1);
		/* Two pages for each cache, and all others are free. */
		assert_int_equal(t.census->pages->kinds[KS_USE_KERNEL], 4);
		assert_int_equal(t.census->pages->kinds[KS_USE_FREE], MODEL_PAGES - 8);
		drop(&t);
	}
}

/*
 * Free blocks among other pages: all but their first page look like pages that somebody uses. One that does not begin where
 * the page allocator has such blocks was torn, and only its first page is known to be free.
 */
static void test_free_blocks(void **state)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };

		model_init(&t.model, kind);
		model_free_block(&t.model, 512, 3);
		model_free_block(&t.model, 768, 1);
		model_free_block(&t.model, 801, 2);
		assert_int_equal(take(&t), 0);
		assert_int_equal(sum_of_kinds(&t), MODEL_PAGES);
		assert_int_equal(t.census->pages->torn, 1);
		assert_int_equal(t.census->pages->kinds[KS_USE_RESERVED], 1);
		assert_int_equal(t.census->pages->kinds[KS_USE_FREE], MODEL_PAGES - 1 - 3);
		drop(&t);
	}
}

/* A CPU's list: the slab says that all are used, and five of them are not. */
static void test_cpu_list(void **state)
{
	for (int kind = 0; kind < MODEL_7_2; kind++) {
		struct taken t = { 0 };
		const struct ks_census_row *row;
		u64 alpha, slab;

		model_init(&t.model, kind);
		alpha = model_cache(&t.model, "alpha", SIZE, 0);
		slab = model_slab(&t.model, alpha, SIZE, 11);
		model_to_cpu(&t.model, alpha, slab, SIZE, 11, 1);
		/* Two slabs are set aside, with 6 and 13 free objects. */
		model_set_aside(&t.model, alpha, model_slab(&t.model, alpha, SIZE, 10), 1);
		model_set_aside(&t.model, alpha, model_slab(&t.model, alpha, SIZE, 3), 1);
		assert_int_equal(take(&t), 0);
		row = row_of(&t, "alpha");
		assert_int_equal(row->used, 16 + 10 + 3);
		assert_int_equal(row->waiting[KS_WAITING_CPU], 5);
		assert_int_equal(row->aside, 6 + 13);
		assert_int_equal(row->objects, 11 + 10 + 3);
		assert_int_equal(t.census->waiting->torn, 0);
		drop(&t);
	}
}

static void test_sheaves(void **state)
{
	for (int kind = MODEL_6_18; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };
		const struct ks_census_row *row;
		u64 alpha, slab, objects[16];

		model_init(&t.model, kind);
		alpha = model_cache(&t.model, "alpha", SIZE, 0);
		slab = model_slab(&t.model, alpha, SIZE, 16);
		for (u32 i = 0; i < 16; i++)
			objects[i] = model_object(&t.model, slab, SIZE, i);
		model_to_sheaf(&t.model, alpha, 0, objects, 3);
		model_to_sheaf(&t.model, alpha, 1, objects + 3, 2);
		model_to_barn(&t.model, alpha, objects + 5, 4);
		model_to_barn(&t.model, alpha, objects + 9, 1);
		model_to_rcu_sheaf(&t.model, alpha, 1, objects + 10, 2);
		assert_int_equal(take(&t), 0);
		row = row_of(&t, "alpha");
		assert_int_equal(row->waiting[KS_WAITING_SHEAF], 5 + 2);
		assert_int_equal(row->waiting[KS_WAITING_BARN], 5);
		assert_int_equal(row->objects, 4);
		drop(&t);
	}
}

static void test_charges(void **state)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };
		const struct ks_charges *c;
		u64 alpha, beta, one, two, slab;

		model_init(&t.model, kind);
		alpha = model_cache(&t.model, "alpha", SIZE, 0);
		beta = model_cache(&t.model, "beta", 512, 0);
		one = model_cgroup(&t.model, "shop");
		two = model_cgroup(&t.model, "mail");
		slab = model_slab(&t.model, alpha, SIZE, 9);
		model_charge(&t.model, slab, one, 9);
		model_charge(&t.model, slab, two, 4);
		slab = model_slab(&t.model, beta, 512, 8);
		model_charge(&t.model, slab, two, 7);
		assert_int_equal(take(&t), 0);
		c = t.census->charges;
		assert_int_equal(c->paths.len, 2);
		assert_int_equal(c->rows.len, 3);
		for (size_t i = 0; i < c->rows.len; i++) {
			const struct ks_charge *row = &c->rows.items[i];
			bool shop = !strcmp(c->paths.items[row->cgroup], "/shop");
			bool is_beta =
				!strcmp(t.census->caches->items.items[row->cache].name, "beta");

			if (!shop)
				assert_string_equal(c->paths.items[row->cgroup], "/mail");
			assert_int_equal(row->objects, is_beta ? 7 : shop ? 5 : 4);
			assert_int_equal(row->bytes, row->objects * (is_beta ? 512 : SIZE));
		}
		drop(&t);
	}
}

static void test_kinds(void **state)
{
	struct taken t = { 0 };
	u64 *kinds;

	model_init(&t.model, MODEL_6_18);
	model_page(&t.model, 0xf2, 0, 1);
	model_page(&t.model, 0xf8, 0, 1);
	model_page(&t.model, 0, 0xffff888000001001ull, 1);
	model_page(&t.model, 0, 0xffff888000001001ull, 2);
	model_page(&t.model, 0, 0xffff888000002000ull, 1);
	model_page(&t.model, 0, 0, 0);
	assert_int_equal(take(&t), 0);
	kinds = t.census->pages->kinds;
	assert_int_equal(kinds[KS_USE_TABLE], 1);
	assert_int_equal(kinds[KS_USE_KMALLOC], 1);
	assert_int_equal(kinds[KS_USE_ANON], 2);
	assert_int_equal(kinds[KS_USE_FILE], 1);
	assert_int_equal(kinds[KS_USE_UNUSED], 1);
	assert_int_equal(sum_of_kinds(&t), MODEL_PAGES);
	drop(&t);
}

/* What makes no sense is counted, and nothing hangs: a list that goes round, one that leaves its slab. */
static void test_torn_lists(void **state)
{
	for (int round = 0; round < 2; round++) {
		struct taken t = { 0 };
		u64 alpha, slab, at;

		model_init(&t.model, MODEL_6_18);
		alpha = model_cache(&t.model, "alpha", SIZE, 0);
		slab = model_slab(&t.model, alpha, SIZE, 11);
		model_to_cpu(&t.model, alpha, slab, SIZE, 11, 0);
		at = model_object(&t.model, slab, SIZE, 12) + SIZE / 2;
		put64(&t, at,
		      (round ? model_object(&t.model, slab, SIZE, 11) : alpha) ^
			      0x5deece66d1234567ull ^ __builtin_bswap64(at));
		assert_int_equal(take(&t), 0);
		assert_int_equal(t.census->waiting->torn, 1);
		assert_int_equal(row_of(&t, "alpha")->objects, 16);
		drop(&t);
	}
}

static void test_torn_sheaves(void **state)
{
	struct taken t = { 0 };
	u64 alpha, beta, slab, object;

	model_init(&t.model, MODEL_7_2);
	alpha = model_cache(&t.model, "alpha", SIZE, 0);
	beta = model_cache(&t.model, "beta", SIZE, 0);
	slab = model_slab(&t.model, alpha, SIZE, 16);
	/* An object of another cache, and one that is none. */
	object = model_object(&t.model, slab, SIZE, 3);
	model_to_sheaf(&t.model, beta, 0, &object, 1);
	object += 8;
	model_to_sheaf(&t.model, alpha, 0, &object, 1);
	assert_int_equal(take(&t), 0);
	assert_int_equal(t.census->waiting->stray, 2);
	assert_int_equal(row_of(&t, "alpha")->objects, 16);
	drop(&t);
}

/* Slabs whose numbers contradict each other, and a cache that is none. */
static void test_torn_slabs(void **state)
{
	struct taken t = { 0 };
	u64 alpha, slab;

	model_init(&t.model, MODEL_6_18);
	alpha = model_cache(&t.model, "alpha", SIZE, 0);
	slab = model_slab(&t.model, alpha, SIZE, 16);
	put64(&t, slab + 40, 17 | 16 << 16);
	slab = model_slab(&t.model, alpha, SIZE, 16);
	put64(&t, slab + 40, 16 | 17 << 16);
	slab = model_slab(&t.model, alpha, SIZE, 16);
	put64(&t, slab + 8, 0xdeadbeefdeadbee8ull);
	model_slab(&t.model, alpha, SIZE, 2);
	assert_int_equal(take(&t), 0);
	assert_int_equal(t.census->torn, 3);
	assert_int_equal(t.census->caches->invalid, 1);
	assert_int_equal(row_of(&t, "alpha")->objects, 2);
	assert_int_equal(t.census->pages->kinds[KS_USE_SLAB], 4);
	drop(&t);
}

static u64 typed(const struct ks_typing *typing, const struct taken *t, const char *type,
		 const char *cache, enum ks_known_by known_by)
{
	u64 objects = 0;

	for (size_t i = 0; i < typing->rows.len; i++) {
		const struct ks_typing_row *row = &typing->rows.items[i];

		if (!strcmp(ks_type_text(typing->types, row->type), type) &&
		    !strcmp(t->census->caches->items.items[row->cache].name, cache) &&
		    row->known_by == known_by)
			objects += row->objects;
	}
	return objects;
}

/* Of two types, the one whose pointer leads to what it should; none, where it leads elsewhere. */
static void check_shapes(const struct taken *t, const struct ks_slots *slots,
			 const struct ks_typing *typing, u64 delta, u64 alpha)
{
	struct ks_candidates candidates = { .count = 2, .merged = true };
	struct ks_slot_index *index;
	struct ks_shape shape = {
		.kernel = t->kernel,
		.census = t->census,
		.typing = typing,
		.candidates = &candidates,
		.cache = KS_NONE,
	};
	const struct {
		u64 word;
		const char *type;
	} cases[] = {
		{ delta, "beta" }, { delta + 8, NULL }, { alpha, NULL },
		{ 0, NULL },	   { 0x1000, NULL },	{ MODEL_VMEMMAP, NULL },
	};

	candidates.types[0] = ks_types_struct(typing->types, "gamma", 5);
	candidates.types[1] = ks_types_struct(typing->types, "beta", 4);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(ks_types_expand(typing->types, candidates.types[i]), 0);
	assert_int_equal(ks_slot_index_new(t->kernel, t->census, slots, &index), 0);
	shape.index = index;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 data[8] = { 0, cases[i].word };
		u32 type = ks_shape_judge(&shape, (const u8 *)data, sizeof(data));

		if (cases[i].type)
			assert_string_equal(ks_type_text(typing->types, type), cases[i].type);
		else
			assert_int_equal(type, 0);
	}
	ks_slot_index_free(index);
}

/* From the cache's name to its objects' type, from there to what they point to, and a step further. */
static void test_types(void **state)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };
		struct ks_slots *slots;
		struct ks_typing *typing;
		u64 alpha, slab, k64, k32, first, second, small;
		u32 used = 0;

		model_init(&t.model, kind);
		alpha = model_cache(&t.model, "alpha", SIZE, 0);
		k64 = model_cache(&t.model, "kmalloc-64", 64, 0);
		k32 = model_cache(&t.model, "kmalloc-32", 32, 0);
		slab = model_slab(&t.model, alpha, SIZE, 2);
		first = model_slab(&t.model, k64, 64, 10);
		second = model_slab(&t.model, k64, 64, 64);
		small = model_slab(&t.model, k32, 32, 3);
		/* The first alpha's pointers. */
		put64(&t, model_object(&t.model, slab, SIZE, 0) + 8,
		      model_object(&t.model, first, 64, 3));
		put64(&t, model_object(&t.model, slab, SIZE, 0) + 16,
		      model_object(&t.model, second, 64, 7));
		put64(&t, model_object(&t.model, slab, SIZE, 0) + 24,
		      model_object(&t.model, first, 64, 4));
		put64(&t, model_object(&t.model, slab, SIZE, 0) + 32,
		      model_object(&t.model, first, 64, 5));
		/* The second's: to text that is a beta, to a free object, into the middle of one. */
		put64(&t, model_object(&t.model, slab, SIZE, 1) + 24,
		      model_object(&t.model, first, 64, 3));
		put64(&t, model_object(&t.model, slab, SIZE, 1) + 8,
		      model_object(&t.model, first, 64, 20));
		put64(&t, model_object(&t.model, slab, SIZE, 1) + 32,
		      model_object(&t.model, first, 64, 6) + 8);
		/* A free alpha has no say. */
		put64(&t, model_object(&t.model, slab, SIZE, 5) + 8,
		      model_object(&t.model, first, 64, 8));
		/* The beta's next. */
		put64(&t, model_object(&t.model, first, 64, 3) + 8,
		      model_object(&t.model, small, 32, 1));
		assert_int_equal(take(&t), 0);
		assert_int_equal(ks_slots_read(t.kernel, t.census, &slots, &t.diag), 0);
		for (u32 i = 0; i < slots->count; i++)
			used += ks_slot_used(slots, i);
		assert_int_equal(used, 2 + 10 + 64 + 3);
		assert_int_equal(ks_typing_make(t.kernel, t.census, slots, NULL, &typing, &t.diag),
				 0);
		assert_int_equal(typed(typing, &t, "alpha", "alpha", KS_KNOWN_CACHE), 2);
		assert_int_equal(typed(typing, &t, "beta", "kmalloc-64", KS_KNOWN_FIELD), 1);
		assert_int_equal(typed(typing, &t, "gamma *[]", "kmalloc-64", KS_KNOWN_FIELD), 1);
		assert_int_equal(typed(typing, &t, "char[]", "kmalloc-64", KS_KNOWN_FIELD), 1);
		assert_int_equal(typed(typing, &t, "gamma", "kmalloc-64", KS_KNOWN_UNION), 1);
		assert_int_equal(typed(typing, &t, "delta", "kmalloc-32", KS_KNOWN_FIELD), 1);
		assert_int_equal(typed(typing, &t, "?", "kmalloc-64", KS_KNOWN_NOT), 70);
		assert_int_equal(typed(typing, &t, "?", "kmalloc-32", KS_KNOWN_NOT), 2);
		check_shapes(&t, slots, typing, model_object(&t.model, small, 32, 1),
			     model_object(&t.model, slab, SIZE, 0));
		ks_typing_free(typing);
		ks_slots_free(slots);
		drop(&t);
	}
}

/* Each object of a chain is known by the one before it, however long the chain is. */
static void test_chain(void **state)
{
	enum { LINKS = 120 };
	struct taken t = { 0 };
	struct ks_slots *slots;
	struct ks_typing *typing;
	u64 alpha, beta, links;

	model_init(&t.model, MODEL_6_18);
	alpha = model_slab(&t.model, model_cache(&t.model, "alpha", SIZE, 0), SIZE, 1);
	beta = model_slab(&t.model, model_cache(&t.model, "kmalloc-64", 64, 0), 64, 1);
	links = model_slab(&t.model, model_cache(&t.model, "kmalloc-32", 32, 0), 32, LINKS + 1);
	put64(&t, model_object(&t.model, alpha, SIZE, 0) + 8, model_object(&t.model, beta, 64, 0));
	put64(&t, model_object(&t.model, beta, 64, 0) + 8, model_object(&t.model, links, 32, 0));
	for (u32 i = 1; i < LINKS; i++)
		put64(&t, model_object(&t.model, links, 32, i - 1) + 8,
		      model_object(&t.model, links, 32, i));
	assert_int_equal(take(&t), 0);
	assert_int_equal(ks_slots_read(t.kernel, t.census, &slots, &t.diag), 0);
	assert_int_equal(ks_typing_make(t.kernel, t.census, slots, NULL, &typing, &t.diag), 0);
	assert_int_equal(typed(typing, &t, "delta", "kmalloc-32", KS_KNOWN_FIELD), LINKS);
	assert_int_equal(typed(typing, &t, "?", "kmalloc-32", KS_KNOWN_NOT), 1);
	ks_typing_free(typing);
	ks_slots_free(slots);
	drop(&t);
}

/* Objects that nothing else names are called after the code that allocated them. */
static void test_alloc_tags(void **state)
{
	struct taken t = { 0 };
	struct ks_slots *slots;
	struct ks_typing *typing;
	struct ks_candidates_list list = { 0 };
	struct ks_heap_sites sites;
	u64 alphas, slab, open_tag, load_tag, object;

	model_init(&t.model, MODEL_7_2);
	alphas = model_slab(&t.model, model_cache(&t.model, "alpha", SIZE, 0), SIZE, 2);
	slab = model_slab(&t.model, model_cache(&t.model, "kmalloc-64", 64, 0), 64, 10);
	open_tag = model_tag(&t.model, "fs/open.c", 42, "do_open", "");
	load_tag = model_tag(&t.model, "drivers/net/load.c", 7, "load_all", "load");
	/* A typed object stays what it is; a free one, one with the mark of "none" and one with a wild tag stay unknown. */
	model_allocated(&t.model, alphas, 0, open_tag);
	for (u32 i = 0; i < 4; i++)
		model_allocated(&t.model, slab, i, open_tag);
	model_allocated(&t.model, slab, 4, load_tag);
	model_allocated(&t.model, slab, 5, 1);
	model_allocated(&t.model, slab, 6, 0xffff000000000000);
	model_allocated(&t.model, slab, 12, open_tag);
	model_charge(&t.model, slab, model_cgroup(&t.model, "shop"), 3);
	assert_int_equal(take(&t), 0);
	assert_int_equal(ks_slots_read(t.kernel, t.census, &slots, &t.diag), 0);
	assert_int_equal(ks_typing_make(t.kernel, t.census, slots, NULL, &typing, &t.diag), 0);
	assert_int_equal(typed(typing, &t, "alpha", "alpha", KS_KNOWN_CACHE), 2);
	assert_int_equal(typed(typing, &t, "of fs/open.c:42 do_open()", "kmalloc-64", KS_KNOWN_TAG),
			 4);
	assert_int_equal(typed(typing, &t, "of drivers/net/load.c:7 load_all() [load]",
			       "kmalloc-64", KS_KNOWN_TAG),
			 1);
	assert_int_equal(typed(typing, &t, "?", "kmalloc-64", KS_KNOWN_NOT), 5);
	/* The charges of these objects are still found beside their tags. */
	assert_int_equal(t.census->charges->rows.len, 1);
	assert_int_equal(t.census->charges->rows.items[0].objects, 3);

	assert_int_equal(ks_heap_sites_init(&sites), 0);
	for (u32 i = 3; i < 7; i++) {
		struct ks_candidate *candidate = ks_vec_push(&list.items);

		assert_non_null(candidate);
		*candidate = (struct ks_candidate){ .addr = model_object(&t.model, slab, 64, i) };
	}
	assert_int_equal(ks_heap_sites_add_tags(&sites, t.kernel, &list), 0);
	object = model_object(&t.model, slab, 64, 3);
	assert_string_equal(ks_heap_site(&sites, object), "fs/open.c:42 do_open()");
	assert_string_equal(ks_heap_site(&sites, object + 64),
			    "drivers/net/load.c:7 load_all() [load]");
	assert_string_equal(ks_heap_site(&sites, object + 128), "");
	assert_string_equal(ks_heap_site(&sites, object + 192), "");
	ks_heap_sites_deinit(&sites);
	ks_vec_free(&list.items);
	ks_typing_free(typing);
	ks_slots_free(slots);
	drop(&t);
}

/* A cache is named after the struct of its objects, which may be a few bytes smaller. */
static void test_cache_names(void **state)
{
	struct taken t = { 0 };
	struct ks_slots *slots;
	struct ks_typing *typing;

	model_init(&t.model, MODEL_6_18);
	/* Objects of 60 bytes; a beta has 48. */
	model_slab(&t.model, model_cache(&t.model, "beta", 64, 0), 64, 5);
	assert_int_equal(take(&t), 0);
	assert_int_equal(ks_slots_read(t.kernel, t.census, &slots, &t.diag), 0);
	assert_int_equal(ks_typing_make(t.kernel, t.census, slots, NULL, &typing, &t.diag), 0);
	assert_int_equal(typed(typing, &t, "beta", "beta", KS_KNOWN_CACHE), 5);
	ks_typing_free(typing);
	ks_slots_free(slots);
	drop(&t);
}

/* A pointer to a struct that has a cache, which leads to an object of kmalloc: it is old, and the object another's. */
static void test_old_pointers(void **state)
{
	struct taken t = { 0 };
	struct ks_slots *slots;
	struct ks_typing *typing;
	u64 slab, first;

	model_init(&t.model, MODEL_6_18);
	slab = model_slab(&t.model, model_cache(&t.model, "alpha", SIZE, 0), SIZE, 2);
	first = model_slab(&t.model, model_cache(&t.model, "kmalloc-64", 64, 0), 64, 10);
	model_slab(&t.model, model_cache(&t.model, "beta", 64, 0), 64, 5);
	/* To a beta, by what the field says, but something else says that it is an array; to an array; to a beta. */
	put64(&t, model_object(&t.model, slab, SIZE, 0) + 8, model_object(&t.model, first, 64, 3));
	put64(&t, model_object(&t.model, slab, SIZE, 1) + 16, model_object(&t.model, first, 64, 3));
	put64(&t, model_object(&t.model, slab, SIZE, 0) + 16, model_object(&t.model, first, 64, 4));
	put64(&t, model_object(&t.model, slab, SIZE, 1) + 8, model_object(&t.model, first, 64, 5));
	assert_int_equal(take(&t), 0);
	assert_int_equal(ks_slots_read(t.kernel, t.census, &slots, &t.diag), 0);
	assert_int_equal(ks_typing_make(t.kernel, t.census, slots, NULL, &typing, &t.diag), 0);
	assert_int_equal(typed(typing, &t, "beta", "beta", KS_KNOWN_CACHE), 5);
	assert_int_equal(typed(typing, &t, "gamma *[]", "kmalloc-64", KS_KNOWN_FIELD), 2);
	assert_int_equal(typed(typing, &t, "beta", "kmalloc-64", KS_KNOWN_FIELD), 1);
	assert_int_equal(typed(typing, &t, "?", "kmalloc-64", KS_KNOWN_NOT), 7);
	ks_typing_free(typing);
	ks_slots_free(slots);
	drop(&t);
}

/* Types that lack what is needed: refused by the name of what is missing. */
static void test_unknown_layout(void **state)
{
	struct taken t = { 0 };
	struct ks_memory *memory;
	struct btf *btf = btf__new_empty();
	size_t len;

	model_init(&t.model, MODEL_6_18);
	t.image = model_pack(&t.model, &len);
	assert_int_equal(ks_memory_open_image(t.image, len, &memory, &t.diag), 0);
	btf__set_pointer_size(btf, 8);
	assert_int_equal(ks_kernel_open_btf(memory, btf, false, &t.kernel, &t.diag), KS_EBADINPUT);
	assert_non_null(strstr(t.diag.text, "page.flags"));
	drop(&t);
}

static void test_bad_image(void **state)
{
	struct ks_memory *memory;
	struct ks_diag diag;

	assert_int_equal(ks_memory_open_image("KSIMAGE0", 8, &memory, &diag), KS_EBADINPUT);
	assert_int_equal(ks_memory_open_image("KSIMAGE1", 8, &memory, &diag), KS_EBADINPUT);
}

/* An ELF core of two segments, the first of which is behind the other in the file. */
static void test_kcore(void **state)
{
	char path[] = "/tmp/kcore-XXXXXX";
	int fd = mkstemp(path);
	Elf64_Ehdr head = { .e_ident = ELFMAG,
			    .e_type = ET_CORE,
			    .e_machine = EM_X86_64,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2 };
	Elf64_Phdr parts[2] = {
		{ .p_type = PT_LOAD,
		  .p_offset = 8192,
		  .p_vaddr = 0xffff888000000000,
		  .p_memsz = 4096 },
		{ .p_type = PT_LOAD,
		  .p_offset = 4096,
		  .p_vaddr = 0xffffea0000000000,
		  .p_memsz = 64 },
	};
	struct ks_memory *memory, *twin;
	struct ks_diag diag;
	u64 word;

	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(fd, parts, sizeof(parts), sizeof(head)), sizeof(parts));
	assert_int_equal(pwrite(fd, "structs.", 8, 4096), 8);
	assert_int_equal(ftruncate(fd, 12288), 0);
	assert_int_equal(pwrite(fd, "objects!", 8, 8192 + 4088), 8);
	assert_int_equal(ks_memory_open_kcore(path, &memory, &diag), 0);
	assert_int_equal(ks_memory_dup(memory, &twin, &diag), 0);
	assert_int_equal(ks_memory_word(memory, 0xffffea0000000000, &word), 0);
	assert_memory_equal(&word, "structs.", 8);
	assert_int_equal(ks_memory_word(twin, 0xffff888000000ff8, &word), 0);
	assert_memory_equal(&word, "objects!", 8);
	assert_int_equal(ks_memory_word(memory, 0xffff888000000ff9, &word), -EFAULT);
	assert_int_equal(ks_memory_word(memory, 0xffff887fffffffff, &word), -EFAULT);
	ks_memory_free(memory);
	ks_memory_free(twin);
	head.e_type = ET_EXEC;
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(ks_memory_open_kcore(path, &memory, &diag), KS_EBADINPUT);
	close(fd);
	unlink(path);
	assert_int_equal(ks_memory_open_kcore(path, &memory, &diag), -ENOENT);
}

/* The bits of page_type, as include/linux/page-flags.h of the two releases has them. */
static void test_type_bits(void **state)
{
	static const struct {
		int kind;
		u32 table, guard;
	} releases[] = { { MODEL_5_10, 0x400, 0x800 }, { MODEL_6_1, 0x200, 0x400 } };

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct taken t = { 0 };

		model_init(&t.model, releases[i].kind);
		model_cache(&t.model, "alpha", SIZE, 0);
		assert_int_equal(take(&t), 0);
		assert_int_equal(t.kernel->layout.type_table, releases[i].table);
		assert_int_equal(t.kernel->layout.type_guard, releases[i].guard);
		drop(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slabs),	    cmocka_unit_test(test_cpu_list),
		cmocka_unit_test(test_free_blocks), cmocka_unit_test(test_sheaves),
		cmocka_unit_test(test_charges),	    cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_torn_lists),  cmocka_unit_test(test_torn_sheaves),
		cmocka_unit_test(test_torn_slabs),  cmocka_unit_test(test_unknown_layout),
		cmocka_unit_test(test_bad_image),   cmocka_unit_test(test_kcore),
		cmocka_unit_test(test_cache_names), cmocka_unit_test(test_old_pointers),
		cmocka_unit_test(test_types),	    cmocka_unit_test(test_type_bits),
		cmocka_unit_test(test_alloc_tags),  cmocka_unit_test(test_chain),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
