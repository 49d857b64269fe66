// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Sums by minute and by hour, made of rows without doubles. What was made is noted with the time by the server's clock;
 * a minute or an hour that got reports since is made again, and replaces what was there.
 *
 * Growth is judged by host: in each hour each series of each host has a slope. The sums by build keep these slopes'
 * number, sum and sum of squares, from which a mean and its error follow, with hosts as the independent ones.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/schema.h"
#include "fleet/store.h"

/* === Data ================================================================================= */

enum { MINUTE = 60, HOUR = 3600, OPEN_HOUR_SECS = 600 };

struct buckets {
	KS_VEC(u32) items;
};

/* === Internals ============================================================================ */

static int send(struct ks_store *store, struct ks_strbuf *sql, struct ks_strbuf *answer,
		struct ks_diag *diag)
{
	int err = sql->failed ? ks_diag_nomem(diag, "adding up rows")
			      : ks_http_query(store->http, sql->s, answer, diag);

	sql->len = 0;
	return err;
}

static int ask_numbers(struct ks_store *store, struct ks_strbuf *sql, struct buckets *to,
		       struct ks_diag *diag)
{
	struct ks_strbuf answer;
	const char *s;
	char *end;
	int err;

	ks_strbuf_init(&answer);
	err = send(store, sql, &answer, diag);
	for (s = ks_strbuf_str(&answer); !err && *s; s = *end ? end + 1 : end) {
		u32 *item = ks_vec_push(&to->items);

		if (!item)
			err = ks_diag_nomem(diag, "adding up rows");
		else
			*item = (u32)strtoul(s, &end, 10);
		if (!err && (end == s || (*end != '\n' && *end != '\t')))
			err = ks_diag_set(diag, -EPROTO, "the server's answer is no number");
		if (err)
			break;
	}
	ks_strbuf_deinit(&answer);
	return err;
}

/*
 * Minutes or hours that have reports which came after their sums were made, or in the same second. An hour that is
 * not over is made again only now and then.
 */
static int find_buckets(struct ks_store *store, unsigned int level, u32 since, u32 now, u32 limit,
			struct buckets *to, struct ks_diag *diag)
{
	bool hours = level == KS_STORE_BY_HOUR;
	struct ks_strbuf sql;
	int err;

	ks_strbuf_init(&sql);
	ks_strbuf_printf(
		&sql,
		"SELECT toUInt32(bucket) FROM (SELECT %s(ts) AS bucket, "
		"toUInt32(max(stored)) AS last FROM %s.reports WHERE ts >= toDateTime(%u) "
		"GROUP BY bucket) AS b ANY LEFT JOIN (SELECT bucket, toUInt32(max(made)) AS made "
		"FROM %s.rollups WHERE level = %u GROUP BY bucket) AS r USING bucket "
		"WHERE last + 1 >= made AND (toUInt32(bucket) + %u <= %u OR made + %u <= %u) "
		"ORDER BY bucket LIMIT %u",
		hours ? "toStartOfHour" : "toStartOfMinute", store->database, (unsigned int)since,
		store->database, level, hours ? (unsigned int)HOUR : (unsigned int)MINUTE,
		(unsigned int)now, hours ? (unsigned int)OPEN_HOUR_SECS : UINT32_MAX,
		(unsigned int)now, (unsigned int)limit);
	err = ask_numbers(store, &sql, to, diag);
	ks_strbuf_deinit(&sql);
	return err;
}

static int note(struct ks_store *store, struct ks_strbuf *sql, unsigned int level,
		const u32 *buckets, size_t len, u32 now, struct ks_diag *diag)
{
	size_t i;

	ks_strbuf_printf(sql, "INSERT INTO %s.rollups (level, bucket, made, ver) VALUES ",
			 store->database);
	for (i = 0; i < len; i++)
		ks_strbuf_printf(sql, "%s(%u, %u, %u, %u)", i ? ", " : "", level,
				 (unsigned int)buckets[i], (unsigned int)now, (unsigned int)now);
	return send(store, sql, NULL, diag);
}

