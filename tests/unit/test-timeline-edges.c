// SPDX-License-Identifier: GPL-2.0-only
/* The timeline where captures are unusual: a few events each, and sums that were worked out by hand. */
#include "ks-test.h"

#include "analysis/places.h"
#include "analysis/timeline-gather.h"
#include "analysis/view.h"

enum { FIRST = 1000, WIDTH = 100, PAGE_SHIFT = 12 };

/* === A timeline and what feeds it ========================================================= */

struct bench {
	struct ks_names names;
	struct ks_places places, frames;
	struct ks_tl_gather *gather;
	struct ks_timeline *tl;
	u32 site;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(ks_names_init(&b->names), 0);
	b->site = ks_sites_add(&b->names.sites, "one+0x1/0x9", 11);
	ks_places_init(&b->places, &b->names.sites, NULL, NULL);
	ks_places_init(&b->frames, &b->names.frames, NULL, NULL);
	assert_int_equal(ks_tl_gather_new(&b->names, FIRST, WIDTH, PAGE_SHIFT, &b->gather), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	ks_timeline_free(b->tl);
	ks_tl_gather_free(b->gather);
	ks_places_deinit(&b->places);
	ks_places_deinit(&b->frames);
	ks_names_deinit(&b->names);
	free(b);
	return 0;
}

static struct ks_event event(const struct bench *b, u64 ts, u64 bytes)
{
	struct ks_event ev = ks_event_blank(KS_KMALLOC, ts, 0);

