// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The statements behind the questions.
 *
 * Whether something leaks is decided with hosts as witnesses. In each hour a series has a slope on each host that has
 * been up for a while. A build is accused where the mean slope of its hosts is above that of the hosts of all other
 * builds in the same hours, by many times the error of that difference. The rhythm of the day is on both sides and
 * cancels out; one host with a trouble of its own raises the error as much as the mean, so it accuses no build. What makes
 * a host grow more may last for hours, so the errors of several hours are added, not their squares.
 *
 * A single host is accused where it grew far more than all others of the fleet and than those of its build, in most hours
 * since it began. The spread of a few hosts is small by chance: so few others count for little (ks_verdict_sigmas()), and
 * where a build has few, the host must have grown twice as much as any of them can have.
 */
#include "fleet/question-sql.h"

#include <inttypes.h>
#include <string.h>

#include "fleet/schema.h"
#include "fleet/sums-sql.h"
#include "fleet/verdict.h"

/* === Data ================================================================================= */

enum { HOUR = 3600 };

/* === Internals: parts of statements ======================================================= */

/* What is not asked for is left out. Ids are numbers, so nothing that a user typed gets into a statement. */
static void add_filter(struct ks_strbuf *sql, const char *column, enum ks_fleet_kind kind,
		       const char *name)
{
	if (name)
		ks_strbuf_printf(sql, " AND %s = %" PRIu64, column,
				 ks_fleet_id(kind, name, strlen(name)));
}

static void add_series_filters(struct ks_strbuf *sql, const struct ks_question *q)
{
	add_filter(sql, "cache", KS_FLEET_CACHE, q->cache);
	add_filter(sql, "type", KS_FLEET_TYPE, q->type);
	add_filter(sql, "site", KS_FLEET_SITE, q->site);
}

static void add_filters(struct ks_strbuf *sql, const struct ks_question *q)
{
	add_filter(sql, "build", KS_FLEET_BUILD, q->build);
	add_series_filters(sql, q);
}

static void add_limit(struct ks_asking *ask)
{
	u64 top = ask->q->top && ask->q->top < KS_VERDICT_ROWS_MAX ? ask->q->top
								   : KS_VERDICT_ROWS_MAX;

	ks_strbuf_printf(&ask->sql, " LIMIT %" PRIu64, top);
}

static double sigmas_of(const struct ks_asking *ask)
{
	return ask->q->sigmas > 0 ? ask->q->sigmas : KS_VERDICT_SIGMAS;
}

/* The newest value of a label for each host: host, value. */
static void add_labels(struct ks_strbuf *sql, const char *database, const char *label, size_t len)
{
	ks_strbuf_printf(sql, "SELECT host, argMax(value, ver) AS v FROM %s.labels WHERE label = ",
			 database);
	ks_sql_text(sql, label, len);
	ks_strbuf_puts(sql, " GROUP BY host");
}

static struct ks_sums_sql sums_of(const struct ks_asking *ask)
{
	return (struct ks_sums_sql){ .database = ask->store->database,
				     .since = ask->since,
				     .until = ask->until,
				     .hosts = ask->hosts.len ? ask->hosts.s : NULL };
}

/*
 * What is stored for hosts with a label. A host that got another value since stays in the sums of the old one until they are all
 * written, so of these only what was made in the last turn counts.
 */
static void add_label_hours(struct ks_asking *ask)
{
	const char *db = ask->store->database, *label = ask->q->label;

	ks_strbuf_printf(&ask->sql, "(SELECT * FROM %s.label_hour FINAL WHERE %s AND label = ", db,
			 ask->window);
	ks_sql_text(&ask->sql, label, strcspn(label, "="));
	ks_strbuf_puts(&ask->sql, " AND value = ");
	ks_sql_text(&ask->sql, strchr(label, '=') + 1, strlen(strchr(label, '=') + 1));
	ks_strbuf_printf(
		&ask->sql,
		") AS s ANY LEFT JOIN (SELECT bucket AS hour, toUInt64(toUInt32(max(made))) AS noted "
		"FROM %s.rollups WHERE level = %d GROUP BY bucket) AS n USING (hour) "
		"WHERE ver >= noted",
		db, (int)KS_STORE_SHORT);
}

