// SPDX-License-Identifier: GPL-2.0-only
/*
 * Analyses: snapshots while events come in are those of a run over the events so far, and a DB gives
 * every view what the events themselves give it.
 */
#include "ks-test.h"

#include "../lib/analyze.h"
#include "analysis/timeline.h"

/* === A capture that is made up ============================================================ */

enum { EVENTS = 3000, ADDRESSES = 80, SITES = 5, COMMS = 3, STACKS = 4, FRAME = 0x10, SLABS = 10 };

static struct ks_event events[EVENTS];
static u64 rng_state;

static u64 next_random(void)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return rng_state >> 33;
}

static void fill_names(struct ks_names *names)
{
	char text[64];
	u32 i, frames[2];

	for (i = 0; i < SITES; i++) {
		int len =
			snprintf(text, sizeof(text), "site%u+0x1/0x9%s", i, i % 2 ? " [mod]" : "");

		assert_int_equal(ks_sites_add(&names->sites, text, (size_t)len), i);
		assert_int_equal(ks_sites_add(&names->frames, text, (size_t)len), i);
	}
	for (i = 0; i < COMMS; i++) {
		int len = snprintf(text, sizeof(text), "task%u", i);

		assert_int_equal(ks_intern_add(&names->comms, text, (size_t)len), i);
	}
	assert_int_equal(ks_intern_add(&names->caches, "dentry", 6), 0);
	assert_int_equal(ks_intern_add(&names->gfps, "GFP_KERNEL", 10), 0);
	for (i = 0; i < STACKS; i++) {
		frames[0] = i;
		frames[1] = i + 1;
		assert_int_equal(ks_names_add_stack(names, frames, 2), i);
	}
}

/* Where the kernel of this capture maps a page frame. */
static u64 address_in(u64 frame)
{
	return 0xffff888000000000ull + (frame << 12);
}

/* A page for a slab, and an object in it: what the mapping is found from. */
static void add_slab(struct ks_event *page, struct ks_event *object, u64 frame, u64 ts)
{
	*page = ks_event_blank(KS_PAGE_ALLOC, ts, 0);
	*object = ks_event_blank(KS_KMALLOC, ts, 0);
	page->ptr = frame;
	object->ptr = address_in(frame) + 64;
	page->pid = object->pid = 10;
	page->comm = object->comm = 0;
	page->bytes_req = page->bytes_alloc = 4096;
	object->site = 1;
	object->bytes_req = object->bytes_alloc = 64;
}

static struct ks_event random_event(u64 ts)
{
	static const u8 kinds[] = { KS_KMALLOC,	   KS_CACHE_ALLOC, KS_PAGE_ALLOC, KS_KFREE,
				    KS_CACHE_FREE, KS_PAGE_FREE,   KS_KMALLOC,	  KS_KFREE };
	u64 r = next_random();
	struct ks_event ev = ks_event_blank(kinds[r % 8], ts, (u16)(next_random() % 2));

	if (r % 97 == 0) {
		ev.kind = KS_LOST;
		ev.lost.count = 3;
		return ev;
	}
	ev.ptr = next_random() % ADDRESSES * 512;
	ev.ptr = ks_kind_is_page(ev.kind) ? FRAME + (ev.ptr >> 12) : address_in(FRAME) + ev.ptr;
	ev.site = (u32)(next_random() % SITES);
	ev.pid = (u32)(10 + next_random() % 4);
	ev.comm = (u32)(next_random() % COMMS);
	ev.node = (s32)(next_random() % 3) - 1;
	if (r % 101 == 0)
		ev.flags = KS_EV_NO_PTR;
	if (!ks_kind_is_alloc(ev.kind))
		return ev;
	if (r % 89 == 0)
		ev.ptr = ev.kind == KS_PAGE_ALLOC ? UINT64_MAX : 0;
	ev.cache = ev.kind == KS_CACHE_ALLOC ? 0 : KS_NONE;
	ev.gfp = 0;
	ev.bytes_alloc = 8ull << next_random() % 8;
	ev.bytes_req = ev.bytes_alloc - next_random() % 8;
	ev.stack = (u32)(next_random() % STACKS);
	return ev;
}

