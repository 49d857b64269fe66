// SPDX-License-Identifier: GPL-2.0-only
/* The engine: the effect of each kind of event, one case at a time. */
#include "tiny-world.h"

static struct ks_model *run(const struct ks_event *events, size_t count,
			    const struct ks_analysis_opts *opts)
{
	return run_by(events, count, KS_BY_SITE, opts);
}

static const struct ks_stat *row(const struct ks_model *model, const char *label)
{
	size_t i;

	for (i = 0; i < ks_model_account(model)->groups.len; i++)
		if (!strcmp(ks_model_account(model)->groups.items[i].label, label))
			return &ks_model_account(model)->groups.items[i].stat;
	fail_msg("no row '%s'", label);
	return NULL;
}

enum { A = 0xffff0040, B = 0xffff0080, C = 0xffff00c0 };

/* === Single cases ========================================================================= */

static void test_alloc_and_free(void **state)
{
	struct ks_event ev[] = {
		event(KS_KMALLOC, A, 0, 60, 64, 100),  event(KS_CACHE_ALLOC, B, 1, 192, 192, 110),
		event(KS_KMALLOC, C, 0, 30, 32, 120),  event(KS_KFREE, A, 3, 0, 0, 130),
		event(KS_CACHE_FREE, B, 3, 0, 0, 140),
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);
	const struct ks_stat *total = ks_model_total(model), *alpha = row(model, "alpha+0x1");

	(void)state;
	assert_int_equal(model->events_total, 5);
	assert_int_equal(total->allocs, 3);
	assert_int_equal(total->frees, 2);
	assert_int_equal(total->total_bytes, 288);
	assert_int_equal(total->live_bytes, 32);
	assert_int_equal(total->live_req, 30);
	assert_int_equal(total->peak_bytes, 288);
	assert_int_equal(total->peak_ts, 120);
	assert_int_equal(alpha->allocs, 2);
	assert_int_equal(alpha->frees, 1);
	assert_int_equal(alpha->live_objs, 1);
	assert_int_equal(alpha->peak_bytes, 96);
	assert_int_equal(alpha->first_ts, 100);
	assert_int_equal(alpha->last_ts, 130);
	assert_int_equal(model->first_ts, 100);
	assert_int_equal(model->last_ts, 140);
	ks_model_free(model);
}

/*
 * The old object ends when its address is allocated again. It is neither a leak nor a free of its
 * site.
 */
static void test_implied_free(void **state)
{
	struct ks_event ev[] = {
		event(KS_CACHE_ALLOC, A, 0, 256, 256, 1),
		event(KS_CACHE_ALLOC, A, 1, 128, 128, 2),
		event(KS_CACHE_FREE, A, 3, 0, 0, 3),
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);

	(void)state;
	assert_int_equal(model->quality[KS_Q_IMPLIED_FREES], 1);
	assert_int_equal(row(model, "alpha+0x1")->implied_frees, 1);
	assert_int_equal(row(model, "alpha+0x1")->frees, 0);
	assert_int_equal(row(model, "alpha+0x1")->live_bytes, 0);
	assert_int_equal(row(model, "alpha+0x9")->frees, 1);
	assert_int_equal(ks_model_total(model)->live_bytes, 0);
	assert_int_equal(ks_model_total(model)->peak_bytes, 256);
	ks_model_free(model);
}

/*
 * Four different things: frees of NULL, failed allocations, frees of older objects, and lost
 * events.
 */
static void test_not_errors(void **state)
{
	struct ks_event ev[] = {
		event(KS_KFREE, 0, 3, 0, 0, 1),
		event(KS_KFREE, 16, 3, 0, 0, 2), /* ZERO_SIZE_PTR */
		event(KS_KMALLOC, 0, 0, 100, 128, 3),
		event(KS_KFREE, B, 3, 0, 0, 4),
		event(KS_LOST, 0, KS_NONE, 55, 0, 0),
		event(KS_LOST, 0, KS_NONE, 0, 0, 0), /* an unknown number */
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);

	(void)state;
	assert_int_equal(model->quality[KS_Q_NULL_FREES], 2);
	assert_int_equal(model->quality[KS_Q_FAILED_ALLOCS], 1);
	assert_int_equal(model->quality[KS_Q_FREES_BEFORE], 1);
	assert_int_equal(model->quality[KS_Q_LOST_EVENTS], 55);
	assert_int_equal(model->quality[KS_Q_LOST_WINDOWS], 2);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 0);
	assert_int_equal(row(model, "alpha+0x1")->failed, 1);
	assert_int_equal(row(model, "alpha+0x1")->allocs, 0);
	assert_int_equal(ks_model_total(model)->live_bytes, 0);
	assert_int_equal(ks_model_callers(model), 0);
	ks_model_free(model);
}

