// SPDX-License-Identifier: LGPL-2.1-only
/* A snapshot of the view of leaks: what lives by site and process, with ages, and how much speaks for a leak. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/evidence.h"
#include "analysis/kept.h"
#include "analysis/kernel-slabs.h"
#include "analysis/leaks-state.h"
#include "base/map64.h"

/* === Data ================================================================================= */

/* What lives of a user's. */
struct living {
	u64 objects, bytes;
	u64 births[KS_EVIDENCE_SLICES];
	u32 evidence;
	bool unknown; /* nobody can say what lives */
};

/* All users of a site, or those of them that have one name. */
struct user_sum {
	struct ks_fate fate;
	u64 implied, paged, counted;
};

/* All users of a cache. */
struct cache_sum {
	struct ks_fate fate;
	u64 live;
	u64 excess; /* how many of these the kernel does not have */
	u64 most;   /* that the kernel has; UINT64_MAX = not known */
	bool reclaimable;
};

/* A row in the making: what lives of a site and a process, from one stack. */
struct row {
	struct ks_leak leak;
	u32 process; /* the number of site and process */
	u32 stack;
	u32 best;   /* of its users, which have a cache each, the one with most evidence */
	u32 cgroup; /* of its processes; KS_NONE = several, or not known */
};

/* A user with so much evidence is judged by itself, whatever comes of the objects of others. */
enum { STRONG = KS_EVIDENCE_FULL / 5 };

/* kfree_rcu() keeps what it is given for up to five seconds, and then waits for a grace period. */
#define RCU_LAG 6000000000ull

/* A snapshot in the making. */
struct gather {
	const struct ks_leaks_view *view;
	const struct ks_run *run;
	struct ks_leaks *leaks;
	u64 now;		       /* since the first event */
	u64 births;		       /* since then, too: how long allocations were recorded */
	struct ks_map64 processes;     /* site << 32 | comm */
	KS_VEC(u32) process_of;	       /* by user */
	KS_VEC(struct user_sum) sums;  /* by the number of site and process */
	KS_VEC(struct user_sum) sites; /* by site + 1 */
	struct ks_map64 keys; /* the number of site and process << 32 | stack, numbered as rows */
	KS_VEC(struct row) rows;
	KS_VEC(struct living) living;	 /* by user */
	KS_VEC(struct cache_sum) caches; /* by their group */
	const struct ks_kernel_slabs *kernel;
	bool proven; /* the kernel itself said of each object whether it lives */
	bool lost;   /* events are missing */
};

/* === Internals ============================================================================ */

/* When an object was born, since the first event. */
static u64 birth_of(const struct gather *g, const struct ks_held *held)
{
	return held->born > g->run->first_ts ? held->born - g->run->first_ts : 0;
}

static u64 slice_of(const struct gather *g, u64 born)
{
	u64 slice = g->births ? born / (g->births / KS_EVIDENCE_SLICES + 1) : 0;

	return ks_min(slice, (u64)KS_EVIDENCE_SLICES - 1);
}

static int count_living(struct gather *g, const struct ks_held *held)
{
	struct living *living = &g->living.items[held->user];

	living->objects++;
	living->bytes += held->bytes_alloc;
	living->births[slice_of(g, birth_of(g, held))]++;
	return 0;
}

/* Of two users of a row, which one speaks more for a leak. */
static bool is_better(const struct gather *g, u32 number, u32 than)
{
	const struct living *a = &g->living.items[number], *b = &g->living.items[than];

	if (a->unknown != b->unknown)
		return b->unknown;
	if (a->evidence != b->evidence)
		return a->evidence > b->evidence;
	return a->bytes != b->bytes ? a->bytes > b->bytes : number < than;
}

