// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope top on made-up snapshots: what is drawn, and what keys do. */
#include "ks-test.h"

#include <math.h>

#include "live/build.h"
#include "tui/terminal.h"
#include "tui/top.h"

/* === Helpers ============================================================================== */

#define MB ((u64)1 << 20)
#define S  ((u64)1000000000)

static struct ks_top top;
static struct ks_screen screen;

static void put_cell(struct ks_live_snapshot *s, enum ks_live_part part, enum ks_live_by by,
		     const char *cache, const char *name, u64 objects, u64 bytes, u64 base)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = cache };
	struct ks_live_cell *cell;

	names[by] = name;
	cell = ks_live_cell(s, part, names);
	assert_non_null(cell);
	cell->objects = objects;
	cell->bytes = bytes;
	cell->base_objects = objects;
	cell->base_bytes = base;
	cell->marks[0] = base;
	s->parts[part].present = true;
	s->parts[part].tells |= 1u << KS_LIVE_BY_CACHE | 1u << by;
	s->parts[part].at_ns = s->at_ns;
}

/* A machine at a time: dentry grows by 1 MB a second, and nothing else does. */
static struct ks_live_snapshot *look(u64 seconds, bool types, bool sites)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(1);

	assert_non_null(s);
	s->at_ns = (100 + seconds) * S;
	s->wall_ns = 1000000000 * S + seconds * S;
	s->base_ns = 100 * S;
	s->memory = (struct ks_live_memory){ .total = 1000 * MB,
					     .free = 400 * MB,
					     .slab = (100 + seconds) * MB,
					     .unreclaimable = 50 * MB };
	s->base_memory = s->memory;
	s->base_memory.slab = 100 * MB;
	s->quality.cpu_ns = seconds * S / 200;
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "dentry", "dentry", 5000 + seconds,
		 (10 + seconds) * MB, 10 * MB);
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "kmalloc-64", "kmalloc-64", 1024, 65536,
		 65536);
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "evil\033[2J", "evil\033[2J", 1, 64, 64);
	s->marks_ns[KS_LIVE_CACHES][0] = 100 * S;
	if (types) {
		put_cell(s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE, "kmalloc-64", "cred", 24, 1536, 1536);
		put_cell(s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE, "kmalloc-64", "seq_file", 1000, 64000,
			 64000);
	}
	if (sites) {
		s->level = KS_LIVE_EXACT;
		put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_SITE, "kmalloc-64", "seq_open+0x1a", 7, 448,
			 0);
	}
	return s;
}

static int begin(void **state)
{
	ks_screen_init(&screen);
	ks_top_init(&top, KS_LIVE_BY_CACHE);
	setenv("TZ", "UTC", 1);
	return ks_screen_resize(&screen, 24, 80);
}

static int end(void **state)
{
	ks_screen_deinit(&screen);
	ks_top_deinit(&top);
	return 0;
}

static void check_row(unsigned int row, const char *want)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_screen_row(&screen, row, &text);
	assert_string_equal(ks_strbuf_str(&text), want);
	ks_strbuf_deinit(&text);
}

static void draw(unsigned int rows, unsigned int cols)
{
	assert_int_equal(ks_screen_resize(&screen, rows, cols), 0);
	ks_top_draw(&top, &screen);
}

static void press(int key)
{
	assert_int_equal(ks_top_key(&top, key), KS_TOP_NOTHING);
}

static void type(const char *text)
{
	for (; *text; text++)
		press(*text);
}

/* === The screen =========================================================================== */

