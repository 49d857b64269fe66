// SPDX-License-Identifier: GPL-2.0-only
/* What is drawn into a screen of characters: text, bars, and tables at several sizes. */
#include "ks-test.h"

#include <math.h>

#include "tui/terminal.h"
#include "tui/view.h"

/* === Helpers ============================================================================== */

enum { BYTES, CHANGE, RATE, NAME, COLUMNS };

static const struct ks_column columns[COLUMNS] = {
	[BYTES] = { "bytes", "bytes", KS_CELL_U64, KS_UNIT_BYTES },
	[CHANGE] = { "change", "change", KS_CELL_CHANGE, .width = 8 },
	[RATE] = { "rate", "rate", KS_CELL_DOUBLE, .width = 8 },
	[NAME] = { "name", "name", KS_CELL_TEXT },
};

static struct ks_table *table;
static struct ks_screen screen;
static struct ks_view view;

static void add(const char *name, u64 bytes, u64 before, double rate)
{
	struct ks_row row = ks_table_add(table);

	ks_row_text(row, NAME, name);
	ks_row_u64(row, BYTES, bytes);
	ks_row_change(row, CHANGE, before, bytes);
	ks_row_double(row, RATE, rate);
}

static int begin(void **state)
{
	table = ks_table_new("rows", columns, COLUMNS);
	ks_screen_init(&screen);
	ks_view_init(&view, NAME, BYTES, false);
	return !table || ks_screen_resize(&screen, 24, 80);
}

static int end(void **state)
{
	ks_table_free(table);
	ks_screen_deinit(&screen);
	ks_view_deinit(&view);
	return 0;
}

static void check_row(unsigned int row, const char *want)
{
	struct ks_strbuf text;

	ks_strbuf_init(&text);
	ks_screen_row(&screen, row, &text);
	assert_false(text.failed);
	assert_string_equal(ks_strbuf_str(&text), want);
	ks_strbuf_deinit(&text);
}

static void draw(unsigned int rows, unsigned int cols)
{
	assert_int_equal(ks_screen_resize(&screen, rows, cols), 0);
	assert_int_equal(ks_view_arrange(&view, table), 0);
	ks_view_draw(&view, table, &screen, 0, rows);
}

static void press(int key)
{
	assert_true(ks_view_key(&view, table, key));
	assert_int_equal(ks_view_arrange(&view, table), 0);
}

static const char *selected(void)
{
	size_t row = ks_view_selected(&view);

	return row == SIZE_MAX ? "" : ks_table_cell(table, row, NAME)->text;
}

/* === Text ================================================================================= */

static void test_text(void **state)
{
	assert_int_equal(ks_screen_put(&screen, 0, 2, 10, KS_STYLE_BOLD, "dentry"), 6);
	check_row(0, "  dentry");
	assert_int_equal(ks_screen_at(&screen, 0, 1)->style, KS_STYLE_PLAIN);
	assert_int_equal(ks_screen_at(&screen, 0, 2)->style, KS_STYLE_BOLD);
	assert_int_equal(ks_screen_at(&screen, 0, 7)->style, KS_STYLE_BOLD);
	assert_int_equal(ks_screen_at(&screen, 0, 8)->style, KS_STYLE_PLAIN);
	assert_int_equal(ks_screen_printf(&screen, 1, 0, KS_STYLE_PLAIN, "%d caches", 7), 8);
	check_row(1, "7 caches");
	ks_screen_paint(&screen, 1, 78, 10, KS_STYLE_HEAD);
	assert_int_equal(ks_screen_at(&screen, 1, 79)->style, KS_STYLE_HEAD);
	assert_int_equal(ks_screen_at(&screen, 2, 0)->style, KS_STYLE_PLAIN);
	ks_screen_clear(&screen);
	check_row(0, "");
}

