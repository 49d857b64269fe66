// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots of what is live: how they compare, how cells add up, and the kernel's counters as text. */
#include "ks-test.h"

#include <math.h>

#include "../../bpf/live.h"
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

/* All that a row says is added up from its cells. */
static void cells_add_up(void **state)
{
	struct ks_live_snapshot *s = snapshot_at(50);
	struct ks_live_cell *cell;
	const struct ks_live_row *row;
	struct ks_live_rows rows;

	part_at(s, KS_LIVE_TYPES, 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_TYPE);
	cell = add(s, KS_LIVE_TYPES, "small", "file", 4, 8);
	cell->slab_bytes = 4096;
	cell->reclaimable = true;
	cell->births_ms = 4 * 10000; /* at 10 s, each */
	cell = add(s, KS_LIVE_TYPES, "small", "inode", 6, 8);
	cell->slab_bytes = 8192;
	cell->reclaimable = true;
	cell->births_ms = 6 * 20000;
	add(s, KS_LIVE_TYPES, "large", "inode", 1, 64);
	add(s, KS_LIVE_TYPES, "large", NULL, 3, 64)->births_ms = 3 * 60000; /* not yet */
	assert_int_equal(s->cells.len, 4);

	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows), 0);
	assert_int_equal(rows.items.len, 2);
	row = &rows.items.items[0];
	assert_string_equal(row->name, "large");
	assert_string_equal(row->cache, "large");
	assert_int_equal(row->objects, 4);
	assert_int_equal(row->bytes, 256);
	assert_false(row->reclaimable);
	assert_true(row->error == 0);
	row = &rows.items.items[1];
	assert_string_equal(row->name, "small");
	assert_int_equal(row->objects, 10);
	assert_int_equal(row->bytes, 80);
	assert_int_equal(row->slab_bytes, 12288);
	assert_true(row->reclaimable);
	assert_true(row->age_ns == 34 * second); /* made at 16 s, in the mean */
	ks_live_rows_free(&rows);

	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_TYPE, NULL, &rows), 0);
	assert_int_equal(rows.items.len, 3);
	row = &rows.items.items[0]; /* of no known type */
	assert_string_equal(row->name, "");
	assert_int_equal(row->key, KS_NONE);
	assert_int_equal(row->bytes, 192);
	assert_true(row->age_ns == UINT64_MAX);
	row = &rows.items.items[1];
	assert_string_equal(row->name, "inode");
	assert_int_equal(row->bytes, 112);
	assert_false(row->reclaimable);
	assert_null(row->cache);
	assert_string_equal(rows.items.items[2].name, "file");
	assert_true(rows.items.items[2].age_ns == 40 * second);
	ks_live_rows_free(&rows);
	ks_live_snapshot_put(s);
}

static void rows_of_one_size_are_by_name(void **state)
{
	const struct look looks[] = { { "b", 5 }, { "c", 6 }, { "a", 5 } };
	struct ks_live_snapshot *s = caches_at(100, NULL, false, looks, 3);
	struct ks_live_rows rows;

	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows), 0);
	assert_string_equal(rows.items.items[0].name, "c");
	assert_string_equal(rows.items.items[1].name, "a");
	assert_string_equal(rows.items.items[2].name, "b");
	ks_live_rows_free(&rows);
	ks_live_snapshot_put(s);
}

/* A part that only has what was allocated since is all change; another one begins with none. */
static void only_what_is_new_has_changed(void **state)
{
	struct ks_live_snapshot *first = snapshot_at(100), *s = snapshot_at(101);
	struct ks_live_rows rows;

	assert_int_equal(ks_live_compare(first, NULL, false, 10 * second), 0);
	part_at(s, KS_LIVE_TYPES, 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_TYPE);
	part_at(s, KS_LIVE_TRACED, 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_SITE);
	s->parts[KS_LIVE_TRACED].since_ns = 100 * second;
	add(s, KS_LIVE_TYPES, "small", "file", 4, 8);
	add(s, KS_LIVE_TRACED, "small", NULL, 3, 8);
	assert_int_equal(ks_live_compare(s, first, false, 10 * second), 0);
	assert_true(s->base_ns == 100 * second);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_TYPE, NULL, &rows), 0);
	assert_int_equal(rows.items.items[0].bytes_change, 0);
	assert_int_equal(rows.items.items[0].objects_change, 0);
	ks_live_rows_free(&rows);
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_SITE, NULL, &rows), 0);
	assert_int_equal(rows.part, KS_LIVE_TRACED);
	assert_int_equal(rows.items.items[0].bytes_change, 24);
	assert_int_equal(rows.items.items[0].objects_change, 3);
	ks_live_rows_free(&rows);
	ks_live_snapshot_put(first);
	ks_live_snapshot_put(s);
}

