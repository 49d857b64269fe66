// SPDX-License-Identifier: GPL-2.0-only
/* From names to types: members and values in BTF that is made up here, and the structs that caches are named after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/btf-members.h"
#include "heap/cache-types.h"

/* === Members ============================================================================== */

/*
 * struct outer { int first; union { struct { long deep; int low:3, high:5; }; volatile flags_t other; }; int last; };
 * enum colour { RED, GREEN = 7 };
 */
static struct btf *make_members(int *outer)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int wide = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	int flags = btf__add_typedef(btf, "flags_t", number);
	int inner, either;

	flags = btf__add_volatile(btf, flags);
	inner = btf__add_struct(btf, "", 16);
	assert_int_equal(btf__add_field(btf, "deep", wide, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "low", number, 64, 3), 0);
	assert_int_equal(btf__add_field(btf, "high", number, 67, 5), 0);
	either = btf__add_union(btf, "", 16);
	assert_int_equal(btf__add_field(btf, "", inner, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "other", flags, 0, 0), 0);
	*outer = btf__add_struct(btf, "outer", 32);
	assert_int_equal(btf__add_field(btf, "first", number, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "", either, 64, 0), 0);
	assert_int_equal(btf__add_field(btf, "last", number, 192, 0), 0);
	btf__add_enum(btf, "colour", 4);
	assert_int_equal(btf__add_enum_value(btf, "RED", 0), 0);
	assert_int_equal(btf__add_enum_value(btf, "GREEN", 7), 0);
	return btf;
}

static void test_members(void **state)
{
	struct ks_btf_found found;
	int outer;
	struct btf *btf = make_members(&outer);
	u32 at, id;

	(void)state;
	assert_true(ks_btf_member(btf, "outer", "first", &at));
	assert_int_equal(at, 0);
	assert_true(ks_btf_member(btf, "outer", "deep", &at));
	assert_int_equal(at, 8);
	assert_true(ks_btf_member(btf, "outer", "other", &at));
	assert_int_equal(at, 8);
	assert_true(ks_btf_member(btf, "outer", "last", &at));
	assert_int_equal(at, 24);
	assert_false(ks_btf_member(btf, "outer", "none", &at));
	assert_false(ks_btf_member(btf, "nobody", "first", &at));
	assert_true(ks_btf_find_member(btf, (u32)outer, "high", &found));
	assert_int_equal(found.bit, 64 + 67);
	assert_int_equal(found.bits, 5);
	assert_true(ks_btf_find_member(btf, (u32)outer, "last", &found));
	assert_int_equal(found.bits, 0);
	/* Behind volatile and the typedef there is an int. */
	assert_true(ks_btf_find_member(btf, (u32)outer, "other", &found));
	id = found.type;
	assert_true(btf_is_int(ks_btf_resolve(btf, &id)));
	assert_int_equal(id, 1);
	id = 1000;
	assert_null(ks_btf_resolve(btf, &id));
	btf__free(btf);
}

static void test_types_by_name(void **state)
{
	static const char *const names[] = { "colour", "outer", "nobody" };
	u32 ids[ARRAY_SIZE(names)] = { 99, 99, 99 }, value;
	struct ks_btf_found found;
	int outer;
	struct btf *btf = make_members(&outer);
	struct ks_btf_types types = { btf, names, ids, ARRAY_SIZE(names) };

	(void)state;
	ks_btf_find_types(&types);
	assert_int_equal(ks_btf_id(&types, "outer"), outer);
	assert_int_equal(ks_btf_id(&types, "nobody"), 0);
	assert_int_equal(ks_btf_id(&types, "int"), 0); /* it exists, and was not asked for */
	assert_int_equal(ks_btf_size(&types, "outer"), 32);
	assert_int_equal(ks_btf_size(&types, "nobody"), KS_NONE);
	/* The first type that there is, and of its members the first. */
	assert_true(ks_btf_find_field(&types, "nobody|outer", "none|last|first", &found));
	assert_int_equal(found.bit, 192);
	assert_false(ks_btf_find_field(&types, "nobody|outer", "none|nor", &found));
	assert_false(ks_btf_find_field(&types, "nobody", "first", &found));
	assert_true(ks_btf_enumerator(&types, "colour", "GREEN", &value));
	assert_int_equal(value, 7);
	assert_true(ks_btf_enumerator(&types, "colour", "RED", &value));
	assert_int_equal(value, 0);
	assert_false(ks_btf_enumerator(&types, "colour", "BLUE", &value));
	assert_int_equal(value, KS_NONE);
	assert_false(ks_btf_enumerator(&types, "outer", "first", &value));
	btf__free(btf);
}

