// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The blocks of a snapshot's file: objects and references in columns, as small numbers. Neighbours in memory are of one
 * cache, and objects of one kind point to the same or to neighbouring objects. zstd does the rest.
 */
#include "heap/snapshot-format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* === Data ================================================================================= */

static const struct {
	const char *name;
	u8 bytes;  /* of an item at most */
	bool refs; /* an item is a reference, not an object */
} columns[KS_HS_COLUMNS] = {
	[KS_HS_CACHE] = { "caches", 3 },
	[KS_HS_TYPE] = { "types", 5 },
	[KS_HS_KNOWN_BY] = { "ways to know", 2 },
	[KS_HS_CGROUP] = { "cgroups", 3 },
	[KS_HS_CHECKSUM] = { "checksums", 4 },
	[KS_HS_ADDR] = { "addresses", 11 },
	[KS_HS_REFS] = { "numbers of references", 5 },
	[KS_HS_AT] = { "places of references", 3, true },
	[KS_HS_TO] = { "targets of references", 5, true },
	[KS_HS_INSIDE] = { "insides of references", 3, true },
};

/* === Internals ============================================================================ */

/* There is room. */
static inline void put(struct ks_hs_bytes *b, u64 v)
{
	while (v >= 0x80) {
		b->data[b->len++] = (u8)(v | 0x80);
		v >>= 7;
	}
	b->data[b->len++] = (u8)v;
}

