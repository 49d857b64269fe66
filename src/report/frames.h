/* SPDX-License-Identifier: LGPL-2.1-only */
/* The frames of a call site, for flame graphs and profiles. */
#ifndef KS_REPORT_FRAMES_H
#define KS_REPORT_FRAMES_H

#include "analysis/model.h"

enum { KS_FRAMES_MAX = 34 + 128 };

/* A part of one of the group's strings. */
struct ks_frame {
	const char *s;
	size_t len;
};

/*
 * Root first. Of a group with a stack, the functions that called; else the directories and the file
 * where the source is known, each with its whole path, so that namesakes stay apart; else the module, or
 * "kernel". Then the function, then the site. Of a group by owner: the process, the cache, the site.
 */
struct ks_frames {
	struct ks_frame items[KS_FRAMES_MAX];
	size_t len;
};

struct ks_frames ks_frames_of(const struct ks_group *group);

#endif