static void test_misuse(void **state)
{
	struct ks_event ev[] = {
		event(KS_CACHE_ALLOC, A, 0, 64, 64, 1), event(KS_KFREE, A, 3, 0, 0, 2),
		event(KS_KMALLOC, B, 1, 64, 64, 3),	event(KS_CACHE_FREE, B, 3, 0, 0, 4),
		event(KS_CACHE_FREE, B, 2, 0, 0, 5), /* again */
		event(KS_KMALLOC, C, 2, 100, 96, 6), /* too small */
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);
	size_t i;
	unsigned int seen = 0;

	(void)state;
	assert_int_equal(model->quality[KS_Q_KFREE_OF_CACHE], 1);
	assert_int_equal(model->quality[KS_Q_CACHE_FREE_OF_KMALLOC], 1);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 1);
	assert_int_equal(model->quality[KS_Q_SHORT_ALLOCS], 1);
	assert_int_equal(model->findings.len, 4);
	for (i = 0; i < model->findings.len; i++) {
		const struct ks_finding *f = &model->findings.items[i];

		seen |= 1u << f->what;
		assert_int_equal(f->count, 1);
		if (f->what == KS_Q_KFREE_OF_CACHE) {
			assert_string_equal(f->alloc_site, "alpha+0x1");
			assert_string_equal(f->free_site, "freer+0x1");
			assert_int_equal(f->ptr, A);
		} else if (f->what == KS_Q_SECOND_FREES) {
			assert_string_equal(f->alloc_site, "alpha+0x9");
			assert_string_equal(f->free_site, "beta+0x1 [mod]");
			assert_int_equal(f->first_ts, 5);
		}
	}
	assert_int_equal(seen, 1u << KS_Q_KFREE_OF_CACHE | 1u << KS_Q_CACHE_FREE_OF_KMALLOC |
				       1u << KS_Q_SECOND_FREES | 1u << KS_Q_SHORT_ALLOCS);
	ks_model_free(model);
}

/* After a loss, a second free proves nothing: the allocation in between may have been lost. */
static void test_second_free_across_loss(void **state)
{
	struct ks_event ev[] = {
		event(KS_KMALLOC, A, 0, 64, 64, 1),
		event(KS_KFREE, A, 3, 0, 0, 2),
		event(KS_LOST, 0, KS_NONE, 5, 0, 0),
		event(KS_KFREE, A, 3, 0, 0, 4),
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);

	(void)state;
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 0);
	assert_int_equal(model->quality[KS_Q_FREES_BEFORE], 1);
	ks_model_free(model);
}

/* Slab and pages do not mix, even where an address and a frame number are equal. */
static void test_levels(void **state)
{
	struct ks_event ev[] = {
		event(KS_KMALLOC, 0x5000, 0, 64, 64, 1),
		event(KS_PAGE_ALLOC, 0x5000, KS_NONE, 8192, 8192, 2),
		event(KS_PAGE_FREE, 0x5000, KS_NONE, 0, 0, 3),
		event(KS_PAGE_ALLOC, UINT64_MAX, KS_NONE, 4096, 4096, 4), /* failed */
		event(KS_PAGE_ALLOC, 0, KS_NONE, 4096, 4096, 5),	  /* frame 0 is a frame */
	};
	struct ks_analysis_opts opts = { .level = KS_PAGES };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);

	(void)state;
	assert_int_equal(model->levels[KS_SLAB].live_bytes, 64);
	assert_int_equal(model->levels[KS_PAGES].live_bytes, 4096);
	assert_int_equal(model->levels[KS_PAGES].allocs, 2);
	assert_int_equal(model->levels[KS_PAGES].frees, 1);
	assert_int_equal(model->levels[KS_PAGES].failed, 1);
	assert_int_equal(model->quality[KS_Q_IMPLIED_FREES], 0);
	assert_int_equal(row(model, "no stack: GFP_KERNEL")->allocs, 2);
	ks_model_free(model);
}