static int make_capture(void **state)
{
	u64 ts = 5000;
	size_t i;

	rng_state = 7;
	for (i = 0; i < 2 * SLABS; i += 2, ts += 10)
		add_slab(&events[i], &events[i + 1], 0x900 + i, ts);
	for (; i < EVENTS; i++) {
		events[i] = random_event(ts);
		ts += next_random() % 9000;
	}
	return 0;
}

static int source_start(void *ctx, struct ks_names *names, struct ks_source_info *info,
			struct ks_diag *diag)
{
	fill_names(names);
	return 0;
}

static struct ks_source *open_source(void)
{
	static const struct ks_source_callbacks callbacks = {
		.format = "made up",
		.gives = KS_GIVES_CAPTURE,
		.clock = KS_CLOCK_SECONDS,
		.start = source_start,
	};
	struct ks_source *source;

	assert_int_equal(ks_source_open_callbacks(&callbacks, NULL, NULL, &source, NULL), 0);
	return source;
}

/* === A model in words ===================================================================== */

static void put_stat(struct ks_strbuf *sb, const struct ks_stat *s)
{
	const u64 fields[] = { s->allocs,     s->frees,	      s->implied_frees, s->failed,
			       s->page_frees, s->total_bytes, s->total_req,	s->live_objs,
			       s->live_bytes, s->live_req,    s->peak_bytes,	s->peak_ts,
			       s->first_ts,   s->last_ts,     s->census_frees };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		ks_strbuf_printf(sb, " %llu", (unsigned long long)fields[i]);
	ks_strbuf_puts(sb, "\n");
}

static void put_leak(struct ks_strbuf *sb, const struct ks_leak *l)
{
	size_t k;

	ks_strbuf_printf(sb, "%u %s %s %u ", l->evidence, l->cache, l->comm, l->pid);
	for (k = 0; k < KS_EVIDENCE_SLICES; k++)
		ks_strbuf_printf(sb, "%llu ", (unsigned long long)l->births[k]);
	ks_strbuf_printf(sb, "%s %llu %llu %llu %llu %llu %llu %llu %llu %llu", l->label,
			 (unsigned long long)l->objects, (unsigned long long)l->bytes,
			 (unsigned long long)l->oldest, (unsigned long long)l->youngest,
			 (unsigned long long)l->age_sum, (unsigned long long)l->allocs,
			 (unsigned long long)l->frees, (unsigned long long)l->implied_frees,
			 (unsigned long long)l->page_frees);
	for (k = 0; k < l->frames_len; k++)
		ks_strbuf_printf(sb, " < %s", l->frames[k]);
	ks_strbuf_puts(sb, "\n");
}

static void put_leaks(struct ks_strbuf *sb, const struct ks_leaks *leaks)
{
	size_t i;

	ks_strbuf_printf(sb, "leaks %llu %llu young %llu\n", (unsigned long long)leaks->objects,
			 (unsigned long long)leaks->bytes,
			 (unsigned long long)leaks->young_objects);
	for (i = 0; i < leaks->sites.len; i++)
		put_leak(sb, &leaks->sites.items[i]);
	for (i = 0; i < leaks->kept.len; i++)
		put_leak(sb, &leaks->kept.items[i]);
	for (i = 0; i < leaks->unseen.len; i++)
		put_leak(sb, &leaks->unseen.items[i]);
}

static void put_frag_row(struct ks_strbuf *sb, const struct ks_frag_row *row)
{
	ks_strbuf_printf(sb, "%s %llu %llu %llu %llu %llu %llu %llu\n", row->label,
			 (unsigned long long)row->allocs, (unsigned long long)row->bytes_req,
			 (unsigned long long)row->bytes_alloc, (unsigned long long)row->frees,
			 (unsigned long long)row->cross_cpu, (unsigned long long)row->node_requests,
			 (unsigned long long)row->cross_node);
}

