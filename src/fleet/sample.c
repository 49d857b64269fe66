// SPDX-License-Identifier: LGPL-2.1-only
/* Makes a batch of a census or a snapshot. */
#include "fleet/sample.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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

/*
 * Live names a stack from the inside, "a+0x1 <- b+0x2"; a fleet's has its frames outermost first, with ';' between them. What does not
 * fit is left out at the outer end.
 */
static int turn_stack(const char *name, struct ks_strbuf *out)
{
	static const char arrow[] = " <- ";
	const char *end = name, *next;
	size_t len = strlen(name);

	while ((next = strstr(end, arrow)) && (size_t)(next - name) < KS_FLEET_NAME_MAX)
		end = next + strlen(arrow);
	if (len >= KS_FLEET_NAME_MAX && end > name)
		len = (size_t)(end - name) - strlen(arrow);
	while (len) {
		size_t from = len;

		while (from >= strlen(arrow) &&
		       memcmp(name + from - strlen(arrow), arrow, strlen(arrow)))
			from--;
		if (from < strlen(arrow))
			from = 0;
		if (out->len)
			ks_strbuf_puts(out, ";");
		ks_strbuf_add(out, name + from, len - from);
		len = from ? from - strlen(arrow) : 0;
	}
	return out->failed ? -ENOMEM : 0;
}

static int name_key(struct ks_fleet_batch *batch, struct ks_map64 *known, enum ks_fleet_kind kind,
		    const char *name, u64 *ret_id)
{
	struct ks_strbuf stack;
	int err;

	if (kind != KS_FLEET_STACK)
		return ks_fleet_batch_name(batch, known, kind, name, ret_id);
	ks_strbuf_init(&stack);
	err = turn_stack(name, &stack);
	if (!err)
		err = ks_fleet_batch_name(batch, known, kind, ks_strbuf_str(&stack), ret_id);
	ks_strbuf_deinit(&stack);
	return err;
}

/* The number of the row in *@ret_row. */
static int add_cell(struct ks_fleet_batch *batch, struct ks_map64 *known,
		    const struct ks_live_snapshot *snapshot, const struct ks_live_cell *cell,
		    size_t *ret_row)
{
	static const struct {
		enum ks_live_by by;
		enum ks_fleet_kind kind;
		size_t at;
	} keys[] = {
		{ KS_LIVE_BY_CACHE, KS_FLEET_CACHE, offsetof(struct ks_fleet_row, cache) },
		{ KS_LIVE_BY_TYPE, KS_FLEET_TYPE, offsetof(struct ks_fleet_row, type) },
		{ KS_LIVE_BY_SITE, KS_FLEET_SITE, offsetof(struct ks_fleet_row, site) },
		{ KS_LIVE_BY_STACK, KS_FLEET_STACK, offsetof(struct ks_fleet_row, stack) },
		{ KS_LIVE_BY_CGROUP, KS_FLEET_CGROUP, offsetof(struct ks_fleet_row, cgroup) },
	};
	struct ks_fleet_row *row = ks_vec_push(&batch->rows);
	size_t i;

	if (!row)
		return -ENOMEM;
	row->live_bytes = (s64)cell->bytes;
	row->live_objects = (s64)cell->objects;
	row->std_error = (float)sqrt(cell->variance);
	row->quality = KS_FLEET_NO_RATES;
	if (cell->variance > 0)
		row->quality |= KS_FLEET_SAMPLED;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		u32 key = cell->key[keys[i].by];
		struct ks_str name = ks_intern_get(&snapshot->names[keys[i].by], key);
		u64 *id = (u64 *)((char *)row + keys[i].at);

		if (key != KS_NONE && name_key(batch, known, keys[i].kind, name.s, id))
			return -ENOMEM;
	}
	*ret_row = batch->rows.len - 1;
	return 0;
}

/*
 * What was traced is a part of what was counted. A row for each site says how much, and the row of its cache without a site gets
 * that much less, so that sums by cache and by type stay what was counted. It may come out below zero where samples
 * stand for more than there is.
 */
static int add_traced(struct ks_fleet_batch *batch, struct ks_map64 *known,
		      const struct ks_live_snapshot *snapshot, const struct ks_live_cell *cell)
{
	struct ks_fleet_row *rest;
	size_t number;

	if (add_cell(batch, known, snapshot, cell, &number))
		return -ENOMEM;
	batch->quality |= batch->rows.items[number].quality & KS_FLEET_SAMPLED;
	rest = ks_vec_push(&batch->rows);
	if (!rest)
		return -ENOMEM;
	*rest = (struct ks_fleet_row){ .cache = batch->rows.items[number].cache,
				       .live_bytes = -(s64)cell->bytes,
				       .live_objects = -(s64)cell->objects,
				       .std_error = batch->rows.items[number].std_error,
				       .quality = batch->rows.items[number].quality };
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
	size_t i, number;
	int err;

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

		if (!cell->objects)
			continue;
		err = cell->part == part ? add_cell(batch, known, snapshot, cell, &number)
		      : cell->part == KS_LIVE_TRACED ? add_traced(batch, known, snapshot, cell)
						     : 0;
		if (err)
			return ks_diag_nomem(diag, "making rows of a look at the kernel");
	}
	ks_fleet_batch_sort(batch);
	return 0;
}