/* Sums by build: those that are stored, or, for some of the hosts, made of these hosts' sums. */
static void add_hours(struct ks_asking *ask)
{
	struct ks_sums_sql of = sums_of(ask);

	if (!of.hosts) {
		ks_strbuf_printf(&ask->sql, "%s.hour FINAL WHERE %s", ask->store->database,
				 ask->window);
		return;
	}
	if (ask->short_sums) {
		add_label_hours(ask);
		return;
	}
	ks_strbuf_puts(&ask->sql, "(");
	ks_sums_sql_builds(&ask->sql, &of);
	ks_strbuf_puts(&ask->sql, ") AS some WHERE 1");
}

/* === Internals: the statements ============================================================ */

static void begin_top(struct ks_asking *ask, const char *growth, const char *by)
{
	unsigned int last = (unsigned int)ask->until - HOUR;

	ks_strbuf_printf(
		&ask->sql,
		"SELECT toInt64(sum(%s)) AS g, sumIf(live_bytes, hour = toDateTime(%u)) AS b, "
		"sumIf(live_objects, hour = toDateTime(%u)) AS o, %s FROM ",
		growth, last, last, by);
}

static void end_top(struct ks_asking *ask, const char *by)
{
	ks_strbuf_printf(&ask->sql, " GROUP BY %s ORDER BY g DESC, b DESC, %s", by, by);
	add_limit(ask);
}

/* Sums have neither stacks nor cgroups: these are of the rows. */
static void write_top_of_rows(struct ks_asking *ask, const char *column)
{
	struct ks_sums_sql of = sums_of(ask);
	struct ks_strbuf rows;

	ks_strbuf_init(&rows);
	add_filters(&rows, ask->q);
	of.site = column;
	of.rows = ks_strbuf_str(&rows);
	begin_top(ask, "growth * warm", "site");
	ks_strbuf_puts(&ask->sql, "(");
	ks_sums_sql_hosts(&ask->sql, &of);
	ks_strbuf_puts(&ask->sql, ") AS rows_of_all");
	end_top(ask, "site");
	ask->sql.failed |= rows.failed;
	ks_strbuf_deinit(&rows);
}

/* Sums over all series of a host, unless some series are asked for. */
static void write_top_of_hosts(struct ks_asking *ask, const char *by)
{
	bool all = ask->short_sums && ks_asking_hosts(ask);

	begin_top(ask, "grown", by);
	ks_strbuf_printf(
		&ask->sql,
		"(SELECT hour, host, %s AS grown, live_bytes, live_objects FROM %s.%s FINAL "
		"WHERE %s%s",
		all ? "growth" : "growth * warm", ask->store->database,
		all ? "host_sum" : "host_hour", ask->window, ks_strbuf_str(&ask->hosts));
	add_filters(&ask->sql, ask->q);
	ks_strbuf_puts(&ask->sql, ") AS h");
	if (ask->q->by == KS_FLEET_BY_LABEL) {
		ks_strbuf_puts(&ask->sql, " ANY LEFT JOIN (");
		add_labels(&ask->sql, ask->store->database, ask->q->by_label,
			   strlen(ask->q->by_label));
		ks_strbuf_puts(&ask->sql, ") AS l USING (host)");
	}
	end_top(ask, by);
}

static void write_top(struct ks_asking *ask)
{
	const char *by = ks_fleet_by_name(ask->q->by);

	switch (ask->q->by) {
	case KS_FLEET_BY_STACK:
	case KS_FLEET_BY_CGROUP:
		write_top_of_rows(ask, by);
		return;
	case KS_FLEET_BY_HOST:
		write_top_of_hosts(ask, "host");
		return;
	case KS_FLEET_BY_LABEL:
		write_top_of_hosts(ask, "v");
		return;
	default:
		begin_top(ask, "growth", by);
		add_hours(ask);
		add_filters(&ask->sql, ask->q);
		end_top(ask, by);
	}
}

/*
 * Of each hour and series: the number, the sum and the sum of squares of slopes on each build (n, s, q), and on all builds
 * together, from which those of the other builds follow (m, os, oq). Where there is no other build, growth itself is judged.
 */
