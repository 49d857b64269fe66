/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * How the objects of a map are spread: over life times and sizes, over the tasks and the processors that use them. Memory grows with sites
 * and pairs of tasks, never with objects.
 */
#ifndef KS_KMAP_SPREAD_H
#define KS_KMAP_SPREAD_H

#include "base/intern.h"
#include "base/map64.h"
#include "kmap/object.h"

/* What there is a distribution of, for each site. */
enum ks_kmap_spread_of { KS_KMAP_LIVES, KS_KMAP_SIZES, KS_KMAP_SPREADS };

/* The number of objects of a site in a bin. */
struct ks_kmap_bin {
	u32 site;
	u16 of; /* enum ks_kmap_spread_of */
	u16 number;
	u64 objects;
	u64 most; /* the largest value of them */
};

/*
 * A task by its pid. What it is called is known of one that allocated something; of the others in a process, by the
 * process.
 */
struct ks_kmap_task {
	s32 pid, tgid; /* tgid: the pid, where it is not known */
	u32 comm;      /* number in the table of names; KS_NONE = not known */
};

/* Who used what another one has allocated: numbers of tasks, or of processors. */
struct ks_kmap_sharing {
	u32 owner, user;
	u64 objects, accesses;
	u64 last_object; /* the latest, by its place in the map */
};

/* How the objects of a site are shared. */
struct ks_kmap_shared {
	u64 used;	       /* objects that anyone used */
	u64 by_tasks, by_cpus; /* of these, those that several tasks or processors used */
	u64 elsewhere;	       /* that no task used but others than the owner */
	u32 most_tasks, most_cpus;
};

struct ks_kmap_spread {
	struct ks_map64 bin_index, task_index, task_pairs, cpu_pairs;
	KS_VEC(struct ks_kmap_bin) bins;
	KS_VEC(struct ks_kmap_task) tasks;
	KS_VEC(struct ks_kmap_sharing) by_task;
	KS_VEC(struct ks_kmap_sharing) by_cpu;
	KS_VEC(struct ks_kmap_shared) sites; /* by number of the site; may be shorter */
	struct ks_intern comms;
	u64 nr_objects;
	bool has_cpus; /* some access says where it ran */
};

int ks_kmap_spread_init(struct ks_kmap_spread *spread);
void ks_kmap_spread_deinit(struct ks_kmap_spread *spread);
int ks_kmap_spread_add(struct ks_kmap_spread *spread, u32 site,
		       const struct ks_kmap_object *object);

/* Bins are exact up to 64, and then a 32nd of a power of two wide. */
u32 ks_kmap_bin_of(u64 value);
u64 ks_kmap_bin_first(u32 bin);

#endif
