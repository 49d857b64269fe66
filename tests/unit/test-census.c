// SPDX-License-Identifier: GPL-2.0-only
/* The census in a capture: what is packed comes back, addresses are found, damage is noticed. */
#include "ks-test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "capture/slabinfo.h"
#include "source/open.h"
#include "trace/slab-census.h"
#include "trace/tracedat-writer.h"

#define BASE 0xffff888100000000ull

/* Two slabs of "small" (one of them full), one of "big" with a pad, one that changed, a large kmalloc(). */
static struct ks_slab_census *make(void)
{
	struct ks_slab_census *census = ks_slab_census_new();
	struct ks_slab_cache *cache;
	struct ks_slab_place *slab;
	struct ks_slab_type *type;
	u32 i;

	assert_non_null(census);
	census->how = KS_CENSUS_BY_MEMORY;
	census->has_objects = census->has_large = true;
	census->from = 1000;
	census->to = 2500;
	census->wall_ns = 1700000000123456789ull;
	census->memory[KS_CENSUS_SLAB] = 4096 * 77ull;
	census->memory[KS_CENSUS_MEM_TOTAL] = 1ull << 40;
	census->page_shift = 12;
	cache = ks_vec_push(&census->caches);
	*cache = (struct ks_slab_cache){ .name = "small",
					 .aliases = "tiny,wee",
					 .object_size = 60,
					 .stride = 64,
					 .pages = 1,
					 .reclaimable = true,
					 .slabs = 2,
					 .objects = 66,
					 .bytes = 66 * 64,
					 .waiting = 3 };
	cache = ks_vec_push(&census->caches);
	*cache = (struct ks_slab_cache){
		.name = "big", .aliases = "", .stride = 1000, .pad = 16, .pages = 2
	};
	type = ks_vec_push(&census->types);
	*type = (struct ks_slab_type){ "task_struct", 1, 5, 5000 };
	type = ks_vec_push(&census->types);
	*type = (struct ks_slab_type){ "file | inode", 0, 66, 66 * 64 };
	slab = ks_slab_census_add(census, BASE + 0x1000, 0, 64, 1);
	for (i = 0; i < 64; i++)
		ks_slab_census_use(census, slab, i);
	slab = ks_slab_census_add(census, BASE + 0x2000, 0, 64, 1);
	ks_slab_census_use(census, slab, 0);
	ks_slab_census_use(census, slab, 63);
	slab = ks_slab_census_add(census, BASE + 0x4000, 1, 8, 2);
	ks_slab_census_use(census, slab, 7);
	ks_slab_census_add(census, BASE + 0x8000, 1, 0, 2);
	slab = ks_slab_census_add(census, BASE + 0x10000, KS_NONE, 1, 4);
	ks_slab_census_use(census, slab, 0);
	return census;
}

static void check_lookups(const struct ks_slab_census *census)
{
	static const struct {
		u64 at;
		enum ks_census_says slot;
		u32 cache;
	} cases[] = {
		{ 0, KS_CENSUS_SAYS_NONE, KS_NONE }, /* before all slabs */
		{ 0x1000, KS_CENSUS_SAYS_USED, 0 },
		{ 0x1fc0, KS_CENSUS_SAYS_USED, 0 },
		{ 0x1020, KS_CENSUS_SAYS_UNKNOWN, 0 }, /* inside of an object */
		{ 0x2000, KS_CENSUS_SAYS_USED, 0 },
		{ 0x2040, KS_CENSUS_SAYS_FREE, 0 },
		{ 0x2fc0, KS_CENSUS_SAYS_USED, 0 },
		{ 0x3000, KS_CENSUS_SAYS_NONE, KS_NONE }, /* behind a slab */
		{ 0x4000, KS_CENSUS_SAYS_UNKNOWN, 1 },	  /* the pad */
		{ 0x4000 + 16, KS_CENSUS_SAYS_FREE, 1 },
		{ 0x4000 + 7016, KS_CENSUS_SAYS_USED, 1 },
		{ 0x4000 + 8016, KS_CENSUS_SAYS_UNKNOWN, 1 }, /* behind the last object */
		{ 0x8010, KS_CENSUS_SAYS_UNKNOWN, 1 },	      /* it changed */
		{ 0x9fff, KS_CENSUS_SAYS_UNKNOWN, 1 },
		{ 0xa000, KS_CENSUS_SAYS_NONE, KS_NONE },
		{ 0x10000, KS_CENSUS_SAYS_USED, KS_NONE }, /* large */
		{ 0x11000, KS_CENSUS_SAYS_UNKNOWN, KS_NONE },
		{ 0x14000, KS_CENSUS_SAYS_NONE, KS_NONE },
	};
	size_t i;
	u32 cache;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(ks_slab_census_at(census, BASE + cases[i].at, &cache),
				 cases[i].slot);
		assert_int_equal(cache, cases[i].cache);
	}
	assert_int_equal(ks_slab_census_at(census, 0, NULL), KS_CENSUS_SAYS_NONE);
}

