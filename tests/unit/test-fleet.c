// SPDX-License-Identifier: GPL-2.0-only
/* Batches there and back, damaged ones, blocks as ClickHouse's manual describes them, and verdicts on answers. */
#include "ks-test.h"

#include <errno.h>
#include <math.h>

#include "base/bytes.h"
#include "fleet/agent.h"
#include "fleet/answer.h"
#include "fleet/batch.h"
#include "fleet/clickhouse.h"
#include "fleet/native.h"
#include "fleet/sample.h"
#include "fleet/store.h"
#include "fleet/tokens.h"
#include "fleet/verdict.h"
#include "live/build.h"

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

/* What is no UTF-8 is written as digits, so that a reader, who refuses such bytes, takes it. */
static void test_text(void **state)
{
	static const char long_name[KS_FLEET_NAME_MAX + 2] = { [0 ... KS_FLEET_NAME_MAX] = '\xff' };
	struct ks_fleet_batch batch, back;
	struct ks_strbuf out;
	struct ks_diag diag;
	size_t pos = 0;
	u64 id;

	make(&batch);
	ks_fleet_batch_sort(&batch);
	assert_int_equal(ks_fleet_batch_name(&batch, NULL, KS_FLEET_CGROUP, "/a\xff\u00e4", &id),
			 0);
	assert_int_equal(id, ks_fleet_id(KS_FLEET_CGROUP, "/a\\xff\u00e4", 8));
	assert_int_equal(ks_fleet_batch_name(&batch, NULL, KS_FLEET_CGROUP, long_name, &id), 0);
	assert_int_equal(ks_fleet_batch_label(&batch, "x\xc3", "\x80"), 0);
	ks_strbuf_init(&out);
	assert_int_equal(ks_fleet_batch_pack(&batch, &out), 0);
	ks_fleet_batch_init(&back);
	assert_int_equal(ks_fleet_batch_unpack(&back, out.s, out.len, &pos, &diag), 1);
	assert_string_equal(back.labels.items[1].name, "x\\xc3");
	assert_string_equal(back.labels.items[1].value, "\\x80");
	assert_int_equal(back.names.items[back.names.len - 1].len, KS_FLEET_NAME_MAX);
	ks_fleet_batch_deinit(&back);
	ks_strbuf_deinit(&out);
	/* A sender that does not do that. */
	((char *)(uintptr_t)batch.labels.items[0].value)[0] = '\xff';
	pos = 0;
	assert_int_equal(ks_fleet_batch_pack(&batch, &out), 0);
	ks_fleet_batch_init(&back);
	assert_int_equal(ks_fleet_batch_unpack(&back, out.s, out.len, &pos, &diag), KS_EBADINPUT);
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

/* === Rows of a look at the kernel ========================================================= */

static struct ks_live_cell *put_cell(struct ks_live_snapshot *s, enum ks_live_part part,
				     const char *cache, const char *type, const char *stack,
				     u64 objects, u64 bytes)
{
	const char *names[KS_LIVE_BYS] = {
		[KS_LIVE_BY_CACHE] = cache, [KS_LIVE_BY_TYPE] = type, [KS_LIVE_BY_STACK] = stack
	};
	struct ks_live_cell *cell = ks_live_cell(s, part, names);

	assert_non_null(cell);
	cell->objects = objects;
	cell->bytes = bytes;
	s->parts[part].present = true;
	return cell;
}

/* The row of these names, which must be there once. */
static const struct ks_fleet_row *find_row(const struct ks_fleet_batch *b, const char *cache,
					   const char *type, const char *stack)
{
	const struct ks_fleet_row *found = NULL;
	size_t i;

	for (i = 0; i < b->rows.len; i++) {
		const struct ks_fleet_row *row = &b->rows.items[i];

		if (row->cache != ks_fleet_id(KS_FLEET_CACHE, cache, strlen(cache)) ||
		    row->type != (*type ? ks_fleet_id(KS_FLEET_TYPE, type, strlen(type)) : 0) ||
		    row->stack != (*stack ? ks_fleet_id(KS_FLEET_STACK, stack, strlen(stack)) : 0))
			continue;
		assert_null(found);
		found = row;
	}
	assert_non_null(found);
	return found;
}

static void test_sample_live(void **state)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(1);
	const struct ks_fleet_row *row;
	struct ks_fleet_batch b;
	struct ks_diag diag;

	ks_fleet_batch_init(&b);
	assert_int_equal(ks_fleet_sample_live(&b, NULL, s, false, &diag), -ENODATA);
	assert_non_null(strstr(diag.text, "caches"));
	put_cell(s, KS_LIVE_CACHES, "dentry", NULL, NULL, 10, 1920);
	put_cell(s, KS_LIVE_CACHES, "kmalloc-64", NULL, NULL, 20, 1280);
	put_cell(s, KS_LIVE_CACHES, "empty", NULL, NULL, 0, 0);
	assert_int_equal(ks_fleet_sample_live(&b, NULL, s, true, &diag), -ENODATA);
	assert_non_null(strstr(diag.text, "types"));
	put_cell(s, KS_LIVE_TYPES, "kmalloc-64", "cred", NULL, 20, 1280);
	put_cell(s, KS_LIVE_TRACED, "kmalloc-64", NULL, "in+0x1 <- mid+0x2 <- out+0x3", 3, 192)
		->variance = 100;
	s->at_ns = 77999999999;

	assert_int_equal(ks_fleet_sample_live(&b, NULL, s, false, &diag), 0);
	assert_int_equal(b.rows.len, 3);
	assert_int_equal(b.uptime, 77);
	assert_int_equal(b.torn, 0);
	assert_int_equal(b.quality, KS_FLEET_NO_RATES | KS_FLEET_SAMPLED);
	row = find_row(&b, "dentry", "", "");
	assert_int_equal(row->live_bytes, 1920);
	assert_int_equal(row->live_objects, 10);
	assert_int_equal(row->quality, KS_FLEET_NO_RATES);
	assert_true(row->std_error == 0);
	/* What was traced has a row of its own, and the sum of the cache stays what was counted. */
	row = find_row(&b, "kmalloc-64", "", "out+0x3;mid+0x2;in+0x1");
	assert_int_equal(row->live_bytes, 192);
	assert_int_equal(row->live_objects, 3);
	assert_true(row->std_error == 10);
	assert_int_equal(row->quality, KS_FLEET_NO_RATES | KS_FLEET_SAMPLED);
	row = find_row(&b, "kmalloc-64", "", "");
	assert_int_equal(row->live_bytes, 1280 - 192);
	assert_int_equal(row->live_objects, 20 - 3);
	ks_fleet_batch_deinit(&b);

	ks_fleet_batch_init(&b);
	s->quality.torn = 1ull << 40;
	assert_int_equal(ks_fleet_sample_live(&b, NULL, s, true, &diag), 0);
	assert_int_equal(find_row(&b, "kmalloc-64", "cred", "")->live_bytes, 1280);
	assert_int_equal(find_row(&b, "kmalloc-64", "", "")->live_bytes, -192);
	assert_true(b.torn == UINT32_MAX);
	assert_int_equal(b.quality, KS_FLEET_NO_RATES | KS_FLEET_SAMPLED | KS_FLEET_TORN);
	ks_fleet_batch_deinit(&b);
	ks_live_snapshot_put(s);
}