/* Some minutes of one hour. Of several intervals in a minute the last one says what was live. */
static int make_minutes(struct ks_store *store, struct ks_strbuf *sql, const u32 *minutes,
			size_t len, u32 now, struct ks_diag *diag)
{
	const char *db = store->database;
	unsigned int first = (unsigned int)minutes[0],
		     end = (unsigned int)minutes[len - 1] + MINUTE;
	int err;

	ks_strbuf_printf(
		sql,
		"INSERT INTO %s.minute (ts, build, cache, type, site, hosts, build_hosts, live_bytes, "
		"live_objects, allocs, frees, ver) "
		"SELECT m, build, cache, type, site, hosts, build_hosts, bytes, objects, a, f, "
		"toUInt64(%u) FROM "
		"(SELECT m, build, cache, type, site, toUInt32(uniqExact(host)) AS hosts, "
		"sum(bytes1) AS bytes, sum(objects1) AS objects, sum(a1) AS a, sum(f1) AS f FROM "
		"(SELECT toStartOfMinute(ts) AS m, host, boot, build, cache, type, site, stack, cgroup, "
		"argMax(live_bytes, ts) AS bytes1, argMax(live_objects, ts) AS objects1, "
		"sum(allocs) AS a1, sum(frees) AS f1 FROM %s.rows FINAL "
		"WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u) "
		"GROUP BY m, host, boot, build, cache, type, site, stack, cgroup) AS i "
		"GROUP BY m, build, cache, type, site) AS s "
		"ANY LEFT JOIN (SELECT toStartOfMinute(ts) AS m, build, "
		"toUInt32(uniqExact(host)) AS build_hosts FROM %s.reports "
		"WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u) GROUP BY m, build) AS h "
		"USING (m, build)",
		db, (unsigned int)now, db, first, end, db, first, end);
	err = send(store, sql, NULL, diag);
	return err ? err : note(store, sql, KS_STORE_BY_MINUTE, minutes, len, now, diag);
}

/* Slopes by host: bytes an hour, by least squares over the intervals of the hour. */
static int make_host_hour(struct ks_store *store, struct ks_strbuf *sql, u32 hour, u32 now,
			  struct ks_diag *diag)
{
	const char *db = store->database;
	unsigned int from = (unsigned int)hour, to = (unsigned int)hour + HOUR;

	ks_strbuf_printf(
		sql,
		"INSERT INTO %s.host_hour (hour, host, boot, build, cache, type, site, points, warm, "
		"live_bytes, live_objects, allocs, frees, growth, ver) "
		"SELECT toDateTime(%u) AS h, host, boot, build, cache, type, site, n, warm, bytes, objects, "
		"a, f, if(n > 1 AND d > 0, (n * xy - x1 * y1) / d, 0.) AS g, toUInt64(%u) FROM "
		"(SELECT host, boot, build, cache, type, site, toUInt32(count()) AS n, "
		"argMax(y, ts) AS bytes, argMax(o, ts) AS objects, sum(a1) AS a, sum(f1) AS f, "
		"sum(x) AS x1, toFloat64(sum(y)) AS y1, sum(x * y) AS xy, "
		"count() * sum(x * x) - sum(x) * sum(x) AS d FROM "
		"(SELECT host, boot, build, ts, cache, type, site, "
		"(toUInt32(ts) - %u) / 3600 AS x, sum(live_bytes) AS y, sum(live_objects) AS o, "
		"sum(allocs) AS a1, sum(frees) AS f1 FROM %s.rows FINAL "
		"WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u) "
		"GROUP BY host, boot, build, ts, cache, type, site) AS i "
		"GROUP BY host, boot, build, cache, type, site) AS s "
		"ANY LEFT JOIN (SELECT host, boot, toUInt8(min(uptime) >= %u) AS warm "
		"FROM %s.reports WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u) "
		"GROUP BY host, boot) AS u USING (host, boot)",
		db, from, (unsigned int)now, from, db, from, to, (unsigned int)KS_STORE_WARM_SECS,
		db, from, to);
	return send(store, sql, NULL, diag);
}

static int make_hour(struct ks_store *store, struct ks_strbuf *sql, u32 hour, u32 now,
		     struct ks_diag *diag)
{
	const char *db = store->database;
	unsigned int from = (unsigned int)hour, to = (unsigned int)hour + HOUR;
	struct buckets warm = { 0 };
	int err;