/* What is not counted again stays as it was, with its time; what had gone does not come back. */
static void parts_are_carried(void **state)
{
	static const u64 frames[] = { 0x10, 0x20, 0x30 };
	const char *names[KS_LIVE_BYS] = {
		[KS_LIVE_BY_CACHE] = "small", [KS_LIVE_BY_STACK] = "x;y"
	};
	struct ks_live_snapshot *old = snapshot_at(100), *s = snapshot_at(105);
	struct ks_live_cell *cell;

	part_at(old, KS_LIVE_TRACED, 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_STACK);
	add(old, KS_LIVE_CACHES, "small", NULL, 9, 8);
	add(old, KS_LIVE_TRACED, "gone", NULL, 0, 8);
	cell = ks_live_cell_stack(old, KS_LIVE_TRACED, names, frames, 3);
	cell->objects = 7;
	cell->bytes = 56;
	cell->slab_bytes = 4096;
	cell->reclaimable = true;
	cell->variance = 2.5;
	cell->births_ms = 700;
	assert_ptr_equal(ks_live_cell_stack(old, KS_LIVE_TRACED, names, frames, 2), cell);
	assert_int_equal(old->frames.len, 3);

	add(s, KS_LIVE_CACHES, "other", NULL, 1, 8);
	assert_int_equal(ks_live_carry(s, old, KS_LIVE_TRACED), 0);
	assert_true(s->parts[KS_LIVE_TRACED].present);
	assert_true(s->parts[KS_LIVE_TRACED].at_ns == 100 * second);
	assert_false(s->parts[KS_LIVE_CACHES].present);
	assert_int_equal(s->cells.len, 2);
	cell = &s->cells.items[1];
	assert_int_equal(cell->part, KS_LIVE_TRACED);
	assert_int_equal(cell->objects, 7);
	assert_int_equal(cell->bytes, 56);
	assert_int_equal(cell->slab_bytes, 4096);
	assert_true(cell->reclaimable && cell->variance == 2.5);
	assert_int_equal(cell->births_ms, 700);
	assert_int_equal(s->frames.len, 3);
	assert_memory_equal(s->frames.items, frames, sizeof(frames));
	assert_int_equal(s->stacks.items[cell->key[KS_LIVE_BY_STACK]].len, 3);
	ks_live_snapshot_put(old);
	ks_live_snapshot_put(s);
}

/* A part that was not counted again keeps its rate. */
static void rates_wait_for_a_count(void **state)
{
	struct ks_live_snapshot *s = NULL, *next;
	struct ks_live_rows rows;
	u64 t;

	for (t = 100; t < 140; t++) {
		next = snapshot_at(t);
		if (t % 5) {
			assert_int_equal(ks_live_carry(next, s, KS_LIVE_TYPES), 0);
		} else {
			part_at(next, KS_LIVE_TYPES, 1u << KS_LIVE_BY_TYPE);
			add(next, KS_LIVE_TYPES, NULL, "file", 10 * t, 8);
		}
		assert_int_equal(ks_live_compare(next, s, false, 10 * second), 0);
		ks_live_snapshot_put(s);
		s = next;
		assert_int_equal(ks_live_rows(s, KS_LIVE_BY_TYPE, NULL, &rows), 0);
		if (t >= 105)
			assert_true(fabs(rows.items.items[0].rate - 80) < 1e-6);
		assert_int_equal(rows.items.items[0].bytes, 80 * (t / 5 * 5));
		ks_live_rows_free(&rows);
	}
	ks_live_snapshot_put(s);
}

/* What the first exact count corrects has not changed, and has no rate. */
static void a_count_is_no_change(void **state)
{
	static const struct {
		bool exact;
		u64 a, b, c;
		s64 a_change, b_change;
	} looks[] = {
		{ false, 100, 0, 9, 0,
		  0 }, /* by counters: a is too high, b is missing, c is none */
		{ true, 70, 40, 0, 0, 0 },
		{ false, 75, 40, 0, 5, 0 },
		{ true, 74, 44, 0, 4, 4 },
	};
	struct ks_live_snapshot *s = NULL, *next;
	struct ks_live_rows rows;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(looks); i++) {
		next = snapshot_at(100 + i);
		part_at(next, KS_LIVE_CACHES, 1u << KS_LIVE_BY_CACHE);
		next->parts[KS_LIVE_CACHES].exact = looks[i].exact;
		add(next, KS_LIVE_CACHES, "a", NULL, looks[i].a, 1);
		if (looks[i].b)
			add(next, KS_LIVE_CACHES, "b", NULL, looks[i].b, 1);
		if (looks[i].c)
			add(next, KS_LIVE_CACHES, "c", NULL, looks[i].c, 1);
		assert_int_equal(ks_live_compare(next, s, false, 10 * second), 0);
		ks_live_snapshot_put(s);
		s = next;
		assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows), 0);
		assert_int_equal(find(&rows, "a")->objects_change, looks[i].a_change);
		if (looks[i].b)
			assert_int_equal(find(&rows, "b")->objects_change, looks[i].b_change);
		assert_int_equal(find(&rows, "c") != NULL, looks[i].c != 0);
		for (k = 0; i < 2 && k < rows.items.len; k++)
			assert_true(isnan(rows.items.items[k].rate));
		ks_live_rows_free(&rows);
	}
	ks_live_snapshot_put(s);
}