static int find_row(struct gather *g, const struct ks_held *held, struct row **ret_row)
{
	u32 process = g->process_of.items[held->user];
	u32 at = ks_map64_add(&g->keys, (u64)process << 32 | held->stack);
	struct row *row;

	if (at == KS_NONE || (at == g->rows.len && !ks_vec_push(&g->rows)))
		return -ENOMEM;
	row = &g->rows.items[at];
	if (!row->leak.objects)
		*row = (struct row){ { .pid = held->pid },
				     process,
				     held->stack,
				     held->user,
				     ks_task_cgroup_of(g->run->names->tasks, held->pid) };
	*ret_row = row;
	return 0;
}

/* Once all users are judged. */
static int add_object(struct gather *g, const struct ks_held *held)
{
	u64 born = birth_of(g, held);
	u64 age = g->now > born ? g->now - born : 0;
	struct ks_leak *leak;
	struct row *row;

	if (age < g->leaks->min_age) {
		g->leaks->young_objects++;
		g->leaks->young_bytes += held->bytes_alloc;
		return 0;
	}
	if (find_row(g, held, &row))
		return -ENOMEM;
	if (row->best != held->user && is_better(g, held->user, row->best))
		row->best = held->user;
	leak = &row->leak;
	if (leak->pid != held->pid) {
		leak->pid = KS_PID_UNKNOWN;
		if (row->cgroup != ks_task_cgroup_of(g->run->names->tasks, held->pid))
			row->cgroup = KS_NONE;
	}
	leak->oldest = ks_max(leak->oldest, age);
	leak->youngest = leak->objects ? ks_min(leak->youngest, age) : age;
	leak->age_sum += age;
	leak->births[slice_of(g, born)]++;
	leak->objects++;
	leak->bytes += held->bytes_alloc;
	leak->bytes_req += held->bytes_req;
	return 0;
}

static u64 unseen_of(const struct ks_leak_user *user)
{
	return user->implied + user->paged + user->counted;
}

static void add_to_sum(struct user_sum *sum, const struct ks_leak_user *user)
{
	sum->fate.allocs += user->allocs;
	sum->fate.frees += user->frees;
	sum->fate.unseen += unseen_of(user);
	sum->implied += user->implied;
	sum->paged += user->paged;
	sum->counted += user->counted;
}

static int add_user(struct gather *g, u32 number)
{
	const struct ks_leak_user *user = &g->view->users.items[number];
	struct cache_sum *cache = &g->caches.items[user->cache];
	u32 process = ks_map64_add(&g->processes, (u64)user->site << 32 | user->comm);
	u32 *process_of = ks_vec_push(&g->process_of);

	if (process == KS_NONE || !process_of || (process == g->sums.len && !ks_vec_push(&g->sums)))
		return -ENOMEM;
	*process_of = process;
	while (g->sites.len <= (u32)(user->site + 1))
		if (!ks_vec_push(&g->sites))
			return -ENOMEM;
	add_to_sum(&g->sums.items[process], user);
	add_to_sum(&g->sites.items[(u32)(user->site + 1)], user);
	cache->fate.frees += user->frees;
	cache->fate.unseen += unseen_of(user);
	cache->live += g->living.items[number].objects;
	return 0;
}

/* What the kernel itself had of a cache when the recording ended. */
static int ask_kernel(struct gather *g, u32 number)
{
	struct cache_sum *cache = &g->caches.items[number];
	struct ks_kernel_cache kernel;
	const char *label;

	cache->most = UINT64_MAX;
	if (!g->kernel->counted[1])
		return 0;
	label = ks_grouping_label(&g->view->caches, number, &g->leaks->arena);
	if (!label)
		return -ENOMEM;
	if (!ks_kernel_slabs_find(g->kernel, label, &kernel))
		return 0;
	cache->reclaimable = kernel.reclaimable;
	if (g->proven || g->run->until != UINT64_MAX)
		return 0;
	cache->most = kernel.objects[1];
	if (cache->live > kernel.objects[1])
		cache->excess = cache->live - kernel.objects[1];
	return 0;
}

