// SPDX-License-Identifier: GPL-2.0-only
/* Leaks: how much speaks for one, and which table a site belongs to. */
#include "ks-test.h"

#include "../lib/analyze.h"
#include "analysis/evidence.h"
#include "analysis/kept.h"

/* === Evidence ============================================================================= */

static u32 evidence(u64 allocs, u64 each, int first, int last)
{
	u64 births[KS_EVIDENCE_SLICES] = { 0 };

	for (; first <= last; first++)
		births[first] = each;
	return ks_evidence(allocs, births);
}

static void test_evidence(void **state)
{
	const int end = KS_EVIDENCE_SLICES - 1;

	(void)state;
	/* All that was made stays, and it was made all the time. */
	assert_in_range(evidence(12000, 1000, 0, end), 990, KS_EVIDENCE_FULL);
	/* How many bytes and objects there are hardly matters, */
	assert_true(evidence(60, 5, 0, end) > 800);
	/* but a few may be anything. */
	assert_int_equal(evidence(2, 1, 0, 1), 0);
	assert_true(evidence(12, 1, 0, end) < evidence(60, 5, 0, end));
	/* In one burst, or in half of the time: less. */
	assert_true(evidence(12000, 12000, 3, 3) < 20);
	assert_in_range(evidence(5000, 1000, 5, 9), 200, 300);
	/* What is young proves nothing. */
	assert_int_equal(evidence(2000, 1000, KS_EVIDENCE_USED, end), 0);
	/* One of a hundred stays: that is a tenth, and more than nothing. */
	assert_in_range(evidence(1200000, 1000, 0, end), 95, 100);
	assert_int_equal(evidence(0, 0, 0, end), 0);
}

