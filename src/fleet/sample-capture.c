// SPDX-License-Identifier: LGPL-2.1-only
/* Makes a batch of a capture: what was allocated and freed while it was recorded is its interval. */
#include <errno.h>
#include <string.h>

#include "fleet/sample.h"

/* === Data ================================================================================= */

#define SECOND 1000000000ull

/* === Internals ============================================================================ */

/* Frames, outermost first, with ';' between them; the last one is the site. */
static int name_stack(struct ks_fleet_batch *batch, const struct ks_group *group, u64 *ret_id)
{
	struct ks_strbuf stack;
	size_t i;
	int err;

	ks_strbuf_init(&stack);
	for (i = group->callers_len; i--;)
		ks_strbuf_printf(&stack, "%s;", group->callers[i]);
	ks_strbuf_puts(&stack, group->label);
	err = stack.failed ? -ENOMEM
			   : ks_fleet_batch_name(batch, NULL, KS_FLEET_STACK, stack.s, ret_id);
	ks_strbuf_deinit(&stack);
	return err;
}

static int add_group(struct ks_fleet_batch *batch, const struct ks_group *group)
{
	struct ks_fleet_row *row = ks_vec_push(&batch->rows);
	int err;

	if (!row)
		return -ENOMEM;
	row->live_bytes = (s64)group->stat.live_bytes;
	row->live_objects = (s64)group->stat.live_objs;
	row->allocs = group->stat.allocs;
	row->frees = group->stat.frees + ks_stat_unseen(&group->stat);
	row->quality = KS_FLEET_OFFLINE;
	err = ks_fleet_batch_name(batch, NULL, KS_FLEET_CACHE, group->cache ? group->cache : "",
				  &row->cache);
	if (!err)
		err = ks_fleet_batch_name(batch, NULL, KS_FLEET_SITE, group->label, &row->site);
	return err || !group->callers_len ? err : name_stack(batch, group, &row->stack);
}

/*
 * What the kernel counted at the end has more than was recorded. The difference has no site, so that sums by cache are
 * what the kernel had.
 */
static int add_rest(struct ks_fleet_batch *batch, const struct ks_model *model)
{
	size_t traced = batch->rows.len, i, j;

	for (i = 0; model->kernel_slabs.counted[1] && i < model->kernel_slabs.caches.len; i++) {
		const struct ks_kernel_cache *cache = &model->kernel_slabs.caches.items[i];
		struct ks_fleet_row rest = { .live_bytes = (s64)cache->bytes[1],
					     .live_objects = (s64)cache->objects[1],
					     .quality = KS_FLEET_OFFLINE | KS_FLEET_NO_RATES };
		struct ks_fleet_row *row;

		if (ks_fleet_batch_name(batch, NULL, KS_FLEET_CACHE, cache->name, &rest.cache))
			return -ENOMEM;
		for (j = 0; j < traced; j++)
			if (batch->rows.items[j].cache == rest.cache) {
				rest.live_bytes -= batch->rows.items[j].live_bytes;
				rest.live_objects -= batch->rows.items[j].live_objects;
			}
		row = ks_vec_push(&batch->rows);
		if (!row)
			return -ENOMEM;
		*row = rest;
	}
	return 0;
}

/* === Public =============================================================================== */

int ks_fleet_sample_capture(struct ks_fleet_batch *batch, const struct ks_model *model,
			    u64 began_ns, struct ks_diag *diag)
{
	const struct ks_sums *sums = &model->accounts.items[0];
	u64 began = began_ns ? began_ns : ks_wall_of(&model->wall, model->first_ts);
	u64 span = (model->last_ts - model->first_ts) / SECOND + 1;
	size_t i;
	int err = 0;

	if (!began)
		return ks_diag_set(diag, -ENODATA, "does not say when it was recorded: use --at");
	if (span > 86400 || began / SECOND > UINT32_MAX)
		return ks_diag_set(diag, KS_EBADINPUT, "lasts longer than a day");
	batch->at = (u32)(began / SECOND);
	batch->span = (u32)span;
	batch->version = began;
	batch->uptime = UINT32_MAX;
	batch->quality |= KS_FLEET_OFFLINE;
	for (i = 0; i < KS_QUALITIES; i++)
		if (ks_quality_is_loss((enum ks_quality)i) && model->quality[i])
			batch->quality |= KS_FLEET_TORN;
	for (i = 0; !err && i < sums->groups.len; i++)
		if (!ks_stat_is_empty(&sums->groups.items[i].stat))
			err = add_group(batch, &sums->groups.items[i]);
	if (!err)
		err = add_rest(batch, model);
	if (err)
		return ks_diag_nomem(diag, "making rows of a capture");
	ks_fleet_batch_sort(batch);
	if (batch->rows.len > KS_FLEET_ROWS_MAX)
		return ks_diag_set(diag, -E2BIG, "has %zu sites and stacks, more than %d",
				   batch->rows.len, (int)KS_FLEET_ROWS_MAX);
	return 0;
}
