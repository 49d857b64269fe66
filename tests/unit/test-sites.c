// SPDX-License-Identifier: GPL-2.0-only
/* Call sites of binary records: each address has one number, whoever shares its place in the table of the last ones. */
#include "ks-test.h"

#include "trace/rawdecode.h"

/* === Data ================================================================================= */

enum { SITES = 3 << KS_SITE_BITS };

/* === Tests ================================================================================ */

/* More sites than there are places, and the addresses that empty places hold. */
static void test_numbers(void **state)
{
	static u32 numbers[SITES];
	struct ks_names names;
	struct ks_rawdec dec;
	u64 round, i;

	assert_int_equal(ks_names_init(&names), 0);
	assert_int_equal(ks_rawdec_init(&dec, &names, false, 4096), 0);
	for (round = 0; round < 3; round++)
		for (i = 0; i < SITES; i++) {
			/* From the last to the first in the second round. */
			u64 addr = round == 1 ? SITES - 1 - i : i;
			u32 site = ks_rawdec_site(&dec, addr);

			if (!round)
				numbers[addr] = site;
			assert_int_equal(site, numbers[addr]);
			assert_true(round || site == i); /* in the order of their first use */
		}
	assert_false(dec.nomem);
	ks_rawdec_deinit(&dec);
	ks_names_deinit(&names);
}

/* Of two sites that share a place, both are known at once: neither is asked for in the large table again. */
static void test_neighbours(void **state)
{
	struct ks_names names;
	struct ks_rawdec dec;
	u64 other = 2;
	struct ks_site_memo *first, *second;

	while (ks_rawdec_site_place(other) != ks_rawdec_site_place(1))
		other++;
	assert_int_equal(ks_names_init(&names), 0);
	assert_int_equal(ks_rawdec_init(&dec, &names, false, 4096), 0);
	first = ks_rawdec_find_site(&dec, 1);
	assert_int_equal(first->site, 0);
	second = ks_rawdec_find_site(&dec, other);
	assert_int_equal(second->site, 1);
	first = ks_rawdec_find_site(&dec, 1);
	assert_int_equal(first->addr, 1);
	assert_int_equal(first->site, 0);
	assert_int_equal(second->addr, other);
	assert_int_equal(second->site, 1);
	assert_ptr_not_equal(first, second);
	ks_rawdec_deinit(&dec);
	ks_names_deinit(&names);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_numbers),
	cmocka_unit_test(test_neighbours),
};

KS_RUN(tests)
