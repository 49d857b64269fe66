// SPDX-License-Identifier: LGPL-2.1-only
/* Watches for growth: listens, looks closer, traces, says what it found. */
#include "live/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

/* === Data ================================================================================= */

enum {
	ACCUSED = 4,	  /* of one round */
	CHOSEN = 16,	  /* caches that can be looked at at once */
	ROWS_MOST = 2048, /* series of one round */
	OBJECTS_FEW = 16, /* a row of fewer has none */
};

static const double steady = 0.7; /* share of spans that are above the one before */
static const u64 second = 1000000000;
static const u64 between_ns = 5000000000; /* rounds, at least */
static const u64 listen_wait_ns = 1000000000, look_wait_ns = 500000000, trace_ns = 4000000000;

/* A cache, as long as the watch lasts. */
struct heard {
	char name[64];
	struct ks_series series; /* of bytes */
	u64 rest_until_ns;
};

/* What one site, or one process at a site, has in a cache. */
struct row {
	u64 key;
	struct ks_series series;	    /* of bytes */
	const char *cache, *site, *process; /* of the last snapshot; process NULL = all of them */
	u64 objects, bytes, example;
	bool seen;
};

struct ks_watch_state {
	KS_VEC(struct heard *) heard;
	KS_VEC(struct row *) rows;
	char chosen[CHOSEN][64];
	size_t nr_chosen;
	u64 phase_ns;			     /* when it began */
	KS_VEC(struct ks_suspect *) tracing; /* about to be accused */
	bool counted;			     /* an exact count was asked for, before accusing */
	u32 own_pid;
};

/*
 * What is allocated here goes with an inode, or with the slabs that inodes and dentries are in: the kernel takes it back
 * together with these, though its cache does not say so.
 */
static const char *const attached[] = {
	"security_inode_alloc",	    "inode_alloc_security",
	"lsm_inode_alloc",	    "alloc_slab_obj_exts",
	"memcg_alloc_slab",	    "jbd2_alloc_inode",
	"ext4_inode_attach_jinode", "xas_alloc",
	"radix_tree_node_alloc",    "alloc_buffer_head",
	"memcg_list_lru_alloc",	    "locks_get_lock_context",
};

static const char *const phases[KS_WATCH_PHASES] = {
	[KS_WATCH_LISTENS] = "listens",
	[KS_WATCH_LOOKS] = "looks",
	[KS_WATCH_TRACES] = "traces",
};

/* === Internals: listening ================================================================= */

static struct heard *hear(struct ks_watch_state *w, const char *name)
{
	struct heard **slot, *heard;
	size_t i;

	for (i = 0; i < w->heard.len; i++)
		if (!strcmp(w->heard.items[i]->name, name))
			return w->heard.items[i];
	heard = calloc(1, sizeof(*heard));
	slot = heard ? ks_vec_push(&w->heard) : NULL;
	if (!slot) {
		free(heard);
		return NULL;
	}
	snprintf(heard->name, sizeof(heard->name), "%s", name);
	*slot = heard;
	return heard;
}

/* Large kmalloc() is in no cache that could be chosen. */
static bool can_be_chosen(const struct ks_watch *watch, const struct ks_live_row *row)
{
	return (!row->reclaimable || watch->opts.keep_caches) && strlen(row->name) < 64 &&
	       strcmp(row->name, "large kmalloc") != 0;
}

static int listen(struct ks_watch *watch, const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	struct ks_live_rows rows;
	size_t i;
	int err = ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows);

	for (i = 0; !err && i < rows.items.len; i++) {
		const struct ks_live_row *row = &rows.items.items[i];
		struct heard *heard;

		if (!can_be_chosen(watch, row))
			continue;
		heard = hear(w, row->name);
		if (!heard)
			err = -ENOMEM;
		else
			ks_series_add(&heard->series, s->parts[KS_LIVE_CACHES].at_ns,
				      (double)row->bytes);
	}
	ks_live_rows_free(&rows);
	return err;
}

