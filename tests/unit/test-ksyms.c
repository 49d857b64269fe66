// SPDX-License-Identifier: GPL-2.0-only
/* The text of kallsyms: which lines are functions, and what an address is called by them. */
#include "ks-test.h"

#include "trace/ksyms.h"

#define LONG_64	 "0123456789012345678901234567890123456789012345678901234567890123"
#define LONG_512 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64

static const char lines[] = "ffffffff81000100 T first\n"
			    "ffffffff81000100 t alias\n"
			    "ffffffff81000140 D data\n"
			    "ffffffff81000180 W weak\textra\n"
			    "0000000000000000 T hidden\n"
			    "ffffffff81000200 T \tnameless\n"
			    "ffffffff81000300 T " LONG_512 "\n"
			    "ffffffff81000400 T " LONG_512 "x\n"
			    "ffffffffc0000000 t in_module\t[some_mod]\n"
			    "ffffffffc0000100 t blank_module [other]\n"
			    "ffffffffc0000200 t empty_module\t[]\n"
			    "nonsense\n"
			    "ffffffffc0000300 t last";

static void assert_name(const struct ks_ksyms *tab, u64 addr, const char *want)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	ks_ksyms_print(tab, addr, &sb);
	assert_string_equal(ks_strbuf_str(&sb), want);
	ks_strbuf_deinit(&sb);
}

static void check_names(const struct ks_ksyms *tab)
{
	assert_name(tab, 0x1000, "0x1000");
	assert_name(tab, 0xffffffff81000100, "first+0x0/0x80");
	assert_name(tab, 0xffffffff81000150, "first+0x50/0x80");
	assert_name(tab, 0xffffffff81000184, "weak+0x4/0x180");
	assert_name(tab, 0xffffffff81000204, "weak+0x84/0x180");
	assert_name(tab, 0xffffffff81000404, LONG_512 "+0x104");
	assert_name(tab, 0xffffffffc0000010, "in_module+0x10/0x100 [some_mod]");
	assert_name(tab, 0xffffffffc0000110, "blank_module+0x10/0x100 [other]");
	assert_name(tab, 0xffffffffc0000210, "empty_module+0x10/0x100");
	assert_name(tab, 0xffffffffc0000310, "last+0x10");
	assert_name(tab, 0xffffffffd0000000, "0xffffffffd0000000");
}

/* The text may begin anywhere in the memory that comes with it. */
static void test_names(void **state)
{
	size_t start, len = sizeof(lines) - 1;
	struct ks_ksyms tab;

	for (start = 0; start < 9; start += 4) {
		char *memory = malloc(start + len);

		assert_non_null(memory);
		memset(memory, 'x', start);
		memcpy(memory + start, lines, len);
		assert_int_equal(ks_ksyms_parse(&tab, memory, start, len), 0);
		check_names(&tab);
		ks_ksyms_deinit(&tab);
	}
}

/* What stands behind a name may be of any length, even one whose low 16 bits are less than the name. */
static void test_long_line(void **state)
{
	static const char head[] = "ffffffff81000100 T first ",
			  tail[] = "\nffffffff81000200 T next\n";
	size_t junk = (1 << 16) - 4, len = sizeof(head) - 1 + junk + sizeof(tail) - 1;
	char *memory = malloc(len);
	struct ks_ksyms tab;

	assert_non_null(memory);
	memset(memory, '[', len);
	memcpy(memory, head, sizeof(head) - 1);
	memcpy(memory + len - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
	assert_int_equal(ks_ksyms_parse(&tab, memory, 0, len), 0);
	assert_name(&tab, 0xffffffff81000110, "first+0x10/0x100");
	assert_name(&tab, 0xffffffff81000210, "next+0x10");
	ks_ksyms_deinit(&tab);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_names),
	cmocka_unit_test(test_long_line),
};

KS_RUN(tests)
