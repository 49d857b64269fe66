/* SPDX-License-Identifier: LGPL-2.1-only */
/* Private to the writers of profiles: the samples and the tables of names that both formats have. */
#ifndef KS_SERVE_PROFILE_SAMPLES_H
#define KS_SERVE_PROFILE_SAMPLES_H

#include "serve/profile.h"

/* A stack, its frames from the allocation on, and what is in use. */
struct ks_profile_sample {
	u32 first, len; /* of frames */
	u32 cache;	/* a string */
	u64 objects, bytes;
};

/* Strings, functions, and frames have numbers; string 0 is "". */
struct ks_profile {
	struct ks_intern strings;
	struct ks_intern places; /* a frame's text: "kmalloc+0x10" */
	KS_VEC(u32) functions;	 /* by place: the string that is its function */
	KS_VEC(u32) frames;	 /* places */
	KS_VEC(struct ks_profile_sample) samples;
	const char *comment;
	u64 duration_ns;
	bool failed;
};

int ks_profile_make(struct ks_profile *profile, const struct ks_live_snapshot *snapshot,
		    enum ks_profile_kind kind);
int ks_profile_make_stacks(struct ks_profile *profile, const struct ks_profile_stack *stacks,
			   size_t len, const char *comment);
void ks_profile_deinit(struct ks_profile *profile);

/* The number of a string, new or old. */
u32 ks_profile_string(struct ks_profile *profile, const char *s);

#endif
