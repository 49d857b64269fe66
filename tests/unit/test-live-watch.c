// SPDX-License-Identifier: GPL-2.0-only
/* A watch: which rows it takes for growth, and which of these are one suspect. */
#include "ks-test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/build.h"
#include "live/watch-steps.h"

/* === Data ================================================================================= */

enum { SEED = 77, LOOKS = 40, OBJECT = 256 };

static const u64 half_a_second = 500000000;
static const char ended[] = "ended[4194304]";

/* === Internals ============================================================================ */

static struct ks_watch *new_watch(void)
{
	const struct ks_watch_opts opts = { 0 };
	struct ks_watch *watch;
	struct ks_diag diag;

	assert_int_equal(ks_watch_new(&opts, &watch, &diag), 0);
	return watch;
}

static struct ks_live_snapshot *snapshot_at(u64 at_ns)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(SEED);

	assert_non_null(s);
	s->at_ns = at_ns;
	s->parts[KS_LIVE_TRACED] = (struct ks_live_part_info){ .present = true, .at_ns = at_ns };
	return s;
}

static void add(struct ks_live_snapshot *s, const char *site, const char *process, u64 objects)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = "things",
					   [KS_LIVE_BY_SITE] = site,
					   [KS_LIVE_BY_PROCESS] = process };
	struct ks_live_cell *cell = ks_live_cell(s, KS_LIVE_TRACED, names);

	assert_non_null(cell);
	cell->objects += objects;
	cell->bytes += objects * OBJECT;
}

/* How many suspects there are of a site where a process makes ten objects in each half second. */
static size_t growing_of(const char *site, const char *process)
{
	struct ks_watch *watch = new_watch();
	struct ks_live_snapshot *s = NULL;
	struct ks_growings growings = { 0 };
	size_t found;
	u64 look;

	for (look = 1; look <= LOOKS; look++) {
		ks_live_snapshot_put(s);
		s = snapshot_at(look * half_a_second);
		add(s, site, process, 100 + 10 * look);
		assert_int_equal(ks_watch_look(watch->state, s), 0);
	}
	assert_int_equal(ks_watch_find_growing(watch, s, &growings), 0);
	if (growings.items.len)
		assert_int_equal(ks_watch_suspect(watch, &growings, s), 0);
	found = watch->state->tracing.len;
	ks_vec_free(&growings.items);
	ks_live_snapshot_put(s);
	ks_watch_free(watch);
	return found;
}

/* How many suspects two rows are that grow. */
static size_t suspects_of(struct ks_watch_row one, struct ks_watch_row other)
{
	struct ks_watch *watch = new_watch();
	struct ks_live_snapshot *s = snapshot_at(half_a_second);
	struct ks_growings growings = { 0 };
	size_t found;

	one.objects = other.objects = 1;
	assert_int_equal(ks_vec_reserve(&growings.items, 2), 0);
	growings.items.items[growings.items.len++] = (struct ks_growing){ .row = &one };
	growings.items.items[growings.items.len++] = (struct ks_growing){ .row = &other };
	assert_int_equal(ks_watch_suspect(watch, &growings, s), 0);
	found = watch->state->tracing.len;
	ks_vec_free(&growings.items);
	ks_live_snapshot_put(s);
	ks_watch_free(watch);
	return found;
}

/* === Tests ================================================================================ */

static void what_grows_is_found(void **state)
{
	assert_int_equal(growing_of("make_thing+0x1c", ended), 1);
}

/* Files of tmpfs, and nodes of trees, grow with what users do. */
static void what_goes_with_something_else_is_not(void **state)
{
	assert_int_equal(growing_of("shmem_alloc_inode+0x1d", ended), 0);
	assert_int_equal(growing_of("mas_wr_bnode+0x949", ended), 0);
	assert_int_equal(growing_of("xas_alloc+0x20", ended), 0);
}

/* A map of memory is of a process while that lives; what is left behind is the kernel's. */
static void maps_of_memory_grow_with_their_process(void **state)
{
	char parent[32];

	snprintf(parent, sizeof(parent), "lives[%d]", getppid()); /* its own objects are left out */
	assert_int_equal(growing_of("make_thing+0x1c", parent), 1);
	assert_int_equal(growing_of("vm_area_dup+0x1e", parent), 0);
	assert_int_equal(growing_of("vm_area_dup+0x1e", ended), 1);
}

