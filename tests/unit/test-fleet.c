// SPDX-License-Identifier: GPL-2.0-only
/* Batches there and back, damaged ones, blocks as ClickHouse's manual describes them, and verdicts on answers. */
#include "ks-test.h"

#include "base/bytes.h"
#include "fleet/answer.h"
#include "fleet/batch.h"
#include "fleet/clickhouse.h"
#include "fleet/native.h"
#include "fleet/store.h"

/* === Batches ============================================================================== */

static void make(struct ks_fleet_batch *batch)
{
	static const struct {
		const char *cache, *type;
		s64 bytes;
	} rows[] = { { "kmalloc-64", "struct a", 640 },
		     { "dentry", "", 1 },
		     { "kmalloc-64", "struct a", -64 } };
	size_t i;

	ks_fleet_batch_init(batch);
	assert_int_equal(ks_fleet_batch_name(batch, NULL, KS_FLEET_HOST, "h", &batch->host), 0);
	batch->at = 1700000000;
	batch->span = 60;
	batch->version = UINT64_MAX - 5;
	batch->uptime = UINT32_MAX;
	batch->lost = 3;
	assert_int_equal(ks_fleet_batch_label(batch, "role", "web"), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ks_fleet_row *row = ks_vec_push(&batch->rows);

		ks_fleet_batch_name(batch, NULL, KS_FLEET_CACHE, rows[i].cache, &row->cache);
		ks_fleet_batch_name(batch, NULL, KS_FLEET_TYPE, rows[i].type, &row->type);
		row->live_bytes = rows[i].bytes;
		row->live_objects = INT64_MIN;
		row->allocs = UINT64_MAX;
		row->std_error = 1.5f;
		row->quality = KS_FLEET_SAMPLED;
	}
}

static void test_batch(void **state)
{
	struct ks_fleet_batch batch, back;
	struct ks_diag diag;
	struct ks_strbuf out;
	size_t pos = 0, i, n = 0;
	u64 kmalloc = ks_fleet_id(KS_FLEET_CACHE, "kmalloc-64", 10);

	make(&batch);
	batch.rows.items[2].live_objects = batch.rows.items[0].live_objects = 5;
	batch.rows.items[2].allocs = 0;
	ks_fleet_batch_sort(&batch);
	assert_int_equal(batch.rows.len, 2); /* two of one series are one */
	ks_strbuf_init(&out);
	assert_int_equal(ks_fleet_batch_pack(&batch, &out), 0);
	assert_int_equal(ks_fleet_batch_pack(&batch, &out), 0);
	for (;;) {
		ks_fleet_batch_init(&back);
		if (ks_fleet_batch_unpack(&back, out.s, out.len, &pos, &diag) != 1)
			break;
		n++;
		assert_int_equal(back.host, ks_fleet_id(KS_FLEET_HOST, "h", 1));
		assert_int_equal(back.version, UINT64_MAX - 5);
		assert_int_equal(back.uptime, UINT32_MAX);
		assert_int_equal(back.lost, 3);
		assert_string_equal(back.labels.items[0].value, "web");
		assert_int_equal(back.names.items[0].id, back.host);
		for (i = 0; i < 2; i++) {
			const struct ks_fleet_row *row = &back.rows.items[i];

			assert_true(row->cache == kmalloc
					    ? row->live_bytes == 576 && row->live_objects == 10
					    : row->live_bytes == 1 &&
						      row->live_objects == INT64_MIN);
			assert_true(row->std_error == (row->cache == kmalloc ? 3.0f : 1.5f));
			assert_true(row->allocs == UINT64_MAX && row->quality == KS_FLEET_SAMPLED);
		}
		ks_fleet_batch_deinit(&back);
	}
	assert_int_equal(n, 2);
	assert_int_equal(pos, out.len);
	ks_fleet_batch_deinit(&back);
	ks_fleet_batch_deinit(&batch);
	ks_strbuf_deinit(&out);
}

