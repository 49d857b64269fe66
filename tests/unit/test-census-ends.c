// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel itself had at the end of a recording: which objects it ends, and what it proves. */
#include "ks-test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/kernel-slabs.h"
#include "analysis/views.h"
#include "trace/source.h"

enum { SLAB = 0x10000, NOWHERE = 0x90000, LARGE = 0xa0000 };

/* A cache of 256 bytes with one slab: its first and third object are in use. */
static struct ks_slab_census *make_census(bool objects)
{
	struct ks_slab_census *census = ks_slab_census_new();
	struct ks_slab_cache *cache;
	struct ks_slab_place *slab;

	assert_non_null(census);
	census->how = objects ? KS_CENSUS_BY_MEMORY : KS_CENSUS_BY_SLABINFO;
	census->has_objects = objects;
	census->page_shift = 12;
	census->from = 100;
	census->to = 110;
	cache = ks_vec_push(&census->caches);
	assert_non_null(cache);
	*cache = (struct ks_slab_cache){ .name = "dentry",
					 .aliases = "one,two",
					 .object_size = 250,
					 .stride = 256,
					 .pages = 1,
					 .reclaimable = true,
					 .slabs = 1,
					 .objects = 2,
					 .bytes = 512 };
	if (!objects)
		return census;
	slab = ks_slab_census_add(census, SLAB, 0, 16, 1);
	assert_non_null(slab);
	ks_slab_census_use(census, slab, 0);
	ks_slab_census_use(census, slab, 2);
	return census;
}

static struct ks_event alloc(u8 kind, u64 ptr, u64 bytes, u64 ts)
{
	struct ks_event ev = ks_event_blank(kind, ts, 0);

	ev.ptr = ptr;
	ev.bytes_req = ev.bytes_alloc = bytes;
	ev.site = kind != KS_CACHE_ALLOC;
	ev.cache = kind == KS_CACHE_ALLOC ? 0 : KS_NONE;
	return ev;
}

