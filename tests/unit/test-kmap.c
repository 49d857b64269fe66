// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access maps: hand-made files of every dialect. The comment above each file has its sums, added up
 * by hand.
 */
#include "kmap-maps.h"

/* === Dialects ============================================================================= */

/*
 * The first dialect: the pid is second in access lines. Object 1 lives 100..150 and has 3 writes, 1
 * read by its own task and 2 reads by task 7. Object 2 stays live and was never touched. Object 3
 * was replaced (0xdeadbeef) and is only written.
 */
static const char eight[] =
	"ffffffff81000010,42,ffff888000000000,64,100,150,ffffffff81000900,ls\n"
	"  ffffffff81000100,42,3,1\n"
	"  ffffffff81000200,7,0,2\n"
	"ffffffff81000010,42,ffff888000000040,32,120,0,          (null),ls\n"
	"ffffffff81000020,-1,ffff888000000080,128,130,200,00000000deadbeef,a,b\n"
	"  ffffffff81000100,-1,5,0\n";

static void test_eight_fields(void **state)
{
	struct ks_kmap_census *census = census_of_text(eight);
	const struct ks_kmap_stat *stat = &site_of(census, 0xffffffff81000010)->stat;

	assert_int_equal(census->info.fields, 8);
	assert_int_equal(census->sites.len, 2);
	assert_int_equal(stat->objects, 2);
	assert_int_equal(stat->bytes, 96);
	assert_int_equal(stat->live_objects, 1);
	assert_int_equal(stat->live_bytes, 32);
	assert_int_equal(stat->ended, 1);
	assert_int_equal(stat->lifetime_sum.lo, 50);
	assert_int_equal(stat->writes, 3);
	assert_int_equal(stat->reads, 3);
	assert_int_equal(stat->foreign, 2);
	assert_int_equal(stat->cold_bytes, 32);
	assert_int_equal(stat->unread_bytes, 32);
	assert_int_equal(stat->write_only_bytes, 0);
	stat = &site_of(census, 0xffffffff81000020)->stat;
	assert_int_equal(stat->implied, 1);
	assert_int_equal(stat->write_only_bytes, 128);
	assert_int_equal(stat->unread_bytes, 128);
	assert_int_equal(stat->unwritten_bytes, 0);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000900)->frees, 1);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000200)->reads, 2);
	assert_int_equal(census->quality.bad_lines, 0);
	/*
	 * Mean over 100..200: 64 bytes for 50 of 100 and 32 for 80 of 100: 32 + 25.6, rounded.
	 */
	assert_int_equal(ks_kmap_mean_bytes(census, &site_of(census, 0xffffffff81000010)->stat),
			 58);
	ks_kmap_census_free(census);
}

static void test_nine_fields(void **state)
{
	struct ks_kmap_census *census = census_of_text(
		"ffffffff81000010,42,ffff888000000000,64,1,5,ffffffff81000900,KMALLOC,sh\n"
		"  ffffffff81000100,3,1\n"
		"ffffffff81000010,42,ffff888000000000,64,6,9,ffffffff81000900,KMALLOC,a,b\n"
		"  ffffffff81000100,30,12\n");
	struct ks_kmap_stat total = sum(census);

	assert_int_equal(census->info.fields, 9);
	assert_int_equal(census->sites.len, 1);
	assert_int_equal(census->sites.items[0].type, KS_KMAP_KMALLOC);
	assert_int_equal(total.writes, 33);
	assert_int_equal(total.reads, 13);
	assert_int_equal(total.foreign, 0);
	assert_string_equal(comm_of_hottest(census), "a,b");
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000100)->objects, 2);
	ks_kmap_census_free(census);
}

