// SPDX-License-Identifier: LGPL-2.1-only
/* The binary stream of the kernel side. */
#include "kmap/binary.h"

#include <errno.h>
#include <string.h>

#include "input/input.h"
#include "kmap/framing.h"

/* === Data ================================================================================= */

_Static_assert(KS_KMAP_RECORD_MAX <= KS_KMAP_BUFFER_SIZE, "the buffer has room for any record");

/* These have the values of enum ks_kmap_spot_flag. */
#define KNOWN_SPOT_FLAGS (MEMORIZER_HAS_SPOT | MEMORIZER_OFFSET_VARIES | MEMORIZER_LENGTH_VARIES)
_Static_assert(KS_KMAP_HAS_SPOT == MEMORIZER_HAS_SPOT &&
		       KS_KMAP_OFFSET_VARIES == MEMORIZER_OFFSET_VARIES &&
		       KS_KMAP_LENGTH_VARIES == MEMORIZER_LENGTH_VARIES,
	       "flags are taken as they are");

static const bool host_is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* === Internals ============================================================================ */

/* Names are short and many: eight bytes at a time, up to the first that is 0. */
static struct ks_slice name_of(const char *s, size_t size)
{
	const u64 ones = 0x0101010101010101, tops = 0x8080808080808080;
	size_t i;

	for (i = 0; i < size; i += 8) {
		u64 word, zeros;

		memcpy(&word, s + i, 8);
		zeros = (word - ones) & ~word & tops;
		if (!zeros)
			continue;
		/* Only the lowest mark is sure to be one: on big-endian machines, it is the last. */
		if (host_is_big_endian)
			return (struct ks_slice){ s, strnlen(s, size) };
		return (struct ks_slice){ s, i + (size_t)__builtin_ctzll(zeros) / 8 };
	}
	return (struct ks_slice){ s, size };
}

/* By enum memorizer_kind. */
static const u8 types[] = {
	[0] = KS_KMAP_NONE,
	[MEMORIZER_KMALLOC] = KS_KMAP_KMALLOC,
	[MEMORIZER_CACHE] = KS_KMAP_KMEM_CACHE,
	[MEMORIZER_PAGES] = KS_KMAP_ALLOC_PAGES,
	[MEMORIZER_VMALLOC] = KS_KMAP_VMALLOC,
	[MEMORIZER_SLAB_PAGES] = KS_KMAP_SLAB_PAGES,
	[MEMORIZER_GLOBAL] = KS_KMAP_GLOBAL,
	[MEMORIZER_PERCPU] = KS_KMAP_PERCPU,
	[MEMORIZER_STACK] = KS_KMAP_STACK_PAGE,
	[MEMORIZER_BOOT] = KS_KMAP_MEMBLOCK,
	[MEMORIZER_MODULE] = KS_KMAP_MODULE_DATA,
	[MEMORIZER_PAGE_TABLE] = KS_KMAP_PAGE_TABLE,
	[MEMORIZER_OTHER] = KS_KMAP_UFO_NONE,
};

/* The numbers of enum ks_kmap_type are those of the text. */
_Static_assert((int)KS_KMAP_STACK_PAGE == MEMORIZER_TEXT_STACK &&
		       (int)KS_KMAP_GLOBAL == MEMORIZER_TEXT_GLOBAL &&
		       (int)KS_KMAP_MEMBLOCK == MEMORIZER_TEXT_BOOT &&
		       (int)KS_KMAP_UFO_NONE == MEMORIZER_TEXT_OTHER &&
		       (int)KS_KMAP_PERCPU == MEMORIZER_TEXT_PERCPU &&
		       (int)KS_KMAP_MODULE_DATA == MEMORIZER_TEXT_MODULE &&
		       (int)KS_KMAP_PAGE_TABLE == MEMORIZER_TEXT_PAGE_TABLE,
	       "one number for each type");

static u32 type_of(u8 kind)
{
	return kind < ARRAY_SIZE(types) ? types[kind] : KS_KMAP_NONE;
}

/*
 * Kernels that count accesses name the cache of each kmalloc() object. Of others the size of the slot is known, and
 * one bit of the flags that all kernels have; not whether the object is charged to a cgroup.
 */
#define GFP_RECLAIMABLE 0x10u

static struct ks_slice kmalloc_cache(u64 slot, u32 gfp)
{
#define SIZES(prefix)                                                                         \
	{                                                                                     \
		prefix "8", prefix "16", prefix "32", prefix "64", prefix "96", prefix "128", \
			prefix "192", prefix "256", prefix "512", prefix "1k", prefix "2k",   \
			prefix "4k", prefix "8k"                                              \
	}
	static const u16 sizes[] = {
		8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192
	};
	static const char *const names[][ARRAY_SIZE(sizes)] = { SIZES("kmalloc-"),
								SIZES("kmalloc-rcl-") };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i] == slot) {
			const char *name = names[(gfp & GFP_RECLAIMABLE) != 0][i];

			return (struct ks_slice){ name, strlen(name) };
		}
	return slot > sizes[ARRAY_SIZE(sizes) - 1] ? (struct ks_slice){ "no-slab", 7 }
						   : (struct ks_slice){ "", 0 };
}