static void test_screen(void **state)
{
	draw(24, 80); /* before the first snapshot */
	check_row(0, "kmemscope top: level 0, census");
	ks_top_feed(&top, look(0, false, false));
	ks_top_feed(&top, look(2, false, false));
	ks_top_feed(&top, look(7, false, false));
	draw(24, 80);
	check_row(
		0,
		"kmemscope top: level 0, census, changes over 7s                         01:46:47");
	check_row(1, "slab           107M     +7.00M    \u2581\u2583\u2588");
	check_row(2, "unreclaimable  50.0M    0         \u2581\u2581\u2581");
	check_row(3, "all in use     600M     0         \u2581\u2581\u2581");
	check_row(5, "by the kernel's counters, 0.50 % of a CPU");
	check_row(6, "caches (3)");
	check_row(7, " bytesv   change    per s   objects  +objects name");
	check_row(8, "  17.0M   +7.00M   +1.00M      5007         0 dentry");
	check_row(9, "  64.0K        0        0      1024         0 kmalloc-64");
	check_row(10, "     64        0        0         1         0 evil\\x1b[2J");
	check_row(11, "");
	assert_int_equal(ks_screen_at(&screen, 1, 24)->style, KS_STYLE_GROWN);
	assert_int_equal(ks_screen_at(&screen, 9, 9)->style, KS_STYLE_PLAIN);
	check_row(23,
		  "Enter deeper  Esc back  Tab by  / search  <> sort  l level  w write  ? help  q");
}

static void test_sizes(void **state)
{
	ks_top_feed(&top, look(0, false, false));
	ks_top_feed(&top, look(7, false, false));
	draw(12, 40);
	check_row(0, "kmemscope top: level 0, census~ 01:46:47");
	check_row(1, "slab           107M     +7.00M    \u2581\u2588");
	check_row(2, "unreclaimable  50.0M    0         \u2581\u2581");
	check_row(3, "caches (3)");
	check_row(5, "  17.0M   +7.00M dentry");
	check_row(11, "? help  q  Enter  Esc  Tab  /");
	draw(60, 200);
	check_row(8, "  17.0M   +7.00M   +1.00M      5007         0 dentry");
	check_row(59,
		  "Enter deeper  Esc back  Tab by  / search  <> sort  l level  w write  ? help  q");
	draw(6, 20);
	check_row(2, "name");
	draw(2, 80);
	check_row(0, "");
	draw(24, 80);
	check_row(8, "  17.0M   +7.00M   +1.00M      5007         0 dentry");
}

static void test_missed(void **state)
{
	struct ks_live_snapshot *s = look(1, false, true);

	s->quality.events = 1000;
	s->quality.no_room = 2;
	s->quality.recursion = 1;
	ks_top_feed(&top, s);
	draw(24, 80);
	check_row(5, "by the kernel's counters, 1000 events, 3 missed");
	assert_int_equal(ks_screen_at(&screen, 5, 0)->style, KS_STYLE_BOLD);
}

/* === Keys ================================================================================= */

static void test_search(void **state)
{
	ks_top_feed(&top, look(1, false, false));
	type("/MALx");
	draw(24, 80);
	check_row(23, "/MALx_");
	check_row(6, "caches (0) with \"MALx\"");
	press(KS_KEY_BACKSPACE);
	press(KS_KEY_ENTER);
	draw(24, 80);
	check_row(6, "caches (1) with \"MAL\"");
	check_row(8, "  64.0K        0        0      1024         0 kmalloc-64");
	press(KS_KEY_ESCAPE);
	draw(24, 80);
	check_row(6, "caches (3)");
}

static void test_pause(void **state)
{
	ks_top_feed(&top, look(0, false, false));
	press('p');
	ks_top_feed(&top, look(7, false, false));
	draw(24, 80);
	check_row(
		0,
		"kmemscope top: level 0, census, changes over 0s                           PAUSED");
	check_row(1, "slab           100M     0         \u2581\u2588");
	press('p');
	ks_top_feed(&top, look(8, false, false));
	draw(24, 80);
	check_row(8, "  18.0M   +8.00M   +1.00M      5008         0 dentry");
}

