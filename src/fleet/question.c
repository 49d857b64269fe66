// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The statements behind the questions.
 *
 * Whether something leaks is decided with hosts as witnesses. In each hour a series has a slope on each host that has
 * been up for a while. A build is accused where the mean slope of its hosts is above that of the hosts of all other
 * builds in the same hours, by many times the error of that difference. The rhythm of the day is on both sides and
 * cancels out; one host with a trouble of its own raises the error as much as the mean, so it accuses no build.
 */
#include "fleet/question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/answer.h"
#include "fleet/files-ask.h"

/* === Data ================================================================================= */

enum {
	ROWS_MAX = 10000,
	HOUR = 3600,
	SILENT_SPANS = 3, /* intervals without a report that make a host a silent one */
	LATE_SECS = 300,
	HOSTS_LEAST = 3, /* of a build that is accused */
};

static const char *const by_names[KS_FLEET_BYS] = {
	[KS_FLEET_BY_CACHE] = "cache",
	[KS_FLEET_BY_TYPE] = "type",
	[KS_FLEET_BY_SITE] = "site",
	[KS_FLEET_BY_BUILD] = "build",
};

static const enum ks_fleet_kind by_kinds[KS_FLEET_BYS] = {
	[KS_FLEET_BY_CACHE] = KS_FLEET_CACHE,
	[KS_FLEET_BY_TYPE] = KS_FLEET_TYPE,
	[KS_FLEET_BY_SITE] = KS_FLEET_SITE,
	[KS_FLEET_BY_BUILD] = KS_FLEET_BUILD,
};

#define ID(name_, kind_)                                                              \
	{                                                                             \
		{ name_, name_, KS_CELL_TEXT, .optional = true }, KS_ANSWER_ID, kind_ \
	}
#define TIME(name_, head_)                                                          \
	{                                                                           \
		{ name_, head_, KS_CELL_TEXT, .optional = true }, KS_ANSWER_TIME, 0 \
	}
#define NUMBER(name_, head_, kind_, unit_)                                       \
	{                                                                        \
		{ name_, head_, kind_, unit_, .width = 10 }, KS_ANSWER_NUMBER, 0 \
	}
#define BYTES(name_, head_) NUMBER(name_, head_, KS_CELL_S64, KS_UNIT_BYTES)
#define COUNT(name_, head_) NUMBER(name_, head_, KS_CELL_U64, KS_UNIT_COUNT)
#define REAL(name_, head_)  NUMBER(name_, head_, KS_CELL_DOUBLE, KS_UNIT_NONE)

