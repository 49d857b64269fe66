// SPDX-License-Identifier: LGPL-2.1-only
/* The times of a map as another form counts them. */
#include "kmap/clock.h"

/* === Data ================================================================================= */

#define NS_PER_US     1000u
#define MICROSECONDS  100000000000ull /* that CAPMAP readers believe */
#define BEFORE_MAP_NS (MICROSECONDS / 2 * NS_PER_US)

/* === Internals ============================================================================ */

/* As the kernel side converts them for its text. */
static u64 jiffies_of(const struct ks_kmap_clock *clock, u64 ns)
{
	if (ns >= clock->base_ns)
		return clock->base_jiffies + (ns - clock->base_ns) / clock->tick_ns;
	return clock->base_jiffies - (clock->base_ns - ns + clock->tick_ns - 1) / clock->tick_ns;
}

/* 0 is kept for "not yet". */
static u64 microseconds_of(struct ks_kmap_clock *clock, u64 ns)
{
	u64 us = ns > clock->origin_ns ? (ns - clock->origin_ns) / NS_PER_US : 0;

	clock->clipped += ns < clock->origin_ns || us >= MICROSECONDS;
	return ks_min(ks_max(us, (u64)1), MICROSECONDS - 1);
}

static u64 convert(struct ks_kmap_clock *clock, u64 time)
{
	if (!time)
		return 0;
	switch (clock->unit) {
	case KS_KMAP_CLOCK_JIFFIES:
		return jiffies_of(clock, time);
	case KS_KMAP_CLOCK_MICROSECONDS:
		return microseconds_of(clock, time);
	case KS_KMAP_CLOCK_AS_IS:
		break;
	}
	return time;
}

/* === Public =============================================================================== */

void ks_kmap_clock_init(struct ks_kmap_clock *clock, enum ks_kmap_clock_unit unit,
			const struct ks_kmap_info *info)
{
	bool has_ns = info->form == KS_KMAP_BINARY && info->tick_ns;

	*clock = (struct ks_kmap_clock){
		.unit = has_ns ? unit : KS_KMAP_CLOCK_AS_IS,
		.base_ns = info->base_ns,
		.base_jiffies = info->base_jiffies,
		.origin_ns = info->base_ns > BEFORE_MAP_NS ? info->base_ns - BEFORE_MAP_NS : 0,
		.tick_ns = info->tick_ns,
	};
}

struct ks_kmap_times ks_kmap_clock_times(struct ks_kmap_clock *clock,
					 const struct ks_kmap_object *object)
{
	return (struct ks_kmap_times){ convert(clock, object->alloc_time),
				       convert(clock, object->free_time) };
}
