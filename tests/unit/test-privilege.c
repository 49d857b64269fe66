// SPDX-License-Identifier: GPL-2.0-only
/* Least privilege by the published rules: scores of compartmentalizations, weights of sites, cuts, the search. */
#include "kmap-maps.h"

#include <math.h>

#include "kmap/compartments.h"

/* === Scores =============================================================================== */

/* Three functions and two objects, as in the worked example that PrivilegeCalculator publishes. */
static const char published[] =
	"subject_map:\n"
	"- {name: SD1, subjects: [F1, F2], sizes: [20, 30], read_instructions: 7, write_instructions: 0,\n"
	"   call_instructions: 2, return_instructions: 3}\n"
	"- {name: SD2, subjects: [F3], sizes: [16], read_instructions: 5, write_instructions: 3,\n"
	"   call_instructions: 1, return_instructions: 1}\n"
	"object_map:\n"
	"- {name: OD1, objects: [O1], sizes: [10]}\n"
	"- {name: OD2, objects: [O2], sizes: [20]}\n"
	"privileges:\n"
	"- principal: {subject: SD1}\n"
	"  can_call: [SD2, SD1]\n"
	"  can_read: [{objects: [OD1]}]\n"
	"- principal: {subject: SD2}\n"
	"  can_return: [SD1]\n"
	"  can_read: [{objects: [OD1]}]\n"
	"  can_write: [{objects: [OD2]}]\n";

static struct ks_cpm *cpm_of(const char *text)
{
	struct ks_diag diag = { 0 };
	struct ks_cpm *cpm = NULL;

	if (ks_cpm_parse(text, strlen(text), "test", &cpm, &diag))
		fail_msg("%s", diag.text);
	return cpm;
}

static void check_near(double a, double b)
{
	if (!(fabs(a - b) < 5e-5))
		fail_msg("%.6f is not %.6f", a, b);
}

static void check_score(const struct ks_cpm *cpm, const struct ks_cpm_weights *weights,
			const double *psr, const double *psr_wx)
{
	double granted = 0, mono = 0, mono_wx = 0;
	struct ks_cpm_score score;
	size_t op;

	assert_int_equal(ks_cpm_score(cpm, weights, &score), 0);
	for (op = 0; op < KS_CPM_OPS; op++) {
		check_near(score.granted[op] / score.mono[op], psr[op]);
		check_near(score.granted[op] / score.mono_wx[op], psr_wx[op]);
		granted += score.granted[op];
		mono += score.mono[op];
		mono_wx += score.mono_wx[op];
	}
	check_near(granted / mono, psr[KS_CPM_OPS]);
	check_near(granted / mono_wx, psr_wx[KS_CPM_OPS]);
}

/* Published: .1042 .2083 .5138 .5625 .2576. With W^X by hand: 120/360, 60/90, 148/198, 216/264, 544/912. */
static const double psr[] = { 0.1042, 0.2083, 0.51389, 0.5625, 0.25758 };
static const double psr_wx[] = { 1. / 3, 2. / 3, 0.74747, 0.81818, 0.59649 };

static void test_published(void **state)
{
	struct ks_cpm *cpm = cpm_of(published);

	check_score(cpm, NULL, psr, psr_wx);
	ks_cpm_free(cpm);
}

/* Published with a weight of 10 for writes to O2: .7246 and .4087. With W^X: 600/630, 1084/1452. */
static void test_weights(void **state)
{
	static const double weighted[] = { 0.1042, 0.72464, 0.51389, 0.5625, 0.40875 };
	static const double weighted_wx[] = { 1. / 3, 0.95238, 0.74747, 0.81818, 0.74656 };
	struct ks_cpm_weight weight = { (char *)"O2", { 1, 10, 1, 1 } };
	struct ks_cpm_weights weights = { .items = { &weight, 1, 1 } };
	struct ks_cpm *cpm = cpm_of(published);

	check_score(cpm, &weights, weighted, weighted_wx);
	ks_cpm_free(cpm);
}

static void test_written(void **state)
{
	struct ks_cpm *cpm = cpm_of(published), *again;
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_cpm_write(cpm, &text);
	again = cpm_of(text.s);
	check_score(again, NULL, psr, psr_wx);
	assert_int_equal(again->subjects.items[0].members.len, 2);
	assert_string_equal(ks_cpm_name(again, again->subjects.items[0].members.items[1].name),
			    "F2");
	ks_strbuf_deinit(&text);
	ks_cpm_free(cpm);
	ks_cpm_free(again);
}

