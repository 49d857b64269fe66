// SPDX-License-Identifier: LGPL-2.1-only
/* The statements behind sums by hour, in the dialect that all servers since 18.16 take. */
#include "fleet/sums-sql.h"

#include "fleet/schema.h"
#include "fleet/verdict.h"

/* === Internals ============================================================================ */

static const char *or_none(const char *condition)
{
	return condition ? condition : "";
}

static void add_time(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(sql, "ts >= toDateTime(%u) AND ts < toDateTime(%u)%s",
			 (unsigned int)of->since, (unsigned int)of->until, or_none(of->hosts));
}

/* The newest labels of each host: host, ls, set. A label with many values, such as a serial number, tells hosts apart and makes no groups. */
static void add_labels_of_hosts(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(
		sql,
		"SELECT host, arraySort(groupArray((label, v))) AS ls, cityHash64(toString(ls)) AS set "
		"FROM (SELECT host, label, argMax(value, ver) AS v FROM %s.labels GROUP BY host, label) AS n "
		"WHERE label IN (SELECT label FROM %s.labels GROUP BY label HAVING uniqExact(value) <= %d) "
		"GROUP BY host",
		of->database, of->database, (int)KS_STORE_VALUES_MAX);
}

/*
 * How many hosts each build has in an hour, and how many of them are warm; of each label where the sums are by label. A host is
 * warm on one build at most: after a boot it is not.
 */
static void add_host_counts(struct ks_strbuf *sql, const struct ks_sums_sql *of, bool by_label)
{
	const char *keys = by_label ? "hour, label, value" : "hour";

	ks_strbuf_printf(
		sql,
		"SELECT %s, b.1 AS build, b.2 AS build_hosts, b.3 AS warm_hosts, toUInt32(all_w) AS all_warm "
		"FROM (SELECT %s, sum(w) AS all_w, groupArray((build, n, w)) AS bs FROM "
		"(SELECT hour, %sbuild, toUInt32(uniqExact(host)) AS n, "
		"toUInt32(uniqExactIf(host, up >= %u)) AS w FROM %s"
		"(SELECT toStartOfHour(ts) AS hour, host, boot, build, min(uptime) AS up FROM %s.reports WHERE ",
		keys, keys, by_label ? "l.1 AS label, l.2 AS value, " : "",
		(unsigned int)KS_STORE_WARM_SECS,
		by_label ? "(SELECT hour, host, build, up, ls FROM " : "", of->database);
	add_time(sql, of);
	ks_strbuf_puts(sql, " GROUP BY hour, host, boot, build) AS r ");
	if (by_label) {
		ks_strbuf_puts(sql, "ANY LEFT JOIN (");
		add_labels_of_hosts(sql, of);
		ks_strbuf_puts(sql, ") AS k USING (host)) AS j ARRAY JOIN ls AS l ");
	}
	ks_strbuf_printf(sql, "GROUP BY %s, build) AS c GROUP BY %s) AS e ARRAY JOIN bs AS b", keys,
			 keys);
}

static void add_host_hours(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(
		sql, "%s.host_hour FINAL WHERE hour >= toDateTime(%u) AND hour < toDateTime(%u)%s",
		of->database, (unsigned int)of->since, (unsigned int)of->until, or_none(of->hosts));
}

/* === Public =============================================================================== */

/*
 * Slopes are bytes an hour, by least squares over the intervals of the hour. Rows of a series that differ in what is not asked for
 * are one point where they are of one interval, so times are kept as arrays: to group by time first would make a group of
 * nearly every row.
 */
void ks_sums_sql_hosts(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(
		sql,
		"SELECT h AS hour, host, boot, build, cache, type, place AS site, n AS points, warm, "
		"bytes AS live_bytes, objects AS live_objects, a AS allocs, f AS frees, "
		"if(n > 1 AND d > 0, (n * xy - x1 * y1) / d, 0.) AS growth FROM "
		"(SELECT h, host, boot, build, cache, type, place, a, f, xy, y1, arrayReduce('max', t) AS last, "
		"arrayMap(s -> (toUInt32(s) %% 3600) / 3600, arrayDistinct(t)) AS xs, "
		"toUInt32(length(xs)) AS n, arraySum(xs) AS x1, "
		"n * arraySum(arrayMap(x -> x * x, xs)) - x1 * x1 AS d, "
		"arraySum(arrayMap((s, v) -> if(s = last, v, 0), t, b)) AS bytes, "
		"arraySum(arrayMap((s, v) -> if(s = last, v, 0), t, o)) AS objects FROM "
		"(SELECT toStartOfHour(ts) AS h, host, boot, build, cache, type, %s AS place, "
		"groupArray(ts) AS t, groupArray(live_bytes) AS b, "
		"groupArray(live_objects) AS o, toFloat64(sum(live_bytes)) AS y1, "
		"sum((toUInt32(ts) %% 3600) / 3600 * live_bytes) AS xy, sum(allocs) AS a, "
		"sum(frees) AS f FROM %s.rows FINAL WHERE ",
		of->site ? of->site : "site", of->database);
	add_time(sql, of);
	ks_strbuf_printf(sql,
			 "%s GROUP BY h, host, boot, build, cache, type, place) AS i) AS s "
			 "ANY LEFT JOIN (SELECT toStartOfHour(ts) AS h, host, boot, "
			 "toUInt8(min(uptime) >= %u) AS warm FROM %s.reports WHERE ",
			 or_none(of->rows), (unsigned int)KS_STORE_WARM_SECS, of->database);
	add_time(sql, of);
	ks_strbuf_puts(sql, " GROUP BY h, host, boot) AS u USING (h, host, boot)");
}

