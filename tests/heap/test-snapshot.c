// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots of made-up kernels: objects with their types and charges, who points at whom, and from where it all hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "heap/model.h"
#include "heap/snapshot.h"

/* === Data ================================================================================= */

enum { SIZE = 256 }; /* of the objects of "alpha" */

struct taken {
	struct model model;
	void *image;
	struct ks_kernel *kernel;
	struct ks_snapshot *snapshot;
	struct ks_diag diag;
	u64 alpha;		   /* a cache */
	u64 alphas, betas, smalls; /* slabs */
	u64 large[3];		   /* addresses; 0 = this kernel does not mark them */
};

/* === Internals ============================================================================ */

static void put64(const struct taken *t, u64 addr, u64 value)
{
	memcpy(model_at(&t->model, addr), &value, 8);
}

static u64 alpha_at(const struct taken *t, u32 i)
{
	return model_object(&t->model, t->alphas, SIZE, i);
}

static u64 beta_at(const struct taken *t, u32 i)
{
	return model_object(&t->model, t->betas, 64, i);
}

/* A page of large kmalloc(), where the kernel marks these. */
static void add_large(struct taken *t, size_t i)
{
	if (t->model.kind > MODEL_6_1)
		t->large[i] = MODEL_PAGE_OFFSET + (model_page(&t->model, 0xf8, 0, 0) << 12);
}

/*
 * Three alphas, of which the first two are charged; ten objects of kmalloc-64, three of kmalloc-32, and three pages of
 * large kmalloc() between and behind the slabs. Of the alphas a fourth waits on a CPU's list.
 */
static void build(struct taken *t, int kind)
{
	u64 k64, k32;

	model_init(&t->model, kind);
	t->alpha = model_cache(&t->model, "alpha", SIZE, 0);
	k64 = model_cache(&t->model, "kmalloc-64", 64, 0);
	k32 = model_cache(&t->model, "kmalloc-32", 32, 0);
	t->alphas = model_slab(&t->model, t->alpha, SIZE, 3);
	model_charge(&t->model, t->alphas, model_cgroup(&t->model, "shop"), 2);
	add_large(t, 0);
	t->betas = model_slab(&t->model, k64, 64, 10);
	add_large(t, 1);
	t->smalls = model_slab(&t->model, k32, 32, 3);
	add_large(t, 2);
	/* The first alpha to a beta, the beta to a delta and, from no field, back into the middle of the alpha. */
	put64(t, alpha_at(t, 0) + 8, beta_at(t, 3));
	put64(t, beta_at(t, 3) + 8, model_object(&t->model, t->smalls, 32, 1));
	put64(t, beta_at(t, 3) + 40, alpha_at(t, 0) + 104 + 1); /* with a tag */
	/* To itself, to a free object and behind all objects: no references. */
	put64(t, alpha_at(t, 1) + 16, alpha_at(t, 1) + 16);
	put64(t, alpha_at(t, 1) + 24, beta_at(t, 20));
	put64(t, alpha_at(t, 1) + 32, MODEL_PAGE_OFFSET + ((u64)MODEL_PAGES << 12));
}

static void take_with(struct taken *t, const struct ks_snapshot_options *options)
{
	struct ks_memory *memory;
	size_t len;

	t->image = model_pack(&t->model, &len);
	assert_int_equal(ks_memory_open_image(t->image, len, &memory, &t->diag), 0);
	assert_int_equal(
		ks_kernel_open_btf(memory, model_btf(t->model.kind), false, &t->kernel, &t->diag),
		0);
	assert_int_equal(ks_snapshot_take(t->kernel, options, &t->snapshot, &t->diag), 0);
}

static void take(struct taken *t, bool graph)
{
	take_with(t, &(struct ks_snapshot_options){ .graph = graph });
}

static void drop(struct taken *t)
{
	ks_snapshot_free(t->snapshot);
	ks_kernel_free(t->kernel);
	free(t->image);
	model_deinit(&t->model);
}

static const char *type_of(const struct taken *t, u64 addr)
{
	const struct ks_snapshot *s = t->snapshot;
	u32 i = ks_snapshot_find(s, addr);

	assert_int_not_equal(i, KS_NONE);
	assert_int_equal(s->addr[i], addr);
	return s->types.items[s->type[i]].name;
}

static u32 number_of(const struct taken *t, u64 addr)
{
	u32 i = ks_snapshot_find(t->snapshot, addr);

	assert_int_not_equal(i, KS_NONE);
	return i;
}

