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

enum { EVENTS = 4000, ADDRESSES = 60, SITES = 7, CPUS = 3, TASKS = 5, STEP_US = 37 };
enum { KEYS = KS_TL_PID + 1 };

/*
 * What an object belongs to, by grouping: the numbers that are in the labels. An object of a cache has an
 * address that 3 divides.
 */
struct keys {
	int of[KEYS];
};

/*
 * The effect of an event. An allocation at the address of a live object is an implied free and an
 * allocation.
 */
struct happening {
	u64 ts;
	struct keys keys; /* of the allocation */
	int cpu;	  /* of the event */
	bool alloc;
	bool implied;
	u64 bytes, req, life;
};

static struct happening happenings[2 * EVENTS];
static size_t happened;

struct object {
	bool live;
	struct keys keys;
	u64 ptr, bytes, req, born;
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
						     .keys = obj->keys,
						     .cpu = cpu,
						     .implied = implied,
						     .bytes = obj->bytes,
						     .req = obj->req,
						     .life = ts - obj->born };
	obj->live = false;
}

static void begin_object(struct object *obj, int at, u64 ts, int cpu, int task)
{
	int site = (int)(next_random() % SITES);
	u64 bytes = 8ull << next_random() % 6;

	*obj = (struct object){
		.live = true,
		.keys = { { [KS_TL_SITE] = site,
			    [KS_TL_CACHE] = at % 3 ? (int)bytes : -1,
			    [KS_TL_SIZE] = (int)bytes,
			    [KS_TL_COMM] = task / 2, /* two pids with one name */
			    [KS_TL_CPU] = cpu,
			    [KS_TL_PID] = task } },
		.ptr = 0xffff888000001000ull + (unsigned int)at * 1024,
		.bytes = bytes,
		.born = ts,
	};
	obj->req = obj->bytes - next_random() % 8;
	happenings[happened++] = (struct happening){ .ts = ts,
						     .keys = obj->keys,
						     .cpu = cpu,
						     .alloc = true,
						     .bytes = obj->bytes,
						     .req = obj->req };
}

