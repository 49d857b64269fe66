/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Statements that add up rows by hour: a slope for each series of each host, and the sums of these by build. fleet/rollup.c
 * stores what they give; a question about a part of the hosts asks with them.
 */
#ifndef KS_FLEET_SUMS_SQL_H
#define KS_FLEET_SUMS_SQL_H

#include "base/strbuf.h"

struct ks_sums_sql {
	const char *database;
	u32 since, until;  /* whole hours */
	const char *hosts; /* more conditions on the host, " AND ..."; NULL = none */
	const char *rows;  /* more conditions on rows; NULL = none */
	bool of_rows; /* sums by build are of the rows themselves, not of the table of sums by host */
	const char *site; /* the column that stands in the place of the site; NULL = the site */
};

/* Of rows: hour, host, boot, build, cache, type, site, points, warm, live_bytes, live_objects, allocs, frees, growth. */
void ks_sums_sql_hosts(struct ks_strbuf *sql, const struct ks_sums_sql *of);

/* Of these: the columns of the table of sums by build, but for its version. */
void ks_sums_sql_builds(struct ks_strbuf *sql, const struct ks_sums_sql *of);

/*
 * The same by label and value: the columns of KS_STORE_LABEL_HOUR but for the version. Of the sums by host, whose hours must be
 * there.
 */
void ks_sums_sql_labels(struct ks_strbuf *sql, const struct ks_sums_sql *of);

/* Of these, too: the columns of KS_STORE_HOST_SUM but for the version. */
void ks_sums_sql_all_series(struct ks_strbuf *sql, const struct ks_sums_sql *of);

/* Of reports: the columns of KS_STORE_HOST_REPORTS but for the version. @rows are conditions on reports. */
void ks_sums_sql_reports(struct ks_strbuf *sql, const struct ks_sums_sql *of);

#endif
