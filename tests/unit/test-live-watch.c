// SPDX-License-Identifier: GPL-2.0-only
/* A watch: which rows it takes for growth, and which of these are one suspect. */
#include "ks-test.h"

#include <stdio.h>
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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_grows_is_found),
	cmocka_unit_test(what_goes_with_something_else_is_not),
	cmocka_unit_test(maps_of_memory_grow_with_their_process),
	cmocka_unit_test(a_process_is_one_suspect),
	cmocka_unit_test(sites_of_the_kernel_are_apart),
};

KS_RUN(tests)
