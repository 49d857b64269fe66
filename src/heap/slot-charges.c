// SPDX-License-Identifier: LGPL-2.1-only
/* The cgroup of each single object, from the notes that charges.c adds up. */
#include "heap/notes.h"

/* === Data ================================================================================= */

struct charging {
	const struct ks_charges *charges;
	u32 at; /* in a note */
	u16 *of;
	u64 last; /* the payer that was looked up last: neighbours mostly have one */
	u16 cgroup;
};

/* === Internals ============================================================================ */

static void take_note(void *arg, u32 slot, const u8 *note)
{
	struct charging *c = arg;
	u64 payer = ks_u64_at(note, c->at) & ~KS_NOTE_FLAGS;

	if (payer != c->last) {
		c->last = payer;
		c->cgroup = ks_charges_cgroup(c->charges, payer);
	}
	c->of[slot] = c->cgroup;
}

/* === Public =============================================================================== */

int ks_charges_of_slots(struct ks_kernel *k, const struct ks_census *c,
			const struct ks_slots *slots, u16 *ret_of, struct ks_diag *diag)
{
	struct charging charging = { .charges = c->charges,
				     .at = k->layout.ext_objcg,
				     .of = ret_of };

	if (!c->charges || k->layout.ext_objcg == KS_NONE)
		return 0;
	return ks_notes_walk(k, c, slots, take_note, &charging, diag);
}
