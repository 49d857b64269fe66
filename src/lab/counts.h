/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * The table in which QEMU's plugin counts the accesses of a guest's kernel (lab/stock-counts.c), in memory that it shares
 * with the runner. The guest stands still whenever the runner looks at it.
 */
#ifndef KS_LAB_COUNTS_H
#define KS_LAB_COUNTS_H

#include <stdint.h>

enum { LAB_COUNTS_MAGIC = 0x4b434e54 };

/* What one instruction did on one processor at one address. */
struct lab_count {
	uint64_t addr; /* 0 = this place is free */
	uint64_t ip;
	uint64_t bytes_read, bytes_written;
	uint32_t reads, writes; /* a string instruction that runs on is one */
	uint32_t cpu;
	uint32_t lengths_vary;
};

struct lab_counts {
	uint32_t magic;
	uint32_t ready;	   /* the plugin has found the table */
	uint32_t counting; /* set by the runner */
	uint32_t unused;
	uint64_t first, end; /* addresses that are counted each: where all memory is mapped */
	uint64_t places;     /* a power of two */
	uint64_t used;	     /* of these */
	uint64_t lost;	     /* accesses that found no place */
	uint64_t elsewhere;  /* accesses of the kernel to other addresses */
	struct lab_count counts[];
};

#endif