static void test_narrow_text(void **state)
{
	assert_int_equal(ks_screen_put(&screen, 0, 0, 6, KS_STYLE_PLAIN, "dentry"), 6);
	check_row(0, "dentry");
	assert_int_equal(ks_screen_put(&screen, 1, 0, 5, KS_STYLE_PLAIN, "dentry"), 5);
	check_row(1, "dent~");
	assert_int_equal(ks_screen_put(&screen, 2, 77, 20, KS_STYLE_PLAIN, "dentry"), 3);
	assert_int_equal(ks_screen_at(&screen, 2, 79)->code, '~');
	assert_int_equal(ks_screen_put(&screen, 2, 0, 0, KS_STYLE_PLAIN, "dentry"), 0);
	assert_int_equal(ks_screen_put(&screen, 24, 0, 9, KS_STYLE_PLAIN, "dentry"), 0);
	assert_int_equal(ks_screen_put(&screen, 0, 80, 9, KS_STYLE_PLAIN, "dentry"), 0);
}

/* Names come from a kernel that others feed: none may move the cursor or colour the screen. */
static void test_hostile_text(void **state)
{
	ks_screen_put(&screen, 0, 0, 80, KS_STYLE_PLAIN, "a\033[2Jb\tc\x7f");
	check_row(0, "a\\x1b[2Jb\\x09c\\x7f");
	ks_screen_put(&screen, 1, 0, 80, KS_STYLE_PLAIN, "\xff\xc3(\xe2\x82");
	check_row(1, "\\xff\\xc3(\\xe2\\x82");
	/* U+202E turns the direction, U+0301 joins the letter before it, U+200B can't be seen. */
	ks_screen_put(&screen, 2, 0, 80, KS_STYLE_PLAIN, "a\u202eb");
	check_row(2, "a\\xe2\\x80\\xaeb");
	ks_screen_put(&screen, 3, 0, 80, KS_STYLE_PLAIN, "e\u0301x\u200by");
	check_row(3, "e?x?y");
	assert_int_equal(ks_screen_width(&screen, "a\033b"), 6);
	/* An escape that has no room is cut like everything else. */
	assert_int_equal(ks_screen_put(&screen, 4, 0, 3, KS_STYLE_PLAIN, "\033["), 3);
	check_row(4, "\\x~");
}

static void test_wide_text(void **state)
{
	assert_int_equal(ks_screen_put(&screen, 0, 0, 80, KS_STYLE_PLAIN, "\u6f22\u5b57x"), 5);
	check_row(0, "\u6f22\u5b57x");
	assert_int_equal(ks_screen_at(&screen, 0, 1)->width, 0);
	assert_int_equal(ks_screen_width(&screen, "\u6f22\u5b57x"), 5);
	/* Half a character has no room; and what is drawn over a half takes the other half away. */
	assert_int_equal(ks_screen_put(&screen, 1, 0, 3, KS_STYLE_PLAIN, "\u6f22\u5b57"), 3);
	check_row(1, "\u6f22~");
	ks_screen_put(&screen, 0, 1, 1, KS_STYLE_PLAIN, "!");
	check_row(0, " !\u5b57x");
	ks_screen_put(&screen, 0, 2, 1, KS_STYLE_PLAIN, "?");
	check_row(0, " !? x");
	ks_screen_put(&screen, 2, 0, 80, KS_STYLE_PLAIN, "gr\u00f6\u00dfe \u20ac \U0001f600");
	check_row(2, "gr\u00f6\u00dfe \u20ac \U0001f600");
	screen.ascii = true;
	ks_screen_put(&screen, 3, 0, 80, KS_STYLE_PLAIN, "gr\u00f6\u6f22");
	check_row(3, "gr??");
}

static void test_spark(void **state)
{
	static const u64 values[] = { 99, 0, 1, 2, 3, 4, 5, 6, 7 };

	ks_screen_spark(&screen, 0, 0, 8, KS_STYLE_PLAIN, values, ARRAY_SIZE(values));
	check_row(0, "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588");
	ks_screen_spark(&screen, 1, 3, 80, KS_STYLE_PLAIN, (const u64[]){ 5, 5, 5 }, 3);
	check_row(1, "   \u2581\u2581\u2581");
	ks_screen_spark(&screen, 2, 0, 8, KS_STYLE_PLAIN, (const u64[]){ 0, UINT64_MAX }, 2);
	check_row(2, "\u2581\u2588");
	ks_screen_spark(&screen, 3, 0, 8, KS_STYLE_PLAIN, values, 0);
	check_row(3, "");
	ks_screen_spark(&screen, 4, 78, 8, KS_STYLE_PLAIN, values + 1, 8);
	assert_int_equal(ks_screen_at(&screen, 4, 79)->code, 0x2588);
	screen.ascii = true;
	ks_screen_spark(&screen, 5, 0, 7, KS_STYLE_PLAIN, values, 8);
	check_row(5, "_.-=^*#");
}