static void add_contrast(struct ks_asking *ask, int hosts_least)
{
	ks_strbuf_puts(
		&ask->sql,
		"(SELECT hour, cache, type, site, all_n, all_s, all_q, b.1 AS build, b.2 AS s, b.3 AS q, "
		"b.4 AS n, b.5 AS growing, b.6 AS top_host, b.7 AS top, "
		"all_n - n AS m, all_s - s AS os, all_q - q AS oq FROM "
		"(SELECT hour, cache, type, site, sum(growth) AS all_s, sum(growth_sq) AS all_q, "
		"toFloat64(max(all_warm)) AS all_n, groupArray((build, growth, growth_sq, "
		"toFloat64(warm_hosts), growing, top_host, top_growth)) AS bs FROM ");
	add_hours(ask);
	add_series_filters(&ask->sql, ask->q);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY hour, cache, type, site) AS h ARRAY JOIN bs AS b WHERE b.4 >= %d)",
		hosts_least);
}

/*
 * Mean growth over the hours in which the build has warm hosts. An hour in which it grew as much by chance
 * would be taken for its beginning, so that hour must stand out by itself.
 */
static void write_leaks(struct ks_asking *ask)
{
	ks_strbuf_puts(
		&ask->sql,
		"SELECT toInt64(mean), toInt64(mean * hosts) AS total, toUInt64(hosts), toUInt64(up), z, "
		"since, first, build, cache, type, site FROM "
		"(SELECT build, cache, type, site, sum(d) / count() AS mean, "
		"sum(d) / sum(sqrt(v + 1)) AS t, sum(n - 1) AS df, " KS_VERDICT_SIGMAS_SQL(
			"t", "df") " AS z, "
				   "argMax(n, hour) AS hosts, argMax(growing, hour) AS up, "
				   "minIf(hour, d > 4 * sqrt(v + 1)) AS since FROM "
				   "(SELECT hour, build, cache, type, site, n, growing, "
				   "s / n - if(m > 0, os / m, 0.) AS d, " KS_VERDICT_VARIANCE_SQL(
					   "n", "s",
					   "q") " AS own, "
						"own / n + if(m > 1, " KS_VERDICT_VARIANCE_SQL(
							"m", "os",
							"oq") " / m, "
							      "if(m > 0, own, 0.)) AS v FROM ");
	add_contrast(ask, KS_VERDICT_HOSTS_LEAST);
	ks_strbuf_puts(&ask->sql, " AS c WHERE 1");
	add_filter(&ask->sql, "build", KS_FLEET_BUILD, ask->q->build);
	ks_strbuf_printf(
		&ask->sql,
		") AS e GROUP BY build, cache, type, site HAVING z >= %.3f AND mean >= %" PRIu64
		" ORDER BY mean * hosts DESC, build, cache, type, site",
		sigmas_of(ask), ask->q->least);
	add_limit(ask);
	ks_strbuf_printf(
		&ask->sql,
		") AS l ANY LEFT JOIN (SELECT build, cache, type, site, min(hour) AS first "
		"FROM %s.hour GROUP BY build, cache, type, site) AS f "
		"USING (build, cache, type, site) ORDER BY total DESC, build, cache, type, site",
		ask->store->database);
}

/*
 * The host that grew most in an hour, against all others (n1, s1, q1) and against those of its build (n2, s2, q2). Of n
 * values none is farther from their mean than their deviation times the root of n - 1: that is most.
 */