/* A stack that is longer than a name loses whole frames, at the outer end. */
static void test_long_stack(void **state)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(1);
	char stack[8192], expected[8192], frame[128];
	struct ks_fleet_batch b;
	struct ks_diag diag;
	size_t i, len = 0, fit = 0;

	/* 60 frames of 100 characters with an arrow of 4 behind each: 39 of them end before 4096. */
	for (i = 0; i < 60; i++) {
		memset(frame, 'a' + (int)(i % 26), 100);
		frame[100] = '\0';
		len += (size_t)sprintf(stack + len, "%s%s", i ? " <- " : "", frame);
		if (len < KS_FLEET_NAME_MAX)
			fit = i + 1;
	}
	assert_int_equal(fit, 39);
	for (len = 0, i = fit; i--;) {
		memset(frame, 'a' + (int)(i % 26), 100);
		len += (size_t)sprintf(expected + len, "%s%s", len ? ";" : "", frame);
	}
	put_cell(s, KS_LIVE_CACHES, "dentry", NULL, NULL, 10, 1920);
	put_cell(s, KS_LIVE_TRACED, "dentry", NULL, stack, 3, 192);
	ks_fleet_batch_init(&b);
	assert_int_equal(ks_fleet_sample_live(&b, NULL, s, false, &diag), 0);
	assert_int_equal(find_row(&b, "dentry", "", expected)->live_bytes, 192);
	ks_fleet_batch_deinit(&b);
	ks_live_snapshot_put(s);
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

/* Against a table of Student's distribution: t and sigmas of the same probability. */
static void test_sigmas(void **state)
{
	static const struct {
		double t, df, sigmas;
	} cases[] = {
		{ 6.965, 2, 2.326 },  { 5.893, 5, 3.090 },   { 4.144, 10, 3.090 },
		{ 3.385, 30, 3.090 }, { 3.091, 1e6, 3.090 }, { -4.144, 10, -3.090 },
	};
	const double values[] = { 3, 5, 10 };
	double sum = 0, squares = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(fabs(ks_verdict_sigmas(cases[i].t, cases[i].df) - cases[i].sigmas) <
			    0.06);
	assert_true(ks_verdict_sigmas(1000, 2) < 6); /* three hosts can't be sure of anything */
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	assert_true(fabs(ks_verdict_variance(3, sum, squares) - 13) < 1e-9);
	assert_true(ks_verdict_variance(1, 5, 25) == 0);
}