static void test_resize(void **state)
{
	ks_screen_put(&screen, 0, 0, 80, KS_STYLE_BOLD, "dentry");
	assert_int_equal(ks_screen_resize(&screen, 3, 4), 0);
	check_row(0, "");
	ks_screen_put(&screen, 0, 0, 80, KS_STYLE_PLAIN, "dentry");
	check_row(0, "den~");
	assert_int_equal(ks_screen_resize(&screen, 100000, 100000), 0);
	assert_int_equal(screen.rows, KS_SCREEN_ROWS_MAX);
	assert_int_equal(screen.cols, KS_SCREEN_COLS_MAX);
	assert_int_equal(ks_screen_resize(&screen, 0, 0), 0);
	assert_int_equal(ks_screen_put(&screen, 0, 0, 80, KS_STYLE_PLAIN, "x"), 0);
}

/* === Tables =============================================================================== */

static void add_caches(void)
{
	add("dentry", 192, 100, 1.5);
	add("ext4_inode_cache", 100000, 200000, -3);
	add("kmalloc-64", 64, 64, NAN);
	add("radix_tree_node", 192, 0, 1000);
}

static void test_table(void **state)
{
	add_caches();
	draw(24, 80);
	check_row(0, "bytesv   change     rate name");
	check_row(1, "100000  -100000       -3 ext4_inode_cache");
	check_row(2, "   192      +92      1.5 dentry");
	check_row(3, "   192     +192     1000 radix_tree_node");
	check_row(4, "    64        0        - kmalloc-64");
	check_row(5, "");
	assert_int_equal(ks_screen_at(&screen, 0, 79)->style, KS_STYLE_HEAD);
	assert_int_equal(ks_screen_at(&screen, 1, 79)->style, KS_STYLE_SELECTED);
	assert_int_equal(ks_screen_at(&screen, 2, 0)->style, KS_STYLE_PLAIN);
	/* A wide one has the same columns. */
	draw(60, 200);
	check_row(1, "100000  -100000       -3 ext4_inode_cache");
}

/* The name has at least 16 columns; of the others, the first ones that have room. */
static void test_narrow_table(void **state)
{
	add_caches();
	draw(12, 40);
	check_row(1, "100000  -100000 ext4_inode_cache");
	draw(12, 41);
	check_row(1, "100000  -100000       -3 ext4_inode_cache");
	draw(12, 23);
	check_row(1, "100000 ext4_inode_cache");
	draw(12, 22);
	check_row(1, "ext4_inode_cache");
	draw(12, 9);
	check_row(1, "ext4_ino~");
	draw(1, 80);
	check_row(0, "");
}

static void test_sort(void **state)
{
	add_caches();
	draw(24, 80);
	press('>'); /* change: by its sign */
	draw(24, 80);
	check_row(0, " bytes  changev     rate name");
	check_row(1, "   192     +192     1000 radix_tree_node");
	check_row(4, "100000  -100000       -3 ext4_inode_cache");
	press('s');
	draw(24, 80);
	check_row(0, " bytes  change^     rate name");
	check_row(1, "100000  -100000       -3 ext4_inode_cache");
	press('>'); /* rate: what is not known comes last */
	draw(24, 80);
	check_row(1, "   192     +192     1000 radix_tree_node");
	check_row(4, "    64        0        - kmalloc-64");
	press('>'); /* names begin at the front */
	draw(24, 80);
	check_row(0, " bytes   change     rate name^");
	check_row(1, "   192      +92      1.5 dentry");
	press('>');
	assert_int_equal(view.sort, BYTES);
	press('<');
	assert_int_equal(view.sort, NAME);
}

