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
#include "fleet/sums-sql.h"

/* === Data ================================================================================= */

enum { MINUTE = 60, HOUR = 3600, OPEN_HOUR_SECS = 600, REPLICA_SECS = 60 };

/* A large fleet has a hundred million rows in an hour, which would not fit into the memory of one statement. */
enum { MINUTES_AT_ONCE = 10 };

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
 * Sums may have been made of a replica that did not have all yet. So in a cluster what came shortly before its sums were
 * made is added up again.
 */
static int find_delay(struct ks_store *store, u32 *ret_secs, struct ks_diag *diag)
{
	struct buckets clustered = { 0 };
	struct ks_strbuf sql;
	int err;

	ks_strbuf_init(&sql);
	ks_strbuf_printf(
		&sql,
		"SELECT count() FROM system.tables WHERE database = '%s' AND name = 'rows' AND "
		"engine = 'Distributed'",
		store->database);
	err = ask_numbers(store, &sql, &clustered, diag);
	if (!err)
		*ret_secs = clustered.items.len && clustered.items.items[0] ? REPLICA_SECS : 1;
	ks_vec_free(&clustered.items);
	ks_strbuf_deinit(&sql);
	return err;
}

/*
 * Minutes or hours that have reports which came after their sums were made, or less than @delay seconds before. An hour that
 * is not over is made again only now and then.
 */
static int find_buckets(struct ks_store *store, unsigned int level, u32 since, u32 now, u32 delay,
			u32 limit, struct buckets *to, struct ks_diag *diag)
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
		"WHERE last + %u >= made AND (toUInt32(bucket) + %u <= %u OR made + %u <= %u) "
		"ORDER BY bucket LIMIT %u",
		hours ? "toStartOfHour" : "toStartOfMinute", store->database, (unsigned int)since,
		store->database, level, (unsigned int)delay,
		hours ? (unsigned int)HOUR : (unsigned int)MINUTE, (unsigned int)now,
		hours ? (unsigned int)OPEN_HOUR_SECS : UINT32_MAX, (unsigned int)now,
		(unsigned int)limit);
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

/*
 * Hours whose sums by host are newer than what is made of them. In a cluster a replica may be late, so those sums must have been
 * there for @delay seconds.
 */
static int find_waiting(struct ks_store *store, u32 since, u32 now, u32 delay, u32 limit,
			struct buckets *to, struct ks_diag *diag)
{
	struct ks_strbuf sql;
	int err;

	ks_strbuf_init(&sql);
	ks_strbuf_printf(
		&sql,
		"SELECT toUInt32(bucket) FROM (SELECT bucket, toUInt32(maxIf(made, level = %d)) AS sums, "
		"toUInt32(maxIf(made, level = %d)) AS short FROM %s.rollups "
		"WHERE level IN (%d, %d) AND bucket >= toDateTime(%u) GROUP BY bucket) AS b "
		"WHERE sums > short AND sums + %u <= %u ORDER BY bucket LIMIT %u",
		(int)KS_STORE_BY_HOUR, (int)KS_STORE_SHORT, store->database, (int)KS_STORE_BY_HOUR,
		(int)KS_STORE_SHORT, (unsigned int)since, (unsigned int)delay, (unsigned int)now,
		(unsigned int)limit);
	err = ask_numbers(store, &sql, to, diag);
	ks_strbuf_deinit(&sql);
	return err;
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

/* In a cluster, the replica that is asked may not have yet what was just stored: so both sums are made of rows. */
static int make_hour(struct ks_store *store, struct ks_strbuf *sql, u32 hour, u32 now,
		     bool clustered, struct ks_diag *diag)
{
	struct ks_sums_sql of = { .database = store->database,
				  .since = hour,
				  .until = hour + HOUR,
				  .of_rows = clustered };
	int err;

	ks_strbuf_printf(
		sql,
		"INSERT INTO %s.host_hour (hour, host, boot, build, cache, type, site, points, "
		"warm, live_bytes, live_objects, allocs, frees, growth, ver) "
		"SELECT *, toUInt64(%u) FROM (",
		store->database, (unsigned int)now);
	ks_sums_sql_hosts(sql, &of);
	ks_strbuf_puts(sql, ") AS t");
	err = send(store, sql, NULL, diag);
	if (err)
		return err;
	ks_strbuf_printf(sql,
			 "INSERT INTO %s.hour (hour, build, cache, type, site, hosts, build_hosts, "
			 "warm_hosts, all_warm, live_bytes, live_objects, allocs, frees, growth, "
			 "growth_sq, growing, top_host, top_growth, ver) "
			 "SELECT *, toUInt64(%u) FROM (",
			 store->database, (unsigned int)now);
	ks_sums_sql_builds(sql, &of);
	ks_strbuf_puts(sql, ") AS t");
	err = send(store, sql, NULL, diag);
	return err ? err : note(store, sql, KS_STORE_BY_HOUR, &hour, 1, now, diag);
}

/* What is made of the sums by host: the same by label, over all series of a host, and the reports of an hour. */
static int make_short(struct ks_store *store, struct ks_strbuf *sql, u32 hour, u32 now,
		      struct ks_diag *diag)
{
	static const struct {
		enum ks_store_table table;
		void (*write)(struct ks_strbuf *sql, const struct ks_sums_sql *of);
	} sums[] = { { KS_STORE_HOST_SUM, ks_sums_sql_all_series },
		     { KS_STORE_LABEL_HOUR, ks_sums_sql_labels },
		     { KS_STORE_HOST_REPORTS, ks_sums_sql_reports } };
	struct ks_sums_sql of = { .database = store->database,
				  .since = hour,
				  .until = hour + HOUR };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(sums); i++) {
		const struct ks_store_shape *shape = &ks_store_shapes[sums[i].table];

		ks_strbuf_printf(sql, "INSERT INTO %s.%s ", store->database, shape->name);
		ks_native_names(shape->columns, shape->nr_columns, sql);
		ks_strbuf_printf(sql, " SELECT *, toUInt64(%u) FROM (", (unsigned int)now);
		sums[i].write(sql, &of);
		ks_strbuf_puts(sql, ") AS t");
		err = send(store, sql, NULL, diag);
	}
	return err ? err : note(store, sql, KS_STORE_SHORT, &hour, 1, now, diag);
}

