/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A stream of objects from an access map in any form: text of every dialect, the CSV pair, the
 * binary stream. One object is held at a time.
 */
#ifndef KS_KMAP_READER_H
#define KS_KMAP_READER_H

#include "base/diag.h"
#include "kmap/object.h"

/* What was skipped or is unsound; nothing is lost without a count. */
struct ks_kmap_quality {
	u64 bad_lines;	     /* not understood, or cut off at the end of a binary stream */
	u64 short_lines;     /* object lines that lack a field, kept */
	u64 orphan_accesses; /* accesses of no object */
	u64 shared_indices;  /* objects of a CSV pair whose index an earlier one had: no accesses */
	u64 first_bad_offset; /* of the first line counted in bad_lines */
};

enum ks_kmap_form { KS_KMAP_TEXT, KS_KMAP_CSV_PAIR, KS_KMAP_BINARY };

struct ks_kmap_info {
	enum ks_kmap_form form;
	unsigned int fields;  /* of text: 8 to 11 */
	const char *time;     /* what times count: "ns", or "ticks" (serial numbers or jiffies) */
	u64 anchor;	      /* where the running kernel had ... */
	char anchor_name[32]; /* ... this function; "" = not recorded */
	u64 base_ns, base_jiffies; /* one moment in both clocks of a binary stream ... */
	u32 tick_ns;		   /* ... and the length of a jiffy; 0 = not recorded */
	u64 bytes;		   /* read so far */
};

struct ks_input;
struct ks_kmap_reader;

/*
 * Reads the map in @input. @fields is the dialect of text, 8 to 11, or 0 to find out. @accesses is the
 * second file of a CSV pair, or NULL. Both inputs belong to the reader from now on, even on error.
 */
int ks_kmap_reader_new(struct ks_input *input, struct ks_input *accesses, unsigned int fields,
		       struct ks_kmap_reader **ret_reader, struct ks_diag *diag);

/* Opens the files for ks_kmap_reader_new(): "-" is standard input, @accesses may be NULL. */
int ks_kmap_reader_open(const char *path, const char *accesses, unsigned int fields,
			struct ks_kmap_reader **ret_reader, struct ks_diag *diag);
void ks_kmap_reader_free(struct ks_kmap_reader *reader);

/* How far the file of the map was read, of how much (0 = not known). */
void ks_kmap_reader_progress(const struct ks_kmap_reader *reader, u64 *ret_done, u64 *ret_total);

enum ks_kmap_item { KS_KMAP_END, KS_KMAP_OBJECT, KS_KMAP_CALL };

/* The next object, with its accesses, or count of calls. What it points to is good until the next call. */
int ks_kmap_next(struct ks_kmap_reader *reader, enum ks_kmap_item *ret_item,
		 struct ks_kmap_object *ret_object, struct ks_kmap_call *ret_call,
		 struct ks_diag *diag);

const struct ks_kmap_quality *ks_kmap_reader_quality(const struct ks_kmap_reader *reader);
const struct ks_kmap_info *ks_kmap_reader_info(const struct ks_kmap_reader *reader);

#endif
