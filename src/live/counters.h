/* SPDX-License-Identifier: LGPL-2.1-only */
/* The kernel's own counters, which cost next to nothing: /proc/slabinfo and /proc/meminfo. */
#ifndef KS_LIVE_COUNTERS_H
#define KS_LIVE_COUNTERS_H

#include "base/diag.h"
#include "live/snapshot.h"

/* What slabinfo says of a cache, and of its namesakes. */
struct ks_counter {
	u64 active; /* objects in use, and those that wait for a CPU */
	u64 bytes;  /* of the slabs */
	u64 size;   /* from one object to the next */
};

struct ks_counters {
	struct ks_intern names;
	KS_VEC(struct ks_counter) items; /* by number of the name */
};

int ks_counters_init(struct ks_counters *counters);
void ks_counters_deinit(struct ks_counters *counters);

/* Takes the text of slabinfo apart. Lines that are not understood are left out. 0 or -ENOMEM. */
int ks_counters_parse(struct ks_counters *counters, const char *text, u64 page_size);

/* Of the running kernel. -ENOENT, -EACCES, ...: it has none, or not for us. */
int ks_counters_read(struct ks_counters *counters, struct ks_diag *diag);

/* Takes the text of meminfo apart. What it lacks is 0. */
void ks_live_memory_parse(struct ks_live_memory *memory, const char *text);
int ks_live_memory_read(struct ks_live_memory *memory, struct ks_diag *diag);

/* Bytes of memory that this process has. */
u64 ks_live_resident(void);

#endif