static void test_asks(void **state)
{
	ks_top_feed(&top, look(0, false, false));
	assert_int_equal(ks_top_key(&top, 'r'), KS_TOP_REBASE);
	assert_int_equal(ks_top_key(&top, 't'), KS_TOP_TYPES);
	assert_int_equal(ks_top_key(&top, 12), KS_TOP_REDRAW);
	assert_int_equal(ks_top_key(&top, 'l'), KS_TOP_LEVEL);
	assert_int_equal(top.level, KS_LIVE_GROWTH);
	/* The level is what snapshots say: where it can't be had, it goes back. */
	ks_top_feed(&top, look(1, false, false));
	assert_int_equal(top.level, KS_LIVE_CENSUS);
	press('w');
	draw(24, 80);
	check_row(23, "write: s a snapshot of the heap, c a capture of 10 s, Esc nothing");
	assert_int_equal(ks_top_key(&top, 's'), KS_TOP_SNAPSHOT);
	press('w');
	assert_int_equal(ks_top_key(&top, 'c'), KS_TOP_CAPTURE);
	press('w');
	press('q');
	press('?');
	draw(24, 80);
	check_row(23, "any key goes back");
	press('q');
	assert_int_equal(ks_top_key(&top, 'q'), KS_TOP_QUIT);
	ks_top_say(&top, "no \033 such level");
	draw(24, 80);
	check_row(23, "no \\x1b such level");
	press('j');
	draw(24, 80);
	check_row(23,
		  "Enter deeper  Esc back  Tab by  / search  <> sort  l level  w write  ? help  q");
}

/* === Deeper =============================================================================== */

static void choose(const char *name)
{
	press('/');
	type(name);
	press(KS_KEY_ENTER);
}

static void test_types(void **state)
{
	ks_top_feed(&top, look(0, false, false));
	assert_int_equal(ks_top_wish(&top), KS_TOP_NOTHING);
	choose("kmalloc");
	press(KS_KEY_ENTER);
	draw(24, 80);
	check_row(6, "caches > kmalloc-64 > types (0)");
	check_row(9, "not counted yet; t counts types and cgroups now");
	assert_int_equal(ks_top_wish(&top), KS_TOP_TYPES);
	ks_top_feed(&top, look(1, true, false));
	assert_int_equal(ks_top_wish(&top), KS_TOP_NOTHING);
	draw(24, 80);
	check_row(6, "caches > kmalloc-64 > types (2)");
	check_row(8, "  62.5K        0        0      1000         0 seq_file");
	/* No level above: the objects are next. */
	assert_int_equal(ks_top_key(&top, KS_KEY_ENTER), KS_TOP_OBJECTS);
	assert_string_equal(top.wanted, "seq_file");
	top.snapshot->parts[KS_LIVE_TYPES].at_ns -= 60 * S;
	assert_int_equal(ks_top_wish(&top), KS_TOP_TYPES);
	press(KS_KEY_ESCAPE);
	draw(24, 80);
	check_row(6, "caches (1) with \"kmalloc\"");
}

static void test_sites(void **state)
{
	ks_top_feed(&top, look(1, true, true));
	choose("kmalloc");
	press(KS_KEY_ENTER);
	press(KS_KEY_ENTER);
	draw(24, 80);
	check_row(6, "caches > kmalloc-64 > types > sites (1)");
	check_row(8, "    448     +448       +4         7         0 seq_open+0x1a");
	assert_int_equal(ks_top_key(&top, KS_KEY_ENTER), KS_TOP_OBJECTS);
	assert_string_equal(top.wanted, "kmalloc-64");
}

/* A stack has a page of its own, a frame a line, and its objects are behind that. */
static void test_stack(void **state)
{
	struct ks_live_snapshot *s = look(1, false, false);

	put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_STACK, "kmalloc-64", "seq_open+0x1a <- do_open+0x2",
		 7, 448, 0);
	ks_top_feed(&top, s);
	press('4');
	press(KS_KEY_ENTER);
	draw(24, 80);
	check_row(6, "stacks > stack, the allocation first");
	check_row(7, "seq_open+0x1a");
	check_row(8, "do_open+0x2");
	check_row(10, "Enter lists the objects.");
	press(KS_KEY_ENTER);
	draw(24, 80);
	check_row(23, "which objects these are is not known: no type and no cache");
}

static void test_by(void **state)
{
	ks_top_feed(&top, look(1, true, false));
	press(KS_KEY_TAB);
	draw(24, 80);
	check_row(6, "types (2)");
	press('3');
	draw(24, 80);
	check_row(6, "sites (0)");
	check_row(9, "level 0 can't tell this; l takes the next level");
	top.level = KS_LIVE_EXACT;
	press('4');
	draw(24, 80);
	check_row(6, "stacks (0)");
	check_row(9, "level 3 has no stacks; levels 1 and 2 do, and l changes the level");
	press('1');
	draw(24, 80);
	check_row(6, "caches (3)");
}

