// SPDX-License-Identifier: LGPL-2.1-only
/* Names of what the model holds. */
#include "analysis/model.h"

#include <stdlib.h>

#include "analysis/timeline.h"

/* === Data ================================================================================= */

static const char *const by_names[] = {
	[KS_BY_SITE] = "site",	 [KS_BY_FUNCTION] = "function", [KS_BY_MODULE] = "module",
	[KS_BY_CACHE] = "cache", [KS_BY_SIZE] = "size",		[KS_BY_PID] = "pid",
	[KS_BY_COMM] = "comm",	 [KS_BY_CPU] = "cpu",		[KS_BY_NODE] = "node",
	[KS_BY_GFP] = "gfp",	 [KS_BY_CGROUP] = "cgroup",
};
_Static_assert(ARRAY_SIZE(by_names) == KS_BYS, "a name for every grouping");

static const struct {
	const char *name;
	const char *text;
	bool is_loss;
} qualities[] = {
	[KS_Q_LOST_EVENTS] = { "lost_events", "events lost by the capture", true },
	[KS_Q_LOST_WINDOWS] = { "lost_windows", "places where events were lost", true },
	[KS_Q_OVERWRITTEN] = { "overwritten", "events overwritten before the log begins", true },
	[KS_Q_UNPARSED] = { "unparsed", "lines not understood", false },
	[KS_Q_IMPOSSIBLE] = { "impossible", "records that cannot be true", false },
	[KS_Q_UNPAIRABLE] = { "unpairable", "events without an address to pair by", false },
	[KS_Q_BACKWARDS] = { "backwards", "events earlier than the one before", false },
	[KS_Q_FAILED_ALLOCS] = { "failed_allocs", "failed allocations", false },
	[KS_Q_NULL_FREES] = { "null_frees", "frees of NULL", false },
	[KS_Q_FREES_BEFORE] = { "frees_before", "frees of objects not seen allocated", false },
	[KS_Q_IMPLIED_FREES] = { "implied_frees",
				 "implied frees (address allocated again, free not seen)", false },
	[KS_Q_SECOND_FREES] = { "second_frees",
				"second frees (double free, or an allocation not seen)", false },
	[KS_Q_KFREE_OF_CACHE] = { "kfree_of_cache",
				  "kfree of kmem_cache memory (legal since Linux 6.4)", false },
	[KS_Q_CACHE_FREE_OF_KMALLOC] = { "cache_free_of_kmalloc",
					 "kmem_cache_free of kmalloc memory", false },
	[KS_Q_SHORT_ALLOCS] = { "short_allocs", "allocations smaller than requested", false },
	[KS_Q_SELF] = { "self_events", "events of the recorder itself, left out", false },
	[KS_Q_STACKS_ALONE] = { "stacks_alone", "stack traces without their event", false },
	[KS_Q_NOT_ALLOCATED] = { "not_allocated", "objects that no allocator made, left out",
				 false },
	[KS_Q_GUESSED] = { "guessed_kinds",
			   "objects without a type, taken for pages or kmalloc objects", false },
	[KS_Q_UNSEEN_FREES] = { "unseen_frees", "objects that ended without their free being seen",
				false },
	[KS_Q_TIMELESS_FREES] = { "timeless_frees",
				  "frees without a possible time, taken to be at once", false },
	[KS_Q_ACCESSES] = { "accesses", "accesses and calls of the map, left out", false },
	[KS_Q_PAGE_FREES] = { "page_frees", "objects that ended with their page (free not seen)",
			      false },
	[KS_Q_REUSED] = { "reused_unseen",
			  "frees of objects whose allocation was not seen (in bulk, or in a page that was used again)",
			  false },
	[KS_Q_CENSUS_FREES] = { "census_frees",
				"objects that the kernel no longer had at the end (free not seen)",
				false },
	[KS_Q_BULK_MISSED] = { "bulk_missed",
			       "objects of bulk calls that the recorder's probes did not see",
			       false },
	[KS_Q_PROBES_MISSED] = { "probes_missed", "calls that the recorder's probes missed",
				 false },
};
_Static_assert(ARRAY_SIZE(qualities) == KS_QUALITIES, "a name for every counter");

static const char *const end_names[] = { "live", "freed", "implied", "page", "census" };
_Static_assert(ARRAY_SIZE(end_names) == KS_ENDS, "a name for every end");

/* === Internals ============================================================================ */

static void free_leaks(struct ks_leaks *leaks)
{
	if (!leaks)
		return;
	ks_vec_free(&leaks->sites);
	ks_vec_free(&leaks->kept);
	ks_vec_free(&leaks->unseen);
	ks_arena_deinit(&leaks->arena);
	free(leaks);
}

static void free_frag(struct ks_frag *frag)
{
	if (!frag)
		return;
	ks_vec_free(&frag->by_site);
	ks_vec_free(&frag->by_size);
	ks_arena_deinit(&frag->arena);
	free(frag);
}

/* === Public =============================================================================== */

const char *ks_by_name(enum ks_by by)
{
	return by < KS_BYS ? by_names[by] : "?";
}

const char *ks_level_name(enum ks_level level)
{
	return level == KS_SLAB ? "slab" : "pages";
}

const char *ks_end_name(enum ks_end end)
{
	return end < KS_ENDS ? end_names[end] : "?";
}

const char *ks_quality_name(enum ks_quality q)
{
	return q < KS_QUALITIES ? qualities[q].name : "?";
}

const char *ks_quality_text(enum ks_quality q)
{
	return q < KS_QUALITIES ? qualities[q].text : "?";
}

bool ks_quality_is_loss(enum ks_quality q)
{
	return q < KS_QUALITIES && qualities[q].is_loss;
}

const char *ks_leak_verdict(const struct ks_leak *leak)
{
	if (leak->evidence >= KS_EVIDENCE_FULL / 2)
		return "likely";
	return leak->evidence >= KS_EVIDENCE_FULL / 5 ? "possible" : "unlikely";
}

void ks_model_free(struct ks_model *model)
{
	size_t i;

	if (!model)
		return;
	for (i = 0; i < model->accounts.len; i++)
		ks_vec_free(&model->accounts.items[i].groups);
	ks_vec_free(&model->accounts);
	free_leaks(model->leaks);
	free_frag(model->frag);
	ks_timeline_free(model->timeline);
	for (i = 0; i < model->processes.len; i++) {
		free_leaks(model->processes.items[i].leaks);
		ks_timeline_free(model->processes.items[i].timeline);
	}
	ks_vec_free(&model->processes);
	ks_vec_free(&model->absent);
	ks_vec_free(&model->findings);
	ks_vec_free(&model->unseen_allocs);
	ks_vec_free(&model->kernel_slabs.caches);
	ks_vec_free(&model->kernel_slabs.types);
	ks_vec_free(&model->unparsed);
	ks_arena_deinit(&model->arena);
	free(model);
}

const struct ks_sums *ks_model_account_by(const struct ks_model *model, enum ks_by by)
{
	size_t i;

	for (i = 0; i < model->accounts.len; i++)
		if (model->accounts.items[i].by == by)
			return &model->accounts.items[i];
	return NULL;
}

size_t ks_model_callers(const struct ks_model *model)
{
	const struct ks_sums *sums = ks_model_account(model);
	size_t i, n = 0;

	for (i = 0; i < sums->groups.len; i++)
		n += sums->groups.items[i].stat.allocs > 0;
	return n;
}
