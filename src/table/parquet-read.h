/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Reads the Parquet files that table/parquet.h writes: flat, no column optional, a page for each column of a group. It
 * trusts nothing; what another program wrote in another way is refused by name.
 */
#ifndef KS_TABLE_PARQUET_READ_H
#define KS_TABLE_PARQUET_READ_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/intern.h"
#include "base/vec.h"
#include "table/parquet.h"

struct ks_parquet_file;

struct ks_parquet_numbers {
	KS_VEC(u64) items;
};

struct ks_parquet_strings {
	KS_VEC(struct ks_str) items;
	struct ks_arena arena; /* what they point into */
};

/* @data must outlive the file; @name is for messages. KS_EBADINPUT: it is damaged, or not of this kind. */
int ks_parquet_open(const void *data, size_t len, const char *name,
		    struct ks_parquet_file **ret_file, struct ks_diag *diag);
void ks_parquet_close(struct ks_parquet_file *file); /* accepts NULL */

u64 ks_parquet_rows(const struct ks_parquet_file *file);

/* Appends the numbers of a column, as ks_parquet_number() took them. KS_EBADINPUT also where there is no such column. */
int ks_parquet_read_numbers(struct ks_parquet_file *file, const char *column,
			    enum ks_parquet_type type, struct ks_parquet_numbers *numbers,
			    struct ks_diag *diag);

/* The caller initialises the arena. Strings end with a NUL. */
int ks_parquet_read_strings(struct ks_parquet_file *file, const char *column,
			    struct ks_parquet_strings *strings, struct ks_diag *diag);

#endif