/* === Tests ================================================================================ */

static void test_objects(void **state)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };
		const struct ks_snapshot *s;
		size_t k;
		u32 i;

		build(&t, kind);
		take(&t, false);
		s = t.snapshot;
		assert_int_equal(s->count, 3 + 10 + 3 + (t.large[0] ? 3 : 0));
		for (i = 1; i < s->count; i++)
			assert_true(s->addr[i - 1] < s->addr[i]);
		assert_string_equal(type_of(&t, alpha_at(&t, 2)), "alpha");
		assert_string_equal(type_of(&t, beta_at(&t, 3)), "beta");
		assert_string_equal(type_of(&t, beta_at(&t, 4)), "?");
		assert_string_equal(type_of(&t, model_object(&t.model, t.smalls, 32, 1)), "delta");
		assert_int_equal(s->known_by[number_of(&t, alpha_at(&t, 0))], KS_KNOWN_CACHE);
		assert_int_equal(s->known_by[number_of(&t, beta_at(&t, 3))], KS_KNOWN_FIELD);
		assert_int_equal(s->known_by[number_of(&t, beta_at(&t, 4))], KS_KNOWN_NOT);
		/* Charges. */
		assert_string_equal(s->cgroups.items[0], "");
		for (i = 0; i < 3; i++)
			assert_string_equal(
				s->cgroups.items[s->cgroup[number_of(&t, alpha_at(&t, i))]],
				i < 2 ? "/shop" : "");
		assert_null(s->ref_first);
		/* Addresses: inside of objects, in the padding behind one, and in none. */
		assert_int_equal(ks_snapshot_find(s, alpha_at(&t, 1) + 255),
				 number_of(&t, alpha_at(&t, 1)));
		assert_int_equal(ks_snapshot_find(s, alpha_at(&t, 3)), KS_NONE);
		assert_int_equal(ks_snapshot_find(s, 0), KS_NONE);
		for (k = 0; k < ARRAY_SIZE(t.large) && t.large[k]; k++) {
			i = number_of(&t, t.large[k] + 4095);
			assert_int_equal(s->addr[i], t.large[k]);
			assert_true(s->caches.items[s->cache[i]].large);
			assert_int_equal(s->caches.items[s->cache[i]].size, 4096);
		}
		drop(&t);
	}
}

/* Equal contents have equal checksums; a change of one bit shows, and free slots don't count. */
static void test_checksums(void **state)
{
	struct taken before = { 0 }, after = { 0 };
	u32 changed = 0;

	build(&before, MODEL_6_18);
	build(&after, MODEL_6_18);
	put64(&after, alpha_at(&after, 2) + 240, 1);
	put64(&after, after.large[0] + 4088, 1ull << 63);
	put64(&after, alpha_at(&after, 9) + 8, 77);
	take(&before, false);
	take(&after, true);
	assert_int_equal(before.snapshot->count, after.snapshot->count);
	for (u32 i = 0; i < before.snapshot->count; i++)
		changed += before.snapshot->checksum[i] != after.snapshot->checksum[i];
	assert_int_equal(changed, 2);
	assert_int_not_equal(before.snapshot->checksum[number_of(&before, alpha_at(&before, 2))],
			     after.snapshot->checksum[number_of(&after, alpha_at(&after, 2))]);
	drop(&before);
	drop(&after);
}

/* Whether an object has a reference at this offset to that address. */
static bool refers(const struct taken *t, u64 holder, u32 at, u64 to)
{
	const struct ks_snapshot *s = t->snapshot;
	u32 from = number_of(t, holder), object = number_of(t, to), i;

	for (i = s->ref_first[from]; i < s->ref_first[from + 1]; i++)
		if (s->refs.items[i].to == object && s->refs.items[i].at == at / 8)
			return s->refs.items[i].inside == (to - s->addr[object]) / 8;
	return false;
}

/* Of a root, all objects that it refers to. */
static bool root_refers(const struct taken *t, enum ks_root_kind kind, u64 addr, u64 to)
{
	const struct ks_snapshot *s = t->snapshot;
	u32 object = number_of(t, to), root, i;

	for (root = 0; root < s->roots.len; root++)
		for (i = s->root_first[root]; i < s->root_first[root + 1]; i++)
			if (s->roots.items[root].kind == kind &&
			    s->root_refs.items[i].to == object &&
			    (!addr ||
			     s->roots.items[root].addr + s->root_refs.items[i].at * 8u == addr))
				return true;
	return false;
}