/*
 * By how much the lowest value of late is above the lowest before, as a share of how far values are apart: 1 is a straight
 * line up, and what swings is near 0.
 */
static double rise(const struct ks_series *s, u64 listen_ns)
{
	double first, last, low, high;
	u32 i, half;

	if (s->len < 4)
		return 0;
	/* Only what was heard since a while ago: older growth was judged before. */
	for (half = 0; half + 4 < s->len &&
		       s->points[half].at_ns + 6 * listen_ns < s->points[s->len - 1].at_ns;)
		half++;
	first = low = high = s->points[half].value;
	last = s->points[s->len - 1].value;
	for (i = half; i < s->len; i++) {
		low = ks_min(low, s->points[i].value);
		high = ks_max(high, s->points[i].value);
		if (i < (half + s->len) / 2)
			first = ks_min(first, s->points[i].value);
		else
			last = ks_min(last, s->points[i].value);
	}
	return high > low ? (last - first) / (high - low) : 0;
}

struct candidate {
	struct heard *heard;
	double rise;
};

static int by_rise(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rise != y->rise)
		return x->rise > y->rise ? -1 : 1;
	return strcmp(x->heard->name, y->heard->name);
}

/* Chooses the caches that rose the most, of those that were not looked at of late. */
static int choose(struct ks_watch *watch, u64 now)
{
	struct ks_watch_state *w = watch->state;
	KS_VEC(struct candidate) found = { 0 };
	size_t i;

	w->nr_chosen = 0;
	for (i = 0; i < w->heard.len; i++) {
		struct heard *heard = w->heard.items[i];
		double up = rise(&heard->series, watch->opts.listen_ns);
		struct candidate *c;

		if (up <= 0 || heard->rest_until_ns > now)
			continue;
		c = ks_vec_push(&found);
		if (!c) {
			ks_vec_free(&found);
			return -ENOMEM;
		}
		*c = (struct candidate){ heard, up };
	}
	if (found.len)
		qsort(found.items, found.len, sizeof(*found.items), by_rise);
	for (i = 0; i < found.len && w->nr_chosen < CHOSEN; i++) {
		found.items[i].heard->rest_until_ns = now + watch->opts.pause_ns;
		memcpy(w->chosen[w->nr_chosen++], found.items[i].heard->name, 64);
	}
	ks_vec_free(&found);
	return 0;
}

/* === Internals: changing levels =========================================================== */

static void forget_rows(struct ks_watch_state *w)
{
	size_t i;

	for (i = 0; i < w->rows.len; i++)
		free(w->rows.items[i]);
	w->rows.len = 0;
}

static void enter(struct ks_watch *watch, enum ks_watch_phase phase, u64 now)
{
	watch->phase = phase;
	watch->state->phase_ns = now;
	watch->state->counted = false;
}

static int start_looking(struct ks_watch *watch, struct ks_live *live, u64 now,
			 struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;
	const char *names[CHOSEN];
	const struct ks_live_filter filter = { .caches = names, .nr_caches = w->nr_chosen };
	size_t i;
	int err;

	for (i = 0; i < w->nr_chosen; i++)
		names[i] = w->chosen[i];
	forget_rows(w);
	err = ks_live_set_level(live, KS_LIVE_EXACT, &filter, diag);
	/* A cache may have gone meanwhile: the others can wait for the next time. */
	if (err == -ENOENT) {
		enter(watch, KS_WATCH_LISTENS, now);
		return 0;
	}
	if (err)
		return err;
	watch->rounds++;
	enter(watch, KS_WATCH_LOOKS, now);
	return 0;
}

static int stop_looking(struct ks_watch *watch, struct ks_live *live, u64 now, struct ks_diag *diag)
{
	int err = ks_live_set_level(live, KS_LIVE_CENSUS, NULL, diag);

	forget_rows(watch->state);
	enter(watch, KS_WATCH_LISTENS, now);
	return err;
}

/* === Internals: looking =================================================================== */

static struct row *find_row(struct ks_watch_state *w, u64 key, bool make)
{
	struct row **slot, *row;
	size_t i;

