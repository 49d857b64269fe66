/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Watches for growth. It listens to the kernel's counters, which costs next to nothing. Where caches that the kernel can't
 * take back have grown, it looks at every allocation in these, and only these, for some seconds; who then keeps on
 * allocating and does not free is a suspect. Before anybody is accused, an exact count says what is really still there.
 */
#ifndef KS_LIVE_WATCH_H
#define KS_LIVE_WATCH_H

#include "live/live.h"
#include "live/verdict.h"

#define KS_WATCH_LOOK_NS 20000000000

struct ks_watch_opts {
	u64 listen_ns;	   /* before the first suspicion; 0 = 10 s */
	u64 look_ns;	   /* at every allocation; 0 = 20 s */
	u64 pause_ns;	   /* a cache that was looked at is left alone, at most; 0 = 5 min */
	u64 smallest;	   /* growth in bytes, while allocations are looked at; 0 = 8 KiB, or */
	bool any_steady;   /* less, if it is as steady as a clock */
	double confidence; /* 0 = 0.99 */
	bool keep_caches;  /* also of caches that the kernel can take back */
	bool no_holders;   /* who holds what grows is not looked for */
};

enum ks_watch_phase {
	KS_WATCH_LISTENS,
	KS_WATCH_LOOKS,	 /* at all allocations of some caches */
	KS_WATCH_TRACES, /* stacks of one suspect */
	KS_WATCH_PHASES,
};

/* "listens", ... */
const char *ks_watch_phase_name(enum ks_watch_phase phase);

/* What grows, and all that is known of it. Strings belong to it; "" = not known. */
struct ks_suspect {
	char cache[64], site[160], process[64], cgroup[256], type[128];
	char also[512]; /* other sites that grow with it: "site (cache), ..." */
	char *stack;
	u32 size; /* of an object */
	bool reclaimable;
	bool no_program;   /* processes that have ended, or threads of the kernel */
	u64 objects;	   /* that stayed while it was looked at */
	u64 all_objects;   /* in the cache */
	u64 type_objects;  /* of this type, in the cache */
	u64 example;	   /* the address of one */
	char holders[512]; /* "type.field (objects), ..." of those that follow; "" = not known */
	u64 held_objects;  /* all of the type; of a suspect without type, one */
	struct ks_judgement judgement;
	u64 full_s;   /* seconds until memory is full; UINT64_MAX = not in sight */
	u64 found_ns; /* CLOCK_REALTIME */
};

struct ks_watch {
	struct ks_watch_opts opts;
	KS_VEC(struct ks_suspect *) suspects;
	size_t told; /* how many of them the caller has dealt with */
	u64 looks, rounds,
		dismissed; /* at counters; at allocations; suspicions that came to nothing */
	enum ks_watch_phase phase;
	u32 recorder_pid; /* a process that works for this one, of which nothing is said; 0 = none */

	/* The rest is for watch*.c alone. */
	struct ks_watch_state *state;
};

int ks_watch_new(const struct ks_watch_opts *opts, struct ks_watch **ret_watch,
		 struct ks_diag *diag);
void ks_watch_free(struct ks_watch *watch);

/*
 * One look, and what follows from it: @live changes its level. @ret_wait_ns: when to call again. New suspects are those
 * behind watch->told.
 */
int ks_watch_step(struct ks_watch *watch, struct ks_live *live, u64 *ret_wait_ns,
		  struct ks_diag *diag);

/* Whether its type is one that can be asked for by name. */
bool ks_suspect_has_type(const struct ks_suspect *suspect);

/* A paragraph in plain words. */
void ks_suspect_say(const struct ks_suspect *suspect, struct ks_strbuf *out);

/* All suspects as a document, "kmemscope-watch-1". NULL: no memory. */
struct ks_doc *ks_watch_doc(const struct ks_watch *watch);

#endif
