/* SPDX-License-Identifier: LGPL-2.1-only */
/* The grammar of one line of an access map in text, for every dialect that kernels have printed. */
#ifndef KS_KMAP_LINE_H
#define KS_KMAP_LINE_H

#include "kmap/object.h"

enum ks_kmap_line {
	KS_KMAP_LINE_OBJECT,
	KS_KMAP_LINE_ACCESS,
	KS_KMAP_LINE_CALL,
	KS_KMAP_LINE_COMMENT, /* # ..., empty, or the head of a CSV file */
	KS_KMAP_LINE_BAD,
};

/*
 * What one line cannot say of itself. Names may hold commas, so the number of fields is a property
 * of the file; and in an access line of four fields the pid comes second or last.
 */
struct ks_kmap_dialect {
	unsigned int fields; /* 8 to 11 */
	bool csv;	     /* an "allocations" file: it has a head and no access lines */
};

/* One line; which member is set, the class tells. */
struct ks_kmap_parsed {
	struct ks_kmap_object object; /* its names are slices of the line */
	struct ks_kmap_access access;
	struct ks_kmap_call call;
	bool short_of_fields; /* the object's line has fewer than the dialect */
};

/* The line must be followed by a newline; @len does not count it. */
enum ks_kmap_line ks_kmap_line_parse(const struct ks_kmap_dialect *dialect, const char *line,
				     size_t len, struct ks_kmap_parsed *parsed);

/*
 * A line of an "accesses" file: alloc_index, access_ip, pid if @has_pid, writes, reads. False if it
 * is none.
 */
bool ks_kmap_line_parse_csv(const char *line, size_t len, bool has_pid, u64 *ret_index,
			    struct ks_kmap_access *ret_access);

/* The dialect of the lines in the buffer; false if none of them is of an access map. */
bool ks_kmap_dialect_detect(const char *data, size_t len, struct ks_kmap_dialect *ret_dialect);

#endif