/* Whatever is cut off or changed, is refused, or read without harm. */
static void test_damage(void **state)
{
	struct ks_fleet_batch batch, back;
	struct ks_diag diag;
	struct ks_strbuf out;
	size_t i, pos;

	make(&batch);
	ks_fleet_batch_sort(&batch);
	ks_strbuf_init(&out);
	assert_int_equal(ks_fleet_batch_pack(&batch, &out), 0);
	for (i = 1; i < out.len; i++) {
		ks_fleet_batch_init(&back);
		pos = 0;
		assert_int_equal(ks_fleet_batch_unpack(&back, out.s, i, &pos, &diag), KS_EBADINPUT);
		assert_int_equal(pos, 0);
		ks_fleet_batch_deinit(&back);
	}
	for (i = 0; i < out.len * 8; i++) {
		out.s[i / 8] = (char)(out.s[i / 8] ^ 1 << i % 8);
		ks_fleet_batch_init(&back);
		pos = 0;
		ks_fleet_batch_unpack(&back, out.s, out.len, &pos, &diag);
		ks_fleet_batch_deinit(&back);
		out.s[i / 8] = (char)(out.s[i / 8] ^ 1 << i % 8);
	}
	/* No host, an interval of two days, an error that is no number. */
	for (i = 0; i < 3; i++) {
		if (i == 0)
			batch.host = 0;
		if (i == 1)
			batch.host = 1, batch.span = 2 * 86400;
		if (i == 2)
			batch.span = 60, batch.rows.items[0].std_error = __builtin_nanf("");
		out.len = 0;
		assert_int_equal(ks_fleet_batch_pack(&batch, &out), 0);
		ks_fleet_batch_init(&back);
		pos = 0;
		assert_int_equal(ks_fleet_batch_unpack(&back, out.s, out.len, &pos, &diag),
				 KS_EBADINPUT);
		ks_fleet_batch_deinit(&back);
	}
	ks_fleet_batch_deinit(&batch);
	ks_strbuf_deinit(&out);
}

/* The hash is part of the format: these were computed by a program in another language. */
static void test_ids(void **state)
{
	assert_true(ks_fleet_id(KS_FLEET_HOST, "", 0) == 0);
	assert_true(ks_fleet_id(KS_FLEET_HOST, "alpha", 5) == 0x961f92f694994e0ull);
	assert_true(ks_fleet_id(KS_FLEET_SITE, "alpha", 5) == 0x1ea3506bdf24a455ull);
}

/* === Blocks =============================================================================== */

static const char *string(struct ks_bytes *b)
{
	static char text[64];
	size_t len;
	const char *s = ks_bytes_string(b, &len);

	assert_non_null(s);
	assert_true(len < sizeof(text));
	memcpy(text, s, len);
	text[len] = '\0';
	return text;
}

/* Number of columns, number of rows, then for each column its name, its type and all of its values. */
static void test_native(void **state)
{
	static const struct ks_native_column columns[] = { { "a", KS_NATIVE_U8 },
							   { "t", KS_NATIVE_TIME },
							   { "s", KS_NATIVE_STRING },
							   { "d", KS_NATIVE_S64 } };
	struct ks_native block;
	struct ks_strbuf out, list;
	struct ks_bytes b;

	assert_int_equal(ks_native_init(&block, columns, ARRAY_SIZE(columns)), 0);
	ks_native_number(&block, 7);
	ks_native_number(&block, 1700000000);
	ks_native_string(&block, "x\0y", 3);
	ks_native_number(&block, (u64)-2);
	ks_native_number(&block, 255);
	ks_native_number(&block, 1);
	ks_native_string(&block, "", 0);
	ks_native_number(&block, 3);
	ks_strbuf_init(&out);
	ks_strbuf_init(&list);
	ks_native_finish(&block, &out);
	assert_false(out.failed);
	ks_bytes_init(&b, out.s, out.len);
	assert_int_equal(ks_bytes_varint(&b), 4);
	assert_int_equal(ks_bytes_varint(&b), 2);
	assert_string_equal(string(&b), "a");
	assert_string_equal(string(&b), "UInt8");
	assert_int_equal(ks_bytes_u8(&b), 7);
	assert_int_equal(ks_bytes_u8(&b), 255);
	assert_string_equal(string(&b), "t");
	assert_string_equal(string(&b), "DateTime");
	assert_int_equal(ks_bytes_u32(&b), 1700000000);
	assert_int_equal(ks_bytes_u32(&b), 1);
	assert_string_equal(string(&b), "s");
	assert_string_equal(string(&b), "String");
	assert_int_equal(ks_bytes_u8(&b), 3);
	assert_memory_equal(ks_bytes_take(&b, 3), "x\0y", 3);
	assert_int_equal(ks_bytes_u8(&b), 0);
	assert_string_equal(string(&b), "d");
	assert_string_equal(string(&b), "Int64");
	assert_int_equal((s64)ks_bytes_u64(&b), -2);
	assert_int_equal(ks_bytes_u64(&b), 3);
	assert_false(b.overrun);
	assert_int_equal(ks_bytes_left(&b), 0);
	ks_native_names(columns, 2, &list);
	assert_string_equal(ks_strbuf_str(&list), "(a, t)");
	ks_native_clear(&block);
	out.len = 0;
	ks_native_finish(&block, &out);
	ks_bytes_init(&b, out.s, out.len);
	assert_int_equal(ks_bytes_varint(&b), 4);
	assert_int_equal(ks_bytes_varint(&b), 0);
	ks_native_deinit(&block);
	ks_strbuf_deinit(&out);
	ks_strbuf_deinit(&list);
}