	for (i = 0; i < w->rows.len; i++)
		if (w->rows.items[i]->key == key)
			return w->rows.items[i];
	if (!make || w->rows.len >= ROWS_MOST)
		return NULL;
	row = calloc(1, sizeof(*row));
	slot = row ? ks_vec_push(&w->rows) : NULL;
	if (!slot) {
		free(row);
		return NULL;
	}
	row->key = key;
	*slot = row;
	return row;
}

static bool is_own(const struct ks_watch_state *w, const char *process)
{
	const char *at = process ? strrchr(process, '[') : NULL;

	return at && strtoul(at + 1, NULL, 10) == w->own_pid;
}

static const char *name_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
			   enum ks_live_by by)
{
	return cell->key[by] == KS_NONE ? NULL : ks_intern_get(&s->names[by], cell->key[by]).s;
}

static void add_to(struct ks_watch_state *w, const struct ks_live_snapshot *s,
		   const struct ks_live_cell *cell, bool by_process)
{
	const char *cache = name_of(s, cell, KS_LIVE_BY_CACHE);
	const char *site = name_of(s, cell, KS_LIVE_BY_SITE);
	const char *process = by_process ? name_of(s, cell, KS_LIVE_BY_PROCESS) : NULL;
	struct row *row;
	u64 key;

	if (!cache || !site || is_own(w, process))
		return;
	key = ks_hash_bytes(cache, strlen(cache), 1);
	key = ks_hash_bytes(site, strlen(site), key);
	if (process)
		key = ks_hash_bytes(process, strlen(process), key);
	row = find_row(w, key, cell->objects >= OBJECTS_FEW);
	if (!row)
		return;
	if (!row->seen)
		row->objects = row->bytes = 0;
	row->seen = true;
	row->cache = cache;
	row->site = site;
	row->process = process;
	row->objects += cell->objects;
	row->bytes += cell->bytes;
	row->example = cell->example;
}

/* A point for each row; what is not there any more is 0, and forgotten. */
static void look(struct ks_watch_state *w, const struct ks_live_snapshot *s)
{
	size_t i, kept = 0;

	for (i = 0; i < w->rows.len; i++)
		w->rows.items[i]->seen = false;
	for (i = 0; i < s->cells.len; i++) {
		if (s->cells.items[i].part != KS_LIVE_TRACED || !s->cells.items[i].objects)
			continue;
		add_to(w, s, &s->cells.items[i], false);
		add_to(w, s, &s->cells.items[i], true);
	}
	for (i = 0; i < w->rows.len; i++) {
		struct row *row = w->rows.items[i];

		if (!row->seen) {
			free(row);
			continue;
		}
		ks_series_add(&row->series, s->parts[KS_LIVE_TRACED].at_ns, (double)row->bytes);
		w->rows.items[kept++] = row;
	}
	w->rows.len = kept;
}

static bool is_attached(const char *site)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attached); i++)
		if (!strncmp(site, attached[i], strlen(attached[i])))
			return true;
	return false;
}

struct growing {
	struct row *row;
	struct ks_judgement judgement;
};

struct growings {
	KS_VEC(struct growing) items; /* the fastest first */
};

/* Of a site, one process comes before all of them, where it makes most of the growth. */
static double rank(const struct growing *g)
{
	return g->judgement.slope * (g->row->process ? 1.5 : 1);
}

static int by_rank(const void *a, const void *b)
{
	const struct growing *x = a, *y = b;
	double rx = rank(x), ry = rank(y);

	if (rx != ry)
		return rx > ry ? -1 : 1;
	return x->row->key < y->row->key ? -1 : 1;
}

