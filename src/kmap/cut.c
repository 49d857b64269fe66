// SPDX-License-Identifier: LGPL-2.1-only
/* Where records end in a stream that arrives in pieces. */
#include "kmap/cut.h"

#include <string.h>

#include "base/bytes.h"
#include "uapi/memorizer.h"

/* === Internals ============================================================================ */

/* The size of the header at the front, once its first fields are there; else 0. */
static size_t header_at(struct ks_kmap_cut *cut, const u8 *data, size_t len)
{
	struct ks_bytes bytes;
	size_t header_size, record_size;
	u32 magic;

	ks_bytes_init(&bytes, data, len);
	magic = ks_bytes_u32(&bytes);
	if (magic != MEMORIZER_MAGIC && magic != __builtin_bswap32(MEMORIZER_MAGIC))
		return 0;
	bytes.big_endian = magic != MEMORIZER_MAGIC;
	ks_bytes_u16(&bytes);
	header_size = ks_bytes_u16(&bytes);
	record_size = ks_bytes_u32(&bytes);
	/* A header that makes no sense is passed on by single bytes: the reader will say so. */
	if (bytes.overrun || !header_size)
		return bytes.overrun ? 0 : 1;
	cut->record_size = record_size ? record_size : 1;
	return header_size;
}

/* === Public =============================================================================== */

size_t ks_kmap_cut_whole(struct ks_kmap_cut *cut, const void *data, size_t len)
{
	const u8 *bytes = data;
	const char *newline;
	size_t whole = 0;

	while (whole < len) {
		size_t size = header_at(cut, bytes + whole, len - whole);

		if (!size)
			size = cut->record_size;
		if (!size || size > len - whole)
			break;
		whole += size;
	}
	if (cut->record_size || whole)
		return whole;
	newline = memrchr(data, '\n', len);
	return newline ? (size_t)(newline - (const char *)data) + 1 : 0;
}