static const struct ks_answer_column top_columns[] = {
	BYTES("growth_bytes", "growth"), BYTES("live_bytes", "live"),
	COUNT("live_objects", "objects"),
	ID("name", KS_FLEET_CACHE), /* its kind is that of the question */
};
static const struct ks_answer_column leaks_columns[] = {
	BYTES("growth_per_host_hour", "/host/h"),
	BYTES("growth_per_hour", "all/h"),
	COUNT("hosts", "hosts"),
	COUNT("growing", "growing"),
	REAL("sigmas", "sigmas"),
	TIME("since", "since"),
	TIME("first_seen", "first seen"),
	ID("build", KS_FLEET_BUILD),
	ID("cache", KS_FLEET_CACHE),
	ID("type", KS_FLEET_TYPE),
	ID("site", KS_FLEET_SITE),
};
static const struct ks_answer_column outliers_columns[] = {
	BYTES("growth_per_hour", "growth/h"),
	BYTES("others_per_hour", "others/h"),
	COUNT("hours", "hours"),
	TIME("since", "since"),
	ID("host", KS_FLEET_HOST),
	ID("build", KS_FLEET_BUILD),
	ID("cache", KS_FLEET_CACHE),
	ID("type", KS_FLEET_TYPE),
	ID("site", KS_FLEET_SITE),
};
static const struct ks_answer_column diff_columns[] = {
	BYTES("before_per_host", "before"), BYTES("after_per_host", "after"),
	BYTES("change_per_host", "change"), BYTES("growth_change", "growth/h"),
	REAL("sigmas", "sigmas"),	    ID("cache", KS_FLEET_CACHE),
	ID("type", KS_FLEET_TYPE),	    ID("site", KS_FLEET_SITE),
};
static const struct ks_answer_column host_columns[] = {
	BYTES("live_bytes", "live"),   COUNT("live_objects", "objects"),
	BYTES("build_mean", "others"), BYTES("growth_bytes", "growth"),
	ID("build", KS_FLEET_BUILD),   ID("cache", KS_FLEET_CACHE),
	ID("type", KS_FLEET_TYPE),     ID("site", KS_FLEET_SITE),
};
static const struct ks_answer_column types_columns[] = {
	BYTES("live_bytes", "live"),	  COUNT("live_objects", "objects"),
	BYTES("growth_bytes", "growth"),  COUNT("builds", "builds"),
	TIME("first_seen", "first seen"), ID("type", KS_FLEET_TYPE),
};
static const struct ks_answer_column history_columns[] = {
	TIME("hour", "hour"),
	COUNT("hosts", "hosts"),
	BYTES("live_bytes", "live"),
	COUNT("live_objects", "objects"),
	BYTES("live_per_host", "/host"),
	BYTES("growth_per_host", "growth/host"),
	ID("build", KS_FLEET_BUILD),
};
static const struct ks_answer_column quality_columns[] = {
	TIME("last", "last report"), COUNT("intervals", "intervals"),
	COUNT("missing", "missing"), COUNT("late", "late"),
	COUNT("lost", "lost"),	     COUNT("skipped", "skipped"),
	COUNT("torn", "torn"),	     COUNT("silent_seconds", "silent"),
	ID("host", KS_FLEET_HOST),   ID("build", KS_FLEET_BUILD),
};

/* A question being asked. */
struct asking {
	struct ks_store *store;
	const struct ks_question *q;
	struct ks_strbuf sql;
	char window[128]; /* "hour >= ... AND hour < ..." */
	u32 since, until;
};

struct shape {
	const char *schema, *table, *title, *none;
	const struct ks_answer_column *columns;
	size_t nr_columns;
	void (*write)(struct asking *ask);
};

/* === Internals: the statements ============================================================ */

/* What is not asked for is left out. Ids are numbers, so nothing that a user typed gets into a statement. */
static void add_filter(struct ks_strbuf *sql, const char *column, enum ks_fleet_kind kind,
		       const char *name)
{
	if (name)
		ks_strbuf_printf(sql, " AND %s = %" PRIu64, column,
				 ks_fleet_id(kind, name, strlen(name)));
}

static void add_filters(struct asking *ask)
{
	add_filter(&ask->sql, "build", KS_FLEET_BUILD, ask->q->build);
	add_filter(&ask->sql, "cache", KS_FLEET_CACHE, ask->q->cache);
	add_filter(&ask->sql, "type", KS_FLEET_TYPE, ask->q->type);
	add_filter(&ask->sql, "site", KS_FLEET_SITE, ask->q->site);
}

static void add_limit(struct asking *ask)
{
	u64 top = ask->q->top && ask->q->top < ROWS_MAX ? ask->q->top : ROWS_MAX;

	ks_strbuf_printf(&ask->sql, " LIMIT %" PRIu64, top);
}

static void write_top(struct asking *ask)
{
	const char *by = by_names[ask->q->by];

	ks_strbuf_printf(
		&ask->sql,
		"SELECT toInt64(sum(growth)) AS g, sumIf(live_bytes, hour = toDateTime(%u)) AS b, "
		"sumIf(live_objects, hour = toDateTime(%u)) AS o, %s FROM %s.hour FINAL WHERE %s",
		(unsigned int)ask->until - HOUR, (unsigned int)ask->until - HOUR, by,
		ask->store->database, ask->window);
	add_filters(ask);
	ks_strbuf_printf(&ask->sql, " GROUP BY %s ORDER BY g DESC, b DESC, %s", by, by);
	add_limit(ask);
}