/* What a file does not say: sizes are 1, and a domain has an instruction of each kind for each function. */
static void test_defaults(void **state)
{
	struct ks_cpm *cpm =
		cpm_of("subject_map: [{name: A, subjects: [f, g]}]\n"
		       "object_map: [{name: O, objects: [x, y, z]}]\n"
		       "privileges: [{principal: {subject: A}, can_write: [{objects: [O]}]}]\n");
	struct ks_cpm_score score;

	assert_int_equal(ks_cpm_score(cpm, NULL, &score), 0);
	check_near(score.granted[KS_CPM_WRITE], 2 * 3);
	check_near(score.granted[KS_CPM_READ], 0);
	check_near(score.granted[KS_CPM_CALL], 2 * 2);
	check_near(score.mono[KS_CPM_WRITE], 2 * (3 + 2));
	ks_cpm_free(cpm);
}

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "", "no subject_map" },
		{ "[1, 2]", "no subject_map" },
		{ "subject_map: []\n", "has no object_map" },
		{ "subject_map: []\nobject_map: []\n", "has no privileges" },
		{ "subject_map: [{subjects: [f]}]\nobject_map: []\nprivileges: []\n",
		  "line 1: a domain has no name" },
		{ "subject_map: [{name: A, subjects: [f], sizes: [1, 2]}]\nobject_map: []\nprivileges: []\n",
		  "not as many sizes" },
		{ "subject_map: [{name: A, subjects: [f], sizes: [-1]}]\nobject_map: []\nprivileges: []\n",
		  "not negative" },
		{ "subject_map: [{name: A, subjects: []}, {name: A, subjects: []}]\nobject_map: []\nprivileges: []\n",
		  "a second domain" },
		{ "subject_map: []\nobject_map: []\nprivileges:\n- principal: {subject: A}\n",
		  "line 4: no such subject" },
		{ "subject_map: [{name: A, subjects: []}]\nobject_map: []\nprivileges:\n- principal: {subject: A}\n"
		  "  can_read: [{objects: [O]}]\n",
		  "line 5: no such object domain" },
		{ "a: [", "line 2:" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ks_diag diag = { 0 };
		struct ks_cpm *cpm;

		assert_int_equal(
			ks_cpm_parse(cases[i][0], strlen(cases[i][0]), "bad.yaml", &cpm, &diag),
			KS_EBADINPUT);
		if (strncmp(diag.text, "bad.yaml: ", 10) || !strstr(diag.text, cases[i][1]))
			fail_msg("case %zu says '%s'", i, diag.text);
	}
}

/* === Weights ============================================================================== */

/* One object of 100 bytes that lives for 10 of 100,000 ticks weighs 100, not 0. */
static void test_short_life(void **state)
{
	struct ks_kmap_census *census =
		census_of_text("ffffffff8100000a,1,1000,100,50000,50010,ffffffff81000001,a\n"
			       "ffffffff8100000b,1,2000,64,1,100000,ffffffff81000001,a\n"
			       "ffffffff8100000c,1,3000,32,7,7,ffffffff81000001,a\n"
			       "ffffffff8100000c,1,3000,48,9,9,ffffffff81000001,a\n"
			       "ffffffff8100000d,1,4000,10,100,200,ffffffff81000001,a\n"
			       "ffffffff8100000d,1,5000,30,150,200,ffffffff81000001,a\n"
			       "ffffffff8100000e,1,6000,8,99000,0,0,a\n"
			       "ffffffff8100000e,1,7000,8,1000,2000,ffffffff81000001,a\n");

	check_near(ks_kmap_weight(census, site_of(census, 0xffffffff8100000a)), 100);
	check_near(ks_kmap_weight(census, site_of(census, 0xffffffff8100000b)), 64);
	/* No time at all: the largest. */
	check_near(ks_kmap_weight(census, site_of(census, 0xffffffff8100000c)), 48);
	/* 10 bytes for 50 ticks, 40 bytes for 50. */
	check_near(ks_kmap_weight(census, site_of(census, 0xffffffff8100000d)), 25);
	/* The live one lasts from 99000 to the end, 100000; both are never there at once. */
	check_near(ks_kmap_weight(census, site_of(census, 0xffffffff8100000e)), 8);
	ks_kmap_census_free(census);
}

