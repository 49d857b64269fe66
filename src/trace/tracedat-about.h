/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * What a capture of kmemscope says of its own making, as words in the text of the version option, which other readers only
 * show: kmemscope-captures(5).
 */
#ifndef KS_TRACE_TRACEDAT_ABOUT_H
#define KS_TRACE_TRACEDAT_ABOUT_H

#include "base/strbuf.h"
#include "trace/wall.h"

struct ks_td_about {
	struct ks_wall wall;
	u64 probes_missed; /* calls that the recorder's probes missed */
	char only
		[512]; /* which allocations were recorded, as options: "--cache=dentry"; "" = all */
};

/* Appends " wall=..." and so on. */
void ks_td_about_print(const struct ks_td_about *about, struct ks_strbuf *sb);

/* From the whole text; what is not there, or makes no sense, is left as it is. */
void ks_td_about_parse(struct ks_td_about *about, const char *text);

#endif
