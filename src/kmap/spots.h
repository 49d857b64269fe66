/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Where in the objects of a site they were accessed, and by whom: added up as objects pass. Memory grows with sites,
 * offsets and instructions, never with objects.
 */
#ifndef KS_KMAP_SPOTS_H
#define KS_KMAP_SPOTS_H

#include "base/map64.h"
#include "kmap/object.h"

/* Accesses of one length at one offset of the objects of a site. */
struct ks_kmap_spot {
	u32 site, offset;
	u32 length;  /* 0 = of several lengths */
	bool varies; /* anywhere: the offset is that of the first access */
	u64 reads, writes, bytes_read, bytes_written;
	u64 objects;	 /* in which it was accessed */
	u64 writes_most; /* in one object */
	/* Of the object in hand. */
	u64 object, object_writes;
};

/* Who did it: an instruction on a processor, in a task or an interrupt. */
struct ks_kmap_use {
	u32 spot, code;
	u16 cpu;
	u8 context; /* enum ks_kmap_context */
	u64 reads, writes;
};

#define KS_KMAP_LINE 64 /* bytes of a cache line */

/* What is known of all objects of a site together. */
struct ks_kmap_extent {
	u64 objects;	  /* with accesses that say where */
	u64 aligned;	  /* that start with a cache line */
	u64 lines, bytes; /* accessed in each of them, added up */
	u64 least, most;  /* requested bytes */
};

struct ks_kmap_spots {
	KS_VEC(struct ks_kmap_spot) spots;
	KS_VEC(struct ks_kmap_use) uses;
	KS_VEC(struct ks_kmap_extent) extents; /* by site */
	u64 unplaced;			       /* accesses that do not say where */
	/* How the above are found while reading. */
	struct ks_map64 offset_index, spot_index, author_index, use_index;
	u64 nr_objects;
	u8 *touched; /* a bit for each byte of the object in hand */
	size_t touched_size;
};

int ks_kmap_spots_init(struct ks_kmap_spots *spots);
void ks_kmap_spots_deinit(struct ks_kmap_spots *spots);

/* @codes has the numbers of instructions. 0 or -ENOMEM. */
int ks_kmap_spots_add(struct ks_kmap_spots *spots, u32 site, struct ks_map64 *codes,
		      const struct ks_kmap_object *object);

#endif
