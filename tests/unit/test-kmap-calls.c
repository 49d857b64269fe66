// SPDX-License-Identifier: GPL-2.0-only
/* Calls and returns in access maps: read from every form, written to every form, shown, and as privilege. */
#include "kmap-maps.h"

#include "kmap/convert.h"
#include "kmap/framing.h"

/* === Maps ================================================================================= */

/* f calls g from two places, and g calls f; one call of g has not come back. By hand. */
#define F  0xffffffff81000010ull
#define G  0xffffffff81000020ull
#define F1 0xffffffff81000011ull /* places in f */
#define F2 0xffffffff81000012ull
#define G1 0xffffffff81000021ull /* in g */

static const struct memorizer_call by_hand[] = {
	{ .site = F1, .function = G, .calls = 7, .returns = 6 },
	{ .site = F2, .function = G, .calls = 5, .returns = 5 },
	{ .site = G1, .function = F, .calls = 1, .returns = 2 },
};

static const char object_line[] = "ffffffff81000011,1,1000,100,0,100,ffffffff81000021,a\n"
				  "  ffffffff81000012,1,0,5\n";

static const char with_returns[] = "ffffffff81000011 ffffffff81000020 7 6\n"
				   "ffffffff81000012 ffffffff81000020 5 5\n"
				   "ffffffff81000021 ffffffff81000010 1 2\n";

static const char without_returns[] = "ffffffff81000011 ffffffff81000020 7\n"
				      "ffffffff81000012 ffffffff81000020 5\n"
				      "ffffffff81000021 ffffffff81000010 1\n";

static struct ks_kmap_census *census_of_lines(const char *calls)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", object_line, calls);
	return census_of_text(text);
}

static const struct ks_kmap_calls *calls_of(const struct ks_kmap_census *census, u64 from, u64 to)
{
	size_t i;

	for (i = 0; i < census->calls.len; i++) {
		const struct ks_kmap_calls *calls = &census->calls.items[i];

		if (census->codes.keys.items[calls->from] == from &&
		    census->codes.keys.items[calls->to] == to)
			return calls;
	}
	fail_msg("no calls from %llx to %llx", (unsigned long long)from, (unsigned long long)to);
	return NULL;
}

static void check_calls(const struct ks_kmap_census *census, bool returns_known)
{
	size_t i;

	assert_int_equal(census->calls.len, ARRAY_SIZE(by_hand));
	for (i = 0; i < ARRAY_SIZE(by_hand); i++) {
		const struct memorizer_call *want = &by_hand[i];
		const struct ks_kmap_calls *have = calls_of(census, want->site, want->function);

		assert_int_equal(have->count, want->calls);
		assert_int_equal(have->returns, returns_known ? want->returns : want->calls);
	}
	assert_int_equal(census->quality.bad_lines, 0);
}

/* === Text ================================================================================= */

static void test_text(void **state)
{
	struct ks_kmap_census *census = census_of_lines(with_returns);

	check_calls(census, true);
	assert_int_equal(sum(census).objects, 1);
	assert_int_equal(sum(census).reads, 5);
	ks_kmap_census_free(census);
	census = census_of_lines(without_returns);
	check_calls(census, false);
	ks_kmap_census_free(census);
}

static void test_bad_text(void **state)
{
	static const char *const bad[] = {
		"ffffffff81000011 ffffffff81000020 7 \n",
		"ffffffff81000011 ffffffff81000020 7 x\n",
		"ffffffff81000011 ffffffff81000020 7 6 5\n",
		"ffffffff81000011 ffffffff81000020 x 6\n",
		"ffffffff81000011 ffffffff81000020 7,6\n",
		"ffffffff81000011 ffffffff81000020\n",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ks_kmap_census *census = census_of_lines(bad[i]);

		assert_int_equal(census->calls.len, 0);
		assert_int_equal(census->quality.bad_lines, 1);
		ks_kmap_census_free(census);
	}
}

/* === Binary =============================================================================== */

static void put_calls_header(struct ks_strbuf *sb, bool big, u16 version, u32 calls)
{
	size_t at = sb->len;
	struct ks_strbuf number;

	put_header(sb, big);
	ks_strbuf_init(&number);
	put(&number, version, 2, big);
	put(&number, calls, 4, big);
	memcpy(sb->s + at + offsetof(struct memorizer_header, version), number.s, 2);
	memcpy(sb->s + at + offsetof(struct memorizer_header, calls), number.s + 2, 4);
	ks_strbuf_deinit(&number);
}

