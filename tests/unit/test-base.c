// SPDX-License-Identifier: GPL-2.0-only
/* Tests of src/base. */
#include "ks-test.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/escape.h"
#include "base/intern.h"
#include "base/late.h"
#include "base/map64.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/pack.h"
#include "base/u128.h"

static void test_intern(void **state)
{
	struct ks_intern in;
	char name[32];
	u32 i;

	(void)state;
	assert_int_equal(ks_intern_init(&in), 0);
	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "name-%u", i);
		assert_int_equal(ks_intern_add(&in, name, strlen(name)), i);
	}
	for (i = 0; i < 5000; i += 7) {
		snprintf(name, sizeof(name), "name-%u", i);
		assert_int_equal(ks_intern_add(&in, name, strlen(name)), i);
		assert_int_equal(ks_intern_find(&in, name, strlen(name)), i);
		assert_string_equal(ks_intern_get(&in, i).s, name);
	}
	/* Equal beginnings, embedded NUL, the empty string: all different. */
	assert_int_equal(ks_intern_add(&in, "a\0b", 3), 5000);
	assert_int_equal(ks_intern_add(&in, "a\0c", 3), 5001);
	assert_int_equal(ks_intern_add(&in, "a", 1), 5002);
	assert_int_equal(ks_intern_add(&in, "", 0), 5003);
	assert_int_equal(ks_intern_find(&in, "absent", 6), KS_NONE);
	ks_intern_deinit(&in);
}

static void test_map64(void **state)
{
	struct ks_map64 map;
	u64 i;

	(void)state;
	assert_int_equal(ks_map64_init(&map), 0);
	for (i = 0; i < 3000; i++)
		assert_int_equal(ks_map64_add(&map, i << 40), i);
	for (i = 0; i < 3000; i++)
		assert_int_equal(ks_map64_find(&map, i << 40), i);
	assert_int_equal(ks_map64_find(&map, 1), KS_NONE);
	ks_map64_clear(&map);
	assert_int_equal(ks_map64_find(&map, 0), KS_NONE);
	assert_int_equal(ks_map64_add(&map, 77), 0);
	ks_map64_deinit(&map);
}

static void test_bytes_bounds(void **state)
{
	static const u8 data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct ks_bytes b;

	(void)state;
	ks_bytes_init(&b, data, sizeof(data));
	assert_int_equal(ks_bytes_u16(&b), 0x0201);
	assert_int_equal(ks_bytes_u32(&b), 0x06050403);
	b.big_endian = true;
	assert_int_equal(ks_bytes_u16(&b), 0x0708);
	assert_int_equal(ks_bytes_u32(&b), 0); /* one byte is left */
	assert_true(b.overrun);
	assert_int_equal(ks_bytes_u8(&b), 0); /* the flag stays */
}

