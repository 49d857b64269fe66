// SPDX-License-Identifier: LGPL-2.1-only
/* The cgroup of each single object, from the notes that charges.c adds up. */
#include <errno.h>
#include <stdlib.h>

#include "heap/objects.h"

/* === Data ================================================================================= */

enum { BATCH = 1024 }; /* slabs that are read at once */

#define ROOM  (4ul << 20)
#define FLAGS 7ull

struct reading {
	struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_slots *slots;
	u16 *of;
	struct ks_piece pieces[BATCH];
	u32 slabs[BATCH];
	u8 *raw;
	size_t used, count;
	u64 last; /* the payer that was looked up last: neighbours mostly have one */
	u16 cgroup;
};

/* === Internals ============================================================================ */

static u32 stride_of(const struct reading *r, const struct ks_slab *slab)
{
	return ks_max((u32)slab->stride, r->kernel->layout.ext_size);
}

static void take_slab(struct reading *r, u32 number, const u8 *notes)
{
	const struct ks_slab *slab = &r->census->pages->slabs.items[number];
	u32 slot = r->slots->first[number], end = r->slots->first[number + 1];
	u64 payer;

	for (; slot < end; slot++, notes += stride_of(r, slab)) {
		payer = ks_u64_at(notes, r->kernel->layout.ext_objcg) & ~FLAGS;
		if (payer != r->last) {
			r->last = payer;
			r->cgroup = ks_charges_cgroup(r->census->charges, payer);
		}
		r->of[slot] = r->cgroup;
	}
}

static int flush(struct reading *r, struct ks_diag *diag)
{
	int err = ks_memory_read(r->kernel->memory, r->pieces, r->count, diag);
	size_t i;

	/* What can't be read is charged to nobody; the census has counted it. */
	for (i = 0; !err && i < r->count; i++)
		if (!r->pieces[i].failed)
			take_slab(r, r->slabs[i], r->pieces[i].buf);
	r->count = r->used = 0;
	return err;
}

static int add_slab(struct reading *r, u32 number, struct ks_diag *diag)
{
	const struct ks_slab *slab = &r->census->pages->slabs.items[number];
	u32 objects = r->slots->first[number + 1] - r->slots->first[number];
	size_t len = (size_t)objects * stride_of(r, slab);
	int err = 0;

	if (!(slab->exts & ~FLAGS) || !len || len > ROOM)
		return 0;
	if (r->count == BATCH || r->used + len > ROOM)
		err = flush(r, diag);
	r->slabs[r->count] = number;
	r->pieces[r->count++] = (struct ks_piece){
		.addr = slab->exts & ~FLAGS,
		.buf = r->raw + r->used,
		.len = (u32)len,
	};
	r->used += len;
	return err;
}

/* === Public =============================================================================== */

int ks_charges_of_slots(struct ks_kernel *k, const struct ks_census *c,
			const struct ks_slots *slots, u16 *ret_of, struct ks_diag *diag)
{
	struct reading *r;
	size_t i;
	int err = 0;

	if (!c->charges || k->layout.slab_exts == KS_NONE)
		return 0;
	r = calloc(1, sizeof(*r));
	if (r)
		*r = (struct reading){ .kernel = k, .census = c, .slots = slots, .of = ret_of };
	if (r)
		r->raw = malloc(ROOM);
	if (!r || !r->raw)
		err = ks_diag_nomem(diag, "reading charges");
	for (i = 0; !err && i < c->pages->slabs.len; i++)
		err = add_slab(r, (u32)i, diag);
	if (!err)
		err = flush(r, diag);
	if (r)
		free(r->raw);
	free(r);
	return err;
}