/* Kernels before 6.18: only frees name their cache. */
static void test_cache_of_frees(void **state)
{
	struct ks_event ev[] = {
		event(KS_CACHE_ALLOC, A, 0, 192, 192, 1),
		event(KS_CACHE_FREE, A, 3, 0, 0, 2), /* names it */
		event(KS_CACHE_ALLOC, B, 0, 192, 192, 3),
		event(KS_CACHE_ALLOC, C, 1, 192, 192, 4), /* of a site of which nothing was freed */
		event(KS_CACHE_ALLOC, A, 0, 64, 64, 5),	  /* and of another size */
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ev); i++)
		ev[i].cache = ev[i].kind == KS_CACHE_FREE ? 0 : KS_NONE;
	model = run_by(ev, ARRAY_SIZE(ev), KS_BY_CACHE, &opts);
	assert_int_equal(row(model, "dentry")->allocs, 1);
	assert_int_equal(row(model, "unnamed cache of 192 bytes")->allocs, 2);
	assert_int_equal(row(model, "unnamed cache of 64 bytes")->allocs, 1);
	ks_model_free(model);
	/* A site of two caches of one size is of neither. */
	ev[3] = event(KS_CACHE_FREE, B, 3, 0, 0, 4);
	ev[3].cache = 1;
	ev[4] = event(KS_CACHE_ALLOC, C, 0, 192, 192, 5);
	ev[4].cache = KS_NONE;
	model = run_by(ev, ARRAY_SIZE(ev), KS_BY_CACHE, &opts);
	assert_int_equal(row(model, "dentry")->allocs, 1);
	assert_int_equal(row(model, "unnamed cache of 192 bytes")->allocs, 2);
	ks_model_free(model);
}

/* === Pages that take their objects along ================================================== */

enum { SLABS = 12, PER_SLAB = 2 };

/* Where this kernel maps its memory. */
static const u64 mapping = 0xffff9a1b40000000ull;

/* Slabs of two pages, each with an object that its task takes from it at once: what the mapping shows by. */
static size_t add_slabs(struct ks_event *ev, u64 base)
{
	size_t i;

	for (i = 0; i < SLABS; i++) {
		u64 frame = 0x4000 + 2 * i;

		ev[PER_SLAB * i] = event(KS_PAGE_ALLOC, frame, KS_NONE, 8192, 8192, 10 + i);
		ev[PER_SLAB * i + 1] = event(KS_CACHE_ALLOC, base + (frame << 12) + 4096 + 256, 0,
					     256, 256, 10 + i);
	}
	return SLABS * PER_SLAB;
}

static void test_page_ends(void **state)
{
	const u64 first = mapping + (0x4000ull << 12), other = mapping + (0x4002ull << 12);
	struct ks_event ev[SLABS * PER_SLAB + 16];
	struct ks_analysis_opts opts = { 0 };
	size_t n = add_slabs(ev, mapping);
	struct ks_model *model;

	(void)state;
	ev[n++] = event(KS_KMALLOC, first + 96, 1, 90, 96, 100);
	ev[n++] = event(KS_KMALLOC, first + 192, 1, 90, 96, 101);
	ev[n++] = event(KS_KMALLOC, other + 96, 1, 90, 96, 102);
	ev[n++] = event(KS_KFREE, first + 192, 3, 0, 0, 103);
	ev[n++] = event(KS_PAGE_FREE, 0x4000, KS_NONE, 0, 8192, 104);
	model = run(ev, n, &opts);
	assert_int_equal(model->quality[KS_Q_PAGE_FREES], 2); /* one in each of the two pages */
	assert_int_equal(row(model, "alpha+0x1")->page_frees, 1);
	assert_int_equal(row(model, "alpha+0x1")->live_objs, SLABS - 1);
	assert_int_equal(row(model, "alpha+0x9")->page_frees, 1);
	assert_int_equal(row(model, "alpha+0x9")->frees, 1);
	assert_int_equal(row(model, "alpha+0x9")->live_objs, 1);
	assert_int_equal(row(model, "alpha+0x9")->live_bytes, 96);
	assert_int_equal(model->events_total, n); /* what follows from an event is none */
	ks_model_free(model);

	/* A page that is handed out anew was given back, though nobody saw it. */
	ev[n - 1] = event(KS_PAGE_ALLOC, 0x4000, KS_NONE, 8192, 8192, 104);
	model = run(ev, n, &opts);
	assert_int_equal(model->quality[KS_Q_PAGE_FREES], 2);
	ks_model_free(model);

	/* What is freed there later was allocated unseen: neither a second free nor misuse. */
	ev[n - 1] = event(KS_PAGE_FREE, 0x4000, KS_NONE, 0, 8192, 104);
	ev[n++] = event(KS_KFREE, first + 96, 3, 0, 0, 105);
	ev[n++] = event(KS_KFREE, first + 192, 3, 0, 0, 106);
	model = run(ev, n, &opts);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 0);
	assert_int_equal(model->quality[KS_Q_FREES_BEFORE], 2);
	ks_model_free(model);
}