/* With calls and comments in between, as in uSCOPE's .cmap files. */
static void test_ten_fields(void **state)
{
	struct ks_kmap_census *census = census_of_text(
		"# a comment\n"
		"ffffffff81000010,42,ffff888000000000,192,1,5,ffffffff81000900,KMEM_CACHE,bash,dentry\n"
		"  ffffffff81000100,3,1\n"
		"ffffffff81000100 ffffffff81000300 7\n"
		"  from:ffffffff81000180,caller:ffffffff81000700,0,4\n"
		"0               ,0,0000000000000000,0,0,0,0000000000000000,NONE,swapper,no-slab\n"
		"ffffffff81000100 ffffffff81000300 5\n"
		"14              ,9,ffff888000000300,8,3,0,0000000000000000,UFO_MEMBLOCK,x,y,z,no-slab\n"
		"\n");

	assert_int_equal(census->info.fields, 10);
	assert_int_equal(census->sites.len, 3);
	assert_string_equal(cache_of(census, site_of(census, 0xffffffff81000010)), "dentry");
	assert_string_equal(cache_of(census, site_of(census, 0x14)), "no-slab");
	assert_int_equal(site_of(census, 0x14)->type, KS_KMAP_UFO_MEMBLOCK);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000180)->reads, 4);
	assert_int_equal(census->calls.len, 1);
	assert_int_equal(census->calls.items[0].count, 12);
	assert_int_equal(census->quality.bad_lines, 0);
	ks_kmap_census_free(census);
}

/* pid last in access lines; an empty last field; an unknown type; a name with junk in it. */
static void test_eleven_fields(void **state)
{
	struct ks_kmap_census *census = census_of_text(
		"ffffffff81000010,42,ffff888000000000,64,10,20,ffffffff81000900,KMALLOC,ls,kmalloc-64,\n"
		"  ffffffff81000100,3,1,42\n"
		"  ffffffff81000100,0,5,-1\n"
		"ffffffff81000010,42,ffff888000000000,64,21,30,000000000fedbeef,KMALLOC,a,,b,,kmalloc-64,KMEM_CACHE\n"
		"  ffffffff81000100,1,0,42\n"
		"ffffffff81000030,42,ffff888000001000,64,22,31,ffffffff81000900,FRESH_TYPE,ls,kmalloc-64,\n"
		"  ffffffff81000100,90,9,\n"
		"feedbeef        ,1,ffff888000002000,64,1,0,0000000000000000,KMEM_CACHE,x,kmalloc-64,\n"
		"junk\n");
	const struct ks_kmap_edge *edge;
	struct ks_kmap_stat total = sum(census);

	assert_int_equal(census->info.fields, 11);
	assert_int_equal(census->sites.len, 3);
	edge = edge_of(census, 0xffffffff81000010, 0xffffffff81000100);
	assert_int_equal(edge->writes, 4);
	assert_int_equal(edge->reads, 6);
	assert_int_equal(edge->foreign, 0);
	assert_int_equal(edge->irq, 5);
	assert_int_equal(edge->objects, 2);
	assert_int_equal(site_of(census, 0xffffffff81000010)->stat.implied, 1);
	assert_string_equal(
		ks_intern_get(&census->types, site_of(census, 0xffffffff81000030)->type).s,
		"FRESH_TYPE");
	assert_string_equal(cache_of(census, site_of(census, 0xfeedbeef)), "kmalloc-64");
	assert_int_equal(census->quality.bad_lines, 2); /* an access without its pid, and junk */
	assert_int_equal(total.objects, 4);
	assert_int_equal(total.ended, 3);
	ks_kmap_census_free(census);
}

static const char allocations[] =
	"alloc_ip,pid,ptr,size,alloc_serial,free_serial,free_ip,type,slab,new_type\n"
	"ffffffff81000010,42,ffff888000000000,64,10,20,ffffffff81000900,KMALLOC,l,s,kmalloc-64,\n"
	"ffffffff81000010,42,ffff888000000040,64,11,21,ffffffff81000900,KMALLOC,ls,kmalloc-64,\n"
	"ffffffff81000010,42,ffff888000000040,64,11,22,ffffffff81000900,KMALLOC,ls,kmalloc-64,\n";

