// SPDX-License-Identifier: GPL-2.0-only
/* The engine beside a slow and obvious model on random streams, for every grouping; the live table beside an array. */
#include "tiny-world.h"

#include "analysis/live.h"

/* === The slow and obvious model =========================================================== */

struct slow_obj {
	bool live, freed;
	u64 lost_windows; /* when it was freed */
	struct ks_event alloc;
};

struct slow {
	struct slow_obj objs[KS_LEVELS][64];
	struct ks_stat groups[64];
	struct ks_stat total;
	u64 quality[KS_QUALITIES];
};

enum { ADDRESSES = 24 };

/* Sequential addresses, which never push one another out of the table of recent frees. */
static u64 address_of(u32 n)
{
	return 0xffff888000001000ull + n * 64ull;
}

static u32 slow_group(enum ks_by by, const struct ks_event *ev)
{
	static const u32 function_of[] = { 0, 0, 1, 2 };

	switch (by) {
	case KS_BY_SITE:
		return ev->site == KS_NONE ? 63 : ev->site;
	case KS_BY_FUNCTION:
		return ev->site == KS_NONE ? 63 : function_of[ev->site];
	case KS_BY_MODULE:
		return ev->site == KS_NONE ? 63 : ev->site == 2;
	case KS_BY_SIZE:
		return (u32)ev->bytes_alloc / 8;
	case KS_BY_CACHE:
		return ev->kind == KS_KMALLOC ? (u32)ev->bytes_alloc / 8 : 50;
	case KS_BY_PID:
		return ev->pid;
	case KS_BY_COMM:
		return ev->comm;
	case KS_BY_CGROUP:
		return 0; /* of no task is it known */
	case KS_BY_CPU:
		return ev->cpu;
	case KS_BY_NODE:
		return (u32)(ev->node + 1);
	default:
		return ev->gfp;
	}
}

static void slow_begin(struct ks_stat *s, const struct ks_event *ev)
{
	s->allocs++;
	s->total_bytes += ev->bytes_alloc;
	s->total_req += ev->bytes_req;
	s->live_objs++;
	s->live_bytes += ev->bytes_alloc;
	s->live_req += ev->bytes_req;
	if (s->live_bytes > s->peak_bytes) {
		s->peak_bytes = s->live_bytes;
		s->peak_ts = ev->ts;
	}
}

static void slow_end(struct ks_stat *s, const struct ks_event *alloc, bool implied)
{
	*(implied ? &s->implied_frees : &s->frees) += 1;
	s->unseen_bytes += implied ? alloc->bytes_alloc : 0;
	s->live_objs--;
	s->live_bytes -= alloc->bytes_alloc;
	s->live_req -= alloc->bytes_req;
}

static bool slow_counts(const struct ks_event *ev, enum ks_level level,
			const struct ks_filter *filter)
{
	if ((ks_kind_is_page(ev->kind) ? KS_PAGES : KS_SLAB) != level)
		return false;
	if (filter->malloc_only && ev->kind != KS_KMALLOC)
		return false;
	return !(filter->since.set && ev->ts < filter->since.ns);
}

static void slow_event(struct slow *s, const struct ks_event *ev, enum ks_by by,
		       enum ks_level level, const struct ks_filter *filter)
{
	enum ks_level own = ks_kind_is_page(ev->kind) ? KS_PAGES : KS_SLAB;
	struct slow_obj *obj;