static void test_varint(void **state)
{
	static const u64 values[] = {
		0, 1, 127, 128, 300, 16383, 16384, 1ull << 32, UINT64_MAX, 5
	};
	static const u8 endless[] = {
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0
	};
	static const u8 too_big[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	static const u8 long_string[] = { 5, 'a', 'b' };
	struct ks_strbuf sb;
	struct ks_bytes b;
	size_t i, len;

	(void)state;
	ks_strbuf_init(&sb);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		ks_pack_varint(&sb, values[i]);
	ks_pack_string(&sb, "hello", 5);
	ks_bytes_init(&b, sb.s, sb.len);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		assert_true(ks_bytes_varint(&b) == values[i]);
	assert_memory_equal(ks_bytes_string(&b, &len), "hello", 5);
	assert_int_equal(ks_bytes_left(&b), 0);
	assert_false(b.overrun);
	ks_strbuf_deinit(&sb);

	ks_bytes_init(&b, endless, sizeof(endless));
	ks_bytes_varint(&b);
	assert_true(b.overrun);
	ks_bytes_init(&b, too_big, sizeof(too_big));
	ks_bytes_varint(&b);
	assert_true(b.overrun);
	ks_bytes_init(&b, endless, 3); /* ends too early */
	assert_int_equal(ks_bytes_varint(&b), 0);
	assert_true(b.overrun);
	ks_bytes_init(&b, endless, 1);
	assert_int_equal(ks_bytes_varint(&b), 0);
	assert_true(b.overrun);
	assert_int_equal(ks_bytes_varint(&b), 0);
	ks_bytes_init(&b, long_string, sizeof(long_string));
	assert_null(ks_bytes_string(&b, &len));
	assert_true(b.overrun);
}

/*
 * Reading four numbers at a time gives the same as one by one, for all lengths and all ends of the
 * data.
 */
static void test_varints(void **state)
{
	enum { N = 400 };
	u64 values[N], got[4];
	struct ks_strbuf sb;
	struct ks_bytes b, one;
	size_t i, cut;

	(void)state;
	ks_strbuf_init(&sb);
	for (i = 0; i < N; i++) {
		values[i] = (i * 0x9e3779b97f4a7c15ull) >> (i % 7 ? 50 + i % 14 : i % 64);
		ks_pack_varint(&sb, values[i]);
	}
	ks_bytes_init(&b, sb.s, sb.len);
	for (i = 0; i < N; i += 4) {
		ks_bytes_varints(&b, 4, got);
		assert_memory_equal(got, &values[i], sizeof(got));
	}
	assert_int_equal(ks_bytes_left(&b), 0);
	assert_false(b.overrun);
	for (cut = 0; cut < 40; cut++) {
		ks_bytes_init(&b, sb.s, cut);
		ks_bytes_init(&one, sb.s, cut);
		while (!b.overrun) {
			ks_bytes_varints(&b, 3, got);
			for (i = 0; i < 3; i++)
				assert_true(ks_bytes_varint(&one) == got[i]);
			assert_int_equal(b.overrun, one.overrun);
		}
	}
	ks_strbuf_deinit(&sb);
}

static void test_numbers(void **state)
{
	u64 v;

	(void)state;
	assert_int_equal(ks_parse_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(ks_parse_u64("18446744073709551616", &v), -ERANGE);
	assert_int_equal(ks_parse_u64("", &v), -EINVAL);
	assert_int_equal(ks_parse_u64("12x", &v), -EINVAL);
	assert_int_equal(ks_parse_u64("-1", &v), -EINVAL);
	assert_int_equal(ks_parse_time("1.5", &v), 0);
	assert_int_equal(v, 1500000000);
	assert_int_equal(ks_parse_time("20ms", &v), 0);
	assert_int_equal(v, 20000000);
	assert_int_equal(ks_parse_time("0.000000001", &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(ks_parse_time("1.0000000001", &v), -EINVAL);
	assert_int_equal(ks_parse_time("1.", &v), -EINVAL);
	assert_int_equal(ks_parse_time("1 s", &v), -EINVAL);
	assert_int_equal(ks_parse_time("18446744074", &v), -ERANGE);
	assert_int_equal(ks_parse_size("4096", &v), 0);
	assert_int_equal(v, 4096);
	assert_int_equal(ks_parse_size("64k", &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(ks_parse_size("2G", &v), 0);
	assert_true(v == 2147483648);
	assert_int_equal(ks_parse_size("M", &v), -EINVAL);
	assert_int_equal(ks_parse_size("0", &v), -EINVAL);
	assert_int_equal(ks_parse_size("16777216T", &v), -EINVAL);
}

static void check_escape(void (*escape)(struct ks_strbuf *, const char *, size_t), const char *in,
			 size_t len, const char *want)
{
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	escape(&sb, in, len);
	assert_string_equal(ks_strbuf_str(&sb), want);
	ks_strbuf_deinit(&sb);
}

static void test_escape(void **state)
{
	(void)state;
	check_escape(ks_escape_tty, "a\033[31mb\r\n", 9, "a\\x1b[31mb\\x0d\\x0a");
	check_escape(ks_escape_tty, "gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
	check_escape(ks_escape_tty, "\xc2\x9b", 2,
		     "\\xc2\\x9b"); /* C1: an escape character in some terminals */
	check_escape(ks_escape_tty, "\xe2\x80\xae", 3,
		     "\\xe2\\x80\\xae"); /* right-to-left override */
	check_escape(ks_escape_tty, "\xc0\xaf\xff", 3, "\\xc0\\xaf\\xff");
	check_escape(ks_escape_json, "a\"b\\c\n\x01\xff", 8, "a\\\"b\\\\c\\u000a\\u0001\\ufffd");
	check_escape(ks_escape_json, "\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd"); /* a surrogate */
	check_escape(ks_escape_csv, "plain", 5, "plain");
	check_escape(ks_escape_csv, "a,b", 3, "\"a,b\"");
	check_escape(ks_escape_csv, "say \"x\"", 7, "\"say \"\"x\"\"\"");
	check_escape(ks_escape_csv, "=1+1", 4, "\"'=1+1\"");
}

/* What has run out of memory before has failed for good, whatever is appended. */
static void test_escape_failed(void **state)
{
	void (*const escapes[])(struct ks_strbuf *, const char *,
				size_t) = { ks_escape_tty, ks_escape_json, ks_escape_csv,
					    ks_escape_xml };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(escapes); i++) {
		struct ks_strbuf sb = { .failed = true };

		escapes[i](&sb, "a<b", 3);
		assert_true(sb.failed);
		assert_int_equal(sb.len, 0);
		ks_strbuf_deinit(&sb);
	}
}

static void test_outfile(void **state)
{
	char *path = scratch_path("out"), *tmp;
	struct ks_outfile out;
	struct ks_diag diag = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(ks_outfile_open(&out, path, &diag), 0);
	assert_int_equal(ks_outfile_write(&out, "x", 1, &diag), 0);
	assert_int_equal(stat(path, &st), -1); /* it does not exist before it is complete */
	ks_outfile_abort(&out);
	assert_int_equal(stat(path, &st), -1);

	assert_int_equal(ks_outfile_open(&out, path, &diag), 0);
	assert_int_equal(ks_outfile_write(&out, "secret", 6, &diag), 0);
	assert_int_equal(ks_outfile_commit(&out, &diag), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 6);
	unlink(path);

	assert_int_equal(ks_outfile_open(&out, "/nonexistent/dir/x", &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "/nonexistent/dir/x"));
	assert_int_equal(ks_outfile_open(&out, "/", &diag), -EISDIR);
	assert_int_equal(ks_outfile_open(&out, "/dev/full", &diag), 0);
	assert_int_equal(ks_outfile_write(&out, "x", 1, &diag), -ENOSPC);
	ks_outfile_abort(&out);

	/* Its place is taken meanwhile: the error is that of the rename, and nothing is left. */
	assert_int_equal(ks_outfile_open(&out, path, &diag), 0);
	tmp = strdup(out.tmp_path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(ks_outfile_commit(&out, &diag), -EISDIR);
	assert_non_null(strstr(diag.text, strerror(EISDIR)));
	assert_int_equal(stat(tmp, &st), -1);
	assert_int_equal(rmdir(path), 0);
	free(tmp);
	free(path);
}

static void test_outfile_stdout(void **state)
{
	struct ks_outfile out;
	struct ks_diag diag = { 0 };
	int saved, err;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	close(STDOUT_FILENO);
	err = ks_outfile_open_stdout(&out, &diag);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(err, -EBADF);
	assert_int_equal(diag.err, -EBADF);
	assert_non_null(strstr(diag.text, strerror(EBADF)));
	assert_int_equal(out.fd, -1);
}

/* === Numbers of 128 bits ================================================================== */

static const u64 edges[] = { 0,		 1,
			     2,		 3,
			     1000000000, UINT32_MAX,
			     1ull << 32, 0x123456789abcdef0,
			     1ull << 63, UINT64_MAX - 1,
			     UINT64_MAX };

static void assert_same(struct ks_u128 a, u64 hi, u64 lo)
{
	assert_true(a.hi == hi && a.lo == lo);
}

static void test_u128(void **state)
{
	const struct ks_u128 max = { UINT64_MAX, UINT64_MAX };

	/* (2^64 - 1)^2 = 2^128 - 2^65 + 1 */
	assert_same(ks_u128_mul(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1, 1);
	assert_same(ks_u128_add(ks_u128_of(UINT64_MAX), ks_u128_of(1)), 1, 0);
	assert_same(ks_u128_add(max, ks_u128_of(1)), UINT64_MAX, UINT64_MAX);
	assert_same(ks_u128_add((struct ks_u128){ UINT64_MAX, 1 }, ks_u128_of(UINT64_MAX)),
		    UINT64_MAX, UINT64_MAX);
	assert_same(ks_u128_sub((struct ks_u128){ 1, 0 }, ks_u128_of(1)), 0, UINT64_MAX);
	assert_same(ks_u128_sub(ks_u128_of(1), ks_u128_of(2)), 0, 0);
	assert_int_equal(ks_u128_div((struct ks_u128){ 1, 0 }, 2), 1ull << 63);
	assert_true(ks_u128_div((struct ks_u128){ 2, 0 }, 2) == UINT64_MAX);
	assert_int_equal(ks_u128_shift_right((struct ks_u128){ 1, 0 }, 1), 1ull << 63);
	assert_int_equal(ks_u128_shift_right((struct ks_u128){ 4, 7 }, 0), 7);
	assert_int_equal(ks_u128_shift_right((struct ks_u128){ 4, 7 }, 65), 2);
	assert_int_equal(ks_mul_div(UINT64_MAX, 1000, UINT64_MAX), 1000);
	assert_true(ks_mul_div(UINT64_MAX, 3, 2) == UINT64_MAX);
}

/* What 32-bit machines use gives what this machine's own arithmetic does. */
static void test_u128_portable(void **state)
{
	size_t i, j, k;

	for (i = 0; i < ARRAY_SIZE(edges); i++)
		for (j = 0; j < ARRAY_SIZE(edges); j++) {
			struct ks_u128 product = ks_u128_mul(edges[i], edges[j]);

			assert_same(ks_u128_mul_portable(edges[i], edges[j]), product.hi,
				    product.lo);
			for (k = 1; k < ARRAY_SIZE(edges); k++)
				assert_true(ks_u128_div_portable(product, edges[k]) ==
					    ks_u128_div(product, edges[k]));
		}
}

/* === Errors =============================================================================== */

/* Of the C library, which every machine has under this name. */
static void test_late(void **state)
{
	struct {
		long (*strtol)(const char *text, char **end, int base);
		size_t (*strlen)(const char *text);
	} late = { 0 };
	const char *const names[] = { "strtol", "strlen" }, *const absent[] = { "strtol",
										"absent" };
	struct ks_diag diag;

	(void)state;
	assert_int_equal(ks_late_load("libabsent.so.1", names, 2, &late, &diag), -ELIBACC);
	assert_non_null(strstr(diag.text, "libabsent.so.1"));
	assert_int_equal(ks_late_load("libc.so.6", absent, 2, &late, &diag), -ELIBACC);
	assert_non_null(strstr(diag.text, "absent"));
	assert_null(late.strlen);
	assert_int_equal(ks_late_load("libc.so.6", names, 2, &late, &diag), 0);
	assert_int_equal(late.strtol("-42", NULL, 10), -42);
	assert_int_equal(late.strlen("seven.."), 7);
	/* What is there is not looked for again. */
	assert_int_equal(ks_late_load("libabsent.so.1", names, 2, &late, &diag), 0);
}

/* A disk that fails a checksum of its own (EBADMSG) is no bad input: no errno is. */
static void test_bad_input_is_no_errno(void **state)
{
	enum { ERRNO_MAX = 4095 }; /* the largest that a system call can return */
	struct ks_diag diag;

	assert_true(KS_EBADINPUT < -ERRNO_MAX);
	assert_int_equal(ks_diag_set(&diag, -EBADMSG, "a disk"), -EBADMSG);
	assert_int_equal(diag.err, -EBADMSG);
	assert_int_equal(ks_diag_nomem(&diag, "counting"), -ENOMEM);
	assert_int_equal(diag.err, -ENOMEM);
	assert_non_null(strstr(diag.text, "counting"));
	assert_int_equal(ks_diag_set(NULL, -EIO, "nobody listens"), -EIO);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_bad_input_is_no_errno),

	cmocka_unit_test(test_u128),
	cmocka_unit_test(test_u128_portable),
	cmocka_unit_test(test_intern),
	cmocka_unit_test(test_map64),
	cmocka_unit_test(test_late),
	cmocka_unit_test(test_bytes_bounds),
	cmocka_unit_test(test_varint),
	cmocka_unit_test(test_varints),
	cmocka_unit_test(test_numbers),
	cmocka_unit_test(test_escape),
	cmocka_unit_test(test_escape_failed),
	cmocka_unit_test(test_outfile),
	cmocka_unit_test(test_outfile_stdout),
};

KS_RUN(tests)
