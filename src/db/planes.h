/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Byte planes: of a column of integers first all lowest bytes, then all next ones, and so on. The high
 * bytes of slots, times and shapes are mostly alike and the low ones mostly noise; apart, the first
 * shrink to nothing and the second are stored as they are, which zstd reads back several times faster.
 */
#ifndef KS_DB_PLANES_H
#define KS_DB_PLANES_H

#include "base/types.h"

/* @width is 1, 2, 4 or 8; @planes has count * width bytes. Any order of bytes in memory will do. */
void ks_planes_split(const void *values, size_t count, unsigned int width, u8 *planes);
void ks_planes_join(const u8 *planes, size_t count, unsigned int width, void *values);

#endif