static void put_frag(struct ks_strbuf *sb, const struct ks_frag *frag)
{
	size_t i;

	put_frag_row(sb, &frag->total);
	for (i = 0; i < frag->by_site.len; i++)
		put_frag_row(sb, &frag->by_site.items[i]);
	for (i = 0; i < frag->by_size.len; i++)
		put_frag_row(sb, &frag->by_size.items[i]);
}

static void put_track(struct ks_strbuf *sb, const struct ks_track *track)
{
	size_t i;

	ks_strbuf_printf(sb, "%s %llu %llu %llu %llu %llu %llu:", track->label,
			 (unsigned long long)track->live_bytes,
			 (unsigned long long)track->at_peak_bytes,
			 (unsigned long long)track->oldest, (unsigned long long)track->youngest,
			 (unsigned long long)track->age_sum, (unsigned long long)track->pages_held);
	for (i = 0; i < track->cells.len; i++) {
		const struct ks_cell *c = &track->cells.items[i];

		ks_strbuf_printf(sb, " %u=%u/%u/%u/%u/%u/%u/%u/%llu/%llu/%llu", c->bucket,
				 c->allocs, c->unpaired, c->frees, c->implied, c->paged,
				 c->cross_cpu, c->kept, (unsigned long long)c->bytes,
				 (unsigned long long)c->life_sum,
				 (unsigned long long)c->peak_bytes);
	}
	ks_strbuf_puts(sb, "\n");
}

static void put_timeline(struct ks_strbuf *sb, const struct ks_timeline *tl)
{
	size_t i;
	int dim;

	ks_strbuf_printf(sb, "timeline %llu %llu %u links %zu\n", (unsigned long long)tl->first_ts,
			 (unsigned long long)tl->width, tl->buckets, tl->links.len);
	put_track(sb, &tl->total);
	for (dim = 0; dim < KS_TL_DIMS; dim++)
		for (i = 0; i < tl->by[dim].items.len; i++)
			put_track(sb, &tl->by[dim].items.items[i]);
}

/* The order of groups means nothing. */
static int compare_groups(const void *pa, const void *pb)
{
	const struct ks_group *a = pa, *b = pb;
	int order = strcmp(a->label, b->label);

	return order ? order : memcmp(&a->stat, &b->stat, sizeof(a->stat));
}

static void put_model(struct ks_strbuf *sb, struct ks_model *model)
{
	size_t i, k;

	for (i = 0; i < KS_LEVELS; i++)
		put_stat(sb, &model->levels[i]);
	for (i = 0; i < model->accounts.len; i++) {
		struct ks_sums *sums = &model->accounts.items[i];

		if (sums->groups.len)
			qsort(sums->groups.items, sums->groups.len, sizeof(*sums->groups.items),
			      compare_groups);
		ks_strbuf_printf(sb, "\nby %d\n", sums->by);
		for (k = 0; k < sums->groups.len; k++) {
			ks_strbuf_printf(sb, "%s %s %s", sums->groups.items[k].label,
					 sums->groups.items[k].cache,
					 sums->groups.items[k].owner ? sums->groups.items[k].owner
								     : "");
			put_stat(sb, &sums->groups.items[k].stat);
		}
	}
	put_leaks(sb, model->leaks);
	put_frag(sb, model->frag);
	put_timeline(sb, model->timeline);
}

/* What is of the whole capture, whatever the window. */
static void put_facts(struct ks_strbuf *sb, const struct ks_model *model)
{
	size_t i;

	ks_strbuf_printf(sb, "%llu events\n", (unsigned long long)model->events_total);
	for (i = 0; i < KS_QUALITIES; i++)
		ks_strbuf_printf(sb, " %llu", (unsigned long long)model->quality[i]);
}