static void write_outliers(struct ks_asking *ask)
{
	ks_strbuf_puts(
		&ask->sql,
		"SELECT toInt64(sum(top) / count()), toInt64(sum(s2 / n2) / count()) AS others, "
		"toUInt64(count()) AS hours, min(hour) AS since, top_host, build, cache, type, site FROM "
		"(SELECT hour, top_host, build, cache, type, site, top, "
		"all_n - 1 AS n1, all_s - top AS s1, all_q - top * top AS q1, "
		"n - 1 AS n2, s - top AS s2, q - top * top AS q2, "
		"(top - s1 / n1) / (sqrt(" KS_VERDICT_VARIANCE_SQL(
			"n1", "s1",
			"q1") " * (1 + 1 / n1)) + 1) AS t1, "
			      "(top - s2 / n2) / (sqrt(" KS_VERDICT_VARIANCE_SQL(
				      "n2", "s2",
				      "q2") " * (1 + 1 / n2)) + 1) AS t2, "
					    "s2 / n2 + sqrt(greatest(q2 / n2 - (s2 / n2) * (s2 / n2), 0.) * (n2 - 1)) AS most FROM ");
	add_contrast(ask, 2);
	ks_strbuf_puts(&ask->sql, " AS c WHERE 1");
	add_filter(&ask->sql, "build", KS_FLEET_BUILD, ask->q->build);
	ks_strbuf_printf(
		&ask->sql,
		") AS t WHERE n1 >= %d AND top - s2 / n2 >= %" PRIu64
		" AND " KS_VERDICT_SIGMAS_SQL("t1", "(n1 - 1)") " >= %.3f AND if(n2 >= %d, " KS_VERDICT_SIGMAS_SQL(
			"t2",
			"(n2 - 1)") " >= %.3f, top > 2 * most) "
				    "GROUP BY top_host, build, cache, type, site "
				    "HAVING hours >= %d AND hours * %d >= toUInt32(%u) - toUInt32(min(hour)) "
				    "ORDER BY sum(top) DESC, top_host, build, cache, type, site",
		(int)KS_VERDICT_OTHERS_LEAST, ask->q->least, sigmas_of(ask),
		(int)KS_VERDICT_OTHERS_MANY, sigmas_of(ask), (int)KS_VERDICT_HOURS_LEAST, 2 * HOUR,
		(unsigned int)ask->until);
	add_limit(ask);
}

/* A sum over the hours of one of two builds, in which it has warm hosts: a mean where @hours is a count of hours. */
static void add_side(struct ks_asking *ask, const char *what, u64 build, const char *as)
{
	ks_strbuf_printf(&ask->sql, "sumIf(%s, build = %" PRIu64 " AND warm_hosts > 0) AS %s, ",
			 what, build, as);
}

/* Levels are those of the last hour of each build, so that builds of different weeks can be compared. */
static void write_diff(struct ks_asking *ask)
{
	static const char error[] = "sqrt(" KS_VERDICT_VARIANCE_SQL("warm_hosts", "growth",
								    "growth_sq") " / warm_hosts)";
	u64 a = ks_fleet_id(KS_FLEET_BUILD, ask->q->builds[0], strlen(ask->q->builds[0]));
	u64 b = ks_fleet_id(KS_FLEET_BUILD, ask->q->builds[1], strlen(ask->q->builds[1]));

	ks_strbuf_puts(
		&ask->sql,
		"SELECT toInt64(before), toInt64(after), toInt64(after - before) AS change, "
		"toInt64(grown), " KS_VERDICT_SIGMAS_SQL(
			"t",
			"df") " AS z, cache, type, site FROM "
			      "(SELECT cache, type, site, before, after, gb / hours_b - ga / hours_a AS grown, "
			      "grown / sqrt(pow(ea / hours_a, 2) + pow(eb / hours_b, 2) + 1) AS t, "
			      "toFloat64(greatest(least(fa, fb), 1)) AS df FROM (SELECT cache, type, site, ");
	add_side(ask, "growth / warm_hosts", a, "ga");
	add_side(ask, "growth / warm_hosts", b, "gb");
	add_side(ask, error, a, "ea");
	add_side(ask, error, b, "eb");
	add_side(ask, "toInt64(warm_hosts) - 1", a, "fa");
	add_side(ask, "toInt64(warm_hosts) - 1", b, "fb");
	ks_strbuf_printf(
		&ask->sql,
		"sumIf(live_bytes / build_hosts, build = %" PRIu64 " AND hour = last_a) AS before, "
		"sumIf(live_bytes / build_hosts, build = %" PRIu64 " AND hour = last_b) AS after, "
		"any(ha) AS hours_a, any(hb) AS hours_b FROM "
		"(SELECT * FROM (SELECT 1 AS one, hour, build, cache, type, site, build_hosts, "
		"warm_hosts, live_bytes, growth, growth_sq FROM ",
		a, b);
	add_hours(ask);
	ks_strbuf_printf(&ask->sql, " AND build IN (%" PRIu64 ", %" PRIu64 ")", a, b);
	add_series_filters(&ask->sql, ask->q);
	ks_strbuf_printf(&ask->sql,
			 ") AS s ANY LEFT JOIN (SELECT 1 AS one, maxIf(hour, build = %" PRIu64
			 ") AS last_a, maxIf(hour, build = %" PRIu64 ") AS last_b, "
			 "greatest(uniqExactIf(hour, build = %" PRIu64 " AND w), 1) AS ha, "
			 "greatest(uniqExactIf(hour, build = %" PRIu64 " AND w), 1) AS hb "
			 "FROM (SELECT hour, build, max(warm_hosts) > 0 AS w FROM ",
			 a, b, a, b);
	add_hours(ask);
	ks_strbuf_printf(&ask->sql,
			 " AND build IN (%" PRIu64 ", %" PRIu64
			 ") GROUP BY hour, build) AS c) AS l USING (one)) AS j",
			 a, b);
	ks_strbuf_puts(&ask->sql, " GROUP BY cache, type, site) AS d) AS e "
				  "ORDER BY abs(after - before) DESC, cache, type, site");
	add_limit(ask);
}

