/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stamps of addresses: what was found out about an address holds as long as its stamp is the same.
 * Addresses share stamps, so one may change without a reason.
 */
#ifndef MEMORIZER_STAMPS_H
#define MEMORIZER_STAMPS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/hash.h>

#define MZ_STAMP_BITS 14

extern atomic_t mz_stamps[BIT(MZ_STAMP_BITS)];

static inline u16 mz_stamp_of(unsigned long addr)
{
	return hash_long(addr >> 3, MZ_STAMP_BITS);
}

static inline u32 mz_stamp_value(u16 stamp)
{
	return (u32)atomic_read(&mz_stamps[stamp]);
}

#endif /* MEMORIZER_STAMPS_H */
