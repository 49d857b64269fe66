/* SPDX-License-Identifier: LGPL-2.1-only */
/* Two captures compared, group by group: what is new, gone, grown or shrunk. */
#ifndef KS_ANALYSIS_DIFF_H
#define KS_ANALYSIS_DIFF_H

#include "analysis/filter.h"
#include "analysis/model.h"
#include "base/diag.h"

/* What is compared. */
enum ks_measure {
	KS_MEASURE_LIVE,
	KS_MEASURE_WASTE,
	KS_MEASURE_OBJECTS,
	KS_MEASURE_PEAK,
	KS_MEASURE_TOTAL,
	KS_MEASURE_ALLOCS,
	KS_MEASURES
};

/* "live", ... */
const char *ks_measure_name(enum ks_measure measure);
u64 ks_measure_of(const struct ks_stat *stat, enum ks_measure measure);

/*
 * How the first capture is brought to the length of the second: not at all, or by the time or the
 * number of allocations and frees that each of them covers.
 */
enum ks_normal { KS_NORMAL_NONE, KS_NORMAL_TIME, KS_NORMAL_EVENTS, KS_NORMALS };

const char *ks_normal_name(enum ks_normal normal);

/* How long a capture is in that respect; it was analysed with @filter. */
u64 ks_diff_size(const struct ks_model *model, const struct ks_filter *filter,
		 enum ks_normal normal);

enum ks_change { KS_GROWN, KS_SHRUNK, KS_NEW, KS_GONE, KS_SAME, KS_CHANGES };

const char *ks_change_name(enum ks_change change);

/* Captures of the same thing: one, or several, whose differences are noise. */
struct ks_diff_side {
	const struct ks_model *const *models;
	size_t len;
};

/*
 * Groups with equal labels are one row: namesakes, as far as two captures can tell. Of several captures a
 * side, numbers are means; a group that a capture lacks is 0 there.
 */
struct ks_diff_row {
	const char *label;
	struct ks_stat a, b; /* as they are */
	bool in_a, in_b;
	u64 before, after; /* the measure; before is scaled */
	enum ks_change change;
	u64 noise;   /* a change of up to this much may be chance; where the diff has noise */
	bool signal; /* it changed by more, and no capture of one side is like one of the other */
};

/* Labels are those of the models, which must outlive it. */
struct ks_diff {
	const struct ks_model *a, *b; /* the first of each side */
	struct ks_diff_side before, after;
	bool has_noise; /* there are three captures or more */
	enum ks_by by;
	enum ks_measure measure;
	enum ks_normal normal;
	u64 size_a, size_b; /* before is multiplied by size_b / size_a; both 1 for none. Means. */
	struct ks_diff_row total;
	KS_VEC(struct ks_diff_row) rows; /* signal before noise, then the largest change first */
	u64 changes[KS_CHANGES];	 /* how many rows of each kind */
	u64 signals;			 /* rows that changed by more than noise */
};

/* Both models have an account by @by, are of the same level, and were made with @filter. */
int ks_diff_init(struct ks_diff *diff, const struct ks_model *a, const struct ks_model *b,
		 enum ks_by by, const struct ks_filter *filter, enum ks_measure measure,
		 enum ks_normal normal, struct ks_diag *diag);

/* The same of several captures a side. The arrays must outlive it, too. */
int ks_diff_init_sides(struct ks_diff *diff, const struct ks_diff_side *before,
		       const struct ks_diff_side *after, enum ks_by by,
		       const struct ks_filter *filter, enum ks_measure measure,
		       enum ks_normal normal, struct ks_diag *diag);
void ks_diff_deinit(struct ks_diff *diff);

#endif