static void write_host(struct ks_asking *ask)
{
	u64 host = ks_fleet_id(KS_FLEET_HOST, ask->q->host, strlen(ask->q->host));
	const char *db = ask->store->database;

	ks_strbuf_printf(
		&ask->sql,
		"SELECT live, objects, toInt64(others), grown, build, cache, type, site FROM "
		"(SELECT build, cache, type, site, argMax(live_bytes, hour) AS live, "
		"argMax(live_objects, hour) AS objects, toInt64(sum(growth)) AS grown "
		"FROM %s.host_hour FINAL WHERE host = %" PRIu64 " AND %s AND build = "
		"(SELECT argMax(build, hour) FROM %s.host_hour WHERE host = %" PRIu64 " AND %s)",
		db, host, ask->window, db, host, ask->window);
	add_filters(&ask->sql, ask->q);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY build, cache, type, site) AS h ANY LEFT JOIN "
		"(SELECT build, cache, type, site, argMax(live_bytes / build_hosts, hour) AS others "
		"FROM %s.hour FINAL WHERE %s GROUP BY build, cache, type, site) AS b "
		"USING (build, cache, type, site) ORDER BY live DESC, build, cache, type, site",
		db, ask->window);
	add_limit(ask);
}

static void write_types(struct ks_asking *ask)
{
	ks_strbuf_printf(
		&ask->sql,
		"SELECT b, o, g, builds, first, type FROM (SELECT "
		"sumIf(live_bytes, hour = toDateTime(%u)) AS b, "
		"sumIf(live_objects, hour = toDateTime(%u)) AS o, toInt64(sum(growth)) AS g, "
		"toUInt64(uniqExact(build)) AS builds, type FROM ",
		(unsigned int)ask->until - HOUR, (unsigned int)ask->until - HOUR);
	add_hours(ask);
	add_filters(&ask->sql, ask->q);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY type) AS t ANY LEFT JOIN (SELECT type, min(hour) AS first FROM %s.hour "
		"GROUP BY type) AS f USING (type) ORDER BY b DESC, type",
		ask->store->database);
	add_limit(ask);
}

static void write_history(struct ks_asking *ask)
{
	ks_strbuf_puts(&ask->sql,
		       "SELECT hour, toUInt64(max(build_hosts)) AS n, sum(live_bytes) AS b, "
		       "sum(live_objects) AS o, toInt64(b / n), "
		       "toInt64(sum(growth) / greatest(max(warm_hosts), 1)), build FROM ");
	add_hours(ask);
	add_filters(&ask->sql, ask->q);
	ks_strbuf_puts(&ask->sql, " GROUP BY hour, build ORDER BY hour DESC, build");
	add_limit(ask);
}

