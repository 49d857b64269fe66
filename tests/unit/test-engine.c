// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine: the effect of each kind of event, and a comparison with a slow and obvious model on
 * random streams, for every grouping.
 */
#include "ks-test.h"

#include "analysis/analysis.h"
#include "analysis/live.h"
#include "trace/rawevent.h"

/* === A tiny world of names ================================================================ */

static struct ks_names names;

static void make_names(void)
{
	assert_int_equal(ks_names_init(&names), 0);
	assert_int_equal(ks_sites_add(&names.sites, "alpha+0x1/0x2", 13), 0);
	assert_int_equal(ks_sites_add(&names.sites, "alpha+0x9/0x10", 14), 1);
	assert_int_equal(ks_sites_add(&names.sites, "beta+0x1/0x2 [mod]", 18), 2);
	assert_int_equal(ks_sites_add(&names.sites, "freer+0x1/0x2", 13), 3);
	assert_int_equal(ks_intern_add(&names.caches, "dentry", 6), 0);
	assert_int_equal(ks_intern_add(&names.comms, "bash", 4), 0);
	assert_int_equal(ks_intern_add(&names.comms, "ls", 2), 1);
	assert_int_equal(ks_intern_add(&names.gfps, "GFP_KERNEL", 10), 0);
}

static struct ks_event event(enum ks_kind kind, u64 ptr, u32 site, u64 req, u64 alloc, u64 ts)
{
	return (struct ks_event){ .ts = ts,
				  .ptr = ptr,
				  .bytes_req = req,
				  .bytes_alloc = alloc,
				  .site = site,
				  .cache = kind == KS_CACHE_ALLOC ? 0 : KS_NONE,
				  .comm = 0,
				  .gfp = 0,
				  .stack = KS_NONE,
				  .pid = 10,
				  .node = -1,
				  .cpu = 0,
				  .kind = (u8)kind };
}

static u32 hooks; /* what probes of the recorder saw */

static struct ks_model *run_by(const struct ks_event *events, size_t count, enum ks_by by,
			       const struct ks_analysis_opts *opts)
{
	struct ks_source source = {
		.gives = KS_GIVES_CAPTURE,
		.names = names,
		.info = { .format = "test", .clock = KS_CLOCK_SECONDS, .hooks = hooks },
	};
	struct ks_analysis *analysis = ks_analysis_new(opts);
	struct ks_model *model;

	assert_non_null(analysis);
	assert_int_equal(ks_analysis_account(analysis, by, NULL), 0);
	assert_int_equal(ks_analysis_start(analysis, &source, NULL), 0);
	assert_int_equal(ks_analysis_feed(analysis, events, count, NULL), 0);
	assert_int_equal(ks_analysis_finish(analysis, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	ks_analysis_free(analysis);
	names = source.names; /* pages got sites */
	return model;
}

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

static int setup(void **state)
{
	(void)state;
	make_names();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ks_names_deinit(&names);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_alloc_and_free),
	cmocka_unit_test(test_implied_free),
	cmocka_unit_test(test_page_ends),
	cmocka_unit_test(test_reused_unseen),
	cmocka_unit_test(test_page_ends_unknown),
	cmocka_unit_test(test_cache_of_frees),
	cmocka_unit_test(test_not_errors),
	cmocka_unit_test(test_misuse),
	cmocka_unit_test(test_second_free_across_loss),
	cmocka_unit_test(test_levels),
	cmocka_unit_test(test_unpairable_and_impossible),
	cmocka_unit_test(test_filters),
	cmocka_unit_test(test_random_streams),
	cmocka_unit_test(test_live_table),
};

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