/*
 * What the kernel still had of a user whose objects end unseen may have been given to kfree_rcu() before: those of the
 * last seconds are no survivors.
 */
static u32 evidence_of(const struct gather *g, const struct ks_leak_user *user,
		       const struct living *living)
{
	u64 births[KS_EVIDENCE_SLICES], i;

	memcpy(births, living->births, sizeof(births));
	if (g->proven && unseen_of(user) > user->frees)
		for (i = slice_of(g, g->births - ks_min(g->births, RCU_LAG));
		     i < KS_EVIDENCE_SLICES; i++)
			births[i] = 0;
	return ks_evidence(user->allocs, births);
}

/* Once the sums of all caches are known. */
static void judge_user(struct gather *g, u32 number)
{
	const struct ks_leak_user *user = &g->view->users.items[number];
	const struct ks_fate fate = { user->allocs, user->frees, unseen_of(user) };
	struct living *living = &g->living.items[number];
	const struct cache_sum *cache = &g->caches.items[user->cache];

	if (!living->objects)
		return;
	living->evidence = evidence_of(g, user, living);
	if (g->proven)
		living->unknown = ks_fate_is_ending(&fate, living->objects, &cache->fate);
	else
		living->unknown = ks_fate_is_unknown(&fate, living->objects, &cache->fate) ||
				  cache->excess > living->objects / 2;
}

/* A stack trace begins with the allocator; what matters begins with the site's own function. */
static int skip_allocator(struct gather *g, const char *func, const u32 **frames, size_t *len,
			  struct ks_diag *diag)
{
	const struct ks_place *place;
	size_t i;

	for (i = 0; i < *len && *func; i++) {
		int err = ks_places_get(g->run->frames, (*frames)[i], &place, diag);

		if (err)
			return err;
		if (strcmp(place->func, func))
			continue;
		*frames += i;
		*len -= i;
		break;
	}
	return 0;
}

/* The labels of a stack's frames, from the function of the site on. */
static int add_frames(struct gather *g, u32 stack, const char *func, struct ks_leak *leak,
		      struct ks_diag *diag)
{
	const u32 *sites = ks_names_stack(g->run->names, stack, &leak->frames_len);
	struct ks_arena *arena = &g->leaks->arena;
	size_t i;
	int err = skip_allocator(g, func, &sites, &leak->frames_len, diag);

	if (err)
		return err;
	leak->frames = ks_arena_alloc(arena, leak->frames_len * sizeof(*leak->frames) + 1);
	if (!leak->frames)
		return ks_diag_nomem(diag, "looking for leaks");
	for (i = 0; i < leak->frames_len; i++) {
		const struct ks_place *place;

		err = ks_places_get(g->run->frames, sites[i], &place, diag);
		if (err)
			return err;
		leak->frames[i] = ks_arena_strndup(arena, place->label, strlen(place->label));
		if (!leak->frames[i])
			return ks_diag_nomem(diag, "looking for leaks");
	}
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct ks_leak *a = pa, *b = pb;
	size_t i;

	if (a->evidence != b->evidence)
		return a->evidence > b->evidence ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	if (strcmp(a->label, b->label))
		return strcmp(a->label, b->label);
	if (strcmp(a->comm, b->comm))
		return strcmp(a->comm, b->comm);
	for (i = 0; i < a->frames_len && i < b->frames_len; i++)
		if (strcmp(a->frames[i], b->frames[i]))
			return strcmp(a->frames[i], b->frames[i]);
	return a->frames_len < b->frames_len ? -1 : a->frames_len > b->frames_len;
}

/* Who holds the objects of a row, and where they are from. */
static int add_process(struct gather *g, u32 number, u32 cgroup, struct ks_leak *leak,
		       struct ks_diag *diag)
{
	const struct ks_leak_user *user = &g->view->users.items[number];
	struct ks_str comm = { "", 0 }, path = { "", 0 };

