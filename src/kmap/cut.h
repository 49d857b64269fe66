/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where objects end in a stream that arrives in pieces: lines of text, or binary records. */
#ifndef KS_KMAP_CUT_H
#define KS_KMAP_CUT_H

#include "net/spool.h"

struct ks_kmap_cut {
	size_t record_size; /* of a binary stream; 0 = text, or nothing seen yet */
	size_t access_size;
	bool big_endian;
	bool unknown; /* a header makes no sense: from there on, all is passed on */
	u64 rest;     /* bytes still to come of an object that was passed on in part */
};

/*
 * How many of the bytes, which begin where the last ones ended, are whole objects. @more: the source
 * had more bytes than there was room for, so that lines of the last object may be missing.
 */
size_t ks_kmap_cut_whole(struct ks_kmap_cut *cut, const void *data, size_t len, bool more);

/* Passes on all bytes, the beginning of an object that has no end among them. */
void ks_kmap_cut_pass(struct ks_kmap_cut *cut, const void *data, size_t len);

/* The framing of a map's stream, for a spool. */
struct ks_framing ks_kmap_cut_framing(struct ks_kmap_cut *cut);

#endif