static void put_calls(struct ks_strbuf *sb, bool big)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_hand); i++) {
		put(sb, by_hand[i].site, 8, big);
		put(sb, by_hand[i].function, 8, big);
		put(sb, by_hand[i].calls, 8, big);
		put(sb, by_hand[i].returns, 8, big);
	}
}

/* A stream with an object, one with calls and an object, and one with calls alone. */
static void put_streams(struct ks_strbuf *sb, bool big)
{
	put_header(sb, big);
	put_record(sb, big, 64, 0, 0, 1);
	put_access(sb, big, F1, 1, 0, 42, MEMORIZER_IN_TASK);
	put_calls_header(sb, big, MEMORIZER_ABI_CALLS, 1);
	put(sb, F1, 8, big);
	put(sb, G, 8, big);
	put(sb, 1, 8, big);
	put(sb, 0, 8, big);
	put_record(sb, big, 64, 0, 0, 0);
	put_calls_header(sb, big, MEMORIZER_ABI_CALLS, ARRAY_SIZE(by_hand));
	put_calls(sb, big);
}

static void test_binary(void **state)
{
	int big;

	for (big = 0; big < 2; big++) {
		struct ks_kmap_census *census;
		struct ks_strbuf sb;

		ks_strbuf_init(&sb);
		put_streams(&sb, big);
		census = census_of(sb.s, sb.len, NULL);
		assert_int_equal(sum(census).objects, 2);
		assert_int_equal(census->calls.len, ARRAY_SIZE(by_hand));
		assert_int_equal(calls_of(census, F1, G)->count, 8);
		assert_int_equal(calls_of(census, F1, G)->returns, 6);
		assert_int_equal(calls_of(census, G1, F)->returns, 2);
		assert_int_equal(census->quality.bad_lines, 0);
		ks_kmap_census_free(census);
		ks_strbuf_deinit(&sb);
	}
}

/* Of version 1, the number of calls was a field that nobody used; of version 3, nobody knows what follows. */
static void test_versions(void **state)
{
	struct ks_kmap_census *census;
	struct ks_kmap_reader *reader;
	struct ks_diag diag = { 0 };
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	put_calls_header(&sb, false, 1, 7);
	put_record(&sb, false, 64, 0, 0, 0);
	census = census_of(sb.s, sb.len, NULL);
	assert_int_equal(sum(census).objects, 1);
	assert_int_equal(census->calls.len, 0);
	assert_int_equal(census->quality.bad_lines, 0);
	ks_kmap_census_free(census);
	sb.len = 0;
	put_calls_header(&sb, false, 3, 0);
	assert_int_equal(ks_kmap_reader_new(input_of(sb.s, sb.len), NULL, 0, &reader, &diag),
			 KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "version 3"));
	ks_strbuf_deinit(&sb);
}

/* Wherever it breaks off: what is whole is there, and the rest is one break. */
static void test_torn(void **state)
{
	const size_t head = 80, call = sizeof(struct memorizer_call);
	struct ks_strbuf sb;
	size_t len;

	ks_strbuf_init(&sb);
	put_calls_header(&sb, false, MEMORIZER_ABI_CALLS, ARRAY_SIZE(by_hand));
	put_calls(&sb, false);
	for (len = head; len < sb.len; len++) {
		struct ks_kmap_census *census = census_of(sb.s, len, NULL);

		assert_int_equal(census->calls.len, (len - head) / call);
		assert_int_equal(census->quality.bad_lines, 1);
		ks_kmap_census_free(census);
	}
	/* The next stream begins where a call should be. */
	sb.len = head + call;
	put_header(&sb, false);
	put_record(&sb, false, 64, 0, 0, 0);
	{
		struct ks_kmap_census *census = census_of(sb.s, sb.len, NULL);

		assert_int_equal(census->calls.len, 1);
		assert_int_equal(sum(census).objects, 1);
		assert_int_equal(census->quality.bad_lines, 1);
		ks_kmap_census_free(census);
	}
	ks_strbuf_deinit(&sb);
}

/* === Framing ============================================================================== */

static void test_framing(void **state)
{
	struct ks_kmap_framing framing = { 0 };
	struct ks_strbuf sb;
	size_t step, first, second, third;

	ks_strbuf_init(&sb);
	put_streams(&sb, false);
	first = 80 + 136 + 56;
	second = first + 80 + sizeof(struct memorizer_call);
	third = second + 136;
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s, first + 79, true), first);
	/* A header and its calls are one piece. */
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + first, 80 + 31, true), 0);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + first, sb.len - first - 1, true),
			 third - first);
	assert_int_equal(ks_kmap_framing_whole(&framing, sb.s + third, sb.len - third, false),
			 sb.len - third);
	for (step = 1; step <= sb.len; step++) {
		struct ks_kmap_counter counter = { 0 };
		size_t at;

		for (at = 0; at < sb.len; at += step)
			ks_kmap_counter_add(&counter, sb.s + at, ks_min(step, sb.len - at));
		assert_int_equal(counter.objects, 2);
		assert_int_equal(counter.bytes, sb.len);
		assert_int_equal(counter.last_begin, second);
	}
	ks_strbuf_deinit(&sb);
}