/* Looks are at the beginning of intervals of the day; the clock that counts between them is another one. */
static void test_missed(void **state)
{
	static const u64 minute = 60000000000ull;

	assert_int_equal(ks_agent_missed(5 * minute, 6 * minute, minute), 0);
	/* The first look is where the program began; the clock of the day was set by half a minute. */
	assert_int_equal(ks_agent_missed(5 * minute, 5 * minute + 1, minute), 0);
	assert_int_equal(ks_agent_missed(5 * minute, 6 * minute + minute / 3, minute), 0);
	/* A look that lasted longer than the interval, and a machine that slept for a night. */
	assert_int_equal(ks_agent_missed(5 * minute, 7 * minute, minute), 1);
	assert_int_equal(ks_agent_missed(5 * minute, 485 * minute, minute), 479);
}

/* === Tokens =============================================================================== */

static void test_tokens(void **state)
{
	static const struct {
		const char *text, *says; /* NULL: it is right */
	} cases[] = {
		{ "0123456789abcdef host\n", NULL },
		{ "0123456789abcdef host", NULL },
		{ "# a comment\n\n0123456789abcdef \t *\n", NULL },
		{ "0123456789abcde host\n", "f:1: not a token of 16" },
		{ "0123456789abcdef\n", "f:1: not a token" },
		{ "0123456789abcdef \n", "f:1: not a token" },
		{ "#\n\n0123456789abcdef a\nshort b\n", "f:4: not a token" },
		{ "0123456789abcdef a\n0123456789abcdef b\n", "f:2: this token is there already" },
		{ "", "has no token" },
		{ "# nothing\n\n", "has no token" },
	};
	struct ks_tokens tokens;
	struct ks_diag diag;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int err = ks_tokens_parse(&tokens, "f", cases[i].text, &diag);

		assert_int_equal(err, cases[i].says ? KS_EBADINPUT : 0);
		if (cases[i].says)
			assert_non_null(strstr(diag.text, cases[i].says));
		else
			ks_tokens_deinit(&tokens);
	}
	assert_int_equal(ks_tokens_parse(&tokens, "f",
					 "0123456789abcdef one\n"
					 "#0123456789abcdefg no\n"
					 "0123456789abcdeg *\n"
					 "0123456789abcdefgh **",
					 &diag),
			 0);
	assert_int_equal(tokens.items.len, 3);
	assert_true(ks_tokens_find(&tokens, "0123456789abcdef")->host ==
		    ks_fleet_id(KS_FLEET_HOST, "one", 3));
	assert_true(ks_tokens_find(&tokens, "0123456789abcdeg")->host == 0); /* any */
	assert_true(ks_tokens_find(&tokens, "0123456789abcdefgh")->host ==
		    ks_fleet_id(KS_FLEET_HOST, "**", 2));
	assert_null(ks_tokens_find(&tokens, "0123456789abcdefg"));
	assert_null(ks_tokens_find(&tokens, "0123456789abcde"));
	assert_null(ks_tokens_find(&tokens, ""));
	ks_tokens_deinit(&tokens);
}

/* Three a minute: three at once, then one each 20 seconds, and never more than three. */
static void test_spending(void **state)
{
	struct ks_token token = { 0 };
	u64 now = 5000, i;

	for (i = 0; i < 3; i++)
		assert_true(ks_token_spend(&token, 3, now));
	assert_false(ks_token_spend(&token, 3, now));
	assert_false(ks_token_spend(&token, 3, now + 19980));
	assert_true(ks_token_spend(&token, 3, now + 20000));
	assert_false(ks_token_spend(&token, 3, now + 20000));
	assert_false(ks_token_spend(&token, 3, now + 10000)); /* the clock went back */
	for (i = 0; i < 3; i++)
		assert_true(ks_token_spend(&token, 3, now + 10000000));
	assert_false(ks_token_spend(&token, 3, now + 10000000));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_sigmas),	   cmocka_unit_test(test_batch),
	cmocka_unit_test(test_damage),	   cmocka_unit_test(test_ids),
	cmocka_unit_test(test_native),	   cmocka_unit_test(test_verdicts),
	cmocka_unit_test(test_backoff),	   cmocka_unit_test(test_sql),
	cmocka_unit_test(test_field),	   cmocka_unit_test(test_sample_live),
	cmocka_unit_test(test_long_stack), cmocka_unit_test(test_missed),
	cmocka_unit_test(test_text),	   cmocka_unit_test(test_tokens),
	cmocka_unit_test(test_spending),
};

KS_RUN(tests)
