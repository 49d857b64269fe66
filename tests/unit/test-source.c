// SPDX-License-Identifier: GPL-2.0-only
/* Sources of all kinds: a descriptor, events and sums that a caller makes, and what these can't give. */
#include "ks-test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../lib/analyze.h"
#include "report/report.h"
#include "table/render.h"

/* === Data ================================================================================= */

/* A source that feeds events: one object that lives, one that does not. */
struct feeder {
	struct ks_event events[3];
	bool done, closed;
};

/* A live source of sums, by cache: what a kernel would say now. */
struct counter {
	u64 dentries, inodes;
	bool closed;
};

/* === Events =============================================================================== */

static int feeder_start(void *ctx, struct ks_names *names, struct ks_source_info *info,
			struct ks_diag *diag)
{
	struct feeder *feeder = ctx;
	u32 site = ks_sites_add(&names->sites, "make_it+0x10/0x20", 17);

	info->host.cpus = 3;
	feeder->events[0] = ks_event_blank(KS_KMALLOC, 1000, 0);
	feeder->events[0].ptr = 0x1000;
	feeder->events[0].site = site;
	feeder->events[0].bytes_req = feeder->events[0].bytes_alloc = 64;
	feeder->events[1] = feeder->events[0];
	feeder->events[1].ts = 2000;
	feeder->events[1].ptr = 0x2000;
	feeder->events[2] = ks_event_blank(KS_KFREE, 5000, 0);
	feeder->events[2].ptr = 0x1000;
	return site == KS_NONE ? ks_diag_nomem(diag, "testing") : 0;
}

static int feeder_next(void *ctx, struct ks_batch *ret_batch, struct ks_diag *diag)
{
	struct feeder *feeder = ctx;

	*ret_batch = (struct ks_batch){ feeder->events, feeder->done ? 0 : 3 };
	feeder->done = true;
	return 0;
}

static void feeder_close(void *ctx)
{
	((struct feeder *)ctx)->closed = true;
}

