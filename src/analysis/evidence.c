// SPDX-License-Identifier: LGPL-2.1-only
/* How much speaks for a leak. */
#include "analysis/evidence.h"

/* === Data ================================================================================= */

enum {
	LEAST = 4,	   /* survivors that are worth a look */
	FEW = 10,	   /* this number is half as convincing as any larger one */
	ENOUGH_ENDS = 10,  /* to judge a site by itself */
	SEEN_AT_LEAST = 4, /* frees for each end that was not seen */
};

/* === Internals ============================================================================ */

/* The root, rounded down. */
static u64 root(u64 square)
{
	u64 low = 0, high = 1ull << 32;

	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (middle * middle <= square)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Per mille: all in one slice is a tenth, the same number in each is all. */
static u64 steadiness(const u64 births[KS_EVIDENCE_SLICES], u64 sum)
{
	double squares = 0, whole = (double)sum * (double)sum;
	int i;

	for (i = 0; i < KS_EVIDENCE_USED; i++)
		squares += (double)births[i] * (double)births[i];
	return (u64)(whole * KS_EVIDENCE_FULL / (KS_EVIDENCE_USED * squares));
}

/* === Public =============================================================================== */

u32 ks_evidence(u64 allocs, const u64 births[KS_EVIDENCE_SLICES])
{
	u64 old = 0, live = 0, share, steady;
	int i;

	for (i = 0; i < KS_EVIDENCE_SLICES; i++) {
		live += births[i];
		old += i < KS_EVIDENCE_USED ? births[i] : 0;
	}
	if (old < LEAST || !allocs)
		return 0;
	/* The root, since a leak may be one of many users of its site. */
	share = root((u64)((double)ks_min(live, allocs) * KS_EVIDENCE_FULL * KS_EVIDENCE_FULL /
			   (double)allocs));
	steady = steadiness(births, old);
	return (u32)(share * steady / KS_EVIDENCE_FULL * steady / KS_EVIDENCE_FULL * old /
		     (old + FEW));
}

bool ks_fate_is_unseen(const struct ks_fate *site, const struct ks_fate *cache)
{
	if (site->frees + site->unseen >= ENOUGH_ENDS)
		return site->unseen * SEEN_AT_LEAST > site->frees;
	return site->unseen > site->frees || cache->unseen > cache->frees;
}

bool ks_fate_is_unknown(const struct ks_fate *site, u64 live, const struct ks_fate *cache)
{
	return ks_fate_is_unseen(site, cache) && live < site->allocs - site->allocs / 10;
}

bool ks_fate_is_ending(const struct ks_fate *site, u64 live, const struct ks_fate *cache)
{
	return ks_fate_is_unseen(site, cache) && live < site->allocs / 2;
}
