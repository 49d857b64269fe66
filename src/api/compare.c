// SPDX-License-Identifier: LGPL-2.1-only
/* Two analyses compared. */
#include "api/api.h"

static const char *measure_name(unsigned int measure)
{
	return ks_measure_name((enum ks_measure)measure);
}

static const char *normal_name(unsigned int normal)
{
	return ks_normal_name((enum ks_normal)normal);
}

/* What may be compared was looked at in the same way. */
static int check(const struct ks_model *before, const struct ks_model *after, unsigned int normal,
		 struct ks_diag *diag)
{
	if (before->level != after->level)
		return ks_diag_set(diag, -EINVAL, "one analysis is of %s, the other of %s",
				   ks_level_name(before->level), ks_level_name(after->level));
	if (normal == KS_NORMAL_TIME && before->clock != after->clock)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "the captures count time in %s and in %s: normalize by events",
				   ks_clock_name(before->clock), ks_clock_name(after->clock));
	return 0;
}

int ks_analyzer_compare(struct ks_analyzer *before, struct ks_analyzer *after,
			const struct ks_report_options *options, struct ks_document **ret_document,
			struct ks_diag *diag)
{
	unsigned int by, measure, normal;
	struct ks_report_options own;
	struct ks_model *a, *b;
	struct ks_diff diff;
	struct ks_doc *doc;
	int err = ks_api_options(options, &own, sizeof(own), diag);

	if (!err)
		err = ks_api_choice("by", own.by, ks_api_by_name, KS_BYS, &by, diag);
	if (!err)
		err = ks_api_choice("measure", own.measure, measure_name, KS_MEASURES, &measure,
				    diag);
	if (!err)
		err = ks_api_choice("normalize", own.normalize, normal_name, KS_NORMALS, &normal,
				    diag);
	if (!err)
		err = ks_api_account(before, (enum ks_by)by, &a, diag);
	if (!err)
		err = ks_api_account(after, (enum ks_by)by, &b, diag);
	if (!err)
		err = check(a, b, normal, diag);
	if (!err)
		err = ks_diff_init(&diff, a, b, (enum ks_by)by, &after->filter,
				   (enum ks_measure)measure, (enum ks_normal)normal, diag);
	if (err)
		return err;
	doc = ks_doc_of_diff(&diff, own.top, own.flags & KS_REPORT_ALL);
	ks_diff_deinit(&diff);
	return ks_api_document(doc, ret_document, diag);
}