/* A line of calls is no object. */
static void test_counted_lines(void **state)
{
	char text[1024];
	size_t step, len;

	len = (size_t)snprintf(text, sizeof(text), "%s%s%s", object_line, with_returns,
			       object_line);
	for (step = 1; step <= len; step++) {
		struct ks_kmap_counter counter = { .text = true };
		size_t at;

		for (at = 0; at < len; at += step)
			ks_kmap_counter_add(&counter, text + at, ks_min(step, len - at));
		assert_int_equal(counter.objects, 2);
	}
}

/* === Conversions ========================================================================== */

static int collect(void *ctx, bool second, const void *data, size_t len, struct ks_diag *diag)
{
	ks_strbuf_add(ctx, data, second ? 0 : len);
	return 0;
}

static struct ks_kmap_converted convert(const char *calls, enum ks_kmap_target target,
					struct ks_strbuf *ret_text)
{
	struct ks_kmap_sink sink = { collect, ret_text };
	struct ks_kmap_converted done;
	struct ks_kmap_reader *reader;
	char text[1024];

	ks_strbuf_init(ret_text);
	snprintf(text, sizeof(text), "%s%s", object_line, calls);
	assert_int_equal(ks_kmap_reader_new(input_of(text, strlen(text)), NULL, 0, &reader, NULL),
			 0);
	assert_int_equal(ks_kmap_convert(reader, target, NULL, &sink, NULL, NULL, &done, NULL), 0);
	ks_kmap_reader_free(reader);
	return done;
}

static void test_conversions(void **state)
{
	struct ks_kmap_census *census;
	struct ks_kmap_converted done;
	struct ks_strbuf sb;

	done = convert(with_returns, KS_KMAP_TO_BINARY, &sb);
	assert_int_equal(done.calls, 3);
	assert_int_equal(done.dropped_calls, 0);
	census = census_of(sb.s, sb.len, NULL);
	check_calls(census, true);
	assert_int_equal(sum(census).objects, 1);
	ks_kmap_census_free(census);
	ks_strbuf_deinit(&sb);

	done = convert(with_returns, KS_KMAP_TO_USCOPE, &sb);
	assert_int_equal(done.calls, 3);
	assert_non_null(strstr(sb.s, "ffffffff81000011 ffffffff81000020 7\n"));
	ks_strbuf_deinit(&sb);

	done = convert(with_returns, KS_KMAP_TO_JSON, &sb);
	assert_int_equal(done.calls, 3);
	assert_non_null(strstr(sb.s,
			       "{\"from\":\"0xffffffff81000021\",\"to\":\"0xffffffff81000010\","
			       "\"calls\":1,\"returns\":2}\n"));
	ks_strbuf_deinit(&sb);

	done = convert(without_returns, KS_KMAP_TO_JSON, &sb);
	assert_non_null(strstr(sb.s, "\"calls\":1}\n"));
	ks_strbuf_deinit(&sb);

	done = convert(with_returns, KS_KMAP_TO_SEED, &sb);
	assert_int_equal(done.dropped_calls, 3);
	ks_strbuf_deinit(&sb);
}

/* === The table ============================================================================ */

/* Names code by hand: f and g as functions. */
static void name_by_hand(const struct ks_kmap_census *census, struct ks_kmap_places *places)
{
	u32 f = ks_intern_add(&places->labels, "f", 1), g = ks_intern_add(&places->labels, "g", 1);
	size_t i;

	for (i = 0; i < census->codes.keys.len; i++)
		places->codes[i][KS_KMAP_FUNCTION] = census->codes.keys.items[i] < G ? f : g;
}

enum { CALLS, RETURNS, SHARE, SITES, CALLER, CALLED };

static void check_row(const struct ks_table *table, size_t row, const char *caller,
		      const char *called, u64 calls, u64 returns, u64 sites)
{
	assert_string_equal(ks_table_cell(table, row, CALLER)->text, caller);
	assert_string_equal(ks_table_cell(table, row, CALLED)->text, called);
	assert_int_equal(ks_table_cell(table, row, CALLS)->u64, calls);
	assert_int_equal(ks_table_cell(table, row, RETURNS)->u64, returns);
	assert_int_equal(ks_table_cell(table, row, SITES)->u64, sites);
}