/*
 * Of each hour and series: the sum, the sum of squares and the number of slopes on each build, and of all builds
 * together, from which those of the other builds follow. Where there is no other build, growth itself is judged.
 */
static void add_contrast(struct asking *ask)
{
	ks_strbuf_printf(
		&ask->sql,
		"(SELECT hour, cache, type, site, b.1 AS build, b.2 AS s, b.3 AS q, b.4 AS n, b.5 AS growing, "
		"all_n - n AS m, all_s - s AS os, all_q - q AS oq, "
		"s / n - if(m > 0, os / m, 0.) AS d, "
		"greatest(q / n - (s / n) * (s / n), 0.) / n + "
		"if(m > 0, greatest(oq / m - (os / m) * (os / m), 0.) / m, 0.) AS v FROM "
		"(SELECT hour, cache, type, site, sum(growth) AS all_s, sum(growth_sq) AS all_q, "
		"toFloat64(max(all_warm)) AS all_n, groupArray((build, growth, growth_sq, "
		"toFloat64(warm_hosts), growing)) AS bs FROM %s.hour FINAL WHERE %s",
		ask->store->database, ask->window);
	add_filter(&ask->sql, "cache", KS_FLEET_CACHE, ask->q->cache);
	add_filter(&ask->sql, "type", KS_FLEET_TYPE, ask->q->type);
	add_filter(&ask->sql, "site", KS_FLEET_SITE, ask->q->site);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY hour, cache, type, site) AS h ARRAY JOIN bs AS b WHERE b.4 >= %d)",
		(int)HOSTS_LEAST);
}

/*
 * Mean growth over the hours in which the build has warm hosts. An hour in which it grew as much by chance
 * would be taken for its beginning, so that hour must stand out by itself.
 */
static void write_leaks(struct asking *ask)
{
	const char *db = ask->store->database;

	ks_strbuf_printf(
		&ask->sql,
		"SELECT toInt64(mean), toInt64(mean * hosts) AS total, toUInt64(hosts), toUInt64(up), z, "
		"since, first, build, cache, type, site FROM "
		"(SELECT build, cache, type, site, sum(d) / count() AS mean, "
		"sum(d) / sqrt(sum(v) + 1) AS z, argMax(n, hour) AS hosts, argMax(growing, hour) AS up, "
		"minIf(hour, d > 4 * sqrt(v + 1)) AS since FROM ");
	add_contrast(ask);
	ks_strbuf_puts(&ask->sql, " AS c WHERE 1");
	add_filter(&ask->sql, "build", KS_FLEET_BUILD, ask->q->build);
	ks_strbuf_printf(&ask->sql,
			 " GROUP BY build, cache, type, site HAVING z >= %.3f AND mean >= %" PRIu64
			 " ORDER BY mean * hosts DESC, build, cache, type, site",
			 ask->q->sigmas > 0 ? ask->q->sigmas : 6.0, ask->q->least);
	add_limit(ask);
	ks_strbuf_printf(
		&ask->sql,
		") AS l ANY LEFT JOIN (SELECT build, cache, type, site, min(hour) AS first "
		"FROM %s.hour GROUP BY build, cache, type, site) AS f "
		"USING (build, cache, type, site) ORDER BY total DESC, build, cache, type, site",
		db);
}

