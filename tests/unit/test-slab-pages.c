// SPDX-License-Identifier: GPL-2.0-only
/* Where the kernel maps its memory, found from pages that are followed by objects in them; and what lies in a page. */
#include "ks-test.h"

#include "analysis/slab-pages.h"

enum { SHIFT = 12, FIRST = 0x100000 }; /* page number FIRST is frame 0 */

static void take(struct ks_slab_pages *pages, u64 frame, u64 bytes, u16 cpu, u32 pid)
{
	struct ks_event ev = ks_event_blank(KS_PAGE_ALLOC, 0, cpu);

	ev.ptr = frame;
	ev.bytes_alloc = bytes;
	ev.pid = pid;
	ks_slab_pages_taken(pages, &ev);
}

static void add(struct ks_slab_pages *pages, u64 ptr, u16 cpu, u32 pid)
{
	struct ks_event ev = ks_event_blank(KS_KMALLOC, 0, cpu);

	ev.ptr = ptr;
	ev.pid = pid;
	ks_slab_pages_add(pages, &ev);
}

static u64 address(u64 frame, u64 offset)
{
	return (FIRST + frame) << SHIFT | offset;
}

/* Eight different frames speak for a place before it is believed. */
static void test_votes(void **state)
{
	struct ks_slab_pages pages = { 0 };
	u64 frame;

	ks_slab_pages_start(&pages, 0);
	for (frame = 0; frame < 8; frame++) {
		assert_false(pages.mapped);
		take(&pages, 100 + frame, 4096, 1, 7);
		add(&pages, address(100 + frame, 64), 1, 7);
		if (frame == 3) { /* the same once more */
			take(&pages, 100 + frame, 4096, 1, 7);
			add(&pages, address(100 + frame, 128), 1, 7);
		}
	}
	assert_true(pages.mapped);
	assert_true(pages.first == FIRST);
	ks_slab_pages_deinit(&pages);
}

/* What speaks for nothing: another task, another CPU, the second object, a place that memory is never mapped to. */
static void test_no_votes(void **state)
{
	struct ks_slab_pages pages = { 0 };
	u64 frame;

	ks_slab_pages_start(&pages, SHIFT);
	for (frame = 0; frame < 20; frame++) {
		take(&pages, 100 + frame, 4096, 1, 7);
		add(&pages, address(100 + frame, 0), 1, 8);
		take(&pages, 200 + frame, 4096, 1, 7);
		add(&pages, address(200 + frame, 0), 2, 7);
		take(&pages, 300 + frame, 4096, 1, 7);
		add(&pages, address(300 + frame, 0), 1 + KS_SLAB_PAGES_CPUS, 7);
		take(&pages, 400 + frame, 4096, 1, 7);
		add(&pages, address(401 + frame, 0), 1, 7);
		add(&pages, address(400 + frame, 0), 1, 7);
		take(&pages, 500 + frame, 4096, KS_CPU_UNKNOWN, 7);
		add(&pages, address(500 + frame, 0), KS_CPU_UNKNOWN, 7);
	}
	assert_false(pages.mapped);
	ks_slab_pages_deinit(&pages);
}

/* A place needs four times the votes of any other. */
static void test_lead(void **state)
{
	struct ks_slab_pages pages = { 0 };
	u64 frame, votes = 0;

	ks_slab_pages_start(&pages, SHIFT);
	for (frame = 0; frame < 3; frame++) {
		take(&pages, 1000 + frame, 4096, 1, 7);
		add(&pages, address(1000 + 512 + frame, 0), 1, 7);
	}
	for (frame = 0; !pages.mapped && frame < 100; frame++) {
		take(&pages, 2000 + frame, 4096, 1, 7);
		add(&pages, address(2000 + frame, 0), 1, 7);
		votes++;
	}
	assert_int_equal(votes, 12);
	assert_true(pages.first == FIRST);
	ks_slab_pages_deinit(&pages);
}

/* A slab of four pages begins at a multiple of four; its first object may be in any of them. */
static void test_larger_slabs(void **state)
{
	struct ks_slab_pages pages = { 0 };
	u64 i;

	ks_slab_pages_start(&pages, SHIFT);
	for (i = 0; i < 8; i++) {
		take(&pages, 400 + 4 * i, 4 * 4096, 3, 7);
		add(&pages, address(400 + 4 * i + i % 4, 0), 3, 7);
	}
	assert_true(pages.mapped);
	assert_true(pages.first == FIRST);
	ks_slab_pages_deinit(&pages);
}

/* How far apart addresses in a page are: by the lowest bit that any of them has. */
static void test_steps(void **state)
{
	static const struct {
		u64 offsets[3], step;
	} cases[] = {
		{ { 0, 0, 0 }, 4096 },	   { { 0, 2048, 0 }, 2048 }, { { 64, 0, 128 }, 64 },
		{ { 192, 384, 576 }, 64 }, { { 8, 8, 4088 }, 8 },    { { 1024, 96, 0 }, 32 }
	};
	struct ks_slab_pages pages = { .mapped = true, .first = FIRST };
	u64 begin, step;
	size_t i, j;

	add(&pages, address(0, 0), 0, 0); /* before there are page events nothing is noted */
	assert_null(pages.grain);
	ks_slab_pages_start(&pages, SHIFT);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 frame = 10 + i * 300000; /* farther apart than one part of the table */

		assert_false(ks_slab_pages_take(&pages, frame, &begin, &step));
		for (j = 0; j < 3; j++)
			add(&pages, address(frame, cases[i].offsets[j]), 0, 0);
		assert_false(ks_slab_pages_take(&pages, frame + 1, &begin, &step));
		assert_false(ks_slab_pages_take(&pages, frame - 1, &begin, &step));
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(ks_slab_pages_take(&pages, 10 + i * 300000, &begin, &step));
		assert_true(begin == address(10 + i * 300000, 0));
		assert_true(step == cases[i].step);
		assert_false(ks_slab_pages_take(&pages, 10 + i * 300000, &begin, &step));
	}
	/* An object a tebibyte away is not looked for, one below the first is. */
	add(&pages, address(1ull << 28, 0), 0, 0);
	assert_false(ks_slab_pages_take(&pages, 1ull << 28, &begin, &step));
	add(&pages, (u64)(FIRST - 1) << SHIFT, 0, 0);
	assert_true(ks_slab_pages_take(&pages, (u64)-1, &begin, &step));
	add(&pages, address(10, 32), 0, 0);
	assert_true(ks_slab_pages_take(&pages, 10, &begin, &step));
	assert_true(step == 32);
	assert_false(pages.nomem);
	ks_slab_pages_deinit(&pages);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_votes), cmocka_unit_test(test_no_votes),
	cmocka_unit_test(test_lead),  cmocka_unit_test(test_larger_slabs),
	cmocka_unit_test(test_steps),
};

KS_RUN(tests)