static void a_process_is_one_suspect(void **state)
{
	struct ks_watch_row file = { .cache = "filp",
				     .site = "alloc_file+0x1",
				     .process = "leak[7]" };
	struct ks_watch_row sock = { .cache = "sock",
				     .site = "sk_alloc+0x2",
				     .process = "leak[7]" };

	assert_int_equal(suspects_of(file, sock), 1);
	sock.process = "leak[8]";
	assert_int_equal(suspects_of(file, sock), 2);
	/* Of a process that has ended it can't be told that it works for others. */
	file.no_program = sock.no_program = true;
	sock.process = "leak[7]";
	assert_int_equal(suspects_of(file, sock), 1);
}

/* A worker of the kernel does what it is given by all drivers; and their work is done by any worker. */
static void sites_of_the_kernel_are_apart(void **state)
{
	struct ks_watch_row one = { .cache = "kmalloc-64",
				    .site = "one_work+0x1",
				    .process = "kworker/0:1[9]",
				    .no_program = true,
				    .of_kernel = true };
	struct ks_watch_row other = one;

	other.site = "other_work+0x1";
	assert_int_equal(suspects_of(one, other), 2);
	other.site = one.site;
	other.process = "kworker/1:1[10]";
	assert_int_equal(suspects_of(one, other), 1);
	other.process = NULL;
	assert_int_equal(suspects_of(one, other), 1);
}

/* === A kernel that is made up ============================================================= */

/*
 * Two caches: one has what a process makes and keeps, in the other as much ends as is made. What the watch asks for is noted.
 */
enum { CHANGES = 16 };

static struct {
	u64 now_ns;
	bool leaks, count, has_no_sites;
	size_t changes;
	struct {
		enum ks_live_level level;
		bool stacks;
		size_t nr_caches, nr_sites;
		char cache[64], site[64];
	} asked[CHANGES];
} kernel;

int __wrap_ks_live_poll(struct ks_live *live, struct ks_live_snapshot **ret, struct ks_diag *diag);
int __wrap_ks_live_set_level(struct ks_live *live, enum ks_live_level level,
			     const struct ks_live_filter *filter, struct ks_diag *diag);
void __wrap_ks_live_census_now(struct ks_live *live, bool types);
int __wrap_ks_live_want_type(struct ks_live *live, u64 addr);

static bool is_looked_at(const char *cache)
{
	const size_t last = kernel.changes - 1;

	return kernel.changes && kernel.asked[last].level == KS_LIVE_EXACT &&
	       (kernel.asked[last].nr_caches > 1 || !strcmp(kernel.asked[last].cache, cache));
}

static void add_cache(struct ks_live_snapshot *s, const char *cache, const char *site, u64 objects)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = cache };
	struct ks_live_cell *cell = ks_live_cell(s, KS_LIVE_CACHES, names);

	assert_non_null(cell);
	cell->objects = 1000 + objects;
	cell->bytes = cell->objects * OBJECT;
	if (!is_looked_at(cache))
		return;
	names[KS_LIVE_BY_SITE] = site;
	names[KS_LIVE_BY_PROCESS] = ended;
	cell = ks_live_cell(s, KS_LIVE_TRACED, names);
	assert_non_null(cell);
	cell->objects = objects + 1;
	cell->bytes = cell->objects * OBJECT;
}

int __wrap_ks_live_poll(struct ks_live *live, struct ks_live_snapshot **ret, struct ks_diag *diag)
{
	struct ks_live_snapshot *s = snapshot_at(kernel.now_ns);
	const u64 tenths = kernel.now_ns / 100000000;

	s->parts[KS_LIVE_TRACED].tells = 1u << KS_LIVE_BY_CACHE | 1u << KS_LIVE_BY_SITE |
					 1u << KS_LIVE_BY_PROCESS;
	s->parts[KS_LIVE_CACHES] = (struct ks_live_part_info){ .present = true,
							       .exact = kernel.count,
							       .tells = 1u << KS_LIVE_BY_CACHE,
							       .at_ns = kernel.now_ns };
	kernel.count = false;
	add_cache(s, "things", "make_thing+0x1c", kernel.leaks ? tenths : tenths * 7 % 50);
	add_cache(s, "swinging", "swing+0x8", tenths * 3 % 40);
	*ret = s;
	return 0;
}