/* The host that grew most in an hour, against the others of its build without it. */
static void write_outliers(struct asking *ask)
{
	ks_strbuf_printf(
		&ask->sql,
		"SELECT toInt64(sum(top_growth) / count()), toInt64(sum(mean) / count()) AS others, "
		"toUInt64(count()) AS hours, min(hour) AS since, top_host, build, cache, type, site FROM "
		"(SELECT hour, top_host, build, cache, type, site, top_growth, "
		"warm_hosts - 1 AS n, (growth - top_growth) / n AS mean, "
		"sqrt(greatest((growth_sq - top_growth * top_growth) / n - mean * mean, 0.)) AS sd "
		"FROM %s.hour FINAL WHERE %s AND warm_hosts > %d",
		ask->store->database, ask->window, (int)HOSTS_LEAST);
	add_filters(ask);
	ks_strbuf_printf(
		&ask->sql,
		") AS t WHERE top_growth - mean >= %" PRIu64
		" AND top_growth > mean + %.3f * (sd + 1) "
		"GROUP BY top_host, build, cache, type, site "
		"HAVING hours >= 2 AND hours * 2 * %u >= toUInt32(max(hour)) - toUInt32(min(hour)) + %u "
		"ORDER BY sum(top_growth) DESC, top_host, build, cache, type, site",
		ask->q->least, ask->q->sigmas > 0 ? ask->q->sigmas : 6.0, (unsigned int)HOUR,
		(unsigned int)HOUR);
	add_limit(ask);
}

/* Levels are those of the last hour of each build, so that builds of different weeks can be compared. */
static void write_diff(struct asking *ask)
{
	const char *db = ask->store->database;
	u64 a = ks_fleet_id(KS_FLEET_BUILD, ask->q->builds[0], strlen(ask->q->builds[0]));
	u64 b = ks_fleet_id(KS_FLEET_BUILD, ask->q->builds[1], strlen(ask->q->builds[1]));

	ks_strbuf_printf(
		&ask->sql,
		"SELECT toInt64(before), toInt64(after), toInt64(after - before) AS change, toInt64(gb - ga), "
		"(gb - ga) / sqrt(va + vb + 1) AS z, cache, type, site FROM "
		"(SELECT cache, type, site, "
		"sumIf(live_bytes / build_hosts, build = %" PRIu64
		" AND hour = toDateTime(last_a)) AS before, "
		"sumIf(live_bytes / build_hosts, build = %" PRIu64
		" AND hour = toDateTime(last_b)) AS after, "
		"sumIf(growth / warm_hosts, build = %" PRIu64
		" AND warm_hosts > 0) / hours_a AS ga, "
		"sumIf(growth / warm_hosts, build = %" PRIu64
		" AND warm_hosts > 0) / hours_b AS gb, "
		"sumIf(greatest(growth_sq / warm_hosts - pow(growth / warm_hosts, 2), 0.) / warm_hosts, "
		"build = %" PRIu64 " AND warm_hosts > 0) / (hours_a * hours_a) AS va, "
		"sumIf(greatest(growth_sq / warm_hosts - pow(growth / warm_hosts, 2), 0.) / warm_hosts, "
		"build = %" PRIu64 " AND warm_hosts > 0) / (hours_b * hours_b) AS vb, "
		"(SELECT toUInt32(max(hour)) FROM %s.hour WHERE build = %" PRIu64
		" AND %s) AS last_a, "
		"(SELECT toUInt32(max(hour)) FROM %s.hour WHERE build = %" PRIu64
		" AND %s) AS last_b, "
		"(SELECT greatest(uniqExact(hour), 1) FROM %s.hour WHERE build = %" PRIu64
		" AND warm_hosts > 0 AND %s) AS hours_a, "
		"(SELECT greatest(uniqExact(hour), 1) FROM %s.hour WHERE build = %" PRIu64
		" AND warm_hosts > 0 AND %s) AS hours_b "
		"FROM %s.hour FINAL WHERE build IN (%" PRIu64 ", %" PRIu64 ") AND %s",
		a, b, a, b, a, b, db, a, ask->window, db, b, ask->window, db, a, ask->window, db, b,
		ask->window, db, a, b, ask->window);
	add_filter(&ask->sql, "cache", KS_FLEET_CACHE, ask->q->cache);
	add_filter(&ask->sql, "type", KS_FLEET_TYPE, ask->q->type);
	add_filter(&ask->sql, "site", KS_FLEET_SITE, ask->q->site);
	ks_strbuf_puts(&ask->sql, " GROUP BY cache, type, site) AS d "
				  "ORDER BY abs(after - before) DESC, cache, type, site");
	add_limit(ask);
}

