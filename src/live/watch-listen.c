// SPDX-License-Identifier: LGPL-2.1-only
/* The first step of a watch: listens to the sizes of caches, and chooses those that rise. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/watch-steps.h"

/* === Internals ============================================================================ */

static struct ks_heard *hear(struct ks_watch_state *w, const char *name)
{
	struct ks_heard **slot, *heard;
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
	heard->objects_before = KS_NOT_COUNTED;
	*slot = heard;
	return heard;
}

/* However long a watch lasts, of each cache it knows the last minutes second by second. */
static void hear_more(struct ks_heard *heard, u64 at_ns, u64 bytes)
{
	struct ks_series *s = &heard->series;

	if (s->len == KS_SERIES_MOST) {
		s->len /= 2;
		memmove(s->points, s->points + s->len, s->len * sizeof(*s->points));
	}
	ks_series_add(s, at_ns, (double)bytes);
}

/* Large kmalloc() is in no cache that could be chosen. */
static bool can_be_chosen(const struct ks_watch *watch, const struct ks_live_row *row)
{
	return (!row->reclaimable || watch->opts.keep_caches) && strlen(row->name) < 64 &&
	       strcmp(row->name, "large kmalloc") != 0;
}

/* What a cache did recently. */
struct course {
	double rise;  /* see find_course() */
	double swing; /* between its lowest and its highest value */
};

/*
 * Rise is by how much the lowest recent value is above the lowest before, as a share of how far values are apart: 1 is a
 * straight line up, and what swings is near 0.
 */
static struct course find_course(const struct ks_series *s, u64 window_ns)
{
	double first, last, low, high;
	u32 i, from;

	if (s->len < 4)
		return (struct course){ 0 };
	/* Only what was heard since a while ago: older growth was judged before. */
	for (from = 0;
	     from + 4 < s->len && s->points[from].at_ns + window_ns < s->points[s->len - 1].at_ns;)
		from++;
	first = low = high = s->points[from].value;
	last = s->points[s->len - 1].value;
	for (i = from; i < s->len; i++) {
		low = ks_min(low, s->points[i].value);
		high = ks_max(high, s->points[i].value);
		if (i < (from + s->len) / 2)
			first = ks_min(first, s->points[i].value);
		else
			last = ks_min(last, s->points[i].value);
	}
	return (struct course){ high > low ? (last - first) / (high - low) : 0, high - low };
}

/* It does what it did not do before it was looked at: it goes straight up, and further than it used to swing. */
static bool woke(const struct ks_heard *heard, u64 listen_ns)
{
	const struct course late = find_course(&heard->series, listen_ns);

	return late.rise > 0.8 && late.swing > 2 * heard->swing;
}

struct candidate {
	struct ks_heard *heard;
	struct course course;
};

/* Who was looked at before comes behind: what always rises would keep others from their turn. */
static double rank(const struct candidate *c)
{
	return ks_max(c->course.rise, 0) / (1 + c->heard->looked);
}

static int by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double rx = rank(x), ry = rank(y);

	if (rx != ry)
		return rx > ry ? -1 : 1;
	if (x->heard->looked != y->heard->looked)
		return x->heard->looked < y->heard->looked ? -1 : 1;
	if (x->course.swing != y->course.swing)
		return x->course.swing > y->course.swing ? -1 : 1;
	return strcmp(x->heard->name, y->heard->name);
}

/*
 * The kernel's counters take the slab that a CPU works on for full. So they do not show a slow leak of small objects, and
 * what all of the kernel uses is looked at even if it does not rise. Of kmalloc's kinds of one size, one stands for all.
 */
static bool is_everybodys(const char *name)
{
	return !strncmp(name, "kmalloc-", 8) && name[8] >= '0' && name[8] <= '9';
}

/* The more often nothing was found, the longer it is left alone. */
static void put_to_rest(struct ks_heard *heard, const struct ks_watch_opts *opts, double swing,
			u64 now)
{
	heard->rest_ns =
		ks_min(heard->rest_ns ? 2 * heard->rest_ns : opts->pause_ns / 32, opts->pause_ns);
	heard->rest_until_ns = now + opts->look_ns + heard->rest_ns;
	heard->swing = swing;
	heard->looked++;
}

/* === Public =============================================================================== */

int ks_watch_listen(struct ks_watch *watch, const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	struct ks_live_rows rows = { 0 };
	size_t i;
	int err = ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows);

	for (i = 0; !err && i < rows.items.len; i++) {
		const struct ks_live_row *row = &rows.items.items[i];
		struct ks_heard *heard;

		if (!can_be_chosen(watch, row))
			continue;
		heard = hear(w, row->name);
		if (heard)
			hear_more(heard, s->parts[KS_LIVE_CACHES].at_ns, row->bytes);
		else
			err = -ENOMEM;
	}
	ks_live_rows_free(&rows);
	return err;
}

int ks_watch_choose(struct ks_watch *watch, u64 now)
{
	const struct ks_watch_opts *opts = &watch->opts;
	struct ks_watch_state *w = watch->state;
	KS_VEC(struct candidate) found = { 0 };
	size_t i;

	w->nr_chosen = 0;
	for (i = 0; i < w->heard.len; i++) {
		struct ks_heard *heard = w->heard.items[i];
		struct course course = find_course(&heard->series, 6 * opts->listen_ns);
		struct candidate *c;

		if (course.swing <= 0 && !is_everybodys(heard->name))
			continue;
		if (heard->rest_until_ns > now && !woke(heard, opts->listen_ns))
			continue;
		c = ks_vec_push(&found);
		if (!c) {
			ks_vec_free(&found);
			return -ENOMEM;
		}
		*c = (struct candidate){ heard, course };
	}
	if (found.len)
		qsort(found.items, found.len, sizeof(*found.items), by_rank);
	for (i = 0; i < found.len && w->nr_chosen < KS_WATCH_CHOSEN; i++) {
		struct ks_heard *heard = found.items[i].heard;

		put_to_rest(heard, opts, found.items[i].course.swing, now);
		memcpy(w->chosen[w->nr_chosen++], heard->name, sizeof(heard->name));
	}
	ks_vec_free(&found);
	return 0;
}