/* Against a slow union, moment by moment. */
static void test_lives(void **state)
{
	enum { SPAN = 400, LIVES = 60 };
	unsigned int round, i, t;

	for (round = 0; round < 50; round++) {
		bool lived[SPAN] = { false };
		struct ks_kmap_life life = { 0 };
		u64 seed = round + 1, time = 0;

		for (i = 0; i < LIVES; i++) {
			u64 begin, end;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			begin = seed >> 33 & 0xff;
			end = begin + (seed >> 50 & 7);
			assert_int_equal(ks_kmap_life_add(&life, begin, end), 0);
			for (t = (unsigned int)begin; t < end; t++)
				lived[t] = true;
		}
		ks_kmap_life_add_live(&life, SPAN - 20);
		for (t = SPAN - 20; t < SPAN; t++)
			lived[t] = true;
		for (t = 0; t < SPAN; t++)
			time += lived[t];
		assert_int_equal(ks_kmap_life_time(&life, SPAN), time);
		assert_int_equal(life.closed, 0);
		ks_kmap_life_free(&life);
	}
}

/* More lives than there is room for: the shortest gaps are closed, and it is known how much that is. */
static void test_many_lives(void **state)
{
	struct ks_kmap_life life = { 0 };
	u64 i, lived = 0;

	for (i = 0; i < 10000; i++) {
		u64 gap = i % 100 ? 1 : 1000;

		assert_int_equal(ks_kmap_life_add(&life, 2000 * i + gap, 2000 * i + 1500), 0);
		lived += 1500 - gap;
	}
	assert_true(life.spans.len <= KS_KMAP_SPANS_MAX);
	assert_true(life.closed > 0);
	assert_int_equal(ks_kmap_life_time(&life, UINT64_MAX), lived + life.closed);
	ks_kmap_life_free(&life);
}

/* === Cuts ================================================================================= */

/* As in the manual: A (100 bytes) and B (50) are in x, C (10) in y; 1 in x reads A and C, 2 in y reads C, writes B. */
static const char worked[] = "ffffffff8100000a,1,1000,100,0,100,ffffffff81000001,a\n"
			     "  ffffffff81000001,1,0,5\n"
			     "ffffffff8100000b,1,2000,50,0,100,ffffffff81000002,a\n"
			     "  ffffffff81000002,1,2,0\n"
			     "ffffffff8100000c,1,3000,10,0,100,ffffffff81000002,a\n"
			     "  ffffffff81000001,1,0,1\n"
			     "  ffffffff81000002,1,0,4\n";

static const char worked_cut[] =
	"subject_map:\n"
	"- {name: x, subjects: ['0xffffffff8100000a', '0xffffffff8100000b', '0xffffffff81000001']}\n"
	"- {name: y, subjects: ['0xffffffff8100000c', '0xffffffff81000002']}\n"
	"object_map: []\nprivileges: []\n";

struct cut {
	struct ks_kmap_census *census;
	struct ks_kmap_places *places;
	struct ks_kmap_functions *functions;
};

static void cut_open(struct cut *cut, const char *map, const char *cpm_text)
{
	struct ks_cpm *cpm = cpm_text ? cpm_of(cpm_text) : NULL;
	u64 unlisted = 0;

	cut->census = census_of_text(map);
	assert_int_equal(ks_kmap_places_new(cut->census, NULL, &cut->places, NULL), 0);
	if (cpm)
		assert_int_equal(ks_kmap_places_cut(cut->places, cut->census, cpm, &unlisted), 0);
	assert_int_equal(unlisted, 0);
	assert_int_equal(
		ks_kmap_functions_new(cut->census, cut->places, NULL, NULL, &cut->functions, NULL),
		0);
	ks_cpm_free(cpm);
}

static void cut_close(struct cut *cut)
{
	ks_kmap_functions_free(cut->functions);
	ks_kmap_places_free(cut->places);
	ks_kmap_census_free(cut->census);
}

static void check_row(const struct ks_doc *doc, const char *operation, u64 min, u64 ps, u64 mono_wx,
		      double mediated)
{
	const struct ks_table *table = doc->main;
	size_t row;

	for (row = 0; row < ks_table_len(table); row++)
		if (!strcmp(ks_table_cell(table, row, KS_KMAP_USCOPE_OPERATION)->text, operation))
			break;
	assert_true(row < ks_table_len(table));
	assert_string_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_CUT)->text, "compartment");
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_PS_MIN)->u64, min);
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_PS)->u64, ps);
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_PS_MONO_WX)->u64, mono_wx);
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_USCOPE_PM)->u64, ps - min);
	check_near(ks_table_cell(table, row, KS_KMAP_USCOPE_PSR_WX)->number,
		   (double)ps / (double)mono_wx);
	check_near(ks_table_cell(table, row, KS_KMAP_USCOPE_OR)->number, (double)ps / (double)min);
	check_near(ks_table_cell(table, row, KS_KMAP_USCOPE_MEDIATED)->number, mediated);
}

