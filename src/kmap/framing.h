/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * How the stream of an access map divides into objects. As text, an object is a line and the indented
 * lines of its accesses below it. As binary, it is a record and the accesses that the record announces;
 * a header stands in front of each stream, and streams may follow one another. Whoever needs to know where
 * an object begins or ends, without reading it, asks here.
 */
#ifndef KS_KMAP_FRAMING_H
#define KS_KMAP_FRAMING_H

#include <stddef.h>
#include <string.h>

#include "net/spool.h"
#include "uapi/memorizer.h"

/* No header may announce records or accesses of more bytes than this. */
#define KS_KMAP_RECORD_MAX (1u << 20)

/* An access of the first streams, which had no offset. */
#define KS_KMAP_ACCESS_MIN offsetof(struct memorizer_access, offset)

/* The header of a binary stream. */
struct ks_kmap_header {
	bool big_endian; /* the byte order of the stream */
	u16 version;
	size_t header_size, record_size, access_size;
	u32 calls;   /* that follow it, of sizeof(struct memorizer_call) each */
	u32 tick_ns; /* the length of a jiffy */
	u64 base_ns, base_jiffies;
	u64 anchor;
	char anchor_name[32];
};

/* Whether a header begins here, in either byte order. Its first four bytes are enough to know. */
static inline bool ks_kmap_is_header(const void *data, size_t len)
{
	u32 magic;

	if (len < sizeof(magic))
		return false;
	memcpy(&magic, data, sizeof(magic));
	return magic == MEMORIZER_MAGIC || magic == __builtin_bswap32(MEMORIZER_MAGIC);
}

/* Reads the header at the front of @data. False while not all of its fields are there. */
bool ks_kmap_header_parse(const void *data, size_t len, struct ks_kmap_header *ret_header);

/* Whether it is of a version that we know. */
bool ks_kmap_header_is_known(const struct ks_kmap_header *header);

/* Whether its sizes are at least those of the version that we know, and at most KS_KMAP_RECORD_MAX. */
bool ks_kmap_header_is_sane(const struct ks_kmap_header *header);

/* Where a stream that arrives in pieces may be cut. Zeroed, it is ready. */
struct ks_kmap_framing {
	size_t record_size; /* of a binary stream; 0 = text, or nothing seen yet */
	size_t access_size;
	bool big_endian;
	bool unknown; /* a header makes no sense: from there on, all bytes are passed on */
	u64 rest;     /* bytes still to come of an object that was passed on in part */
};

/*
 * How many of the bytes, which begin where the last ones ended, are whole objects. @more: the source
 * had more bytes than there was room for, so that lines of the last object may be missing.
 */
size_t ks_kmap_framing_whole(struct ks_kmap_framing *framing, const void *data, size_t len,
			     bool more);

/* Passes on all bytes: the beginning of an object that has no end among them. */
void ks_kmap_framing_pass(struct ks_kmap_framing *framing, const void *data, size_t len);

/* The framing of a map's stream, for a spool. */
struct ks_framing ks_kmap_spool_framing(struct ks_kmap_framing *framing);

/* Counts the objects of a stream as it passes, in pieces of any size. Zeroed but for text, it is ready. */
struct ks_kmap_counter {
	bool text;	/* set by the caller: lines, not binary records */
	u64 objects;	/* that have begun */
	u64 bytes;	/* that have passed */
	u64 last_begin; /* where the last object begins: what is before it is whole */

	/* The rest is private. */
	bool unknown;	/* a binary header makes no sense: objects can no longer be counted */
	bool in_line;	/* the last byte of a text was not the end of its line */
	bool is_object; /* the line that is in hand has begun like that of an object; ... */
	bool has_comma, has_blank; /* ... one of calls has blanks, and no comma */
	bool in_head; /* head[] holds the beginning of this line: it may be no object */
	u64 skip;     /* bytes until the next record or header */
	u32 head_len;
	char head[128]; /* the beginning of a line, record or header */
	size_t record_size, access_size;
	bool big_endian;
};

void ks_kmap_counter_add(struct ks_kmap_counter *counter, const void *data, size_t len);

#endif
