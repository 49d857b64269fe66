/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The kmemtrace relay ABI, version 1: one file a CPU without any header, records in host byte
 * order, ordered over all CPUs by a sequence number of 32 bits that wraps.
 */
#ifndef KS_TRACE_RELAY_H
#define KS_TRACE_RELAY_H

#include "base/strbuf.h"
#include "trace/event.h"

enum {
	KS_RELAY_ALLOC = 0, /* event ids */
	KS_RELAY_FREE = 1,

	KS_RELAY_KMALLOC = 0, /* type ids */
	KS_RELAY_CACHE = 1,
	KS_RELAY_PAGES = 2,

	KS_RELAY_FREE_SIZE = 24, /* of a record without features */
	KS_RELAY_ALLOC_SIZE = 48,
	KS_RELAY_MAX_SIZE = 4096, /* with features; nothing comes near it */
};

struct ks_relay_record {
	u8 event, type;
	u16 size;
	u32 seq;
	u64 site, ptr;
	u64 req, alloc; /* of an allocation, as are the rest */
	u32 gfp;
	s32 node;
};

/* True where the bytes can be a record; @len may be less than its whole size. */
bool ks_relay_decode(const u8 *data, size_t len, bool swap, struct ks_relay_record *ret_record);

/* Appends the record in this machine's byte order. */
void ks_relay_encode(const struct ks_relay_record *record, struct ks_strbuf *sb);

/* Do these first bytes of a file look like records, and of which byte order? */
bool ks_relay_probe(const u8 *head, size_t len, bool *ret_swap);

#endif