	ev.site = b->site;
	ev.pid = 7;
	ev.ptr = 0xffff888000001000ull;
	ev.bytes_req = bytes - 1;
	ev.bytes_alloc = bytes;
	return ev;
}

static void begin(struct bench *b, const struct ks_event *ev, u32 slot)
{
	struct ks_tl_birth birth = {
		.ts = ev->ts,
		.ptr = ev->ptr,
		.kind = ks_tl_gather_kind(b->gather, ev),
		.owner = ks_tl_gather_owner(b->gather, ev),
		.bytes_req = (u32)ev->bytes_req,
		.bytes_alloc = (u32)ev->bytes_alloc,
		.cpu = ev->cpu,
	};

	assert_int_not_equal(birth.kind, KS_NONE);
	assert_int_not_equal(birth.owner, KS_NONE);
	assert_int_equal(ks_tl_gather_begin(b->gather, &birth, slot), 0);
}

static void snapshot(struct bench *b, u64 end)
{
	ks_timeline_free(b->tl);
	b->tl = NULL;
	assert_int_equal(
		ks_tl_gather_snapshot(b->gather, end, &b->places, &b->frames, &b->tl, NULL), 0);
}

/* === Tests ================================================================================ */

static void test_empty(void **state)
{
	struct bench *b = *state;

	snapshot(b, FIRST);
	assert_int_equal(b->tl->buckets, 1);
	assert_int_equal(b->tl->total.cells.len, 0);
	assert_int_equal(b->tl->total.live_bytes, 0);
}

/* It was allocated, and nothing more is known: it is never live, and has ended in the sums. */
static void test_unpaired(void **state)
{
	struct bench *b = *state;
	struct ks_event ev = event(b, FIRST + 1, 64);
	const struct ks_cell *cell;

	begin(b, &ev, KS_NONE);
	ev = event(b, FIRST + 2, 32);
	begin(b, &ev, 0);
	snapshot(b, FIRST + 5);
	assert_int_equal(b->tl->total.cells.len, 1);
	cell = &b->tl->total.cells.items[0];
	assert_int_equal(cell->allocs, 2);
	assert_int_equal(cell->unpaired, 1);
	assert_int_equal(cell->bytes, 96);
	assert_int_equal(cell->req, 94);
	assert_int_equal(cell->ended_bytes, 64);
	assert_int_equal(cell->ended_req, 63);
	assert_int_equal(cell->peak_bytes, 32);
	assert_int_equal(cell->kept, 1);
	assert_int_equal(b->tl->total.live_bytes, 32);
	assert_int_equal(b->tl->total.oldest, 3);
	assert_int_equal(b->tl->total.youngest, 3);
}

/* An event that is older than the last one is counted where the last one was. */
static void test_time_goes_back(void **state)
{
	struct bench *b = *state;
	struct ks_event ev = event(b, FIRST + 250, 64);

	begin(b, &ev, 0);
	ev = event(b, FIRST + 50, 16);
	begin(b, &ev, 1);
	assert_int_equal(ks_tl_gather_end(b->gather, 0, FIRST + 60, 0, KS_END_FREED), 0);
	snapshot(b, FIRST + 250);
	assert_int_equal(b->tl->buckets, 3);
	assert_int_equal(b->tl->total.cells.len, 1);
	assert_int_equal(b->tl->total.cells.items[0].bucket, 2);
	assert_int_equal(b->tl->total.cells.items[0].allocs, 2);
	assert_int_equal(b->tl->total.cells.items[0].life_sum, 0);
	assert_int_equal(b->tl->total.cells.items[0].temporary, 1);
	assert_int_equal(b->tl->total.cells.items[0].kept_bytes, 16);
	assert_int_equal(b->tl->total.oldest, 200);
}

/* What lives at the end counts where it was born, between cells before and after it. */
static void test_kept_where_born(void **state)
{
	struct bench *b = *state;
	size_t i;

	for (i = 0; i < 9; i++) {
		struct ks_event ev = event(b, FIRST + i * WIDTH + 10, 8 + i);

		begin(b, &ev, (u32)i);
	}
	for (i = 0; i < 9; i += 2)
		assert_int_equal(ks_tl_gather_end(b->gather, (u32)i, FIRST + 850, 0, KS_END_FREED),
				 0);
	snapshot(b, FIRST + 900);
	assert_int_equal(b->tl->buckets, 10);
	assert_int_equal(b->tl->total.cells.len, 9);
	for (i = 0; i < 9; i++) {
		assert_int_equal(b->tl->total.cells.items[i].kept, i % 2);
		assert_int_equal(b->tl->total.cells.items[i].kept_bytes, i % 2 ? 8 + i : 0);
	}
	assert_int_equal(b->tl->total.kept, 4);
	assert_int_equal(b->tl->total.live_bytes, 9 + 11 + 13 + 15);
	assert_int_equal(b->tl->total.oldest, 790);
	assert_int_equal(b->tl->total.youngest, 190);
	assert_int_equal(b->tl->total.age_sum, 790 + 590 + 390 + 190);
}

/* A slot that is taken over while its object lives: both live at the end. */
static void test_left_behind(void **state)
{
	struct bench *b = *state;
	struct ks_event ev = event(b, FIRST + 10, 64);

	begin(b, &ev, 0);
	ev = event(b, FIRST + 20, 16);
	ev.ptr += 1ull << PAGE_SHIFT;
	begin(b, &ev, 0);
	snapshot(b, FIRST + 30);
	assert_int_equal(b->tl->total.kept, 2);
	assert_int_equal(b->tl->total.live_bytes, 80);
	assert_int_equal(b->tl->total.cells.items[0].kept_bytes, 80);
	assert_int_equal(b->tl->total.age_sum, 30);
	assert_int_equal(b->tl->by[KS_TL_SIZE].items.len, 2);
	assert_int_equal(b->tl->by[KS_TL_SIZE].items.items[0].pages_held, 1);
	assert_int_equal(b->tl->by[KS_TL_SIZE].items.items[1].pages_held, 1);
}

/* CPUs from 63 on share a column; one that is not known is in none, and crosses to none. */
static void test_cpus(void **state)
{
	static const u16 cpus[][2] = { { 62, 63 },
				       { 63, 64 },
				       { 500, 70 },
				       { 0, 1 },
				       { KS_CPU_UNKNOWN, 1 },
				       { 1, KS_CPU_UNKNOWN },
				       { 2, 2 } };
	struct bench *b = *state;
	u64 all = 0;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		struct ks_event ev = event(b, FIRST, 64);

		ev.cpu = cpus[i][0];
		begin(b, &ev, (u32)i);
		assert_int_equal(
			ks_tl_gather_end(b->gather, (u32)i, FIRST + 1, cpus[i][1], KS_END_FREED),
			0);
	}
	snapshot(b, FIRST + 2);
	assert_int_equal(b->tl->ends[0].by_cpus[62][63], 1);
	assert_int_equal(b->tl->ends[0].by_cpus[63][63], 2);
	assert_int_equal(b->tl->ends[0].by_cpus[0][1], 1);
	assert_int_equal(b->tl->ends[0].by_cpus[2][2], 1);
	for (i = 0; i < KS_TL_CPUS; i++)
		for (j = 0; j < KS_TL_CPUS; j++)
			all += b->tl->ends[0].by_cpus[i][j];
	assert_int_equal(all, 5);
	assert_int_equal(b->tl->total.cells.items[0].cross_cpu, 4);
	assert_int_equal(b->tl->total.cells.items[0].frees, ARRAY_SIZE(cpus));
}

