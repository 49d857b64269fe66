// SPDX-License-Identifier: LGPL-2.1-only
/* The binary stream of the kernel side. */
#include "kmap/binary.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "uapi/memorizer.h"

/* === Data ================================================================================= */

static const bool host_is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* === Internals ============================================================================ */

/* Whether a header stands here, and of which byte order. */
static bool is_header(const void *data, size_t len, bool *ret_big_endian)
{
	u32 magic;

	if (len < sizeof(magic))
		return false;
	memcpy(&magic, data, sizeof(magic));
	if (magic != MEMORIZER_MAGIC && magic != __builtin_bswap32(MEMORIZER_MAGIC))
		return false;
	*ret_big_endian = (magic != MEMORIZER_MAGIC) != host_is_big_endian;
	return true;
}

static struct ks_slice name_of(const char *s, size_t size)
{
	const char *end = memchr(s, 0, size);

	return (struct ks_slice){ s, end ? (size_t)(end - s) : size };
}

static u32 type_of(u8 kind)
{
	switch (kind) {
	case MEMORIZER_KMALLOC:
		return KS_KMAP_KMALLOC;
	case MEMORIZER_CACHE:
		return KS_KMAP_KMEM_CACHE;
	case MEMORIZER_PAGES:
		return KS_KMAP_ALLOC_PAGES;
	case MEMORIZER_VMALLOC:
		return KS_KMAP_VMALLOC;
	default:
		return KS_KMAP_NONE;
	}
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

#define GET(type, member)                                                                \
	({                                                                               \
		typeof(((type *)0)->member) field_;                                      \
		memcpy(&field_, at + offsetof(type, member), sizeof(field_));            \
		swap ? (typeof(field_))swap_bytes((u64)field_, sizeof(field_)) : field_; \
	})
#define FIELD(member)  GET(struct memorizer_record, member)
#define ACCESS(member) GET(struct memorizer_access, member)

static inline u64 swap_bytes(u64 value, size_t size)
{
	return __builtin_bswap64(value) >> (64 - 8 * size);
}

/*
 * Returns how many accesses follow. @at has room for a whole struct memorizer_record: record_size is
 * checked in start.
 */
static u32 parse_record(const struct ks_kmap_binary *binary, const char *at,
			struct ks_kmap_object *object)
{
	bool swap = binary->big_endian != host_is_big_endian;
	u32 flags = FIELD(flags);

	*object = (struct ks_kmap_object){
		.alloc_ip = FIELD(alloc_ip),
		.addr = FIELD(addr),
		.size = FIELD(bytes_alloc),
		.requested = FIELD(bytes_req),
		.alloc_time = FIELD(alloc_ns),
		.pid = FIELD(context) == MEMORIZER_IN_TASK ? FIELD(pid) : -1,
		.type = type_of(FIELD(kind)),
		.comm = name_of(at + offsetof(struct memorizer_record, comm), MEMORIZER_COMM_LEN),
		.cache =
			name_of(at + offsetof(struct memorizer_record, cache), MEMORIZER_CACHE_LEN),
		.new_type = { "", 0 },
	};
	object->type_name = ks_kmap_type_slice(object->type);
	if (flags & (MEMORIZER_FREED | MEMORIZER_IMPLIED)) {
		object->free_time = FIELD(free_ns);
		object->free_ip = flags & MEMORIZER_IMPLIED ? KS_KMAP_IP_IMPLIED : FIELD(free_ip);
	}
	return FIELD(accesses);
}

/* @at has room for a whole struct memorizer_access. */
static void parse_access(const struct ks_kmap_binary *binary, const char *at,
			 struct ks_kmap_access *access)
{
	bool swap = binary->big_endian != host_is_big_endian;
	u8 context = ACCESS(context);
	s32 pid = ACCESS(pid);

	*access = (struct ks_kmap_access){
		.ip = ACCESS(ip),
		.writes = ACCESS(writes),
		.reads = ACCESS(reads),
		.bytes_written = ACCESS(bytes_written),
		.bytes_read = ACCESS(bytes_read),
		.context = context_of(context),
		.pid = context != MEMORIZER_IN_TASK ? -1
		       : pid < 0		    ? KS_KMAP_NO_PID
						    : pid,
	};
}

/* Keeps the names of the object in hand while the window moves on. */
static void keep_names(struct ks_kmap_binary *binary, struct ks_kmap_object *object)
{
	memmove(binary->comm, object->comm.s, object->comm.len);
	memmove(binary->cache, object->cache.s, object->cache.len);
	object->comm.s = binary->comm;
	object->cache.s = binary->cache;
}

/*
 * The accesses that the window has, up to @nr; memory grows with what is there, never with what is
 * promised. A header in their place is that of the next stream: the one before it broke off.
 */
static int take_accesses(struct ks_kmap_binary *binary, struct ks_window *window, size_t nr,
			 struct ks_kmap_object *object)
{
	const char *at = window->buf + window->pos;
	bool big_endian;

	if (ks_vec_reserve(&binary->accesses, binary->accesses.len + nr))
		return -ENOMEM;
	for (; nr && !is_header(at, sizeof(u32), &big_endian); nr--) {
		struct ks_kmap_access *access = ks_vec_push(&binary->accesses);

		parse_access(binary, at, access);
		object->has_bytes |= (access->bytes_written | access->bytes_read) != 0;
		at += binary->access_size;
	}
	window->pos = (size_t)(at - window->buf);
	return nr ? -EPIPE : 0;
}

static void count_torn(struct ks_kmap_quality *quality, const struct ks_window *window)
{
	if (!quality->bad_lines++)
		quality->first_bad_offset = window->offset + window->pos;
}

/* What is there of @nr accesses is kept where the stream breaks off among them. */
static int read_accesses(struct ks_kmap_binary *binary, struct ks_window *window, u32 nr,
			 struct ks_kmap_object *object, struct ks_kmap_quality *quality,
			 struct ks_diag *diag)
{
	int err = 0;

	binary->accesses.len = 0;
	while (nr && !err) {
		size_t have = (window->len - window->pos) / binary->access_size;

		if (!have && !window->at_end) {
			keep_names(binary, object);
			err = ks_window_fill(window, diag);
			continue;
		}
		have = ks_min(have, (size_t)nr);
		err = have ? take_accesses(binary, window, have, object) : -EPIPE;
		nr -= (u32)have;
		if (err == -ENOMEM)
			return ks_diag_nomem(diag, "reading an access map");
		if (err == -EPIPE) {
			count_torn(quality, window);
			if (!have)
				window->pos = window->len;
			err = nr = 0;
		}
	}
	object->accesses = binary->accesses.items;
	object->nr_accesses = binary->accesses.len;
	return err;
}

/* === Public =============================================================================== */

void ks_kmap_binary_deinit(struct ks_kmap_binary *binary)
{
	ks_vec_free(&binary->accesses);
}

bool ks_kmap_binary_detect(const void *data, size_t len)
{
	bool big_endian;

	return is_header(data, len, &big_endian);
}

int ks_kmap_binary_start(struct ks_kmap_binary *binary, struct ks_window *window,
			 struct ks_kmap_info *info, struct ks_diag *diag)
{
	const char *name = window->source->name;
	u64 offset = window->offset + window->pos;
	u16 version, header_size;
	struct ks_bytes bytes;
	const char *anchor_name;
	size_t record_size, access_size;

	ks_bytes_init(&bytes, window->buf + window->pos, window->len - window->pos);
	is_header(bytes.data, bytes.len, &bytes.big_endian);
	ks_bytes_u32(&bytes);
	version = ks_bytes_u16(&bytes);
	header_size = ks_bytes_u16(&bytes);
	record_size = ks_bytes_u32(&bytes);
	ks_bytes_take(&bytes, offsetof(struct memorizer_header, anchor) - bytes.pos);
	info->anchor = ks_bytes_u64(&bytes);
	anchor_name = ks_bytes_take(&bytes, sizeof(((struct memorizer_header *)0)->anchor_name));
	access_size = ks_bytes_u32(&bytes);
	if (bytes.overrun)
		return ks_diag_set(diag, KS_EBADINPUT, "%s: ends within the header at byte %llu",
				   name, (unsigned long long)offset);
	if (version != MEMORIZER_ABI_VERSION)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: the header at byte %llu has version %u; known is %u", name,
				   (unsigned long long)offset, version, MEMORIZER_ABI_VERSION);
	if (header_size < sizeof(struct memorizer_header) ||
	    header_size > window->len - window->pos ||
	    record_size < sizeof(struct memorizer_record) || record_size > KS_WINDOW_SIZE ||
	    access_size < sizeof(struct memorizer_access) || access_size > KS_WINDOW_SIZE)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: the header at byte %llu has impossible sizes: header %u, "
				   "records %zu, accesses %zu",
				   name, (unsigned long long)offset, header_size, record_size,
				   access_size);
	binary->record_size = record_size;
	binary->access_size = access_size;
	binary->big_endian = bytes.big_endian;
	memcpy(info->anchor_name, anchor_name, sizeof(((struct memorizer_header *)0)->anchor_name));
	window->pos += header_size;
	return 0;
}

