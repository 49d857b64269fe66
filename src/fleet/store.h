/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The fleet's tables: how they are made, brought up to date and filled, and how the sums by minute and by hour are
 * made of them. Rows have a key and a version, so what arrives twice counts once (ReplacingMergeTree); sums
 * are made of rows without doubles, and again when late ones came.
 */
#ifndef KS_FLEET_STORE_H
#define KS_FLEET_STORE_H

#include "fleet/batch.h"
#include "fleet/clickhouse.h"

enum { KS_STORE_SCHEMA = 2 }; /* the version of the tables that this program makes */

struct ks_files;

/* A database: of one server, or its part on a shard. */
struct ks_store {
	struct ks_http *http;
	struct ks_files *files; /* a directory of tables, for questions; NULL = the server */
	const char *database;	/* checked by ks_store_check_name() */
	const char *cluster;	/* of ks_store_set_up(); NULL = one server */
	u32 version;		/* of the server: 1816, 2607; 0 = not asked yet */
};

/* Whether a name of a database or a cluster is one of letters, digits and '_'. */
bool ks_store_check_name(const char *name);

/* Asks for the server's version. */
int ks_store_open(struct ks_store *store, struct ks_diag *diag);

/*
 * Makes the tables, or brings them up to date. *ret_before is the version that was there, 0 = none. KS_EBADINPUT:
 * they are of a newer program. @keep_days: rows are removed after this many days, where the server can do that.
 */
int ks_store_set_up(struct ks_store *store, u32 keep_days, u32 *ret_before, struct ks_diag *diag);

/* The statements that ks_store_set_up() would send, one a line. */
int ks_store_statements(const struct ks_store *store, u32 keep_days, struct ks_strbuf *out);

/* The values of KS_STORE_ROWS and KS_STORE_REPORTS, one for each column. A float is given by its bits. */
void ks_store_row_values(const struct ks_fleet_batch *batch, const struct ks_fleet_row *row,
			 u64 *values);
void ks_store_report_values(const struct ks_fleet_batch *batch, u64 *values);

/* Batches on their way into the database. */
struct ks_store_load;

int ks_store_load_new(struct ks_store_load **ret_load, struct ks_diag *diag);
void ks_store_load_free(struct ks_store_load *load);

/* -E2BIG: there is no more room; store first. */
int ks_store_load_add(struct ks_store_load *load, const struct ks_fleet_batch *batch,
		      struct ks_diag *diag);
size_t ks_store_load_rows(const struct ks_store_load *load);
void ks_store_load_clear(struct ks_store_load *load);

/*
 * Stores them: names first, then rows, a block for each hour, and last what says that an interval is there. If it fails
 * half way, it can be done again.
 */
int ks_store_put(struct ks_store *store, struct ks_store_load *load, struct ks_diag *diag);

struct ks_rollup_result {
	u32 minutes, hours; /* that were made, anew or again */
	bool more;	    /* others wait for the next time */
};

/*
 * Makes the sums of all minutes and hours that got rows since theirs were made. @since: seconds since 1970;
 * what is older is left as it is.
 */
int ks_store_rollup(struct ks_store *store, u32 since, u32 limit, struct ks_rollup_result *result,
		    struct ks_diag *diag);

#endif