static u8 context_of(u8 context)
{
	switch (context) {
	case MEMORIZER_IN_SOFTIRQ:
		return KS_KMAP_IN_SOFTIRQ;
	case MEMORIZER_IN_HARDIRQ:
		return KS_KMAP_IN_HARDIRQ;
	default:
		return KS_KMAP_IN_ANY;
	}
}

#define SWAP(field)                                                                      \
	(field) = (typeof(field))(sizeof(field) == 8   ? __builtin_bswap64((u64)(field)) \
				  : sizeof(field) == 4 ? __builtin_bswap32((u32)(field)) \
						       : __builtin_bswap16((u16)(field)))

static void swap_record(struct memorizer_record *r)
{
	SWAP(r->addr);
	SWAP(r->alloc_ip);
	SWAP(r->free_ip);
	SWAP(r->alloc_ns);
	SWAP(r->free_ns);
	SWAP(r->bytes_req);
	SWAP(r->bytes_alloc);
	SWAP(r->gfp);
	SWAP(r->pid);
	SWAP(r->tgid);
	SWAP(r->cpu);
	SWAP(r->flags);
	SWAP(r->accesses);
}

static void swap_access(struct memorizer_access *a)
{
	SWAP(a->ip);
	SWAP(a->writes);
	SWAP(a->reads);
	SWAP(a->bytes_written);
	SWAP(a->bytes_read);
	SWAP(a->pid);
	SWAP(a->cpu);
	SWAP(a->offset);
}

/* Where the buffer has it, a record may be at any address. */
#define LOAD(type, member)                                                    \
	({                                                                    \
		typeof(((type *)0)->member) field_;                           \
		memcpy(&field_, at + offsetof(type, member), sizeof(field_)); \
		field_;                                                       \
	})
#define FIELD(member)  LOAD(struct memorizer_record, member)
#define ACCESS(member) LOAD(struct memorizer_access, member)

/*
 * Returns how many accesses follow. @at has room for a whole struct memorizer_record: record_size is
 * checked in start. Every member is set: to clear it all first would cost as much as the rest.
 */
static u32 parse_record(const struct ks_kmap_binary *binary, const char *at,
			struct ks_kmap_object *object)
{
	const char *comm = at + offsetof(struct memorizer_record, comm);
	const char *cache = at + offsetof(struct memorizer_record, cache);
	struct memorizer_record swapped;
	bool in_task;
	u32 flags;

	if (unlikely(binary->big_endian != host_is_big_endian)) {
		memcpy(&swapped, at, sizeof(swapped));
		swap_record(&swapped);
		at = (const char *)&swapped;
	}
	flags = FIELD(flags);
	object->alloc_ip = FIELD(alloc_ip);
	object->addr = FIELD(addr);
	object->size = FIELD(bytes_req);
	object->slot = FIELD(bytes_alloc);
	/* A map that was converted from text has one size. */
	if (!object->size) {
		object->size = object->slot;
		object->slot = 0;
	}
	object->alloc_time = FIELD(alloc_ns);
	object->free_time = flags & (MEMORIZER_FREED | MEMORIZER_IMPLIED) ? FIELD(free_ns) : 0;
	object->free_ip = flags & MEMORIZER_IMPLIED ? KS_KMAP_IP_IMPLIED
			  : flags & MEMORIZER_FREED ? FIELD(free_ip)
						    : 0;
	/* By the context: older files have 0 as the pid of an interrupt. */
	in_task = FIELD(context) == MEMORIZER_IN_TASK;
	object->pid = in_task ? FIELD(pid) : MEMORIZER_PID_NONE;
	object->type = type_of(FIELD(kind));
	object->fields = 0;
	object->gfp = FIELD(gfp);
	object->tgid = in_task ? FIELD(tgid) : MEMORIZER_PID_NONE;
	object->cpu = FIELD(cpu);
	object->context = context_of(FIELD(context));
	object->has_bytes = false;
	object->comm = name_of(comm, MEMORIZER_COMM_LEN);
	object->cache = name_of(cache, MEMORIZER_CACHE_LEN);
	if (!object->cache.len && object->type == KS_KMAP_KMALLOC)
		object->cache = kmalloc_cache(object->slot, object->gfp);
	object->type_name = ks_kmap_type_slice(object->type);
	object->new_type = (struct ks_slice){ "", 0 };
	object->accesses = NULL;
	object->nr_accesses = 0;
	return FIELD(accesses);
}

