/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * For answers from a directory of tables: things with a key are put in an order and taken group by group, and what is
 * found becomes lines, as a server would send them.
 */
#ifndef KS_FLEET_FILES_GROUP_H
#define KS_FLEET_FILES_GROUP_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "fleet/files-sums.h"

/* Parts of a key, the most important first; the first @group of them are equal in a group. */
struct ks_order {
	u8 group, len;
	u8 parts[KS_KEY_PARTS];
};

/* Items of @size bytes that begin with a u64 key[KS_KEY_PARTS]. */
void ks_group_sort(void *items, size_t len, size_t size, const struct ks_order *order);

/* Where the group that begins at @first ends. */
size_t ks_group_end(const void *items, size_t len, size_t size, const struct ks_order *order,
		    size_t first);

#define KS_SORT(vec_, order_) \
	ks_group_sort((vec_)->items, (vec_)->len, sizeof(*(vec_)->items), order_)
#define KS_GROUP_END(vec_, order_, first_) \
	ks_group_end((vec_)->items, (vec_)->len, sizeof(*(vec_)->items), order_, first_)

/* A line of the answer, and what it is sorted by: the highest first, then by ids. */
struct ks_line {
	double order[2];
	u64 ids[5];
	size_t at, len;
};

struct ks_lines {
	KS_VEC(struct ks_line) items;
	struct ks_strbuf text; /* also of the line that is being written */
	size_t at;	       /* where that one begins */
};

void ks_lines_init(struct ks_lines *lines);
void ks_lines_deinit(struct ks_lines *lines);

/* Fields of the line that is being written, each with its tab. */
void ks_lines_s64(struct ks_lines *lines, s64 value);
void ks_lines_whole(struct ks_lines *lines,
		    double value); /* cut off, as a server's toInt64() does */
void ks_lines_double(struct ks_lines *lines, double value);
void ks_lines_time(struct ks_lines *lines, u32 seconds);

/* Ends the line: its ids come last. */
void ks_lines_end(struct ks_lines *lines, double first, double second, const u64 *ids,
		  size_t nr_ids);
/* The same with a text in the place of ids, which is escaped. */
void ks_lines_end_text(struct ks_lines *lines, double first, double second, const char *text);

/* Appends the first @top of them, sorted. 0 or -ENOMEM. */
int ks_lines_put(struct ks_lines *lines, u64 top, struct ks_strbuf *answer);

#endif