/* Without a mapping nothing ends: frames and addresses that do not fit together, or are hashes. */
static void test_page_ends_unknown(void **state)
{
	struct ks_event ev[SLABS * PER_SLAB + 2];
	struct ks_analysis_opts opts = { 0 };
	size_t n = add_slabs(ev, mapping + 0x1000), i;
	struct ks_model *model;

	(void)state;
	ev[n++] = event(KS_PAGE_FREE, 0x4000, KS_NONE, 0, 8192, 100);
	model = run(ev, n, &opts);
	assert_int_equal(model->quality[KS_Q_PAGE_FREES], 0);
	assert_int_equal(ks_model_total(model)->live_objs, SLABS);
	ks_model_free(model);

	/* One page over and over is one vote. */
	n = add_slabs(ev, mapping);
	for (i = 2; i < n; i++) {
		ev[i] = ev[i % 2];
		ev[i].ts = 10 + i;
	}
	ev[n++] = event(KS_PAGE_FREE, 0x4000, KS_NONE, 0, 8192, 100);
	model = run(ev, n, &opts);
	assert_int_equal(model->quality[KS_Q_PAGE_FREES], 0);
	ks_model_free(model);

	/* Another task, or another CPU, took its object from a page of its own. */
	n = add_slabs(ev, mapping);
	for (i = 1; i < n; i += 2) {
		ev[i].pid += i % 4 == 1;
		ev[i].cpu = i % 4 == 3;
	}
	ev[n++] = event(KS_PAGE_FREE, 0x4000, KS_NONE, 0, 8192, 100);
	model = run(ev, n, &opts);
	assert_int_equal(model->quality[KS_Q_PAGE_FREES], 0);
	ks_model_free(model);
}

static void test_unpairable_and_impossible(void **state)
{
	struct ks_event ev[] = {
		event(KS_KMALLOC, 0, 0, 64, 64, 1), event(KS_KFREE, 0, 3, 0, 0, 2),
		event(KS_KMALLOC, A, 0, 1ull << 33, 1ull << 33, 3),
		event(KS_KMALLOC, B, 0, 8, 8, 2), /* goes back in time */
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model;

	(void)state;
	ev[0].flags = KS_EV_NO_PTR;
	ev[1].flags = KS_EV_NO_PTR;
	model = run(ev, ARRAY_SIZE(ev), &opts);
	assert_int_equal(model->quality[KS_Q_UNPAIRABLE], 2);
	assert_int_equal(model->quality[KS_Q_IMPOSSIBLE], 1);
	assert_int_equal(model->quality[KS_Q_BACKWARDS], 1);
	assert_int_equal(model->quality[KS_Q_NULL_FREES], 0);
	assert_int_equal(ks_model_total(model)->allocs, 2);
	assert_int_equal(ks_model_total(model)->total_bytes, 72);
	assert_int_equal(ks_model_total(model)->live_bytes, 8);
	ks_model_free(model);
}

static void test_filters(void **state)
{
	struct ks_event ev[] = {
		event(KS_KMALLOC, A, 0, 64, 64, 10), event(KS_CACHE_ALLOC, B, 1, 32, 32, 20),
		event(KS_KFREE, B, 3, 0, 0, 30),     event(KS_KMALLOC, C, 2, 16, 16, 40),
		event(KS_KFREE, A, 3, 0, 0, 50),
	};
	struct ks_analysis_opts opts = { .filter = { .malloc_only = true } };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);

	(void)state;
	assert_int_equal(ks_model_total(model)->allocs, 2);
	assert_int_equal(ks_model_total(model)->frees, 1);
	assert_int_equal(ks_model_total(model)->live_bytes, 16);
	assert_int_equal(model->events_total, 5); /* quality covers the whole capture */
	ks_model_free(model);

	opts.filter = (struct ks_filter){ .cache_only = true };
	model = run(ev, ARRAY_SIZE(ev), &opts);
	assert_int_equal(ks_model_total(model)->allocs, 1);
	assert_int_equal(ks_model_total(model)->frees, 1); /* by kfree, of an object from a cache */
	ks_model_free(model);

	/* With a window, the result is as if the capture began and ended there. */
	opts.filter =
		(struct ks_filter){ .since = { true, false, 15 }, .until = { true, false, 45 } };
	model = run(ev, ARRAY_SIZE(ev), &opts);
	assert_int_equal(ks_model_total(model)->allocs, 2);
	assert_int_equal(ks_model_total(model)->frees, 1);
	assert_int_equal(ks_model_total(model)->live_bytes, 16);
	ks_model_free(model);

	opts.filter = (struct ks_filter){ .until = { true, true, 35 } }; /* 45 */
	model = run(ev, ARRAY_SIZE(ev), &opts);
	assert_int_equal(ks_model_total(model)->allocs, 3);
	assert_int_equal(ks_model_total(model)->live_bytes, 80);
	ks_model_free(model);
}