static void write_host(struct asking *ask)
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
	add_filters(ask);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY build, cache, type, site) AS h ANY LEFT JOIN "
		"(SELECT build, cache, type, site, argMax(live_bytes / build_hosts, hour) AS others "
		"FROM %s.hour FINAL WHERE %s GROUP BY build, cache, type, site) AS b "
		"USING (build, cache, type, site) ORDER BY live DESC, build, cache, type, site",
		db, ask->window);
	add_limit(ask);
}

static void write_types(struct asking *ask)
{
	ks_strbuf_printf(
		&ask->sql,
		"SELECT b, o, g, builds, first, type FROM (SELECT "
		"sumIf(live_bytes, hour = toDateTime(%u)) AS b, "
		"sumIf(live_objects, hour = toDateTime(%u)) AS o, toInt64(sum(growth)) AS g, "
		"toUInt64(uniqExact(build)) AS builds, type FROM %s.hour FINAL WHERE %s",
		(unsigned int)ask->until - HOUR, (unsigned int)ask->until - HOUR,
		ask->store->database, ask->window);
	add_filters(ask);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY type) AS t ANY LEFT JOIN (SELECT type, min(hour) AS first FROM %s.hour "
		"GROUP BY type) AS f USING (type) ORDER BY b DESC, type",
		ask->store->database);
	add_limit(ask);
}

static void write_history(struct asking *ask)
{
	ks_strbuf_printf(&ask->sql,
			 "SELECT hour, toUInt64(max(build_hosts)) AS n, sum(live_bytes) AS b, "
			 "sum(live_objects) AS o, toInt64(b / n), "
			 "toInt64(sum(growth) / greatest(max(warm_hosts), 1)), build "
			 "FROM %s.hour FINAL WHERE %s",
			 ask->store->database, ask->window);
	add_filters(ask);
	ks_strbuf_puts(&ask->sql, " GROUP BY hour, build ORDER BY hour DESC, build");
	add_limit(ask);
}

/*
 * Intervals that should be there: from the first to the last report, by the shortest interval. Counters of an agent only
 * go up while its spool lives, so what was lost is the difference.
 */
static void write_quality(struct asking *ask)
{
	const char *db = ask->store->database;

	ks_strbuf_printf(
		&ask->sql,
		"SELECT last, intervals, greatest(wanted, intervals) - intervals AS missing, late, lost, skipped, "
		"torn, silent, host, newest FROM (SELECT host, max(ts) AS last, toUInt64(count()) AS intervals, "
		"toUInt64(intDiv(toUInt32(max(ts)) - toUInt32(min(ts)), min(span)) + 1) AS wanted, "
		"toUInt64(sum(toUInt32(stored) > toUInt32(ts) + span + %d)) AS late, "
		"toUInt64(max(lost) - min(lost)) AS lost, toUInt64(max(skipped) - min(skipped)) AS skipped, "
		"toUInt64(sum(torn)) AS torn, toUInt64(greatest(toInt64(%u) - toInt64(toUInt32(max(ts))) - "
		"toInt64(max(span)), 0)) AS silent, toUInt64(max(span)) AS every, argMax(build, ts) AS newest "
		"FROM %s.reports FINAL WHERE ts >= toDateTime(%u) AND ts < toDateTime(%u)",
		(int)LATE_SECS, (unsigned int)ask->until, db, (unsigned int)ask->since,
		(unsigned int)ask->until);
	add_filter(&ask->sql, "host", KS_FLEET_HOST, ask->q->host);
	add_filter(&ask->sql, "build", KS_FLEET_BUILD, ask->q->build);
	ks_strbuf_printf(
		&ask->sql,
		" GROUP BY host) AS r WHERE missing > 0 OR late > 0 OR lost > 0 OR skipped > 0 "
		"OR torn > 0 OR silent > %d * every ORDER BY silent DESC, missing DESC, host",
		(int)SILENT_SPANS);
	add_limit(ask);
}

