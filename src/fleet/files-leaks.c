// SPDX-License-Identifier: LGPL-2.1-only
/* What a build or a host of a directory of tables is accused of. The comments on the verdicts are in fleet/question-sql.c. */
#include <math.h>
#include <string.h>

#include "fleet/files-ask.h"
#include "fleet/verdict.h"

/* === Data ================================================================================= */

enum { HOUR = 3600 };

/* A series on a build in an hour, beside the hosts of all builds. */
struct contrast {
	u64 key[KS_KEY_PARTS];
	const struct ks_hour_sum *sum;
	double all_n, all_s, all_q; /* hosts, their growth, its squares */
};

struct contrasts {
	KS_VEC(struct contrast) items;
};

static const struct ks_order by_hour_and_series = {
	4, 5, { KS_KEY_HOUR, KS_KEY_CACHE, KS_KEY_TYPE, KS_KEY_SITE, KS_KEY_BUILD }
};
static const struct ks_order by_series_of_build = {
	4, 5, { KS_KEY_BUILD, KS_KEY_CACHE, KS_KEY_TYPE, KS_KEY_SITE, KS_KEY_HOUR }
};
static const struct ks_order by_series_of_host = {
	5, 6, { KS_KEY_HOST, KS_KEY_BUILD, KS_KEY_CACHE, KS_KEY_TYPE, KS_KEY_SITE, KS_KEY_HOUR }
};

/* === Internals ============================================================================ */

static double sigmas_of(const struct ks_files_asking *ask)
{
	return ask->q->sigmas > 0 ? ask->q->sigmas : KS_VERDICT_SIGMAS;
}

static void make_contrasts(struct ks_files_asking *ask, struct contrasts *to)
{
	size_t i, j, end;

	KS_SORT(&ask->sums.hours, &by_hour_and_series);
	for (i = 0; i < ask->sums.hours.len; i = end) {
		struct contrast all = { 0 };

		end = KS_GROUP_END(&ask->sums.hours, &by_hour_and_series, i);
		for (j = i; j < end; j++) {
			const struct ks_hour_sum *sum = &ask->sums.hours.items[j];

			all.all_s += sum->growth;
			all.all_q += sum->growth_sq;
			all.all_n = fmax(all.all_n, sum->all_warm);
		}
		for (j = i; j < end; j++) {
			struct contrast *c = ks_vec_push(&to->items);

			if (!c) {
				ask->lines.text.failed = true;
				return;
			}
			*c = all;
			c->sum = &ask->sums.hours.items[j];
			memcpy(c->key, c->sum->key, sizeof(c->key));
		}
	}
}

/* How much more a build grew in an hour than the others did, and the variance of that. */
static double excess(const struct contrast *c, double *ret_variance)
{
	double n = c->sum->warm_hosts, s = c->sum->growth, q = c->sum->growth_sq;
	double m = c->all_n - n, own = ks_verdict_variance(n, s, q);

	*ret_variance = own / n;
	if (m > 0)
		*ret_variance += m > 1 ? ks_verdict_variance(m, c->all_s - s, c->all_q - q) / m
				       : own;
	return s / n - (m > 0 ? (c->all_s - s) / m : 0);
}

