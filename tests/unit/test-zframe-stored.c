// SPDX-License-Identifier: GPL-2.0-only
/* Frames of zstd that are made without libzstd: libzstd reads them, and refuses one that is damaged. */
#include "ks-test.h"

#include <zstd.h>

#include "trace/zframe.h"

/* === Internals ============================================================================ */

/* Bytes that are different at each place, and in each part of the checksum. */
static u8 *content(size_t len)
{
	u8 *bytes = malloc(len + 1);
	u64 state = 88172645463325252;
	size_t i;

	assert_non_null(bytes);
	for (i = 0; i < len; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes[i] = (u8)state;
	}
	return bytes;
}

/* A frame of @len bytes; the caller frees it. */
static u8 *frame(const u8 *bytes, size_t len, bool checksum, size_t *ret_size)
{
	size_t cap = ks_zframe_bound(len);
	u8 *made = malloc(cap);
	struct ks_zframer *framer = ks_zframer_new(1);

	assert_non_null(made);
	assert_non_null(framer);
	*ret_size = checksum ? ks_zframer_make(framer, made, cap, bytes, len)
			     : ks_zframe_make(made, cap, bytes, len, 3);
	ks_zframer_free(framer);
	assert_in_range(*ret_size, len + 1, cap);
	return made;
}

/* === Tests ================================================================================ */

static void test_is_read(void **state)
{
	/* Around each step of the checksum, of a block, and of a block's last piece. */
	static const size_t lens[] = { 0,     1,      3,      4,      5,      7,      8,      9,
				       12,    31,     32,     33,     63,     64,     71,     4096,
				       65536, 131071, 131072, 131073, 262144, 262145, 1000001 };
	size_t i, size;
	int checksum;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u8 *bytes = content(lens[i]), *back = malloc(lens[i] + 1);

		for (checksum = 0; checksum <= 1; checksum++) {
			u8 *made = frame(bytes, lens[i], checksum, &size);

			assert_int_equal(ZSTD_getFrameContentSize(made, size), lens[i]);
			assert_int_equal(ZSTD_decompress(back, lens[i], made, size), lens[i]);
			assert_memory_equal(back, bytes, lens[i]);
			free(made);
		}
		free(back);
		free(bytes);
	}
}

static void test_damage_is_seen(void **state)
{
	size_t len = 200000, size, at;
	u8 *bytes = content(len), *back = malloc(len), *made = frame(bytes, len, true, &size);

	(void)state;
	for (at = 12; at < size; at += 9973) {
		made[at] ^= 1;
		assert_true(ZSTD_isError(ZSTD_decompress(back, len, made, size)));
		made[at] ^= 1;
	}
	assert_true(ZSTD_isError(ZSTD_decompress(back, len, made, size - 1)));
	free(made);
	free(back);
	free(bytes);
}

static void test_no_room(void **state)
{
	u8 bytes[100] = { 0 }, to[200];
	size_t bound = ks_zframe_bound(sizeof(bytes));

	(void)state;
	assert_int_equal(ks_zframe_make(to, bound - 1, bytes, sizeof(bytes), 1), 0);
	assert_int_not_equal(ks_zframe_make(to, bound, bytes, sizeof(bytes), 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_read),
		cmocka_unit_test(test_damage_is_seen),
		cmocka_unit_test(test_no_room),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
