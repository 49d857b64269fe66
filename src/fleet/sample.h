/* SPDX-License-Identifier: LGPL-2.1-only */
/* Rows of a batch from what a kernel's memory holds. */
#ifndef KS_FLEET_SAMPLE_H
#define KS_FLEET_SAMPLE_H

#include "analysis/model.h"
#include "fleet/batch.h"
#include "heap/snapshot.h"
#include "live/snapshot.h"

/*
 * Fills a batch in with a census or a snapshot: whose it is, when, and a row for each cache; for each cache and type
 * where the snapshot has objects. @known as in ks_fleet_batch_name().
 */
int ks_fleet_sample(struct ks_fleet_batch *batch, struct ks_map64 *known,
		    const struct ks_snapshot *snapshot, struct ks_diag *diag);

/*
 * The same from a look at the running kernel: rows by cache, or by type and cache where @types; and by site, stack and
 * cgroup where its level has traced them. -ENODATA: the look has no types.
 */
int ks_fleet_sample_live(struct ks_fleet_batch *batch, struct ks_map64 *known,
			 const struct ks_live_snapshot *snapshot, bool types, struct ks_diag *diag);

/*
 * The same from a capture, whose model has the account KS_BY_SAMPLE: rows by cache, site and stack, with what was
 * allocated and freed; what the kernel counted beside them has no site. @began_ns: when it was recorded; 0 = as it says
 * itself. -ENODATA: it does not.
 */
int ks_fleet_sample_capture(struct ks_fleet_batch *batch, const struct ks_model *model,
			    u64 began_ns, struct ks_diag *diag);

/* Sets host, boot and build, by name. */
int ks_fleet_identify(struct ks_fleet_batch *batch, struct ks_map64 *known, const char *host,
		      const char *boot, const char *build);

#endif
