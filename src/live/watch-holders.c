// SPDX-License-Identifier: LGPL-2.1-only
/*
 * Who holds what grows: all of the heap is read once, with what points to what. It takes seconds, and memory for each object,
 * so it is done only for somebody who is about to be accused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "heap/holders.h"
#include "live/watch-steps.h"

/* === Data ================================================================================= */

enum { HOLDERS_SAID = 3 };

/* What is asked of one snapshot for each suspect. */
struct asking {
	const struct ks_snapshot *snapshot;
	struct ks_field_index *fields;
};

/* === Internals ============================================================================ */

/* "socket.sk (300), ...": the holders of the most objects. */
static int say_holders(const struct asking *a, const struct ks_selection *selection,
		       struct ks_suspect *suspect)
{
	struct ks_holders *holders;
	size_t i, len = 0, room = sizeof(suspect->holders);
	char name[256];
	int err = ks_holders_find(a->snapshot, a->fields, selection, &holders);

	if (err)
		return err;
	for (i = 0; i < holders->items.len && i < HOLDERS_SAID && len < room; i++) {
		const struct ks_holders_row *row = &holders->items.items[i];

		ks_holders_row_text(a->snapshot, a->fields, row, name, sizeof(name));
		len += (size_t)snprintf(suspect->holders + len, room - len, "%s%s (%" PRIu64 ")",
					i ? ", " : "", name, row->objects);
	}
	ks_holders_free(holders);
	return 0;
}

static int add_holders(const struct asking *a, struct ks_suspect *suspect)
{
	struct ks_selection *selection;
	struct ks_diag ignored;
	char text[160];
	int err;

	/* Where the type has no name to ask for, one object stands for all. */
	if (ks_suspect_has_type(suspect))
		snprintf(text, sizeof(text), "%s", suspect->type);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64, suspect->example);
	err = ks_selection_make(a->snapshot, text, &selection, &ignored);
	if (err)
		return err == -ENOMEM ? err : 0; /* it has gone meanwhile */
	suspect->held_objects = selection->objects;
	err = say_holders(a, selection, suspect);
	ks_selection_free(selection);
	return err;
}

/* === Public =============================================================================== */

bool ks_suspect_has_type(const struct ks_suspect *suspect)
{
	return *suspect->type && !strpbrk(suspect->type, " (|");
}

int ks_watch_add_holders(struct ks_watch_state *w, struct ks_live *live)
{
	struct asking a = { 0 };
	struct ks_snapshot *snapshot = NULL;
	struct ks_diag ignored;
	size_t i;
	int err = ks_live_heap(live, &snapshot, &ignored);

	/* A verdict without holders is one, too. */
	if (err)
		return err == -ENOMEM ? err : 0;
	a.snapshot = snapshot;
	err = ks_field_index_new(snapshot, &a.fields);
	for (i = 0; !err && i < w->tracing.len; i++)
		err = add_holders(&a, w->tracing.items[i]);
	ks_field_index_free(a.fields);
	ks_snapshot_free(snapshot);
	return err;
}