static void test_graph(void **state)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		struct taken t = { 0 };
		const struct ks_snapshot *s;
		u64 page, delta;

		build(&t, kind);
		delta = model_object(&t.model, t.smalls, 32, 1);
		put64(&t, delta, alpha_at(&t, 2)); /* in a field that is a number */
		/* A page of which nothing is known holds an alpha; a user's page holds another, and does not count. */
		page = MODEL_PAGE_OFFSET + (model_page(&t.model, 0, 0, 1) << 12);
		put64(&t, page + 64, alpha_at(&t, 0));
		put64(&t, page + 128, alpha_at(&t, 0) + 8);
		page = MODEL_PAGE_OFFSET +
		       (model_page(&t.model, 0, MODEL_PAGE_OFFSET | 1, 1) << 12);
		put64(&t, page + 64, alpha_at(&t, 1));
		/* A page's mapping is an alpha. */
		model_page(&t.model, 0, alpha_at(&t, 2), 1);
		if (t.large[0])
			put64(&t, t.large[0] + 4088, beta_at(&t, 9) + 63);
		take(&t, true);
		s = t.snapshot;
		assert_int_equal(s->refs.len, 4 + !!t.large[0]);
		assert_true(refers(&t, delta, 0, alpha_at(&t, 2)));
		assert_true(refers(&t, alpha_at(&t, 0), 8, beta_at(&t, 3)));
		assert_true(refers(&t, beta_at(&t, 3), 8, delta));
		assert_true(refers(&t, beta_at(&t, 3), 40, alpha_at(&t, 0) + 104));
		if (t.large[0])
			assert_true(refers(&t, t.large[0], 4088, beta_at(&t, 9) + 56));
		assert_true(root_refers(&t, KS_ROOT_PAGES, 0, alpha_at(&t, 0)));
		assert_false(root_refers(&t, KS_ROOT_PAGES, 0, alpha_at(&t, 1)));
		assert_true(root_refers(&t, KS_ROOT_STRUCTS, 0, alpha_at(&t, 2)));
		assert_true(s->root_bytes[KS_ROOT_PAGES] > 0);
		/* The fields that have references, and no others. */
		for (size_t i = 0; i < s->types.len; i++) {
			const struct ks_heap_type *type = &s->types.items[i];

			if (!strcmp(type->name, "alpha")) {
				assert_int_equal(type->fields, 1);
				assert_int_equal(s->fields.items[type->first_field].offset, 8);
				assert_string_equal(s->fields.items[type->first_field].name,
						    "beta");
			} else if (!strcmp(type->name, "beta")) {
				assert_int_equal(type->fields, 1);
				assert_string_equal(s->fields.items[type->first_field].name,
						    "next");
			} else if (!strcmp(type->name, "delta")) {
				assert_int_equal(type->fields, 1);
				assert_string_equal(s->fields.items[type->first_field].name,
						    "number?");
			} else {
				assert_int_equal(type->fields, 0);
			}
		}
		drop(&t);
	}
}

/* Files with operations of two kinds. One private_data of the first kind is known to be a beta. */
static void test_likeness(void **state)
{
	struct taken t = { 0 };
	u64 files, file;
	u32 i, number;

	build(&t, MODEL_6_18);
	files = model_slab(&t.model, model_cache(&t.model, "file", 64, 0), 64, 5);
	for (i = 0; i < 5; i++) {
		file = model_object(&t.model, files, 64, i);
		put64(&t, file + 8, MODEL_IMAGE + (i < 3 ? 512 : 600));
		put64(&t, file + 16, beta_at(&t, i < 3 ? 3 + i : 4 + i));
	}
	/* Inside of an object: it is not what the pointer is for. */
	put64(&t, model_object(&t.model, files, 64, 2) + 16, beta_at(&t, 5) + 8);
	take(&t, false);
	assert_string_equal(type_of(&t, beta_at(&t, 4)), "beta");
	number = number_of(&t, beta_at(&t, 4));
	assert_int_equal(t.snapshot->known_by[number], KS_KNOWN_LIKE);
	assert_int_equal(t.snapshot->known_by[number_of(&t, beta_at(&t, 3))], KS_KNOWN_FIELD);
	assert_string_equal(type_of(&t, beta_at(&t, 5)), "?");
	assert_string_equal(type_of(&t, beta_at(&t, 7)), "file.private_data");
	assert_int_equal(t.snapshot->known_by[number_of(&t, beta_at(&t, 8))], KS_KNOWN_HOLDER);
	drop(&t);
}

