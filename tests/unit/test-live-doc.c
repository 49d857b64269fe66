// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot of what is live as a document: the text and the JSON of numbers that are put in here. */
#include "ks-test.h"

#include "live/build.h"
#include "table/render.h"

/* === Helpers ============================================================================== */

static const u64 second = 1000000000;

static struct ks_live_cell *put(struct ks_live_snapshot *s, enum ks_live_part part,
				const char *cache, const char *type, u64 objects, u64 bytes)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = cache, [KS_LIVE_BY_TYPE] = type };
	struct ks_live_cell *cell = ks_live_cell(s, part, names);

	assert_non_null(cell);
	cell->objects = objects;
	cell->bytes = bytes;
	return cell;
}

/* Three caches at 100 s, and types that were counted at 70 s, of what was allocated since 40 s. */
static struct ks_live_snapshot *make(void)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(7);
	struct ks_live_cell *cell;

	assert_non_null(s);
	s->level = KS_LIVE_SAMPLED;
	s->at_ns = 100 * second;
	s->base_ns = 10 * second;
	s->wall_ns = 1700000000 * second;
	s->memory = (struct ks_live_memory){ .total = 1,
					     .free = 2,
					     .available = 3,
					     .slab = 4,
					     .reclaimable = 5,
					     .unreclaimable = 6,
					     .page_tables = 7,
					     .stacks = 8,
					     .vmalloc = 9,
					     .percpu = 10,
					     .anon = 11,
					     .file = 12 };
	s->parts[KS_LIVE_CACHES] = (struct ks_live_part_info){ .present = true,
							       .tells = 1u << KS_LIVE_BY_CACHE,
							       .at_ns = 100 * second,
							       .exact = true };
	cell = put(s, KS_LIVE_CACHES, "dentry", NULL, 30, 6000);
	cell->reclaimable = true;
	cell->slab_bytes = 8192;
	cell->base_bytes = 5000;
	cell->base_objects = 31;
	cell = put(s, KS_LIVE_CACHES, "kmalloc-64", NULL, 10, 640);
	cell->slab_bytes = 4096;
	cell->base_bytes = 1640;
	cell->base_objects = 10;
	put(s, KS_LIVE_CACHES, "task", NULL, 1, 100);
	s->parts[KS_LIVE_TYPES] = (struct ks_live_part_info){
		.present = true,
		.tells = 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_TYPE,
		.at_ns = 70 * second,
		.since_ns = 40 * second,
	};
	/* The mean age is of the time at which it was counted; the births are in milliseconds. */
	cell = put(s, KS_LIVE_TYPES, "kmalloc-64", "cred", 2, 128);
	cell->births_ms = 2 * 65000;
	cell->variance = 400;
	put(s, KS_LIVE_TYPES, "dentry", "dentry", 30, 6000);
	return s;
}

static struct ks_strbuf text_of(const struct ks_live_snapshot *s, enum ks_live_by by, u64 top,
				bool json)
{
	struct ks_doc *doc = ks_live_doc(s, by, NULL, top);
	struct ks_strbuf out;

	assert_non_null(doc);
	ks_strbuf_init(&out);
	if (json)
		ks_render_doc_json(doc, &out);
	else
		ks_render_doc(doc, &out);
	assert_false(out.failed);
	ks_doc_free(doc);
	return out;
}

/* Blanks, of which there may be any number, are not compared. */
static void squeeze(struct ks_strbuf *text)
{
	size_t i, len = 0;

	for (i = 0; i < text->len; i++)
		if (text->s[i] != ' ' || (len && text->s[len - 1] != ' '))
			text->s[len++] = text->s[i];
	text->s[len] = '\0';
	text->len = len;
}