static int find_growing(struct ks_watch *watch, struct growings *growings)
{
	const struct ks_judging how = { .shortest_ns = watch->opts.look_ns * 3 / 4,
					.smallest = (double)watch->opts.smallest,
					.confidence = watch->opts.confidence };
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < w->rows.len; i++) {
		struct ks_judgement judgement;
		struct growing *g;

		if (is_attached(w->rows.items[i]->site))
			continue;
		ks_judge(&w->rows.items[i]->series, &how, &judgement);
		if (judgement.finding != KS_FINDS_GROWS || judgement.steadiness < steady)
			continue;
		/* What everybody does swings with the load, and there are many of these rows. */
		if (!w->rows.items[i]->process &&
		    (judgement.p > 1e-4 || judgement.low < judgement.slope / 2))
			continue;
		g = ks_vec_push(&growings->items);
		if (!g)
			return -ENOMEM;
		*g = (struct growing){ w->rows.items[i], judgement };
	}
	if (growings->items.len)
		qsort(growings->items.items, growings->items.len, sizeof(*growings->items.items),
		      by_rank);
	return 0;
}

/* === Internals: accusing ================================================================== */

static void describe(struct ks_suspect *suspect, const struct row *row,
		     const struct ks_judgement *judgement, const struct ks_live_snapshot *s)
{
	double a_second = judgement->slope;

	snprintf(suspect->cache, sizeof(suspect->cache), "%s", row->cache);
	snprintf(suspect->site, sizeof(suspect->site), "%s", row->site);
	snprintf(suspect->process, sizeof(suspect->process), "%s",
		 row->process ? row->process : "");
	suspect->objects = row->objects;
	suspect->example = row->example;
	suspect->size = (u32)(row->bytes / row->objects);
	suspect->judgement = *judgement;
	suspect->found_ns = s->wall_ns;
	suspect->full_s = UINT64_MAX;
	if (a_second > 0 && (double)s->memory.available / a_second < 1e12)
		suspect->full_s = (u64)((double)s->memory.available / a_second);
}

/* How much there is in the cache, and what an object of the suspect is. */
static int add_census(struct ks_suspect *suspect, const struct ks_live_snapshot *s)
{
	const struct ks_live_within in = { .name = { [KS_LIVE_BY_CACHE] = suspect->cache } };
	struct ks_live_rows rows;
	size_t i;

	if (ks_live_rows(s, KS_LIVE_BY_CACHE, &in, &rows))
		return -ENOMEM;
	if (rows.items.len) {
		suspect->all_objects = rows.items.items[0].objects;
		suspect->reclaimable = rows.items.items[0].reclaimable;
	}
	ks_live_rows_free(&rows);
	for (i = 0; i < s->typed.len; i++)
		if (s->typed.items[i].addr == suspect->example)
			snprintf(suspect->type, sizeof(suspect->type), "%s",
				 s->typed.items[i].type);
	if (!*suspect->type)
		return 0;
	if (ks_live_rows(s, KS_LIVE_BY_TYPE, &in, &rows))
		return -ENOMEM;
	for (i = 0; i < rows.items.len; i++)
		if (!strcmp(rows.items.items[i].name, suspect->type))
			suspect->type_objects = rows.items.items[i].objects;
	ks_live_rows_free(&rows);
	return 0;
}

/* The stack that most of what was traced has, and its cgroup. */
static int add_stack(struct ks_suspect *suspect, const struct ks_live_snapshot *s)
{
	struct ks_live_within in = {
		.name = { [KS_LIVE_BY_CACHE] = suspect->cache, [KS_LIVE_BY_SITE] = suspect->site }
	};
	struct ks_live_rows rows;

	if (*suspect->process)
		in.name[KS_LIVE_BY_PROCESS] = suspect->process;
	if (ks_live_rows(s, KS_LIVE_BY_STACK, &in, &rows))
		return -ENOMEM;
	if (rows.items.len && *rows.items.items[0].name)
		suspect->stack = strdup(rows.items.items[0].name);
	ks_live_rows_free(&rows);
	if (ks_live_rows(s, KS_LIVE_BY_CGROUP, &in, &rows))
		return -ENOMEM;
	if (rows.items.len)
		snprintf(suspect->cgroup, sizeof(suspect->cgroup), "%s", rows.items.items[0].name);
	ks_live_rows_free(&rows);
	return 0;
}

