/* SPDX-License-Identifier: GPL-2.0-only */
/* A tiny world of names, and an analysis of made-up events in it, for the tests of the engine. */
#ifndef KS_TESTS_TINY_WORLD_H
#define KS_TESTS_TINY_WORLD_H

#include "ks-test.h"

#include "analysis/analysis.h"
#include "trace/rawevent.h"

static struct ks_names names;

static inline void make_names(void)
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

static inline struct ks_event event(enum ks_kind kind, u64 ptr, u32 site, u64 req, u64 alloc,
				    u64 ts)
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

static inline struct ks_model *run_by(const struct ks_event *events, size_t count, enum ks_by by,
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

static inline int setup(void **state)
{
	(void)state;
	make_names();
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	ks_names_deinit(&names);
	return 0;
}

#endif