enum { ADDRESS, TYPE, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[ADDRESS] = { "address", "address", KS_CELL_HEX },
	[TYPE] = { "type", "type", KS_CELL_TEXT },
};

static struct ks_doc *list(const char *before)
{
	struct ks_doc *doc = ks_doc_new("list");
	struct ks_table *table;
	int i;

	if (before)
		ks_doc_say(doc, "%s", before);
	table = ks_doc_table(doc, "objects", columns, COLUMNS);
	for (i = 0; i < 2; i++) {
		struct ks_row row = ks_table_add(table);

		ks_row_u64(row, ADDRESS, 0xffff888000001000 + (u64)i * 64);
		ks_row_text(row, TYPE, "seq_file");
	}
	table->left_out = 5;
	return doc;
}

static void test_objects(void **state)
{
	ks_top_feed(&top, look(1, true, false));
	strcpy(top.wanted, "seq_file");
	ks_top_show(&top, list(NULL));
	draw(24, 80);
	check_row(6, "caches > seq_file (2), 5 more are not listed");
	check_row(8, "seq_file 0xffff888000001000");
	press(KS_KEY_DOWN);
	assert_int_equal(ks_top_key(&top, KS_KEY_ENTER), KS_TOP_OBJECTS);
	assert_string_equal(top.wanted, "0xffff888000001040");
	ks_top_show(&top, list("one object\n\nheld by\n"));
	draw(24, 80);
	check_row(6, "caches > seq_file > 0xffff888000001040");
	check_row(7, "one object");
	check_row(9, "held by");
	press(KS_KEY_END); /* all of it is on the screen */
	draw(24, 80);
	check_row(7, "one object");
	draw(8, 80);
	press(KS_KEY_DOWN);
	press(KS_KEY_DOWN);
	draw(8, 80);
	check_row(3, "held by");
	press(KS_KEY_LEFT);
	press(KS_KEY_LEFT);
	press(KS_KEY_LEFT);
	draw(24, 80);
	check_row(6, "caches (3)");
}

/* Few digits: three, or four where a unit has not yet begun. */
static void test_byte_words(void **state)
{
	static const struct {
		double bytes;
		bool sign;
		const char *text;
	} rows[] = {
		{ 0, false, "0" },
		{ 0, true, "0" },
		{ 0.4, true, "0" },
		{ -0.4, true, "0" },
		{ 0.6, true, "+1" },
		{ -0.6, false, "-1" },
		{ 1023, false, "1023" },
		{ 1024, false, "1.00K" },
		{ 1536, true, "+1.50K" },
		{ -1536, false, "-1.50K" },
		{ 10234, false, "9.99K" },   /* 9.9941 */
		{ 10235, false, "10.0K" },   /* 9.9951 */
		{ 102348, false, "99.9K" },  /* 99.949 */
		{ 102349, false, "100K" },   /* 99.950 */
		{ 1048063, false, "1023K" }, /* 1023.4990 */
		{ 1048064, false, "1.00M" }, /* 1023.5 */
		{ 5.5 * 1024 * 1024 * 1024, false, "5.50G" },
		{ 0x1p63, false, "8.00E" },
		{ 0x1p72, false, "4096E" },
	};
	struct ks_strbuf out;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ks_strbuf_init(&out);
		ks_top_bytes(&out, rows[i].bytes, rows[i].sign);
		assert_string_equal(ks_strbuf_str(&out), rows[i].text);
		ks_strbuf_deinit(&out);
	}
}

static void test_duration_words(void **state)
{
	static const struct {
		u64 seconds;
		const char *text;
	} rows[] = {
		{ 0, "0s" },	   { 59, "59s" },      { 60, "1m00" },	 { 61, "1m01" },
		{ 3599, "59m59" }, { 3600, "1h00" },   { 3661, "1h01" }, { 86399, "23h59" },
		{ 86400, "1d00" }, { 360000, "4d04" },
	};
	struct ks_strbuf out;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ks_strbuf_init(&out);
		ks_top_duration(&out, rows[i].seconds * S + 999999999);
		assert_string_equal(ks_strbuf_str(&out), rows[i].text);
		ks_strbuf_deinit(&out);
	}
}

