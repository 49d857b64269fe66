// SPDX-License-Identifier: GPL-2.0-only
/* The tables of a made-up kernel's heap, cell by cell, with numbers that were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/census-doc.h"
#include "heap/model.h"
#include "heap/witness.h"
#include "table/render.h"

/* === A heap =============================================================================== */

struct heap {
	struct model model;
	void *image;
	struct ks_kernel *kernel;
	struct ks_census *census;
	struct ks_snapshot *snapshot;
	struct ks_doc *doc;
	u64 alpha, k64, slab64;
};

static void put64(const struct heap *h, u64 addr, u64 value)
{
	memcpy(model_at(&h->model, addr), &value, 8);
}

/*
 * Of "alpha", 256 bytes each: 11 objects are used and 5 wait in a CPU's list; 10 are used and 6 free in a slab that
 * is set aside; of 16 that are used 3 wait in a sheaf and 2 in a barn. Of "kmalloc-64" 10 are used, of which two
 * payers of "shop" pay for 5 and 2, and "mail" for 2. And one large kmalloc of a page.
 */
static void fill(struct heap *h)
{
	u64 slab, objects[5], shop, mail;
	u32 i;

	model_init(&h->model, MODEL_6_18);
	h->alpha = model_cache(&h->model, "alpha", 256, 0);
	h->k64 = model_cache(&h->model, "kmalloc-64", 64, 0);
	slab = model_slab(&h->model, h->alpha, 256, 11);
	model_to_cpu(&h->model, h->alpha, slab, 256, 11, 1);
	model_set_aside(&h->model, h->alpha, model_slab(&h->model, h->alpha, 256, 10), 1);
	slab = model_slab(&h->model, h->alpha, 256, 16);
	for (i = 0; i < 5; i++)
		objects[i] = model_object(&h->model, slab, 256, i);
	model_to_sheaf(&h->model, h->alpha, 0, objects, 3);
	model_to_barn(&h->model, h->alpha, objects + 3, 2);
	h->slab64 = model_slab(&h->model, h->k64, 64, 10);
	shop = model_cgroup(&h->model, "shop");
	mail = model_cgroup(&h->model, "mail");
	model_charge(&h->model, h->slab64, shop, 9);
	model_charge(&h->model, h->slab64, mail, 4);
	model_charge(&h->model, h->slab64, model_cgroup(&h->model, "shop"), 2);
	model_page(&h->model, 0xf8, 0, 1);
}

static void look(struct heap *h)
{
	const struct ks_census_options options = { .charges = true };
	struct ks_memory *memory;
	struct ks_diag diag;
	size_t len;

	h->image = model_pack(&h->model, &len);
	assert_int_equal(ks_memory_open_image(h->image, len, &memory, &diag), 0);
	assert_int_equal(
		ks_kernel_open_btf(memory, model_btf(h->model.kind), false, &h->kernel, &diag), 0);
	assert_int_equal(ks_census_take(h->kernel, &options, &h->census, &diag), 0);
	assert_int_equal(ks_snapshot_new(&h->snapshot, &diag), 0);
	assert_int_equal(ks_snapshot_add_census(h->snapshot, h->kernel, h->census, &diag), 0);
}

static int setup(void **state)
{
	struct heap *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	fill(h);
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct heap *h = *state;

	ks_doc_free(h->doc);
	ks_snapshot_free(h->snapshot);
	ks_census_free(h->census);
	ks_kernel_free(h->kernel);
	free(h->image);
	model_deinit(&h->model);
	free(h);
	return 0;
}

/* === Cells ================================================================================ */

static const struct ks_table *table_of(const struct heap *h, const char *name)
{
	size_t i;

	for (i = 0; i < h->doc->tables.len; i++)
		if (!strcmp(h->doc->tables.items[i]->name, name))
			return h->doc->tables.items[i];
	fail_msg("no table %s", name);
	return NULL;
}

