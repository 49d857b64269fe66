// SPDX-License-Identifier: LGPL-2.1-only
/* Call sites as a Parquet table. */
#include "report/export.h"
#include "report/parquet.h"

/* === Data ================================================================================= */

static const struct ks_parquet_field fields[] = {
	{ "site", KS_PARQUET_STRING, false },	      { "function", KS_PARQUET_STRING, true },
	{ "module", KS_PARQUET_STRING, true },	      { "path", KS_PARQUET_STRING, true },
	{ "address", KS_PARQUET_U64, true },	      { "total_bytes", KS_PARQUET_U64, false },
	{ "total_requested", KS_PARQUET_U64, false }, { "live_bytes", KS_PARQUET_U64, false },
	{ "live_requested", KS_PARQUET_U64, false },  { "live_objects", KS_PARQUET_U64, false },
	{ "peak_bytes", KS_PARQUET_U64, false },      { "allocs", KS_PARQUET_U64, false },
	{ "frees", KS_PARQUET_U64, false },	      { "implied_frees", KS_PARQUET_U64, false },
	{ "failed", KS_PARQUET_U64, false },	      { "peak_ts", KS_PARQUET_U64, false },
	{ "first_ts", KS_PARQUET_U64, false },	      { "last_ts", KS_PARQUET_U64, false },
	{ "waste", KS_PARQUET_U64, false },
};

/* === Internals ============================================================================ */

/* Strings differ from row to row, mostly: the row's number is as good a key as any. */
static void put_text(struct ks_parquet *file, u64 row, const char *s)
{
	if (*s)
		ks_parquet_string(file, row, s);
	else
		ks_parquet_null(file);
}

static void put_group(struct ks_parquet *file, u64 row, const struct ks_group *group)
{
	const struct ks_stat *stat = &group->stat;
	u64 numbers[] = {
		stat->total_bytes,   stat->total_req,	  stat->live_bytes, stat->live_req,
		stat->live_objs,     stat->peak_bytes,	  stat->allocs,	    stat->frees,
		stat->implied_frees, stat->failed,	  stat->peak_ts,    stat->first_ts,
		stat->last_ts,	     ks_stat_waste(stat),
	};
	size_t i;

	ks_parquet_string(file, row, group->label);
	put_text(file, row, group->func);
	put_text(file, row, group->module);
	put_text(file, row, group->path);
	if (group->addr)
		ks_parquet_number(file, group->addr);
	else
		ks_parquet_null(file);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		ks_parquet_number(file, numbers[i]);
}

/* === Public =============================================================================== */

void ks_export_parquet(const struct ks_rows *rows, struct ks_strbuf *out)
{
	struct ks_parquet *file = ks_parquet_new(fields, ARRAY_SIZE(fields), out);
	size_t i;

	if (!file) {
		out->failed = true;
		return;
	}
	for (i = 0; i < rows->len; i++)
		put_group(file, i, rows->items[i]);
	ks_parquet_finish(file);
	ks_parquet_free(file);
}