	if (ev->kind == KS_LOST) {
		s->quality[KS_Q_LOST_EVENTS] += ev->bytes_req;
		s->quality[KS_Q_LOST_WINDOWS]++;
		return;
	}
	if (own == KS_SLAB && !ev->ptr) {
		s->quality[ks_kind_is_alloc(ev->kind) ? KS_Q_FAILED_ALLOCS : KS_Q_NULL_FREES]++;
		if (ks_kind_is_alloc(ev->kind) && slow_counts(ev, level, filter)) {
			s->groups[slow_group(by, ev)].failed++;
			s->total.failed++;
		}
		return;
	}
	obj = &s->objs[own][(ev->ptr - address_of(0)) / 64];
	if (obj->live && (ks_kind_is_alloc(ev->kind) || ev->ptr)) {
		bool implied = ks_kind_is_alloc(ev->kind);

		s->quality[KS_Q_IMPLIED_FREES] += implied;
		if (!implied && ev->kind == KS_KFREE && obj->alloc.kind == KS_CACHE_ALLOC)
			s->quality[KS_Q_KFREE_OF_CACHE]++;
		if (!implied && ev->kind == KS_CACHE_FREE && obj->alloc.kind == KS_KMALLOC)
			s->quality[KS_Q_CACHE_FREE_OF_KMALLOC]++;
		if (slow_counts(&obj->alloc, level, filter)) {
			slow_end(&s->groups[slow_group(by, &obj->alloc)], &obj->alloc, implied);
			slow_end(&s->total, &obj->alloc, implied);
		}
		obj->live = false;
		obj->freed = !implied;
		obj->lost_windows = s->quality[KS_Q_LOST_WINDOWS];
		if (!implied)
			return;
	} else if (!ks_kind_is_alloc(ev->kind)) {
		bool again = obj->freed && obj->lost_windows == s->quality[KS_Q_LOST_WINDOWS];

		s->quality[again ? KS_Q_SECOND_FREES : KS_Q_FREES_BEFORE]++;
		obj->freed = true;
		obj->lost_windows = s->quality[KS_Q_LOST_WINDOWS];
		return;
	}
	s->quality[KS_Q_SHORT_ALLOCS] += ev->bytes_alloc < ev->bytes_req;
	obj->live = true;
	obj->alloc = *ev;
	if (slow_counts(ev, level, filter)) {
		slow_begin(&s->groups[slow_group(by, ev)], ev);
		slow_begin(&s->total, ev);
	}
}

static u32 rng_state = 1;

static u32 rnd(u32 n)
{
	rng_state = rng_state * 1664525 + 1013904223;
	return (u32)((u64)(rng_state >> 8) * n >> 24);
}

static struct ks_event random_event(u64 ts)
{
	enum ks_kind kind = (enum ks_kind)rnd(KS_LOST);
	struct ks_event ev = event(kind, address_of(rnd(ADDRESSES)), rnd(4), 0, 0, ts);

	if (ks_kind_is_alloc(kind)) {
		ev.bytes_alloc = 8 + 8 * rnd(6);
		ev.bytes_req = ev.bytes_alloc - rnd(8) + (rnd(50) == 0) * 8;
	}
	if (ks_kind_is_page(kind))
		ev.site = KS_NONE;
	else if (rnd(12) == 0)
		ev.ptr = 0;
	ev.pid = rnd(5);
	ev.comm = rnd(2);
	ev.cpu = (u16)rnd(4);
	ev.node = (s32)rnd(3) - 1;
	if (rnd(60) == 0)
		ev = event(KS_LOST, 0, KS_NONE, rnd(9), 0, 0);
	return ev;
}

/* The counter as it is shown: what unseen ends explain is no misuse. */
static u64 explained(const u64 *quality, size_t q)
{
	u64 misuses = quality[KS_Q_SECOND_FREES] + quality[KS_Q_CACHE_FREE_OF_KMALLOC];
	bool unseen = quality[KS_Q_IMPLIED_FREES] || quality[KS_Q_LOST_WINDOWS];

	if (q == KS_Q_REUSED)
		return unseen ? misuses : 0;
	if (q == KS_Q_SECOND_FREES || q == KS_Q_CACHE_FREE_OF_KMALLOC)
		return unseen ? 0 : quality[q];
	return quality[q];
}

/*
 * Compares the slow groups as a set of rows: each row of the model must be among them exactly once.
 */