static void suspect_free(struct ks_suspect *suspect)
{
	if (suspect)
		free(suspect->stack);
	free(suspect);
}

/*
 * One leak may show in several caches: what one process makes is one suspect. What all processes make at a site is none
 * where one of them was found to.
 */
static struct ks_suspect *same_suspect(const struct ks_watch_state *w, const struct row *row)
{
	size_t i;

	for (i = 0; i < w->tracing.len; i++) {
		struct ks_suspect *s = w->tracing.items[i];

		if (row->process ? !strcmp(s->process, row->process)
				 : !strcmp(s->site, row->site) || strstr(s->also, row->site))
			return s;
	}
	return NULL;
}

static void add_also(struct ks_suspect *suspect, const struct row *row)
{
	size_t len = strlen(suspect->also);

	if (!strcmp(suspect->site, row->site) || strstr(suspect->also, row->site))
		return;
	snprintf(suspect->also + len, sizeof(suspect->also) - len, "%s%s (%s)", len ? ", " : "",
		 row->site, row->cache);
}

static int suspect_all(struct ks_watch *watch, const struct growings *growings,
		       const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < growings->items.len; i++) {
		const struct growing *g = &growings->items.items[i];
		struct ks_suspect *suspect = same_suspect(w, g->row), **slot;

		if (suspect) {
			add_also(suspect, g->row);
			continue;
		}
		if (w->tracing.len == ACCUSED)
			continue;
		suspect = calloc(1, sizeof(*suspect));
		slot = suspect ? ks_vec_push(&w->tracing) : NULL;
		if (!slot) {
			free(suspect);
			return -ENOMEM;
		}
		*slot = suspect;
		describe(suspect, g->row, &g->judgement, s);
	}
	return 0;
}

/* Stacks of the suspects alone. Where they can't be had, the verdict goes without. */
static void start_tracing(struct ks_watch *watch, struct ks_live *live, u64 now)
{
	struct ks_watch_state *w = watch->state;
	const char *names[ACCUSED];
	const struct ks_live_filter filter = { .caches = names,
					       .nr_caches = w->tracing.len,
					       .stacks = true };
	struct ks_diag ignored;
	size_t i;

	for (i = 0; i < w->tracing.len; i++) {
		names[i] = w->tracing.items[i]->cache;
		/* Without memory there is no type. */
		(void)ks_live_want_type(live, w->tracing.items[i]->example);
	}
	if (!ks_live_set_level(live, KS_LIVE_EXACT, &filter, &ignored))
		ks_live_census_now(live, true);
	forget_rows(w);
	enter(watch, KS_WATCH_TRACES, now);
}

static int accuse(struct ks_watch *watch, const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	size_t i;
	int err = 0;

	if (ks_vec_reserve(&watch->suspects, watch->suspects.len + w->tracing.len))
		return -ENOMEM;
	for (i = 0; i < w->tracing.len; i++) {
		struct ks_suspect *suspect = w->tracing.items[i];

		watch->suspects.items[watch->suspects.len++] = suspect;
		if (!err)
			err = add_stack(suspect, s);
	}
	w->tracing.len = 0;
	return err;
}

/* === Internals: steps ===================================================================== */

static int step_listening(struct ks_watch *watch, struct ks_live *live,
			  const struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;

	watch->looks++;
	if (listen(watch, s))
		return ks_diag_nomem(diag, "watching");
	if (s->at_ns < w->phase_ns + (watch->rounds ? between_ns : watch->opts.listen_ns))
		return 0;
	if (choose(watch, s->at_ns))
		return ks_diag_nomem(diag, "watching");
	return w->nr_chosen ? start_looking(watch, live, s->at_ns, diag) : 0;
}

/*
 * Objects whose end raises no event look as if they stayed. So the row is judged twice: without, and then with an exact
 * count, after which such objects are gone.
 */
