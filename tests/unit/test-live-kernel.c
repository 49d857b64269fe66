// SPDX-License-Identifier: GPL-2.0-only
/* The levels on the kernel that runs here: each must find what this program makes and keeps, and see it go. */
#include "ks-test.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "live/live.h"

/* === Data ================================================================================= */

enum { PLANTED = 3000 };

static int planted[PLANTED];

/* === Internals ============================================================================ */

static void need_root(void)
{
	if (geteuid())
		skip();
}

static struct ks_live *open_live(const struct ks_live_opts *opts)
{
	struct ks_live *live;
	struct ks_diag diag;

	if (ks_live_open(opts, &live, &diag)) {
		print_message("# %s\n", diag.text);
		skip();
	}
	return live;
}

static struct ks_live_snapshot *poll_live(struct ks_live *live)
{
	struct ks_live_snapshot *s;
	struct ks_diag diag;

	if (ks_live_poll(live, &s, &diag))
		fail_msg("%s", diag.text);
	return s;
}

/* A struct eventpoll each; and a file, a dentry or an inode, which are less of a witness. */
static void plant(void)
{
	struct rlimit limit;
	int i;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max < PLANTED + 100 ? limit.rlim_max : PLANTED + 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (i = 0; i < PLANTED; i++) {
		planted[i] = epoll_create1(EPOLL_CLOEXEC);
		assert_true(planted[i] >= 0);
	}
}

static void uproot(void)
{
	int i;

	for (i = 0; i < PLANTED; i++)
		close(planted[i]);
}

static const char *me(void)
{
	static char name[64];

	snprintf(name, sizeof(name), "%.15s[%d]", program_invocation_short_name, getpid());
	return name;
}

/* How a row changed since the baseline, in objects; 0 where there is none of that name. */
static s64 change_of(const struct ks_live_snapshot *s, enum ks_live_by by, const char *name)
{
	struct ks_live_rows rows;
	s64 change = 0;
	size_t i;

	assert_int_equal(ks_live_rows(s, by, NULL, &rows), 0);
	assert_true(rows.present);
	for (i = 0; i < rows.items.len; i++)
		if (!strcmp(rows.items.items[i].name, name))
			change = rows.items.items[i].objects_change;
	ks_live_rows_free(&rows);
	return change;
}

/* Others make and close a few as well. */
static void assert_about(s64 is, s64 should, s64 tolerance)
{
	if (is < should - tolerance || is > should + tolerance)
		fail_msg("%lld, not %lld", (long long)is, (long long)should);
}

/* === Tests ================================================================================ */

static void the_census_counts_what_is_planted(void **state)
{
	const struct ks_live_opts opts = { .census_first = true };
	struct ks_live_snapshot *s;
	struct ks_live *live;

	need_root();
	live = open_live(&opts);
	s = poll_live(live);
	if (!s->parts[KS_LIVE_TYPES].present) {
		ks_live_close(live);
		print_message("# %s\n", s->unseen.len ? s->unseen.items[0] : "no census");
		ks_live_snapshot_put(s);
		skip();
	}
	assert_true(s->parts[KS_LIVE_CACHES].exact);
	assert_true(s->memory.total > s->memory.slab && s->memory.slab);
	ks_live_snapshot_put(s);

	plant();
	ks_live_census_now(live, true);
	s = poll_live(live);
	assert_about(change_of(s, KS_LIVE_BY_TYPE, "eventpoll"), PLANTED, PLANTED / 20);
	assert_about(change_of(s, KS_LIVE_BY_CACHE, "filp"), PLANTED, PLANTED / 4);
	assert_true(s->quality.cpu_ns && s->quality.census_ns && s->quality.memory);
	ks_live_snapshot_put(s);

	/* By the counters alone, which the count before has corrected. */
	s = poll_live(live);
	assert_false(s->parts[KS_LIVE_CACHES].exact);
	assert_about(change_of(s, KS_LIVE_BY_CACHE, "filp"), PLANTED, PLANTED / 4);
	assert_about(change_of(s, KS_LIVE_BY_TYPE, "eventpoll"), PLANTED, PLANTED / 20);
	ks_live_snapshot_put(s);

	uproot();
	ks_live_census_now(live, false);
	s = poll_live(live);
	assert_about(change_of(s, KS_LIVE_BY_CACHE, "filp"), 0, PLANTED / 4);
	ks_live_snapshot_put(s);
	ks_live_close(live);
}

/* The row of what this program allocated in a function, or one of nothing. */
static struct ks_live_row mine(const struct ks_live_snapshot *s, const char *function)
{
	const struct ks_live_within here = { .name = { [KS_LIVE_BY_PROCESS] = me() } };
	struct ks_live_row row = { .name = "" };
	struct ks_live_rows rows;
	size_t i;

	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_SITE, &here, &rows), 0);
	assert_true(rows.present);
	for (i = 0; i < rows.items.len; i++)
		if (!strncmp(rows.items.items[i].name, function, strlen(function)))
			row = rows.items.items[i];
	ks_live_rows_free(&rows);
	return row;
}

/* Some find a place in slabs that are there already, and are in none of the new ones. */
static void growth_names_who_made_slabs(void **state)
{
	const struct ks_live_opts opts = { .level = KS_LIVE_GROWTH, .types_ns = KS_LIVE_NEVER };
	struct ks_live_snapshot *s;
	struct ks_live_row row;
	struct ks_live *live;

	need_root();
	live = open_live(&opts);
	s = poll_live(live);
	assert_int_equal(mine(s, "do_epoll_create").objects, 0);
	ks_live_snapshot_put(s);
	plant();
	s = poll_live(live);
	row = mine(s, "do_epoll_create");
	assert_true(row.objects > PLANTED / 3 && row.objects <= PLANTED);
	assert_true(row.bytes >= row.objects * 64 && row.bytes_change == (s64)row.bytes);
	assert_true(row.age_ns < 3600000000000);
	assert_true(s->quality.stacks && s->quality.kernel_memory);
	assert_int_equal(s->quality.no_room, 0);
	ks_live_snapshot_put(s);
	uproot();
	ks_live_close(live);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(growth_names_who_made_slabs),
	cmocka_unit_test(the_census_counts_what_is_planted),
};

KS_RUN(tests)