/* === Answers ============================================================================== */

static void test_verdicts(void **state)
{
	static const struct {
		long status;
		const char *body;
		enum ks_http_verdict verdict;
		u32 code;
	} cases[] = {
		{ 200, "", KS_HTTP_DONE, 0 },
		{ 200, "1\n", KS_HTTP_DONE, 0 },
		{ 500, "Code: 252, e.displayText() = DB::Exception: Too many parts", KS_HTTP_AGAIN,
		  252 },
		{ 404, "Code: 225, ...", KS_HTTP_AGAIN, 225 }, /* the status says little */
		{ 500, "Code: 319. Unknown status", KS_HTTP_AGAIN, 319 },
		{ 404, "Code: 60, ...", KS_HTTP_SET_UP, 60 },
		{ 401, "Code: 192, ...", KS_HTTP_SET_UP, 192 },
		{ 500, "Code: 27, ...", KS_HTTP_REFUSED, 27 },
		{ 500, "Code: 33, ...", KS_HTTP_REFUSED, 33 },
		{ 200, "Code: 241, in the middle of an answer", KS_HTTP_AGAIN, 241 },
		{ 502, "<html>Bad gateway", KS_HTTP_AGAIN, 0 },
		{ 429, "", KS_HTTP_AGAIN, 0 },
		{ 403, "", KS_HTTP_SET_UP, 0 },
		{ 413, "", KS_HTTP_REFUSED, 0 },
		{ 0, "", KS_HTTP_AGAIN, 0 },
	};
	size_t i;
	u32 code;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(ks_http_judge(cases[i].status, cases[i].body, &code),
				 cases[i].verdict);
		assert_int_equal(code, cases[i].code);
	}
}

static void test_backoff(void **state)
{
	assert_int_equal(ks_http_backoff_ms(1, 0), 500);
	assert_int_equal(ks_http_backoff_ms(1, 500), 1000);
	assert_int_equal(ks_http_backoff_ms(2, 0), 1000);
	assert_int_equal(ks_http_backoff_ms(5, 0), 8000);
	assert_int_equal(ks_http_backoff_ms(4000000000u, 0), 150000);
	assert_true(ks_http_backoff_ms(30, UINT64_MAX) <= 300000);
}

static void test_sql(void **state)
{
	struct ks_strbuf out;

	ks_strbuf_init(&out);
	ks_sql_quote(&out, "a'); DROP TABLE x; --\\\n", 23);
	assert_string_equal(ks_strbuf_str(&out), "'a\\'); DROP TABLE x; --\\\\\\x0A'");
	ks_strbuf_deinit(&out);
	assert_true(ks_store_check_name("kmemscope_2"));
	assert_false(ks_store_check_name(""));
	assert_false(ks_store_check_name("2x"));
	assert_false(ks_store_check_name("a; DROP"));
	assert_false(ks_store_check_name("a.b"));
}

static void test_field(void **state)
{
	struct ks_strbuf out;
	const char *end;

	ks_strbuf_init(&out);
	end = ks_answer_field("a\\tb\\\\c\\'\\n\trest", &out);
	assert_string_equal(ks_strbuf_str(&out), "a\tb\\c'\n");
	assert_string_equal(end, "\trest");
	out.len = 0;
	end = ks_answer_field("\\", &out);
	assert_string_equal(end, "");
	ks_strbuf_deinit(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_batch),	 cmocka_unit_test(test_damage),
	cmocka_unit_test(test_ids),	 cmocka_unit_test(test_native),
	cmocka_unit_test(test_verdicts), cmocka_unit_test(test_backoff),
	cmocka_unit_test(test_sql),	 cmocka_unit_test(test_field),
};

KS_RUN(tests)