static void tell_leak(struct ks_files_asking *ask, const struct contrast *first, size_t len)
{
	const struct ks_hour_sum *last = NULL;
	double sum = 0, error = 0, df = 0, hours = 0, mean, sigmas, d, v;
	struct ks_lines *lines = &ask->lines;
	u32 since = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (first[i].sum->warm_hosts < KS_VERDICT_HOSTS_LEAST)
			continue;
		last = first[i].sum;
		d = excess(&first[i], &v);
		sum += d;
		error += sqrt(v + 1);
		df += last->warm_hosts - 1;
		hours++;
		if (!since && d > 4 * sqrt(v + 1))
			since = (u32)first[i].key[KS_KEY_HOUR];
	}
	mean = hours > 0 ? sum / hours : 0;
	sigmas = hours > 0 ? ks_verdict_sigmas(sum / error, df) : 0;
	if (!last || sigmas < sigmas_of(ask) || mean < (double)ask->q->least ||
	    !ks_files_wants(ask, first->key))
		return;
	ks_lines_whole(lines, mean);
	ks_lines_whole(lines, mean * last->warm_hosts);
	ks_lines_s64(lines, last->warm_hosts);
	ks_lines_s64(lines, last->growing);
	ks_lines_double(lines, sigmas);
	ks_lines_time(lines, since);
	ks_lines_time(lines, ks_files_first(ask, first->key));
	ks_lines_end(lines, trunc(mean * last->warm_hosts), 0, &first->key[KS_KEY_BUILD], 4);
}

/* Whether the host that grew most stands out; the mean of the others of its build. */
static bool stands_out(const struct ks_files_asking *ask, const struct contrast *c,
		       double *ret_others)
{
	double top = c->sum->top_growth, n = c->all_n - 1, m = (double)c->sum->warm_hosts - 1;
	double s = c->all_s - top, q = c->all_q - top * top, t, mine, most;

	if (n < KS_VERDICT_OTHERS_LEAST || m < 1)
		return false;
	t = (top - s / n) / (sqrt(ks_verdict_variance(n, s, q) * (1 + 1 / n)) + 1);
	s = c->sum->growth - top;
	q = c->sum->growth_sq - top * top;
	mine = (top - s / m) / (sqrt(ks_verdict_variance(m, s, q) * (1 + 1 / m)) + 1);
	most = s / m + sqrt(fmax(q / m - s / m * (s / m), 0) * (m - 1));
	*ret_others = s / m;
	return top - s / m >= (double)ask->q->least &&
	       ks_verdict_sigmas(t, n - 1) >= sigmas_of(ask) &&
	       (m >= KS_VERDICT_OTHERS_MANY ? ks_verdict_sigmas(mine, m - 1) >= sigmas_of(ask)
					    : top > 2 * most);
}

static void tell_host(struct ks_files_asking *ask, const struct contrast *first, size_t len)
{
	double top = 0, others = 0, mean;
	struct ks_lines *lines = &ask->lines;
	u32 since = 0, hours = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (!stands_out(ask, &first[i], &mean))
			continue;
		since = hours++ ? since : (u32)first[i].key[KS_KEY_HOUR];
		top += first[i].sum->top_growth;
		others += mean;
	}
	if (hours < KS_VERDICT_HOURS_LEAST || hours * 2 * HOUR < ask->until - since)
		return;
	ks_lines_whole(lines, top / hours);
	ks_lines_whole(lines, others / hours);
	ks_lines_s64(lines, hours);
	ks_lines_time(lines, since);
	ks_lines_end(lines, top, 0, first->key, 5);
}

/* === Public =============================================================================== */

void ks_files_ask_leaks(struct ks_files_asking *ask)
{
	struct contrasts all = { 0 };
	size_t i, end;

	make_contrasts(ask, &all);
	KS_SORT(&all.items, &by_series_of_build);
	for (i = 0; i < all.items.len; i = end) {
		end = KS_GROUP_END(&all.items, &by_series_of_build, i);
		tell_leak(ask, &all.items.items[i], end - i);
	}
	ks_vec_free(&all.items);
}

void ks_files_ask_outliers(struct ks_files_asking *ask)
{
	struct contrasts all = { 0 };
	size_t i, end;

	make_contrasts(ask, &all);
	KS_SORT(&all.items, &by_series_of_host);
	for (i = 0; i < all.items.len; i = end) {
		end = KS_GROUP_END(&all.items, &by_series_of_host, i);
		if (ks_files_wants(ask, all.items.items[i].key))
			tell_host(ask, &all.items.items[i], end - i);
	}
	ks_vec_free(&all.items);
}