static void test_table(void **state)
{
	struct ks_kmap_census *census = census_of_lines(with_returns);
	struct ks_kmap_call_cells cells;
	struct ks_kmap_places *places;
	struct ks_kmap_matrix matrix;
	struct ks_doc *view;

	assert_int_equal(ks_kmap_places_new(census, NULL, &places, NULL), 0);
	name_by_hand(census, places);
	assert_int_equal(ks_kmap_call_cells_init(&cells, census, places, KS_KMAP_FUNCTION), 0);
	view = ks_kmap_view_calls(census, &cells, 0);
	assert_non_null(view);
	assert_int_equal(ks_table_len(view->main), 2);
	check_row(view->main, 0, "f", "g", 12, 11, 2);
	check_row(view->main, 1, "g", "f", 1, 2, 1);
	ks_doc_free(view);
	view = ks_kmap_view_calls(census, &cells, 1);
	assert_int_equal(ks_table_len(view->main), 1);
	ks_doc_free(view);
	assert_int_equal(ks_kmap_call_matrix(&cells, &matrix), 0);
	assert_int_equal(matrix.entries.len, 2);
	assert_int_equal(matrix.entries.items[0].reads, 12);
	ks_kmap_matrix_deinit(&matrix);
	ks_kmap_call_cells_deinit(&cells);
	ks_kmap_places_free(places);
	ks_kmap_census_free(census);
}

/* === Privilege ============================================================================ */

static void check_privilege(const struct ks_doc *doc, const char *operation, u64 min, u64 ps,
			    double mediated)
{
	const struct ks_table *table = doc->main;
	double across;
	size_t row;

	for (row = 0; row < ks_table_len(table); row++)
		if (!strcmp(ks_table_cell(table, row, KS_KMAP_USCOPE_CUT)->text, "function") &&
		    !strcmp(ks_table_cell(table, row, KS_KMAP_USCOPE_OPERATION)->text, operation))
			break;
	assert_true(row < ks_table_len(table));
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_PS_MIN)->u64, min);
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_PS)->u64, ps);
	across = ks_table_cell(table, row, KS_KMAP_USCOPE_MEDIATED)->number;
	assert_true(across > mediated - 1e-9 && across < mediated + 1e-9);
}

/*
 * f has 30 bytes, g 40. Calls: f calls g from two places, across: 2 * 40; g calls f: 30. Returns: g returns to
 * two places of f: 2 * 30; f to g: 40. Nothing stays in its own cluster; and of g to f, a place that nothing came
 * back to grants no return.
 */
static void check_uscope(const char *calls, u64 returns_min)
{
	struct ks_kmap_census *census = census_of_lines(calls);
	struct ks_kmap_functions *functions;
	struct ks_kmap_places *places;
	struct ks_doc *view;
	size_t i;

	assert_int_equal(ks_kmap_places_new(census, NULL, &places, NULL), 0);
	name_by_hand(census, places);
	places->unnamed = 0;
	assert_int_equal(ks_kmap_functions_new(census, places, NULL, NULL, &functions, NULL), 0);
	functions->has_sizes = true;
	for (i = 0; i < functions->items.len; i++) {
		u32 label = functions->items.items[i].labels[KS_KMAP_FUNCTION];

		functions->items.items[i].size = *ks_kmap_label(places, label) == 'f' ? 30 : 40;
	}
	view = ks_kmap_view_uscope(census, places, functions);
	assert_non_null(view);
	check_privilege(view, "call", 40 + 40 + 30, 40 + 40 + 30, 1);
	check_privilege(view, "return", returns_min, returns_min, 1);
	ks_doc_free(view);
	ks_kmap_functions_free(functions);
	ks_kmap_places_free(places);
	ks_kmap_census_free(census);
}

static void test_privilege(void **state)
{
	check_uscope(with_returns, 30 + 30 + 40);
	check_uscope(without_returns, 30 + 30 + 40);
	check_uscope("ffffffff81000011 ffffffff81000020 7 6\n"
		     "ffffffff81000012 ffffffff81000020 5 5\n"
		     "ffffffff81000021 ffffffff81000010 1 0\n",
		     30 + 30);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_text),	      cmocka_unit_test(test_bad_text),
	cmocka_unit_test(test_binary),	      cmocka_unit_test(test_versions),
	cmocka_unit_test(test_torn),	      cmocka_unit_test(test_framing),
	cmocka_unit_test(test_counted_lines), cmocka_unit_test(test_conversions),
	cmocka_unit_test(test_table),	      cmocka_unit_test(test_privilege),
};

KS_RUN(tests)