static int step_looking(struct ks_watch *watch, struct ks_live *live,
			const struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;
	struct growings growings = { 0 };
	int err;

	look(w, s);
	if (s->at_ns < w->phase_ns + watch->opts.look_ns)
		return 0;
	err = find_growing(watch, &growings);
	if (!err && !growings.items.len) {
		watch->dismissed += w->counted;
		return stop_looking(watch, live, s->at_ns, diag);
	}
	if (!err && !w->counted) {
		w->counted = true;
		ks_live_census_now(live, false);
	} else if (!err) {
		err = suspect_all(watch, &growings, s);
		if (!err)
			start_tracing(watch, live, s->at_ns);
	}
	ks_vec_free(&growings.items);
	return err ? ks_diag_nomem(diag, "watching") : 0;
}

static int step_tracing(struct ks_watch *watch, struct ks_live *live,
			const struct ks_live_snapshot *s, struct ks_diag *diag)
{
	struct ks_watch_state *w = watch->state;
	size_t i;

	for (i = 0; i < w->tracing.len; i++)
		if (s->parts[KS_LIVE_TYPES].at_ns >= w->phase_ns &&
		    !w->tracing.items[i]->all_objects && add_census(w->tracing.items[i], s))
			return ks_diag_nomem(diag, "watching");
	if (s->at_ns < w->phase_ns + trace_ns)
		return 0;
	if (accuse(watch, s))
		return ks_diag_nomem(diag, "watching");
	return stop_looking(watch, live, s->at_ns, diag);
}

/* === Public =============================================================================== */

const char *ks_watch_phase_name(enum ks_watch_phase phase)
{
	return phases[phase];
}

int ks_watch_new(const struct ks_watch_opts *opts, struct ks_watch **ret_watch,
		 struct ks_diag *diag)
{
	struct ks_watch *watch = calloc(1, sizeof(*watch));

	if (watch)
		watch->state = calloc(1, sizeof(*watch->state));
	if (!watch || !watch->state) {
		free(watch);
		return ks_diag_nomem(diag, "watching");
	}
	watch->opts = *opts;
	if (!watch->opts.listen_ns)
		watch->opts.listen_ns = 10 * second;
	if (!watch->opts.look_ns)
		watch->opts.look_ns = 20 * second;
	if (!watch->opts.pause_ns)
		watch->opts.pause_ns = 300 * second;
	if (!watch->opts.smallest)
		watch->opts.smallest = 8192;
	if (watch->opts.confidence <= 0)
		watch->opts.confidence = 0.99;
	watch->state->own_pid = (u32)getpid();
	*ret_watch = watch;
	return 0;
}

void ks_watch_free(struct ks_watch *watch)
{
	size_t i;

	if (!watch)
		return;
	for (i = 0; i < watch->suspects.len; i++)
		suspect_free(watch->suspects.items[i]);
	ks_vec_free(&watch->suspects);
	for (i = 0; i < watch->state->heard.len; i++)
		free(watch->state->heard.items[i]);
	ks_vec_free(&watch->state->heard);
	forget_rows(watch->state);
	ks_vec_free(&watch->state->rows);
	for (i = 0; i < watch->state->tracing.len; i++)
		suspect_free(watch->state->tracing.items[i]);
	ks_vec_free(&watch->state->tracing);
	free(watch->state);
	free(watch);
}

int ks_watch_step(struct ks_watch *watch, struct ks_live *live, u64 *ret_wait_ns,
		  struct ks_diag *diag)
{
	struct ks_live_snapshot *s;
	int err = ks_live_poll(live, &s, diag);

	if (err)
		return err;
	if (!watch->state->phase_ns)
		watch->state->phase_ns = s->at_ns;
	switch (watch->phase) {
	case KS_WATCH_LOOKS:
		err = step_looking(watch, live, s, diag);
		break;
	case KS_WATCH_TRACES:
		err = step_tracing(watch, live, s, diag);
		break;
	default:
		err = step_listening(watch, live, s, diag);
		break;
	}
	ks_live_snapshot_put(s);
	*ret_wait_ns = watch->phase == KS_WATCH_LISTENS ? listen_wait_ns : look_wait_ns;
	return err;
}