static const struct shape shapes[KS_ASKS] = {
	[KS_ASK_TOP] = { "kmemscope-fleet-top-1", "groups", "growth over the fleet",
			 "nothing is there", top_columns, ARRAY_SIZE(top_columns), write_top },
	[KS_ASK_LEAKS] = { "kmemscope-fleet-leaks-1", "leaks",
			   "what grows on a build and not on the others",
			   "no build leaks, as far as its hosts can tell", leaks_columns,
			   ARRAY_SIZE(leaks_columns), write_leaks },
	[KS_ASK_OUTLIERS] = { "kmemscope-fleet-outliers-1", "hosts",
			      "what grows on a host and not on others of its build",
			      "no host stands out", outliers_columns, ARRAY_SIZE(outliers_columns),
			      write_outliers },
	[KS_ASK_DIFF] = { "kmemscope-fleet-diff-1", "series", "bytes a host, on both builds",
			  "nothing is there", diff_columns, ARRAY_SIZE(diff_columns), write_diff },
	[KS_ASK_HOST] = { "kmemscope-fleet-host-1", "series", "one host, and the mean of its build",
			  "nothing is there", host_columns, ARRAY_SIZE(host_columns), write_host },
	[KS_ASK_TYPES] = { "kmemscope-fleet-types-1", "types", "types over the fleet",
			   "nothing is there", types_columns, ARRAY_SIZE(types_columns),
			   write_types },
	[KS_ASK_HISTORY] = { "kmemscope-fleet-history-1", "hours", "hour by hour",
			     "nothing is there", history_columns, ARRAY_SIZE(history_columns),
			     write_history },
	[KS_ASK_QUALITY] = { "kmemscope-fleet-quality-1", "hosts",
			     "hosts that are silent, late or lossy",
			     "all hosts report, in time and without loss", quality_columns,
			     ARRAY_SIZE(quality_columns), write_quality },
};

/* === Internals ============================================================================ */

/* The window: whole hours, up to the last one that there is. */
static int find_window(struct asking *ask, struct ks_diag *diag)
{
	struct ks_strbuf answer;
	u32 last;
	int err;

	if (ask->store->files)
		return ks_files_window(ask->store->files, ask->q, &ask->since, &ask->until, diag);

	ks_strbuf_init(&answer);
	if (ask->q->kind == KS_ASK_QUALITY)
		ks_strbuf_printf(&ask->sql, "SELECT toUInt32(max(ts)) + max(span) FROM %s.reports",
				 ask->store->database);
	else
		ks_strbuf_printf(&ask->sql, "SELECT toUInt32(max(hour)) + %d FROM %s.hour",
				 (int)HOUR, ask->store->database);
	err = ask->sql.failed ? ks_diag_nomem(diag, "asking")
			      : ks_http_query(ask->store->http, ask->sql.s, &answer, diag);
	last = (u32)strtoul(ks_strbuf_str(&answer), NULL, 10);
	ks_strbuf_deinit(&answer);
	ask->sql.len = 0;
	if (err)
		return err;
	ask->until = ask->q->until ? ask->q->until : last;
	ask->since = ask->q->since ? ask->q->since
				   : ask->until - ks_min(ask->until, ask->q->hours * (u32)HOUR);
	snprintf(ask->window, sizeof(ask->window),
		 "hour >= toDateTime(%u) AND hour < toDateTime(%u)", (unsigned int)ask->since,
		 (unsigned int)ask->until);
	return 0;
}