/* === Caches =============================================================================== */

/* Structs by name and size; "msg_msg" and "sgs" end in an array without a length. */
static struct btf *make_structs(void)
{
	static const struct {
		const char *name;
		u32 size;
		bool open;
	} structs[] = {
		{ "task_struct", 9000, false },
		{ "file", 232, false },
		{ "ext4_inode_info", 1000, false },
		{ "proc_inode", 600, false },
		{ "hugetlb_inode", 500, false },
		{ "msg_msg", 48, true },
		{ "bio", 120, false },
		{ "journal_head", 120, false },
		{ "dentry", 192, false },
		{ "sgs", 16, true },
		{ "dquot", 256, false },
		{ "kioctx", 224, false },
	};
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "char", 1, 0), none = btf__add_array(btf, number, number, 0);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(structs); i++) {
		assert_true(btf__add_struct(btf, structs[i].name, structs[i].size) > 0);
		assert_int_equal(btf__add_field(btf, "c", number, 0, 0), 0);
		if (structs[i].open)
			assert_int_equal(btf__add_field(btf, "rest", none, 8 * structs[i].size, 0),
					 0);
	}
	return btf;
}

/* What a cache of this name and size has. @want: "struct NAME", the bare name of the cache, or NULL for anything. */
static void check_cache(struct ks_types *types, const char *name, u32 size, const char *want)
{
	struct ks_cache cache = { .name = name, .object_size = size, .users = 1, .valid = true };
	struct ks_caches caches = { .items = { &cache, 1, 1 } };
	u32 type = ks_cache_type(types, &caches, 0);

	if (!want)
		assert_int_equal(type, 0);
	else if (strncmp(want, "struct ", 7))
		assert_int_not_equal(types->items.items[type].form, KS_FORM_STRUCT);
	else
		assert_int_equal(types->items.items[type].form, KS_FORM_STRUCT);
	if (want)
		assert_string_equal(ks_type_text(types, type),
				    strncmp(want, "struct ", 7) ? want : want + 7);
	cache.valid = false;
	assert_int_equal(ks_cache_type(types, &caches, 0), 0);
	cache.valid = true;
	cache.users = 2;
	assert_int_equal(ks_cache_type(types, &caches, 0), 0);
}

static void test_cache_types(void **state)
{
	struct btf *btf = make_structs();
	struct ks_types *types;

	(void)state;
	assert_int_equal(ks_types_new(btf, &types), 0);
	/* Named otherwise, by the table; the struct may be up to 63 bytes smaller, and no larger. */
	check_cache(types, "filp", 232, "struct file");
	check_cache(types, "filp", 232 + 63, "struct file");
	check_cache(types, "filp", 232 + 64, "filp");
	check_cache(types, "filp", 231, "filp");
	check_cache(types, "dentry", 192, "struct dentry");
	check_cache(types, "dentry_cache", 192, "struct dentry");
	check_cache(types, "dentry_cached", 192, "dentry_cached");
	/* Objects of tasks lack up to a page of the struct. */
	check_cache(types, "task_struct", 9000 - 4096, "struct task_struct");
	check_cache(types, "task_struct", 9000 - 4097, "task_struct");
	check_cache(types, "task_struct", 9000 + 500, "struct task_struct");
	/* Of inodes, with and without "_info". */
	check_cache(types, "ext4_inode_cache", 1000, "struct ext4_inode_info");
	check_cache(types, "proc_inode_cache", 600, "struct proc_inode");
	check_cache(types, "hugetlb_inode_cache", 500, "struct hugetlb_inode");
	check_cache(types, "xfs_inode_cache", 600, "xfs_inode_cache");
	/* With a number behind; the struct must not be larger. */
	check_cache(types, "bio-184", 184, "struct bio");
	check_cache(types, "bio-120", 120, "struct bio");
	check_cache(types, "bio-119", 119, "bio-119");
	check_cache(types, "bio-0", 120, "struct bio");
	check_cache(types, "bio-9", 120, "struct bio");
	check_cache(types, "bio-x", 120, "bio-x");
	/* Behind the first word. */
	check_cache(types, "jbd2_journal_head", 120, "struct journal_head");
	check_cache(types, "jbd2_journal_head", 60, "jbd2_journal_head");
	/* An array at the end fills any object. */
	check_cache(types, "sgs", 4096, "struct sgs");
	check_cache(types, "sgs", 15, "sgs");
	/* Anything. */
	check_cache(types, "kmalloc-64", 64, NULL);
	check_cache(types, "kmalloc-rcl-64", 64, NULL);
	check_cache(types, "dma-kmalloc-64", 64, NULL);
	check_cache(types, "memdup_user-64", 64, NULL);
	ks_types_free(types);
	btf__free(btf);
}

