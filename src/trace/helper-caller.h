/* SPDX-License-Identifier: LGPL-2.1-only */
/* On whose behalf a helper allocated: the caller of kstrdup, by the stack trace. */
#ifndef KS_TRACE_HELPER_CALLER_H
#define KS_TRACE_HELPER_CALLER_H

#include "trace/names.h"

/* Which functions to pass over; called from any thread. */
struct ks_frame_filter {
	bool (*skip)(const void *ctx, const char *func, size_t len);
	const void *ctx;
};

/*
 * The site of the first frame, further out than the function of @site, that the filter does not skip;
 * @site itself where the filter does not skip that, or the stack does not tell. KS_NONE for lack of
 * memory, or where @site is.
 */
u32 ks_helper_caller(const struct ks_frame_filter *filter, struct ks_names *names, u32 site,
		     u32 stack);

#endif
