/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The hot path from binary records to events: one table look-up by event id, loads at offsets that the
 * capture's own formats gave, and a look-up each for call site, cache, gfp mask and task. Inline, as it
 * runs once an event.
 */
#ifndef KS_TRACE_RAWDECODE_H
#define KS_TRACE_RAWDECODE_H

#include <endian.h>

#include "base/hash.h"
#include "trace/event-names.h"
#include "trace/rawevent.h"

/* The rare cases: something is seen for the first time, or was pushed out of a small table. */
struct ks_site_memo *ks_rawdec_learn_site(struct ks_rawdec *dec, u64 addr,
					  struct ks_site_memo *memo);
u32 ks_rawdec_learn_cache(struct ks_rawdec *dec, struct ks_site_memo *memo, const char *name,
			  size_t size);
u32 ks_rawdec_learn_comm(struct ks_rawdec *dec, u32 pid);

/*
 * Two sites may share a place, as each has its neighbour, too. More of them push each other out, which
 * costs time and nothing else. So the hash needs no seed: the table behind it has one.
 */
static inline u64 ks_rawdec_site_place(u64 addr)
{
	return addr * 0x9e3779b97f4a7c15ull >> (64 - KS_SITE_BITS);
}

static inline struct ks_site_memo *ks_rawdec_find_site(struct ks_rawdec *dec, u64 addr)
{
	struct ks_site_memo *memo = &dec->site_memo[ks_rawdec_site_place(addr)];

	return likely(memo->addr == addr) ? memo : ks_rawdec_learn_site(dec, addr, memo);
}

/*
 * The cache that is named by @size bytes, mostly the last of which is the NUL. One site mostly names
 * one cache: compare with the last name before asking the table.
 */
static inline u32 ks_rawdec_find_cache(struct ks_rawdec *dec, struct ks_site_memo *memo,
				       const char *name, size_t size)
{
	if (likely(memo->cache_size == size && size && ks_same_bytes(name, memo->cache_name, size)))
		return memo->cache;
	return ks_rawdec_learn_cache(dec, memo, name, size);
}

static inline u32 ks_rawdec_find_gfp(struct ks_rawdec *dec, const struct ks_evformat *fmt, u64 mask)
{
	u32 at = (u32)((mask ^ (uintptr_t)fmt) * 0x9e3779b97f4a7c15ull >> (64 - KS_GFP_BITS));

	if (unlikely(dec->gfp_cache[at].mask != mask || dec->gfp_cache[at].format != fmt ||
		     dec->gfp_cache[at].id == KS_NONE)) {
		dec->gfp_cache[at].id = ks_rawdec_gfp(dec, fmt, mask);
		dec->gfp_cache[at].mask = mask;
		dec->gfp_cache[at].format = fmt;
	}
	return dec->gfp_cache[at].id;
}

static inline u32 ks_rawdec_find_comm(struct ks_rawdec *dec, u32 pid)
{
	u32 slot = pid % KS_PID_CACHE;

	return likely(dec->pid_cache[slot].pid == pid) ? dec->pid_cache[slot].id
						       : ks_rawdec_learn_comm(dec, pid);
}

/* @big_endian is that of the capture; a constant in each caller, so that it is asked once an event. */
static inline u64 ks_raw_get(const u8 *data, struct ks_raw_field field, bool big_endian)
{
	u64 v;

	memcpy(&v, data + field.offset, 8);
	return big_endian ? be64toh(v) & UINT64_MAX >> field.shift : le64toh(v) >> field.shift;
}

/* A record that is damaged leaves no names behind: all is checked first. */
ks_inline bool ks_raw_decode_slab(struct ks_rawdec *dec, const struct ks_rawlayout *l,
				  const u8 *data, size_t len, bool big_endian, bool bare,
				  struct ks_event *ev)
{
	struct ks_site_memo *memo;
	u32 loc = 0;

