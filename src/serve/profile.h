/* SPDX-License-Identifier: LGPL-2.1-only */
/* What is in use by stack, as profiles of other tools: pprof, and OpenTelemetry's. */
#ifndef KS_SERVE_PROFILE_H
#define KS_SERVE_PROFILE_H

#include "base/strbuf.h"
#include "live/snapshot.h"

enum ks_profile_kind {
	KS_PROFILE_HEAP,   /* all that is in use, by type and cache */
	KS_PROFILE_ALLOCS, /* what was allocated since the level was taken and is in use, by stack */
};

/* The most stacks that a profile has; the rest is one of them, called "other". */
enum { KS_PROFILE_STACKS_MAX = 5000 };

/* pprof's profile.proto, compressed. */
void ks_profile_pprof(const struct ks_live_snapshot *snapshot, enum ks_profile_kind kind,
		      struct ks_strbuf *out);

/* Stacks that the caller has: "inner+0x1 <- outer+0x2", and what is in use of each. */
struct ks_profile_stack {
	const char *stack;
	u64 objects, bytes;
};
void ks_profile_pprof_stacks(const struct ks_profile_stack *stacks, size_t len, u64 wall_ns,
			     const char *comment, struct ks_strbuf *out);

/* OpenTelemetry's ExportProfilesServiceRequest of package v1development, as of version 1.11 of the protocol. */
void ks_profile_otlp(const struct ks_live_snapshot *snapshot, enum ks_profile_kind kind,
		     struct ks_strbuf *out);

#endif