/* Tasks beyond 4096 are one. */
static void test_many_tasks(void **state)
{
	struct bench *b = *state;
	u64 rest = 0;
	size_t i;
	u32 pid;

	for (pid = 1; pid <= 4100; pid++) {
		struct ks_event ev = event(b, FIRST, 8);

		ev.pid = pid;
		ev.comm = ks_intern_add(&b->names.comms, "many", 4);
		begin(b, &ev, pid);
	}
	snapshot(b, FIRST + 1);
	assert_int_equal(b->tl->pids.len, 4097);
	for (i = 0; i < 4096; i++) {
		assert_int_equal(b->tl->pids.items[i].pid, i + 1);
		assert_false(b->tl->pids.items[i].rest);
		assert_string_equal(b->tl->pids.items[i].comm, "many");
	}
	assert_true(b->tl->pids.items[4096].rest);
	assert_int_equal(b->tl->pids.items[4096].pid, KS_PID_UNKNOWN);
	for (i = 0; i < b->tl->links.len; i++)
		if (b->tl->links.items[i].dim == KS_TL_PID && b->tl->links.items[i].group == 4096)
			rest += b->tl->links.items[i].bytes;
	assert_int_equal(rest, 4 * 8);
}

/* Until a stack is seen there is no group of events without one. */
static void test_stacks(void **state)
{
	struct bench *b = *state;
	struct ks_event ev = event(b, FIRST, 8);
	u32 frames[2];

	begin(b, &ev, 0);
	snapshot(b, FIRST + 1);
	assert_int_equal(b->tl->by[KS_TL_STACK].items.len, 0);
	frames[0] = ks_sites_add(&b->names.frames, "inner+0x1/0x9", 13);
	frames[1] = ks_sites_add(&b->names.frames, "outer+0x2/0x9", 13);
	ev = event(b, FIRST + 2, 16);
	ev.stack = ks_names_add_stack(&b->names, frames, 2);
	begin(b, &ev, 1);
	ev = event(b, FIRST + 3, 32);
	begin(b, &ev, 2);
	snapshot(b, FIRST + 4);
	assert_int_equal(b->tl->by[KS_TL_STACK].items.len, 2);
	assert_int_equal(b->tl->by[KS_TL_STACK].items.items[0].live_bytes, 16);
	assert_int_equal(b->tl->by[KS_TL_STACK].items.items[0].frames_len, 2);
	assert_string_equal(b->tl->by[KS_TL_STACK].items.items[0].frames[0], "inner+0x1");
	assert_string_equal(b->tl->by[KS_TL_STACK].items.items[0].frames[1], "outer+0x2");
	assert_string_equal(b->tl->by[KS_TL_STACK].items.items[0].label, "one+0x1");
	assert_int_equal(b->tl->by[KS_TL_STACK].items.items[1].live_bytes, 32);
	assert_int_equal(b->tl->by[KS_TL_STACK].items.items[1].frames_len, 0);
}

/* A snapshot changes nothing: what comes after it is added as if there had been none. */
static void test_snapshots(void **state)
{
	struct bench *b = *state;
	struct ks_event ev = event(b, FIRST + 10, 64);

	begin(b, &ev, 0);
	snapshot(b, FIRST + 950);
	assert_int_equal(b->tl->buckets, 10);
	snapshot(b, FIRST + 20);
	assert_int_equal(b->tl->buckets, 1);
	assert_int_equal(ks_tl_gather_end(b->gather, 0, FIRST + 30, 0, KS_END_IMPLIED), 0);
	snapshot(b, FIRST + 40);
	assert_int_equal(b->tl->total.cells.len, 1);
	assert_int_equal(b->tl->total.cells.items[0].implied, 1);
	assert_int_equal(b->tl->total.cells.items[0].frees, 0);
	assert_int_equal(b->tl->total.cells.items[0].kept, 0);
	assert_int_equal(b->tl->total.live_bytes, 0);
	assert_int_equal(b->tl->total.at_peak_bytes, 64);
}

#define EDGE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	EDGE(test_empty),	    EDGE(test_unpaired),    EDGE(test_time_goes_back),
	EDGE(test_kept_where_born), EDGE(test_left_behind), EDGE(test_cpus),
	EDGE(test_many_tasks),	    EDGE(test_stacks),	    EDGE(test_snapshots),
};

KS_RUN(tests)