	if (l->name.size) { /* a __data_loc: where in the record the string is, and its size */
		loc = (u32)ks_raw_get(data, l->name, big_endian);
		if (unlikely((loc & 0xffff) + (loc >> 16) > len))
			return false;
	}
	memo = ks_rawdec_find_site(dec, ks_raw_get(data, l->site, big_endian));
	ev->ptr = ks_raw_get(data, l->ptr, big_endian);
	ev->site = memo->site;
	ev->cache = KS_NONE;
	if (!bare && l->name.size)
		ev->cache = ks_rawdec_find_cache(dec, memo, (const char *)data + (loc & 0xffff),
						 loc >> 16);
	if (ks_kind_is_alloc(l->kind)) {
		ev->bytes_req = ks_raw_get(data, l->req, big_endian);
		ev->bytes_alloc = ks_raw_get(data, l->alloc, big_endian);
	}
	return true;
}

static bool ks_raw_decode_page(struct ks_rawdec *dec, const struct ks_rawlayout *l, const u8 *data,
			       bool big_endian, struct ks_event *ev)
{
	u64 order = l->single ? 0 : ks_raw_get(data, l->order, big_endian);
	u64 none = l->ptr.size == 8 ? UINT64_MAX : UINT32_MAX;

	ev->ptr = ks_raw_get(data, l->ptr, big_endian);
	if (l->by_page ? !ev->ptr : ev->ptr == none)
		ev->ptr = UINT64_MAX; /* the allocation failed */
	ev->site = KS_NONE;
	ev->cache = KS_NONE;
	if (order > KS_ORDER_MAX)
		return false;
	ev->bytes_alloc = 1ull << (order + dec->page_shift);
	if (ks_kind_is_alloc(l->kind))
		ev->bytes_req = ev->bytes_alloc;
	return true;
}

/* @bare: without what ks_source_opts names. Like @big_endian, a constant in each caller. */
ks_inline enum ks_raw_class ks_rawdec_decode_as(struct ks_rawdec *dec, const u8 *data, size_t len,
						bool big_endian, bool bare, struct ks_event *ev)
{
	const struct ks_rawlayout *l;
	u16 id;
	bool ok;

	if (unlikely(len < 2))
		return KS_RAW_BAD;
	memcpy(&id, data, 2);
	id = big_endian ? be16toh(id) : le16toh(id);
	if (unlikely(id >= dec->layouts_len))
		return KS_RAW_OTHER;
	l = &dec->layouts[id];
	if (unlikely(l->kind == KS_KINDS))
		return l->stack ? KS_RAW_STACK : l->hook ? KS_RAW_HOOK : KS_RAW_OTHER;
	if (unlikely(len < l->min_size))
		return KS_RAW_BAD;
	ev->kind = l->kind;
	ev->flags = 0;
	ev->bytes_req = 0;
	ev->bytes_alloc = 0;
	ev->stack = KS_NONE;
	ev->pid = KS_PID_UNKNOWN;
	if (likely(l->pid.size))
		ev->pid = (u32)ks_raw_get(data, l->pid, big_endian);
	ok = ks_kind_is_page(l->kind) ? ks_raw_decode_page(dec, l, data, big_endian, ev)
				      : ks_raw_decode_slab(dec, l, data, len, big_endian, bare, ev);
	if (unlikely(!ok))
		return KS_RAW_BAD;
	ev->node = -1;
	ev->gfp = KS_NONE;
	ev->comm = KS_NONE;
	if (bare)
		return KS_RAW_EVENT;
	if (l->node.size)
		ev->node = (s32)ks_raw_get(data, l->node, big_endian);
	if (l->gfp.size)
		ev->gfp = ks_rawdec_find_gfp(dec, l->format, ks_raw_get(data, l->gfp, big_endian));
	ev->comm = ks_rawdec_find_comm(dec, ev->pid);
	return KS_RAW_EVENT;
}

#endif
