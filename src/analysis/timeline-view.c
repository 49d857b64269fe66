// SPDX-License-Identifier: LGPL-2.1-only
/* The view of memory over time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline-gather.h"
#include "analysis/view.h"
#include "analysis/views.h"

/* === Data ================================================================================= */

/* Of the first buckets. A microsecond is nothing; ticks may be as long as jiffies. */
enum { FIRST_WIDTH_NS = 1000, FIRST_WIDTH_TICKS = 1 };

struct timeline_view {
	struct ks_view base;
	struct ks_tl_gather *gather;
	u64 width; /* of the first buckets; 0 = small */

	/* Of one block: the kind of each shape and the owner of each task; KS_NONE = not asked yet. */
	u32 block;
	u32 kinds[KS_DB_BLOCK_EVENTS], owners[KS_DB_BLOCK_EVENTS];
};

/* === Internals ============================================================================ */

static int timeline_start(struct ks_view *view, const struct ks_run *run, struct ks_diag *diag)
{
	struct timeline_view *v = ks_container_of(view, struct timeline_view, base);
	u64 width = run->info->clock == KS_CLOCK_TICKS ? FIRST_WIDTH_TICKS : FIRST_WIDTH_NS;

	if (v->width)
		width = v->width;
	if (ks_tl_gather_new(run->names, run->first_ts, width, run->info->page_shift, &v->gather))
		return ks_diag_nomem(diag, "adding up over time");
	return 0;
}

static void start_block(struct timeline_view *v, const struct ks_run *run)
{
	memset(v->kinds, 0xff, run->shapes * sizeof(*v->kinds));
	memset(v->owners, 0xff, run->tasks * sizeof(*v->owners));
	v->block = run->block;
}

static u32 kind_of(struct timeline_view *v, const struct ks_run *run, const struct ks_event *ev)
{
	u32 *known;

	if (run->shape == KS_NONE)
		return ks_tl_gather_kind(v->gather, ev);
	known = &v->kinds[run->shape];
	if (*known == KS_NONE)
		*known = ks_tl_gather_kind(v->gather, ev);
	return *known;
}

static u32 owner_of(struct timeline_view *v, const struct ks_run *run, const struct ks_event *ev)
{
	u32 *known;

	if (run->task == KS_NONE)
		return ks_tl_gather_owner(v->gather, ev);
	known = &v->owners[run->task];
	if (*known == KS_NONE)
		*known = ks_tl_gather_owner(v->gather, ev);
	return *known;
}

/* @slot KS_NONE: of an object that can't be followed. */
static int timeline_begin(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
			  u32 slot, struct ks_diag *diag)
{
	struct timeline_view *v = ks_container_of(view, struct timeline_view, base);
	struct ks_tl_birth birth = {
		.ts = ev->ts,
		.ptr = ev->ptr,
		.bytes_req = (u32)ev->bytes_req,
		.bytes_alloc = (u32)ev->bytes_alloc,
		.cpu = ev->cpu,
	};

	if (unlikely(v->block != run->block))
		start_block(v, run);
	birth.kind = kind_of(v, run, ev);
	birth.owner = owner_of(v, run, ev);
	if (unlikely(birth.kind == KS_NONE || birth.owner == KS_NONE) ||
	    ks_tl_gather_begin(v->gather, &birth, slot))
		return ks_diag_nomem(diag, "adding up over time");
	return 0;
}

static int timeline_end(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
			u32 slot, enum ks_end how, struct ks_diag *diag)
{
	struct timeline_view *v = ks_container_of(view, struct timeline_view, base);

	(void)run;
	if (ks_tl_gather_end(v->gather, slot, ev->ts, ev->cpu, how))
		return ks_diag_nomem(diag, "adding up over time");
	return 0;
}

static int timeline_other(struct ks_view *view, const struct ks_run *run, const struct ks_event *ev,
			  enum ks_op op, struct ks_diag *diag)
{
	return op == KS_OP_ALLOC_UNPAIRED ? timeline_begin(view, run, ev, KS_NONE, diag) : 0;
}

static void timeline_prefetch(struct ks_view *view, u32 slot)
{
	ks_tl_gather_prefetch(ks_container_of(view, struct timeline_view, base)->gather, slot);
}

static int timeline_snapshot(struct ks_view *view, const struct ks_run *run, struct ks_model *model,
			     struct ks_diag *diag)
{
	struct timeline_view *v = ks_container_of(view, struct timeline_view, base);
	int err = 0;

	if (!v->gather) /* there was no event */
		err = timeline_start(view, run, diag);
	if (!err)
		err = ks_tl_gather_snapshot(v->gather, ks_run_end(run), run->places, run->frames,
					    &model->timeline, diag);
	if (!err)
		model->timeline->has_time = run->info->clock != KS_CLOCK_NONE;
	return err;
}

static void timeline_free(struct ks_view *view)
{
	struct timeline_view *v = ks_container_of(view, struct timeline_view, base);

	ks_tl_gather_free(v->gather);
	free(v);
}

/* === Public =============================================================================== */

struct ks_view *ks_timeline_view_new_of_width(u64 width)
{
	static const struct ks_view_ops ops = {
		.name = "timeline",
		.start = timeline_start,
		.begin = timeline_begin,
		.end = timeline_end,
		.other = timeline_other,
		.prefetch = timeline_prefetch,
		.snapshot = timeline_snapshot,
		.free = timeline_free,
	};
	struct timeline_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->base = (struct ks_view){ .ops = &ops, .wants_stacks = true };
	v->block = KS_NONE;
	v->width = width;
	return &v->base;
}

struct ks_view *ks_timeline_view_new(void)
{
	return ks_timeline_view_new_of_width(0);
}
