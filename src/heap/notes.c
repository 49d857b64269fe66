// SPDX-License-Identifier: LGPL-2.1-only
/* Reads the arrays of notes, many slabs in one go. */
#include "heap/notes.h"

#include <errno.h>
#include <stdlib.h>

/* === Data ================================================================================= */

enum { BATCH = 1024 }; /* slabs that are read at once */

#define ROOM (4ul << 20)

struct reading {
	struct ks_kernel *kernel;
	const struct ks_census *census;
	const struct ks_slots *slots;
	ks_note_fn *fn;
	void *arg;
	struct ks_piece pieces[BATCH];
	u32 slabs[BATCH];
	u8 *raw;
	size_t used, count;
};

/* === Internals ============================================================================ */

static u32 stride_of(const struct reading *r, const struct ks_slab *slab)
{
	return ks_max((u32)slab->stride, r->kernel->layout.ext_size);
}

static void take_slab(struct reading *r, u32 number, const u8 *notes)
{
	u32 stride = stride_of(r, &r->census->pages->slabs.items[number]), slot;

	for (slot = r->slots->first[number]; slot < r->slots->first[number + 1];
	     slot++, notes += stride)
		r->fn(r->arg, slot, notes);
}

static int flush(struct reading *r, struct ks_diag *diag)
{
	int err = ks_memory_read(r->kernel->memory, r->pieces, r->count, diag);
	size_t i;

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

	if (!(slab->exts & ~KS_NOTE_FLAGS) || !len || len > ROOM)
		return 0;
	if (r->count == BATCH || r->used + len > ROOM)
		err = flush(r, diag);
	r->slabs[r->count] = number;
	r->pieces[r->count++] = (struct ks_piece){
		.addr = slab->exts & ~KS_NOTE_FLAGS,
		.buf = r->raw + r->used,
		.len = (u32)len,
	};
	r->used += len;
	return err;
}

/* === Public =============================================================================== */

int ks_notes_walk(struct ks_kernel *k, const struct ks_census *c, const struct ks_slots *slots,
		  ks_note_fn *fn, void *arg, struct ks_diag *diag)
{
	struct reading *r = calloc(1, sizeof(*r));
	size_t i;
	int err = 0;

	if (r)
		*r = (struct reading){
			.kernel = k, .census = c, .slots = slots, .fn = fn, .arg = arg
		};
	if (r)
		r->raw = malloc(ROOM);
	if (!r || !r->raw)
		err = ks_diag_nomem(diag, "reading notes of objects");
	for (i = 0; !err && i < c->pages->slabs.len; i++)
		err = add_slab(r, (u32)i, diag);
	if (!err)
		err = flush(r, diag);
	if (r)
		free(r->raw);
	free(r);
	return err;
}
