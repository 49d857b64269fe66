/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For targets whose input is a list of steps: reads numbers from the start of the bytes, and 0
 * after their end.
 */
#ifndef KS_FUZZ_STEPS_H
#define KS_FUZZ_STEPS_H

#include "target.h"

struct steps {
	const uint8_t *at, *end;
};

static inline int steps_left(const struct steps *steps)
{
	return steps->at < steps->end;
}

static inline uint8_t step_u8(struct steps *steps)
{
	return steps_left(steps) ? *steps->at++ : 0;
}

static inline uint16_t step_u16(struct steps *steps)
{
	uint16_t low = step_u8(steps);

	return (uint16_t)(low | step_u8(steps) << 8);
}

static inline uint32_t step_u32(struct steps *steps)
{
	uint32_t low = step_u16(steps);

	return low | (uint32_t)step_u16(steps) << 16;
}

static inline uint64_t step_u64(struct steps *steps)
{
	uint64_t low = step_u32(steps);

	return low | (uint64_t)step_u32(steps) << 32;
}

#endif
