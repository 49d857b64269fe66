// SPDX-License-Identifier: GPL-2.0-only
/* The walk over page tables that were made by hand: what is mapped where, and what the walk must leave out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "heap/vmap.h"

/* === Data ================================================================================= */

enum {
	RAM = 4160,   /* pages: a table lies astride of the end */
	FIRST = 1024, /* page of the first table */
	TABLES_MAX = 700,
	STRUCT_PAGE = 64,
};

#define PRESENT	   1ull
#define LARGE	   0x80ull
#define NO_EXECUTE 0x8000000000000000ull

#define DIRECT_4   0xffff888000000000ull
#define DIRECT_5   0xff11000000000000ull
#define VMEMMAP	   0xffffea0000000000ull
#define VMALLOC	   0xffffc90000000000ull
#define MODULES	   0xffffffffc0000000ull

struct maps {
	u64 tables[TABLES_MAX][512];
	u32 count, missing; /* the table that is not in the image; 0 = all are */
	int levels;
	u64 direct;
	u8 *image;
	struct ks_memory *memory;
	struct ks_kernel kernel;
	KS_VEC(struct ks_mapping) found;
};

/* === Internals ============================================================================ */

static const struct ks_vm_areas no_areas;

static struct maps *new_maps(int levels)
{
	struct maps *m = calloc(1, sizeof(*m));

	m->levels = levels;
	m->direct = levels == 5 ? DIRECT_5 : DIRECT_4;
	m->count = 1;
	return m;
}

/* The entry of an address in the table of this level (0: of pages); tables on the way are made. */
static u64 *entry_of(struct maps *m, u64 addr, int level)
{
	u32 table = 0;
	int at;

	for (at = m->levels - 1; at > level; at--) {
		u64 *entry = &m->tables[table][addr >> (12 + 9 * at) & 511];

		if (!*entry) {
			assert_true(m->count < TABLES_MAX);
			*entry = ((u64)(FIRST + m->count++) << 12) | PRESENT;
		}
		table = (u32)((*entry & ~NO_EXECUTE) >> 12) - FIRST;
	}
	return &m->tables[table][addr >> (12 + 9 * level) & 511];
}

static void map(struct maps *m, u64 addr, u64 pfn, int level, u64 flags)
{
	*entry_of(m, addr, level) = pfn << 12 | flags;
}

static u8 *put(u8 *at, u64 word)
{
	memcpy(at, &word, 8);
	return at + 8;
}

static void open_maps(struct maps *m)
{
	u32 i, present = m->count - (m->missing ? 1 : 0);
	struct ks_diag diag;
	u8 *at;

	m->image = malloc(64 + (size_t)m->count * (16 + 4096));
	memcpy(m->image, "KSIMAGE1", 8);
	at = put(m->image + 8, (u64)present << 32); /* no CPU */
	at = put(at, m->direct);
	at = put(at, VMEMMAP);
	at = put(at, 0);
	at = put(at, m->direct + ((u64)FIRST << 12));
	at = put(at, 0);
	at = put(at, RAM);
	for (i = 0; i < m->count; i++)
		if (!i || i != m->missing)
			at = put(put(at, m->direct + ((u64)(FIRST + i) << 12)), 4096);
	for (i = 0; i < m->count; i++) {
		if (i && i == m->missing)
			continue;
		memcpy(at, m->tables[i], 4096);
		at += 4096;
	}
	assert_int_equal(ks_memory_open_image(m->image, (size_t)(at - m->image), &m->memory, &diag),
			 0);
	m->kernel = (struct ks_kernel){ .memory = m->memory,
					.page_offset = m->direct,
					.vmemmap = VMEMMAP,
					.page_table = m->memory->facts.page_table,
					.layout.page_size = STRUCT_PAGE };
}

static void collect(void *arg, const struct ks_mapping *mapping)
{
	struct maps *m = arg;
	struct ks_mapping *slot = ks_vec_push(&m->found);

	assert_non_null(slot);
	*slot = *mapping;
}

static void walk(struct maps *m)
{
	struct ks_diag diag;

	open_maps(m);
	assert_int_equal(ks_vmap_walk(&m->kernel, collect, m, &diag), 0);
}

