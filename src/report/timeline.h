/* SPDX-License-Identifier: LGPL-2.1-only */
/* Memory over time, as a table, data and a chart. */
#ifndef KS_REPORT_TIMELINE_H
#define KS_REPORT_TIMELINE_H

#include "analysis/timeline.h"
#include "report/chart.h"
#include "report/report.h"

/* One bucket of the whole. */
struct ks_moment {
	u64 ts;	   /* where it begins */
	u64 live;  /* bytes at its end */
	u64 least; /* of them that certainly lived: the others ended unseen, sooner or later */
	u64 peak;  /* the most in it */
	u64 bytes, allocs, frees, implied_frees, page_frees, census_frees;
};

/* The timeline laid out bucket by bucket, with the groups that had the highest peaks. */
struct ks_moments {
	const struct ks_model *model;
	enum ks_tl_dim dim;
	u64 width; /* of a bucket, in units of the clock */
	struct ks_moment *items;
	size_t len;
	const struct ks_track **tracks; /* highest peak first */
	size_t tracks_len;
	bool unsure; /* somewhere less may have lived */
	u64 *live;   /* of the tracks at the end of each bucket: [track * len + bucket] */
};

/* The @top groups of a grouping. 0 or -ENOMEM. Points into the timeline and the model. */
int ks_moments_init(struct ks_moments *moments, const struct ks_model *model,
		    const struct ks_timeline *timeline, enum ks_tl_dim dim, u64 top);
void ks_moments_deinit(struct ks_moments *moments);

/* The buckets as a table, and live bytes of the groups. NULL when there is no memory. */
struct ks_doc *ks_doc_of_timeline(const struct ks_moments *moments);

/* Live bytes, the groups on top of each other. 0 or -ENOMEM. */
int ks_timeline_layout(const struct ks_moments *moments, const struct ks_text_measure *measure,
		       struct ks_chart *ret_chart);

#endif