static void test_merged(void **state)
{
	struct ks_cache cache[] = {
		{ .name = "dquot", .object_size = 256, .users = 3, .valid = true },
		{ .name = "lonely", .object_size = 256, .users = 1, .valid = true },
		{ .name = "kmalloc-256", .object_size = 256, .users = 2, .valid = true },
		{ .name = "unnamed", .object_size = 64, .users = 4, .valid = true },
	};
	struct ks_alias alias[] = {
		{ 0, "dquot" }, { 0, "kioctx" }, { 0, "nothing" }, { 1, "bio" }
	};
	struct ks_aliases aliases = { .items = { alias, 4, 4 } };
	struct ks_caches caches = { .items = { cache, 4, 4 } };
	struct btf *btf = make_structs();
	struct ks_types *types;
	u32 found[4], type;

	(void)state;
	assert_int_equal(ks_types_new(btf, &types), 0);
	assert_true(ks_cache_merged(&cache[0]));
	assert_false(ks_cache_merged(&cache[1]));
	assert_false(ks_cache_merged(&cache[2]));
	/* 256 bytes, and 32 less: both structs fit. */
	assert_int_equal(ks_cache_candidates(types, &caches, 0, &aliases, found, 4), 2);
	assert_string_equal(ks_type_text(types, found[0]), "dquot");
	assert_string_equal(ks_type_text(types, found[1]), "kioctx");
	assert_int_equal(ks_cache_candidates(types, &caches, 0, &aliases, found, 1), 1);
	assert_int_equal(ks_cache_candidates(types, &caches, 1, &aliases, found, 4), 0);
	type = ks_cache_either(types, &caches, 0, &aliases);
	assert_string_equal(ks_type_text(types, type), "dquot | kioctx | nothing");
	assert_int_equal(ks_cache_either(types, &caches, 1, &aliases), 0);
	assert_int_equal(ks_cache_either(types, &caches, 2, &aliases), 0);
	type = ks_cache_either(types, &caches, 3, &aliases);
	assert_string_equal(ks_type_text(types, type), "unnamed and 3 more");
	ks_types_free(types);
	btf__free(btf);
}

/* kmalloc() takes the smallest class that is large enough. */
static void test_floor(void **state)
{
	static const struct {
		const char *name;
		u32 size, floor;
	} cases[] = {
		{ "kmalloc-64", 64, 32 },
		{ "kmalloc-96", 96, 64 },
		{ "kmalloc-128", 128, 96 },
		{ "kmalloc-192", 192, 128 },
		{ "kmalloc-256", 256, 192 },
		{ "kmalloc-8k", 8192, 4096 },
		{ "dma-kmalloc-512", 512, 256 },
		{ "kmalloc-8", 8, 0 },
		{ "kmalloc-odd", 100, 0 },
		{ "dquot", 256, 192 },
		{ "tiny", 40, 0 },
		{ "edge", 64, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ks_cache cache = { .name = cases[i].name, .object_size = cases[i].size };

		if (ks_cache_floor(&cache) != cases[i].floor)
			fail_msg("%s: %u", cases[i].name, ks_cache_floor(&cache));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_members),	    cmocka_unit_test(test_types_by_name),
	cmocka_unit_test(test_cache_types), cmocka_unit_test(test_merged),
	cmocka_unit_test(test_floor),
};

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