/* Files with the same operations, of which one private_data is known to be a beta: one of ten tells, one of eleven does not. */
static void test_few_witnesses(void **state)
{
	for (u32 count = 10; count <= 11; count++) {
		struct taken t = { 0 };
		u64 files, others, file;
		u32 i;

		build(&t, MODEL_6_18);
		files = model_slab(&t.model, model_cache(&t.model, "file", 64, 0), 64, count);
		others = model_slab(&t.model, model_cache(&t.model, "kmalloc-cg-64", 64, 0), 64,
				    count);
		for (i = 0; i < count; i++) {
			file = model_object(&t.model, files, 64, i);
			put64(&t, file + 8, MODEL_IMAGE + 512);
			put64(&t, file + 16,
			      i ? model_object(&t.model, others, 64, i) : beta_at(&t, 3));
		}
		take(&t, false);
		assert_string_equal(type_of(&t, beta_at(&t, 3)), "beta");
		for (i = 1; i < count; i++)
			assert_string_equal(type_of(&t, model_object(&t.model, others, 64, i)),
					    count == 10 ? "beta" : "file.private_data");
		drop(&t);
	}
}

/*
 * Files whose operations have a function that only eventfds have: what they lead to is one, though an old pointer says that it
 * is a beta, if it has room for one. Operations without such a function say nothing.
 */
static void test_files(void **state)
{
	const unsigned long long known = MODEL_IMAGE + 512, unknown = MODEL_IMAGE + 600,
				 release = MODEL_IMAGE + 0x700;
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct taken t = { 0 };
	char path[64];
	u64 files, small;
	u32 i;

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(dprintf(fd, "%llx t eventfd_release\n%llx t other_release\n", release,
			    release + 16) > 0);
	build(&t, MODEL_6_18);
	put64(&t, known + MODEL_RELEASE, release);
	put64(&t, unknown + MODEL_RELEASE, release + 16);
	small = model_object(&t.model, t.smalls, 32, 2);
	files = model_slab(&t.model, model_cache(&t.model, "file", 64, 0), 64, 4);
	for (i = 0; i < 4; i++) {
		u64 file = model_object(&t.model, files, 64, i);

		put64(&t, file + 8, i < 3 ? known : unknown);
		put64(&t, file + 16, i == 2 ? small : beta_at(&t, 3 + i));
	}
	take_with(&t, &(struct ks_snapshot_options){ .kallsyms = path });
	for (i = 3; i < 5; i++) {
		assert_string_equal(type_of(&t, beta_at(&t, i)), "eventfd_ctx");
		assert_int_equal(t.snapshot->known_by[number_of(&t, beta_at(&t, i))],
				 KS_KNOWN_FILE);
	}
	assert_string_not_equal(type_of(&t, small), "eventfd_ctx");
	assert_string_equal(type_of(&t, beta_at(&t, 6)),
			    "file.private_data (table with other_release())");
	drop(&t);
	close(fd);
}

/* What a sheaf had before is not held by it. What only looks like a sheaf holds all that it points to. */
static void test_sheaves(void **state)
{
	static const int kinds[] = { MODEL_6_18, MODEL_7_2 };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct taken t = { 0 };
		u64 alpha, waiting[2], place;

		build(&t, kinds[k]);
		alpha = t.alpha;
		waiting[0] = alpha_at(&t, 3); /* free */
		place = model_sheaf_at(&t.model, beta_at(&t, 5), alpha, waiting, 1);
		put64(&t, place, alpha_at(&t, 2));
		waiting[1] = beta_at(&t, 7); /* of another cache */
		place = model_sheaf_at(&t.model, beta_at(&t, 6), alpha, waiting, 2);
		put64(&t, place, alpha_at(&t, 2));
		take(&t, true);
		assert_false(refers(&t, beta_at(&t, 5), 40, alpha_at(&t, 2)));
		assert_true(refers(&t, beta_at(&t, 6), 48, alpha_at(&t, 2)));
		drop(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),	      cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_graph),	      cmocka_unit_test(test_likeness),
		cmocka_unit_test(test_few_witnesses), cmocka_unit_test(test_files),
		cmocka_unit_test(test_sheaves),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