static unsigned int column_of(const struct ks_table *table, const char *name)
{
	unsigned int i;

	for (i = 0; i < table->nr_columns; i++)
		if (!strcmp(table->columns[i].name, name))
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static u64 number(const struct ks_table *table, size_t row, const char *column)
{
	return ks_table_cell(table, row, column_of(table, column))->u64;
}

static const char *text(const struct ks_table *table, size_t row, const char *column)
{
	return ks_table_cell(table, row, column_of(table, column))->text;
}

static bool is_set(const struct ks_table *table, size_t row, const char *column)
{
	return ks_table_state(table, row, column_of(table, column)) != KS_CELL_UNSET;
}

static const char *shown(const struct heap *h)
{
	static struct ks_strbuf out;

	ks_strbuf_deinit(&out);
	ks_strbuf_init(&out);
	ks_render_doc(h->doc, &out);
	return ks_strbuf_str(&out);
}

/* === Tests ================================================================================ */

static struct ks_heap_cache *cache_of(const struct heap *h, const char *name)
{
	u32 i;

	for (i = 0; i < h->snapshot->caches.len; i++)
		if (!strcmp(h->snapshot->caches.items[i].name, name))
			return &h->snapshot->caches.items[i];
	fail_msg("no cache %s", name);
	return NULL;
}

static void test_by_cache(void **state)
{
	struct heap *h = *state;
	struct ks_heap_report report = { .by = KS_HEAP_BY_CACHE };
	const struct ks_table *t;

	look(h);
	report.heap = h->snapshot;
	h->snapshot->total = 2047ull * 4096;
	cache_of(h, "alpha")->slabinfo = 50;
	cache_of(h, "kmalloc-64")->reclaimable = true;
	h->doc = ks_doc_of_census(&report);
	t = table_of(h, "caches");
	assert_int_equal(ks_table_len(t), 3);
	assert_string_equal(text(t, 0, "cache"), "alpha");
	assert_int_equal(number(t, 0, "objects"), 11 + 10 + 11);
	assert_int_equal(number(t, 0, "bytes"), 32 * 256);
	assert_int_equal(number(t, 0, "size"), 256);
	assert_int_equal(number(t, 0, "object_size"), 252);
	assert_int_equal(number(t, 0, "slabs"), 3);
	assert_int_equal(number(t, 0, "slab_bytes"), 3 * 4096);
	assert_int_equal(number(t, 0, "slack"), 3 * 4096 - 32 * 256);
	assert_int_equal(number(t, 0, "waiting"), 10);
	assert_int_equal(number(t, 0, "cpu_lists"), 5);
	assert_int_equal(number(t, 0, "sheaves"), 3);
	assert_int_equal(number(t, 0, "barns"), 2);
	assert_int_equal(number(t, 0, "aside"), 6);
	assert_int_equal(number(t, 0, "reclaimable"), 0);
	/* 32 in use, 10 that wait and 6 aside explain 48 of 50. */
	assert_int_equal(number(t, 0, "slabinfo"), 50);
	assert_int_equal(number(t, 0, "unexplained"), 2);
	assert_int_equal(number(t, 0, "slabinfo_estimates"), 0);
	assert_string_equal(text(t, 1, "cache"), "large kmalloc");
	assert_int_equal(number(t, 1, "objects"), 1);
	assert_int_equal(number(t, 1, "bytes"), 4096);
	assert_int_equal(number(t, 1, "slack"), 0);
	assert_false(is_set(t, 1, "size"));
	assert_string_equal(text(t, 2, "cache"), "kmalloc-64");
	assert_int_equal(number(t, 2, "objects"), 10);
	assert_int_equal(number(t, 2, "bytes"), 640);
	assert_int_equal(number(t, 2, "reclaimable"), 1);
	assert_false(is_set(t, 2, "slabinfo"));
	assert_int_equal(number(t, KS_TOTAL, "bytes"), 8192 + 4096 + 640);
	assert_int_equal(number(t, KS_TOTAL, "objects"), 43);
	assert_int_equal(number(t, KS_TOTAL, "slack"), 4096 + 3456);
	assert_int_equal(number(t, KS_TOTAL, "waiting"), 10);
	assert_non_null(
		strstr(shown(h), "       8384512  in all but what is reserved: MemTotal\n"));
	h->snapshot->total += 4096;
	ks_doc_free(h->doc);
	report.top = 1;
	cache_of(h, "alpha")->census.partial = KS_SLABINFO_COUNTS + 1;
	h->doc = ks_doc_of_census(&report);
	assert_int_equal(number(table_of(h, "caches"), 0, "slabinfo_estimates"), 1);
	assert_non_null(
		strstr(shown(h), "8384512  in all but what is reserved; MemTotal is 8388608\n"));
	assert_non_null(strstr(shown(h), "... and 2 more caches"));
	assert_non_null(strstr(shown(h), "1 caches have so many partial slabs"));
}

/* Pages: 4 of slabs, 1 large; 4 of caches, 2 of sheaves, 3 of cgroups and 1 of charges; the first is reserved. */
static void test_memory(void **state)
{
	static const struct {
		const char *kind;
		u64 pages;
	} want[] = { { "slab", 4 },
		     { "large kmalloc", 1 },
		     { "other kernel", 10 },
		     { "reserved", 1 },
		     { "free", 2048 - 16 } };
	struct heap *h = *state;
	struct ks_heap_report report = { .by = KS_HEAP_BY_NODE };
	const struct ks_table *t;
	size_t i, k, found = 0;

	look(h);
	report.heap = h->snapshot;
	h->doc = ks_doc_of_census(&report);
	t = table_of(h, "memory");
	assert_int_equal(ks_table_len(t), ARRAY_SIZE(want));
	for (i = 0; i < ks_table_len(t); i++)
		for (k = 0; k < ARRAY_SIZE(want); k++) {
			if (strcmp(text(t, i, "kind"), want[k].kind))
				continue;
			found++;
			assert_int_equal(number(t, i, "bytes"), want[k].pages * 4096);
			assert_int_equal(is_set(t, i, "share"),
					 strcmp(want[k].kind, "reserved") != 0);
			if (is_set(t, i, "share")) /* of all that is not reserved, in 1/10000 */
				assert_int_equal(number(t, i, "share"),
						 want[k].pages * 10000 / 2047);
		}
	assert_int_equal(found, ARRAY_SIZE(want));
	t = table_of(h, "nodes");
	assert_int_equal(ks_table_len(t), 1);
	assert_int_equal(number(t, 0, "node"), 0);
	assert_int_equal(number(t, 0, "slabs"), 4);
	assert_int_equal(number(t, 0, "slab_bytes"), 4 * 4096);
	assert_int_equal(number(t, 0, "waiting"), 10);
	assert_int_equal(number(t, 0, "objects"), 42);
	assert_int_equal(number(t, 0, "bytes"), 8192 + 640);
	assert_null(strstr(shown(h), "MemTotal")); /* nobody said what it is */
}

static void test_by_cgroup(void **state)
{
	struct heap *h = *state;
	struct ks_heap_charges charges = { 0 };
	struct ks_heap_report report = { .by = KS_HEAP_BY_CGROUP, .charges = &charges };
	const struct ks_table *t;

	look(h);
	report.heap = h->snapshot;
	assert_int_equal(ks_heap_charges_of_census(h->snapshot, h->census->charges, &charges), 0);
	h->doc = ks_doc_of_census(&report);
	ks_vec_free(&charges.rows);
	t = table_of(h, "cgroups");
	assert_int_equal(ks_table_len(t), 3);
	assert_string_equal(text(t, 0, "cgroup"), "(charged to none)");
	assert_int_equal(number(t, 0, "bytes"), 8192 + 4096 + 64);
	assert_int_equal(number(t, 0, "objects"), 32 + 1 + 1);
	assert_string_equal(text(t, 1, "cgroup"), "/shop");
	assert_int_equal(number(t, 1, "bytes"), 7 * 64);
	assert_int_equal(number(t, 1, "objects"), 7);
	assert_string_equal(text(t, 2, "cgroup"), "/mail");
	assert_int_equal(number(t, 2, "bytes"), 2 * 64);
	assert_int_equal(number(t, 2, "objects"), 2);
	assert_null(strstr(shown(h), "could not be read")); /* nothing of what did not happen */
	t = table_of(h, "charges");
	assert_int_equal(ks_table_len(t), 2);
	assert_string_equal(text(t, 0, "cgroup"), "/shop");
	assert_string_equal(text(t, 0, "cache"), "kmalloc-64");
	assert_int_equal(number(t, 0, "bytes"), 448);
	assert_int_equal(number(t, 1, "objects"), 2);
}

/* === Contents ============================================================================= */

enum { DO_WORK = 0xe00, OTHER = 0xe40, TABLE = 0xf00, NOTHING = 0xf80 };

/* Names of functions in what objects of no known type hold. */
static void fill_contents(struct heap *h)
{
	const struct {
		u32 object, at, to;
	} words[] = {
		{ 2, 16, DO_WORK },			   /* a callback */
		{ 3, 8, NOTHING },	 { 3, 24, TABLE }, /* a table behind another */
		{ 4, 0, TABLE },	 { 4, 40, OTHER }, /* the callback counts more */
		{ 5, 8, DO_WORK + 8 },			   /* inside of a function */
		{ 6, 0, NOTHING },	 { 6, 8, NOTHING + 8 },
		{ 6, 16, NOTHING + 16 }, { 6, 24, TABLE }, /* three are looked at */
		{ 12, 16, DO_WORK },			   /* a free one */
	};
	size_t i;

	put64(h, MODEL_IMAGE + TABLE + 8, MODEL_IMAGE + OTHER);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		put64(h, model_object(&h->model, h->slab64, 64, words[i].object) + words[i].at,
		      MODEL_IMAGE + words[i].to);
}

static u64 objects_of(const struct heap *h, const char *type)
{
	const struct ks_table *t = table_of(h, "types");
	u64 objects = 0;
	size_t i;

	for (i = 0; i < ks_table_len(t); i++)
		if (!strcmp(text(t, i, "type"), type) && !strcmp(text(t, i, "cache"), "kmalloc-64"))
			objects += number(t, i, "objects");
	return objects;
}

static void test_contents(void **state)
{
	struct heap *h = *state;
	int fd = memfd_create("kallsyms",
			      MFD_CLOEXEC); /* nothing is left behind, however the test ends */
	char path[64];
	struct ks_snapshot_options options = { .kallsyms = path };
	struct ks_heap_report report = { .by = KS_HEAP_BY_TYPE };
	struct ks_snapshot *snapshot;
	struct ks_diag diag;

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(dprintf(fd, "%llx T do_work\n%llx T other\n%llx T last\n",
			    MODEL_IMAGE + DO_WORK, MODEL_IMAGE + OTHER,
			    MODEL_IMAGE + OTHER + 0x40) > 0);
	fill_contents(h);
	look(h);
	assert_int_equal(ks_snapshot_take(h->kernel, &options, &snapshot, &diag), 0);
	assert_false(snapshot->no_functions);
	report.heap = snapshot;
	h->doc = ks_doc_of_census(&report);
	ks_snapshot_free(snapshot);
	assert_int_equal(objects_of(h, "do_work() at +16"), 1);
	assert_int_equal(objects_of(h, "table with other() at +24"), 1);
	assert_int_equal(objects_of(h, "other() at +40"), 1);
	assert_int_equal(objects_of(h, "?"), 7);
	/* With the large one, of which nothing is known. */
	assert_int_equal(number(table_of(h, "types"), KS_TOTAL, "objects"), 43);
	assert_int_equal(number(table_of(h, "types"), KS_TOTAL, "bytes"), 8192 + 640 + 4096);
	assert_non_null(strstr(shown(h), "\n8 of 43 objects are of no known type\n"));
	close(fd);

	/* Without addresses, contents say nothing. */
	assert_int_equal(ks_snapshot_take(h->kernel, &options, &snapshot, &diag), 0);
	assert_true(snapshot->no_functions);
	ks_doc_free(h->doc);
	report.heap = snapshot;
	h->doc = ks_doc_of_census(&report);
	ks_snapshot_free(snapshot);
	assert_int_equal(objects_of(h, "?"), 10);
	assert_non_null(strstr(shown(h), "contents were not looked at"));
}

#define HEAP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEAP(test_by_cache),
		HEAP(test_memory),
		HEAP(test_by_cgroup),
		HEAP(test_contents),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