static void test_csv_pair(void **state)
{
	struct ks_kmap_census *census = census_of(allocations, strlen(allocations),
						  "alloc_index,access_ip,pid,writes,reads\n"
						  "11,ffffffff81000100,18446744073709551615,0,1\n"
						  "10,ffffffff81000100,42,2,3\n"
						  "11,ffffffff81000200,42,5,0\n"
						  "12,ffffffff81000200,42,7,7\n"
						  "12,ffffffff81000210,42,7,7\n"
						  "oops\n");
	struct ks_kmap_stat total = sum(census);

	assert_int_equal(census->info.form, KS_KMAP_CSV_PAIR);
	assert_int_equal(total.objects, 3);
	assert_int_equal(total.writes, 7);
	assert_int_equal(total.reads, 4);
	assert_int_equal(total.foreign, 0);
	assert_int_equal(total.irq, 1);
	assert_int_equal(census->quality.orphan_accesses, 2);
	assert_int_equal(census->quality.shared_indices, 1);
	assert_int_equal(census->quality.bad_lines, 1);
	ks_kmap_census_free(census);
}

/* === Binary =============================================================================== */

static void check_binary(bool big)
{
	struct ks_kmap_census *census;
	struct ks_kmap_stat total;
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	put_header(&sb, big);
	put_record(&sb, big, 64, 3000, MEMORIZER_FREED, 3);
	put_access(&sb, big, 0xffffffff81000100, 1, 2, 42, MEMORIZER_IN_TASK);
	put_access(&sb, big, 0xffffffff81000100, 0, 5, 7, MEMORIZER_IN_TASK);
	put_access(&sb, big, 0xffffffff81000200, 9, 0, 0, MEMORIZER_IN_HARDIRQ);
	put_record(&sb, big, 96, 0, 0, 0);
	put_header(&sb, big); /* the file was opened again */
	put_record(&sb, big, 32, 1500, MEMORIZER_FREED | MEMORIZER_IMPLIED, 1);
	put_access(&sb, big, 0xffffffff81000200, 1, 0, 42, MEMORIZER_IN_TASK);
	ks_strbuf_add(&sb, "torn", 4);
	census = census_of(sb.s, sb.len, NULL);
	total = sum(census);
	assert_int_equal(census->info.form, KS_KMAP_BINARY);
	assert_string_equal(census->info.anchor_name, "vfs_read");
	assert_int_equal(census->info.anchor, 0xffffffff81234560);
	assert_int_equal(census->sites.len, 1);
	assert_int_equal(total.objects, 3);
	assert_int_equal(total.bytes, 180); /* 4 less than the slots */
	assert_int_equal(total.slot_bytes, 192);
	assert_int_equal(total.waste, 12);
	assert_int_equal(total.live_bytes, 92);
	assert_int_equal(total.implied, 1);
	assert_int_equal(total.lifetime_sum.lo, 2500);
	assert_int_equal(total.lifetime_min, 500);
	assert_int_equal(total.lifetime_max, 2000);
	assert_int_equal(census->quality.bad_lines, 1);
	assert_int_equal(census->sites.items[0].type, KS_KMAP_KMEM_CACHE);
	assert_string_equal(cache_of(census, &census->sites.items[0]), "kmalloc-64");
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000900)->frees, 1);
	assert_int_equal(total.reads, 7);
	assert_int_equal(total.writes, 11);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000100)->foreign, 5);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000200)->writes, 10);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000200)->irq, 9);
	assert_int_equal(edge_of(census, 0xffffffff81000010, 0xffffffff81000200)->bytes_written,
			 40);
	assert_int_equal(total.foreign, 5);
	assert_int_equal(total.irq, 9);
	assert_int_equal(census->nr_accesses, 4);
	/* 2 and 5 reads of 8 bytes; 1, 9 and 1 writes of 4. */
	assert_int_equal(total.bytes_read, 56);
	assert_int_equal(total.bytes_written, 44);
	/*
	 * Of 60 bytes, 56 may have been read and 40 written; all of 92 are cold; of 28, 4 written.
	 */
	assert_int_equal(total.cold_objects, 1);
	assert_int_equal(total.cold_bytes, 92 + 24);
	assert_int_equal(total.unread_bytes, 4 + 92 + 28);
	assert_int_equal(total.unwritten_bytes, 20 + 92 + 24);
	assert_int_equal(total.write_only_bytes, 28);
	ks_kmap_census_free(census);
	ks_strbuf_deinit(&sb);
}