int __wrap_ks_live_set_level(struct ks_live *live, enum ks_live_level level,
			     const struct ks_live_filter *filter, struct ks_diag *diag)
{
	const size_t n = kernel.changes++;

	assert_true(n < CHANGES);
	kernel.asked[n].level = level;
	if (!filter)
		return 0;
	kernel.asked[n].stacks = filter->stacks;
	kernel.asked[n].nr_caches = filter->nr_caches;
	kernel.asked[n].nr_sites = filter->nr_sites;
	if (filter->nr_caches)
		snprintf(kernel.asked[n].cache, 64, "%s", filter->caches[0]);
	if (filter->nr_sites)
		snprintf(kernel.asked[n].site, 64, "%s", filter->sites[0]);
	return filter->nr_sites && kernel.has_no_sites ? -ENOENT : 0;
}

void __wrap_ks_live_census_now(struct ks_live *live, bool types)
{
	kernel.count = true;
}

int __wrap_ks_live_want_type(struct ks_live *live, u64 addr)
{
	return 0;
}

/* Watches until the level was changed so often. Returns how many suspects there are. */
static size_t watch_until(size_t changes, bool leaks, bool has_no_sites)
{
	const struct ks_watch_opts opts = { .no_holders = true };
	struct ks_live *live = (struct ks_live *)&kernel; /* which nobody looks into */
	struct ks_watch *watch;
	struct ks_diag diag;
	size_t found;
	u64 wait;

	memset(&kernel, 0, sizeof(kernel));
	kernel.now_ns = half_a_second;
	kernel.leaks = leaks;
	kernel.has_no_sites = has_no_sites;
	assert_int_equal(ks_watch_new(&opts, &watch, &diag), 0);
	while (kernel.changes < changes && kernel.now_ns < 1000 * half_a_second) {
		assert_int_equal(ks_watch_step(watch, live, &wait, &diag), 0);
		kernel.now_ns += wait;
	}
	assert_int_equal(kernel.changes, changes);
	found = watch->suspects.len;
	ks_watch_free(watch);
	return found;
}

/* Exact, but of the suspect's cache and site alone; and then nothing is attached any more. */
static void the_level_rises_for_the_suspect_and_falls_again(void **state)
{
	assert_int_equal(watch_until(3, true, false), 1);
	assert_int_equal(kernel.asked[0].level, KS_LIVE_EXACT);
	assert_int_equal(kernel.asked[0].nr_caches, 2);
	assert_false(kernel.asked[0].stacks);
	assert_int_equal(kernel.asked[1].level, KS_LIVE_EXACT);
	assert_true(kernel.asked[1].stacks);
	assert_int_equal(kernel.asked[1].nr_caches, 1);
	assert_string_equal(kernel.asked[1].cache, "things");
	assert_int_equal(kernel.asked[1].nr_sites, 1);
	assert_string_equal(kernel.asked[1].site, "make_thing+0x1c");
	assert_int_equal(kernel.asked[2].level, KS_LIVE_CENSUS);
}

/* Where nobody is to blame, too: it falls before it rises again. */
static void the_level_falls_after_a_suspicion_for_nothing(void **state)
{
	assert_int_equal(watch_until(4, false, false), 0);
	assert_int_equal(kernel.asked[0].level, KS_LIVE_EXACT);
	assert_int_equal(kernel.asked[1].level, KS_LIVE_CENSUS);
	assert_int_equal(kernel.asked[2].level, KS_LIVE_EXACT);
	assert_int_equal(kernel.asked[3].level, KS_LIVE_CENSUS);
}

/* Then by its cache alone. */
static void a_site_that_has_gone_is_traced_by_its_cache(void **state)
{
	assert_int_equal(watch_until(4, true, true), 1);
	assert_int_equal(kernel.asked[1].nr_sites, 1);
	assert_int_equal(kernel.asked[2].nr_sites, 0);
	assert_int_equal(kernel.asked[2].nr_caches, 1);
	assert_true(kernel.asked[2].stacks);
	assert_int_equal(kernel.asked[3].level, KS_LIVE_CENSUS);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_grows_is_found),
	cmocka_unit_test(what_goes_with_something_else_is_not),
	cmocka_unit_test(maps_of_memory_grow_with_their_process),
	cmocka_unit_test(a_process_is_one_suspect),
	cmocka_unit_test(sites_of_the_kernel_are_apart),
	cmocka_unit_test(the_level_rises_for_the_suspect_and_falls_again),
	cmocka_unit_test(the_level_falls_after_a_suspicion_for_nothing),
	cmocka_unit_test(a_site_that_has_gone_is_traced_by_its_cache),
};

KS_RUN(tests)
