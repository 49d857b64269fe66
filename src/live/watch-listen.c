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
	*slot = heard;
	return heard;
}

/* Large kmalloc() is in no cache that could be chosen. */
static bool can_be_chosen(const struct ks_watch *watch, const struct ks_live_row *row)
{
	return (!row->reclaimable || watch->opts.keep_caches) && strlen(row->name) < 64 &&
	       strcmp(row->name, "large kmalloc") != 0;
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
	struct ks_heard *heard;
	double rise;
};

static int by_rise(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rise != y->rise)
		return x->rise > y->rise ? -1 : 1;
	return strcmp(x->heard->name, y->heard->name);
}

/* === Public =============================================================================== */

int ks_watch_listen(struct ks_watch *watch, const struct ks_live_snapshot *s)
{
	struct ks_watch_state *w = watch->state;
	struct ks_live_rows rows;
	size_t i;
	int err = ks_live_rows(s, KS_LIVE_BY_CACHE, NULL, &rows);

	for (i = 0; !err && i < rows.items.len; i++) {
		const struct ks_live_row *row = &rows.items.items[i];
		struct ks_heard *heard;

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

int ks_watch_choose(struct ks_watch *watch, u64 now)
{
	struct ks_watch_state *w = watch->state;
	KS_VEC(struct candidate) found = { 0 };
	size_t i;

	w->nr_chosen = 0;
	for (i = 0; i < w->heard.len; i++) {
		struct ks_heard *heard = w->heard.items[i];
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
	for (i = 0; i < found.len && w->nr_chosen < KS_WATCH_CHOSEN; i++) {
		found.items[i].heard->rest_until_ns = now + watch->opts.pause_ns;
		memcpy(w->chosen[w->nr_chosen++], found.items[i].heard->name, 64);
	}
	ks_vec_free(&found);
	return 0;
}
