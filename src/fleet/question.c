// SPDX-License-Identifier: LGPL-2.1-only
/* What the answers look like, the window and the names of a question. */
#include "fleet/question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/answer.h"
#include "fleet/files-ask.h"
#include "fleet/question-sql.h"

/* === Data ================================================================================= */

enum { HOUR = 3600 };

static const char *const by_names[KS_FLEET_BYS] = {
	[KS_FLEET_BY_CACHE] = "cache", [KS_FLEET_BY_TYPE] = "type",
	[KS_FLEET_BY_SITE] = "site",   [KS_FLEET_BY_BUILD] = "build",
	[KS_FLEET_BY_STACK] = "stack", [KS_FLEET_BY_CGROUP] = "cgroup",
	[KS_FLEET_BY_HOST] = "host",   [KS_FLEET_BY_LABEL] = "label",
};

static const enum ks_fleet_kind by_kinds[KS_FLEET_BYS] = {
	[KS_FLEET_BY_CACHE] = KS_FLEET_CACHE, [KS_FLEET_BY_TYPE] = KS_FLEET_TYPE,
	[KS_FLEET_BY_SITE] = KS_FLEET_SITE,   [KS_FLEET_BY_BUILD] = KS_FLEET_BUILD,
	[KS_FLEET_BY_STACK] = KS_FLEET_STACK, [KS_FLEET_BY_CGROUP] = KS_FLEET_CGROUP,
	[KS_FLEET_BY_HOST] = KS_FLEET_HOST,
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

struct shape {
	const char *schema, *table, *title, *none;
	const struct ks_answer_column *columns;
	size_t nr_columns;
};

/* === Internals ============================================================================ */

static const struct shape shapes[KS_ASKS] = {
	[KS_ASK_TOP] = { "kmemscope-fleet-top-1", "groups", "growth over the fleet",
			 "nothing is there", top_columns, ARRAY_SIZE(top_columns) },
	[KS_ASK_LEAKS] = { "kmemscope-fleet-leaks-1", "leaks",
			   "what grows on a build and not on the others",
			   "no build leaks, as far as its hosts can tell", leaks_columns,
			   ARRAY_SIZE(leaks_columns) },
	[KS_ASK_OUTLIERS] = { "kmemscope-fleet-outliers-1", "hosts",
			      "what grows on a host and not on others of its build",
			      "no host stands out", outliers_columns,
			      ARRAY_SIZE(outliers_columns) },
	[KS_ASK_DIFF] = { "kmemscope-fleet-diff-1", "series", "bytes a host, on both builds",
			  "nothing is there", diff_columns, ARRAY_SIZE(diff_columns) },
	[KS_ASK_HOST] = { "kmemscope-fleet-host-1", "series", "one host, and the mean of its build",
			  "nothing is there", host_columns, ARRAY_SIZE(host_columns) },
	[KS_ASK_TYPES] = { "kmemscope-fleet-types-1", "types", "types over the fleet",
			   "nothing is there", types_columns, ARRAY_SIZE(types_columns) },
	[KS_ASK_HISTORY] = { "kmemscope-fleet-history-1", "hours", "hour by hour",
			     "nothing is there", history_columns, ARRAY_SIZE(history_columns) },
	[KS_ASK_QUALITY] = { "kmemscope-fleet-quality-1", "hosts",
			     "hosts that are silent, late or lossy",
			     "all hosts report, in time and without loss", quality_columns,
			     ARRAY_SIZE(quality_columns) },
};

/* The answer to a statement that asks for a number; 0 where there is none. */
static int ask_number(struct ks_asking *ask, u32 *ret_number, struct ks_diag *diag)
{
	struct ks_strbuf answer;
	int err;

	ks_strbuf_init(&answer);
	err = ask->sql.failed ? ks_diag_nomem(diag, "asking")
			      : ks_http_query(ask->store->http, ask->sql.s, &answer, diag);
	if (!err)
		*ret_number = (u32)strtoul(ks_strbuf_str(&answer), NULL, 10);
	ks_strbuf_deinit(&answer);
	ask->sql.len = 0;
	return err;
}

/* The window: whole hours, up to the last one that there is. Reports since the last sums are few. */
static int find_window(struct ks_asking *ask, struct ks_diag *diag)
{
	const char *db = ask->store->database;
	u32 last = 0;
	int err;

	if (ask->store->files)
		return ks_files_window(ask->store->files, ask->q, &ask->since, &ask->until, diag);

	if (ask->q->kind == KS_ASK_QUALITY)
		ks_strbuf_printf(&ask->sql,
				 "SELECT toUInt32(max(ts)) + max(span) FROM %s.reports "
				 "WHERE ts >= (SELECT max(bucket) FROM %s.rollups)",
				 db, db);
	else
		ks_strbuf_printf(&ask->sql, "SELECT toUInt32(max(hour)) + %d FROM %s.hour",
				 (int)HOUR, db);
	err = ask_number(ask, &last, diag);
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

/*
 * Whether each hour has the sums that answer sooner: of whole hosts, or of the hosts with a label. Some have none: those of a label with
 * many values, of the last minute, and of tables that were brought up to date and not added up since.
 */
static int find_short_sums(struct ks_asking *ask, struct ks_diag *diag)
{
	const char *db = ask->store->database, *label = ask->q->label;
	bool hosts = ks_asking_hosts(ask);
	u32 without = 1;
	int err;

	if (!hosts && !label)
		return 0;
	ks_strbuf_printf(
		&ask->sql,
		"SELECT count() FROM (SELECT DISTINCT hour FROM %s.hour WHERE %s) AS h ANY LEFT JOIN "
		"(SELECT DISTINCT hour, 1 AS there FROM %s.%s WHERE %s",
		db, ask->window, db, hosts ? "host_sum" : "label_hour", ask->window);
	if (!hosts) {
		ks_strbuf_puts(&ask->sql, " AND label = ");
		ks_sql_text(&ask->sql, label, strcspn(label, "="));
	}
	ks_strbuf_puts(&ask->sql, ") AS l USING (hour) WHERE there = 0");
	err = ask_number(ask, &without, diag);
	ask->short_sums = !err && !without;
	return err;
}

/* The longest row of hours whose reports were added up when they were over; what is left out is asked of the reports. */
static int find_report_sums(struct ks_asking *ask, struct ks_diag *diag)
{
	struct ks_strbuf answer;
	const char *s;
	char *end;
	u32 begin = 0, next = 0;
	int err;

	ks_strbuf_init(&answer);
	ks_strbuf_printf(
		&ask->sql,
		"SELECT toUInt32(bucket) AS hour FROM %s.rollups WHERE level IN (%d, %d) AND "
		"bucket >= toDateTime(%u) AND toUInt32(bucket) + %d <= %u GROUP BY bucket "
		"HAVING maxIf(toUInt32(made), level = %d) >= greatest(hour + %d, "
		"maxIf(toUInt32(made), level = %d)) ORDER BY hour",
		ask->store->database, (int)KS_STORE_BY_HOUR, (int)KS_STORE_SHORT,
		(unsigned int)ask->since, (int)HOUR, (unsigned int)ask->until, (int)KS_STORE_SHORT,
		(int)HOUR, (int)KS_STORE_BY_HOUR);
	err = ask->sql.failed ? ks_diag_nomem(diag, "asking")
			      : ks_http_query(ask->store->http, ask->sql.s, &answer, diag);
	ask->sql.len = 0;
	for (s = ks_strbuf_str(&answer); !err && *s; s = *end ? end + 1 : end) {
		u32 hour = (u32)strtoul(s, &end, 10);

		if (hour != next)
			begin = hour;
		next = hour + HOUR;
		if (next - begin > ask->sums_until - ask->sums_since) {
			ask->sums_since = begin;
			ask->sums_until = next;
		}
	}
	ks_strbuf_deinit(&answer);
	return err;
}

static int no_name(enum ks_fleet_kind kind, const char *name, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOENT, "no %s '%s' is known", ks_fleet_kind_name(kind), name);
}

/* A name that was mistyped would else be answered with "nothing is there". */
static int check_name(struct ks_asking *ask, enum ks_fleet_kind kind, const char *name,
		      struct ks_diag *diag)
{
	u32 there = 0;
	int err;

	if (!name)
		return 0;
	if (ask->store->files)
		return ks_files_name(ask->store->files, ks_fleet_id(kind, name, strlen(name)))
			       ? 0
			       : no_name(kind, name, diag);
	ks_strbuf_printf(
		&ask->sql, "SELECT count() FROM %s.names WHERE kind = %u AND id = %" PRIu64,
		ask->store->database, (unsigned int)kind, ks_fleet_id(kind, name, strlen(name)));
	err = ask_number(ask, &there, diag);
	if (err || there)
		return err;
	return no_name(kind, name, diag);
}

static int check_names(struct ks_asking *ask, struct ks_diag *diag)
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

/* Agents say what they are told to: where they say nothing of this, the answer is one row. */
static void explain_top(struct ks_doc *doc, enum ks_fleet_by by)
{
	static const char *const how[KS_FLEET_BYS] = {
		[KS_FLEET_BY_TYPE] = "agents send types with --types",
		[KS_FLEET_BY_SITE] = "agents send call sites with --level growth or sampled",
		[KS_FLEET_BY_STACK] = "agents send stacks with --level growth or sampled",
		[KS_FLEET_BY_CGROUP] = "agents send cgroups with --level growth or sampled",
		[KS_FLEET_BY_LABEL] = "agents send a label with --label NAME=VALUE",
	};
	const struct ks_table *table = doc->tables.len ? doc->tables.items[0] : NULL;
	unsigned int name = ARRAY_SIZE(top_columns) - 1;

	if (how[by] && table && ks_table_len(table) == 1 &&
	    ks_table_state(table, 0, name) == KS_CELL_UNSET)
		ks_doc_say(doc, "%s; --by cache works with all of them\n", how[by]);
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
	struct ks_asking ask = { .store = store, .q = question };
	struct ks_answer_column columns[16], *by = &columns[ARRAY_SIZE(top_columns) - 1];
	struct ks_doc *doc = NULL;
	int err;

	ks_strbuf_init(&ask.sql);
	ks_strbuf_init(&ask.hosts);
	if (question->label && !store->files)
		ks_asking_label(&ask, question->label);
	err = ask.hosts.failed ? ks_diag_nomem(diag, "asking") : check_names(&ask, diag);
	if (!err)
		err = find_window(&ask, diag);
	if (!err && !store->files && question->kind == KS_ASK_QUALITY)
		err = find_report_sums(&ask, diag);
	else if (!err && !store->files)
		err = find_short_sums(&ask, diag);
	if (!err) {
		memcpy(columns, shape->columns, shape->nr_columns * sizeof(*columns));
		if (question->kind == KS_ASK_TOP) {
			by->kind = by_kinds[question->by];
			by->column.name = by->column.head = by_names[question->by];
			if (question->by == KS_FLEET_BY_LABEL)
				by->what = KS_ANSWER_TEXT;
		}
		if (store->files)
			err = ks_files_ask(store->files, question, ask.since, ask.until, &ask.sql,
					   diag);
		else
			ks_statements[question->kind](&ask);
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
	if (!err && question->kind == KS_ASK_TOP)
		explain_top(doc, question->by);
	ks_strbuf_deinit(&ask.sql);
	ks_strbuf_deinit(&ask.hosts);
	if (err)
		ks_doc_free(doc);
	else
		*ret_doc = doc;
	return err;
}

u64 ks_question_until(const struct ks_doc *answer)
{
	size_t i;

	for (i = 0; i < answer->parts.len; i++)
		if (answer->parts.items[i].kind == KS_PART_U64 &&
		    !strcmp(answer->parts.items[i].name, "until"))
			return answer->parts.items[i].value.u64;
	return 0;
}
