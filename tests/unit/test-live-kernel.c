// SPDX-License-Identifier: GPL-2.0-only
/* The levels on the kernel that runs here: each must find what this program makes and keeps, and see it go. */
#include "ks-test.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "live/live.h"

/* === Data ================================================================================= */

enum { PLANTED = 3000, ROUNDS = 6 };

static int planted[PLANTED], rounds[ROUNDS][PLANTED];

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

/* A struct eventpoll and an eventpoll_epi each; and a file and a dentry, which others make, too. */
static void make(int *fds)
{
	static int event = -1;
	struct epoll_event nothing = { 0 };
	const rlim_t most = ROUNDS * PLANTED + 100;
	struct rlimit limit;
	int i;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (event < 0)
		event = eventfd(0, EFD_CLOEXEC);
	for (i = 0; i < PLANTED; i++) {
		fds[i] = epoll_create1(EPOLL_CLOEXEC);
		assert_true(fds[i] >= 0);
		assert_int_equal(epoll_ctl(fds[i], EPOLL_CTL_ADD, event, &nothing), 0);
	}
}

static void end(const int *fds)
{
	int i;

	for (i = 0; i < PLANTED; i++)
		close(fds[i]);
}

static void plant(void)
{
	make(planted);
}

static void uproot(void)
{
	end(planted);
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

static bool about(s64 is, s64 should)
{
	return is > should - PLANTED / 20 && is < should + PLANTED / 20;
}

/* === Tests ================================================================================ */

/* Whether all ways of counting find what is planted. Types take the most time. */
static bool counts_planted(struct ks_live *live, bool types)
{
	struct ks_live_snapshot *s;
	bool right;

	ks_live_census_now(live, types);
	ks_live_rebase(live);
	ks_live_snapshot_put(poll_live(live));
	plant();
	ks_live_census_now(live, types);
	s = poll_live(live);
	assert_true(s->parts[KS_LIVE_CACHES].exact);
	right = about(change_of(s, KS_LIVE_BY_CACHE, "eventpoll_epi"), PLANTED) &&
		(!types || about(change_of(s, KS_LIVE_BY_TYPE, "eventpoll"), PLANTED));
	assert_true(s->quality.cpu_ns && s->quality.census_ns && s->quality.memory);
	ks_live_snapshot_put(s);

	/* By the counters alone, which the count before has corrected. */
	s = poll_live(live);
	assert_false(s->parts[KS_LIVE_CACHES].exact);
	right = right && about(change_of(s, KS_LIVE_BY_CACHE, "eventpoll_epi"), PLANTED);
	ks_live_snapshot_put(s);

	uproot();
	if (!right) /* until RCU has freed what was uprooted: it is in use until then */
		sleep(2);
	return right;
}

/* This very test may run elsewhere on the machine, and plant and uproot at the same time: then once more. */
static void the_census_counts_what_is_planted(void **state)
{
	const struct ks_live_opts opts = { .census_first = true };
	struct ks_live_snapshot *s;
	struct ks_live *live;
	bool right = false;
	int i;

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
	for (i = 0; !right && i < 20; i++)
		right = counts_planted(live, false);
	assert_true(right);
	for (i = 0, right = false; !right && i < 10; i++)
		right = counts_planted(live, true);
	assert_true(right);
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

/*
 * Whether most of what is made now is in slabs that this program made. Those on a CPU count as full, and others have
 * objects in them, too: a few more than were made are right.
 */
static bool growth_finds(int *fds)
{
	const struct ks_live_opts opts = { .level = KS_LIVE_GROWTH, .types_ns = KS_LIVE_NEVER };
	struct ks_live *live = open_live(&opts);
	struct ks_live_snapshot *s = poll_live(live);
	struct ks_live_row row;
	bool right;

	assert_int_equal(mine(s, "do_epoll_create").objects, 0);
	ks_live_snapshot_put(s);
	make(fds);
	s = poll_live(live);
	row = mine(s, "do_epoll_create");
	right = row.objects > PLANTED / 3 && row.objects < PLANTED + PLANTED / 20 &&
		!s->quality.no_room;
	if (!right)
		print_message("# %" PRIu64 " objects in new slabs, %" PRIu64
			      " slabs without room\n",
			      row.objects, s->quality.no_room);
	assert_true(row.bytes >= row.objects * 64 && row.bytes_change == (s64)row.bytes);
	assert_true(!right || row.age_ns < 3600000000000);
	assert_true(s->quality.stacks && s->quality.kernel_memory);
	ks_live_snapshot_put(s);
	ks_live_close(live);
	return right;
}

/*
 * Objects that find a place in a slab that is there already make none. RCU frees what earlier tests have closed seconds
 * later, which makes such places. So nothing ends until a round is right: what it made fills them for the next one.
 */
static void growth_names_who_made_slabs(void **state)
{
	bool right = false;
	int i, made = 1;

	need_root();
	make(rounds[0]);
	while (!right && made < ROUNDS)
		right = growth_finds(rounds[made++]);
	for (i = 0; i < made; i++)
		end(rounds[i]);
	assert_true(right);
}

/* Memory that is freed by RCU is in use until all readers are done, which takes as long as it takes. */
static void wait_until_gone(struct ks_live *live)
{
	struct ks_live_snapshot *s;
	bool gone = false;
	int i;

	for (i = 0; !gone && i < 100; i++) {
		ks_live_census_now(live, false);
		s = poll_live(live);
		gone = mine(s, "do_epoll_create").objects < PLANTED / 4;
		ks_live_snapshot_put(s);
		if (!gone)
			usleep(100000);
	}
	assert_true(gone);
}

static struct ks_live *open_for_me(enum ks_live_level level)
{
	/* A point in 2,000 bytes: 3,000 objects of 256 bytes are drawn 350 times. */
	const struct ks_live_opts opts = {
		.level = level,
		.types_ns = KS_LIVE_NEVER,
		.sample_bytes = 2000,
		.filter = { .pid = (u32)getpid() },
	};

	need_root();
	return open_live(&opts);
}

/* The error is the standard error: one run in a million is further off than five of them. */
static void samples_stand_for_all(void **state)
{
	struct ks_live *live = open_for_me(KS_LIVE_SAMPLED);
	struct ks_live_snapshot *s;
	struct ks_live_row row;
	double share, error;

	plant();
	s = poll_live(live);
	row = mine(s, "do_epoll_create");
	assert_true(row.bytes && row.error > 0);
	share = (double)row.objects / PLANTED;
	error = row.error / (double)row.bytes;
	print_message("# %.3f of them, +- %.3f\n", share, error);
	assert_true(error < 0.1 && share > 1 - 5 * error && share < 1 + 5 * error);
	assert_true(s->quality.events >= PLANTED && s->quality.stacks < s->quality.events);
	ks_live_snapshot_put(s);

	/* They end by kfree_rcu(), which raises no event: by a probe on it, or by a count. */
	uproot();
	wait_until_gone(live);
	ks_live_close(live);
}

static void exact_sums_are_exact(void **state)
{
	struct ks_live *live = open_for_me(KS_LIVE_EXACT);
	struct ks_live_snapshot *s;
	struct ks_live_row row;

	plant();
	s = poll_live(live);
	row = mine(s, "do_epoll_create");
	if (row.objects != PLANTED || s->quality.no_room)
		print_message("# %" PRIu64 " of %d objects, %" PRIu64 " bytes; of %" PRIu64
			      " events %" PRIu64 " without room, %" PRIu64 " missed, %" PRIu64
			      " reconciled\n",
			      row.objects, PLANTED, row.bytes, s->quality.events,
			      s->quality.no_room, s->quality.recursion, s->quality.reconciled);
	assert_true(row.objects <= PLANTED && row.objects + s->quality.recursion >= PLANTED);
	assert_int_equal(row.bytes % row.objects, 0);
	assert_true(row.age_ns < 3600000000000);
	assert_int_equal(s->quality.no_room, 0);
	ks_live_snapshot_put(s);

	uproot();
	wait_until_gone(live);
	ks_live_close(live);
}

/* Only one cache, which is not the one of what is planted; then that one. */
static void a_cache_can_be_chosen(void **state)
{
	const char *const caches[] = { "filp" };
	const struct ks_live_filter filter = { .caches = caches,
					       .nr_caches = 1,
					       .pid = (u32)getpid() };
	const char *const none[] = { "no-such-cache" };
	const struct ks_live_filter wrong = { .caches = none, .nr_caches = 1 };
	struct ks_live *live = open_for_me(KS_LIVE_CENSUS);
	struct ks_live_snapshot *s;
	struct ks_diag diag;

	if (ks_live_try(KS_LIVE_EXACT, &diag)) {
		print_message("# %s\n", diag.text);
		ks_live_close(live);
		skip();
	}
	assert_int_equal(ks_live_set_level(live, KS_LIVE_EXACT, &wrong, &diag), -ENOENT);
	assert_int_equal(ks_live_level(live), KS_LIVE_CENSUS);
	assert_int_equal(ks_live_set_level(live, KS_LIVE_EXACT, &filter, &diag), 0);
	plant();
	s = poll_live(live);
	assert_int_equal(mine(s, "do_epoll_create").objects, 0);
	assert_true(mine(s, "alloc_empty_file").objects + s->quality.recursion >= PLANTED);
	assert_string_equal(mine(s, "alloc_empty_file").cache, "filp");
	ks_live_snapshot_put(s);
	uproot();
	assert_int_equal(ks_live_set_level(live, KS_LIVE_CENSUS, NULL, &diag), 0);
	s = poll_live(live);
	assert_false(s->parts[KS_LIVE_TRACED].present);
	ks_live_snapshot_put(s);
	ks_live_close(live);
}

/* Not where this kernel refuses probes. */
static void need_exact(void)
{
	struct ks_diag diag;

	need_root();
	if (ks_live_try(KS_LIVE_EXACT, &diag)) {
		print_message("# %s\n", diag.text);
		skip();
	}
}

/* Of what was planted last. */
static char site_name[160], group_name[160];

/* What a site has of what is planted, when only @filter is looked at. */
static struct ks_live_row planted_with(struct ks_live *live, const struct ks_live_filter *filter,
				       const char *site)
{
	const struct ks_live_within here = { .name = { [KS_LIVE_BY_PROCESS] = me() } };
	struct ks_live_snapshot *s;
	struct ks_live_rows groups;
	struct ks_live_row row;
	struct ks_diag diag;

	assert_int_equal(ks_live_set_level(live, KS_LIVE_EXACT, filter, &diag), 0);
	plant();
	s = poll_live(live);
	row = mine(s, site);
	row.objects += s->quality.recursion;
	assert_int_equal(ks_live_rows(s, KS_LIVE_BY_CGROUP, &here, &groups), 0);
	snprintf(group_name, sizeof(group_name), "%s",
		 groups.items.len ? groups.items.items[0].name : "");
	ks_live_rows_free(&groups);
	snprintf(site_name, sizeof(site_name), "%s", row.name);
	row.name = site_name;
	ks_live_snapshot_put(s);
	uproot();
	return row;
}

/* A whole function, and then one place in it. */
static void a_site_can_be_chosen(void **state)
{
	const char *sites[] = { "do_epoll_create" };
	struct ks_live_filter filter = { .sites = sites, .nr_sites = 1, .pid = (u32)getpid() };
	struct ks_live *live;
	struct ks_live_row row;
	struct ks_diag diag;

	need_exact();
	live = open_for_me(KS_LIVE_CENSUS);
	row = planted_with(live, &filter, "do_epoll_create");
	assert_true(row.objects >= PLANTED);
	assert_non_null(strchr(row.name, '+'));
	assert_true(planted_with(live, &filter, "alloc_empty_file").objects < PLANTED / 20);
	row = planted_with(live, &filter, "do_epoll_create");
	sites[0] = row.name;
	assert_true(planted_with(live, &filter, "do_epoll_create").objects >= PLANTED);
	sites[0] = "do_epoll_create+0x1";
	assert_true(planted_with(live, &filter, "do_epoll_create").objects < PLANTED / 20);
	sites[0] = "no_such_function";
	assert_int_equal(ks_live_set_level(live, KS_LIVE_EXACT, &filter, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "no_such_function"));
	ks_live_close(live);
}

/* The directory of all cgroups of the second version; NULL = there is none. */
static const char *cgroups(void)
{
	static char at[512];
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char type[64];
	bool found = false;

	assert_non_null(mounts);
	while (!found && fscanf(mounts, "%*s %511s %63s %*s %*d %*d", at, type) == 2)
		found = !strcmp(type, "cgroup2");
	fclose(mounts);
	return found ? at : NULL;
}

static bool move_to(const char *group)
{
	char path[1024];
	FILE *file;
	bool moved;

	snprintf(path, sizeof(path), "%s/%s/cgroup.procs", cgroups(), group);
	file = fopen(path, "we");
	if (!file)
		return false;
	moved = fprintf(file, "%d\n", getpid()) > 0;
	return fclose(file) == 0 && moved;
}

static void move_back(const char *before, const char *outer, const char *inner)
{
	move_to(before);
	rmdir(inner);
	rmdir(outer);
}

/* A cgroup has what is allocated in it and below it, and nothing else. */
static void a_cgroup_can_be_chosen(void **state)
{
	char before[512] = "", outer[600], inner[700], name[64], sub[80];
	struct ks_live_filter filter = { .cgroup = name, .pid = (u32)getpid(), .stacks = true };
	struct ks_live *live;
	u64 outside, inside;
	struct ks_diag diag;
	bool named;
	FILE *own;

	need_exact();
	own = fopen("/proc/self/cgroup", "re");
	while (own && fgets(before, sizeof(before), own) && strncmp(before, "0::", 3) != 0)
		;
	if (own)
		fclose(own);
	before[strcspn(before, "\n")] = '\0';
	snprintf(name, sizeof(name), "/ks-live-%d", getpid());
	snprintf(sub, sizeof(sub), "%s/sub", name);
	snprintf(outer, sizeof(outer), "%s%s", cgroups() ? cgroups() : "/nowhere", name);
	snprintf(inner, sizeof(inner), "%s/sub", outer);
	if (strncmp(before, "0::", 3) != 0 || mkdir(outer, 0700) || mkdir(inner, 0700) ||
	    !move_to(sub)) {
		move_back(before + 3, outer, inner);
		print_message("# no cgroup can be made here\n");
		skip();
	}
	live = open_for_me(KS_LIVE_CENSUS);
	inside = planted_with(live, &filter, "do_epoll_create").objects;
	named = !strcmp(group_name, sub);
	move_to(before + 3);
	outside = planted_with(live, &filter, "do_epoll_create").objects;
	move_back(before + 3, outer, inner);
	assert_true(inside >= PLANTED);
	assert_true(named);
	assert_true(outside < PLANTED / 20);
	assert_int_equal(ks_live_set_level(live, KS_LIVE_EXACT, &filter, &diag), -ENOENT);
	ks_live_close(live);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_census_counts_what_is_planted),
	cmocka_unit_test(a_cache_can_be_chosen),
	cmocka_unit_test(a_site_can_be_chosen),
	cmocka_unit_test(a_cgroup_can_be_chosen),
	cmocka_unit_test(samples_stand_for_all),
	cmocka_unit_test(exact_sums_are_exact),
	cmocka_unit_test(growth_names_who_made_slabs),
};

KS_RUN(tests)
