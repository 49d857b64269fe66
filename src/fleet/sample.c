// SPDX-License-Identifier: LGPL-2.1-only
/* Makes a batch of a census or a snapshot. */
#include "fleet/sample.h"

#include <errno.h>
#include <math.h>

#include "heap/type-sums.h"

/* === Internals ============================================================================ */

static int add_row(struct ks_fleet_batch *batch, struct ks_map64 *known,
		   const struct ks_snapshot *snapshot, u32 cache, const char *type, u64 bytes,
		   u64 objects)
{
	struct ks_fleet_row *row = objects ? ks_vec_push(&batch->rows) : NULL;

	if (!objects)
		return 0;
	if (!row)
		return -ENOMEM;
	row->live_bytes = (s64)bytes;
	row->live_objects = (s64)objects;
	row->quality = KS_FLEET_NO_RATES;
	if (ks_fleet_batch_name(batch, known, KS_FLEET_CACHE, snapshot->caches.items[cache].name,
				&row->cache))
		return -ENOMEM;
	return ks_fleet_batch_name(batch, known, KS_FLEET_TYPE, type, &row->type);
}

static int add_cell(struct ks_fleet_batch *batch, struct ks_map64 *known,
		    const struct ks_live_snapshot *snapshot, const struct ks_live_cell *cell)
{
	static const struct {
		enum ks_live_by by;
		enum ks_fleet_kind kind;
		size_t at;
	} keys[] = {
		{ KS_LIVE_BY_CACHE, KS_FLEET_CACHE, offsetof(struct ks_fleet_row, cache) },
		{ KS_LIVE_BY_TYPE, KS_FLEET_TYPE, offsetof(struct ks_fleet_row, type) },
	};
	struct ks_fleet_row *row = ks_vec_push(&batch->rows);
	size_t i;

	if (!row)
		return -ENOMEM;
	row->live_bytes = (s64)cell->bytes;
	row->live_objects = (s64)cell->objects;
	row->std_error = (float)sqrt(cell->variance);
	row->quality = KS_FLEET_NO_RATES;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct ks_str name =
			ks_intern_get(&snapshot->names[keys[i].by], cell->key[keys[i].by]);
		u64 *id = (u64 *)((char *)row + keys[i].at);

		if (ks_fleet_batch_name(batch, known, keys[i].kind, name.s, id))
			return -ENOMEM;
	}
	return 0;
}

static int add_types(struct ks_fleet_batch *batch, struct ks_map64 *known,
		     const struct ks_snapshot *snapshot)
{
	struct ks_type_sums sums;
	int err = ks_type_sums_init(&sums, snapshot);
	size_t i;

	for (i = 0; !err && i < sums.items.len; i++) {
		const struct ks_type_sum *sum = &sums.items.items[i];

		err = add_row(batch, known, snapshot, sum->cache,
			      sum->type ? snapshot->types.items[sum->type].name : "", sum->bytes,
			      sum->objects);
	}
	ks_type_sums_deinit(&sums);
	return err;
}

/* === Public =============================================================================== */

int ks_fleet_identify(struct ks_fleet_batch *batch, struct ks_map64 *known, const char *host,
		      const char *boot, const char *build)
{
	int err = ks_fleet_batch_name(batch, known, KS_FLEET_HOST, host, &batch->host);

	if (!err)
		err = ks_fleet_batch_name(batch, known, KS_FLEET_BOOT, boot, &batch->boot);
	if (!err)
		err = ks_fleet_batch_name(batch, known, KS_FLEET_BUILD, build, &batch->build);
	return err;
}

int ks_fleet_sample(struct ks_fleet_batch *batch, struct ks_map64 *known,
		    const struct ks_snapshot *snapshot, struct ks_diag *diag)
{
	int err = 0;
	u32 i;

	batch->quality |= KS_FLEET_NO_RATES;
	batch->torn = (u32)ks_min(snapshot->quality[KS_HEAP_TORN_SLABS], (u64)UINT32_MAX);
	if (batch->torn)
		batch->quality |= KS_FLEET_TORN;
	batch->uptime = snapshot->uptime_ns ? (u32)(snapshot->uptime_ns / 1000000000) : UINT32_MAX;
	if (snapshot->count)
		err = add_types(batch, known, snapshot);
	for (i = 0; !err && !snapshot->count && i < snapshot->caches.len; i++)
		err = add_row(batch, known, snapshot, i, "", snapshot->caches.items[i].census.bytes,
			      snapshot->caches.items[i].census.objects);
	if (err)
		return ks_diag_nomem(diag, "making rows of a heap");
	ks_fleet_batch_sort(batch);
	return 0;
}

int ks_fleet_sample_live(struct ks_fleet_batch *batch, struct ks_map64 *known,
			 const struct ks_live_snapshot *snapshot, bool types, struct ks_diag *diag)
{
	enum ks_live_part part = types ? KS_LIVE_TYPES : KS_LIVE_CACHES;
	size_t i;

	if (!snapshot->parts[part].present)
		return ks_diag_set(diag, -ENODATA, "this look at the kernel has no %s",
				   types ? "types" : "caches");
	batch->quality |= KS_FLEET_NO_RATES;
	batch->torn = (u32)ks_min(snapshot->quality.torn, (u64)UINT32_MAX);
	if (batch->torn)
		batch->quality |= KS_FLEET_TORN;
	batch->uptime = (u32)(snapshot->at_ns / 1000000000);
	for (i = 0; i < snapshot->cells.len; i++) {
		const struct ks_live_cell *cell = &snapshot->cells.items[i];

		if (cell->part != part || !cell->objects)
			continue;
		if (add_cell(batch, known, snapshot, cell))
			return ks_diag_nomem(diag, "making rows of a look at the kernel");
	}
	ks_fleet_batch_sort(batch);
	return 0;
}
