// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Questions to a directory of tables. Each function does what the statement of the same name in fleet/question.c says; the
 * suite has both answer for the same rows.
 */
#include "fleet/files-ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/files-sums.h"

/* === Data ================================================================================= */

enum { ROWS_MAX = 10000, HOUR = 3600, SILENT_SPANS = 3, LATE_SECS = 300, HOSTS_LEAST = 3 };

/* A line of the answer, and what it is sorted by: the highest first, then by ids. */
struct line {
	double order[2];
	u64 ids[5];
	size_t at, len;
};

struct asking {
	const struct ks_files *files;
	const struct ks_question *q;
	u32 since, until;
	struct ks_sums sums;
	struct ks_map64 seen; /* what was ever there, and since when */
	KS_VEC(u32) first;
	KS_VEC(struct line) lines;
	struct ks_strbuf text;
};

/* Growth of a series on a build in an hour, against the other builds. */
struct contrast {
	u64 build, cache, type, site;
	u32 hour, growing;
	double n, d, v;
};

struct contrasts {
	KS_VEC(struct contrast) items;
};

/* === Internals ============================================================================ */

static s64 whole(double value)
{
	return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN : (s64)value;
}

static u64 series_key(u64 build, u64 cache, u64 type, u64 site)
{
	u64 h = ks_mix(build ^ 1, 0x9e3779b97f4a7c15ull);

	h = ks_mix(h ^ cache, 0xd6e8feb86659fd93ull);
	h = ks_mix(h ^ type, 0x9e3779b97f4a7c15ull);
	return ks_mix(h ^ site, 0xd6e8feb86659fd93ull);
}

