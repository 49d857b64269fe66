/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * How much speaks for a leak. A leak makes objects all the time, and what it makes stays. So what counts is
 * which share of the objects survived, and whether the survivors were born throughout the capture. How many bytes
 * they have does not: caches and whatever is in use are large, too.
 */
#ifndef KS_ANALYSIS_EVIDENCE_H
#define KS_ANALYSIS_EVIDENCE_H

#include "analysis/model.h"

/* Of the slices of time. The youngest are left out: what is from them had no time to end. */
enum { KS_EVIDENCE_USED = 10 };

/* What came of some objects. */
struct ks_fate {
	u64 allocs;
	u64 frees;  /* seen */
	u64 unseen; /* ended without an event */
};

/* A share of KS_EVIDENCE_FULL. @allocs: all objects of the user; @births: when those were allocated that live. */
u32 ks_evidence(u64 allocs, const u64 births[KS_EVIDENCE_SLICES]);

/* Whether objects of a site mostly end without an event. */
bool ks_fate_is_unseen(const struct ks_fate *site, const struct ks_fate *cache);

/*
 * Whether nobody can say what lives of the objects of a site, @live of which seem to. Where objects of a
 * cache end unseen, those that seem to live have ended as well, unless nearly all that were ever allocated are
 * still there.
 */
bool ks_fate_is_unknown(const struct ks_fate *site, u64 live, const struct ks_fate *cache);

/*
 * The same where the kernel itself says which objects live. What RCU is about to free still does, so that the smaller
 * part means nothing.
 */
bool ks_fate_is_ending(const struct ks_fate *site, u64 live, const struct ks_fate *cache);

#endif
