// SPDX-License-Identifier: LGPL-2.1-only
/* Where objects end in a stream that arrives in pieces. */
#include "kmap/cut.h"

#include <string.h>

#include "base/bytes.h"
#include "uapi/memorizer.h"

_Static_assert(sizeof(struct memorizer_header) <= KS_FRAMING_HEAD,
	       "a spool that goes on reads too little of the head");

/* === Internals ============================================================================ */

static bool is_magic(const u8 *data, size_t len)
{
	u32 magic = 0;

	if (len >= sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	return magic == MEMORIZER_MAGIC || magic == __builtin_bswap32(MEMORIZER_MAGIC);
}

/* The size of the header at the front; 0 while its fields are not all there. */
static size_t header_at(struct ks_kmap_cut *cut, const u8 *data, size_t len)
{
	size_t header_size, record_size, access_size;
	struct ks_bytes bytes;

	ks_bytes_init(&bytes, data, len);
	bytes.big_endian = ks_bytes_u32(&bytes) != MEMORIZER_MAGIC;
	ks_bytes_u16(&bytes);
	header_size = ks_bytes_u16(&bytes);
	record_size = ks_bytes_u32(&bytes);
	ks_bytes_take(&bytes, offsetof(struct memorizer_header, access_size) - bytes.pos);
	access_size = ks_bytes_u32(&bytes);
	if (bytes.overrun)
		return 0;
	cut->record_size = record_size;
	cut->access_size = access_size;
	cut->big_endian = bytes.big_endian;
	cut->unknown = header_size < sizeof(struct memorizer_header) ||
		       record_size < sizeof(struct memorizer_record);
	return header_size;
}

/* The size of the object at the front; 0 while that cannot be told. */
static u64 object_at(const struct ks_kmap_cut *cut, const u8 *data, size_t len)
{
	struct ks_bytes bytes;
	u64 size;

	if (!cut->record_size)
		return 0;
	ks_bytes_init(&bytes, data, len);
	bytes.big_endian = cut->big_endian;
	ks_bytes_take(&bytes, offsetof(struct memorizer_record, accesses));
	size = cut->record_size + (u64)ks_bytes_u32(&bytes) * cut->access_size;
	return bytes.overrun ? 0 : size;
}

static u64 size_at(struct ks_kmap_cut *cut, const u8 *data, size_t len)
{
	return is_magic(data, len) ? header_at(cut, data, len) : object_at(cut, data, len);
}

/* Whether a binary stream begins here, as far as there is anything of it. */
static bool may_be_binary(const void *data, size_t len)
{
	return !memcmp(data, "MZK1", ks_min(len, (size_t)4)) ||
	       !memcmp(data, "1KZM", ks_min(len, (size_t)4));
}

/* Behind the last line, or in front of the last line that begins an object. */
static size_t cut_lines(const char *data, size_t len, bool more)
{
	const char *newline = memrchr(data, '\n', len);

	while (more && newline && (newline + 1 == data + len || newline[1] == ' '))
		newline = memrchr(data, '\n', (size_t)(newline - data));
	return newline ? (size_t)(newline - data) + 1 : 0;
}

static size_t frame_whole(void *ctx, const void *data, size_t len, bool more)
{
	return ks_kmap_cut_whole(ctx, data, len, more);
}

static void frame_pass(void *ctx, const void *data, size_t len)
{
	ks_kmap_cut_pass(ctx, data, len);
}

/* === Public =============================================================================== */

size_t ks_kmap_cut_whole(struct ks_kmap_cut *cut, const void *data, size_t len, bool more)
{
	size_t whole = (size_t)ks_min((u64)len, cut->rest);
	const u8 *bytes = data;

	cut->rest -= whole;
	while (whole < len && !cut->unknown) {
		u64 size = size_at(cut, bytes + whole, len - whole);

		if (!size || size > len - whole)
			break;
		whole += (size_t)size;
	}
	/* The reader will say what is wrong with it. */
	if (cut->unknown)
		return len;
	if (cut->record_size || whole || may_be_binary(data, len))
		return whole;
	return cut_lines(data, len, more);
}

void ks_kmap_cut_pass(struct ks_kmap_cut *cut, const void *data, size_t len)
{
	u64 size = cut->record_size ? size_at(cut, data, len) : 0;

	cut->rest = size > len ? size - len : 0;
}

struct ks_framing ks_kmap_cut_framing(struct ks_kmap_cut *cut)
{
	return (struct ks_framing){ .whole = frame_whole, .pass = frame_pass, .ctx = cut };
}