/* Reports by host, those of some hours from their sums. */
static void add_reports(struct ks_asking *ask)
{
	const struct ks_question *q = ask->q;
	struct ks_sums_sql of = sums_of(ask);
	struct ks_strbuf more;

	ks_strbuf_init(&more);
	add_filter(&more, "host", KS_FLEET_HOST, q->host);
	add_filter(&more, "build", KS_FLEET_BUILD, q->build);
	if (ask->sums_since < ask->sums_until) {
		ks_strbuf_puts(&ask->sql, "SELECT ");
		ks_strbuf_puts(&ask->sql,
			       "hour, host, build, begin, last, intervals, least, most, late, "
			       "lost_before, lost_after, skipped_before, skipped_after, torn_all "
			       "FROM ");
		ks_strbuf_printf(
			&ask->sql,
			"%s.host_reports FINAL WHERE hour >= toDateTime(%u) AND hour < toDateTime(%u)%s%s",
			of.database, (unsigned int)ask->sums_since, (unsigned int)ask->sums_until,
			ks_strbuf_str(&ask->hosts), ks_strbuf_str(&more));
		ks_strbuf_puts(&ask->sql, " UNION ALL ");
		ks_strbuf_printf(&more, " AND (ts < toDateTime(%u) OR ts >= toDateTime(%u))",
				 (unsigned int)ask->sums_since, (unsigned int)ask->sums_until);
	}
	of.rows = ks_strbuf_str(&more);
	ks_sums_sql_reports(&ask->sql, &of);
	ask->sql.failed |= more.failed;
	ks_strbuf_deinit(&more);
}

/*
 * Intervals that should be there: from the first to the last report, by the shortest interval. Counters of an agent only
 * go up while its spool lives, so what was lost is the difference.
 */
static void write_quality(struct ks_asking *ask)
{
	ks_strbuf_printf(
		&ask->sql,
		"SELECT end, n, greatest(wanted, n) - n AS missing, l, lost, skipped, "
		"torn, silent, host, newest FROM (SELECT host, max(last) AS end, sum(intervals) AS n, "
		"toUInt64(intDiv(toUInt32(max(last)) - toUInt32(min(begin)), min(least)) + 1) AS wanted, "
		"sum(late) AS l, max(lost_after) - min(lost_before) AS lost, "
		"max(skipped_after) - min(skipped_before) AS skipped, sum(torn_all) AS torn, "
		"toUInt64(greatest(toInt64(%u) - toInt64(toUInt32(max(last))) - "
		"toInt64(max(most)), 0)) AS silent, toUInt64(max(most)) AS every, "
		"argMax(build, last) AS newest FROM (",
		(unsigned int)ask->until);
	add_reports(ask);
	ks_strbuf_printf(
		&ask->sql,
		") AS h GROUP BY host) AS r WHERE missing > 0 OR l > 0 OR lost > 0 OR skipped > 0 "
		"OR torn > 0 OR silent > %d * every ORDER BY silent DESC, missing DESC, host",
		(int)KS_VERDICT_SILENT_SPANS);
	add_limit(ask);
}

/* === Public =============================================================================== */

ks_statement_fn *const ks_statements[KS_ASKS] = {
	[KS_ASK_TOP] = write_top,	    [KS_ASK_LEAKS] = write_leaks,
	[KS_ASK_OUTLIERS] = write_outliers, [KS_ASK_DIFF] = write_diff,
	[KS_ASK_HOST] = write_host,	    [KS_ASK_TYPES] = write_types,
	[KS_ASK_HISTORY] = write_history,   [KS_ASK_QUALITY] = write_quality,
};

bool ks_asking_hosts(const struct ks_asking *ask)
{
	const struct ks_question *q = ask->q;

	return q->kind == KS_ASK_TOP && (q->by == KS_FLEET_BY_HOST || q->by == KS_FLEET_BY_LABEL) &&
	       !q->cache && !q->type && !q->site;
}

void ks_sql_text(struct ks_strbuf *sql, const char *text, size_t len)
{
	size_t i;

	ks_strbuf_puts(sql, "unhex('");
	for (i = 0; i < len; i++)
		ks_strbuf_printf(sql, "%02X", (unsigned int)(u8)text[i]);
	ks_strbuf_puts(sql, "')");
}

void ks_asking_label(struct ks_asking *ask, const char *label)
{
	const char *equals = strchr(label, '=');

	ks_strbuf_puts(&ask->hosts, " AND host GLOBAL IN (SELECT host FROM (");
	add_labels(&ask->hosts, ask->store->database, label, (size_t)(equals - label));
	ks_strbuf_puts(&ask->hosts, ") AS l WHERE v = ");
	ks_sql_text(&ask->hosts, equals + 1, strlen(equals + 1));
	ks_strbuf_puts(&ask->hosts, ")");
}
