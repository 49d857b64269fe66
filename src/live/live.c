// SPDX-License-Identifier: LGPL-2.1-only
/* Looks at the running kernel again and again, and sees to it that this stays cheap. */
#include "live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/hash.h"
#include "heap/kernel.h"
#include "heap/snapshot.h"
#include "live/census-level.h"
#include "live/probe.h"

/* === Data ================================================================================= */

enum {
	BUDGET = 50,  /* 1/10000 of a CPU */
	FAILURES = 3, /* exact counts that fail in a row, and then there are no more */
};

static const u64 rate_ns = 10000000000, soonest_ns = 1000000000;

/* When something that costs much is due. */
struct due {
	u64 every_ns; /* 0 = by the budget */
	u64 cost_ns;  /* of the last one */
	u64 next_ns;
	unsigned int failed; /* in a row */
	bool now;
};

struct ks_live {
	struct ks_live_opts opts;
	struct ks_census_level census;
	struct ks_probe *probe; /* NULL at the level of the census */
	struct ks_live_snapshot *last;
	struct due count, types;
	u64 seed, cpu_ns;
	bool rebase;
	char no_census[256]; /* why exact counts can't be had; "" = they can */
};

/* === Internals: time ====================================================================== */

static u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static u64 cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static bool is_due(const struct due *due, u64 now)
{
	if (due->failed >= FAILURES)
		return false;
	return due->now || (due->every_ns != KS_LIVE_NEVER && now >= due->next_ns);
}

/* The next one may come when this one's cost is the budget's share of the time since. */
static void done(struct due *due, const struct ks_live *live, u64 now, u64 cost)
{
	u32 budget = live->opts.budget ? live->opts.budget : BUDGET;
	u64 pause = due->every_ns ? due->every_ns : cost / budget * 10000;

	due->cost_ns = cost;
	due->now = false;
	due->next_ns = now + ks_max(pause, soonest_ns);
}

/* === Internals: one look ================================================================== */

/* An exact count, where it is due and possible. */
static int count(struct ks_live *live, struct ks_live_snapshot *s, bool types, bool *ret_counted)
{
	u64 start = cpu_ns(), cost;
	struct ks_diag diag;
	int err = ks_census_level_count(&live->census, types, s, &diag);

	if (err == -ENOMEM)
		return err;
	cost = cpu_ns() - start;
	done(&live->count, live, s->at_ns, cost);
	if (types)
		done(&live->types, live, s->at_ns, cost);
	live->count.failed = err ? live->count.failed + 1 : 0;
	live->types.failed = live->count.failed;
	if (err)
		memcpy(live->no_census, diag.text,
		       ks_min(sizeof(live->no_census) - 1, strlen(diag.text) + 1));
	else
		live->no_census[0] = '\0';
	*ret_counted = !err;
	return 0;
}

/* A snapshot may be half filled when a count fails: then a new one is taken. */
static int look(struct ks_live *live, struct ks_live_snapshot **s, struct ks_diag *diag)
{
	bool types = is_due(&live->types, (*s)->at_ns), counted = false;
	bool first = !live->last && !live->opts.census_first;
	int err = 0;

	if (!first && (types || live->census.no_counters || is_due(&live->count, (*s)->at_ns)))
		err = count(live, *s, types, &counted);
	if (err)
		return err;
	if (!counted && (*s)->cells.len) {
		u64 at = (*s)->at_ns;

		ks_live_snapshot_put(*s);
		*s = ks_live_snapshot_new(live->seed);
		if (!*s)
			return -ENOMEM;
		(*s)->at_ns = at;
	}
	if (!counted)
		err = ks_census_level_counters(&live->census, *s, diag);
	if (err && *live->no_census)
		return ks_diag_set(diag, err, "%s; %s", live->no_census, diag->text);
	return err;
}

static int fill(struct ks_live *live, struct ks_live_snapshot **slot, struct ks_diag *diag)
{
	struct ks_live_snapshot *s;
	int err = look(live, slot, diag);

	s = *slot;
	if (!err)
		err = ks_live_memory_read(&s->memory, diag);
	if (!err && live->last && live->last->parts[KS_LIVE_TYPES].present &&
	    !s->parts[KS_LIVE_TYPES].present)
		err = ks_live_carry(s, live->last, KS_LIVE_TYPES);
	if (!err && live->last && live->last->parts[KS_LIVE_CGROUPS].present &&
	    !s->parts[KS_LIVE_CGROUPS].present)
		err = ks_live_carry(s, live->last, KS_LIVE_CGROUPS);
	if (!err && *live->no_census)
		err = ks_live_unseen(s, live->no_census);
	if (!err && live->probe)
		err = live->probe->ops->poll(live->probe, s, diag);
	if (!err)
		err = ks_live_compare(s, live->last, live->rebase,
				      live->opts.rate_ns ? live->opts.rate_ns : rate_ns);
	return err;
}

