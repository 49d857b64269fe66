// SPDX-License-Identifier: LGPL-2.1-only
/* Objects handed to a callback, with names in place of numbers. */
#include "analysis/objects.h"
#include "api/api.h"

static int name(struct ks_object_source *source, enum ks_object_names table, u32 id,
		const char **ret_name, struct ks_diag *diag)
{
	*ret_name = ks_object_name(source, table, id, diag);
	return *ret_name ? 0 : diag->err;
}

int ks_api_hand_out(void *ctx, struct ks_object_source *source, const struct ks_object_row *row,
		    struct ks_diag *diag)
{
	const struct ks_api_objects *objects = ctx;
	struct ks_diag own = { 0 };
	struct ks_object object = {
		.size = sizeof(object),
		.kind = row->kind,
		.address = row->address,
		.bytes_requested = row->bytes_req,
		.bytes_allocated = row->bytes_alloc,
		.alloc_time = row->alloc_ts,
		.end = ks_end_name(row->end),
	};
	int err;

	if (!diag)
		diag = &own;
	if (row->end != KS_END_LIVE) {
		object.has |= KS_OBJECT_HAS_END;
		object.end_time = row->end_ts;
	}
	if (row->pid != KS_PID_UNKNOWN) {
		object.has |= KS_OBJECT_HAS_PID;
		object.pid = row->pid;
	}
	if (row->alloc_cpu != KS_CPU_UNKNOWN) {
		object.has |= KS_OBJECT_HAS_CPU;
		object.cpu = row->alloc_cpu;
	}
	if (row->free_cpu != KS_CPU_UNKNOWN) {
		object.has |= KS_OBJECT_HAS_FREE_CPU;
		object.free_cpu = row->free_cpu;
	}
	err = name(source, KS_NAMES_SITE, row->site, &object.site, diag);
	if (!err)
		err = name(source, KS_NAMES_CACHE, row->cache, &object.cache, diag);
	if (!err)
		err = name(source, KS_NAMES_COMM, row->comm, &object.comm, diag);
	if (!err)
		err = name(source, KS_NAMES_GFP, row->gfp, &object.gfp, diag);
	if (!err)
		err = name(source, KS_NAMES_SITE, row->free_site, &object.free_site, diag);
	return err ? err : objects->callback(objects->ctx, &object, diag);
}