int ks_kmap_binary_next(struct ks_kmap_binary *binary, struct ks_window *window,
			struct ks_kmap_quality *quality, enum ks_kmap_item *ret_item,
			struct ks_kmap_object *ret_object, struct ks_diag *diag)
{
	struct ks_kmap_info again = { 0 };
	bool big_endian;
	u32 accesses;
	int err;

	if (window->len - window->pos < binary->record_size) {
		err = ks_window_fill(window, diag);
		if (err)
			return err;
	}
	/* Each open of the kernel's file begins with a header; streams may be put end to end. */
	while (is_header(window->buf + window->pos, window->len - window->pos, &big_endian)) {
		err = ks_kmap_binary_start(binary, window, &again, diag);
		if (!err && window->len - window->pos < binary->record_size)
			err = ks_window_fill(window, diag);
		if (err)
			return err;
	}
	*ret_item = KS_KMAP_END;
	if (window->len - window->pos < binary->record_size) {
		if (window->pos < window->len)
			count_torn(quality, window);
		window->pos = window->len;
		return 0;
	}
	accesses = parse_record(binary, window->buf + window->pos, ret_object);
	window->pos += binary->record_size;
	*ret_item = KS_KMAP_OBJECT;
	return accesses ? read_accesses(binary, window, accesses, ret_object, quality, diag) : 0;
}
