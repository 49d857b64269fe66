// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots of what is live: how they compare, how cells add up, and the kernel's counters as text. */
#include "ks-test.h"

#include <math.h>

#include "live/build.h"
#include "live/counters.h"

/* === Data ================================================================================= */

enum { SEED = 77 };

static const u64 second = 1000000000;

struct look {
	const char *cache;
	u64 objects;
};

/* === Internals ============================================================================ */

static struct ks_live_snapshot *snapshot_at(u64 seconds)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(SEED);

	assert_non_null(s);
	s->at_ns = seconds * second;
	return s;
}

static void part_at(struct ks_live_snapshot *s, enum ks_live_part part, unsigned int tells)
{
	s->parts[part] =
		(struct ks_live_part_info){ .present = true, .tells = tells, .at_ns = s->at_ns };
}

static struct ks_live_cell *add(struct ks_live_snapshot *s, enum ks_live_part part,
				const char *cache, const char *type, u64 objects, u64 size)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = cache, [KS_LIVE_BY_TYPE] = type };
	struct ks_live_cell *cell = ks_live_cell(s, part, names);

	assert_non_null(cell);
	cell->objects += objects;
	cell->bytes += objects * size;
	return cell;
}

/* A snapshot of caches, whose objects are of 100 bytes, compared with @old, which is put back. */
static struct ks_live_snapshot *caches_at(u64 seconds, struct ks_live_snapshot *old, bool rebase,
					  const struct look *looks, size_t count)
{
	struct ks_live_snapshot *s = snapshot_at(seconds);
	size_t i;

	part_at(s, KS_LIVE_CACHES, 1u << KS_LIVE_BY_CACHE);
	for (i = 0; i < count; i++)
		add(s, KS_LIVE_CACHES, looks[i].cache, NULL, looks[i].objects, 100);
	assert_int_equal(ks_live_compare(s, old, rebase, 10 * second), 0);
	ks_live_snapshot_put(old);
	return s;
}

static const struct ks_live_row *find(const struct ks_live_rows *rows, const char *name)
{
	size_t i;

	for (i = 0; i < rows->items.len; i++)
		if (!strcmp(rows->items.items[i].name, name))
			return &rows->items.items[i];
	return NULL;
}

/* === Tests ================================================================================ */

static void changes_are_since_the_baseline(void **state)
{
	const struct look first[] = { { "a", 10 }, { "b", 5 } };
	const struct look then[] = { { "a", 13 }, { "c", 2 } };
	struct ks_live_snapshot *s = caches_at(100, NULL, false, first, 2);
	const struct ks_live_row *row;
	struct ks_live_rows rows;

	s = caches_at(101, s, false, then, 2);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows), 0);
	assert_true(rows.present);
	assert_int_equal(rows.items.len, 3);
	row = find(&rows, "a");
	assert_int_equal(row->objects_change, 3);
	assert_int_equal(row->bytes_change, 300);
	row = find(&rows, "b"); /* all of it has gone */
	assert_int_equal(row->objects, 0);
	assert_int_equal(row->bytes_change, -500);
	row = find(&rows, "c"); /* it was not there */
	assert_int_equal(row->bytes_change, 200);
	ks_live_rows_free(&rows);

	s = caches_at(102, s, true, then, 2);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows), 0);
	assert_int_equal(find(&rows, "a")->bytes_change, 0);
	assert_int_equal(find(&rows, "c")->bytes_change, 0);
	ks_live_rows_free(&rows);
	ks_live_snapshot_put(s);
}

/* What came and went is forgotten once no rate is measured from it: names do not pile up. */
static void what_has_gone_is_forgotten(void **state)
{
	const struct look none[] = { { "a", 1 } }, some[] = { { "a", 1 }, { "gone", 9 } };
	struct ks_live_snapshot *s = caches_at(100, NULL, false, none, 1);
	u64 t;

	s = caches_at(101, s, false, some, 2);
	for (t = 102; t < 160; t++)
		s = caches_at(t, s, false, none, 1);
	assert_int_equal(s->cells.len, 1);
	ks_live_snapshot_put(s);
}

static void rates_are_of_the_last_seconds(void **state)
{
	struct ks_live_snapshot *s = NULL;
	struct ks_live_rows rows;
	u64 t;

	for (t = 100; t < 200; t++) {
		/* 5 objects a second, and 7 from 150 s on. */
		u64 objects = t < 150 ? 5 * (t - 100) : 250 + 7 * (t - 150);
		const struct look looks[] = { { "a", objects } };

		s = caches_at(t, s, false, looks, 1);
		assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows), 0);
		if (t == 100)
			assert_true(isnan(rows.items.items[0].rate));
		else if (t < 150)
			assert_true(fabs(rows.items.items[0].rate - 500) < 1e-6);
		else if (t > 172)
			assert_true(fabs(rows.items.items[0].rate - 700) < 1e-6);
		ks_live_rows_free(&rows);
	}
	ks_live_snapshot_put(s);
}