void ks_sums_sql_builds(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_puts(
		sql,
		"SELECT hour, build, cache, type, site, hosts, build_hosts, warm_hosts, all_warm, "
		"bytes AS live_bytes, objects AS live_objects, a AS allocs, f AS frees, g AS growth, "
		"gg AS growth_sq, up AS growing, top AS top_host, most AS top_growth FROM "
		"(SELECT hour, build, cache, type, site, toUInt32(uniqExact(host)) AS hosts, "
		"sum(live_bytes) AS bytes, sum(live_objects) AS objects, sum(allocs) AS a, "
		"sum(frees) AS f, sum(growth * warm) AS g, sum(growth * growth * warm) AS gg, "
		"toUInt32(sum((growth > 0) * warm)) AS up, argMax(host, growth * warm) AS top, "
		"max(growth * warm) AS most FROM ");
	if (of->of_rows) {
		ks_strbuf_puts(sql, "(");
		ks_sums_sql_hosts(sql, of);
		ks_strbuf_puts(sql, ") AS sums_of_hosts");
	} else {
		add_host_hours(sql, of);
	}
	ks_strbuf_puts(sql, " GROUP BY hour, build, cache, type, site) AS s ANY LEFT JOIN (");
	add_host_counts(sql, of, false);
	ks_strbuf_puts(sql, ") AS n USING (hour, build)");
}

/* Hosts with the same labels are added up first, which leaves little to be added up for each label. */
void ks_sums_sql_labels(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_puts(
		sql,
		"SELECT hour, label, value, build, cache, type, site, hosts, build_hosts, warm_hosts, all_warm, "
		"bytes, objects, a, f, g, gg, up, top, most FROM "
		"(SELECT hour, l.1 AS label, l.2 AS value, build, cache, type, site, "
		"toUInt32(sum(n1)) AS hosts, sum(b1) AS bytes, sum(o1) AS objects, sum(a1) AS a, "
		"sum(f1) AS f, sum(g1) AS g, sum(gg1) AS gg, toUInt32(sum(up1)) AS up, "
		"argMax(top1, most1) AS top, max(most1) AS most FROM "
		"(SELECT hour, set, build, cache, type, site, any(ls) AS labels, uniqExact(host) AS n1, "
		"sum(live_bytes) AS b1, sum(live_objects) AS o1, sum(allocs) AS a1, sum(frees) AS f1, "
		"sum(growth * warm) AS g1, sum(growth * growth * warm) AS gg1, "
		"sum((growth > 0) * warm) AS up1, argMax(host, growth * warm) AS top1, "
		"max(growth * warm) AS most1 FROM "
		"(SELECT hour, host, build, cache, type, site, warm, live_bytes, live_objects, allocs, "
		"frees, growth FROM ");
	add_host_hours(sql, of);
	ks_strbuf_puts(sql, ") AS h ANY LEFT JOIN (");
	add_labels_of_hosts(sql, of);
	ks_strbuf_puts(
		sql, ") AS k USING (host) GROUP BY hour, set, build, cache, type, site) AS s "
		     "ARRAY JOIN labels AS l "
		     "GROUP BY hour, label, value, build, cache, type, site) AS t ANY LEFT JOIN (");
	add_host_counts(sql, of, true);
	ks_strbuf_puts(sql, ") AS n USING (hour, label, value, build)");
}

void ks_sums_sql_all_series(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_puts(sql, "SELECT hour, host, boot, build, toUInt32(count()), sum(live_bytes), "
			    "sum(live_objects), sum(allocs), sum(frees), sum(growth * warm) FROM ");
	add_host_hours(sql, of);
	ks_strbuf_puts(sql, " GROUP BY hour, host, boot, build");
}

void ks_sums_sql_reports(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(
		sql,
		"SELECT toStartOfHour(ts) AS hour, host, build, min(ts) AS begin, max(ts) AS last, "
		"toUInt64(count()) AS intervals, min(span) AS least, max(span) AS most, "
		"toUInt64(sum(toUInt32(stored) > toUInt32(ts) + span + %d)) AS late, "
		"min(lost) AS lost_before, max(lost) AS lost_after, min(skipped) AS skipped_before, "
		"max(skipped) AS skipped_after, toUInt64(sum(torn)) AS torn_all FROM %s.reports FINAL WHERE ",
		(int)KS_VERDICT_LATE_SECS, of->database);
	add_time(sql, of);
	ks_strbuf_puts(sql, or_none(of->rows));
	ks_strbuf_puts(sql, " GROUP BY hour, host, build");
}
