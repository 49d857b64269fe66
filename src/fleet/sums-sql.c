// SPDX-License-Identifier: LGPL-2.1-only
/* The statements behind sums by hour, in the dialect that all servers since 18.16 take. */
#include "fleet/sums-sql.h"

#include "fleet/schema.h"

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

/*
 * How many hosts each build has in an hour, and how many of them are warm. A host is warm on one build at most: after a
 * boot it is not.
 */
static void add_host_counts(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(
		sql,
		"SELECT hour, b.1 AS build, b.2 AS build_hosts, b.3 AS warm_hosts, toUInt32(all_w) AS all_warm "
		"FROM (SELECT hour, sum(w) AS all_w, groupArray((build, n, w)) AS bs FROM "
		"(SELECT hour, build, toUInt32(uniqExact(host)) AS n, "
		"toUInt32(uniqExactIf(host, up >= %u)) AS w FROM "
		"(SELECT toStartOfHour(ts) AS hour, host, boot, build, min(uptime) AS up FROM %s.reports WHERE ",
		(unsigned int)KS_STORE_WARM_SECS, of->database);
	add_time(sql, of);
	ks_strbuf_puts(sql, " GROUP BY hour, host, boot, build) AS r GROUP BY hour, build) AS c "
			    "GROUP BY hour) AS e ARRAY JOIN bs AS b");
}

/* === Public =============================================================================== */

/* Slopes are bytes an hour, by least squares over the intervals of the hour. */
void ks_sums_sql_hosts(struct ks_strbuf *sql, const struct ks_sums_sql *of)
{
	ks_strbuf_printf(
		sql,
		"SELECT h AS hour, host, boot, build, cache, type, place AS site, n AS points, warm, "
		"bytes AS live_bytes, objects AS live_objects, a AS allocs, f AS frees, "
		"if(n > 1 AND d > 0, (n * xy - x1 * y1) / d, 0.) AS growth FROM "
		"(SELECT h, host, boot, build, cache, type, place, toUInt32(count()) AS n, "
		"argMax(y, ts) AS bytes, argMax(o, ts) AS objects, sum(a1) AS a, sum(f1) AS f, "
		"sum(x) AS x1, toFloat64(sum(y)) AS y1, sum(x * y) AS xy, "
		"count() * sum(x * x) - sum(x) * sum(x) AS d FROM "
		"(SELECT toStartOfHour(ts) AS h, host, boot, build, ts, cache, type, %s AS place, "
		"(toUInt32(ts) %% 3600) / 3600 AS x, sum(live_bytes) AS y, sum(live_objects) AS o, "
		"sum(allocs) AS a1, sum(frees) AS f1 FROM %s.rows FINAL WHERE ",
		of->site ? of->site : "site", of->database);
	add_time(sql, of);
	ks_strbuf_printf(sql,
			 "%s GROUP BY h, host, boot, build, ts, cache, type, place) AS i "
			 "GROUP BY h, host, boot, build, cache, type, place) AS s "
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
		ks_strbuf_printf(sql,
				 "%s.host_hour FINAL WHERE hour >= toDateTime(%u) AND hour < "
				 "toDateTime(%u)%s",
				 of->database, (unsigned int)of->since, (unsigned int)of->until,
				 or_none(of->hosts));
	}
	ks_strbuf_puts(sql, " GROUP BY hour, build, cache, type, site) AS s ANY LEFT JOIN (");
	add_host_counts(sql, of);
	ks_strbuf_puts(sql, ") AS n USING (hour, build)");
}