static void rows_are_within_names(void **state)
{
	const struct ks_live_within in_small = { .name = { [KS_LIVE_BY_CACHE] = "small" } };
	const struct ks_live_within in_none = { .name = { [KS_LIVE_BY_CACHE] = "none" } };
	struct ks_live_snapshot *s = snapshot_at(5);
	struct ks_live_rows rows;

	part_at(s, KS_LIVE_CACHES, 1u << KS_LIVE_BY_CACHE);
	part_at(s, KS_LIVE_TYPES, 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_TYPE);
	add(s, KS_LIVE_CACHES, "small", NULL, 7, 8);
	add(s, KS_LIVE_TYPES, "small", "file", 4, 8);
	add(s, KS_LIVE_TYPES, "small", "inode", 3, 8)->variance = 9;
	add(s, KS_LIVE_TYPES, "large", "inode", 2, 64)->variance = 16;
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_TYPE, NULL, &rows), 0);
	assert_int_equal(rows.part, KS_LIVE_TYPES);
	assert_int_equal(rows.items.len, 2);
	assert_string_equal(rows.items.items[0].name, "inode");
	assert_int_equal(rows.items.items[0].bytes, 152);
	assert_null(rows.items.items[0].cache);
	assert_true(fabs(rows.items.items[0].error - 5) < 1e-9);
	assert_string_equal(rows.items.items[1].cache, "small");
	ks_live_rows_free(&rows);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_TYPE, &in_small, &rows), 0);
	assert_int_equal(find(&rows, "inode")->bytes, 24);
	assert_int_equal(find(&rows, "inode")->age_ns, UINT64_MAX);
	ks_live_rows_free(&rows);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_TYPE, &in_none, &rows), 0);
	assert_true(rows.present);
	assert_int_equal(rows.items.len, 0);
	ks_live_rows_free(&rows);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_SITE, NULL, &rows), 0);
	assert_false(rows.present);
	ks_live_rows_free(&rows);
	ks_live_snapshot_put(s);
}

static void counters_are_read(void **state)
{
	static const char text[] =
		"slabinfo - version: 2.1\n"
		"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : ...\n"
		"kmalloc-64          1234   1280     64   64    1 : tunables    0    0    0 : "
		"slabdata     20     20      0\n"
		"twice                 10     32    512   16    2 : tunables    0    0    0 : "
		"slabdata      2      2      0\n"
		"twice                  1     16    512   16    2 : tunables    0    0    0 : "
		"slabdata      1      1      0\n"
		"cut off               10     32\n";
	struct ks_counters c;
	u32 twice;

	assert_int_equal(ks_counters_init(&c), 0);
	assert_int_equal(ks_counters_parse(&c, text, 4096), 0);
	assert_int_equal(c.items.len, 2);
	assert_int_equal(c.items.items[0].active, 1234);
	assert_int_equal(c.items.items[0].bytes, 81920);
	assert_int_equal(c.items.items[0].size, 64);
	twice = ks_intern_find(&c.names, "twice", 5);
	assert_int_equal(c.items.items[twice].active, 11);
	assert_int_equal(c.items.items[twice].bytes, 3 * 8192);
	ks_counters_deinit(&c);
}

static void memory_is_read(void **state)
{
	static const char text[] = "MemTotal:       24580444 kB\nMemFree:  1 kB\nSlab: 20 kB\n"
				   "SUnreclaim:  7 kB\nHugePages_Total:       0\nCached";
	struct ks_live_memory m;

	ks_live_memory_parse(&m, text);
	assert_int_equal(m.total, 24580444ull * 1024);
	assert_int_equal(m.free, 1024);
	assert_int_equal(m.slab, 20480);
	assert_int_equal(m.unreclaimable, 7168);
	assert_int_equal(m.file, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(changes_are_since_the_baseline),
	cmocka_unit_test(what_has_gone_is_forgotten),
	cmocka_unit_test(rates_are_of_the_last_seconds),
	cmocka_unit_test(rows_are_within_names),
	cmocka_unit_test(counters_are_read),
	cmocka_unit_test(memory_is_read),
};

KS_RUN(tests)