/* === Analyses with all views ============================================================== */

static int put_object(void *ctx, struct ks_object_source *source, const struct ks_object_row *row,
		      struct ks_diag *diag)
{
	const char *site = ks_object_name(source, KS_NAMES_SITE, row->site, diag);
	const char *comm = ks_object_name(source, KS_NAMES_COMM, row->comm, diag);

	assert_non_null(site);
	ks_strbuf_printf(ctx, "%llx %s %s %u %llu %llu %llu %s %d %d %d\n",
			 (unsigned long long)row->address, site, comm, row->pid,
			 (unsigned long long)row->bytes_alloc, (unsigned long long)row->alloc_ts,
			 (unsigned long long)row->end_ts, ks_end_name(row->end),
			 (int)row->free_site, row->alloc_cpu, row->free_cpu);
	return 0;
}

static struct ks_analysis *new_analysis(const struct ks_analysis_opts *opts,
					struct ks_strbuf *objects)
{
	static const enum ks_by bys[] = { KS_BY_SITE, KS_BY_FUNCTION, KS_BY_MODULE, KS_BY_CACHE,
					  KS_BY_SIZE, KS_BY_PID,      KS_BY_COMM,   KS_BY_CPU,
					  KS_BY_NODE, KS_BY_GFP,      KS_BY_STACK,  KS_BY_OWNER };
	struct ks_analysis *analysis = ks_analysis_new(opts);
	size_t i;

	assert_non_null(analysis);
	for (i = 0; i < ARRAY_SIZE(bys); i++)
		assert_int_equal(ks_analysis_account(analysis, bys[i], NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_leaks_view_new(0, true), NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_frag_view_new(), NULL), 0);
	assert_int_equal(ks_analysis_add(analysis, ks_timeline_view_new(), NULL), 0);
	if (objects)
		assert_int_equal(
			ks_analysis_add(analysis, ks_objects_view_new(put_object, objects), NULL),
			0);
	return analysis;
}

static bool model_only; /* and not what is of the whole capture */

static void put_snapshot(struct ks_strbuf *sb, struct ks_analysis *analysis)
{
	struct ks_model *model;

	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	put_model(sb, model);
	if (!model_only)
		put_facts(sb, model);
	ks_model_free(model);
}

/* All of the first events, in one piece. */
static void put_fresh(struct ks_strbuf *sb, const struct ks_analysis_opts *opts, size_t count,
		      struct ks_strbuf *objects)
{
	struct ks_analysis *analysis = new_analysis(opts, objects);
	struct ks_source *source = open_source();