/* Where objects end unseen, they begin unseen: nobody can tell a second free from the free of another object. */
static void test_reused_unseen(void **state)
{
	struct ks_event ev[] = {
		event(KS_CACHE_ALLOC, A, 0, 256, 256, 1), event(KS_CACHE_ALLOC, A, 1, 256, 256, 2),
		event(KS_CACHE_FREE, A, 3, 0, 0, 3),	  event(KS_CACHE_FREE, A, 3, 0, 0, 4),
		event(KS_KMALLOC, B, 1, 64, 64, 5),	  event(KS_CACHE_FREE, B, 3, 0, 0, 6),
	};
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run(ev, ARRAY_SIZE(ev), &opts);

	(void)state;
	assert_int_equal(model->quality[KS_Q_REUSED], 2);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 0);
	assert_int_equal(model->quality[KS_Q_CACHE_FREE_OF_KMALLOC], 0);
	assert_int_equal(model->findings.len, 0);
	ks_model_free(model);

	/* Without the first event all was seen. */
	model = run(ev + 1, ARRAY_SIZE(ev) - 1, &opts);
	assert_int_equal(model->quality[KS_Q_REUSED], 0);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 1);
	assert_int_equal(model->quality[KS_Q_CACHE_FREE_OF_KMALLOC], 1);
	assert_int_equal(model->findings.len, 2);
	ks_model_free(model);

	/* So it was with probes on frees; but what was allocated in bulk was not. */
	hooks = 1 << KS_HOOK_RCU | 1 << KS_HOOK_BULK_FREE;
	model = run(ev + 1, ARRAY_SIZE(ev) - 1, &opts);
	assert_int_equal(model->quality[KS_Q_REUSED], 2);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 0);
	assert_int_equal(model->findings.len, 0);
	ks_model_free(model);
	hooks |= 1 << KS_HOOK_BULK_ALLOC;
	model = run(ev + 1, ARRAY_SIZE(ev) - 1, &opts);
	assert_int_equal(model->quality[KS_Q_SECOND_FREES], 1);
	assert_int_equal(model->findings.len, 2);
	ks_model_free(model);
	hooks = 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_alloc_and_free),
	cmocka_unit_test(test_implied_free),
	cmocka_unit_test(test_not_errors),
	cmocka_unit_test(test_misuse),
	cmocka_unit_test(test_second_free_across_loss),
	cmocka_unit_test(test_levels),
	cmocka_unit_test(test_cache_of_frees),
	cmocka_unit_test(test_page_ends),
	cmocka_unit_test(test_page_ends_unknown),
	cmocka_unit_test(test_unpairable_and_impossible),
	cmocka_unit_test(test_filters),
	cmocka_unit_test(test_reused_unseen),
};

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
