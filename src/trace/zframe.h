/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What is written into a trace.dat, as frames of zstd (RFC 8878): compressed by libzstd in zframe.c, or merely
 * stored by zframe-stored.c, for a recorder that has no room for the library. Readers can't tell.
 */
#ifndef KS_TRACE_ZFRAME_H
#define KS_TRACE_ZFRAME_H

#include "base/types.h"

struct ks_zframer;

/* A frame that holds nothing, and that readers skip, begins with this number and its size, both little-endian. */
#define KS_ZFRAME_SKIPPABLE 0x184d2a50u

/* The version of the library, for the head of the file. */
const char *ks_zframe_version(void);

/* The room that @len bytes may need. */
size_t ks_zframe_bound(size_t len);

/* One frame without a checksum. Returns its size, or 0: memory ran out. */
size_t ks_zframe_make(void *dst, size_t cap, const void *src, size_t len, int level);

/* For many frames, each with a checksum, so that one is found out that a crash left half-written. NULL: no memory. */
struct ks_zframer *ks_zframer_new(int level);
size_t ks_zframer_make(struct ks_zframer *framer, void *dst, size_t cap, const void *src,
		       size_t len);
void ks_zframer_free(struct ks_zframer *framer);

#endif
