/* SPDX-License-Identifier: GPL-2.0-only */
/* Snapshots from a description in lines, so that tests can say which heap they mean. */
#ifndef KS_TESTS_HEAP_MADE_H
#define KS_TESTS_HEAP_MADE_H

#include "heap/snapshot.h"

/*
 * Blank lines and those that begin with # say nothing. Numbers are decimal or begin with 0x, offsets are in bytes, and
 * things are named before others refer to them:
 *
 *	kernel RELEASE MACHINE HOST BOOT		- is ""
 *	taken NS UPTIME_NS DURATION_NS
 *	memory KIND PAGES				"slab", "other-kernel", ...
 *	total BYTES
 *	quality NUMBER VALUE
 *	node SLABS PAGES USED WAITING BYTES
 *	cache NAME SIZE OBJECT_SIZE [reclaimable] [large]
 *	census CACHE SLABS PAGES WAITING SLABINFO	where the objects do not say it
 *	merged CACHE NAME
 *	type NAME SIZE					number 0, "?", is there
 *	field TYPE OFFSET NAME				of the type that was named last
 *	cgroup PATH					number 0 is there
 *	object ADDR CACHE TYPE KNOWN_BY [CGROUP [CHECKSUM]]
 *	graph						references are known, even if there are none
 *	ref ADDR OFFSET ADDR [INSIDE]
 *	root KIND NAME ADDR				KIND is its number
 *	rootref OFFSET ADDR [INSIDE]			of the root that was named last
 *
 * NULL, with *ret_line, where a line makes no sense.
 */
struct ks_snapshot *made_snapshot(const char *text, size_t *ret_line);

#endif
