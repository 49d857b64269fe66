// SPDX-License-Identifier: GPL-2.0-only
/* kmemscope fleet setup and rollup: the tables of the database, and the sums in them. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/fleet.h"
#include "cli/output.h"
#include "cli/signals.h"

/* === Data ================================================================================= */

enum {
	ROWS_A_MINUTE = 300,  /* of one host: series that are live */
	ROW_TENTH_BYTES = 65, /* on disk, in 1/10: compressed by ZSTD in the order of the tables */
	OLD_ROW_TENTH_BYTES = 100, /* of servers without codecs */
	HOUR_ROWS = 300,	   /* of one host: in sums by host and hour */
	HOUR_TENTH_BYTES = 250,	   /* one of them */
	ROLLUP_LIMIT = 2000,	   /* minutes or hours at a time */
	ROLLUP_DAYS = 7,	   /* rows that come later than this change no sum */
	ROWS_A_CORE = 300000,	   /* that a server stores in a second */
};

enum { WHAT, AMOUNT, COLUMNS };

static const struct ks_column cost_columns[COLUMNS] = {
	[WHAT] = { "what", "what", KS_CELL_TEXT },
	[AMOUNT] = { "amount", "amount", KS_CELL_U64, .width = 18 },
};

/* === Internals ============================================================================ */

static void add_cost(struct ks_table *table, const char *what, u64 amount)
{
	struct ks_row row = ks_table_add(table);

	ks_row_text(row, WHAT, what);
	ks_row_u64(row, AMOUNT, amount);
}

/* What a fleet of this size takes, by the estimate in docs/fleet.md. */
static void add_costs(struct ks_doc *doc, const struct ks_store *store, u64 hosts, u64 keep_days)
{
	struct ks_table *table;
	u64 rows = hosts * ROWS_A_MINUTE * 60 * 24;
	u64 bytes = rows * (store->version >= 2000 ? ROW_TENTH_BYTES : OLD_ROW_TENTH_BYTES) / 10;
	u64 sums = hosts * HOUR_ROWS * 24 * HOUR_TENTH_BYTES / 10;

	ks_doc_say(doc, "what %" PRIu64 " hosts take, at %d rows a minute each:\n", hosts,
		   (int)ROWS_A_MINUTE);
	table = ks_doc_table(doc, "cost", cost_columns, COLUMNS);
	if (!table)
		return;
	add_cost(table, "rows a second", hosts * ROWS_A_MINUTE / 60);
	add_cost(table, "share of a core that stores them, in percent",
		 hosts * ROWS_A_MINUTE / 60 * 100 / ROWS_A_CORE);
	add_cost(table, "bytes a day on disk, rows", bytes);
	add_cost(table, "bytes a day on disk, sums", sums);
	if (keep_days)
		add_cost(table, "bytes on disk in the end", (bytes + sums) * keep_days);
}

static int print_statements(const struct ks_cli *cli, const struct ks_store *store, u32 keep_days)
{
	struct ks_strbuf sql;
	int code;

	ks_strbuf_init(&sql);
	if (ks_store_statements(store, keep_days, &sql))
		code = ks_cli_error(cli, KS_EXIT_FAILED, "out of memory");
	else
		code = ks_cli_print(cli, &sql);
	ks_strbuf_deinit(&sql);
	return code;
}

