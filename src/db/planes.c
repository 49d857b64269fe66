// SPDX-License-Identifier: LGPL-2.1-only
/* Byte planes. The loops are plain, so that the compiler can use vector instructions. */
#include "db/planes.h"

#include <string.h>

#define SPLIT(type)                                                 \
	do {                                                        \
		const type *v = values;                             \
		for (k = 0; k < sizeof(type); k++, planes += count) \
			for (i = 0; i < count; i++)                 \
				planes[i] = (u8)(v[i] >> 8 * k);    \
	} while (0)

void ks_planes_split(const void *values, size_t count, unsigned int width, u8 *planes)
{
	unsigned int k;
	size_t i;

	if (width == 2)
		SPLIT(u16);
	else if (width == 4)
		SPLIT(u32);
	else if (width == 8)
		SPLIT(u64);
	else
		memcpy(planes, values, count);
}

static void join16(const u8 *p, size_t n, u16 *v)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = (u16)(p[i] | p[n + i] << 8);
}

static void join32(const u8 *p, size_t n, u32 *v)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = p[i] | (u32)p[n + i] << 8 | (u32)p[2 * n + i] << 16 |
		       (u32)p[3 * n + i] << 24;
}

static void join64(const u8 *p, size_t n, u64 *v)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = p[i] | (u64)p[n + i] << 8 | (u64)p[2 * n + i] << 16 |
		       (u64)p[3 * n + i] << 24 | (u64)p[4 * n + i] << 32 | (u64)p[5 * n + i] << 40 |
		       (u64)p[6 * n + i] << 48 | (u64)p[7 * n + i] << 56;
}

void ks_planes_join(const u8 *planes, size_t count, unsigned int width, void *values)
{
	if (width == 2)
		join16(planes, count, values);
	else if (width == 4)
		join32(planes, count, values);
	else if (width == 8)
		join64(planes, count, values);
	else
		memcpy(values, planes, count);
}