static const struct ks_mapping *find(const struct maps *m, u64 addr)
{
	const struct ks_mapping *found = NULL;
	size_t i;

	for (i = 0; i < m->found.len; i++)
		if (m->found.items[i].addr == addr) {
			assert_null(found); /* each is told once */
			found = &m->found.items[i];
		}
	return found;
}

static void check(const struct maps *m, u64 addr, u64 pfn, u64 pages, bool executable, bool structs)
{
	const struct ks_mapping *found = find(m, addr);

	assert_non_null(found);
	assert_int_equal(found->pfn, pfn);
	assert_int_equal(found->pages, pages);
	assert_int_equal(found->executable, executable);
	assert_int_equal(found->structs, structs);
}

static void free_maps(struct maps *m)
{
	ks_memory_free(m->memory);
	ks_vec_free(&m->found);
	free(m->image);
	free(m);
}

/* === Tests ================================================================================ */

static void test_pages(void **state)
{
	struct maps *m = new_maps(4);

	map(m, VMALLOC, 5, 0, PRESENT | NO_EXECUTE);
	map(m, VMALLOC + 0x1000, 77, 0, PRESENT | NO_EXECUTE);
	map(m, VMALLOC + 511 * 0x1000ull, 78, 0, PRESENT | NO_EXECUTE);
	map(m, MODULES, 79, 0, PRESENT);
	map(m, 0xfffffffffffff000ull, 80, 0, PRESENT); /* the very last page */
	map(m, VMALLOC + 0x2000, 81, 0, 0);	       /* not there */
	map(m, VMALLOC + 0x3000, RAM - 1, 0, PRESENT);
	map(m, VMALLOC + 0x4000, RAM, 0, PRESENT);     /* of a device */
	map(m, 0x00007f0000001000ull, 82, 0, PRESENT); /* of a process: the lower half */
	walk(m);
	assert_int_equal(m->found.len, 6);
	check(m, VMALLOC, 5, 1, false, false);
	check(m, VMALLOC + 0x1000, 77, 1, false, false);
	check(m, VMALLOC + 511 * 0x1000ull, 78, 1, false, false);
	check(m, MODULES, 79, 1, true, false);
	check(m, 0xfffffffffffff000ull, 80, 1, true, false);
	check(m, VMALLOC + 0x3000, RAM - 1, 1, true, false);
	free_maps(m);
}

/* Addresses of the upper half begin at other bits. */
static void test_five_levels(void **state)
{
	struct maps *m = new_maps(5);

	map(m, 0xffa0000000001000ull, 77, 0, PRESENT);
	map(m, 0xff00000000000000ull, 78, 0, PRESENT); /* the first address of the upper half */
	map(m, MODULES, 79, 0, PRESENT | NO_EXECUTE);
	map(m, DIRECT_5, 0, 1, PRESENT | LARGE);
	walk(m);
	assert_int_equal(m->found.len, 3);
	check(m, 0xffa0000000001000ull, 77, 1, true, false);
	check(m, 0xff00000000000000ull, 78, 1, true, false);
	check(m, MODULES, 79, 1, false, false);
	free_maps(m);
}

/* Bit 12 of a large page's entry says how it is cached. */
static void test_large(void **state)
{
	struct maps *m = new_maps(4);

	map(m, VMALLOC + 0x200000, 512 | 1, 1, PRESENT | LARGE | NO_EXECUTE);
	map(m, VMALLOC + 0x40000000, 1, 2, PRESENT | LARGE);
	/* The same bit in the entry of a page is no size. */
	map(m, VMALLOC, 9, 0, PRESENT | LARGE);
	walk(m);
	assert_int_equal(m->found.len, 3);
	check(m, VMALLOC + 0x200000, 512, 512, false, false);
	check(m, VMALLOC + 0x40000000, 0, 1 << 18, true, false);
	check(m, VMALLOC, 9, 1, true, false);
	free_maps(m);
}