static int set_up(struct ks_fleet_args *args, struct ks_store *store)
{
	u32 keep = (u32)args->keep_days, before = 0;
	struct ks_diag diag = { 0 };
	struct ks_doc *doc;
	int err;

	if (args->dry_run) {
		err = ks_store_open(store, &diag);
		return err ? ks_cli_fail(&args->cli, err, &diag)
			   : print_statements(&args->cli, store, keep);
	}
	err = ks_store_set_up(store, keep, &before, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	doc = ks_doc_new("kmemscope-fleet-setup-1");
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	ks_doc_text(doc, "database", store->database);
	ks_doc_u64(doc, "server_version", store->version);
	ks_doc_u64(doc, "version_before", before);
	ks_doc_u64(doc, "version", KS_STORE_SCHEMA);
	ks_doc_say(doc, "database %s: tables of version %d %s, on ClickHouse %u.%u\n",
		   store->database, (int)KS_STORE_SCHEMA,
		   !before			   ? "were made"
		   : before < (u32)KS_STORE_SCHEMA ? "replace older ones"
						   : "were there already",
		   store->version / 100, store->version % 100);
	if (keep && store->version < 2000)
		ks_doc_say(doc,
			   "this server can't remove old rows by itself: drop their partitions\n");
	ks_doc_say(doc, "\n");
	add_costs(doc, store, args->hosts, args->keep_days);
	return ks_cli_print_doc(&args->cli, doc);
}

static int roll_up_once(struct ks_fleet_args *args, struct ks_store *store,
			struct ks_rollup_result *sum, struct ks_diag *diag)
{
	struct ks_rollup_result part;
	u32 since = (u32)(time(NULL) - args->keep_days * 86400);
	int err;

	if (args->keep_days * 86400 > (u64)time(NULL))
		since = 0;
	do {
		err = ks_store_rollup(store, since, ROLLUP_LIMIT, &part, diag);
		sum->minutes += part.minutes;
		sum->hours += part.hours;
	} while (!err && part.more);
	return err;
}

/* Until a signal comes. A server that is away is asked again. */
static int roll_up_often(struct ks_fleet_args *args, struct ks_store *store)
{
	static const int none[] = { 0 };
	struct ks_rollup_result sum = { 0 };
	struct ks_diag diag = { 0 };
	sigset_t blocked;
	struct pollfd wait = { .events = POLLIN };
	int err;

	ks_cli_block_signals(none, &blocked);
	wait.fd = ks_cli_signal_fd(&blocked, &diag);
	if (wait.fd < 0)
		return ks_cli_fail(&args->cli, wait.fd, &diag);
	ks_http_stop_on(store->http, wait.fd);
	do {
		err = roll_up_once(args, store, &sum, &diag);
		if (err && !poll(&wait, 1, 0))
			ks_cli_fail(&args->cli, err, &diag);
	} while (poll(&wait, 1, (int)ks_min(args->every_ns / 1000000, (u64)INT32_MAX)) == 0);
	close(wait.fd);
	return KS_EXIT_OK;
}

static int roll_up(struct ks_fleet_args *args, struct ks_store *store)
{
	struct ks_rollup_result sum = { 0 };
	struct ks_diag diag = { 0 };
	struct ks_doc *doc;
	int err;

	if (args->every_ns)
		return roll_up_often(args, store);
	err = roll_up_once(args, store, &sum, &diag);
	if (err)
		return ks_cli_fail(&args->cli, err, &diag);
	doc = ks_doc_new("kmemscope-fleet-rollup-1");
	if (!doc)
		return ks_cli_error(&args->cli, KS_EXIT_FAILED, "out of memory");
	ks_doc_note(doc, "minutes", sum.minutes, "minutes were added up", true);
	ks_doc_note(doc, "hours", sum.hours, "hours were added up", true);
	return ks_cli_print_doc(&args->cli, doc);
}

static int run(struct ks_fleet_args *args, int (*what)(struct ks_fleet_args *, struct ks_store *))
{
	struct ks_store store;
	int code = ks_fleet_connect(&args->cli, &args->server, &store);

	store.cluster = args->cluster;
	if (!code)
		code = what(args, &store);
	ks_fleet_disconnect(&args->server, &store);
	return code;
}

/* === Public =============================================================================== */

int ks_fleet_set_up(struct ks_fleet_args *args)
{
	if (args->cluster && !ks_store_check_name(args->cluster))
		return ks_cli_error(&args->cli, KS_EXIT_USAGE,
				    "'%s' is no name of a cluster: letters, digits and _",
				    args->cluster);
	return run(args, set_up);
}

int ks_fleet_rollup(struct ks_fleet_args *args)
{
	if (!args->keep_days)
		args->keep_days = ROLLUP_DAYS;
	args->server.http.timeout_secs = KS_FLEET_ROLLUP_SECS;
	return run(args, roll_up);
}
