/* SPDX-License-Identifier: LGPL-2.1-only */
/* The integer names of the house, and a few macros that every file wants. */
#ifndef KS_BASE_TYPES_H
#define KS_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define ks_inline	static inline __attribute__((always_inline)) /* runs once an event */
#define ks_printf(f, a) __attribute__((format(printf, f, a)))

/* The struct that this member is part of. */
#define ks_container_of(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))

#define ks_min(a, b)                               \
	({                                         \
		__auto_type min_a_ = (a);          \
		__auto_type min_b_ = (b);          \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define ks_max(a, b)                               \
	({                                         \
		__auto_type max_a_ = (a);          \
		__auto_type max_b_ = (b);          \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})

/* An index that names nothing: no string, no site, no object. */
#define KS_NONE UINT32_MAX

#endif