static void compare(const struct ks_model *model, const struct slow *slow)
{
	size_t i, k, rows = 0;
	bool used[64] = { false };
	int q;

	for (q = 0; q < KS_QUALITIES; q++)
		assert_int_equal(model->quality[q], explained(slow->quality, q));
	for (i = 0; i < 64; i++)
		rows += slow->groups[i].allocs || slow->groups[i].failed;
	assert_int_equal(ks_model_account(model)->groups.len, rows);
	for (i = 0; i < ks_model_account(model)->groups.len; i++) {
		struct ks_stat stat = ks_model_account(model)->groups.items[i].stat;

		stat.first_ts = stat.last_ts = 0;
		for (k = 0; k < 64; k++)
			if (!used[k] && !memcmp(&slow->groups[k], &stat, sizeof(stat)))
				break;
		assert_true(k < 64);
		used[k] = true;
	}
	assert_int_equal(ks_model_total(model)->live_bytes, slow->total.live_bytes);
	assert_int_equal(ks_model_total(model)->peak_bytes, slow->total.peak_bytes);
	assert_int_equal(ks_model_total(model)->peak_ts, slow->total.peak_ts);
	assert_int_equal(ks_model_total(model)->frees, slow->total.frees);
	assert_int_equal(ks_model_total(model)->implied_frees, slow->total.implied_frees);
}

static void test_random_streams(void **state)
{
	enum { STREAMS = 400, EVENTS = 600 };
	static struct ks_event ev[EVENTS];
	static struct slow slow;
	u32 stream, i;

	(void)state;
	for (stream = 0; stream < STREAMS; stream++) {
		enum ks_by by = (enum ks_by)(stream % KS_BYS);
		struct ks_analysis_opts opts = { .level = (enum ks_level)(stream / KS_BYS % 2) };
		struct ks_model *model;

		rng_state = stream * 7919 + 1;
		opts.filter.malloc_only = stream % 3 == 1;
		if (stream % 5 == 2)
			opts.filter.since = (struct ks_when){ true, false, 1000 + EVENTS / 3 };
		memset(&slow, 0, sizeof(slow));
		for (i = 0; i < EVENTS; i++) {
			ev[i] = random_event(1000 + i);
			slow_event(&slow, &ev[i], by, opts.level, &opts.filter);
		}
		model = run_by(ev, EVENTS, by, &opts);
		compare(model, &slow);
		ks_model_free(model);
	}
}

/* === The live table ======================================================================= */

/* Grows through several rebuilds, then shrinks, and is compared with a plain array. */
static void test_live_table(void **state)
{
	enum { N = 200000 };
	static u32 slot_of[N]; /* slot + 1; 0 = not there */
	struct ks_live live;
	u32 i, at, slot, count = 0;

	(void)state;
	assert_int_equal(ks_live_init(&live), 0);
	rng_state = 5;
	for (i = 0; i < 4 * N; i++) {
		u32 n = rnd(N);
		u64 ptr = 0xffff888000000000ull + n * 8ull, hash = ks_live_hash(&live, ptr);

		slot = ks_live_find(&live, ptr, hash, &at);
		assert_int_equal(slot, slot_of[n] ? slot_of[n] - 1 : KS_NONE);
		if (slot == KS_NONE) {
			slot_of[n] = ks_live_insert(&live, ptr, hash, at) + 1;
			assert_int_not_equal(slot_of[n], 0);
			count++;
		} else if (i > 2 * N || rnd(3) == 0) {
			ks_live_remove(&live, slot, at);
			slot_of[n] = 0;
			count--;
		}
		assert_int_equal(live.count, count);
	}
	for (i = 0; i < N; i++) {
		u64 ptr = 0xffff888000000000ull + i * 8ull;

		assert_int_equal(ks_live_find(&live, ptr, ks_live_hash(&live, ptr), &at),
				 slot_of[i] ? slot_of[i] - 1 : KS_NONE);
	}
	ks_live_deinit(&live);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_random_streams),
	cmocka_unit_test(test_live_table),
};

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
