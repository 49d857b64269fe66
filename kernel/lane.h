/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lanes: where the accesses of one context level on one processor are counted. The lane protocol
 * and the stamps are described at the head of core.c.
 *
 * A lane has three caches. "recents" holds, by instruction, what the instruction did last
 * (quick.h). "places" leads from an address to the object that it is in, and "records" from object,
 * instruction and thread to the record where they are counted. What is in none of them is looked up
 * in the index.
 */
#ifndef MEMORIZER_LANE_H
#define MEMORIZER_LANE_H

#include <linux/percpu.h>

#include "../include/uapi/memorizer.h"
#include "locate.h"

struct task_struct;

/* What was found out about a range of addresses; right while @stamp is the sum of both stamps. */
struct mz_where {
	unsigned long start, len;
	struct mz_object *obj; /* NULL: not part of an object */
	unsigned long base;
	u32 stamp;
	u16 base_stamp, page_stamp;
	enum mz_class class; /* of accesses */
};

/* As in struct mz_where, a sum can only be compared to a sum of the same two stamps. */
struct mz_record_slot {
	unsigned long base;
	u64 author;
	struct mz_access *access;
	u32 stamp;
	u16 page_stamp;
	u16 spot; /* mz_spot_of(), or MZ_SPOT_VARIES for all of the object */
};

/*
 * What an instruction did last: most do the same again, to the same object. It holds for accesses
 * of @size bytes that begin at @start or up to @span bytes behind it, while @stamp is the sum of
 * both stamps.
 */
struct mz_recent {
	u64 author; /* mz_lane::keys, and the address of the instruction */
	unsigned long start, span;
	struct mz_access *access; /* mz_lane::nobody, if they are to no object */
	u64 *count;		  /* in mz_lane::counts */
	u32 stamp;
	u16 base_stamp, page_stamp;
	u32 size;
	s32 left; /* for how many the record has room */
} ____cacheline_aligned;

struct mz_lane {
	struct mz_recent *recents; /* NULL: this processor has no lanes */
	struct mz_where *places;
	struct mz_record_slot *records;
	u8 recent_bits, place_bits, record_bits; /* log2 of the numbers of slots */
	u8 level;				 /* enum memorizer_context */
	bool busy;	  /* an access is being counted, or there are no caches */
	bool interrupted; /* an interrupt has come since the memorizer was entered */
	/* Whether accesses of @task are wanted, as of this value of mz_wants_changes. */
	bool wanted;
	bool quick; /* and may be counted in quick.h */
	u32 wants_changes;
	const struct task_struct *task;
	u32 pid; /* of @task: it changes, if a thread other than the first executes a program */
	/*
	 * Of loads and of stores of @task: with the address of the instruction they name an author.
	 */
	u64 keys[2];
	struct mz_access nobody; /* a record that is never read */
	/* The last access that MZ_KERNEL reported: the compiler may be about to report it again. */
	unsigned long reported_addr, reported_ip;
	size_t reported_size;
	bool reported_write;
	u64 counts[MZ_CLASSES];
};

DECLARE_PER_CPU(struct mz_lane, mz_lanes[MEMORIZER_IN_HARDIRQ + 1]);

static inline struct mz_recent *mz_recent_of(const struct mz_lane *lane, unsigned long ip)
{
	return &lane->recents[ip & (BIT(lane->recent_bits) - 1)];
}

void mz_lanes_init(void);
int mz_lanes_start(void);
u64 mz_lanes_sum(enum mz_class class);

#endif /* MEMORIZER_LANE_H */