/* @at has room for an access of the size that the header says. */
static void parse_access(const struct ks_kmap_binary *binary, const char *at,
			 struct ks_kmap_access *access)
{
	struct memorizer_access whole;
	s32 pid;

	if (unlikely(binary->big_endian != host_is_big_endian ||
		     binary->access_size < sizeof(whole))) {
		memset(&whole, 0, sizeof(whole));
		memcpy(&whole, at, ks_min(binary->access_size, sizeof(whole)));
		if (binary->big_endian != host_is_big_endian)
			swap_access(&whole);
		at = (const char *)&whole;
	}
	pid = ACCESS(pid);
	access->ip = ACCESS(ip);
	access->caller = 0;
	access->writes = ACCESS(writes);
	access->reads = ACCESS(reads);
	access->bytes_written = ACCESS(bytes_written);
	access->bytes_read = ACCESS(bytes_read);
	access->context = context_of(ACCESS(context));
	access->spot = binary->access_size >= sizeof(whole) ? ACCESS(flags) & KNOWN_SPOT_FLAGS : 0;
	access->cpu = ACCESS(cpu);
	access->offset = ACCESS(offset);
	if (ACCESS(context) != MEMORIZER_IN_TASK)
		access->pid = MEMORIZER_PID_NONE;
	else
		access->pid = pid < 0 ? KS_KMAP_NO_PID : pid;
}

/* Keeps the names of the object in hand while the buffer moves on. */
static void keep_names(struct ks_kmap_binary *binary, struct ks_kmap_object *object)
{
	memmove(binary->comm, object->comm.s, object->comm.len);
	memmove(binary->cache, object->cache.s, object->cache.len);
	object->comm.s = binary->comm;
	object->cache.s = binary->cache;
}

/*
 * The accesses that the buffer has, up to @nr; memory grows with what is there, never with what is
 * promised. A header in their place is that of the next stream: the one before it broke off.
 */
static int take_accesses(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer, size_t nr,
			 struct ks_kmap_object *object)
{
	const char *at = buffer->buf + buffer->pos;

	if (ks_vec_reserve(&binary->accesses, binary->accesses.len + nr))
		return -ENOMEM;
	for (; nr && !ks_kmap_is_header(at, sizeof(u32)); nr--) {
		struct ks_kmap_access *access = ks_vec_push(&binary->accesses);

		parse_access(binary, at, access);
		object->has_bytes |= (access->bytes_written | access->bytes_read) != 0;
		at += binary->access_size;
	}
	buffer->pos = (size_t)(at - buffer->buf);
	return nr ? -EPIPE : 0;
}

static void count_torn(struct ks_kmap_quality *quality, const struct ks_kmap_buffer *buffer)
{
	if (!quality->bad_lines++)
		quality->first_bad_offset = buffer->offset + buffer->pos;
}

/* What is there of @nr accesses is kept where the stream breaks off among them. */
static int read_accesses(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer, u32 nr,
			 struct ks_kmap_object *object, struct ks_kmap_quality *quality,
			 struct ks_diag *diag)
{
	int err = 0;

	binary->accesses.len = 0;
	while (nr && !err) {
		size_t have = (buffer->len - buffer->pos) / binary->access_size;

		if (!have && !buffer->at_end) {
			keep_names(binary, object);
			err = ks_kmap_buffer_fill(buffer, diag);
			continue;
		}
		have = ks_min(have, (size_t)nr);
		err = have ? take_accesses(binary, buffer, have, object) : -EPIPE;
		nr -= (u32)have;
		if (err == -ENOMEM)
			return ks_diag_nomem(diag, "reading an access map");
		if (err == -EPIPE) {
			count_torn(quality, buffer);
			if (!have)
				buffer->pos = buffer->len;
			err = nr = 0;
		}
	}
	object->accesses = binary->accesses.items;
	object->nr_accesses = binary->accesses.len;
	return err;
}

static u64 in_order(const struct ks_kmap_binary *binary, u64 value)
{
	return binary->big_endian == host_is_big_endian ? value : __builtin_bswap64(value);
}

/* The next of the calls behind the header. False: there is none, as the stream has broken off before it. */
static int take_call(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer,
		     struct ks_kmap_quality *quality, bool *ret_found,
		     struct ks_kmap_call *ret_call, struct ks_diag *diag)
{
	struct memorizer_call call;
	const char *at;