static void put_time(struct ks_strbuf *sb, u32 seconds)
{
	time_t at = seconds;
	struct tm tm;

	gmtime_r(&at, &tm);
	ks_strbuf_printf(sb, "%04d-%02d-%02d %02d:%02d:%02d\t", tm.tm_year + 1900, tm.tm_mon + 1,
			 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* Ends a line that begins at @at: its ids come last. */
static void end_line(struct asking *ask, size_t at, double first, double second, const u64 *ids,
		     size_t nr_ids)
{
	struct line *line = ks_vec_push(&ask->lines);
	size_t i;

	if (!line) {
		ask->text.failed = true;
		return;
	}
	for (i = 0; i < nr_ids; i++) {
		line->ids[i] = ids[i];
		ks_strbuf_printf(&ask->text, "%" PRIu64 "%s", ids[i], i + 1 < nr_ids ? "\t" : "\n");
	}
	line->order[0] = first;
	line->order[1] = second;
	line->at = at;
	line->len = ask->text.len - at;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	size_t i;

	for (i = 0; i < 2; i++)
		if (a->order[i] > b->order[i] || a->order[i] < b->order[i])
			return a->order[i] > b->order[i] ? -1 : 1;
	for (i = 0; i < ARRAY_SIZE(a->ids); i++)
		if (a->ids[i] != b->ids[i])
			return a->ids[i] < b->ids[i] ? -1 : 1;
	return 0;
}

static u64 id_of(enum ks_fleet_kind kind, const char *name)
{
	return name ? ks_fleet_id(kind, name, strlen(name)) : 0;
}

/* Leaves the sums that are asked for. */
static void filter(struct asking *ask, bool build)
{
	const struct ks_question *q = ask->q;
	u64 ids[] = { build ? id_of(KS_FLEET_BUILD, q->build) : 0, id_of(KS_FLEET_CACHE, q->cache),
		      id_of(KS_FLEET_TYPE, q->type), id_of(KS_FLEET_SITE, q->site) };
	size_t i, kept = 0;

	for (i = 0; i < ask->sums.hours.len; i++) {
		const struct ks_hour_sum *s = &ask->sums.hours.items[i];

		if ((!ids[0] || ids[0] == s->build) && (!ids[1] || ids[1] == s->cache) &&
		    (!ids[2] || ids[2] == s->type) && (!ids[3] || ids[3] == s->site))
			ask->sums.hours.items[kept++] = *s;
	}
	ask->sums.hours.len = kept;
}

#define SORT(vec, function)                                                               \
	do {                                                                              \
		if ((vec)->len)                                                           \
			qsort((vec)->items, (vec)->len, sizeof(*(vec)->items), function); \
	} while (0)

#define COMPARE(name, type, ...)                                     \
	static int name(const void *left, const void *right)         \
	{                                                            \
		const type *s = left;                                \
		const u64 a[] = { __VA_ARGS__ };                     \
		size_t i;                                            \
                                                                     \
		s = right;                                           \
		{                                                    \
			const u64 b[] = { __VA_ARGS__ };             \
                                                                     \
			for (i = 0; i < ARRAY_SIZE(a); i++)          \
				if (a[i] != b[i])                    \
					return a[i] < b[i] ? -1 : 1; \
		}                                                    \
		return 0;                                            \
	}

COMPARE(by_cache, struct ks_hour_sum, s->cache, s->hour)
COMPARE(by_type, struct ks_hour_sum, s->type, s->build, s->hour)
COMPARE(by_site, struct ks_hour_sum, s->site, s->hour)
COMPARE(by_build, struct ks_hour_sum, s->build, s->hour)
COMPARE(by_hour_and_build, struct ks_hour_sum, s->hour, s->build)
COMPARE(by_hour_and_series, struct ks_hour_sum, s->hour, s->cache, s->type, s->site, s->build)
COMPARE(by_series, struct ks_hour_sum, s->cache, s->type, s->site, s->build, s->hour)
COMPARE(by_top_host, struct ks_hour_sum, s->top_host, s->build, s->cache, s->type, s->site, s->hour)
COMPARE(contrasts_by_series, struct contrast, s->build, s->cache, s->type, s->site, s->hour)
COMPARE(hosts_by_series, struct ks_host_sum, s->build, s->cache, s->type, s->site, s->hour, s->boot)

static u64 key_of(const struct ks_hour_sum *s, enum ks_fleet_by by)
{
	switch (by) {
	case KS_FLEET_BY_TYPE:
		return s->type;
	case KS_FLEET_BY_SITE:
		return s->site;
	case KS_FLEET_BY_BUILD:
		return s->build;
	default:
		return s->cache;
	}
}

static bool same_series(const struct ks_hour_sum *a, const struct ks_hour_sum *b)
{
	return a->cache == b->cache && a->type == b->type && a->site == b->site;
}

/* Notes when something was seen, if that is the first time. */
static int see(struct asking *ask, u64 key, u32 hour)
{
	u32 number = ks_map64_add(&ask->seen, key), *to;

	if (number == KS_NONE)
		return -ENOMEM;
	if (number < ask->first.len) {
		ask->first.items[number] = ks_min(ask->first.items[number], hour);
		return 0;
	}
	to = ks_vec_push(&ask->first);
	if (!to)
		return -ENOMEM;
	*to = hour;
	return 0;
}

/* Since when each series, or each type, is there: in all files, whatever the window. */
static int find_first(struct asking *ask, bool types, struct ks_diag *diag)
{
	struct ks_files_hours hours = { 0 };
	int err = ks_files_hours(ask->files, KS_STORE_ROWS, &hours, diag);
	size_t i, j;

	for (i = 0; !err && i < hours.items.len; i++) {
		struct ks_files_table table = { 0 };

		err = ks_files_read(ask->files, KS_STORE_ROWS, hours.items.items[i],
				    1u << KS_ROW_BUILD | 1u << KS_ROW_CACHE | 1u << KS_ROW_TYPE |
					    1u << KS_ROW_SITE,
				    &table, diag);
		for (j = 0; !err && j < table.items.len; j += table.width) {
			const u64 *row = &table.items.items[j];
			u64 key = types ? row[KS_ROW_TYPE]
					: series_key(row[KS_ROW_BUILD], row[KS_ROW_CACHE],
						     row[KS_ROW_TYPE], row[KS_ROW_SITE]);

			if (see(ask, key, hours.items.items[i]))
				err = ks_diag_nomem(diag, "looking for the first time");
		}
		ks_vec_free(&table.items);
	}
	ks_vec_free(&hours.items);
	return err;
}

static u32 first_of(const struct asking *ask, u64 key)
{
	u32 number = ks_map64_find(&ask->seen, key);

	return number == KS_NONE ? 0 : ask->first.items[number];
}

/* === Internals: the questions ============================================================= */

static void ask_top(struct asking *ask)
{
	static int (*const orders[KS_FLEET_BYS])(const void *, const void *) = {
		[KS_FLEET_BY_CACHE] = by_cache,
		[KS_FLEET_BY_TYPE] = by_type,
		[KS_FLEET_BY_SITE] = by_site,
		[KS_FLEET_BY_BUILD] = by_build,
	};
	const struct ks_hour_sum *sums;
	size_t i, next, len, at;

	filter(ask, true);
	SORT(&ask->sums.hours, orders[ask->q->by]);
	sums = ask->sums.hours.items;
	len = ask->sums.hours.len;
	for (i = 0; i < len; i = next) {
		u64 key = key_of(&sums[i], ask->q->by);
		double growth = 0;
		s64 bytes = 0, objects = 0;

		for (next = i; next < len && key_of(&sums[next], ask->q->by) == key; next++) {
			growth += sums[next].growth;
			if (sums[next].hour != ask->until - HOUR)
				continue;
			bytes += sums[next].bytes;
			objects += sums[next].objects;
		}
		at = ask->text.len;
		ks_strbuf_printf(&ask->text, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t",
				 whole(growth), bytes, objects);
		end_line(ask, at, (double)whole(growth), (double)bytes, &key, 1);
	}
}

static int make_contrasts(const struct asking *ask, struct contrasts *to)
{
	const struct ks_hour_sum *sums = ask->sums.hours.items;
	size_t len = ask->sums.hours.len, i, j, next;

	for (i = 0; i < len; i = next) {
		double all_s = 0, all_q = 0, all_n = 0;

		for (next = i; next < len && sums[next].hour == sums[i].hour &&
			       same_series(&sums[next], &sums[i]);
		     next++) {
			all_s += sums[next].growth;
			all_q += sums[next].growth_sq;
			all_n = ks_max(all_n, (double)sums[next].all_warm);
		}
		for (j = i; j < next; j++) {
			double n = sums[j].warm_hosts, m = all_n - n, s = sums[j].growth,
			       os = all_s - s, oq = all_q - sums[j].growth_sq;
			struct contrast *c;

			if (n < HOSTS_LEAST)
				continue;
			c = ks_vec_push(&to->items);
			if (!c)
				return -ENOMEM;
			*c = (struct contrast){ sums[j].build,
						sums[j].cache,
						sums[j].type,
						sums[j].site,
						sums[j].hour,
						sums[j].growing,
						n,
						s / n };
			c->v = fmax(sums[j].growth_sq / n - s / n * (s / n), 0) / n;
			if (m > 0) {
				c->d -= os / m;
				c->v += fmax(oq / m - os / m * (os / m), 0) / m;
			}
		}
	}
	return 0;
}

static void ask_leaks(struct asking *ask)
{
	u64 only = id_of(KS_FLEET_BUILD, ask->q->build);
	double sigmas = ask->q->sigmas > 0 ? ask->q->sigmas : 6;
	struct contrasts all = { 0 };
	size_t i, next, at;

	filter(ask, false);
	SORT(&ask->sums.hours, by_hour_and_series);
	if (make_contrasts(ask, &all))
		ask->text.failed = true;
	SORT(&all.items, contrasts_by_series);
	for (i = 0; i < all.items.len; i = next) {
		const struct contrast *c = &all.items.items[i], *last = c;
		double d = 0, v = 0, mean, z;
		u32 since = 0;

		for (next = i; next < all.items.len; next++) {
			const struct contrast *o = &all.items.items[next];

			if (o->build != c->build || o->cache != c->cache || o->type != c->type ||
			    o->site != c->site)
				break;
			d += o->d;
			v += o->v;
			last = o;
			if (!since && o->d > 4 * sqrt(o->v + 1))
				since = o->hour;
		}
		mean = d / (double)(next - i);
		z = d / sqrt(v + 1);
		if (z < sigmas || mean < (double)ask->q->least || (only && only != c->build))
			continue;
		at = ask->text.len;
		ks_strbuf_printf(&ask->text, "%" PRId64 "\t%" PRId64 "\t%.0f\t%u\t%.17g\t",
				 whole(mean), whole(mean * last->n), last->n, last->growing, z);
		put_time(&ask->text, since);
		put_time(&ask->text,
			 first_of(ask, series_key(c->build, c->cache, c->type, c->site)));
		end_line(ask, at, (double)whole(mean * last->n), 0,
			 (u64[]){ c->build, c->cache, c->type, c->site }, 4);
	}
	ks_vec_free(&all.items);
}

/* Whether the host that grew most stands out among those of its build; the mean of the others. */
static bool stands_out(const struct asking *ask, const struct ks_hour_sum *s, double *ret_mean)
{
	double n = (double)s->warm_hosts - 1, top = s->top_growth, mean, sd;

	if (s->warm_hosts <= HOSTS_LEAST)
		return false;
	mean = (s->growth - top) / n;
	sd = sqrt(fmax((s->growth_sq - top * top) / n - mean * mean, 0));
	*ret_mean = mean;
	return top - mean >= (double)ask->q->least &&
	       top > mean + (ask->q->sigmas > 0 ? ask->q->sigmas : 6) * (sd + 1);
}

static void ask_outliers(struct asking *ask)
{
	const struct ks_hour_sum *sums;
	size_t i, next, len, at;

	filter(ask, true);
	SORT(&ask->sums.hours, by_top_host);
	sums = ask->sums.hours.items;
	len = ask->sums.hours.len;
	for (i = 0; i < len; i = next) {
		u32 first = 0, last = 0, hours = 0;
		double top = 0, others = 0, mean;

		for (next = i;
		     next < len && sums[next].top_host == sums[i].top_host &&
		     sums[next].build == sums[i].build && same_series(&sums[next], &sums[i]);
		     next++) {
			if (!stands_out(ask, &sums[next], &mean))
				continue;
			first = hours++ ? first : sums[next].hour;
			last = sums[next].hour;
			top += sums[next].top_growth;
			others += mean;
		}
		if (hours < 2 || hours * 2 * HOUR < last - first + HOUR)
			continue;
		at = ask->text.len;
		ks_strbuf_printf(&ask->text, "%" PRId64 "\t%" PRId64 "\t%u\t", whole(top / hours),
				 whole(others / hours), hours);
		put_time(&ask->text, first);
		end_line(ask, at, top, 0,
			 (u64[]){ sums[i].top_host, sums[i].build, sums[i].cache, sums[i].type,
				  sums[i].site },
			 5);
	}
}

/* The last hour of a build, and in how many hours it had warm hosts. */
static double span_of(const struct asking *ask, u64 build, u32 *ret_last)
{
	u32 hours = 0, warm = 0;
	size_t i;

	*ret_last = 0;
	for (i = 0; i < ask->sums.hours.len; i++) { /* in the order of hours */
		const struct ks_hour_sum *s = &ask->sums.hours.items[i];

		if (s->build != build)
			continue;
		*ret_last = s->hour;
		if (s->warm_hosts && s->hour != warm) {
			warm = s->hour;
			hours++;
		}
	}
	return hours ? hours : 1;
}

static void ask_diff(struct asking *ask)
{
	u64 builds[2] = { id_of(KS_FLEET_BUILD, ask->q->builds[0]),
			  id_of(KS_FLEET_BUILD, ask->q->builds[1]) };
	const struct ks_hour_sum *sums;
	double hours[2];
	u32 last[2];
	size_t i, next, len, at, b;

	SORT(&ask->sums.hours, by_hour_and_build);
	for (b = 0; b < 2; b++)
		hours[b] = span_of(ask, builds[b], &last[b]);
	filter(ask, false);
	SORT(&ask->sums.hours, by_series);
	sums = ask->sums.hours.items;
	len = ask->sums.hours.len;
	for (i = 0; i < len; i = next) {
		double level[2] = { 0 }, growth[2] = { 0 }, v[2] = { 0 }, z;
		bool any = false;

		for (next = i; next < len && same_series(&sums[next], &sums[i]); next++)
			for (b = 0; b < 2; b++) {
				const struct ks_hour_sum *s = &sums[next];
				double n = s->warm_hosts, mean;

				if (s->build != builds[b])
					continue;
				any = true;
				if (s->hour == last[b])
					level[b] += (double)s->bytes / s->build_hosts;
				if (!s->warm_hosts)
					continue;
				mean = s->growth / n;
				growth[b] += mean;
				v[b] += fmax(s->growth_sq / n - mean * mean, 0) / n;
			}
		if (!any)
			continue;
		for (b = 0; b < 2; b++) {
			growth[b] /= hours[b];
			v[b] /= hours[b] * hours[b];
		}
		z = (growth[1] - growth[0]) / sqrt(v[0] + v[1] + 1);
		at = ask->text.len;
		ks_strbuf_printf(&ask->text,
				 "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.17g\t",
				 whole(level[0]), whole(level[1]), whole(level[1] - level[0]),
				 whole(growth[1] - growth[0]), z);
		end_line(ask, at, fabs(level[1] - level[0]), 0,
			 (u64[]){ sums[i].cache, sums[i].type, sums[i].site }, 3);
	}
}

static double mean_of_build(const struct asking *ask, const struct ks_host_sum *h)
{
	double mean = 0;
	u32 last = 0;
	size_t i;

	for (i = 0; i < ask->sums.hours.len; i++) {
		const struct ks_hour_sum *s = &ask->sums.hours.items[i];

		if (s->build != h->build || s->cache != h->cache || s->type != h->type ||
		    s->site != h->site || s->hour < last || !s->build_hosts)
			continue;
		last = s->hour;
		mean = (double)s->bytes / s->build_hosts;
	}
	return mean;
}

static void ask_host(struct asking *ask)
{
	const struct ks_host_sum *sums;
	u64 build = 0;
	size_t i, next, len, at;
	u32 last = 0;

	filter(ask, true);
	sums = ask->sums.hosts.items;
	len = ask->sums.hosts.len;
	for (i = 0; i < len; i++)
		if (sums[i].hour >= last) {
			last = sums[i].hour;
			build = sums[i].build;
		}
	SORT(&ask->sums.hosts, hosts_by_series);
	for (i = 0; i < len; i = next) {
		const struct ks_host_sum *h = &sums[i], *newest = h;
		u64 ids[] = { h->build, h->cache, h->type, h->site };
		const u64 only[] = { id_of(KS_FLEET_BUILD, ask->q->build),
				     id_of(KS_FLEET_CACHE, ask->q->cache),
				     id_of(KS_FLEET_TYPE, ask->q->type),
				     id_of(KS_FLEET_SITE, ask->q->site) };
		bool wanted = h->build == build;
		double grown = 0;
		size_t j;

		for (j = 0; j < ARRAY_SIZE(ids); j++)
			wanted &= !only[j] || only[j] == ids[j];
		for (next = i;
		     next < len && sums[next].build == h->build && sums[next].cache == h->cache &&
		     sums[next].type == h->type && sums[next].site == h->site;
		     next++) {
			newest = &sums[next];
			grown += newest->growth;
		}
		if (!wanted)
			continue;
		at = ask->text.len;
		ks_strbuf_printf(&ask->text, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t",
				 newest->bytes, newest->objects, whole(mean_of_build(ask, h)),
				 whole(grown));
		end_line(ask, at, (double)newest->bytes, 0, ids, 4);
	}
}

static void ask_types(struct asking *ask)
{
	const struct ks_hour_sum *sums;
	size_t i, next, len, at;

	filter(ask, true);
	SORT(&ask->sums.hours, by_type);
	sums = ask->sums.hours.items;
	len = ask->sums.hours.len;
	for (i = 0; i < len; i = next) {
		u64 builds = 0;
		double growth = 0;
		s64 bytes = 0, objects = 0;

		for (next = i; next < len && sums[next].type == sums[i].type; next++) {
			builds += next == i || sums[next].build != sums[next - 1].build;
			growth += sums[next].growth;
			if (sums[next].hour != ask->until - HOUR)
				continue;
			bytes += sums[next].bytes;
			objects += sums[next].objects;
		}
		at = ask->text.len;
		ks_strbuf_printf(&ask->text, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\t",
				 bytes, objects, whole(growth), builds);
		put_time(&ask->text, first_of(ask, sums[i].type));
		end_line(ask, at, (double)bytes, 0, &sums[i].type, 1);
	}
}

static void ask_history(struct asking *ask)
{
	const struct ks_hour_sum *sums;
	size_t i, next, len, at;

	filter(ask, true);
	SORT(&ask->sums.hours, by_hour_and_build);
	sums = ask->sums.hours.items;
	len = ask->sums.hours.len;
	for (i = 0; i < len; i = next) {
		u32 hosts = 0, warm = 1;
		double growth = 0;
		s64 bytes = 0, objects = 0;

		for (next = i; next < len && sums[next].hour == sums[i].hour &&
			       sums[next].build == sums[i].build;
		     next++) {
			hosts = ks_max(hosts, sums[next].build_hosts);
			warm = ks_max(warm, sums[next].warm_hosts);
			growth += sums[next].growth;
			bytes += sums[next].bytes;
			objects += sums[next].objects;
		}
		at = ask->text.len;
		put_time(&ask->text, sums[i].hour);
		ks_strbuf_printf(&ask->text,
				 "%u\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", hosts,
				 bytes, objects, whole((double)bytes / ks_max(hosts, 1u)),
				 whole(growth / warm));
		end_line(ask, at, sums[i].hour, 0, &sums[i].build, 1);
	}
}

COMPARE(reports_by_host, u64, s[KS_REPORT_HOST], s[KS_REPORT_TS])

static void tell_host(struct asking *ask, const u64 *reports, size_t len)
{
	const u64 *last = &reports[(len - 1) * KS_FILES_REPORT_COLUMNS];
	u64 span = UINT64_MAX, every = 0, late = 0, torn = 0, lost[2] = { UINT64_MAX, 0 },
	    skipped[2] = { UINT64_MAX, 0 }, wanted, missing, silent;
	size_t i, at = ask->text.len;

	for (i = 0; i < len; i++) {
		const u64 *r = &reports[i * KS_FILES_REPORT_COLUMNS];

		span = ks_min(span, r[KS_REPORT_SPAN]);
		every = ks_max(every, r[KS_REPORT_SPAN]);
		late += r[KS_REPORT_STORED] > r[KS_REPORT_TS] + r[KS_REPORT_SPAN] + LATE_SECS;
		torn += r[KS_REPORT_TORN];
		lost[0] = ks_min(lost[0], r[KS_REPORT_LOST]);
		lost[1] = ks_max(lost[1], r[KS_REPORT_LOST]);
		skipped[0] = ks_min(skipped[0], r[KS_REPORT_SKIPPED]);
		skipped[1] = ks_max(skipped[1], r[KS_REPORT_SKIPPED]);
	}
	wanted = (last[KS_REPORT_TS] - reports[KS_REPORT_TS]) / ks_max(span, (u64)1) + 1;
	missing = wanted > len ? wanted - len : 0;
	silent = last[KS_REPORT_TS] + every;
	silent = ask->until > silent ? ask->until - silent : 0;
	if (!missing && !late && lost[1] == lost[0] && skipped[1] == skipped[0] && !torn &&
	    silent <= SILENT_SPANS * every)
		return;
	put_time(&ask->text, (u32)last[KS_REPORT_TS]);
	ks_strbuf_printf(&ask->text,
			 "%zu\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			 "\t%" PRIu64 "\t",
			 len, missing, late, lost[1] - lost[0], skipped[1] - skipped[0], torn,
			 silent);
	end_line(ask, at, (double)silent, (double)missing,
		 (u64[]){ last[KS_REPORT_HOST], last[KS_REPORT_BUILD] }, 2);
}

static int ask_quality(struct asking *ask, struct ks_diag *diag)
{
	u64 host = id_of(KS_FLEET_HOST, ask->q->host), build = id_of(KS_FLEET_BUILD, ask->q->build);
	struct ks_files_hours hours = { 0 };
	struct ks_files_table all = { 0 };
	size_t i, j, next, width = KS_FILES_REPORT_COLUMNS;
	int err = ks_files_hours(ask->files, KS_STORE_REPORTS, &hours, diag);

	for (i = 0; !err && i < hours.items.len; i++) {
		struct ks_files_table one = { 0 };

		if (hours.items.items[i] + HOUR <= ask->since || hours.items.items[i] >= ask->until)
			continue;
		err = ks_files_read(ask->files, KS_STORE_REPORTS, hours.items.items[i], UINT32_MAX,
				    &one, diag);
		if (!err && ks_vec_reserve(&all.items, all.items.len + one.items.len))
			err = ks_diag_nomem(diag, "reading reports");
		for (j = 0; !err && j < one.items.len; j += width) {
			const u64 *r = &one.items.items[j];

			if (r[KS_REPORT_TS] < ask->since || r[KS_REPORT_TS] >= ask->until ||
			    (host && r[KS_REPORT_HOST] != host) ||
			    (build && r[KS_REPORT_BUILD] != build))
				continue;
			memcpy(&all.items.items[all.items.len], r, width * sizeof(u64));
			all.items.len += width;
		}
		ks_vec_free(&one.items);
	}
	if (!err && all.items.len)
		qsort(all.items.items, all.items.len / width, width * sizeof(u64), reports_by_host);
	for (i = 0; !err && i < all.items.len; i = next) {
		for (next = i; next < all.items.len; next += width)
			if (all.items.items[next + KS_REPORT_HOST] !=
			    all.items.items[i + KS_REPORT_HOST])
				break;
		tell_host(ask, &all.items.items[i], (next - i) / width);
	}
	ks_vec_free(&all.items);
	ks_vec_free(&hours.items);
	return err;
}

static int ask_sums(struct asking *ask, struct ks_diag *diag)
{
	static void (*const asks[KS_ASKS])(struct asking * ask) = {
		[KS_ASK_TOP] = ask_top,		  [KS_ASK_LEAKS] = ask_leaks,
		[KS_ASK_OUTLIERS] = ask_outliers, [KS_ASK_DIFF] = ask_diff,
		[KS_ASK_HOST] = ask_host,	  [KS_ASK_TYPES] = ask_types,
		[KS_ASK_HISTORY] = ask_history,
	};
	enum ks_question_kind kind = ask->q->kind;
	u64 host = kind == KS_ASK_HOST ? id_of(KS_FLEET_HOST, ask->q->host) : 0;
	int err = ks_files_sum(ask->files, ask->since, ask->until, host, &ask->sums, diag);

	if (!err && (kind == KS_ASK_LEAKS || kind == KS_ASK_TYPES))
		err = find_first(ask, kind == KS_ASK_TYPES, diag);
	if (!err)
		asks[kind](ask);
	return err;
}

/* === Public =============================================================================== */

int ks_files_window(const struct ks_files *files, const struct ks_question *question,
		    u32 *ret_since, u32 *ret_until, struct ks_diag *diag)
{
	bool quality = question->kind == KS_ASK_QUALITY;
	struct ks_files_hours hours = { 0 };
	struct ks_files_table table = { 0 };
	u64 last = 0, span = 0;
	size_t i;
	int err = ks_files_hours(files, quality ? KS_STORE_REPORTS : KS_STORE_ROWS, &hours, diag);
	u32 hour = hours.items.len ? hours.items.items[hours.items.len - 1] : 0;

	if (!err && quality && hour)
		err = ks_files_read(files, KS_STORE_REPORTS, hour,
				    1u << KS_REPORT_TS | 1u << KS_REPORT_SPAN, &table, diag);
	for (i = 0; i < table.items.len; i += table.width) {
		last = ks_max(last, table.items.items[i + KS_REPORT_TS]);
		span = ks_max(span, table.items.items[i + KS_REPORT_SPAN]);
	}
	if (!quality && hour) {
		last = hour;
		span = HOUR;
	}
	ks_vec_free(&table.items);
	ks_vec_free(&hours.items);
	if (err)
		return err;
	*ret_until = question->until ? question->until : (u32)(last + span);
	*ret_since = question->since ? question->since
				     : *ret_until - ks_min(*ret_until, question->hours * (u32)HOUR);
	return 0;
}

int ks_files_ask(const struct ks_files *files, const struct ks_question *question, u32 since,
		 u32 until, struct ks_strbuf *answer, struct ks_diag *diag)
{
	u64 top = question->top && question->top < ROWS_MAX ? question->top : ROWS_MAX;
	struct asking ask = { .files = files, .q = question, .since = since, .until = until };
	size_t i;
	int err;

	if (ks_map64_init(&ask.seen))
		return ks_diag_nomem(diag, "asking");
	ks_strbuf_init(&ask.text);
	err = question->kind == KS_ASK_QUALITY ? ask_quality(&ask, diag) : ask_sums(&ask, diag);
	SORT(&ask.lines, compare_lines);
	for (i = 0; !err && i < ask.lines.len && i < top; i++)
		ks_strbuf_add(answer, ask.text.s + ask.lines.items[i].at, ask.lines.items[i].len);
	if (!err && (ask.text.failed || answer->failed))
		err = ks_diag_nomem(diag, "asking");
	ks_sums_free(&ask.sums);
	ks_map64_deinit(&ask.seen);
	ks_vec_free(&ask.first);
	ks_vec_free(&ask.lines);
	ks_strbuf_deinit(&ask.text);
	return err;
}