	assert_int_equal(ks_analysis_start(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_feed(analysis, events, count, NULL), 0);
	assert_int_equal(ks_analysis_finish(analysis, NULL), 0);
	put_snapshot(sb, analysis);
	ks_source_close(source);
	ks_analysis_free(analysis);
}

static void compare(struct ks_strbuf *got, struct ks_strbuf *want)
{
	assert_string_equal(ks_strbuf_str(got), ks_strbuf_str(want));
	got->len = want->len = 0;
}

/* === Tests ================================================================================ */

/* Pieces of all lengths, with a snapshot after each, and a second one that finds the same. */
static void test_snapshots(void **state)
{
	const struct ks_analysis_opts opts = { 0 };
	struct ks_analysis *analysis = new_analysis(&opts, NULL);
	struct ks_source *source = open_source();
	struct ks_strbuf got, want;
	size_t at = 0, piece = 1;

	ks_strbuf_init(&got);
	ks_strbuf_init(&want);
	assert_int_equal(ks_analysis_start(analysis, source, NULL), 0);
	while (at < EVENTS) {
		size_t len = ks_min(piece, (size_t)EVENTS - at);

		assert_int_equal(ks_analysis_feed(analysis, events + at, len, NULL), 0);
		at += len;
		piece = piece * 2 % 331 + 1;
		put_fresh(&want, &opts, at, NULL);
		put_snapshot(&got, analysis);
		compare(&got, &want);
	}
	put_fresh(&want, &opts, EVENTS, NULL);
	put_snapshot(&got, analysis);
	compare(&got, &want);
	ks_source_close(source);
	ks_analysis_free(analysis);
	ks_strbuf_deinit(&got);
	ks_strbuf_deinit(&want);
}

static char *save_db(void)
{
	struct ks_analysis *analysis = ks_analysis_new(&(struct ks_analysis_opts){ 0 });
	struct ks_source *source = open_source();
	char *path = scratch_path("analysis.ksdb");

	assert_int_equal(ks_analysis_save(analysis, path, NULL), 0);
	assert_int_equal(ks_analysis_start(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_feed(analysis, events, EVENTS, NULL), 0);
	assert_int_equal(ks_analysis_finish(analysis, NULL), 0);
	ks_source_close(source);
	ks_analysis_free(analysis);
	return path;
}

static void put_db(struct ks_strbuf *sb, const char *path, const struct ks_analysis_opts *opts,
		   struct ks_strbuf *objects)
{
	struct ks_analysis *analysis = new_analysis(opts, objects);
	struct ks_source *source;

	assert_int_equal(ks_source_open(path, NULL, &source, NULL), 0);
	assert_true(source->gives & KS_GIVES_MATCHES);
	assert_int_equal(ks_analysis_run(analysis, source, NULL), 0);
	put_snapshot(sb, analysis);
	ks_source_close(source);
	ks_analysis_free(analysis);
}

static void test_db(void **state)
{
	const struct ks_analysis_opts questions[] = {
		{ 0 },
		{ .level = KS_PAGES },
		{ .filter = { .malloc_only = true } },
		{ .filter = { .by_cpu = true, .cpu = 1 } },
		{ .filter = { .comm = "task1" } },
		{ .filter = { .since = { true, true, 3000000 },
			      .until = { true, true, 9000000 } } },
	};
	struct ks_strbuf got, want, got_objects, want_objects;
	char *path = save_db();
	size_t i;

	ks_strbuf_init(&got);
	ks_strbuf_init(&want);
	ks_strbuf_init(&got_objects);
	ks_strbuf_init(&want_objects);
	for (i = 0; i < ARRAY_SIZE(questions); i++) {
		put_fresh(&want, &questions[i], EVENTS, &want_objects);
		put_db(&got, path, &questions[i], &got_objects);
		assert_true(want_objects.len > 100);
		if (questions[i].level == KS_SLAB) /* all kinds of ends are compared */
			assert_non_null(strstr(ks_strbuf_str(&want_objects), " page "));
		compare(&got_objects, &want_objects);
		compare(&got, &want);
	}
	unlink(path);
	free(path);
	ks_strbuf_deinit(&got);
	ks_strbuf_deinit(&want);
	ks_strbuf_deinit(&got_objects);
	ks_strbuf_deinit(&want_objects);
}

/* The sums of a DB by a grouping and a filter, without the times of groups. */
static void put_sums(struct ks_strbuf *sb, const char *path, enum ks_by by,
		     const struct ks_filter *filter, bool untimed)
{
	struct ks_analysis *analysis =
		ks_analysis_new(&(struct ks_analysis_opts){ .filter = *filter });
	struct ks_source *source;
	struct ks_model *model;
	struct ks_sums *sums;
	size_t i;

	assert_int_equal(ks_analysis_account(analysis, by, NULL), 0);
	if (untimed)
		ks_analysis_untimed(analysis);
	assert_int_equal(ks_source_open(path, NULL, &source, NULL), 0);
	assert_int_equal(ks_analysis_run(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	sums = &model->accounts.items[0];
	assert_true(sums->groups.len > 1);
	for (i = 0; i < sums->groups.len; i++) {
		struct ks_stat *stat = &sums->groups.items[i].stat;

		if (!filter->since.set)
			assert_int_equal(stat->last_ts == 0, untimed);
		stat->first_ts = stat->last_ts = stat->peak_ts = 0;
	}
	qsort(sums->groups.items, sums->groups.len, sizeof(*sums->groups.items), compare_groups);
	for (i = 0; i < sums->groups.len; i++) {
		ks_strbuf_puts(sb, sums->groups.items[i].label);
		put_stat(sb, &sums->groups.items[i].stat);
	}
	ks_model_free(model);
	ks_source_close(source);
	ks_analysis_free(analysis);
}

/* Whoever needs no times gets the same sums; a window still has its edges. */
static void test_untimed(void **state)
{
	static const enum ks_by bys[] = { KS_BY_SITE, KS_BY_CACHE, KS_BY_PID, KS_BY_OWNER };
	static const struct ks_filter filters[] = {
		{ .malloc_only = true },
		{ .by_cpu = true, .cpu = 1 },
		{ .malloc_only = true,
		  .since = { true, true, 3000000 },
		  .until = { true, true, 9000000 } },
	};
	char *path = save_db();
	struct ks_strbuf got, want;
	size_t i, k;

	ks_strbuf_init(&got);
	ks_strbuf_init(&want);
	for (i = 0; i < ARRAY_SIZE(bys); i++)
		for (k = 0; k < ARRAY_SIZE(filters); k++) {
			put_sums(&want, path, bys[i], &filters[k], false);
			put_sums(&got, path, bys[i], &filters[k], true);
			compare(&got, &want);
		}
	unlink(path);
	free(path);
	ks_strbuf_deinit(&got);
	ks_strbuf_deinit(&want);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Objects that live at the end may come in any order. */
static void sort_lines(struct ks_strbuf *sb)
{
	char *text = strdup(ks_strbuf_str(sb)), *lines[EVENTS], *rest = text, *line;
	size_t len = 0, i;

	assert_non_null(text);
	while ((line = strsep(&rest, "\n")))
		lines[len++] = line;
	qsort(lines, len, sizeof(*lines), compare_lines);
	sb->len = 0;
	for (i = 0; i < len; i++)
		ks_strbuf_printf(sb, "%s\n", lines[i]);
	free(text);
}

/*
 * A window that ends at a time is as if the capture had been cut there, in all accounts and views. What was
 * cut ends with a kfree(NULL) at that time, which is in no account, so that it lasts as long.
 */
static void test_cut(void **state)
{
	struct ks_strbuf got, want, got_objects, want_objects;
	char *path = save_db();
	size_t at;

	ks_strbuf_init(&got);
	ks_strbuf_init(&want);
	ks_strbuf_init(&got_objects);
	ks_strbuf_init(&want_objects);
	model_only = true;
	for (at = 7; at < EVENTS; at += 331) {
		const struct ks_analysis_opts whole = { 0 }, window = {
			.filter.until = { .set = true, .ns = events[at].ts },
		};
		size_t count = at;
		struct ks_event kept;

		while (events[count - 1].ts == events[at].ts)
			count--;
		kept = events[count];
		events[count] = ks_event_blank(KS_KFREE, events[at].ts, 0);
		put_fresh(&want, &whole, count + 1, &want_objects);
		events[count] = kept;
		sort_lines(&want_objects);
		put_fresh(&got, &window, EVENTS, &got_objects);
		sort_lines(&got_objects);
		assert_string_equal(ks_strbuf_str(&got), ks_strbuf_str(&want));
		assert_string_equal(ks_strbuf_str(&got_objects), ks_strbuf_str(&want_objects));
		got.len = got_objects.len = 0;
		put_db(&got, path, &window, &got_objects);
		sort_lines(&got_objects);
		compare(&got, &want);
		compare(&got_objects, &want_objects);
	}
	model_only = false;
	unlink(path);
	free(path);
	ks_strbuf_deinit(&got);
	ks_strbuf_deinit(&want);
	ks_strbuf_deinit(&got_objects);
	ks_strbuf_deinit(&want_objects);
}

static struct ks_event alloc_at(u64 ts, u64 ptr)
{
	struct ks_event ev = ks_event_blank(KS_KMALLOC, ts, 0);

	ev.ptr = ptr;
	ev.site = 0;
	ev.bytes_req = ev.bytes_alloc = 64;
	return ev;
}

static struct ks_model *model_of(const struct ks_analysis_opts *opts, const struct ks_event *some,
				 size_t count, struct ks_strbuf *objects)
{
	struct ks_analysis *analysis = new_analysis(opts, objects);
	struct ks_source *source = open_source();
	struct ks_model *model;

	assert_int_equal(ks_analysis_start(analysis, source, NULL), 0);
	assert_int_equal(ks_analysis_feed(analysis, some, count, NULL), 0);
	assert_int_equal(ks_analysis_finish(analysis, NULL), 0);
	assert_int_equal(ks_analysis_snapshot(analysis, &model, NULL), 0);
	ks_source_close(source);
	ks_analysis_free(analysis);
	return model;
}

static struct ks_model *ages_of(const struct ks_event *some, size_t count)
{
	return model_of(&(struct ks_analysis_opts){ 0 }, some, count, NULL);
}

/* Time goes back behind the window's end, into it: what lives there is not lost, though its slot is taken. */
static void test_cut_backwards(void **state)
{
	struct ks_event some[] = { alloc_at(1000, 0x1000), ks_event_blank(KS_KFREE, 9000, 0),
				   alloc_at(2000, 0x1000), alloc_at(3000, 0x2000) };
	const struct ks_analysis_opts opts = { .filter.until = { .set = true, .ns = 5000 } };
	struct ks_strbuf objects;
	struct ks_model *model;

	ks_strbuf_init(&objects);
	some[1].ptr = 0x1000;
	model = model_of(&opts, some, ARRAY_SIZE(some), &objects);
	assert_int_equal(model->leaks->objects, 3);
	assert_int_equal(model->leaks->bytes, 3 * 64);
	assert_int_equal(model->timeline->total.kept, 3);
	assert_int_equal(ks_model_total(model)->live_objs, 3);
	sort_lines(&objects);
	assert_non_null(strstr(ks_strbuf_str(&objects), "1000 site0+0x1"));
	ks_model_free(model);
	ks_strbuf_deinit(&objects);
}

/* A capture of 100 hours: an object of its last second is as young as it is. */
static void test_long_capture(void **state)
{
	const u64 second = 1000000000ull, end = 100 * 3600 * second;
	const struct ks_event some[] = { alloc_at(0, 0x1000), alloc_at(end - second, 0x2000),
					 alloc_at(end, 0x3000) };
	struct ks_model *model = ages_of(some, ARRAY_SIZE(some));
	const struct ks_leak *leak = &model->leaks->sites.items[0];

	assert_int_equal(leak->objects, 3);
	assert_int_equal(leak->oldest, end);
	assert_int_equal(leak->age_sum, end + second);
	ks_model_free(model);
}

/* An object of age 0 is the youngest, also where it is the first that is met. */
static void test_youngest(void **state)
{
	const struct ks_event some[] = { alloc_at(1000, 0x1000), alloc_at(1000, 0x2000),
					 alloc_at(4000, 0x1000) };
	struct ks_model *model = ages_of(some, ARRAY_SIZE(some));

	assert_int_equal(model->timeline->total.oldest, 3000);
	assert_int_equal(model->timeline->total.youngest, 0);
	assert_int_equal(model->leaks->unseen.items[0].youngest, 0);
	ks_model_free(model);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_snapshots),     cmocka_unit_test(test_db),
	cmocka_unit_test(test_untimed),	      cmocka_unit_test(test_cut),
	cmocka_unit_test(test_cut_backwards), cmocka_unit_test(test_long_capture),
	cmocka_unit_test(test_youngest),
};

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_capture, NULL);
}
