// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The tables, and the statements that make them. The order of keys decides the size on disk: of one series all times
 * come in a row. The sums of an hour are then made of all rows of its partition, so a partition is an hour. Sums are tables that are written again, never views on what is inserted, since those
 * would count twice what is sent twice.
 */
#include "fleet/schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/store.h"

/* === Data ================================================================================= */

static const struct ks_native_column names_columns[] = {
	{ "kind", KS_NATIVE_U8 },
	{ "id", KS_NATIVE_U64 },
	{ "name", KS_NATIVE_STRING },
};
static const struct ks_native_column labels_columns[] = {
	{ "host", KS_NATIVE_U64 },
	{ "label", KS_NATIVE_STRING },
	{ "value", KS_NATIVE_STRING },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column rows_columns[] = {
	{ "host", KS_NATIVE_U64 },	 { "boot", KS_NATIVE_U64 },
	{ "build", KS_NATIVE_U64 },	 { "ts", KS_NATIVE_TIME },
	{ "span", KS_NATIVE_U32 },	 { "cache", KS_NATIVE_U64 },
	{ "type", KS_NATIVE_U64 },	 { "site", KS_NATIVE_U64 },
	{ "stack", KS_NATIVE_U64 },	 { "cgroup", KS_NATIVE_U64 },
	{ "live_bytes", KS_NATIVE_S64 }, { "live_objects", KS_NATIVE_S64 },
	{ "allocs", KS_NATIVE_U64 },	 { "frees", KS_NATIVE_U64 },
	{ "std_error", KS_NATIVE_F32 },	 { "quality", KS_NATIVE_U8 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column reports_columns[] = {
	{ "host", KS_NATIVE_U64 },   { "boot", KS_NATIVE_U64 },	      { "build", KS_NATIVE_U64 },
	{ "ts", KS_NATIVE_TIME },    { "span", KS_NATIVE_U32 },	      { "uptime", KS_NATIVE_U32 },
	{ "series", KS_NATIVE_U32 }, { "live_bytes", KS_NATIVE_S64 }, { "torn", KS_NATIVE_U32 },
	{ "lost", KS_NATIVE_U64 },   { "skipped", KS_NATIVE_U64 },    { "quality", KS_NATIVE_U8 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column minute_columns[] = {
	{ "ts", KS_NATIVE_TIME },	   { "build", KS_NATIVE_U64 },
	{ "cache", KS_NATIVE_U64 },	   { "type", KS_NATIVE_U64 },
	{ "site", KS_NATIVE_U64 },	   { "hosts", KS_NATIVE_U32 },
	{ "build_hosts", KS_NATIVE_U32 },  { "live_bytes", KS_NATIVE_S64 },
	{ "live_objects", KS_NATIVE_S64 }, { "allocs", KS_NATIVE_U64 },
	{ "frees", KS_NATIVE_U64 },	   { "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column host_hour_columns[] = {
	{ "hour", KS_NATIVE_TIME },	   { "host", KS_NATIVE_U64 },
	{ "boot", KS_NATIVE_U64 },	   { "build", KS_NATIVE_U64 },
	{ "cache", KS_NATIVE_U64 },	   { "type", KS_NATIVE_U64 },
	{ "site", KS_NATIVE_U64 },	   { "points", KS_NATIVE_U32 },
	{ "warm", KS_NATIVE_U8 },	   { "live_bytes", KS_NATIVE_S64 },
	{ "live_objects", KS_NATIVE_S64 }, { "allocs", KS_NATIVE_U64 },
	{ "frees", KS_NATIVE_U64 },	   { "growth", KS_NATIVE_F64 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column hour_columns[] = {
	{ "hour", KS_NATIVE_TIME },	   { "build", KS_NATIVE_U64 },
	{ "cache", KS_NATIVE_U64 },	   { "type", KS_NATIVE_U64 },
	{ "site", KS_NATIVE_U64 },	   { "hosts", KS_NATIVE_U32 },
	{ "build_hosts", KS_NATIVE_U32 },  { "warm_hosts", KS_NATIVE_U32 },
	{ "all_warm", KS_NATIVE_U32 },	   { "live_bytes", KS_NATIVE_S64 },
	{ "live_objects", KS_NATIVE_S64 }, { "allocs", KS_NATIVE_U64 },
	{ "frees", KS_NATIVE_U64 },	   { "growth", KS_NATIVE_F64 },
	{ "growth_sq", KS_NATIVE_F64 },	   { "growing", KS_NATIVE_U32 },
	{ "top_host", KS_NATIVE_U64 },	   { "top_growth", KS_NATIVE_F64 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column host_sum_columns[] = {
	{ "hour", KS_NATIVE_TIME },	   { "host", KS_NATIVE_U64 },
	{ "boot", KS_NATIVE_U64 },	   { "build", KS_NATIVE_U64 },
	{ "series", KS_NATIVE_U32 },	   { "live_bytes", KS_NATIVE_S64 },
	{ "live_objects", KS_NATIVE_S64 }, { "allocs", KS_NATIVE_U64 },
	{ "frees", KS_NATIVE_U64 },	   { "growth", KS_NATIVE_F64 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column label_hour_columns[] = {
	{ "hour", KS_NATIVE_TIME },	   { "label", KS_NATIVE_STRING },
	{ "value", KS_NATIVE_STRING },	   { "build", KS_NATIVE_U64 },
	{ "cache", KS_NATIVE_U64 },	   { "type", KS_NATIVE_U64 },
	{ "site", KS_NATIVE_U64 },	   { "hosts", KS_NATIVE_U32 },
	{ "build_hosts", KS_NATIVE_U32 },  { "warm_hosts", KS_NATIVE_U32 },
	{ "all_warm", KS_NATIVE_U32 },	   { "live_bytes", KS_NATIVE_S64 },
	{ "live_objects", KS_NATIVE_S64 }, { "allocs", KS_NATIVE_U64 },
	{ "frees", KS_NATIVE_U64 },	   { "growth", KS_NATIVE_F64 },
	{ "growth_sq", KS_NATIVE_F64 },	   { "growing", KS_NATIVE_U32 },
	{ "top_host", KS_NATIVE_U64 },	   { "top_growth", KS_NATIVE_F64 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column host_reports_columns[] = {
	{ "hour", KS_NATIVE_TIME },	    { "host", KS_NATIVE_U64 },
	{ "build", KS_NATIVE_U64 },	    { "begin", KS_NATIVE_TIME },
	{ "last", KS_NATIVE_TIME },	    { "intervals", KS_NATIVE_U64 },
	{ "least", KS_NATIVE_U32 },	    { "most", KS_NATIVE_U32 },
	{ "late", KS_NATIVE_U64 },	    { "lost_before", KS_NATIVE_U64 },
	{ "lost_after", KS_NATIVE_U64 },    { "skipped_before", KS_NATIVE_U64 },
	{ "skipped_after", KS_NATIVE_U64 }, { "torn_all", KS_NATIVE_U64 },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column rollups_columns[] = {
	{ "level", KS_NATIVE_U8 },
	{ "bucket", KS_NATIVE_TIME },
	{ "made", KS_NATIVE_TIME },
	{ "ver", KS_NATIVE_U64 },
};
static const struct ks_native_column meta_columns[] = {
	{ "version", KS_NATIVE_U32 },
};

#define COLUMNS(list) list, ARRAY_SIZE(list)

const struct ks_store_shape ks_store_shapes[KS_STORE_TABLES] = {
	[KS_STORE_NAMES] = { "names", COLUMNS(names_columns), "seen DateTime('UTC') DEFAULT now()",
			     NULL, NULL, "kind, id", "seen", "id" },
	[KS_STORE_LABELS] = { "labels", COLUMNS(labels_columns), NULL, NULL, NULL, "host, label",
			      "ver", "host" },
	[KS_STORE_ROWS] = { "rows", COLUMNS(rows_columns), NULL, "ts", "toStartOfHour",
			    "host, boot, cache, type, site, stack, cgroup, ts", "ver", "host" },
	[KS_STORE_REPORTS] = { "reports", COLUMNS(reports_columns),
			       "stored DateTime('UTC') DEFAULT now()", "ts", "toYYYYMMDD",
			       "ts, host, boot", "ver", "host" },
	[KS_STORE_MINUTE] = { "minute", COLUMNS(minute_columns), NULL, "ts", "toYYYYMMDD",
			      "ts, build, cache, type, site", "ver", "toUInt64(ts)" },
	[KS_STORE_HOST_HOUR] = { "host_hour", COLUMNS(host_hour_columns), NULL, "hour",
				 "toYYYYMMDD", "hour, host, boot, cache, type, site", "ver",
				 "host" },
	[KS_STORE_HOUR] = { "hour", COLUMNS(hour_columns), NULL, NULL, "toYYYYMM",
			    "hour, build, cache, type, site", "ver", "toUInt64(hour)" },
	[KS_STORE_HOST_SUM] = { "host_sum", COLUMNS(host_sum_columns), NULL, "hour", "toYYYYMMDD",
				"hour, host, boot", "ver", "host" },
	[KS_STORE_LABEL_HOUR] = { "label_hour", COLUMNS(label_hour_columns), NULL, NULL, "toYYYYMM",
				  "hour, label, value, build, cache, type, site", "ver",
				  "toUInt64(hour)" },
	[KS_STORE_HOST_REPORTS] = { "host_reports", COLUMNS(host_reports_columns), NULL, "hour",
				    "toYYYYMMDD", "hour, host, build", "ver", "host" },
	[KS_STORE_ROLLUPS] = { "rollups", COLUMNS(rollups_columns), NULL, NULL, NULL,
			       "level, bucket", "ver", "level" },
	[KS_STORE_META] = { "meta", COLUMNS(meta_columns), "at DateTime('UTC') DEFAULT now()", NULL,
			    NULL, "version", "at", "version" },
};

enum { HAS_CODECS = 2000, NAME_MAX_LEN = 64 }; /* versions of servers: 20.0 */

/* === Internals ============================================================================ */

static bool has_codecs(const struct ks_store *store)
{
	return store->version >= HAS_CODECS;
}

/* What the values of a column look like: times and counters of one series go up slowly. */
static const char *codec(enum ks_native_type type)
{
	switch (type) {
	case KS_NATIVE_TIME:
		return " CODEC(DoubleDelta, ZSTD(1))";
	case KS_NATIVE_S64:
		return " CODEC(Delta, T64, ZSTD(1))";
	case KS_NATIVE_U64:
	case KS_NATIVE_U32:
		return " CODEC(T64, ZSTD(1))";
	default:
		return " CODEC(ZSTD(1))";
	}
}

static void add_columns(const struct ks_store *store, const struct ks_store_shape *shape,
			struct ks_strbuf *sb)
{
	size_t i;

	for (i = 0; i < shape->nr_columns; i++) {
		const struct ks_native_column *column = &shape->columns[i];

		ks_strbuf_printf(sb, "%s%s %s%s", i ? ", " : "", column->name,
				 column->type == KS_NATIVE_TIME ? "DateTime('UTC')"
								: ks_native_type_name(column->type),
				 has_codecs(store) ? codec(column->type) : "");
	}
	if (shape->more)
		ks_strbuf_printf(sb, ", %s", shape->more);
}

/*
 * Of a cluster, the tables with the rows are in DATABASE_local on each shard, and DATABASE has those that ask all
 * shards.
 */
static void create(const struct ks_store *store, const struct ks_store_shape *shape, u32 keep_days,
		   struct ks_strbuf *sb)
{
	const char *local = store->cluster ? "_local" : "";

	ks_strbuf_printf(sb, "CREATE TABLE IF NOT EXISTS %s%s.%s", store->database, local,
			 shape->name);
	if (store->cluster)
		ks_strbuf_printf(sb, " ON CLUSTER %s", store->cluster);
	ks_strbuf_puts(sb, " (");
	add_columns(store, shape, sb);
	if (store->cluster)
		ks_strbuf_printf(sb,
				 ") ENGINE = ReplicatedReplacingMergeTree("
				 "'/clickhouse/tables/{shard}/%s/%s', '{replica}', %s)",
				 store->database, shape->name, shape->version);
	else
		ks_strbuf_printf(sb, ") ENGINE = ReplacingMergeTree(%s)", shape->version);
	if (shape->partition)
		ks_strbuf_printf(sb, " PARTITION BY %s(%s)", shape->partition,
				 shape->time ? shape->time : "hour");
	ks_strbuf_printf(sb, " ORDER BY (%s)", shape->order);
	if (shape->time && keep_days && has_codecs(store))
		ks_strbuf_printf(sb, " TTL %s + toIntervalDay(%u)", shape->time,
				 (unsigned int)keep_days);
	ks_strbuf_puts(sb, "\n");
	if (!store->cluster)
		return;
	ks_strbuf_printf(sb,
			 "CREATE TABLE IF NOT EXISTS %s.%s ON CLUSTER %s AS %s_local.%s "
			 "ENGINE = Distributed(%s, %s_local, %s, %s)\n",
			 store->database, shape->name, store->cluster, store->database, shape->name,
			 store->cluster, store->database, shape->name, shape->shard);
}

static int read_version(struct ks_store *store, u32 *ret_version, struct ks_diag *diag)
{
	struct ks_strbuf sql, answer;
	u32 code = 0;
	int err;

	ks_strbuf_init(&sql);
	ks_strbuf_init(&answer);
	ks_strbuf_printf(&sql, "SELECT max(version) FROM %s.meta", store->database);
	err = sql.failed ? ks_diag_nomem(diag, "asking for the version")
			 : ks_http_query(store->http, sql.s, &answer, diag);
	if (!err)
		*ret_version = (u32)strtoul(ks_strbuf_str(&answer), NULL, 10);
	else if (diag && strstr(diag->text, "Code: "))
		ks_http_judge(0, strstr(diag->text, "Code: "), &code);
	ks_strbuf_deinit(&sql);
	ks_strbuf_deinit(&answer);
	if (code != 60 && code != 81)
		return err;
	*ret_version = 0; /* no such table, no such database */
	return 0;
}

/* === Public =============================================================================== */

bool ks_store_check_name(const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return len && len <= NAME_MAX_LEN && !isdigit((unsigned char)name[0]);
}

int ks_store_open(struct ks_store *store, struct ks_diag *diag)
{
	struct ks_strbuf answer;
	unsigned long major, minor = 0;
	char *end;
	int err;

	ks_strbuf_init(&answer);
	err = ks_http_query(store->http, "SELECT version()", &answer, diag);
	if (!err) {
		major = strtoul(ks_strbuf_str(&answer), &end, 10);
		if (*end == '.')
			minor = strtoul(end + 1, NULL, 10);
		if (!major || major > 999 || minor > 99)
			err = ks_diag_set(diag, -EPROTO, "the server is no ClickHouse");
		else
			store->version = (u32)(major * 100 + minor);
	}
	ks_strbuf_deinit(&answer);
	return err;
}

int ks_store_statements(const struct ks_store *store, u32 keep_days, struct ks_strbuf *out)
{
	unsigned int i;

	ks_strbuf_printf(out, "CREATE DATABASE IF NOT EXISTS %s%s%s\n", store->database,
			 store->cluster ? " ON CLUSTER " : "",
			 store->cluster ? store->cluster : "");
	if (store->cluster)
		ks_strbuf_printf(out, "CREATE DATABASE IF NOT EXISTS %s_local ON CLUSTER %s\n",
				 store->database, store->cluster);
	for (i = 0; i < KS_STORE_TABLES; i++)
		create(store, &ks_store_shapes[i], keep_days, out);
	ks_strbuf_printf(out, "INSERT INTO %s.meta (version) VALUES (%u)\n", store->database,
			 (unsigned int)KS_STORE_SCHEMA);
	return out->failed ? -ENOMEM : 0;
}

int ks_store_set_up(struct ks_store *store, u32 keep_days, u32 *ret_before, struct ks_diag *diag)
{
	struct ks_strbuf sql;
	char *line, *end;
	u32 before;
	int err = ks_store_open(store, diag);

	if (!err)
		err = read_version(store, &before, diag);
	if (err)
		return err;
	if (before > KS_STORE_SCHEMA)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "the tables are of version %u and this program knows %u: "
				   "use a newer kmemscope",
				   (unsigned int)before, (unsigned int)KS_STORE_SCHEMA);
	ks_strbuf_init(&sql);
	if (ks_store_statements(store, keep_days, &sql))
		err = ks_diag_nomem(diag, "making tables");
	for (line = sql.s; !err && *line && before < KS_STORE_SCHEMA; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		err = ks_http_query(store->http, line, NULL, diag);
	}
	ks_strbuf_deinit(&sql);
	if (!err)
		*ret_before = before;
	return err;
}