/* The object that a reader returns for the bytes, and its names after all accesses were read. */
static void check_cut_off(const struct ks_strbuf *sb, size_t len, u64 objects, u64 accesses,
			  u64 bad)
{
	struct ks_kmap_census *census = census_of(sb->s, len, NULL);
	struct ks_kmap_stat total = sum(census);

	assert_int_equal(total.objects, objects);
	assert_int_equal(total.writes, accesses);
	assert_int_equal(census->quality.bad_lines, bad);
	if (objects)
		assert_string_equal(cache_of(census, &census->sites.items[0]), "kmalloc-64");
	if (objects && accesses)
		assert_string_equal(comm_of_hottest(census), "sixteen-bytes-ac");
	ks_kmap_census_free(census);
}

/* A stream that ends at any byte, or continues with another header, keeps what was complete. */
static void test_torn_accesses(void **state)
{
	struct ks_strbuf sb;
	size_t len;

	ks_strbuf_init(&sb);
	put_header(&sb, false);
	put_record(&sb, false, 64, 3000, MEMORIZER_FREED, 3);
	put_access(&sb, false, 0xffffffff81000100, 1, 0, 42, MEMORIZER_IN_TASK);
	put_access(&sb, false, 0xffffffff81000200, 1, 0, 42, MEMORIZER_IN_TASK);
	assert_int_equal(sb.len, 80 + 136 + 2 * 56);
	for (len = 81; len < sb.len; len++) {
		size_t whole = len < 216 ? 0 : (len - 216) / 56;

		check_cut_off(&sb, len, len >= 216, whole, 1);
	}
	put_header(&sb, false);
	put_record(&sb, false, 64, 3000, MEMORIZER_FREED, 1);
	put_access(&sb, false, 0xffffffff81000100, 1, 0, 42, MEMORIZER_IN_TASK);
	check_cut_off(&sb, sb.len, 2, 3, 1);
	ks_strbuf_deinit(&sb);
}

/* More accesses than the window holds, and a count that no file could keep. */
static void test_many_accesses(void **state)
{
	static const u32 nr = 60000;
	struct ks_strbuf sb;
	u32 i;

	ks_strbuf_init(&sb);
	put_header(&sb, true);
	put_record(&sb, true, 64, 3000, MEMORIZER_FREED, nr);
	for (i = 0; i < nr; i++)
		put_access(&sb, true, 0xffffffff81000100 + i, 1, 0, 42, MEMORIZER_IN_TASK);
	put_record(&sb, true, 64, 3000, MEMORIZER_FREED, UINT32_MAX);
	put_access(&sb, true, 0xffffffff81000100, 1, 0, 42, MEMORIZER_IN_TASK);
	check_cut_off(&sb, sb.len, 2, nr + 1, 1);
	ks_strbuf_deinit(&sb);
}

static void test_binary(void **state)
{
	check_binary(false);
	check_binary(true);
}

/* === Limits =============================================================================== */

static void test_refusals(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *says;
	} cases[] = {
		{ "", 0, "empty" },
		{ "dear diary\n", 11, "begins: dear diary" },
		{ "\1\2\3\4\5\6\7", 7, "binary data" },
		{ "alloc_index,access_ip,writes,reads\n1,2,3,4\n", 43, "--accesses" },
		{ "1KZM\2\0\100\0\0\0\0\0", 12, "ends within the header" },
		{ "1KZM\3\0\110\0\200\0\0\0................................................"
		  "....\60\0\0\0....",
		  72, "version 3" },
		{ "1KZM\1\0\110\0\1\0\0\0................................................"
		  "....\60\0\0\0....",
		  72, "impossible sizes" },
		{ "1KZM\1\0\110\0\200\0\0\0................................................"
		  "....\57\0\0\0....",
		  72, "accesses 47" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_input *input = input_of(cases[i].data, cases[i].len);
		struct ks_kmap_reader *reader;
		struct ks_diag diag = { 0 };

		assert_int_equal(ks_kmap_reader_new(input, NULL, 0, &reader, &diag), KS_EBADINPUT);
		if (!strstr(diag.text, cases[i].says))
			fail_msg("case %zu: %s", i, diag.text);
	}
}

