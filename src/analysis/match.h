/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Matching: what each event means for the objects of the kernel. It knows nothing of filters or
 * groups, so its result can be stored with the events and used again (trace/ksdb.h).
 */
#ifndef KS_ANALYSIS_MATCH_H
#define KS_ANALYSIS_MATCH_H

#include "analysis/live.h"
#include "analysis/model.h"
#include "base/map64.h"
#include "trace/event.h"
#include "trace/ksdb.h"

struct ks_recent; /* addresses freed of late, for second frees */

/* A kind of misuse between two sites. */
struct ks_misuse {
	u32 alloc_site, free_site;
	u64 count, first_ts, ptr;
};

struct ks_misuses {
	struct ks_map64 pairs; /* alloc_site << 32 | free_site */
	KS_VEC(struct ks_misuse) items;
	u64 dropped; /* pairs beyond the number that is kept */
};

struct ks_matcher {
	struct ks_live live[KS_LEVELS];
	struct ks_recent *recent[KS_LEVELS];
	u64 quality[KS_QUALITIES];
	u64 events[KS_KINDS];
	u64 first_ts, last_ts;
	bool any_ts;
	u32 found_at;	  /* bucket of the object that the last step found */
	u32 lost_windows; /* so far: what was freed before the last one proves nothing */
	struct ks_misuses misuses[KS_QUALITIES];
};

int ks_matcher_init(struct ks_matcher *m);
void ks_matcher_deinit(struct ks_matcher *m);

/*
 * Says what the event does. KS_OP_ALLOC: to the slot of the level's table, which still holds the old
 * object if ret_match->reused. KS_OP_FREE: the object is still in its slot. The caller does its
 * accounting and then calls ks_matcher_commit(), which ends and begins the objects.
 */
int ks_matcher_step(struct ks_matcher *m, const struct ks_event *ev, struct ks_match *ret_match);
void ks_matcher_commit(struct ks_matcher *m, const struct ks_event *ev,
		       const struct ks_match *match, bool counted);

static inline enum ks_level ks_level_of(enum ks_kind kind)
{
	return ks_kind_is_page(kind) ? KS_PAGES : KS_SLAB;
}

#endif
