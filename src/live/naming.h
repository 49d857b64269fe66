/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the addresses and numbers that probes note are called. */
#ifndef KS_LIVE_NAMING_H
#define KS_LIVE_NAMING_H

#include "base/diag.h"
#include "base/intern.h"
#include "base/map64.h"
#include "bpf/live.h"
#include "trace/ksyms.h"

struct ks_naming {
	struct ks_ksyms symbols;
	bool loaded;
	u64 modules;	       /* a hash of those whose symbols are known */
	u64 checked_ns;	       /* when that was last compared */
	struct ks_map64 addrs; /* whose names are known: their numbers in names */
	struct ks_intern names;
	KS_VEC(u32) name_of;
	struct ks_map64 cgroups; /* by number: paths */
	struct ks_intern paths;
	KS_VEC(u32) path_of;
	u64 looked_ns; /* when cgroups were last looked for */
};

int ks_naming_init(struct ks_naming *naming);
void ks_naming_deinit(struct ks_naming *naming);

/* "func+0x12", "func+0x12 [module]", or the bare address. NULL: no memory. */
const char *ks_naming_addr(struct ks_naming *naming, u64 addr);

/* The path of a cgroup, or its number where it has gone. NULL: no memory. */
const char *ks_naming_cgroup(struct ks_naming *naming, u64 id);

/*
 * Where the code of a site is, as names of sites are: all parts of "func", or the one address of "func+0x12". Functions may
 * share a name: @ret_found may be more than @room. 0 or -ENOMEM.
 */
int ks_naming_find_code(struct ks_naming *naming, const char *site, struct ks_bpf_code *ret_code,
			u32 room, u32 *ret_found);

/* The number of a cgroup by its path, and how many are above it. -ENOENT: there is none. */
int ks_naming_find_cgroup(const char *path, unsigned long long *ret_id, u32 *ret_depth,
			  struct ks_diag *diag);

/*
 * Whether a function is part of the allocator or of tracing, so that the interesting one is further out. @name is as
 * ks_naming_addr() has it.
 */
bool ks_naming_is_allocator(const char *name);

/* Leaves out the frames that are the allocator's own. Returns how many these are; never all. */
u32 ks_naming_skip(struct ks_naming *naming, const u64 *frames, u32 len);

#endif