/* The direct map is as long as memory, and tells nothing; one page before it and behind it does. */
static void test_direct_map(void **state)
{
	struct maps *m = new_maps(4);
	u64 end = DIRECT_4 + ((u64)RAM << 12);

	map(m, DIRECT_4, 1, 0, PRESENT);
	map(m, DIRECT_4 + 0x200000, 512, 1, PRESENT | LARGE);
	map(m, DIRECT_4 - 0x1000, 2, 0, PRESENT);
	map(m, end - 0x1000, 3, 0, PRESENT);
	map(m, end, 4, 0, PRESENT);
	walk(m);
	assert_int_equal(m->found.len, 2);
	check(m, DIRECT_4 - 0x1000, 2, 1, true, false);
	check(m, end, 4, 1, true, false);
	free_maps(m);
}

static void test_struct_pages(void **state)
{
	struct maps *m = new_maps(4);
	u64 end = VMEMMAP + (u64)RAM * STRUCT_PAGE;

	map(m, VMEMMAP - 0x1000, 20, 0, PRESENT);
	map(m, VMEMMAP, 21, 0, PRESENT);
	map(m, end - 0x1000, 22, 0, PRESENT);
	map(m, end, 23, 0, PRESENT);
	walk(m);
	assert_int_equal(m->found.len, 4);
	check(m, VMEMMAP - 0x1000, 20, 1, true, false);
	check(m, VMEMMAP, 21, 1, true, true);
	check(m, end - 0x1000, 22, 1, true, true);
	check(m, end, 23, 1, true, false);
	free_maps(m);
}

/* KASAN's shadow has one table in many entries: it is walked once, by its first address. */
static void test_shared_table(void **state)
{
	struct maps *m = new_maps(4);

	map(m, VMALLOC, 30, 0, PRESENT);
	*entry_of(m, VMALLOC + 0x200000, 1) = *entry_of(m, VMALLOC, 1);
	map(m, VMALLOC + 0x400000, 31, 0, PRESENT);
	walk(m);
	assert_int_equal(m->found.len, 2);
	check(m, VMALLOC, 30, 1, true, false);
	check(m, VMALLOC + 0x400000, 31, 1, true, false);
	free_maps(m);
}

/* More tables of a level than are read at once, one of which can't be read. */
static void test_many_tables(void **state)
{
	struct maps *m = new_maps(4);
	u64 i;

	for (i = 0; i < 600; i++)
		map(m, VMALLOC + (i << 21), 100 + i, 0, PRESENT);
	m->missing = (u32)(*entry_of(m, VMALLOC + (7ull << 21), 1) >> 12) - FIRST;
	walk(m);
	assert_int_equal(m->found.len, 599);
	assert_int_equal(m->memory->failed, 1);
	assert_int_equal(m->memory->bytes, m->count * 4096);
	for (i = 0; i < 600; i++)
		if (i == 7)
			assert_null(find(m, VMALLOC + (i << 21)));
		else
			check(m, VMALLOC + (i << 21), 100 + i, 1, true, false);
	free_maps(m);
}

static void test_no_table(void **state)
{
	struct maps *m = new_maps(4);
	struct ks_diag diag;

	map(m, VMALLOC, 30, 0, PRESENT);
	open_maps(m);
	m->kernel.page_table = 0;
	assert_int_equal(ks_vmap_walk(&m->kernel, collect, m, &diag), 0);
	assert_int_equal(m->found.len, 0);
	free_maps(m);
}

/* Pages in use of which nothing else says by whom get a use by their mapping, each once. */
static void test_uses(void **state)
{
	struct maps *m = new_maps(4);
	u64 unexplained[RAM / 64] = { 0 };
	struct ks_pages pages = { .end = RAM, .unexplained = unexplained };
	struct ks_diag diag;

	unexplained[0] = 0x3e;		 /* pages 1 to 5 */
	unexplained[1] = 1ull << 63 | 1; /* 64 and 127 */
	pages.kinds[KS_USE_KERNEL] = 20;
	map(m, VMALLOC, 2, 0, PRESENT);
	map(m, VMALLOC + 0x1000, 2, 0, PRESENT); /* again */
	map(m, VMALLOC + 0x2000, 6, 0, PRESENT); /* known to be something else */
	map(m, VMALLOC + 0x3000, 127, 0, PRESENT);
	map(m, VMEMMAP, 4, 0, PRESENT); /* holds struct pages */
	open_maps(m);
	assert_int_equal(ks_vmap_read(&m->kernel, &no_areas, &pages, &diag), 0);
	assert_int_equal(unexplained[0], 0x3a);
	assert_int_equal(unexplained[1], 1);
	assert_int_equal(pages.kinds[KS_USE_VMALLOC], 2);
	assert_int_equal(pages.kinds[KS_USE_KERNEL], 18);
	free_maps(m);
}

