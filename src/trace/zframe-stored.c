// SPDX-License-Identifier: LGPL-2.1-only
/* Frames of zstd that hold their content as it is: RFC 8878, section 3.1. */
#include "trace/zframe.h"

#include <string.h>

/* === Data ================================================================================= */

/* A frame: magic number, descriptor, size of the content in 4 bytes, blocks, checksum. */
enum {
	HEAD = 9,
	CHECKSUM = 4,
	BLOCK_HEAD = 3,
	BLOCK_MAX = 128 * 1024,
	SIZE_IN_4_BYTES = 2 << 6,
	SINGLE_SEGMENT = 1 << 5, /* the window is as large as the content, and is not given */
	HAS_CHECKSUM = 1 << 2,
};

static const u32 magic = 0xfd2fb528;

/* The primes of XXH64, whose low half is the checksum. */
static const u64 prime1 = 0x9e3779b185ebca87, prime2 = 0xc2b2ae3d27d4eb4f,
		 prime3 = 0x165667b19e3779f9, prime4 = 0x85ebca77c2b2ae63,
		 prime5 = 0x27d4eb2f165667c5;

/* === Internals ============================================================================ */

static u8 *put(u8 *to, u64 value, unsigned int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		*to++ = (u8)value;
	return to;
}

static u64 get(const u8 *from, unsigned int bytes)
{
	u64 value = 0;

	while (bytes--)
		value = value << 8 | from[bytes];
	return value;
}

static u64 rotate(u64 value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static u64 mix(u64 lane, u64 word)
{
	return rotate(lane + word * prime2, 31) * prime1;
}

static u64 hash(const u8 *src, size_t len)
{
	const u8 *end = src + len;
	u64 lanes[4] = { prime1 + prime2, prime2, 0, 0 - prime1 }, sum = prime5;
	unsigned int i;

	if (len >= 32) {
		for (; end - src >= 32; src += 32)
			for (i = 0; i < 4; i++)
				lanes[i] = mix(lanes[i], get(src + 8 * i, 8));
		sum = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
		      rotate(lanes[3], 18);
		for (i = 0; i < 4; i++)
			sum = (sum ^ mix(0, lanes[i])) * prime1 + prime4;
	}
	sum += len;
	for (; end - src >= 8; src += 8)
		sum = rotate(sum ^ mix(0, get(src, 8)), 27) * prime1 + prime4;
	for (; end - src >= 4; src += 4)
		sum = rotate(sum ^ get(src, 4) * prime1, 23) * prime2 + prime3;
	for (; src < end; src++)
		sum = rotate(sum ^ *src * prime5, 11) * prime1;
	sum = (sum ^ sum >> 33) * prime2;
	sum = (sum ^ sum >> 29) * prime3;
	return sum ^ sum >> 32;
}

static size_t store(u8 *dst, size_t cap, const u8 *src, size_t len, bool checksum)
{
	u8 *to = dst;
	size_t done = 0;

	if (cap < ks_zframe_bound(len) || len > UINT32_MAX)
		return 0;
	to = put(to, magic, 4);
	to = put(to, SIZE_IN_4_BYTES | SINGLE_SEGMENT | (checksum ? HAS_CHECKSUM : 0), 1);
	to = put(to, len, 4);
	do {
		size_t size = ks_min(len - done, (size_t)BLOCK_MAX);

		to = put(to, size << 3 | (done + size == len), BLOCK_HEAD);
		memcpy(to, src + done, size);
		to += size;
		done += size;
	} while (done < len);
	if (checksum)
		to = put(to, hash(src, len), CHECKSUM);
	return to - dst;
}

/* === Public =============================================================================== */

const char *ks_zframe_version(void)
{
	return "stored";
}

size_t ks_zframe_bound(size_t len)
{
	return HEAD + len + (len / BLOCK_MAX + 1) * BLOCK_HEAD + CHECKSUM;
}

size_t ks_zframe_make(void *dst, size_t cap, const void *src, size_t len, int level)
{
	(void)level;
	return store(dst, cap, src, len, false);
}

/* There is nothing that it would have to keep. */
struct ks_zframer *ks_zframer_new(int level)
{
	static const char nothing;

	(void)level;
	return (struct ks_zframer *)(uintptr_t)&nothing;
}

size_t ks_zframer_make(struct ks_zframer *framer, void *dst, size_t cap, const void *src,
		       size_t len)
{
	(void)framer;
	return store(dst, cap, src, len, true);
}

void ks_zframer_free(struct ks_zframer *framer)
{
	(void)framer;
}
