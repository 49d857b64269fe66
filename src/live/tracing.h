/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to src/live: what the levels that have probes share. */
#ifndef KS_LIVE_TRACING_H
#define KS_LIVE_TRACING_H

#include "bpf/live.h"
#include "live/census-level.h"
#include "live/naming.h"
#include "live/probe.h"

struct bpf_object;

/* A stack of the kernel's map: where its frames begin, what is the allocator's own left out. */
struct ks_known_stack {
	u32 first, len;
	u32 name;
};

struct ks_tracing {
	struct ks_census_level *census;
	struct ks_naming naming;
	u64 since_ns;
	int stacks_fd, counts_fd;
	const struct bpf_object *object;
	struct ks_map64 stacks; /* by number in the map: those that are known */
	KS_VEC(struct ks_known_stack) known;
	KS_VEC(u64) frames;
	struct ks_intern names;	  /* of stacks */
	struct ks_map64 kmallocs; /* hashes of site and size: caches */
	KS_VEC(u64) kmalloc_cache;
};

enum { KS_LIVE_STACKS = 16384 };

/* The kernel's clock, as probes have it. */
u64 ks_tracing_now(void);

/* Keeps libbpf from printing; to be called again with what it returned. */
void *ks_tracing_silence(void *before);

int ks_tracing_init(struct ks_tracing *t, struct ks_census_level *census);
void ks_tracing_deinit(struct ks_tracing *t);

/* Where the maps are, once programs are loaded. */
void ks_tracing_loaded(struct ks_tracing *t, const struct bpf_object *object);

/* What the kernel refused and why, for people. @what: "a probe on ..." */
int ks_tracing_refused(const char *what, int err, struct ks_diag *diag);

/*
 * The cell of what this task has allocated in a cache, by its stack; where it has none, by @site, which may be 0.
 * NULL: no memory.
 */
struct ks_live_cell *ks_tracing_cell(struct ks_tracing *t, struct ks_live_snapshot *s,
				     const char *cache, const struct ks_bpf_task *task, u64 site);

/*
 * The name of the cache that kmalloc() takes objects of a size from at a site, by an object of it; NULL: not known. It is
 * looked up once: a site has one kind of memory.
 */
const char *ks_tracing_kmalloc_cache(struct ks_tracing *t, u64 site, u32 size, u64 object);

/* What a program is told to look at. -ENOENT: there is no such cache. -E2BIG: too many of them. */
int ks_tracing_filter(struct ks_tracing *t, const struct ks_live_filter *filter,
		      struct ks_bpf_filter *ret_filter, struct ks_diag *diag);

/*
 * Loads the probes of a level in the ways that kernels allow, the best first, until one works. @load is called with the
 * level and cleans up after a failure; where it fills the diag, no other way is tried. @hooks: also probes on functions.
 */
typedef int ks_load_fn(void *level, const struct ks_live_filter *filter, bool hooks,
		       struct ks_diag *diag);
int ks_tracing_attach(ks_load_fn *load, void *level, const struct ks_live_filter *filter,
		      struct ks_diag *diag);

/* Whether the second argument of kvfree_call_rcu() is the object, as it is since Linux 6.3. */
bool ks_tracing_has_free_rcu(const struct ks_tracing *t);

/* What is said of frees without an event. 0 or -ENOMEM. */
int ks_tracing_say_hooks(struct ks_live_snapshot *s, bool hooks);

/* Events, stacks, what was missed, and the memory of the maps. 0 or a negative errno. */
int ks_tracing_quality(struct ks_tracing *t, struct ks_live_snapshot *s, struct ks_diag *diag);

/* Says that the part is there, and what it tells. */
void ks_tracing_part(const struct ks_tracing *t, struct ks_live_snapshot *s, unsigned int tells);

/* Calls @fn for each entry of a hash map with keys of 8 bytes. @size is that of a value. */
typedef int ks_entry_fn(void *arg, u64 key, const void *value);
int ks_tracing_each(int map_fd, u32 entries, size_t size, ks_entry_fn *fn, void *arg,
		    struct ks_diag *diag);

#endif