/* A stack of two pages and a guard, and two pages of per-CPU memory with a hole. */
static void test_areas(void **state)
{
	struct maps *m = new_maps(4);
	u64 unexplained[RAM / 64] = { 0x3fe }; /* pages 1 to 9 */
	struct ks_pages pages = { .end = RAM, .unexplained = unexplained };
	struct ks_vm_area area[] = {
		{ VMALLOC + 0x1000, VMALLOC + 0x4000, KS_USE_STACK },
		{ VMALLOC + 0x8000, VMALLOC + 0x9000, KS_USE_STACK },
		{ VMALLOC + 0x10000, VMALLOC + 0x14000, KS_USE_PERCPU },
	};
	struct ks_vm_areas areas = { .items = { area, 3, 3 } };
	struct ks_diag diag;

	(void)state;
	pages.kinds[KS_USE_KERNEL] = 9;
	map(m, VMALLOC, 1, 0, PRESENT);
	map(m, VMALLOC + 0x1000, 2, 0, PRESENT);
	map(m, VMALLOC + 0x2000, 3, 0, PRESENT);
	map(m, VMALLOC + 0x4000, 4, 0, PRESENT);
	map(m, VMALLOC + 0x8000, 5, 0, PRESENT);
	map(m, VMALLOC + 0x9000, 6, 0, PRESENT);
	map(m, VMALLOC + 0x10000, 7, 0, PRESENT);
	map(m, VMALLOC + 0x13000, 8, 0, PRESENT);
	open_maps(m);
	assert_int_equal(ks_vmap_read(&m->kernel, &areas, &pages, &diag), 0);
	assert_int_equal(pages.kinds[KS_USE_STACK], 3);
	assert_int_equal(pages.kinds[KS_USE_PERCPU], 2);
	assert_int_equal(pages.kinds[KS_USE_VMALLOC], 3);
	assert_int_equal(pages.kinds[KS_USE_KERNEL], 1);
	free_maps(m);
}

/* A mapping that is larger than memory. */
static void test_uses_of_all(void **state)
{
	struct maps *m = new_maps(4);
	u64 unexplained[RAM / 64] = { 0 };
	struct ks_pages pages = { .end = RAM, .unexplained = unexplained };
	struct ks_diag diag;

	unexplained[0] = 0x3e;
	unexplained[1] = 1ull << 63 | 1;
	unexplained[RAM / 64 - 1] = 1ull << 63 | 1;
	pages.kinds[KS_USE_KERNEL] = 20;
	pages.kinds[KS_USE_SLAB] = 7;
	map(m, VMALLOC + 0x40000000, 0, 2, PRESENT | LARGE);
	open_maps(m);
	assert_int_equal(ks_vmap_read(&m->kernel, &no_areas, &pages, &diag), 0);
	assert_int_equal(unexplained[0], 0);
	assert_int_equal(unexplained[1], 0);
	assert_int_equal(unexplained[RAM / 64 - 1], 0);
	assert_int_equal(pages.kinds[KS_USE_VMALLOC], 9);
	assert_int_equal(pages.kinds[KS_USE_KERNEL], 11);
	assert_int_equal(pages.kinds[KS_USE_SLAB], 7);
	free_maps(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),	     cmocka_unit_test(test_five_levels),
		cmocka_unit_test(test_large),	     cmocka_unit_test(test_direct_map),
		cmocka_unit_test(test_struct_pages), cmocka_unit_test(test_shared_table),
		cmocka_unit_test(test_many_tables),  cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_uses),	     cmocka_unit_test(test_uses_of_all),
		cmocka_unit_test(test_areas),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