static int make_room(struct ks_hs_scratch *scratch, int from, u32 objects, u32 refs)
{
	int i;

	for (i = from; i < KS_HS_COLUMNS; i++) {
		struct ks_hs_bytes *b = &scratch->columns[i];

		b->len = 0;
		if (ks_reserve(b->data, b->cap, ks_hs_column_max(i, objects, refs)))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Where the last reference went that was at this place of such an object. The first time this is the holder itself.
 */
static u32 *last_to(struct ks_hs_last *last, const struct ks_snapshot *s, u32 object, u16 at)
{
	u32 number = ks_map64_add(&last->places,
				  (u64)s->cache[object] << 48 | (u64)s->type[object] << 16 | at);
	u32 *to;

	if (number == KS_NONE)
		return NULL;
	if (number < last->to.len)
		return &last->to.items[number];
	to = ks_vec_push(&last->to);
	if (to)
		*to = object;
	return to;
}

static void forget(struct ks_hs_last *last)
{
	ks_map64_clear(&last->places);
	last->to.len = 0;
}

/* === Internals: packing =================================================================== */

/* From one object to the next of a cache it is some of its sizes. */
static void pack_addr(const struct ks_snapshot *s, u32 object, u32 first, struct ks_hs_bytes *b)
{
	u64 step = s->addr[object] - (object > first ? s->addr[object - 1] : 0);
	u32 size = s->caches.items[s->cache[object]].size;

	if (object > first && s->cache[object] == s->cache[object - 1] && size &&
	    step % size == 0) {
		put(b, step / size);
	} else {
		put(b, 0);
		put(b, step);
	}
}

static int pack_refs(const struct ks_snapshot *s, u32 object, struct ks_hs_scratch *scratch)
{
	struct ks_hs_bytes *b = scratch->columns;
	u32 i, *last;
	u16 at = 0;

	put(&b[KS_HS_REFS], s->ref_first[object + 1] - s->ref_first[object]);
	for (i = s->ref_first[object]; i < s->ref_first[object + 1]; i++) {
		const struct ks_heap_ref *ref = &s->refs.items[i];

		put(&b[KS_HS_AT], (u16)(ref->at - at));
		put(&b[KS_HS_INSIDE], ref->inside);
		at = ref->at;
		last = last_to(&scratch->last, s, object, at);
		if (!last)
			return -ENOMEM;
		put(&b[KS_HS_TO], ks_zigzag((s64)ref->to - (s64)*last));
		*last = ref->to;
	}
	return 0;
}

/* === Internals: unpacking ================================================================= */

/* What one block is unpacked with. */
struct unpacking {
	struct ks_snapshot *s;
	struct ks_hs_last *last;
	struct ks_bytes columns[KS_HS_COLUMNS];
	u32 first, end; /* objects */
};

static bool unpack_addr(struct unpacking *u)
{
	struct ks_bytes *b = &u->columns[KS_HS_ADDR];
	const struct ks_snapshot *s = u->s;
	u64 addr = 0, step;
	u32 i, size;

	for (i = u->first; i < u->end; i++) {
		size = s->caches.items[s->cache[i]].size;
		step = ks_bytes_varint(b);
		if (!step)
			step = ks_bytes_varint(b);
		else if (i == u->first || s->cache[i] != s->cache[i - 1] ||
			 __builtin_mul_overflow(step, size, &step))
			return false;
		if (!step || __builtin_add_overflow(addr, step, &addr) || addr > -(u64)size)
			return false;
		s->addr[i] = addr;
	}
	return true;
}

/* Numbers below @limit into an array of 1, 2 or 4 bytes. */
#define UNPACK(column, array, limit)                              \
	({                                                        \
		struct ks_bytes *b_ = &u->columns[column];        \
		bool ok_ = true;                                  \
		u32 i_;                                           \
                                                                  \
		for (i_ = u->first; i_ < u->end; i_++) {          \
			u64 v_ = ks_bytes_varint(b_);             \
                                                                  \
			ok_ &= v_ < (limit);                      \
			(array)[i_] = (__typeof__((array)[0]))v_; \
		}                                                 \
		ok_;                                              \
	})

static bool unpack_checksums(struct unpacking *u)
{
	struct ks_bytes *b = &u->columns[KS_HS_CHECKSUM];
	u32 i;

	for (i = u->first; i < u->end; i++)
		u->s->checksum[i] = ks_bytes_u32(b);
	return true;
}

static bool unpack_cgroups(struct unpacking *u)
{
	u64 known = u->s->cgroups.len;
	u32 i;

	if (!UNPACK(KS_HS_CGROUP, u->s->cgroup, UINT16_MAX + 1ull))
		return false;
	for (i = u->first; i < u->end; i++)
		if (u->s->cgroup[i] >= known && u->s->cgroup[i] != UINT16_MAX)
			return false;
	return true;
}

static bool unpack_counts(struct unpacking *u, u32 first_ref, u32 refs)
{
	u64 at = first_ref, end = (u64)first_ref + refs;
	u32 i;

	for (i = u->first; i < u->end; i++) {
		u64 count = ks_bytes_varint(&u->columns[KS_HS_REFS]);

		if (count > end - at)
			return false;
		u->s->ref_first[i] = (u32)at;
		at += count;
	}
	if (u->end == u->s->count)
		u->s->ref_first[u->end] = (u32)at;
	return at == end;
}

/* The references of an object end where those of the next begin: the last object's end with the block. */
static int unpack_refs(struct unpacking *u, u32 end_ref, enum ks_hs_column *ret_column)
{
	struct ks_snapshot *s = u->s;
	u32 object, i, *last;

	for (object = u->first; object < u->end; object++) {
		u32 end = object + 1 < u->end ? s->ref_first[object + 1] : end_ref;
		u64 at = 0;

		for (i = s->ref_first[object]; i < end; i++) {
			u64 to = ks_bytes_varint(&u->columns[KS_HS_TO]);
			u64 inside = ks_bytes_varint(&u->columns[KS_HS_INSIDE]);

			at += ks_bytes_varint(&u->columns[KS_HS_AT]);
			*ret_column = KS_HS_AT;
			if (at > UINT16_MAX)
				return KS_EBADINPUT;
			*ret_column = KS_HS_INSIDE;
			if (inside > UINT16_MAX)
				return KS_EBADINPUT;
			last = last_to(u->last, s, object, (u16)at);
			if (!last)
				return -ENOMEM;
			to = *last + (u64)ks_unzigzag(to);
			*ret_column = KS_HS_TO;
			if (to >= s->count)
				return KS_EBADINPUT;
			*last = (u32)to;
			s->refs.items[i] = (struct ks_heap_ref){ (u32)to, (u16)at, (u16)inside };
		}
	}
	return 0;
}

/* All of a column was needed, and there was enough of it. */
static int check_ends(const struct unpacking *u, int from, int to, enum ks_hs_column *ret_column)
{
	int i;

	for (i = from; i < to; i++) {
		*ret_column = (enum ks_hs_column)i;
		if (u->columns[i].overrun || ks_bytes_left(&u->columns[i]))
			return KS_EBADINPUT;
	}
	return 0;
}

static void begin(struct unpacking *u, struct ks_hs_scratch *scratch)
{
	int i;

	u->last = &scratch->last;
	forget(u->last);
	for (i = 0; i < KS_HS_COLUMNS; i++)
		ks_bytes_init(&u->columns[i], scratch->columns[i].data, scratch->columns[i].len);
}

/* === Public =============================================================================== */

u64 ks_hs_column_max(enum ks_hs_column column, u32 objects, u32 refs)
{
	return (u64)columns[column].bytes * (columns[column].refs ? refs : objects);
}

const char *ks_hs_column_name(enum ks_hs_column column)
{
	return columns[column].name;
}

int ks_hs_scratch_init(struct ks_hs_scratch *scratch)
{
	*scratch = (struct ks_hs_scratch){ 0 };
	return ks_map64_init(&scratch->last.places);
}

void ks_hs_scratch_deinit(struct ks_hs_scratch *scratch)
{
	int i;

	for (i = 0; i < KS_HS_COLUMNS; i++)
		free(scratch->columns[i].data);
	ks_map64_deinit(&scratch->last.places);
	ks_vec_free(&scratch->last.to);
}

int ks_hs_pack_objects(const struct ks_snapshot *s, size_t block, struct ks_hs_scratch *scratch)
{
	u32 first = (u32)block * KS_HS_BLOCK, end = first + ks_hs_block_len(s->count, block), i;
	u32 refs = s->ref_first ? s->ref_first[end] - s->ref_first[first] : 0;
	struct ks_hs_bytes *b = scratch->columns;
	int err = make_room(scratch, 0, end - first, refs), k;

	forget(&scratch->last);
	for (i = first; i < end && !err; i++) {
		put(&b[KS_HS_CACHE], s->cache[i]);
		put(&b[KS_HS_TYPE], s->type[i]);
		put(&b[KS_HS_KNOWN_BY], s->known_by[i]);
		put(&b[KS_HS_CGROUP], s->cgroup[i]);
		for (k = 0; k < 4; k++)
			b[KS_HS_CHECKSUM].data[b[KS_HS_CHECKSUM].len++] =
				(u8)(s->checksum[i] >> 8 * k);
		pack_addr(s, i, first, &b[KS_HS_ADDR]);
		if (s->ref_first)
			err = pack_refs(s, i, scratch);
	}
	return err;
}

int ks_hs_unpack_objects(struct ks_snapshot *s, size_t block, u32 first_ref, u32 refs,
			 struct ks_hs_scratch *scratch, enum ks_hs_column *ret_column)
{
	struct unpacking unpacking = { .s = s, .first = (u32)block * KS_HS_BLOCK }, *u = &unpacking;
	int err;

	u->end = u->first + ks_hs_block_len(s->count, block);
	begin(u, scratch);
	*ret_column = KS_HS_CACHE;
	if (!UNPACK(KS_HS_CACHE, s->cache, s->caches.len))
		return KS_EBADINPUT;
	*ret_column = KS_HS_TYPE;
	if (!UNPACK(KS_HS_TYPE, s->type, s->types.len))
		return KS_EBADINPUT;
	*ret_column = KS_HS_KNOWN_BY;
	if (!UNPACK(KS_HS_KNOWN_BY, s->known_by, (u64)KS_KNOWN_WAYS))
		return KS_EBADINPUT;
	*ret_column = KS_HS_CGROUP;
	if (!unpack_cgroups(u))
		return KS_EBADINPUT;
	*ret_column = KS_HS_ADDR;
	if (!unpack_checksums(u) || !unpack_addr(u))
		return KS_EBADINPUT;
	if (s->ref_first) {
		*ret_column = KS_HS_REFS;
		if (!unpack_counts(u, first_ref, refs))
			return KS_EBADINPUT;
		err = unpack_refs(u, first_ref + refs, ret_column);
		if (err)
			return err;
	}
	return check_ends(u, 0, s->ref_first ? KS_HS_COLUMNS : KS_HS_REFS, ret_column);
}

int ks_hs_pack_root_refs(const struct ks_snapshot *s, size_t block, struct ks_hs_scratch *scratch)
{
	u32 count = ks_hs_root_block_len(s->root_refs.len, block), i;
	const struct ks_heap_ref *refs = s->root_refs.items + block * KS_HS_ROOT_BLOCK;
	struct ks_hs_bytes *b = scratch->columns;
	u32 to = 0;
	u16 at = 0;

	if (make_room(scratch, KS_HS_AT, 0, count))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		put(&b[KS_HS_AT], (u16)(refs[i].at - at));
		put(&b[KS_HS_TO], ks_zigzag((s64)refs[i].to - (s64)to));
		put(&b[KS_HS_INSIDE], refs[i].inside);
		at = refs[i].at;
		to = refs[i].to;
	}
	return 0;
}

int ks_hs_unpack_root_refs(struct ks_snapshot *s, size_t block, struct ks_hs_scratch *scratch,
			   enum ks_hs_column *ret_column)
{
	u32 count = ks_hs_root_block_len(s->root_refs.len, block), i;
	struct ks_heap_ref *refs = s->root_refs.items + block * KS_HS_ROOT_BLOCK;
	struct unpacking unpacking = { .s = s }, *u = &unpacking;
	u64 to = 0;
	u16 at = 0;

	begin(u, scratch);
	for (i = 0; i < count; i++) {
		u64 step = ks_bytes_varint(&u->columns[KS_HS_AT]);
		u64 inside = ks_bytes_varint(&u->columns[KS_HS_INSIDE]);

		to += (u64)ks_unzigzag(ks_bytes_varint(&u->columns[KS_HS_TO]));
		*ret_column = KS_HS_AT;
		if (step > UINT16_MAX)
			return KS_EBADINPUT;
		*ret_column = KS_HS_INSIDE;
		if (inside > UINT16_MAX)
			return KS_EBADINPUT;
		*ret_column = KS_HS_TO;
		if (to >= s->count)
			return KS_EBADINPUT;
		at = (u16)(at + step);
		refs[i] = (struct ks_heap_ref){ (u32)to, at, (u16)inside };
	}
	return check_ends(u, KS_HS_AT, KS_HS_COLUMNS, ret_column);
}
