// SPDX-License-Identifier: LGPL-2.1-only
/* What the kernel itself has of slabs, into the capture, before its first event and after its last. */
#include "capture/recorder-state.h"

#include <errno.h>
#include <time.h>

#include "capture/slabinfo.h"

/* === Internals ============================================================================ */

static u64 wall_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

/* By the caller's means, which see single objects; else as the kernel adds them up. */
static int fill(struct ks_recorder *rec, enum ks_census_when when, struct ks_slab_census **census)
{
	int err = rec->census ? rec->census(rec->census_ctx, when == KS_CENSUS_END, *census)
			      : -EOPNOTSUPP;

	if (!err || err == -ENOMEM)
		return err;
	ks_slab_census_free(*census);
	*census = ks_slab_census_new();
	return *census ? ks_slabinfo_read("/proc/slabinfo", "/sys/kernel/slab", *census) : -ENOMEM;
}

/* Of more than two moments the first and the last stay. */
static void note_wall(struct ks_recorder *rec)
{
	/* Between two looks at the wall clock, so that a wait does not count as a difference of the clocks. */
	u64 before = wall_clock(), ts = ks_machine_now(&rec->tfs), after = wall_clock();

	if (ts && after >= before)
		ks_wall_add(&rec->meta.about.wall, ts, before + (after - before) / 2);
}

/* === Public =============================================================================== */

int ks_rec_take_census(struct ks_recorder *rec, enum ks_census_when when)
{
	struct ks_strbuf *packed = &rec->meta.census[when];
	const struct ks_wall *wall = &rec->meta.about.wall;
	struct ks_slab_census *census;
	u64 from, wall_ns;
	int err;

	/* The same moment: a DB knows the time of day by its census alone. */
	note_wall(rec);
	from = wall->len ? wall->points[wall->len - 1].ts : 0;
	wall_ns = wall->len ? wall->points[wall->len - 1].ns : wall_clock();
	if (rec->no_census)
		return 0;
	if (ks_cgroup_watch_look(&rec->cgroups, &rec->cmdlines))
		return -ENOMEM;
	census = ks_slab_census_new();
	err = census ? fill(rec, when, &census) : -ENOMEM;
	if (!err) {
		census->from = from;
		census->wall_ns = wall_ns;
		census->allocs_end = when == KS_CENSUS_END ? rec->allocs_end : 0;
		/* Rounded up, as the start of it was rounded down. */
		census->to = ks_max(ks_machine_now(&rec->tfs) + 1000, from);
		err = ks_machine_meminfo(census->memory);
	}
	if (!err) {
		census->tasks = rec->cgroups.tasks;
		ks_slab_census_pack(census, when, packed);
		census->tasks = NULL; /* the recorder's */
		err = packed->failed ? -ENOMEM : 0;
	}
	ks_slab_census_free(census);
	if (err) {
		ks_strbuf_deinit(packed);
		ks_strbuf_init(packed);
	}
	return err == -ENOMEM ? err : 0;
}