/* === Public =============================================================================== */

int ks_live_open(const struct ks_live_opts *opts, struct ks_live **ret_live, struct ks_diag *diag)
{
	struct ks_live *live = calloc(1, sizeof(*live));
	int err;

	if (!live)
		return ks_diag_nomem(diag, "looking at the kernel");
	live->opts = *opts;
	live->seed = ks_hash_seed();
	live->count.every_ns = opts->census_ns;
	live->types.every_ns = opts->types_ns;
	live->count.now = live->types.now = opts->census_first;
	if (opts->types_ns == KS_LIVE_NEVER)
		live->types.now = false;
	if (ks_census_level_init(&live->census))
		err = ks_diag_nomem(diag, "looking at the kernel");
	else
		err = ks_probe_open(opts, &live->census, &live->probe, diag);
	if (err) {
		ks_live_close(live);
		return err;
	}
	*ret_live = live;
	return 0;
}

void ks_live_close(struct ks_live *live)
{
	if (!live)
		return;
	ks_probe_close(live->probe);
	ks_census_level_deinit(&live->census);
	ks_live_snapshot_put(live->last);
	free(live);
}

int ks_live_poll(struct ks_live *live, struct ks_live_snapshot **ret_snapshot, struct ks_diag *diag)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(live->seed);
	u64 start = cpu_ns();
	int err;

	if (!s)
		return ks_diag_nomem(diag, "looking at the kernel");
	s->at_ns = clock_ns(CLOCK_BOOTTIME);
	err = fill(live, &s, diag);
	if (err) {
		ks_live_snapshot_put(s);
		return err == -ENOMEM ? ks_diag_nomem(diag, "looking at the kernel") : err;
	}
	live->cpu_ns += cpu_ns() - start;
	s->wall_ns = clock_ns(CLOCK_REALTIME);
	s->level = live->opts.level;
	s->quality.cpu_ns = live->cpu_ns;
	s->quality.census_ns = live->count.cost_ns;
	s->quality.types_ns = live->types.cost_ns;
	s->quality.memory = ks_live_resident() + s->quality.kernel_memory;
	ks_live_snapshot_put(live->last);
	live->last = ks_live_snapshot_get(s);
	live->rebase = false;
	*ret_snapshot = s;
	return 0;
}

void ks_live_rebase(struct ks_live *live)
{
	live->rebase = true;
}

void ks_live_census_now(struct ks_live *live, bool types)
{
	live->count.now = true;
	live->types.now = types;
}

int ks_live_want_type(struct ks_live *live, u64 addr)
{
	u64 *slot = ks_vec_push(&live->census.wanted);

	if (!slot)
		return -ENOMEM;
	*slot = addr;
	return 0;
}

int ks_live_heap(struct ks_live *live, struct ks_snapshot **ret_heap, struct ks_diag *diag)
{
	struct ks_kernel *kernel = live->census.kernel;
	struct ks_snapshot_options options = { .graph = true };

	if (!kernel)
		return ks_diag_set(diag, -ENOENT, "the kernel's memory was not read yet");
	if (*kernel->memory->facts.symbols)
		options.kallsyms = kernel->memory->facts.symbols;
	return ks_snapshot_take(kernel, &options, ret_heap, diag);
}

int ks_live_set_level(struct ks_live *live, enum ks_live_level level,
		      const struct ks_live_filter *filter, struct ks_diag *diag)
{
	static const struct ks_live_filter all;
	struct ks_live_opts opts = live->opts;
	struct ks_probe *probe;
	int err;

	opts.level = level;
	opts.filter = filter ? *filter : all;
	err = ks_probe_open(&opts, &live->census, &probe, diag);
	if (err)
		return err;
	ks_probe_close(live->probe);
	live->probe = probe;
	live->opts = opts;
	return 0;
}

enum ks_live_level ks_live_level(const struct ks_live *live)
{
	return live->opts.level;
}

int ks_live_try(enum ks_live_level level, struct ks_diag *diag)
{
	struct ks_live_opts opts = { .level = level };
	struct ks_live_snapshot *snapshot;
	struct ks_live *live;
	int err = ks_live_open(&opts, &live, diag);

	if (err)
		return err;
	err = ks_live_poll(live, &snapshot, diag);
	if (!err)
		ks_live_snapshot_put(snapshot);
	ks_live_close(live);
	return err;
}