static void test_search(void **state)
{
	add_caches();
	strcpy(view.search, "NODE");
	draw(24, 80);
	assert_int_equal(ks_view_len(&view), 2);
	check_row(1, "100000  -100000       -3 ext4_inode_cache");
	check_row(2, "   192     +192     1000 radix_tree_node");
	strcpy(view.search, "no such");
	draw(24, 80);
	assert_int_equal(ks_view_selected(&view), SIZE_MAX);
	check_row(1, "");
	press(KS_KEY_DOWN);
	strcpy(view.search, "");
	draw(24, 80);
	assert_int_equal(ks_view_len(&view), 4);
}

static void test_empty_cells(void **state)
{
	static const struct ks_column two[] = {
		{ "a", "a", KS_CELL_TEXT },
		{ "b", "b", KS_CELL_TEXT },
	};
	struct ks_row row;

	ks_table_free(table);
	table = ks_table_new("rows", two, 2);
	row = ks_table_add(table);
	ks_row_text(row, 0, "long text");
	ks_row_text(row, 1, "");
	row = ks_table_add(table);
	ks_row_text(row, 0, "");
	ks_row_text(row, 1, "x");
	ks_view_init(&view, 1, 1, true);
	draw(24, 80);
	check_row(1, "long text");
	check_row(2, "          x");
}

/* The first row stays the first, whoever it is; any other selection stays with its name. */
static void test_selection(void **state)
{
	add_caches();
	draw(24, 80);
	assert_string_equal(selected(), "ext4_inode_cache");
	add("new", 300000, 0, 0);
	draw(24, 80);
	assert_string_equal(selected(), "new");
	press(KS_KEY_DOWN);
	press('j');
	assert_string_equal(selected(), "dentry");
	add("newer", 400000, 0, 0);
	draw(24, 80);
	assert_string_equal(selected(), "dentry");
	assert_int_equal(view.cursor, 3);
	press('G');
	assert_string_equal(selected(), "kmalloc-64");
	press(KS_KEY_DOWN);
	assert_string_equal(selected(), "kmalloc-64");
	press(KS_KEY_UP);
	assert_string_equal(selected(), "radix_tree_node");
	press('g');
	press(KS_KEY_UP);
	assert_string_equal(selected(), "newer");
	assert_false(ks_view_key(&view, table, 'x'));
}

static void test_gone_selection(void **state)
{
	add_caches();
	draw(24, 80);
	press(KS_KEY_END);
	ks_table_free(table);
	table = ks_table_new("rows", columns, COLUMNS);
	add("a", 2, 0, 0);
	add("b", 1, 0, 0);
	draw(24, 80);
	assert_string_equal(selected(), "b");
	ks_table_free(table);
	table = ks_table_new("rows", columns, COLUMNS);
	draw(24, 80);
	assert_string_equal(selected(), "");
}

static void test_scroll(void **state)
{
	char name[16];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "cache%02d", i);
		add(name, 1000 - (u64)i, 0, 0);
	}
	draw(11, 80);
	press(KS_KEY_PAGE_DOWN);
	draw(11, 80);
	check_row(1, "   999     +999        0 cache01");
	check_row(10, "   990     +990        0 cache10");
	press(KS_KEY_END);
	draw(11, 80);
	check_row(10, "   901     +901        0 cache99");
	press(KS_KEY_UP);
	draw(11, 80);
	check_row(10, "   901     +901        0 cache99");
	/* A terminal that grows shows more rows above, and one that shrinks keeps the selected one. */
	draw(21, 80);
	check_row(20, "   901     +901        0 cache99");
	check_row(1, "   920     +920        0 cache80");
	draw(6, 80);
	assert_string_equal(selected(), "cache98");
	check_row(5, "   902     +902        0 cache98");
	press(KS_KEY_PAGE_UP);
	assert_string_equal(selected(), "cache93");
}

/* === Main ================================================================================= */

#define test(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest tests[] = {
	test(test_text),      test(test_narrow_text),  test(test_hostile_text),
	test(test_wide_text), test(test_spark),	       test(test_resize),
	test(test_table),     test(test_narrow_table), test(test_sort),
	test(test_search),    test(test_selection),    test(test_gone_selection),
	test(test_scroll),    test(test_empty_cells),
};

KS_RUN(tests)
