/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Parquet files: flat tables of numbers and strings, written group of rows by group of rows. Strings
 * go through a dictionary; pages are compressed with zstd. What comes out is appended to a strbuf that
 * the caller may empty whenever it likes.
 */
#ifndef KS_TABLE_PARQUET_H
#define KS_TABLE_PARQUET_H

#include "base/strbuf.h"

enum ks_parquet_type {
	KS_PARQUET_U64,
	KS_PARQUET_U32,
	KS_PARQUET_S64,
	KS_PARQUET_DOUBLE,
	KS_PARQUET_BOOL,
	KS_PARQUET_STRING,
	KS_PARQUET_TYPES
};

struct ks_parquet_field {
	const char *name;
	enum ks_parquet_type type;
	bool optional; /* may hold nothing */
};

struct ks_parquet;

/* @fields must outlive it. NULL when there is no memory. */
struct ks_parquet *ks_parquet_new(const struct ks_parquet_field *fields, size_t len,
				  struct ks_strbuf *out);
void ks_parquet_free(struct ks_parquet *file);

/*
 * One value of each field, in order, makes a row. Lack of memory fails the strbuf. A number is given by its
 * bits: those of a double, or the two's complement of a negative number.
 */
void ks_parquet_number(struct ks_parquet *file, u64 value);
void ks_parquet_null(struct ks_parquet *file);

/*
 * A string, by a small number that always stands for the same string in this field. The string itself is
 * looked at only where the number is not known yet.
 */
bool ks_parquet_knows(const struct ks_parquet *file, size_t field, u32 key);
void ks_parquet_string(struct ks_parquet *file, u32 key, const char *s);

/* Writes what is left, and the footer. */
void ks_parquet_finish(struct ks_parquet *file);

#endif
