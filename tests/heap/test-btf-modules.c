// SPDX-License-Identifier: GPL-2.0-only
/* Types of modules beside those of the kernel: two modules whose types have the same numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "heap/btf-modules.h"

/* === Internals ============================================================================ */

/* int, struct base { int one; } */
static struct btf *make_base(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	assert_true(number > 0);
	assert_int_equal(btf__add_struct(btf, "base", 4), number + 1);
	assert_int_equal(btf__add_field(btf, "one", number, 0, 0), 0);
	return btf;
}

/* struct NAME { struct base *up; struct NAME *next; int table[7]; enum NAME_state state; } */
static struct btf *make_module(struct btf *base, const char *name)
{
	struct btf *btf = btf__new_empty_split(base);
	int of_base = btf__add_ptr(btf, 2), own = of_base + 1, table, state;
	char text[64];

	assert_int_equal(btf__add_ptr(btf, of_base + 2), own);
	assert_int_equal(btf__add_struct(btf, name, 52), of_base + 2);
	table = of_base + 3;
	state = of_base + 4;
	assert_int_equal(btf__add_field(btf, "up", of_base, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "next", own, 64, 0), 0);
	assert_int_equal(btf__add_field(btf, "table", table, 128, 0), 0);
	assert_int_equal(btf__add_field(btf, "state", state, 352, 0), 0);
	assert_int_equal(btf__add_array(btf, 1, 1, 7), table);
	snprintf(text, sizeof(text), "%s_state", name);
	assert_int_equal(btf__add_enum(btf, text, 4), state);
	snprintf(text, sizeof(text), "%s_ready", name);
	assert_int_equal(btf__add_enum_value(btf, text, 1), 0);
	return btf;
}

static void add(struct ks_btf_merge *merge, const struct btf *btf, int want)
{
	u32 len;
	const void *data = btf__raw_data(btf, &len);

	assert_int_equal(ks_btf_merge_add(merge, data, len), want);
}

static const char *name_of(const struct btf *btf, u32 offset)
{
	return btf__name_by_offset(btf, offset);
}

static void check_module(const struct btf *all, const char *name)
{
	s32 id = btf__find_by_name_kind(all, name, BTF_KIND_STRUCT);
	const struct btf_type *type, *target;
	const struct btf_member *members;
	char text[64];

	assert_true(id > 2);
	type = btf__type_by_id(all, (u32)id);
	assert_int_equal(btf_vlen(type), 4);
	members = btf_members(type);
	assert_string_equal(name_of(all, members[0].name_off), "up");
	target = btf__type_by_id(all, members[0].type);
	assert_true(btf_is_ptr(target));
	assert_int_equal(target->type, 2);
	target = btf__type_by_id(all, members[1].type);
	assert_true(btf_is_ptr(target));
	assert_int_equal(target->type, id);
	target = btf__type_by_id(all, members[2].type);
	assert_true(btf_is_array(target));
	assert_int_equal(btf_array(target)->type, 1);
	assert_int_equal(btf_array(target)->nelems, 7);
	target = btf__type_by_id(all, members[3].type);
	assert_true(btf_is_enum(target));
	snprintf(text, sizeof(text), "%s_ready", name);
	assert_string_equal(name_of(all, btf_enum(target)->name_off), text);
}

/* === Tests ================================================================================ */

static void test_merge(void **state)
{
	struct btf *base = make_base(), *first = make_module(base, "first"),
		   *second = make_module(base, "second"), *all;
	struct ks_btf_merge *merge;

	assert_int_equal(ks_btf_merge_new(base, &merge), 0);
	add(merge, first, 0);
	add(merge, second, 0);
	assert_int_equal(ks_btf_merge_end(merge, &all), 0);
	assert_int_equal(btf__type_cnt(all), 3 + 5 + 5);
	check_module(all, "first");
	check_module(all, "second");
	ks_btf_merge_free(merge);
	btf__free(all);
	btf__free(second);
	btf__free(first);
	btf__free(base);
}

/* What refers to types or strings that are not there, or breaks off, is left out as a whole. */
static void test_nonsense(void **state)
{
	struct btf *base = make_base(), *first = make_module(base, "first"), *all;
	struct ks_btf_merge *merge;
	const u8 *data;
	u32 len, at;
	u8 *copy;

	data = btf__raw_data(first, &len);
	copy = malloc(len);
	assert_int_equal(ks_btf_merge_new(base, &merge), 0);
	for (at = 0; at < len; at++)
		assert_int_equal(ks_btf_merge_add(merge, data, at), KS_EBADINPUT);
	/* The pointer to the struct itself, and the name of the struct. */
	memcpy(copy, data, len);
	copy[24 + 12 + 8] = 200;
	assert_int_equal(ks_btf_merge_add(merge, copy, len), KS_EBADINPUT);
	memcpy(copy, data, len);
	copy[24 + 24 + 2] = 1;
	assert_int_equal(ks_btf_merge_add(merge, copy, len), KS_EBADINPUT);
	/* Nothing is left of them. */
	add(merge, first, 0);
	assert_int_equal(ks_btf_merge_end(merge, &all), 0);
	assert_int_equal(btf__type_cnt(all), 3 + 5);
	check_module(all, "first");
	free(copy);
	ks_btf_merge_free(merge);
	btf__free(all);
	btf__free(first);
	btf__free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_nonsense),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