/* Lines across the edges of the window, one line that is longer than it, and no last newline. */
static void test_long_input(void **state)
{
	struct ks_kmap_census *census;
	struct ks_kmap_stat total;
	struct ks_strbuf sb;
	int i;

	ks_strbuf_init(&sb);
	for (i = 0; i < 50000; i++) {
		ks_strbuf_printf(&sb, "ffffffff81000010,42,%016x,64,%d,%d,ffffffff81000900,ls\n", i,
				 i, i + 1);
		ks_strbuf_printf(&sb, "  ffffffff81000%03x,42,1,2\n", i % 4096);
		if (i == 20000) {
			size_t j;

			for (j = 0; j < 3000000; j++)
				ks_strbuf_puts(&sb, "x");
			ks_strbuf_puts(&sb, "\n");
		}
	}
	sb.len--;
	census = census_of(sb.s, sb.len, NULL);
	total = sum(census);
	assert_int_equal(total.objects, 50000);
	assert_int_equal(total.writes, 50000);
	assert_int_equal(total.reads, 100000);
	assert_int_equal(census->quality.bad_lines, 1);
	assert_int_equal(census->edges.len, 4096);
	ks_kmap_census_free(census);
	ks_strbuf_deinit(&sb);
}

static void test_numbers(void **state)
{
	struct ks_kmap_census *census = census_of_text(
		"ffffffff81000010,42,ffff888000000000,18446744073709551615,1,5,ffffffff81000900,a\n"
		"ffffffff81000010,42,ffff888000000000,18446744073709551616,1,5,ffffffff81000900,a\n"
		"fffffffff81000010,42,ffff888000000000,1,1,5,ffffffff81000900,seventeen digits\n"
		"ffffffff81000010,2147483648,ffff888000000000,1,1,5,ffffffff81000900,pid\n"
		"ffffffff81000010,42,ffff888000000000,1,9,5,ffffffff81000900,backwards\n");
	struct ks_kmap_stat total = sum(census);

	assert_int_equal(total.objects, 2);
	assert_true(total.bytes == UINT64_MAX);
	assert_int_equal(total.ended, 1);
	assert_int_equal(census->quality.bad_lines, 3);
	ks_kmap_census_free(census);
}

/* === Measures ============================================================================= */

/*
 * Sites A (100 bytes) and B (50) of directory x, C (10) of directory y, all of them there from 0 to
 * 100. Instruction 1 is in x, 2 in y. Function f is in y, g in x.
 */
static const char worked[] = "ffffffff8100000a,1,1000,100,0,100,ffffffff81000001,a\n"
			     "  ffffffff81000001,1,0,5\n"
			     "ffffffff8100000b,1,2000,50,0,100,ffffffff81000002,a\n"
			     "  ffffffff81000002,1,2,0\n"
			     "ffffffff8100000c,1,3000,10,0,100,ffffffff81000002,a\n"
			     "  ffffffff81000001,1,0,1\n"
			     "  ffffffff81000002,1,0,4\n"
			     "ffffffff81000001 ffffffff8100000f 3\n"
			     "ffffffff81000002 ffffffff8100000f 2\n"
			     "ffffffff81000002 ffffffff8100000e 1\n";

