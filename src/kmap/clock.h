/* SPDX-License-Identifier: LGPL-2.1-only */
/* The times of a map as another form counts them. */
#ifndef KS_KMAP_CLOCK_H
#define KS_KMAP_CLOCK_H

#include "kmap/reader.h"

enum ks_kmap_clock_unit {
	KS_KMAP_CLOCK_AS_IS,
	KS_KMAP_CLOCK_JIFFIES, /* of the traced kernel */
	/*
	 * Of a moment that leaves all times below 10^11, which is what CAPMAP readers believe: half of that before the
	 * map was made, or the start of the machine.
	 */
	KS_KMAP_CLOCK_MICROSECONDS,
};

struct ks_kmap_clock {
	enum ks_kmap_clock_unit unit;
	u64 base_ns, base_jiffies, origin_ns;
	u32 tick_ns;
	u64 clipped; /* times that are beyond the range */
};

struct ks_kmap_times {
	u64 alloc, free;
};

/* Only nanoseconds are converted. Text has jiffies or serial numbers, and keeps them. */
void ks_kmap_clock_init(struct ks_kmap_clock *clock, enum ks_kmap_clock_unit unit,
			const struct ks_kmap_info *info);

struct ks_kmap_times ks_kmap_clock_times(struct ks_kmap_clock *clock,
					 const struct ks_kmap_object *object);

#endif