static int no_name(enum ks_fleet_kind kind, const char *name, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOENT, "no %s '%s' is known", ks_fleet_kind_name(kind), name);
}

/* A name that was mistyped would else be answered with "nothing is there". */
static int check_name(struct asking *ask, enum ks_fleet_kind kind, const char *name,
		      struct ks_diag *diag)
{
	struct ks_strbuf answer;
	bool there;
	int err;

	if (!name)
		return 0;
	if (ask->store->files)
		return ks_files_name(ask->store->files, ks_fleet_id(kind, name, strlen(name)))
			       ? 0
			       : no_name(kind, name, diag);
	ks_strbuf_init(&answer);
	ks_strbuf_printf(
		&ask->sql, "SELECT count() FROM %s.names WHERE kind = %u AND id = %" PRIu64,
		ask->store->database, (unsigned int)kind, ks_fleet_id(kind, name, strlen(name)));
	err = ask->sql.failed ? ks_diag_nomem(diag, "asking")
			      : ks_http_query(ask->store->http, ask->sql.s, &answer, diag);
	there = strtoul(ks_strbuf_str(&answer), NULL, 10);
	ks_strbuf_deinit(&answer);
	ask->sql.len = 0;
	if (err || there)
		return err;
	return no_name(kind, name, diag);
}

static int check_names(struct asking *ask, struct ks_diag *diag)
{
	const struct ks_question *q = ask->q;
	const struct {
		enum ks_fleet_kind kind;
		const char *name;
	} names[] = { { KS_FLEET_BUILD, q->build },    { KS_FLEET_CACHE, q->cache },
		      { KS_FLEET_TYPE, q->type },      { KS_FLEET_SITE, q->site },
		      { KS_FLEET_HOST, q->host },      { KS_FLEET_BUILD, q->builds[0] },
		      { KS_FLEET_BUILD, q->builds[1] } };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(names); i++)
		err = check_name(ask, names[i].kind, names[i].name, diag);
	return err;
}

/* === Public =============================================================================== */

const char *ks_fleet_by_name(unsigned int by)
{
	return by_names[by];
}

int ks_question_ask(struct ks_store *store, const struct ks_question *question,
		    struct ks_doc **ret_doc, struct ks_diag *diag)
{
	const struct shape *shape = &shapes[question->kind];
	struct asking ask = { .store = store, .q = question };
	struct ks_answer_column columns[16];
	struct ks_doc *doc = NULL;
	int err;

	ks_strbuf_init(&ask.sql);
	err = check_names(&ask, diag);
	if (!err)
		err = find_window(&ask, diag);
	if (!err) {
		memcpy(columns, shape->columns, shape->nr_columns * sizeof(*columns));
		if (question->kind == KS_ASK_TOP) {
			columns[3].kind = by_kinds[question->by];
			columns[3].column.name = columns[3].column.head = by_names[question->by];
		}
		if (store->files)
			err = ks_files_ask(store->files, question, ask.since, ask.until, &ask.sql,
					   diag);
		else
			shape->write(&ask);
	}
	if (!err) {
		doc = ks_doc_new(shape->schema);
		if (!doc || ask.sql.failed)
			err = ks_diag_nomem(diag, "asking");
	}
	if (!err) {
		ks_doc_u64(doc, "since", ask.since);
		ks_doc_u64(doc, "until", ask.until);
		err = ks_answer_get(
			store,
			&(struct ks_answer){ .sql = ask.sql.s,
					     .text = store->files ? ks_strbuf_str(&ask.sql) : NULL,
					     .table = shape->table,
					     .title = shape->title,
					     .none = shape->none,
					     .columns = columns,
					     .nr_columns = shape->nr_columns },
			doc, diag);
	}
	ks_strbuf_deinit(&ask.sql);
	if (err)
		ks_doc_free(doc);
	else
		*ret_doc = doc;
	return err;
}