	if (buffer->len - buffer->pos < sizeof(call)) {
		int err = ks_kmap_buffer_fill(buffer, diag);

		if (err)
			return err;
	}
	at = buffer->buf + buffer->pos;
	*ret_found = buffer->len - buffer->pos >= sizeof(call) &&
		     !ks_kmap_is_header(at, sizeof(u32));
	if (!*ret_found) {
		count_torn(quality, buffer);
		if (buffer->len - buffer->pos < sizeof(call))
			buffer->pos = buffer->len;
		binary->calls = 0;
		return 0;
	}
	memcpy(&call, at, sizeof(call));
	*ret_call = (struct ks_kmap_call){
		.from = in_order(binary, call.site),
		.to = in_order(binary, call.function),
		.count = in_order(binary, call.calls),
		.returns = in_order(binary, call.returns),
		.has_returns = true,
	};
	buffer->pos += sizeof(call);
	binary->calls--;
	return 0;
}

static void note_header(struct ks_kmap_info *info, const struct ks_kmap_header *found)
{
	if (!info->anchor_name[0]) {
		info->anchor = found->anchor;
		memcpy(info->anchor_name, found->anchor_name, sizeof(info->anchor_name));
	}
	if (!info->tick_ns) {
		info->tick_ns = found->tick_ns;
		info->base_ns = found->base_ns;
		info->base_jiffies = found->base_jiffies;
	}
}

/* === Public =============================================================================== */

u8 ks_kmap_kind_of(u32 type)
{
	u8 kind;

	for (kind = ARRAY_SIZE(types) - 1; kind && types[kind] != type; kind--)
		;
	return kind;
}

void ks_kmap_binary_deinit(struct ks_kmap_binary *binary)
{
	ks_vec_free(&binary->accesses);
}

int ks_kmap_binary_start(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer,
			 struct ks_kmap_info *info, struct ks_diag *diag)
{
	const char *name = ks_input_name(buffer->input);
	size_t left = buffer->len - buffer->pos;
	u64 offset = buffer->offset + buffer->pos;
	struct ks_kmap_header header;

	if (!ks_kmap_header_parse(buffer->buf + buffer->pos, left, &header))
		return ks_diag_set(diag, KS_EBADINPUT, "%s: ends within the header at byte %llu",
				   name, (unsigned long long)offset);
	if (!ks_kmap_header_is_known(&header))
		return ks_diag_set(
			diag, KS_EBADINPUT,
			"%s: the header at byte %llu has version %u; known are %u and %u", name,
			(unsigned long long)offset, header.version, MEMORIZER_ABI_VERSION,
			MEMORIZER_ABI_CALLS);
	if (!ks_kmap_header_is_sane(&header) || header.header_size > left)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: the header at byte %llu has impossible sizes: header %zu, "
				   "records %zu, accesses %zu",
				   name, (unsigned long long)offset, header.header_size,
				   header.record_size, header.access_size);
	binary->record_size = header.record_size;
	binary->access_size = header.access_size;
	binary->big_endian = header.big_endian;
	binary->calls = header.calls;
	note_header(info, &header);
	buffer->pos += header.header_size;
	return 0;
}

int ks_kmap_binary_next(struct ks_kmap_binary *binary, struct ks_kmap_buffer *buffer,
			struct ks_kmap_info *info, struct ks_kmap_quality *quality,
			enum ks_kmap_item *ret_item, struct ks_kmap_object *ret_object,
			struct ks_kmap_call *ret_call, struct ks_diag *diag)
{
	bool found = false;
	u32 accesses;
	int err;

again:
	*ret_item = KS_KMAP_CALL;
	if (unlikely(binary->calls)) {
		err = take_call(binary, buffer, quality, &found, ret_call, diag);
		if (err || found)
			return err;
	}

	if (buffer->len - buffer->pos < binary->record_size) {
		err = ks_kmap_buffer_fill(buffer, diag);
		if (err)
			return err;
	}
	/* Each open of the kernel's file begins with a header; streams may be put end to end. */
	while (ks_kmap_is_header(buffer->buf + buffer->pos, buffer->len - buffer->pos)) {
		err = ks_kmap_binary_start(binary, buffer, info, diag);
		if (!err && buffer->len - buffer->pos < binary->record_size)
			err = ks_kmap_buffer_fill(buffer, diag);
		if (err)
			return err;
		if (binary->calls)
			goto again;
	}
	*ret_item = KS_KMAP_END;
	if (buffer->len - buffer->pos < binary->record_size) {
		if (buffer->pos < buffer->len)
			count_torn(quality, buffer);
		buffer->pos = buffer->len;
		return 0;
	}
	accesses = parse_record(binary, buffer->buf + buffer->pos, ret_object);
	buffer->pos += binary->record_size;
	*ret_item = KS_KMAP_OBJECT;
	return accesses ? read_accesses(binary, buffer, accesses, ret_object, quality, diag) : 0;
}