static struct ks_model *run(struct ks_source *source, const struct ks_event *ev, size_t len,
			    const struct ks_analysis_opts *opts)
{
	struct ks_analysis *analysis = ks_analysis_new(opts);
	struct ks_model *model;

	assert_non_null(analysis);
	assert_int_equal(ks_analysis_account(analysis, KS_BY_CACHE, NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_leaks_view_new(0, false), NULL), 0);
	assert_int_equal(ks_analysis_start(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_feed(analysis, ev, len, NULL), 0);
	assert_int_equal(ks_analysis_finish(analysis, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	ks_analysis_free(analysis);
	return model;
}

static void make_source(struct ks_source *source, struct ks_slab_census *census)
{
	*source = (struct ks_source){
		.gives = KS_GIVES_CAPTURE,
		.info = { .format = "test", .clock = KS_CLOCK_SECONDS },
	};
	source->info.census[KS_CENSUS_END] = census;
	assert_int_equal(ks_names_init(&source->names), 0);
	assert_int_equal(ks_sites_add(&source->names.sites, "alpha+0x1/0x2", 13), 0);
	assert_int_equal(ks_sites_add(&source->names.sites, "beta+0x1/0x2", 12), 1);
	assert_int_equal(ks_intern_add(&source->names.caches, "dentry", 6), 0);
}

static struct ks_model *run_with(struct ks_slab_census *census, const struct ks_analysis_opts *opts)
{
	struct ks_event ev[] = {
		alloc(KS_CACHE_ALLOC, SLAB, 256, 10),	     /* in use */
		alloc(KS_CACHE_ALLOC, SLAB + 256, 256, 11),  /* free */
		alloc(KS_CACHE_ALLOC, NOWHERE, 256, 12),     /* its slab is gone */
		alloc(KS_KMALLOC, LARGE, 65536, 13),	     /* this census has no such */
		alloc(KS_CACHE_ALLOC, SLAB + 768, 256, 14),  /* free, and then */
		alloc(KS_CACHE_ALLOC, SLAB + 768, 256, 105), /* allocated again while it was read */
		alloc(KS_CACHE_ALLOC, SLAB + 1024, 256, 120), /* and later */
	};
	struct ks_source source;
	struct ks_model *model;

	make_source(&source, census);
	model = run(&source, ev, ARRAY_SIZE(ev), opts);
	ks_names_deinit(&source.names);
	return model;
}

static const struct ks_group *group(const struct ks_model *model, const char *label)
{
	size_t i;

	for (i = 0; i < ks_model_account(model)->groups.len; i++)
		if (!strcmp(ks_model_account(model)->groups.items[i].label, label))
			return &ks_model_account(model)->groups.items[i];
	fail_msg("no row '%s'", label);
	return NULL;
}

/* === Tests ================================================================================ */

static void test_objects(void **state)
{
	struct ks_slab_census *census = make_census(true);
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run_with(census, &opts);
	const struct ks_group *row = group(model, "dentry");

	(void)state;
	/* Two by address, and one of three that are left, since the kernel has two. */
	assert_int_equal(model->quality[KS_Q_CENSUS_FREES], 3);
	assert_int_equal(row->stat.census_frees, 3);
	assert_int_equal(row->stat.implied_frees, 1);
	assert_int_equal(row->stat.unseen_bytes, 4 * 256);
	assert_int_equal(row->stat.live_objs, 2);
	assert_int_equal(group(model, "kmalloc of 65536 bytes")->stat.live_objs, 1);
	assert_true(row->kernel_counted && row->reclaimable);
	assert_int_equal(row->kernel_objects, 2);
	assert_string_equal(row->aliases, "one,two");
	assert_int_equal(model->leaks->kept.len, 1); /* the kernel says that it may reclaim them */
	assert_int_equal(model->leaks->kept.items[0].objects, 3);
	/* The peak of five had four that may have ended at once; but two live. */
	assert_true(row->bounds.open && !row->bounds.above);
	assert_int_equal(row->stat.peak_bytes, 5 * 256);
	assert_int_equal(row->bounds.peak_bytes, 2 * 256);
	assert_int_equal(row->bounds.live_bytes, 2 * 256);
	assert_false(group(model, "kmalloc of 65536 bytes")->bounds.open);
	ks_model_free(model);
	ks_slab_census_free(census);
}

/* Large allocations, where the census has those. */
static void test_large(void **state)
{
	struct ks_slab_census *census = make_census(true);
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model;

	(void)state;
	census->has_large = true;
	model = run_with(census, &opts);
	assert_int_equal(group(model, "kmalloc of 65536 bytes")->stat.census_frees, 1);
	ks_model_free(model);
	ks_slab_census_free(census);
}

/* Counts by cache end no object, but no row has more than the kernel. */
static void test_counts(void **state)
{
	struct ks_slab_census *census = make_census(false);
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model = run_with(census, &opts);
	const struct ks_group *row = group(model, "dentry");

	(void)state;
	assert_int_equal(row->stat.live_objs, 2);
	assert_int_equal(row->stat.live_bytes, 512);
	assert_int_equal(row->stat.census_frees, 3);
	assert_true(row->bounds.open);
	assert_int_equal(row->bounds.live_bytes, 0);
	assert_int_equal(model->leaks->unseen.len, 1);
	ks_model_free(model);
	/* A window that ends before says nothing of the end. */
	opts.filter.until = (struct ks_when){ true, false, 50 };
	model = run_with(census, &opts);
	assert_int_equal(group(model, "dentry")->stat.live_objs, 4);
	ks_model_free(model);
	ks_slab_census_free(census);
}

/* The recorder stops to record allocations, then counts: all objects are judged, and late frees mean little. */
static void test_allocs_end(void **state)
{
	struct ks_event ev[] = {
		alloc(KS_CACHE_ALLOC, SLAB, 256, 10),
		alloc(KS_CACHE_ALLOC, SLAB + 512, 128,
		      11), /* its page is one of other objects now */
		alloc(KS_CACHE_ALLOC, SLAB + 256, 256,
		      91), /* free; as the last allocations are recorded */
		alloc(KS_CACHE_ALLOC, SLAB + 1280, 256, 92),
		alloc(KS_CACHE_FREE, SLAB + 1280, 0, 102), /* seen, while it is counted */
		alloc(KS_CACHE_FREE, SLAB + 1280, 0, 103), /* of one that was allocated unseen */
		alloc(KS_KFREE, SLAB, 0, 104),		   /* so is this */
	};
	struct ks_slab_census *census = make_census(true);
	struct ks_analysis_opts opts = { 0 };
	const struct ks_group *row;
	struct ks_source source;
	struct ks_model *model;

	(void)state;
	census->allocs_end = 90;
	make_source(&source, census);
	model = run(&source, ev, ARRAY_SIZE(ev), &opts);
	row = group(model, "dentry");
	assert_int_equal(row->stat.allocs, 4);
	assert_int_equal(row->stat.census_frees, 2);
	assert_int_equal(row->stat.frees, 2);
	assert_int_equal(row->stat.live_objs, 0);
	assert_int_equal(model->quality[KS_Q_REUSED], 0);
	assert_int_equal(model->quality[KS_Q_FREES_BEFORE], 0);
	assert_int_equal(model->quality[KS_Q_KFREE_OF_CACHE], 0);
	ks_model_free(model);
	/* Where they are still recorded, the same frees are counted. */
	census->allocs_end = 0;
	model = run(&source, ev, ARRAY_SIZE(ev), &opts);
	assert_int_equal(model->quality[KS_Q_REUSED], 1);
	assert_int_equal(model->quality[KS_Q_KFREE_OF_CACHE], 1);
	ks_model_free(model);
	ks_names_deinit(&source.names);
	ks_slab_census_free(census);
}

static void test_nothing_unseen(void **state)
{
	struct ks_event ev[] = { alloc(KS_CACHE_ALLOC, SLAB, 256, 10) };
	struct ks_analysis_opts opts = { 0 };
	struct ks_source source;
	struct ks_model *model;

	(void)state;
	make_source(&source, NULL);
	model = run(&source, ev, ARRAY_SIZE(ev), &opts);
	assert_false(model->bounds.open);
	assert_false(group(model, "dentry")->bounds.open);
	assert_false(group(model, "dentry")->kernel_counted);
	ks_model_free(model);
	ks_names_deinit(&source.names);
}

static void test_find(void **state)
{
	struct ks_slab_census *census = make_census(false);
	const struct ks_slab_census *both[KS_CENSUS_WHENS] = { NULL, census };
	struct ks_model model = { 0 };
	struct ks_kernel_cache sum;
	struct ks_slab_cache *cache;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		cache = ks_vec_push(&census->caches);
		assert_non_null(cache);
		*cache = (struct ks_slab_cache){ .name = i ? "kmalloc-cg-64" : "kmalloc-64",
						 .aliases = "",
						 .object_size = 64,
						 .objects = 10,
						 .bytes = 640 };
	}
	ks_arena_init(&model.arena);
	assert_int_equal(ks_kernel_slabs_fill(both, &model), 0);
	assert_true(ks_kernel_slabs_find(&model.kernel_slabs, "kmalloc of 64 bytes", &sum));
	assert_int_equal(sum.objects[KS_CENSUS_END], 20);
	assert_true(ks_kernel_slabs_find(&model.kernel_slabs, "two", &sum)); /* an alias */
	assert_string_equal(sum.name, "dentry");
	assert_false(ks_kernel_slabs_find(&model.kernel_slabs, "tw", &sum));
	assert_false(ks_kernel_slabs_find(&model.kernel_slabs, "kmalloc of 32 bytes", &sum));
	assert_int_equal(model.kernel_slabs.objects[KS_CENSUS_END], 22);
	ks_vec_free(&model.kernel_slabs.caches);
	ks_arena_deinit(&model.arena);
	ks_slab_census_free(census);
}

/* Frees of dentries: of objects from before, @again of them once more, each without an allocation in between. */
static struct ks_model *run_strays(struct ks_slab_census *start, size_t frees, size_t again,
				   bool ends_unseen, const struct ks_analysis_opts *opts)
{
	struct ks_event *ev = calloc(frees + again + 2, sizeof(*ev));
	struct ks_source source;
	struct ks_model *model;
	size_t i;

	assert_non_null(ev);
	for (i = 0; i < frees + again; i++)
		ev[i] = alloc(KS_CACHE_FREE, SLAB + 256 * (i % frees), 0, 10 + i);
	for (i = 0; i < (ends_unseen ? 2 : 0); i++)
		ev[frees + again + i] = alloc(KS_KMALLOC, LARGE, 64, 1000 + i);
	make_source(&source, NULL);
	for (i = 0; i < frees + again; i++)
		ev[i].cache = 0;
	source.info.census[KS_CENSUS_START] = start;
	model = run(&source, ev, frees + again + (ends_unseen ? 2 : 0), opts);
	ks_names_deinit(&source.names);
	free(ev);
	return model;
}

static void test_unseen_allocs(void **state)
{
	struct ks_slab_census *start = make_census(false);
	struct ks_analysis_opts opts = { 0 };
	struct ks_model *model;

	(void)state;
	/* A second free shows an allocation, where ends are unseen as well; else it is a finding. */
	model = run_strays(NULL, 20, 7, true, &opts);
	assert_int_equal(model->unseen_allocs.len, 1);
	assert_string_equal(model->unseen_allocs.items[0].cache, "dentry");
	assert_int_equal(model->unseen_allocs.items[0].least, 7);
	assert_int_equal(model->unseen_allocs.items[0].frees, 27);
	assert_false(model->unseen_allocs.items[0].counted[KS_CENSUS_START]);
	ks_model_free(model);
	model = run_strays(NULL, 20, 7, false, &opts);
	assert_int_equal(model->unseen_allocs.len, 0);
	assert_int_equal(model->findings.len, 1);
	ks_model_free(model);
	/* The kernel had two: what more was freed came later. A few are of the moment before the first event. */
	model = run_strays(start, 300, 0, false, &opts);
	assert_int_equal(model->unseen_allocs.len, 1);
	assert_int_equal(model->unseen_allocs.items[0].least, 298);
	assert_int_equal(model->unseen_allocs.items[0].object_size, 250);
	assert_int_equal(model->unseen_allocs.items[0].objects[KS_CENSUS_START], 2);
	assert_false(model->unseen_allocs.items[0].counted[KS_CENSUS_END]);
	ks_model_free(model);
	model = run_strays(start, 100, 0, false, &opts);
	assert_int_equal(model->unseen_allocs.len, 0);
	ks_model_free(model);
	ks_slab_census_free(start);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_objects),	      cmocka_unit_test(test_large),
	cmocka_unit_test(test_counts),	      cmocka_unit_test(test_nothing_unseen),
	cmocka_unit_test(test_find),	      cmocka_unit_test(test_allocs_end),
	cmocka_unit_test(test_unseen_allocs),
};

KS_RUN(tests)