static void test_round(void **state)
{
	struct ks_slab_census *made = make(), *read;
	enum ks_census_when when;
	struct ks_diag diag;
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	check_lookups(made);
	ks_slab_census_pack(made, KS_CENSUS_END, &sb);
	assert_int_equal(ks_slab_census_unpack(sb.s, sb.len, &read, &when, &diag), 0);
	assert_int_equal(when, KS_CENSUS_END);
	check_lookups(read);
	assert_int_equal(read->how, KS_CENSUS_BY_MEMORY);
	assert_true(read->has_large);
	assert_int_equal(read->from, 1000);
	assert_int_equal(read->to, 2500);
	assert_true(read->wall_ns == made->wall_ns);
	assert_true(read->memory[KS_CENSUS_SLAB] == 4096 * 77);
	assert_true(read->memory[KS_CENSUS_MEM_TOTAL] == 1ull << 40);
	assert_int_equal(read->caches.len, 2);
	assert_string_equal(read->caches.items[0].name, "small");
	assert_string_equal(read->caches.items[0].aliases, "tiny,wee");
	assert_int_equal(read->caches.items[0].object_size, 60);
	assert_true(read->caches.items[0].reclaimable);
	assert_int_equal(read->caches.items[0].objects, 66);
	assert_int_equal(read->caches.items[0].bytes, 66 * 64);
	assert_int_equal(read->caches.items[0].waiting, 3);
	assert_int_equal(read->caches.items[0].slabs, 2);
	assert_false(read->caches.items[1].reclaimable);
	assert_int_equal(read->bits_len, 64 + 64 + 8 + 1);
	assert_int_equal(read->types.len, 2);
	assert_string_equal(read->types.items[1].name, "file | inode");
	assert_int_equal(read->types.items[0].cache, 1);
	assert_int_equal(read->types.items[0].objects, 5);
	assert_int_equal(read->types.items[1].bytes, 66 * 64);
	ks_slab_census_free(read);
	ks_slab_census_free(made);
	ks_strbuf_deinit(&sb);
}

/* Each cut is noticed; a changed byte is noticed, or changes nothing that can't be looked up. */
static void test_damage(void **state)
{
	struct ks_slab_census *made = make(), *read;
	enum ks_census_when when;
	struct ks_diag diag;
	struct ks_strbuf sb;
	size_t i;
	u64 at;

	ks_strbuf_init(&sb);
	ks_slab_census_pack(made, KS_CENSUS_START, &sb);
	for (i = 0; i < sb.len; i++) {
		diag.text[0] = '\0';
		assert_int_equal(ks_slab_census_unpack(sb.s, i, &read, &when, &diag), KS_EBADINPUT);
		assert_true(diag.text[0]);
	}
	for (i = 0; i < sb.len * 255; i++) {
		char *byte = &sb.s[i % sb.len], was = *byte;

		*byte = (char)(was + 1 + i / sb.len);
		if (!ks_slab_census_unpack(sb.s, sb.len, &read, &when, &diag)) {
			for (at = 0; at < read->types.len; at++)
				assert_true(read->types.items[at].cache < read->caches.len);
			for (at = 0; at < 0x20000; at += 0x1000)
				assert_true(ks_slab_census_at(read, BASE + at + 16, NULL) <=
					    KS_CENSUS_SAYS_USED);
			ks_slab_census_free(read);
		}
		*byte = was;
	}
	ks_slab_census_free(made);
	ks_strbuf_deinit(&sb);
}

static void test_without_objects(void **state)
{
	struct ks_slab_census *made = make(), *read;
	enum ks_census_when when;
	struct ks_strbuf sb;

	ks_strbuf_init(&sb);
	made->has_objects = false;
	assert_int_equal(ks_slab_census_at(made, BASE + 0x1000, NULL), KS_CENSUS_SAYS_UNKNOWN);
	ks_slab_census_pack(made, KS_CENSUS_START, &sb);
	assert_int_equal(ks_slab_census_unpack(sb.s, sb.len, &read, &when, NULL), 0);
	assert_int_equal(when, KS_CENSUS_START);
	assert_int_equal(read->slabs.len, 0);
	assert_int_equal(read->caches.len, 2);
	ks_slab_census_free(read);
	ks_slab_census_free(made);
	ks_strbuf_deinit(&sb);
}

/* === In a file ============================================================================ */

static void put_text(struct ks_strbuf *sb, const char *text)
{
	ks_strbuf_puts(sb, text);
}