static void check(const struct ks_live_snapshot *s, enum ks_live_by by, u64 top, bool json,
		  const char *const *wanted, const char *const *unwanted)
{
	struct ks_strbuf out = text_of(s, by, top, json);

	squeeze(&out);
	for (; *wanted; wanted++)
		if (!strstr(out.s, *wanted))
			fail_msg("no '%s' in: %s", *wanted, out.s);
	for (; *unwanted; unwanted++)
		if (strstr(out.s, *unwanted))
			fail_msg("'%s' in: %s", *unwanted, out.s);
	ks_strbuf_deinit(&out);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

/* === Tests ================================================================================ */

static void test_json_of_caches(void **state)
{
	struct ks_live_snapshot *s = make();

	check(s, KS_LIVE_BY_CACHE, 1, true,
	      LIST("\"level\": \"sampled\"", "\"by\": \"cache\"",
		   "\"time_ns\": 1700000000000000000", "\"since_baseline_ns\": 90000000000",
		   "\"total\": 1,", "\"free\": 2,", "\"available\": 3,", "\"slab\": 4,",
		   "\"reclaimable\": 5,", "\"unreclaimable\": 6,", "\"page_tables\": 7,",
		   "\"kernel_stacks\": 8,", "\"vmalloc\": 9,", "\"percpu\": 10,",
		   "\"anonymous\": 11,", "\"file\": 12", "\"present\": true", "\"exact\": true",
		   "\"age_ns\": 0", "\"name\": \"dentry\"", "\"bytes\": 6000", "\"objects\": 30",
		   "\"bytes_change\": 1000", "\"objects_change\": -1", "\"slab_bytes\": 8192",
		   "\"reclaimable\": true", "\"bytes_change\": -1000", "\"reclaimable\": false",
		   "\"name\": \"task\""),
	      LIST("standard_error", "mean_age_ns", "allocated_since_ns"));
	ks_live_snapshot_put(s);
}

static void test_json_of_types(void **state)
{
	struct ks_live_snapshot *s = make();

	check(s, KS_LIVE_BY_TYPE, 0, true,
	      LIST("\"by\": \"type\"", "\"exact\": false", "\"age_ns\": 30000000000",
		   "\"allocated_since_ns\": 60000000000", "\"name\": \"cred\"",
		   "\"standard_error\": 20", "\"mean_age_ns\": 5000000000",
		   "\"cache\": \"kmalloc-64\""),
	      LIST("slab_bytes", "\"reclaimable\": false", "\"standard_error\": 0"));
	check(s, KS_LIVE_BY_CGROUP, 0, true, LIST("\"present\": false"),
	      LIST("\"exact\"", "\"age_ns\""));
	ks_live_snapshot_put(s);
}

/*
 * Text has the rows that are asked for, and the sum of all. Nothing was there at the time 0, from which rates are
 * measured here: up to 100 s, and up to 70 s for types.
 */
static void test_text(void **state)
{
	struct ks_live_snapshot *s = make();

	check(s, KS_LIVE_BY_CACHE, 2, false,
	      LIST("6000 30 1000 60 yes dentry", "640 10 -1000 6 kmalloc-64", "6740 41", "in all"),
	      LIST("task", "+-"));
	check(s, KS_LIVE_BY_CACHE, 3, false, LIST("100 1 100 1 task"), LIST("more rows"));
	check(s, KS_LIVE_BY_TYPE, 0, false,
	      LIST("6000 - 30 6000 86 - dentry", "128 20 2 128 2 5.0 s cred"), LIST("recl"));
	check(s, KS_LIVE_BY_CGROUP, 0, false, LIST("can't be told at level sampled"), LIST());
	ks_live_snapshot_put(s);
}

/* What was missed is said, once each; what was not, is not. */
static void test_quality(void **state)
{
	struct ks_live_snapshot *s = make();
	const char **unseen = ks_vec_push(&s->unseen);

	assert_non_null(unseen);
	*unseen = "frees in \x1b[1mbulk";
	s->quality = (struct ks_live_quality){ .torn = 3,
					       .no_room = 4,
					       .events = 50,
					       .stacks = 6,
					       .cpu_ns = 70,
					       .census_ns = 8,
					       .types_ns = 9,
					       .memory = 100,
					       .kernel_memory = 11,
					       .unknown_frees = 12,
					       .reconciled_bytes = 13 };
	check(s, KS_LIVE_BY_CACHE, 0, true,
	      LIST("\"torn\": 3", "\"no_room\": 4", "\"no_stack\": 0", "\"events\": 50",
		   "\"stacks\": 6", "\"cpu_ns\": 70", "\"census_cpu_ns\": 8", "\"types_cpu_ns\": 9",
		   "\"memory_bytes\": 100", "\"kernel_memory_bytes\": 11", "\"unknown_frees\": 12",
		   "\"reconciled_bytes\": 13"),
	      LIST());
	check(s, KS_LIVE_BY_CACHE, 0, false,
	      LIST("tables are full", "slabs that changed", "Not seen here: frees in "),
	      LIST("\x1b", "without a stack"));
	ks_live_snapshot_put(s);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_json_of_caches),
	cmocka_unit_test(test_json_of_types),
	cmocka_unit_test(test_text),
	cmocka_unit_test(test_quality),
};

KS_RUN(tests)