/* A baseline is of all of memory, too. */
static void memory_has_a_baseline(void **state)
{
	struct ks_live_snapshot *a = snapshot_at(100), *b = snapshot_at(101), *c = snapshot_at(102);

	a->memory.slab = 1000;
	b->memory.slab = 1500;
	c->memory.slab = 1700;
	assert_int_equal(ks_live_compare(a, NULL, false, second), 0);
	assert_int_equal(a->base_memory.slab, 1000);
	assert_int_equal(ks_live_compare(b, a, false, second), 0);
	assert_int_equal(b->base_memory.slab, 1000);
	assert_true(b->base_ns == 100 * second);
	assert_int_equal(ks_live_compare(c, b, true, second), 0);
	assert_int_equal(c->base_memory.slab, 1700);
	assert_true(c->base_ns == 102 * second);
	assert_int_equal(ks_live_unseen(c, "page tables"), 0);
	assert_string_equal(c->unseen.items[0], "page tables");
	/* Whoever has taken it may use it until it is put back. */
	assert_ptr_equal(ks_live_snapshot_get(c), c);
	ks_live_snapshot_put(c);
	assert_int_equal(c->memory.slab, 1700);
	ks_live_snapshot_put(a);
	ks_live_snapshot_put(b);
	ks_live_snapshot_put(c);
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
	static const char text[] =
		"MemTotal:       24580444 kB\nMemFree:  1 kB\nSlab: 20 kB\n"
		"SUnreclaim:  7 kB\nMemAvailable: 30 kB\nSReclaimable: 13 kB\n"
		"PageTables: 3 kB\nKernelStack: 4 kB\nVmallocUsed: 5 kB\n"
		"Percpu: 6 kB\nAnonPages: 8 kB\nHugePages_Total:       0\nCached";
	struct ks_live_memory m;

	ks_live_memory_parse(&m, text);
	assert_int_equal(m.total, 24580444ull * 1024);
	assert_int_equal(m.free, 1024);
	assert_int_equal(m.slab, 20480);
	assert_int_equal(m.unreclaimable, 7168);
	assert_int_equal(m.available, 30 * 1024);
	assert_int_equal(m.reclaimable, 13 * 1024);
	assert_int_equal(m.page_tables, 3 * 1024);
	assert_int_equal(m.stacks, 4 * 1024);
	assert_int_equal(m.vmalloc, 5 * 1024);
	assert_int_equal(m.percpu, 6 * 1024);
	assert_int_equal(m.anon, 8 * 1024);
	assert_int_equal(m.file, 0);
}

/* One more object in the table of level 3. False: there is no place for it. */
static bool find_room(u8 *used, u32 groups, u64 addr)
{
	u32 place, at;

	for (place = 0; place < KS_LIVE_PLACES; place++) {
		at = ks_live_bucket_of(addr, place, groups);
		assert_true(at < groups * 64);
		if (used[at] < KS_LIVE_WAYS) {
			used[at]++;
			return true;
		}
	}
	return false;
}

/*
 * Pages full of objects of one size, in runs as the kernel hands them out: all find a place, also when five in seven places
 * are used.
 */
static void objects_find_room(void **state)
{
	static const u32 sizes[] = { 64, 96, 128, 192, 256, 512, 1024, 4096 };
	const u32 groups = 700, slots = groups * 64 * KS_LIVE_WAYS;
	u8 *used = calloc(groups * 64, 1);
	u64 addr = 0xffff888000000000, random = 1;
	u32 objects = 0, page = 0, offset, size;

	assert_non_null(used);
	while (objects < slots / 7 * 5) {
		random = random * 6364136223846793005 + 1442695040888963407;
		if (page++ % 16 == 0)
			addr = 0xffff888000000000 + (random >> 34) * 4096;
		size = sizes[(random >> 40) % ARRAY_SIZE(sizes)];
		addr += 4096;
		for (offset = 0; offset + size <= 4096; offset += size, objects++)
			assert_true(find_room(used, groups, addr + offset));
	}
	free(used);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(changes_are_since_the_baseline),
	cmocka_unit_test(what_has_gone_is_forgotten),
	cmocka_unit_test(rates_are_of_the_last_seconds),
	cmocka_unit_test(rows_are_within_names),
	cmocka_unit_test(cells_add_up),
	cmocka_unit_test(rows_of_one_size_are_by_name),
	cmocka_unit_test(only_what_is_new_has_changed),
	cmocka_unit_test(parts_are_carried),
	cmocka_unit_test(rates_wait_for_a_count),
	cmocka_unit_test(a_count_is_no_change),
	cmocka_unit_test(memory_has_a_baseline),
	cmocka_unit_test(counters_are_read),
	cmocka_unit_test(memory_is_read),
	cmocka_unit_test(objects_find_room),
};

KS_RUN(tests)
