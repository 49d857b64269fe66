// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeline, compared with a slow and obvious recount of the same events, over ranges of
 * buckets.
 */
#include "ks-test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/timeline.h"
#include "../lib/analyze.h"

/* === A capture that is known ============================================================== */

enum { EVENTS = 4000, ADDRESSES = 60, SITES = 7, CPUS = 3, STEP_US = 37 };

/*
 * The effect of an event. An allocation at the address of a live object is an implied free and an
 * allocation.
 */
struct happening {
	u64 ts;
	int site; /* of the allocation */
	bool alloc;
	bool implied;
	bool cross;
	u64 bytes, req, life;
};

static struct happening happenings[2 * EVENTS];
static size_t happened;

struct object {
	bool live;
	int site, cpu;
	u64 bytes, req, born;
};

static struct object objects[ADDRESSES];

static u64 next_random(void)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

static void end_object(struct object *obj, u64 ts, int cpu, bool implied)
{
	happenings[happened++] = (struct happening){ .ts = ts,
						     .site = obj->site,
						     .implied = implied,
						     .cross = !implied && cpu != obj->cpu,
						     .bytes = obj->bytes,
						     .req = obj->req,
						     .life = ts - obj->born };
	obj->live = false;
}

static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	u64 us = 5000000;
	int i;

	assert_non_null(f);
	for (i = 0; i < EVENTS; i++) {
		int at = (int)(next_random() % ADDRESSES), cpu = (int)(next_random() % CPUS);
		struct object *obj = &objects[at];
		bool free_it = obj->live && next_random() % 8;

		us += next_random() % STEP_US;
		fprintf(f, "  task-1 [%03d] ..... %llu.%06llu: ", cpu,
			(unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
		if (free_it) {
			fprintf(f, "kfree: call_site=freer+0x1/0x2 ptr=%016llx\n",
				0xffff888000001000ull + (unsigned int)at * 64);
			end_object(obj, us * 1000, cpu, false);
			continue;
		}
		if (obj->live)
			end_object(obj, us * 1000, cpu, true);
		*obj = (struct object){ .live = true,
					.site = (int)(next_random() % SITES),
					.cpu = cpu,
					.bytes = 8ull << next_random() % 6,
					.born = us * 1000 };
		obj->req = obj->bytes - next_random() % 8;
		fprintf(f,
			"kmalloc: call_site=site%d+0x1/0x2 ptr=%016llx bytes_req=%llu "
			"bytes_alloc=%llu gfp_flags=GFP_KERNEL\n",
			obj->site, 0xffff888000001000ull + (unsigned int)at * 64,
			(unsigned long long)obj->req, (unsigned long long)obj->bytes);
		happenings[happened++] = (struct happening){ .ts = us * 1000,
							     .site = obj->site,
							     .alloc = true,
							     .bytes = obj->bytes,
							     .req = obj->req };
	}
	assert_int_equal(fclose(f), 0);
}

/* === Adding up a range, both ways ========================================================= */

struct sums {
	u64 allocs, frees, implied, temporary, cross, bytes, req, life, live_end, peak;
};

static struct sums recount(int site, u64 from, u64 to)
{
	struct sums s = { 0 };
	u64 live = 0;
	size_t i;

	for (i = 0; i < happened && happenings[i].ts < to; i++) {
		const struct happening *h = &happenings[i];
		bool in = h->ts >= from;

		if (site >= 0 && h->site != site)
			continue;
		if (in)
			s.peak = live > s.peak ? live : s.peak;
		if (!h->alloc) {
			live -= h->bytes;
			s.frees += in && !h->implied;
			s.implied += in && h->implied;
			s.cross += in && h->cross;
			s.temporary += in && !h->implied && h->life < 1000000;
			s.life += in && !h->implied ? h->life : 0;
			continue;
		}
		live += h->bytes;
		if (in) {
			s.allocs++;
			s.bytes += h->bytes;
			s.req += h->req;
		}
	}
	s.live_end = live;
	s.peak = live > s.peak ? live : s.peak;
	return s;
}

static struct sums add_up(const struct ks_track *track, u32 from, u32 to)
{
	struct sums s = { 0 };
	size_t i;

	for (i = 0; i < track->cells.len && track->cells.items[i].bucket < to; i++) {
		const struct ks_cell *c = &track->cells.items[i];

		if (c->bucket >= from) {
			s.peak = ks_max(s.peak, s.live_end);
			s.peak = ks_max(s.peak, c->peak_bytes);
			s.allocs += c->allocs;
			s.frees += c->frees;
			s.implied += c->implied;
			s.temporary += c->temporary;
			s.cross += c->cross_cpu;
			s.bytes += c->bytes;
			s.req += c->req;
			s.life += c->life_sum;
		}
		s.live_end += c->bytes - c->ended_bytes;
	}
	s.peak = ks_max(s.peak, s.live_end);
	return s;
}

static void compare(const struct ks_timeline *tl, const struct ks_track *track, int site, u32 from,
		    u32 to)
{
	struct sums want =
		recount(site, tl->first_ts + from * tl->width, tl->first_ts + to * tl->width);
	struct sums got = add_up(track, from, to);

	assert_memory_equal(&want, &got, sizeof(want));
}

static const struct ks_track *site_track(const struct ks_timeline *tl, int site)
{
	const struct ks_tracks *tracks = &tl->by[KS_TL_SITE];
	char label[32];
	size_t i;

	snprintf(label, sizeof(label), "site%d+0x1", site);
	for (i = 0; i < tracks->items.len; i++)
		if (!strcmp(tracks->items.items[i].label, label))
			return &tracks->items.items[i];
	fail_msg("no track of %s", label);
	return NULL;
}

static void compare_ranges(const struct ks_timeline *tl)
{
	int site, i;

	compare(tl, &tl->total, -1, 0, tl->buckets);
	for (site = 0; site < SITES; site++) {
		const struct ks_track *track = site_track(tl, site);

		compare(tl, track, site, 0, tl->buckets);
		for (i = 0; i < 200; i++) {
			u32 from = (u32)(next_random() % tl->buckets);
			u32 to = from + 1 + (u32)(next_random() % (tl->buckets - from));

			compare(tl, track, site, from, to);
			compare(tl, &tl->total, -1, from, to);
		}
	}
}

/* === Tests ================================================================================ */

static struct ks_timeline *timeline;
static struct ks_model *model;

static int setup(void **state)
{
	char path[] = "/tmp/kmemscope-timeline-XXXXXX";
	struct ks_analysis_opts opts = { .level = KS_SLAB };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	write_log(path);
	assert_int_equal(
		analyze_file(path, &opts, KS_BY_SITE, ks_timeline_view_new(), &model, NULL), 0);
	timeline = model->timeline;
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	ks_model_free(model);
	return 0;
}

static void test_ranges(void **state)
{
	assert_in_range(timeline->buckets, KS_TL_MAX_BUCKETS / 2, KS_TL_MAX_BUCKETS);
	compare_ranges(timeline);
}

static void test_at_peak(void **state)
{
	u64 most = 0, live = 0, at[SITES] = { 0 }, then[SITES] = { 0 };
	size_t i;
	int site;

	for (i = 0; i < happened; i++) {
		const struct happening *h = &happenings[i];

		at[h->site] += h->alloc ? h->bytes : -h->bytes;
		live += h->alloc ? h->bytes : -h->bytes;
		if (live > most) {
			most = live;
			memcpy(then, at, sizeof(then));
		}
	}
	assert_int_equal(timeline->total.at_peak_bytes, most);
	assert_int_equal(ks_model_total(model)->peak_bytes, most);
	for (site = 0; site < SITES; site++)
		assert_int_equal(site_track(timeline, site)->at_peak_bytes, then[site]);
}

static void test_kept(void **state)
{
	u64 bytes[SITES] = { 0 }, oldest[SITES] = { 0 };
	u64 end = model->last_ts;
	size_t i;
	int site;

	for (i = 0; i < ADDRESSES; i++) {
		if (!objects[i].live)
			continue;
		bytes[objects[i].site] += objects[i].bytes;
		oldest[objects[i].site] = ks_max(oldest[objects[i].site], end - objects[i].born);
	}
	for (site = 0; site < SITES; site++) {
		const struct ks_track *track = site_track(timeline, site);
		u64 kept = 0;

		for (i = 0; i < track->cells.len; i++)
			kept += track->cells.items[i].kept_bytes;
		assert_int_equal(kept, bytes[site]);
		assert_int_equal(track->oldest, oldest[site]);
	}
}

static void test_ends(void **state)
{
	u64 by_life = 0, by_cpus = 0, frees = 0;
	u32 b, i, j;

	for (i = 0; i < happened; i++)
		frees += !happenings[i].alloc && !happenings[i].implied;
	for (b = 0; b < timeline->buckets; b++) {
		for (i = 0; i < KS_TL_SIZES; i++)
			for (j = 0; j < KS_TL_LIVES; j++)
				by_life += timeline->ends[b].by_life[i][j].objects;
		for (i = 0; i < CPUS; i++)
			for (j = 0; j < CPUS; j++)
				by_cpus += timeline->ends[b].by_cpus[i][j];
	}
	assert_int_equal(by_life, frees);
	assert_int_equal(by_cpus, frees);
}

static void test_links(void **state)
{
	u64 allocs = 0, linked[KS_TL_PID + 1] = { 0 };
	size_t i;

	for (i = 0; i < happened; i++)
		allocs += happenings[i].alloc;
	for (i = 0; i < timeline->links.len; i++)
		linked[timeline->links.items[i].dim] += timeline->links.items[i].allocs;
	assert_int_equal(linked[KS_TL_CACHE], allocs);
	assert_int_equal(linked[KS_TL_SIZE], allocs);
	assert_int_equal(linked[KS_TL_COMM], allocs);
	assert_int_equal(linked[KS_TL_CPU], allocs);
	assert_int_equal(linked[KS_TL_PID], allocs);
}

static void test_classes(void **state)
{
	assert_int_equal(ks_tl_size_class(8), 0);
	assert_int_equal(ks_tl_size_class(9), 1);
	assert_int_equal(ks_tl_size_class(4096), 9);
	assert_int_equal(ks_tl_size_class(UINT64_MAX), KS_TL_SIZES - 1);
	assert_int_equal(ks_tl_life_class(999), 0);
	assert_int_equal(ks_tl_life_class(1000), 1);
	assert_int_equal(ks_tl_life_class(UINT64_MAX), KS_TL_LIVES - 1);
}

/* Last: it changes the timeline. */
static void test_halved(void **state)
{
	u64 width = timeline->width;

	ks_timeline_halve(timeline);
	ks_timeline_halve(timeline);
	assert_int_equal(timeline->width, 4 * width);
	compare_ranges(timeline);
	test_ends(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges), cmocka_unit_test(test_at_peak),
		cmocka_unit_test(test_kept),   cmocka_unit_test(test_ends),
		cmocka_unit_test(test_links),  cmocka_unit_test(test_classes),
		cmocka_unit_test(test_halved),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("timeline", tests, setup, teardown);
}
