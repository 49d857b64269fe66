/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Blocks of ClickHouse's Native format: the number of columns and rows, then one column after the other. It is
 * the only format of which a server refuses a part, and so the only one that we send: one block a request,
 * of one partition and at most KS_NATIVE_ROWS_MAX rows, is stored as a whole or not at all.
 */
#ifndef KS_FLEET_NATIVE_H
#define KS_FLEET_NATIVE_H

#include "base/strbuf.h"
#include "base/vec.h"

enum { KS_NATIVE_ROWS_MAX = 1000000 };

enum ks_native_type {
	KS_NATIVE_U8,
	KS_NATIVE_U32,
	KS_NATIVE_U64,
	KS_NATIVE_S64,
	KS_NATIVE_F32,
	KS_NATIVE_F64,
	KS_NATIVE_TIME, /* seconds since 1970 */
	KS_NATIVE_STRING,
	KS_NATIVE_TYPES
};

struct ks_native_column {
	const char *name;
	enum ks_native_type type;
};

struct ks_native {
	const struct ks_native_column *columns; /* must outlive it */
	size_t nr_columns, rows, next;
	struct ks_strbuf *data; /* of each column */
};

/* "UInt64", ... */
const char *ks_native_type_name(enum ks_native_type type);

/* 0 or -ENOMEM; deinit accepts what either left. */
int ks_native_init(struct ks_native *block, const struct ks_native_column *columns,
		   size_t nr_columns);
void ks_native_deinit(struct ks_native *block);

/* One value of each column, in order, makes a row. A float is given by its bits. */
void ks_native_number(struct ks_native *block, u64 value);
void ks_native_string(struct ks_native *block, const char *s, size_t len);

/* Appends the block to the buffer, which fails where memory ran out. */
void ks_native_finish(const struct ks_native *block, struct ks_strbuf *out);

/* Forgets the rows and keeps the memory. */
void ks_native_clear(struct ks_native *block);

/* "(host, boot, ...)": the columns, for INSERT. */
void ks_native_names(const struct ks_native_column *columns, size_t nr_columns,
		     struct ks_strbuf *out);

#endif
