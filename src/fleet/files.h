/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A fleet's tables without a server: a directory of Parquet files, for one machine or a few. It has the tables that a
 * database would have: rows/HOUR.parquet and reports/HOUR.parquet for each hour, names.parquet, labels.parquet. An hour's file is
 * written again, whole, when more of that hour comes; a row that comes twice is there once, as in the database.
 */
#ifndef KS_FLEET_FILES_H
#define KS_FLEET_FILES_H

#include "fleet/batch.h"
#include "fleet/schema.h"

enum {
	KS_FILES_ROW_COLUMNS = 17,
	KS_FILES_REPORT_COLUMNS = 14, /* those of the database and when it was stored */
};

/* Columns of KS_STORE_ROWS and KS_STORE_REPORTS, by their number. */
enum {
	KS_ROW_HOST,
	KS_ROW_BOOT,
	KS_ROW_BUILD,
	KS_ROW_TS,
	KS_ROW_SPAN,
	KS_ROW_CACHE,
	KS_ROW_TYPE,
	KS_ROW_SITE,
	KS_ROW_STACK,
	KS_ROW_CGROUP,
	KS_ROW_BYTES,
	KS_ROW_OBJECTS,
	KS_ROW_ALLOCS,
	KS_ROW_FREES,
	KS_ROW_ERROR,
	KS_ROW_QUALITY,
	KS_ROW_VER,
};
enum {
	KS_REPORT_HOST,
	KS_REPORT_BOOT,
	KS_REPORT_BUILD,
	KS_REPORT_TS,
	KS_REPORT_SPAN,
	KS_REPORT_UPTIME,
	KS_REPORT_SERIES,
	KS_REPORT_BYTES,
	KS_REPORT_TORN,
	KS_REPORT_LOST,
	KS_REPORT_SKIPPED,
	KS_REPORT_QUALITY,
	KS_REPORT_VER,
	KS_REPORT_STORED,
};

struct ks_files;

/* @write: the directory is made if it is not there, with mode 0700, and locked while it is written. */
int ks_files_open(const char *dir, bool write, struct ks_files **ret_files, struct ks_diag *diag);
void ks_files_close(struct ks_files *files); /* accepts NULL */

/* Adds a batch to what ks_files_flush() writes. -E2BIG: flush first. */
int ks_files_add(struct ks_files *files, const struct ks_fleet_batch *batch, struct ks_diag *diag);

/* Writes names first, then rows, then reports. What fails half way can be done again. */
int ks_files_flush(struct ks_files *files, struct ks_diag *diag);

/* Forgets what was added and not yet written. */
void ks_files_clear(struct ks_files *files);

/* The hours that there are, in order: seconds since 1970. 0 or -errno. */
struct ks_files_hours {
	KS_VEC(u32) items;
};
int ks_files_hours(const struct ks_files *files, enum ks_store_table table,
		   struct ks_files_hours *ret_hours, struct ks_diag *diag);

/*
 * The numbers of an hour's file, row by row, as many as the table has columns. Of @columns (bits) alone: the others are 0.
 * Nothing where there is no such hour.
 */
struct ks_files_table {
	KS_VEC(u64) items;
	size_t width; /* columns */
};
int ks_files_read(const struct ks_files *files, enum ks_store_table table, u32 hour,
		  unsigned int columns, struct ks_files_table *ret_table, struct ks_diag *diag);

/* The name of an id, or NULL. */
const char *ks_files_name(const struct ks_files *files, u64 id);

/* The value of a label of a host, or NULL. Values have ids, too; that of none is 0. */
const char *ks_files_label(const struct ks_files *files, u64 host, const char *label, size_t len);
u64 ks_files_label_id(const char *value);
const char *ks_files_label_of_id(const struct ks_files *files, const char *label, u64 id);

#endif