static void test_cut(void **state)
{
	struct ks_doc *view;
	struct cut cut;

	cut_open(&cut, worked, worked_cut);
	view = ks_kmap_view_uscope(cut.census, cut.places, cut.functions);
	assert_non_null(view);
	/* Read: 1 reaches all of x, 150, and C across, 10; 2 all of y, 10. */
	check_row(view, "read", 120, 170, 2 * 160, 1. / 10);
	/* Write: 2 writes B across. It writes nothing of its own, so it may write nothing else. */
	check_row(view, "write", 50, 50, 160, 1);
	check_row(view, "total", 170, 220, 3 * 160, 3. / 12);
	assert_int_equal(ks_table_len(view->main),
			 3); /* no functions are known, so no other cuts */
	ks_doc_free(view);
	cut_close(&cut);
}

/* With the grants of whole domains and no mediation: 1 may read x and y, 2 may read y and write x. */
static void test_cut_as_cpm(void **state)
{
	struct ks_cpm_score score;
	struct ks_cpm *cpm;
	struct cut cut;

	cut_open(&cut, worked, worked_cut);
	assert_int_equal(
		ks_kmap_cut_cpm(cut.census, cut.places, cut.functions, KS_KMAP_COMPARTMENT, &cpm),
		0);
	assert_int_equal(ks_cpm_score(cpm, NULL, &score), 0);
	check_near(score.granted[KS_CPM_READ], 160 + 10);
	check_near(score.granted[KS_CPM_WRITE], 150);
	check_near(score.mono_wx[KS_CPM_READ], 2 * 160);
	ks_cpm_free(cpm);
	cut_close(&cut);
}

/* Two pairs that belong together, and one use in between. */
static const char two_groups[] = "ffffffff8100000a,1,1000,100,0,100,0,a\n"
				 "  ffffffff81000001,1,0,100\n"
				 "ffffffff8100000b,1,2000,50,0,100,0,a\n"
				 "  ffffffff81000001,1,0,1\n"
				 "  ffffffff81000002,1,0,100\n";

static const char *compartment(const struct cut *cut, u64 ip)
{
	u32 code = ks_map64_find(&cut->census->codes, ip);

	return ks_kmap_label(cut->places, cut->places->codes[code][KS_KMAP_COMPARTMENT]);
}

static void test_search(void **state)
{
	static const struct ks_kmap_search bounds[] = { { .number = 2 }, { .size = 2 } };
	struct ks_doc *view;
	struct cut cut;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		cut_open(&cut, two_groups, NULL);
		assert_int_equal(ks_kmap_search(cut.census, cut.places, cut.functions, &bounds[i]),
				 0);
		assert_string_equal(compartment(&cut, 0xffffffff8100000a),
				    compartment(&cut, 0xffffffff81000001));
		assert_string_equal(compartment(&cut, 0xffffffff8100000b),
				    compartment(&cut, 0xffffffff81000002));
		assert_string_not_equal(compartment(&cut, 0xffffffff81000001),
					compartment(&cut, 0xffffffff81000002));
		view = ks_kmap_view_uscope(cut.census, cut.places, cut.functions);
		assert_non_null(view);
		/* Each reads its own object; 1 also B, across. */
		check_row(view, "read", 100 + 50 + 50, 100 + 50 + 50, 2 * 150, 1. / 201);
		ks_doc_free(view);
		cut_close(&cut);
	}
}

static void test_search_for_one(void **state)
{
	static const struct ks_kmap_search one = { .number = 1 };
	struct cut cut;

	cut_open(&cut, two_groups, NULL);
	assert_int_equal(ks_kmap_search(cut.census, cut.places, cut.functions, &one), 0);
	assert_string_equal(compartment(&cut, 0xffffffff8100000a),
			    compartment(&cut, 0xffffffff81000002));
	assert_string_equal(compartment(&cut, 0xffffffff8100000b),
			    compartment(&cut, 0xffffffff81000001));
	cut_close(&cut);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_published), cmocka_unit_test(test_weights),
	cmocka_unit_test(test_written),	  cmocka_unit_test(test_defaults),
	cmocka_unit_test(test_refused),	  cmocka_unit_test(test_short_life),
	cmocka_unit_test(test_lives),	  cmocka_unit_test(test_many_lives),
	cmocka_unit_test(test_cut),	  cmocka_unit_test(test_cut_as_cpm),
	cmocka_unit_test(test_search),	  cmocka_unit_test(test_search_for_one),
};

KS_RUN(tests)
