// SPDX-License-Identifier: GPL-2.0-only
/* Descriptions of events: where fields are, and the masks of flags, which are expressions of C. */
#include "ks-test.h"

#include "trace/evformat.h"

/* === Internals ============================================================================ */

static int parse(struct ks_evformat *fmt, const char *print)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "name: kmalloc\nID: 388\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:int node;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n"
		 "print fmt: \"%%s\", %s\n",
		 print);
	return ks_evformat_parse(fmt, text, strlen(text));
}

/* The mask of the one flag whose expression this is. */
static void check_mask(const char *expression, u64 want)
{
	struct ks_evformat fmt = { 0 };
	char print[512];

	snprintf(print, sizeof(print), "__print_flags(REC->gfp_flags, \"|\", { %s, \"FLAG\" })",
		 expression);
	assert_int_equal(parse(&fmt, print), 0);
	if (fmt.flags.len != 1 || fmt.flags.items[0].mask != want)
		fail_msg("%s: %zu flags, mask %llx", expression, fmt.flags.len,
			 fmt.flags.len ? (unsigned long long)fmt.flags.items[0].mask : 0);
	assert_string_equal(fmt.flags.items[0].name, "FLAG");
	ks_evformat_deinit(&fmt);
}

/* === Tests ================================================================================ */

static void test_fields(void **state)
{
	struct ks_evformat fmt = { 0 };
	const struct ks_field *field;

	assert_int_equal(parse(&fmt, "REC->ptr"), 0);
	assert_string_equal(fmt.name, "kmalloc");
	assert_int_equal(fmt.id, 388);
	assert_int_equal(fmt.flags.len, 0);
	field = ks_evformat_field(&fmt, "node");
	assert_non_null(field);
	assert_int_equal(field->offset, 8);
	assert_int_equal(field->size, 4);
	assert_true(field->is_signed);
	assert_false(field->data_loc);
	assert_true(ks_evformat_field(&fmt, "name")->data_loc);
	assert_null(ks_evformat_field(&fmt, "ptr"));
	ks_evformat_deinit(&fmt);
}

static void test_expressions(void **state)
{
	check_mask("0x400", 0x400);
	check_mask("5", 5);
	check_mask("(unsigned long)0x10", 0x10);
	check_mask("( gfp_t)0x20", 0x20);
	check_mask("(0x10)", 0x10);
	check_mask("(0)|(4)", 4);
	check_mask("(( gfp_t)((((1UL))) << (3)))", 8);
	check_mask("1UL << 7", 0x80);
	check_mask("((gfp_t)(0x400|0x800)) | ((gfp_t)0x40)", 0xc40);
	check_mask("0xff & ~0x0f", 0xf0);
}

/* Names in the order of the table, each for bits that none before it has taken; the rest as a number. */
static void test_flags(void **state)
{
	static const struct {
		u64 value;
		const char *want;
	} cases[] = { { 0xcc0, "GFP_KERNEL" }, { 0xdc0, "GFP_KERNEL|ZERO" },
		      { 0xc40, "IO|0xc00" },   { 0x100, "ZERO" },
		      { 0, "none" },	       { 0x8000000000000000, "0x8000000000000000" },
		      { 0x140, "IO|ZERO" } };
	struct ks_evformat fmt = { 0 };
	size_t i;

	assert_int_equal(parse(&fmt, "(REC->gfp_flags) ? __print_flags(REC->gfp_flags, \"|\", "
				     "{ 0xcc0, \"GFP_KERNEL\" }, { 0x40, \"IO\" }, "
				     "{ (unsigned long)(( gfp_t)0x100), \"ZERO\" } ) : \"none\""),
			 0);
	assert_int_equal(fmt.flags.len, 3);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ks_strbuf sb;

		ks_strbuf_init(&sb);
		ks_evformat_print_flags(&fmt, cases[i].value, &sb);
		assert_string_equal(ks_strbuf_str(&sb), cases[i].want);
		ks_strbuf_deinit(&sb);
	}
	ks_evformat_deinit(&fmt);
}

static void test_refusals(void **state)
{
	static const char *const bad[] = {
		"", "name: x\n", "format:\n\tfield:int a;\toffset:0;\tsize:4;\n",
		"name: x\nID: 1\nformat:\n\tfield:int a;\toffset:4294967295;\tsize:4;\tsigned:1;\n"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ks_evformat fmt = { 0 };

		assert_int_equal(ks_evformat_parse(&fmt, bad[i], strlen(bad[i])), KS_EBADINPUT);
		ks_evformat_deinit(&fmt);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_fields),
	cmocka_unit_test(test_expressions),
	cmocka_unit_test(test_flags),
	cmocka_unit_test(test_refusals),
};

KS_RUN(tests)