static int add_once(struct buckets *to, u32 bucket, struct ks_diag *diag)
{
	u32 *item;
	size_t i;

	for (i = 0; i < to->items.len; i++)
		if (to->items.items[i] == bucket)
			return 0;
	item = ks_vec_push(&to->items);
	if (!item)
		return ks_diag_nomem(diag, "adding up rows");
	*item = bucket;
	return 0;
}

static int make_all_minutes(struct ks_store *store, struct ks_strbuf *sql,
			    const struct buckets *minutes, u32 now, struct ks_rollup_result *result,
			    struct ks_diag *diag)
{
	size_t i, next;
	int err = 0;

	for (i = 0; !err && i < minutes->items.len; i = next) {
		const u32 *first = &minutes->items.items[i];

		for (next = i + 1; next < minutes->items.len && next - i < MINUTES_AT_ONCE; next++)
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
	struct buckets minutes = { 0 }, hours = { 0 }, waiting = { 0 }, clock = { 0 };
	struct ks_strbuf sql;
	u32 now = 0, delay = 1;
	size_t i;
	int err;

	*result = (struct ks_rollup_result){ 0 };
	ks_strbuf_init(&sql);
	ks_strbuf_puts(&sql, "SELECT toUInt32(now())");
	err = ask_numbers(store, &sql, &clock, diag);
	if (!err && clock.items.len)
		now = clock.items.items[0];
	if (!err)
		err = find_delay(store, &delay, diag);
	if (!err)
		err = find_buckets(store, KS_STORE_BY_MINUTE, since, now, delay, limit, &minutes,
				   diag);
	if (!err)
		err = find_buckets(store, KS_STORE_BY_HOUR, since, now, delay, limit, &hours, diag);
	if (!err)
		err = find_waiting(store, since, now, delay > 1 ? delay : 0, limit, &waiting, diag);
	if (!err)
		err = make_all_minutes(store, &sql, &minutes, now, result, diag);
	for (i = 0; !err && i < hours.items.len; i++) {
		err = make_hour(store, &sql, hours.items.items[i], now, delay > 1, diag);
		if (!err && delay == 1)
			err = add_once(&waiting, hours.items.items[i], diag);
		if (!err)
			result->hours++;
	}
	for (i = 0; !err && i < waiting.items.len; i++)
		err = make_short(store, &sql, waiting.items.items[i], now, diag);
	if (!err)
		result->more = delay == 1 &&
			       (minutes.items.len == limit || hours.items.len == limit ||
				waiting.items.len == limit);
	ks_vec_free(&clock.items);
	ks_vec_free(&minutes.items);
	ks_vec_free(&hours.items);
	ks_vec_free(&waiting.items);
	ks_strbuf_deinit(&sql);
	return err;
}