static void test_events(void **state)
{
	static const struct ks_source_callbacks callbacks = {
		.format = "a toy",
		.gives = KS_GIVES_CAPTURE,
		.clock = KS_CLOCK_SECONDS,
		.start = feeder_start,
		.next = feeder_next,
		.close = feeder_close,
	};
	struct ks_analysis *analysis = ks_analysis_new(&(struct ks_analysis_opts){ 0 });
	struct feeder feeder = { 0 };
	struct ks_source *source;
	struct ks_model *model;

	assert_int_equal(ks_source_open_callbacks(&callbacks, &feeder, NULL, &source, NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_leaks_view_new(0, false), NULL), 0);
	assert_int_equal(ks_analysis_run(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	assert_string_equal(model->format, "a toy");
	assert_int_equal(model->cpus, 3);
	assert_int_equal(model->absent.len, 0);
	assert_int_equal(ks_model_total(model)->live_bytes, 64);
	assert_int_equal(model->leaks->sites.len, 1);
	assert_string_equal(model->leaks->sites.items[0].label, "make_it+0x10");
	assert_int_equal(model->leaks->sites.items[0].oldest, 3000);
	ks_model_free(model);
	ks_source_close(source);
	assert_true(feeder.closed);
	ks_analysis_free(analysis);
}

/* === Sums ================================================================================= */

static int counter_start(void *ctx, struct ks_names *names, struct ks_source_info *info,
			 struct ks_diag *diag)
{
	if (ks_intern_add(&names->caches, "dentry", 6) != 0 ||
	    ks_intern_add(&names->caches, "inode_cache", 11) != 1)
		return ks_diag_nomem(diag, "testing");
	return 0;
}

static int counter_sums(void *ctx, ks_sum_fn *fn, void *fn_ctx, struct ks_diag *diag)
{
	const struct counter *counter = ctx;
	struct ks_sum sum = { .key = ks_event_blank(KS_CACHE_ALLOC, 0, KS_CPU_UNKNOWN) };
	int err;

	sum.key.cache = 0;
	sum.stat = (struct ks_stat){ .allocs = counter->dentries,
				     .live_objs = counter->dentries,
				     .live_bytes = counter->dentries * 192 };
	err = fn(fn_ctx, &sum, diag);
	sum.key.cache = 1;
	/* As a census has it: what lives, and no allocations. */
	sum.stat = (struct ks_stat){ .live_objs = counter->inodes,
				     .live_bytes = counter->inodes * 600 };
	return err ? err : fn(fn_ctx, &sum, diag);
}

static u64 live_of(const struct ks_model *model, const char *cache)
{
	const struct ks_sums *sums = ks_model_account_by(model, KS_BY_CACHE);
	size_t i;

	assert_non_null(sums);
	for (i = 0; i < sums->groups.len; i++)
		if (!strcmp(sums->groups.items[i].label, cache))
			return sums->groups.items[i].stat.live_bytes;
	return 0;
}

/* Sums are as of now at each run; what they can't tell is absent, with the reason. */
static void test_sums(void **state)
{
	static const struct ks_source_callbacks callbacks = {
		.format = "a toy",
		.gives = KS_GIVES_SUMS,
		.start = counter_start,
		.sums = counter_sums,
	};
	struct ks_analysis *analysis = ks_analysis_new(&(struct ks_analysis_opts){ 0 });
	struct counter counter = { .dentries = 10, .inodes = 2 };
	struct ks_source *source;
	struct ks_model *model;

	assert_int_equal(ks_source_open_callbacks(&callbacks, &counter, NULL, &source, NULL), 0);
	assert_int_equal(ks_analysis_account(analysis, KS_BY_CACHE, NULL), 0);
	assert_int_equal(ks_analysis_account(analysis, KS_BY_PID, NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_leaks_view_new(0, false), NULL), 0);
	assert_int_equal(ks_analysis_run(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	assert_int_equal(live_of(model, "dentry"), 1920);
	assert_int_equal(live_of(model, "inode_cache"), 1200);
	assert_int_equal(ks_model_total(model)->live_bytes, 3120);
	assert_null(model->leaks);
	assert_int_equal(model->absent.len, 3);
	assert_string_equal(model->absent.items[0].what, "pid");
	assert_string_equal(model->absent.items[1].what, "leaks");
	assert_non_null(strstr(model->absent.items[1].why, "sums"));
	assert_string_equal(model->absent.items[2].what, "peaks");
	ks_model_free(model);
	counter.dentries = 4;
	counter.inodes = 0;
	assert_int_equal(ks_analysis_run(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	assert_int_equal(live_of(model, "dentry"), 768);
	assert_int_equal(live_of(model, "inode_cache"), 0);
	assert_int_equal(ks_model_total(model)->live_bytes, 768);
	ks_model_free(model);
	ks_source_close(source);
	ks_analysis_free(analysis);
}

/* Two rows of one cache, at two sites, and one of another; all with their peaks. */
static int peaks_sums(void *ctx, ks_sum_fn *fn, void *fn_ctx, struct ks_diag *diag)
{
	static const struct {
		u32 cache;
		u64 live, peak;
	} rows[] = { { 0, 192, 300 }, { 0, 384, 400 }, { 1, 600, 700 } };
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		struct ks_sum sum = { .key = ks_event_blank(KS_CACHE_ALLOC, 0, KS_CPU_UNKNOWN) };

		sum.key.cache = rows[i].cache;
		sum.stat = (struct ks_stat){ .allocs = 1,
					     .live_objs = 1,
					     .live_bytes = rows[i].live,
					     .peak_bytes = rows[i].peak };
		err = fn(fn_ctx, &sum, diag);
	}
	return err;
}

/* Peaks do not add up: of a group of several rows, and of all, they are unknown, and not 0. */
static void test_peaks(void **state)
{
	static const struct ks_source_callbacks callbacks = {
		.format = "a toy",
		.gives = KS_GIVES_SUMS,
		.start = counter_start,
		.sums = peaks_sums,
	};
	struct ks_analysis *analysis = ks_analysis_new(&(struct ks_analysis_opts){ 0 });
	struct ks_rows rows;
	struct ks_strbuf text, json;
	struct ks_source *source;
	struct ks_model *model;
	struct ks_doc *doc;

	assert_int_equal(ks_source_open_callbacks(&callbacks, NULL, NULL, &source, NULL), 0);
	assert_int_equal(ks_analysis_account(analysis, KS_BY_CACHE, NULL), 0);
	assert_int_equal(ks_analysis_run(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	assert_int_equal(model->absent.len, 1);
	assert_string_equal(model->absent.items[0].what, "peaks");
	assert_false(ks_stat_has_peak(ks_model_total(model)));
	assert_int_equal(ks_rows_init(&rows, model, KS_ORDER_PEAK, 0), 0);
	doc = ks_doc_of_groups(model, &rows, KS_ORDER_PEAK, "kmemscope-report-1");
	assert_non_null(doc);
	ks_strbuf_init(&text);
	ks_strbuf_init(&json);
	ks_render_doc(doc, &text);
	ks_render_doc_json(doc, &json);
	assert_non_null(strstr(ks_strbuf_str(&json), "\"peak_bytes\": 700"));
	assert_null(strstr(strstr(ks_strbuf_str(&json), "\"peak_bytes\"") + 1, "\"peak_bytes\""));
	assert_non_null(strstr(ks_strbuf_str(&text), " 700 "));
	assert_non_null(strstr(ks_strbuf_str(&text), " - "));
	ks_strbuf_deinit(&text);
	ks_strbuf_deinit(&json);
	ks_doc_free(doc);
	ks_rows_deinit(&rows);
	ks_model_free(model);
	ks_source_close(source);
	ks_analysis_free(analysis);
}

/* === Descriptors ========================================================================== */

static int open_bytes(const char *bytes, size_t len, struct ks_source **ret_source,
		      struct ks_diag *diag)
{
	int fd = memfd_create("source", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return ks_source_open_fd(fd, "some bytes", NULL, ret_source, diag);
}

static void test_fd(void **state)
{
	static const char log[] =
		" bash-12 [000] 4.000001: kmalloc: call_site=f+0x1/0x2 ptr=00000000a1b2c3d4 bytes_req=8 "
		"bytes_alloc=8 gfp_flags=GFP_KERNEL\n";
	struct ks_diag diag = { 0 };
	struct ks_source *source;
	struct ks_batch batch;

	assert_int_equal(open_bytes(log, sizeof(log) - 1, &source, &diag), 0);
	assert_string_equal(source->info.format, "ftrace text");
	assert_true(source->gives & KS_GIVES_EVENTS);
	assert_false(source->gives & (KS_GIVES_MATCHES | KS_GIVES_SUMS));
	assert_int_equal(ks_source_next(source, &batch, &diag), 0);
	assert_int_equal(batch.count, 1);
	assert_int_equal(source->info.clock, KS_CLOCK_SECONDS);
	assert_int_equal(source->info.page_shift, 12);
	ks_source_close(source);
	assert_int_equal(open_bytes("", 0, &source, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "some bytes: the file is empty"));
	assert_int_equal(open_bytes("\0\1\2\3\4\5\6\7\0\1\2", 11, &source, &diag), KS_EBADINPUT);
	assert_non_null(strstr(diag.text, "no known format"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_events),
	cmocka_unit_test(test_sums),
	cmocka_unit_test(test_peaks),
	cmocka_unit_test(test_fd),
};

KS_RUN(tests)