/* Assigns everything to its directory: x or y. */
static void place_by_hand(const struct ks_kmap_census *census, struct ks_kmap_places *places)
{
	static const u64 in_y[] = { 0xffffffff8100000c, 0xffffffff81000002, 0xffffffff8100000f };
	u32 x = ks_intern_add(&places->labels, "x", 1), y = ks_intern_add(&places->labels, "y", 1);
	size_t i, j;

	for (i = 0; i < census->codes.keys.len; i++) {
		u32 label = x;

		for (j = 0; j < 3; j++)
			if (census->codes.keys.items[i] == in_y[j])
				label = y;
		places->codes[i][KS_KMAP_DIR] = label;
		for (j = 0; j < census->sites.len; j++)
			if (census->sites.items[j].ip == census->codes.keys.items[i])
				places->sites[j][KS_KMAP_DIR] = label;
	}
}

static size_t privilege_row(const struct ks_table *table, const char *cut, const char *operation)
{
	size_t row;

	for (row = 0; row < ks_table_len(table); row++)
		if (!strcmp(ks_table_cell(table, row, KS_KMAP_PRIVILEGE_CUT)->text, cut) &&
		    !strcmp(ks_table_cell(table, row, KS_KMAP_PRIVILEGE_OPERATION)->text,
			    operation))
			return row;
	fail_msg("no row %s %s", cut, operation);
	return 0;
}

static void check_privilege(const struct ks_doc *doc, const char *cut, const char *operation,
			    u64 min, u64 ps, u64 mono, double mediated)
{
	const struct ks_table *table = doc->main;
	size_t row = privilege_row(table, cut, operation);
	double psr = ks_table_cell(table, row, KS_KMAP_PRIVILEGE_PSR)->number;
	double across = ks_table_cell(table, row, KS_KMAP_PRIVILEGE_MEDIATED)->number;

	assert_int_equal(ks_table_cell(table, row, KS_KMAP_PRIVILEGE_PS_MIN)->u64, min);
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_PRIVILEGE_PS_CUT)->u64, ps);
	assert_int_equal(ks_table_cell(table, row, KS_KMAP_PRIVILEGE_PS_MONO)->u64, mono);
	assert_true(psr - (double)ps / (double)mono < 1e-9);
	assert_true(psr - (double)ps / (double)mono > -1e-9);
	assert_true(across - mediated < 1e-9 && across - mediated > -1e-9);
}

static void test_privilege(void **state)
{
	struct ks_kmap_census *census = census_of_text(worked);
	struct ks_kmap_places *places;
	struct ks_doc *view;

	assert_int_equal(ks_kmap_places_new(census, NULL, &places, NULL), 0);
	place_by_hand(census, places);
	view = ks_kmap_view_privilege(census, places);
	assert_non_null(view);
	/* Read: 1 on A and C, 2 on C. 1 reaches all of x, 150, and C; 2 all of y, 10. */
	check_privilege(view, "dir", "read", 120, 170, 320, 1.0 / 10);
	/* Write: 2 on B, across; and it reaches y. */
	check_privilege(view, "dir", "write", 50, 60, 160, 1);
	/* Free: 1 frees A and reaches x; 2 frees B, across, and C, and reaches y. */
	check_privilege(view, "dir", "free", 160, 210, 320, 1.0 / 3);
	check_privilege(view, "dir", "all", 330, 440, 800, 4.0 / 15);
	/* Calls: 1 reaches g and calls f across; 2 reaches f and calls g across. */
	check_privilege(view, "dir", "call", 3, 4, 4, 4.0 / 6);
	/* No file and no function is known: such cuts mean nothing, and there are none. */
	assert_int_equal(ks_table_len(view->main), 5);
	ks_doc_free(view);
	ks_kmap_places_free(places);
	ks_kmap_census_free(census);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_eight_fields),  cmocka_unit_test(test_nine_fields),
	cmocka_unit_test(test_ten_fields),    cmocka_unit_test(test_eleven_fields),
	cmocka_unit_test(test_csv_pair),      cmocka_unit_test(test_binary),
	cmocka_unit_test(test_refusals),      cmocka_unit_test(test_long_input),
	cmocka_unit_test(test_numbers),	      cmocka_unit_test(test_privilege),
	cmocka_unit_test(test_torn_accesses), cmocka_unit_test(test_many_accesses),
};

KS_RUN(tests)