/* What grows is painted so, what shrinks otherwise, and what is not known not at all. */
static void test_paint(void **state)
{
	struct ks_live_row items[] = {
		{ .name = "up",
		  .bytes_change = 1,
		  .objects_change = -1,
		  .rate = 0.5,
		  .age_ns = 5 * S,
		  .error = 2048,
		  .reclaimable = true },
		{ .name = "",
		  .bytes_change = -1,
		  .objects_change = 1,
		  .rate = -0.6,
		  .age_ns = UINT64_MAX },
		{ .name = "still", .rate = 0.4, .age_ns = UINT64_MAX },
		{ .name = "new", .rate = (double)NAN, .age_ns = UINT64_MAX },
	};
	struct ks_live_rows rows = { .items = { .items = items, .len = 4 } };
	struct ks_table *table = ks_top_table(&rows, KS_LIVE_BY_CACHE);

	assert_non_null(table);
	assert_int_equal(ks_table_len(table), 4);
	assert_int_equal(ks_top_paint(table, 0, KS_TOP_CHANGE), KS_STYLE_GROWN);
	assert_int_equal(ks_top_paint(table, 0, KS_TOP_COUNT_CHANGE), KS_STYLE_SHRUNK);
	assert_int_equal(ks_top_paint(table, 0, KS_TOP_RATE), KS_STYLE_GROWN);
	assert_int_equal(ks_top_paint(table, 0, KS_TOP_BYTES), KS_STYLE_PLAIN);
	assert_int_equal(ks_top_paint(table, 1, KS_TOP_CHANGE), KS_STYLE_SHRUNK);
	assert_int_equal(ks_top_paint(table, 1, KS_TOP_COUNT_CHANGE), KS_STYLE_GROWN);
	assert_int_equal(ks_top_paint(table, 1, KS_TOP_RATE), KS_STYLE_SHRUNK);
	assert_int_equal(ks_top_paint(table, 2, KS_TOP_CHANGE), KS_STYLE_PLAIN);
	assert_int_equal(ks_top_paint(table, 2, KS_TOP_RATE), KS_STYLE_PLAIN);
	assert_int_equal(ks_top_paint(table, 3, KS_TOP_RATE), KS_STYLE_PLAIN);
	assert_int_equal(ks_table_state(table, 3, KS_TOP_RATE), KS_CELL_UNSET);
	assert_int_equal(ks_table_state(table, 1, KS_TOP_AGE), KS_CELL_UNSET);
	assert_int_equal(ks_table_state(table, 1, KS_TOP_ERROR), KS_CELL_UNSET);
	assert_true(ks_table_cell(table, 0, KS_TOP_AGE)->u64 == 5 * S);
	assert_true(ks_table_cell(table, 0, KS_TOP_ERROR)->number == 2048);
	assert_int_equal(ks_table_cell(table, 0, KS_TOP_RECLAIMABLE)->u64, 1);
	assert_int_equal(ks_table_cell(table, 1, KS_TOP_RECLAIMABLE)->u64, 0);
	ks_table_free(table);
	/* Of other things than caches, reclaimable says nothing. */
	table = ks_top_table(&rows, KS_LIVE_BY_TYPE);
	assert_int_equal(ks_table_cell(table, 0, KS_TOP_RECLAIMABLE)->u64, 0);
	ks_table_free(table);
}

/* A curve is as long as the screen is wide, whatever was before. */
static void test_long_history(void **state)
{
	u64 i;

	for (i = 0; i < KS_TOP_HISTORY + 100; i++)
		ks_top_feed(&top, look(i, false, false));
	assert_int_equal(top.history, KS_TOP_HISTORY);
	assert_int_equal(top.slab[KS_TOP_HISTORY - 1], (100 + i - 1) * MB);
	assert_int_equal(top.slab[0], 200 * MB);
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest tests[] = {
	test(test_screen),
	test(test_sizes),
	test(test_missed),
	test(test_search),
	test(test_pause),
	test(test_asks),
	test(test_types),
	test(test_sites),
	test(test_by),
	test(test_stack),
	test(test_objects),
	test(test_long_history),
	cmocka_unit_test(test_byte_words),
	cmocka_unit_test(test_duration_words),
	cmocka_unit_test(test_paint),
};

KS_RUN(tests)