	err = make_host_hour(store, sql, hour, now, diag);
	if (err)
		return err;
	ks_strbuf_printf(sql,
			 "SELECT uniqExact(host) FROM (SELECT host, boot, min(uptime) AS up FROM "
			 "%s.reports WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u) "
			 "GROUP BY host, boot) AS b WHERE up >= %u",
			 db, from, to, (unsigned int)KS_STORE_WARM_SECS);
	err = ask_numbers(store, sql, &warm, diag);
	if (!err && !warm.items.len)
		err = ks_diag_set(diag, -EPROTO, "the server's answer is empty");
	if (!err) {
		ks_strbuf_printf(
			sql,
			"INSERT INTO %s.hour (hour, build, cache, type, site, hosts, build_hosts, warm_hosts, "
			"all_warm, live_bytes, live_objects, allocs, frees, growth, growth_sq, growing, "
			"top_host, top_growth, ver) "
			"SELECT toDateTime(%u) AS h, build, cache, type, site, hosts, build_hosts, warm_hosts, "
			"toUInt32(%u), bytes, objects, a, f, g, gg, up, top, most, toUInt64(%u) FROM "
			"(SELECT build, cache, type, site, toUInt32(uniqExact(host)) AS hosts, "
			"sum(live_bytes) AS bytes, sum(live_objects) AS objects, sum(allocs) AS a, "
			"sum(frees) AS f, sum(growth * warm) AS g, sum(growth * growth * warm) AS gg, "
			"toUInt32(sum((growth > 0) * warm)) AS up, argMax(host, growth * warm) AS top, "
			"max(growth * warm) AS most FROM %s.host_hour FINAL "
			"WHERE hour = toDateTime(%u) GROUP BY build, cache, type, site) AS s "
			"ANY LEFT JOIN (SELECT build, toUInt32(uniqExact(host)) AS build_hosts, "
			"toUInt32(uniqExactIf(host, up >= %u)) AS warm_hosts FROM "
			"(SELECT host, boot, build, min(uptime) AS up FROM %s.reports "
			"WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u) GROUP BY host, boot, build) AS r "
			"GROUP BY build) AS n USING (build)",
			db, from, (unsigned int)warm.items.items[0], (unsigned int)now, db, from,
			(unsigned int)KS_STORE_WARM_SECS, db, from, to);
		err = send(store, sql, NULL, diag);
	}
	ks_vec_free(&warm.items);
	return err ? err : note(store, sql, KS_STORE_BY_HOUR, &hour, 1, now, diag);
}

static int make_all_minutes(struct ks_store *store, struct ks_strbuf *sql,
			    const struct buckets *minutes, u32 now, struct ks_rollup_result *result,
			    struct ks_diag *diag)
{
	size_t i, next;
	int err = 0;

	for (i = 0; !err && i < minutes->items.len; i = next) {
		const u32 *first = &minutes->items.items[i];

		for (next = i + 1; next < minutes->items.len; next++)
			if (minutes->items.items[next] / HOUR != *first / HOUR)
				break;
		err = make_minutes(store, sql, first, next - i, now, diag);
		if (!err)
			result->minutes += (u32)(next - i);
	}
	return err;
}

/* === Public =============================================================================== */

int ks_store_rollup(struct ks_store *store, u32 since, u32 limit, struct ks_rollup_result *result,
		    struct ks_diag *diag)
{
	struct buckets minutes = { 0 }, hours = { 0 }, clock = { 0 };
	struct ks_strbuf sql;
	u32 now = 0;
	size_t i;
	int err;

	*result = (struct ks_rollup_result){ 0 };
	ks_strbuf_init(&sql);
	ks_strbuf_puts(&sql, "SELECT toUInt32(now())");
	err = ask_numbers(store, &sql, &clock, diag);
	if (!err && clock.items.len)
		now = clock.items.items[0];
	if (!err)
		err = find_buckets(store, KS_STORE_BY_MINUTE, since, now, limit, &minutes, diag);
	if (!err)
		err = find_buckets(store, KS_STORE_BY_HOUR, since, now, limit, &hours, diag);
	if (!err)
		err = make_all_minutes(store, &sql, &minutes, now, result, diag);
	for (i = 0; !err && i < hours.items.len; i++) {
		err = make_hour(store, &sql, hours.items.items[i], now, diag);
		if (!err)
			result->hours++;
	}
	if (!err)
		result->more = minutes.items.len == limit || hours.items.len == limit;
	ks_vec_free(&clock.items);
	ks_vec_free(&minutes.items);
	ks_vec_free(&hours.items);
	ks_strbuf_deinit(&sql);
	return err;
}