	if (user->comm != KS_NONE)
		comm = ks_intern_get(&g->run->names->comms, user->comm);
	if (cgroup != KS_NONE)
		path = ks_intern_get(&g->run->names->tasks->paths, cgroup);
	leak->evidence = g->living.items[number].evidence;
	leak->cgroup = ks_arena_strndup(&g->leaks->arena, path.s, path.len);
	leak->comm = ks_arena_strndup(&g->leaks->arena, comm.s, comm.len);
	leak->cache = ks_grouping_label(&g->view->caches, user->cache, &g->leaks->arena);
	return leak->comm && leak->cgroup && leak->cache ? 0
							 : ks_diag_nomem(diag, "looking for leaks");
}

/*
 * From where to where the number of living objects may be. The kernel's own list of objects settles it; without
 * one, any object of a site or a cache whose objects end unseen may have ended.
 */
static void set_interval(const struct gather *g, const struct user_sum *site,
			 const struct cache_sum *cache, struct ks_leak *leak)
{
	bool unseen = site->fate.unseen || cache->fate.unseen || cache->excess;

	leak->above = g->lost;
	leak->objects_most = ks_min(leak->objects, cache->most);
	leak->bytes_most = leak->bytes / leak->objects * leak->objects_most;
	if (leak->objects_most == leak->objects)
		leak->bytes_most = leak->bytes;
	leak->objects_least = leak->objects_most;
	leak->bytes_least = leak->bytes_most;
	leak->unsure = leak->above || (unseen && !g->proven);
	if (leak->unsure)
		leak->objects_least = leak->bytes_least = 0;
}

/*
 * The table that a row belongs to gets it. Whether ends are seen depends on the code that frees, so the site is asked,
 * whoever uses it.
 */
static int file_row(struct gather *g, const struct row *row, const struct ks_place *place,
		    const struct ks_leak *leak)
{
	const struct ks_leak_user *user = &g->view->users.items[row->best];
	const struct cache_sum *cache = &g->caches.items[user->cache];
	const struct user_sum *site = &g->sites.items[(u32)(user->site + 1)];
	const struct living *best = &g->living.items[row->best];
	struct ks_leaks *leaks = g->leaks;
	struct ks_leak *slot;
	bool unseen = ks_fate_is_unseen(&site->fate, &cache->fate) || cache->excess;

	if (unseen && (best->unknown || (!g->proven && best->evidence < STRONG))) {
		slot = ks_vec_push(&leaks->unseen);
	} else {
		leaks->objects += leak->objects;
		leaks->bytes += leak->bytes;
		slot = ks_is_kept(place->func, leak->cache, cache->reclaimable)
			       ? ks_vec_push(&leaks->kept)
			       : ks_vec_push(&leaks->sites);
	}
	if (!slot)
		return -ENOMEM;
	*slot = *leak;
	return 0;
}

static int add_row(struct gather *g, const struct row *row, struct ks_diag *diag)
{
	const struct ks_leak_user *user = &g->view->users.items[row->best];
	const struct user_sum *sum = &g->sums.items[row->process];
	struct ks_leak leak = row->leak;
	const struct ks_place *place;
	int err = ks_places_get(g->run->places, user->site, &place, diag);

	if (err)
		return err;
	leak.label = ks_arena_strndup(&g->leaks->arena, place->label, strlen(place->label));
	if (!leak.label)
		return ks_diag_nomem(diag, "looking for leaks");
	leak.allocs = sum->fate.allocs;
	leak.frees = sum->fate.frees;
	leak.implied_frees = sum->implied;
	leak.page_frees = sum->paged;
	leak.census_frees = sum->counted;
	set_interval(g, &g->sites.items[(u32)(user->site + 1)], &g->caches.items[user->cache],
		     &leak);
	err = add_process(g, row->best, row->cgroup, &leak, diag);
	if (!err)
		err = add_frames(g, row->stack, place->func, &leak, diag);
	if (!err && file_row(g, row, place, &leak))
		err = ks_diag_nomem(diag, "looking for leaks");
	return err;
}