static void make_meta(struct ks_td_meta *meta)
{
	struct ks_slab_census *census = make();

	ks_td_meta_init(meta);
	put_text(&meta->header_page, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				     "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				     "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n");
	put_text(ks_vec_push(&meta->kmem_formats),
		 "name: kfree\nID: 21\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		 "\n\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n");
	strcpy(meta->clock, "local");
	strcpy(meta->uname, "Linux box 6.12.0 x86_64");
	meta->page_size = meta->ring_page_size = 4096;
	meta->cpus = 1;
	ks_slab_census_pack(census, KS_CENSUS_START, &meta->census[KS_CENSUS_START]);
	census->from += 1000000;
	census->to += 1000000;
	ks_slab_census_pack(census, KS_CENSUS_END, &meta->census[KS_CENSUS_END]);
	ks_slab_census_free(census);
}

static void check_file(const char *path, bool has_end)
{
	struct ks_source *source;
	struct ks_diag diag = { 0 };
	int err = ks_source_open(path, NULL, &source, &diag);

	if (err)
		fail_msg("%s", diag.text);
	assert_non_null(source->info.census[KS_CENSUS_START]);
	assert_int_equal(source->info.census[KS_CENSUS_START]->from, 1000);
	check_lookups(source->info.census[KS_CENSUS_START]);
	assert_true(has_end == (source->info.census[KS_CENSUS_END] != NULL));
	if (has_end)
		assert_int_equal(source->info.census[KS_CENSUS_END]->from, 1001000);
	ks_source_close(source);
}

/* A journal has what was known at its start; finished or repaired it has no less. */
static void test_file(void **state)
{
	char *path = scratch_path("census.dat");
	struct ks_td_writer *writer;
	struct ks_td_meta meta;
	struct ks_diag diag = { 0 };
	bool done;

	make_meta(&meta);
	assert_int_equal(ks_td_writer_open(path, &meta, &writer, &diag), 0);
	check_file(path, false);
	ks_td_writer_leave(writer);
	assert_int_equal(ks_td_repair(path, &done, &diag), 0);
	assert_true(done);
	check_file(path, false);
	assert_int_equal(ks_td_writer_open(path, &meta, &writer, &diag), 0);
	assert_int_equal(ks_td_writer_finish(writer, &meta, &diag), 0);
	check_file(path, true);
	ks_td_meta_deinit(&meta);
	unlink(path);
	free(path);
}

/* === /proc/slabinfo ======================================================================= */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_slabinfo(void **state)
{
	char dir[] = "/tmp/ks-test-slab-XXXXXX", path[128], link[128];
	struct ks_slab_census *census = ks_slab_census_new();

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/:0000256", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/:0000256/object_size", dir);
	write_file(path, "232\n");
	snprintf(path, sizeof(path), "%s/:0000256/reclaim_account", dir);
	write_file(path, "1\n");
	snprintf(link, sizeof(link), "%s/filp", dir);
	assert_int_equal(symlink(":0000256", link), 0);
	snprintf(link, sizeof(link), "%s/maple", dir);
	assert_int_equal(symlink(":0000256", link), 0);
	snprintf(path, sizeof(path), "%s/slabinfo", dir);
	write_file(
		path,
		"slabinfo - version: 2.1\n"
		"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : ...\n"
		"filp 700 832 256 16 1 : tunables 0 0 0 : slabdata 52 52 0\n"
		"odd-one 5 8 4096 8 8 : tunables 0 0 0 : slabdata 1 1 0\n");
	assert_int_equal(ks_slabinfo_read(path, dir, census), 0);
	assert_int_equal(census->how, KS_CENSUS_BY_SLABINFO);
	assert_int_equal(census->caches.len, 2);
	assert_string_equal(census->caches.items[0].name, "filp");
	assert_string_equal(census->caches.items[0].aliases, "maple");
	assert_int_equal(census->caches.items[0].object_size, 232);
	assert_true(census->caches.items[0].reclaimable);
	assert_int_equal(census->caches.items[0].stride, 256);
	assert_int_equal(census->caches.items[0].objects, 700);
	assert_int_equal(census->caches.items[0].bytes, 700 * 256);
	assert_int_equal(census->caches.items[0].slabs, 52);
	assert_string_equal(census->caches.items[1].name, "odd-one");
	assert_string_equal(census->caches.items[1].aliases, "");
	assert_int_equal(census->caches.items[1].pages, 8);
	assert_false(census->caches.items[1].reclaimable);
	assert_int_equal(census->caches.items[1].object_size, 0);
	ks_slab_census_free(census);
	census = ks_slab_census_new();
	assert_int_equal(ks_slabinfo_read("/nowhere/slabinfo", dir, census), -ENOENT);
	ks_slab_census_free(census);
	snprintf(path, sizeof(path), "rm -r %s", dir);
	assert_int_equal(system(path), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_round),		cmocka_unit_test(test_damage),
	cmocka_unit_test(test_without_objects), cmocka_unit_test(test_file),
	cmocka_unit_test(test_slabinfo),
};

KS_RUN(tests)