static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	u64 us = 5000000;
	int i;

	assert_non_null(f);
	for (i = 0; i < EVENTS; i++) {
		int at = (int)(next_random() % ADDRESSES), cpu = (int)(next_random() % CPUS);
		int task = (int)(next_random() % TASKS);
		struct object *obj = &objects[at];
		bool free_it = obj->live && next_random() % 8;

		us += next_random() % STEP_US;
		fprintf(f, "  task%d-%d [%03d] ..... %llu.%06llu: ", task / 2, 100 + task, cpu,
			(unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
		if (free_it) {
			fprintf(f, "%s: call_site=freer+0x1/0x2 ptr=%016llx%s\n",
				at % 3 ? "kfree" : "kmem_cache_free", (unsigned long long)obj->ptr,
				at % 3 ? "" : " name=things");
			end_object(obj, us * 1000, cpu, false);
			continue;
		}
		if (obj->live)
			end_object(obj, us * 1000, cpu, true);
		begin_object(obj, at, us * 1000, cpu, task);
		fprintf(f,
			"%s: call_site=site%d+0x1/0x2 ptr=%016llx%s bytes_req=%llu "
			"bytes_alloc=%llu gfp_flags=GFP_KERNEL\n",
			at % 3 ? "kmalloc" : "kmem_cache_alloc", obj->keys.of[KS_TL_SITE],
			(unsigned long long)obj->ptr, at % 3 ? "" : " name=things",
			(unsigned long long)obj->req, (unsigned long long)obj->bytes);
	}
	assert_int_equal(fclose(f), 0);
}

/* === Groups and their numbers ============================================================= */

/* The number that is in the label of a group; pids have none. */
static int key_of(enum ks_tl_dim dim, const char *label)
{
	switch (dim) {
	case KS_TL_SITE:
		return atoi(label + strlen("site"));
	case KS_TL_CACHE:
		return strcmp(label, "things") ? atoi(label + strlen("kmalloc of ")) : -1;
	case KS_TL_COMM:
		return atoi(label + strlen("task"));
	default:
		return atoi(label);
	}
}

static bool is_of(const struct happening *h, enum ks_tl_dim dim, int key)
{
	return dim == KS_TL_DIMS || h->keys.of[dim] == key;
}

/* How many groups of a grouping there must be. */
static size_t distinct(enum ks_tl_dim dim)
{
	size_t i, j, found = 0;

	for (i = 0; i < happened; i++) {
		for (j = 0; j < i && happenings[j].keys.of[dim] != happenings[i].keys.of[dim];)
			j++;
		found += j == i;
	}
	return found;
}

/* === Adding up a range, both ways ========================================================= */

struct sums {
	u64 allocs, frees, implied, temporary, cross, bytes, req, life, live_end, peak;
	u64 ended_req, temporary_bytes;
};

static void recount_end(struct sums *s, const struct happening *h)
{
	s->ended_req += h->req;
	if (h->implied) {
		s->implied++;
		return;
	}
	s->frees++;
	s->cross += h->cpu != h->keys.of[KS_TL_CPU];
	s->temporary += h->life < 1000000;
	s->temporary_bytes += h->life < 1000000 ? h->bytes : 0;
	s->life += h->life;
}

/* KS_TL_DIMS stands for the whole. */
static struct sums recount(enum ks_tl_dim dim, int key, u64 from, u64 to)
{
	struct sums s = { 0 };
	u64 live = 0;
	size_t i;

	for (i = 0; i < happened && happenings[i].ts < to; i++) {
		const struct happening *h = &happenings[i];
		bool in = h->ts >= from;

		if (!is_of(h, dim, key))
			continue;
		if (in)
			s.peak = live > s.peak ? live : s.peak;
		if (!h->alloc) {
			live -= h->bytes;
			if (in)
				recount_end(&s, h);
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
			s.temporary_bytes += c->temporary_bytes;
			s.cross += c->cross_cpu;
			s.bytes += c->bytes;
			s.req += c->req;
			s.ended_req += c->ended_req;
			s.life += c->life_sum;
		}
		s.live_end += c->bytes - c->ended_bytes;
	}
	s.peak = ks_max(s.peak, s.live_end);
	return s;
}

static void compare(const struct ks_timeline *tl, const struct ks_track *track, enum ks_tl_dim dim,
		    u32 from, u32 to)
{
	int key = dim == KS_TL_DIMS ? 0 : key_of(dim, track->label);
	struct sums want =
		recount(dim, key, tl->first_ts + from * tl->width, tl->first_ts + to * tl->width);
	struct sums got = add_up(track, from, to);

	assert_memory_equal(&want, &got, sizeof(want));
}

static void compare_ranges_of(const struct ks_timeline *tl, const struct ks_track *track,
			      enum ks_tl_dim dim)
{
	int i;

	compare(tl, track, dim, 0, tl->buckets);
	for (i = 0; i < 60; i++) {
		u32 from = (u32)(next_random() % tl->buckets);
		u32 to = from + 1 + (u32)(next_random() % (tl->buckets - from));

		compare(tl, track, dim, from, to);
	}
}

static void compare_ranges(const struct ks_timeline *tl)
{
	int dim;
	size_t i;

	compare_ranges_of(tl, &tl->total, KS_TL_DIMS);
	for (dim = 0; dim < KS_TL_STACK; dim++) {
		assert_int_equal(tl->by[dim].items.len, distinct((enum ks_tl_dim)dim));
		for (i = 0; i < tl->by[dim].items.len; i++)
			compare_ranges_of(tl, &tl->by[dim].items.items[i], (enum ks_tl_dim)dim);
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

static void test_at_peak_of(enum ks_tl_dim dim, const struct ks_track *track)
{
	u64 most = 0, live = 0, at = 0, then = 0;
	size_t i;

	for (i = 0; i < happened; i++) {
		const struct happening *h = &happenings[i];
		u64 more = h->alloc ? h->bytes : -h->bytes;

		live += more;
		at += is_of(h, dim, key_of(dim, track->label)) ? more : 0;
		if (live > most) {
			most = live;
			then = at;
		}
	}
	assert_int_equal(timeline->total.at_peak_bytes, most);
	assert_int_equal(ks_model_total(model)->peak_bytes, most);
	assert_int_equal(track->at_peak_bytes, then);
	assert_int_equal(track->live_bytes, at);
}

static void test_at_peak(void **state)
{
	int dim;
	size_t i;

	for (dim = 0; dim < KS_TL_STACK; dim++)
		for (i = 0; i < timeline->by[dim].items.len; i++)
			test_at_peak_of((enum ks_tl_dim)dim, &timeline->by[dim].items.items[i]);
}

struct kept {
	u64 objects, bytes, oldest, youngest, age_sum, pages;
};

static struct kept kept_of(enum ks_tl_dim dim, int key)
{
	struct kept kept = { .youngest = UINT64_MAX };
	size_t i, j;

	for (i = 0; i < ADDRESSES; i++) {
		const struct object *obj = &objects[i];
		u64 age = model->last_ts - obj->born;

		if (!obj->live || (dim != KS_TL_DIMS && obj->keys.of[dim] != key))
			continue;
		kept.objects++;
		kept.bytes += obj->bytes;
		kept.oldest = ks_max(kept.oldest, age);
		kept.youngest = ks_min(kept.youngest, age);
		kept.age_sum += age;
		/* A page belongs to the size of the first object in it. */
		for (j = 0; j < i && !(objects[j].live && objects[j].ptr >> 12 == obj->ptr >> 12);)
			j++;
		kept.pages += j == i;
	}
	return kept;
}

/* Which object of a page is the first depends on slots, so pages are compared over all sizes. */
static void test_kept_of(enum ks_tl_dim dim, const struct ks_track *track)
{
	struct kept want = kept_of(dim, dim == KS_TL_DIMS ? 0 : key_of(dim, track->label));
	u64 objects_in_cells = 0, bytes = 0;
	size_t i;

	for (i = 0; i < track->cells.len; i++) {
		objects_in_cells += track->cells.items[i].kept;
		bytes += track->cells.items[i].kept_bytes;
	}
	assert_int_equal(objects_in_cells, want.objects);
	assert_int_equal(bytes, want.bytes);
	assert_int_equal(track->kept, want.objects);
	assert_int_equal(track->oldest, want.oldest);
	assert_int_equal(track->youngest, want.objects ? want.youngest : 0);
	assert_int_equal(track->age_sum, want.age_sum);
}

static void test_kept(void **state)
{
	u64 pages = 0;
	int dim;
	size_t i;

	test_kept_of(KS_TL_DIMS, &timeline->total);
	for (dim = 0; dim < KS_TL_STACK; dim++)
		for (i = 0; i < timeline->by[dim].items.len; i++)
			test_kept_of((enum ks_tl_dim)dim, &timeline->by[dim].items.items[i]);
	for (i = 0; i < timeline->by[KS_TL_SIZE].items.len; i++)
		pages += timeline->by[KS_TL_SIZE].items.items[i].pages_held;
	assert_int_equal(pages, kept_of(KS_TL_DIMS, 0).pages);
}

/* 1 us, 2.2, 4.6, 10, 22, ...; in ns. */
static u64 life_edge(unsigned int life)
{
	static const u64 of_decade[] = { 1000, 2200, 4600 };
	u64 edge = of_decade[life % 3];

	for (; life >= 3; life -= 3)
		edge *= 10;
	return edge;
}

/* Objects of sizes 8, 16, ... 256, by lifetime, and by the CPUs of both ends. */
static void test_ends_of_bucket(u32 bucket)
{
	const struct ks_tl_ends *ends = &timeline->ends[bucket];
	u64 from = timeline->first_ts + bucket * timeline->width, to = from + timeline->width;
	struct ks_tl_count by_life[KS_TL_SIZES][KS_TL_LIVES] = { 0 };
	u32 by_cpus[KS_TL_CPUS][KS_TL_CPUS] = { 0 };
	size_t i;

	for (i = 0; i < happened; i++) {
		const struct happening *h = &happenings[i];
		unsigned int size = 0, life = 0;

		if (h->alloc || h->implied || h->ts < from || h->ts >= to)
			continue;
		while (8ull << size < h->bytes)
			size++;
		while (h->life >= life_edge(life))
			life++;
		by_life[size][life].objects++;
		by_life[size][life].bytes += h->bytes;
		by_cpus[h->keys.of[KS_TL_CPU]][h->cpu]++;
	}
	assert_memory_equal(by_life, ends->by_life, sizeof(by_life));
	assert_memory_equal(by_cpus, ends->by_cpus, sizeof(by_cpus));
}

static void test_ends(void **state)
{
	u32 b;

	for (b = 0; b < timeline->buckets; b++)
		test_ends_of_bucket(b);
}

/* What a link must say: a site's allocations that belong to a group of another grouping. */
static void test_link(const struct ks_tl_link *link)
{
	int site = key_of(KS_TL_SITE, timeline->by[KS_TL_SITE].items.items[link->site].label);
	int key =
		link->dim == KS_TL_PID
			? (int)timeline->pids.items[link->group].pid - 100
			: key_of(link->dim, timeline->by[link->dim].items.items[link->group].label);
	u64 allocs = 0, bytes = 0;
	size_t i;

	for (i = 0; i < happened; i++) {
		const struct happening *h = &happenings[i];

		if (!h->alloc || h->keys.of[KS_TL_SITE] != site || h->keys.of[link->dim] != key)
			continue;
		allocs++;
		bytes += h->bytes;
	}
	assert_int_equal(link->allocs, allocs);
	assert_int_equal(link->bytes, bytes);
}

static void test_links(void **state)
{
	u64 allocs = 0, linked[KS_TL_PID + 1] = { 0 };
	size_t i;

	for (i = 0; i < happened; i++)
		allocs += happenings[i].alloc;
	for (i = 0; i < timeline->links.len; i++) {
		test_link(&timeline->links.items[i]);
		linked[timeline->links.items[i].dim] += timeline->links.items[i].allocs;
	}
	assert_int_equal(linked[KS_TL_CACHE], allocs);
	assert_int_equal(linked[KS_TL_SIZE], allocs);
	assert_int_equal(linked[KS_TL_COMM], allocs);
	assert_int_equal(linked[KS_TL_CPU], allocs);
	assert_int_equal(linked[KS_TL_PID], allocs);
}

static void test_pids(void **state)
{
	size_t i;

	assert_int_equal(timeline->pids.len, TASKS);
	for (i = 0; i < TASKS; i++) {
		const struct ks_tl_pid *pid = &timeline->pids.items[i];

		assert_false(pid->rest);
		assert_int_equal(key_of(KS_TL_COMM, pid->comm), (pid->pid - 100) / 2);
	}
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
		cmocka_unit_test(test_ranges),	cmocka_unit_test(test_at_peak),
		cmocka_unit_test(test_kept),	cmocka_unit_test(test_ends),
		cmocka_unit_test(test_links),	cmocka_unit_test(test_pids),
		cmocka_unit_test(test_classes), cmocka_unit_test(test_halved),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("timeline", tests, setup, teardown);
}