/* Calls @add for all that lives. */
static int each_living(struct gather *g, int (*add)(struct gather *g, const struct ks_held *held))
{
	const struct ks_leaks_view *v = g->view;
	size_t i;

	for (i = 0; i < v->held.len; i++)
		if (v->held.items[i].lives && add(g, &v->held.items[i]))
			return -ENOMEM;
	for (i = 0; i < v->left.len; i++)
		if (add(g, &v->left.items[i]))
			return -ENOMEM;
	return 0;
}

static int add_living(struct gather *g)
{
	const struct ks_leaks_view *v = g->view;
	size_t i;

	while (g->living.len < v->users.len)
		if (!ks_vec_push(&g->living))
			return -ENOMEM;
	while (g->caches.len < ks_grouping_len(&v->caches))
		if (!ks_vec_push(&g->caches))
			return -ENOMEM;
	if (each_living(g, count_living))
		return -ENOMEM;
	for (i = 0; i < v->users.len; i++)
		if (add_user(g, (u32)i))
			return -ENOMEM;
	for (i = 0; i < g->caches.len; i++)
		if (ask_kernel(g, (u32)i))
			return -ENOMEM;
	for (i = 0; i < v->users.len; i++)
		judge_user(g, (u32)i);
	return each_living(g, add_object);
}

static void sort(struct ks_leak *rows, size_t len)
{
	if (len)
		qsort(rows, len, sizeof(*rows), compare);
}

static int fill(struct gather *g, struct ks_diag *diag)
{
	struct ks_leaks *leaks = g->leaks;
	size_t i;
	int err = add_living(g) ? ks_diag_nomem(diag, "looking for leaks") : 0;

	for (i = 0; i < g->rows.len && !err; i++)
		err = add_row(g, &g->rows.items[i], diag);
	sort(leaks->sites.items, leaks->sites.len);
	sort(leaks->kept.items, leaks->kept.len);
	sort(leaks->unseen.items, leaks->unseen.len);
	return err;
}

/* A recorder that counts the kernel's objects at its end records only frees meanwhile: nothing can be born then. */
static u64 births_end(const struct ks_run *run)
{
	const struct ks_slab_census *census = run->info ? run->info->census[KS_CENSUS_END] : NULL;

	return ks_min(ks_run_end(run), ks_slab_census_allocs_end(census));
}

/* === Public =============================================================================== */

int ks_leaks_snapshot(struct ks_view *view, const struct ks_run *run, struct ks_model *model,
		      struct ks_diag *diag)
{
	struct gather g = { .view = ks_container_of(view, struct ks_leaks_view, base), .run = run };
	u64 until = ks_run_end(run);
	int err;

	model->leaks = g.leaks = calloc(1, sizeof(*g.leaks));
	if (!g.leaks)
		return ks_diag_nomem(diag, "looking for leaks");
	ks_arena_init(&g.leaks->arena);
	g.leaks->min_age = g.view->min_age;
	g.kernel = &model->kernel_slabs;
	g.proven = g.kernel->by_object && run->until == UINT64_MAX && run->level == KS_SLAB;
	g.lost = model->quality[KS_Q_LOST_EVENTS] || model->quality[KS_Q_LOST_WINDOWS];
	g.now = until - ks_min(until, run->first_ts);
	until = births_end(run);
	g.births = until - ks_min(until, run->first_ts);
	if (ks_map64_init(&g.keys) || ks_map64_init(&g.processes))
		err = ks_diag_nomem(diag, "looking for leaks");
	else
		err = fill(&g, diag);
	ks_map64_deinit(&g.keys);
	ks_map64_deinit(&g.processes);
	ks_vec_free(&g.rows);
	ks_vec_free(&g.process_of);
	ks_vec_free(&g.sums);
	ks_vec_free(&g.living);
	ks_vec_free(&g.sites);
	ks_vec_free(&g.caches);
	return err;
}