/* Numbers as they were measured. */
static void test_fates(void **state)
{
	static const struct {
		struct ks_fate site;
		u64 live;
		struct ks_fate cache;
		bool unknown;
	} cases[] = {
		/* epolls that are kept: kfree_rcu frees those that are not */
		{ { 4021, 0, 15 }, 4006, { 0, 5000, 900 }, false },
		/* maple nodes: those that seem to live are what nobody saw end */
		{ { 173564, 0, 171165 }, 2399, { 0, 800, 300000 }, true },
		/* a site without any end, in a cache whose objects end unseen */
		{ { 86, 0, 0 }, 50, { 0, 33, 67 }, true },
		/* half of the frees seen is not enough */
		{ { 10000, 3700, 3519 }, 2781, { 0, 3700, 3519 }, true },
		/* one end of many unseen: as good as all seen */
		{ { 5000, 4000, 1 }, 999, { 0, 4000, 1 }, false },
		/* nothing has ended at all, and nothing speaks against it */
		{ { 1800, 0, 0 }, 1800, { 0, 0, 0 }, false },
		/* a good site among bad ones of its cache is judged by itself */
		{ { 5000, 4000, 0 }, 1000, { 0, 4000, 90000 }, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (ks_fate_is_unknown(&cases[i].site, cases[i].live, &cases[i].cache) !=
		    cases[i].unknown)
			fail_msg("case %zu", i);
}

static void test_kept(void **state)
{
	(void)state;
	assert_true(ks_is_kept("__d_alloc", "dentry", false));
	assert_true(ks_is_kept("ext4_alloc_inode", "ext4_inode_cache", false));
	assert_true(ks_is_kept("alloc_slab_obj_exts", "kmalloc of 64 bytes", false));
	assert_true(ks_is_kept("alloc_vmap_area.isra.0", "vmap_area", false));
	assert_true(ks_is_kept("locks_get_lock_context", "file_lock_ctx", false));
	assert_false(ks_is_kept("sock_alloc_inode", "sock_inode_cache", false));
	assert_false(ks_is_kept("do_eventfd", "kmalloc of 64 bytes", false));
	assert_false(ks_is_kept("dentry", "filp", false));
	assert_false(ks_is_kept("", "", false));
	assert_true(ks_is_kept("some_alloc", "some_cache", true)); /* the kernel says so */
	assert_false(ks_is_kept("sock_alloc_inode", "sock_inode_cache", true));
	assert_false(ks_is_kept("", "alloc_vmap_area()", false));
	/* A name of a directory entry; a closed connection, whose cache is merged with that of others. */
	assert_true(ks_is_kept("__d_alloc", "kmalloc of 96 bytes", false));
	assert_true(ks_is_kept("inet_bind2_bucket_create", "eventpoll_epi", false));
}

/* === The view ============================================================================= */

enum { OPEN, INODE, MAPLE, PIPE, SITES };
enum { WALKER, LEAKER };

/* When a recorder's own last count began; 0 = there was none. */
static struct ks_slab_census last_count;

static int source_start(void *ctx, struct ks_names *names, struct ks_source_info *info,
			struct ks_diag *diag)
{
	static const char *const sites[] = { "open_it+0x1/0x9", "inode_it+0x1/0x9",
					     "tree_it+0x1/0x9", "pipe_it+0x1/0x9" };
	static const char *const caches[] = { "filp", "ext4_inode_cache", "maple_node" };
	size_t i;

	(void)ctx;
	(void)diag;
	if (last_count.allocs_end || last_count.has_objects)
		info->census[KS_CENSUS_END] = &last_count;
	for (i = 0; i < ARRAY_SIZE(sites); i++)
		ks_sites_add(&names->sites, sites[i], strlen(sites[i]));
	for (i = 0; i < ARRAY_SIZE(caches); i++)
		ks_intern_add(&names->caches, caches[i], strlen(caches[i]));
	ks_intern_add(&names->comms, "find", 4);
	ks_intern_add(&names->comms, "leakyd", 6);
	return 0;
}

static struct ks_event events[40000];
static size_t len;

static u64 add_alloc(u32 site, u32 comm, u32 pid, u64 ptr, u64 bytes)
{
	struct ks_event *ev = &events[len];

	*ev = ks_event_blank(site == PIPE ? KS_KMALLOC : KS_CACHE_ALLOC, 1000 + len, 0);
	ev->ptr = ptr;
	ev->site = site;
	ev->cache = site == PIPE ? KS_NONE : site;
	ev->comm = comm;
	ev->pid = pid;
	ev->bytes_req = ev->bytes_alloc = bytes;
	len++;
	return ptr;
}

static void add_free(u64 ptr)
{
	struct ks_event *ev = &events[len];

	*ev = ks_event_blank(KS_CACHE_FREE, 1000 + len, 0);
	ev->ptr = ptr;
	len++;
}

/* Many open and close; one opens and does not close. The page cache grows most. */
static void add_load(bool kept_nodes)
{
	u64 i;

	len = 0;
	for (i = 0; i < 2000; i++) {
		add_free(add_alloc(OPEN, WALKER, 7, 0x10000, 192));
		add_free(add_alloc(OPEN, WALKER, 8, 0x10100, 192));
		add_alloc(INODE, WALKER, 7, 0x1000000 + i * 2048, 1128);
		add_alloc(MAPLE, WALKER, 7, 0x20000 + i % 50 * 256, 256);
		if (i % 40 == 0)
			add_alloc(OPEN, LEAKER, 99, 0x800000 + i * 192, 192);
		if (kept_nodes && i % 40 == 20)
			add_alloc(MAPLE, LEAKER, 99, 0x600000 + i * 256, 256);
		if (i == 1000)
			add_alloc(PIPE, WALKER, 7, 0x900000, 1 << 20);
	}
}

static struct ks_model *model_of_events(void)
{
	static const struct ks_source_callbacks callbacks = {
		.format = "made up",
		.gives = KS_GIVES_CAPTURE,
		.clock = KS_CLOCK_SECONDS,
		.start = source_start,
	};
	struct ks_analysis *analysis = ks_analysis_new(&(struct ks_analysis_opts){ 0 });
	struct ks_source *source;
	struct ks_model *model;

	assert_int_equal(ks_source_open_callbacks(&callbacks, NULL, NULL, &source, NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_leaks_view_new(0, false), NULL), 0);
	assert_int_equal(ks_analysis_start(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_feed(analysis, events, len, NULL), 0);
	assert_int_equal(ks_analysis_finish(analysis, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	ks_source_close(source);
	ks_analysis_free(analysis);
	return model;
}

static struct ks_model *model_of_load(bool kept_nodes)
{
	add_load(kept_nodes);
	return model_of_events();
}

static void test_view(void **state)
{
	struct ks_model *model = model_of_load(false);
	const struct ks_leaks *leaks = model->leaks;

	(void)state;
	/* The leak is first, and has the name of its process; the one large object comes behind it. */
	assert_int_equal(leaks->sites.len, 2);
	assert_string_equal(leaks->sites.items[0].label, "open_it+0x1");
	assert_string_equal(leaks->sites.items[0].comm, "leakyd");
	assert_string_equal(leaks->sites.items[0].cache, "filp");
	assert_int_equal(leaks->sites.items[0].pid, 99);
	assert_int_equal(leaks->sites.items[0].objects, 50);
	assert_int_equal(leaks->sites.items[0].bytes, 50 * 192);
	/* What others did at its site does not count. */
	assert_int_equal(leaks->sites.items[0].allocs, 50);
	assert_int_equal(leaks->sites.items[0].frees, 0);
	assert_true(leaks->sites.items[0].evidence > 700);
	assert_string_equal(leaks->sites.items[1].label, "pipe_it+0x1");
	assert_int_equal(leaks->sites.items[1].evidence, 0);
	assert_int_equal(leaks->sites.items[1].births[6], 1);

	assert_int_equal(leaks->kept.len, 1);
	assert_string_equal(leaks->kept.items[0].label, "inode_it+0x1");
	assert_int_equal(leaks->kept.items[0].objects, 2000);
	assert_int_equal(leaks->unseen.len, 1);
	assert_string_equal(leaks->unseen.items[0].label, "tree_it+0x1");
	assert_int_equal(leaks->objects, 50 + 1 + 2000);
	ks_model_free(model);
}

/* A leak at a site where the objects of others end unseen: only these are not judged. */
static void test_one_of_many(void **state)
{
	struct ks_model *model = model_of_load(true);
	const struct ks_leaks *leaks = model->leaks;

	(void)state;
	assert_int_equal(leaks->unseen.len, 1);
	assert_string_equal(leaks->unseen.items[0].comm, "find");
	assert_int_equal(leaks->unseen.items[0].objects, 50);
	assert_int_equal(leaks->unseen.items[0].implied_frees, 1950);
	assert_int_equal(leaks->sites.len, 3);
	assert_string_equal(leaks->sites.items[0].label, "tree_it+0x1");
	assert_string_equal(leaks->sites.items[0].comm, "leakyd");
	assert_int_equal(leaks->sites.items[0].objects, 50);
	assert_int_equal(leaks->sites.items[0].implied_frees, 0);
	ks_model_free(model);
}

/* While the recorder counts at its end only frees are recorded: that nothing is born then speaks for nobody. */
static void test_last_count(void **state)
{
	struct ks_model *model;
	u32 evidence;

	(void)state;
	add_load(false);
	model = model_of_events();
	evidence = model->leaks->sites.items[0].evidence;
	ks_model_free(model);
	last_count = (struct ks_slab_census){ .allocs_end = 1000 + len };
	events[len] = events[len - 1];
	events[len].kind = KS_CACHE_FREE;
	events[len].ptr = 0xa00000; /* of nothing that was recorded */
	events[len].ts = 1000 + 2 * len;
	len++;
	model = model_of_events();
	assert_int_equal(model->leaks->sites.items[0].evidence, evidence);
	ks_model_free(model);
	/* Where allocations are recorded all the time, it stopped half way. */
	last_count.allocs_end = 0;
	model = model_of_events();
	assert_in_range(model->leaks->sites.items[0].evidence, 100, evidence / 2);
	ks_model_free(model);
}

/* 320 objects, of which the first 20 end unseen; the kernel has all others at the end. */
static u32 evidence_of_rcu(u64 step)
{
	enum { FIRST = 20, ALL = 320, BASE = 0x20000 };
	struct ks_slab_census *census = ks_slab_census_new();
	struct ks_slab_cache *cache = ks_vec_push(&census->caches);
	struct ks_slab_place *slab;
	struct ks_model *model;
	u32 i, evidence;

	len = 0;
	for (i = 0; i < ALL; i++) {
		add_alloc(MAPLE, LEAKER, 99, BASE + (i < FIRST ? i : i - FIRST) * 256ull, 256);
		events[i].ts = 1000 + i * step;
	}
	*cache = (struct ks_slab_cache){
		.name = "maple_node", .aliases = "", .object_size = 256, .stride = 256, .pages = 20
	};
	census->how = KS_CENSUS_BY_MEMORY;
	census->has_objects = true;
	census->page_shift = 12;
	census->from = census->to = 1000 + ALL * step;
	slab = ks_slab_census_add(census, BASE, 0, ALL, 20);
	for (i = 0; i < ALL - FIRST; i++)
		ks_slab_census_use(census, slab, i);
	last_count = *census;
	model = model_of_events();
	assert_int_equal(model->leaks->sites.len, 1);
	assert_int_equal(model->leaks->sites.items[0].objects, ALL - FIRST);
	assert_int_equal(model->leaks->sites.items[0].implied_frees, FIRST);
	evidence = model->leaks->sites.items[0].evidence;
	ks_model_free(model);
	last_count = (struct ks_slab_census){ 0 };
	ks_slab_census_free(census);
	return evidence;
}

/* kfree_rcu() takes seconds: in three of them nobody can know what stays, in thirty it shows. */
static void test_rcu(void **state)
{
	(void)state;
	assert_int_equal(evidence_of_rcu(10000000), 0);
	assert_in_range(evidence_of_rcu(100000000), 500, KS_EVIDENCE_FULL);
}

/* Two programs leak at one site, one of them from several processes: each has a row, the stronger one first. */
static void test_two_leaks(void **state)
{
	struct ks_model *model;
	const struct ks_leak *rows;
	u64 i;

	(void)state;
	len = 0;
	for (i = 0; i < 2000; i++) {
		add_free(add_alloc(OPEN, WALKER, 7, 0x10000, 192));
		if (i % 4 == 0)
			add_alloc(OPEN, LEAKER, 99, 0x800000 + i * 192, 192);
		if (i % 20 == 10)
			add_alloc(OPEN, WALKER, 20 + (u32)(i % 7), 0x2000000 + i * 192, 192);
	}
	model = model_of_events();
	rows = model->leaks->sites.items;
	assert_int_equal(model->leaks->sites.len, 2);
	assert_string_equal(rows[0].comm, "leakyd");
	assert_int_equal(rows[0].pid, 99);
	assert_int_equal(rows[0].objects, 500);
	assert_int_equal(rows[0].allocs, 500);
	assert_string_equal(rows[1].comm, "find");
	assert_int_equal(rows[1].pid, KS_PID_UNKNOWN);
	assert_int_equal(rows[1].objects, 100);
	assert_int_equal(rows[1].allocs, 2100);
	assert_int_equal(rows[1].frees, 2000);
	assert_true(rows[0].evidence > rows[1].evidence && rows[1].evidence >= KS_EVIDENCE_LISTED);
	ks_model_free(model);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_evidence),    cmocka_unit_test(test_fates),
	cmocka_unit_test(test_kept),	    cmocka_unit_test(test_view),
	cmocka_unit_test(test_one_of_many), cmocka_unit_test(test_last_count),
	cmocka_unit_test(test_rcu),	    cmocka_unit_test(test_two_leaks),
};

KS_RUN(tests)
