// SPDX-License-Identifier: LGPL-2.1-only
/* Reads single fields of all objects of a type, and by these what objects are called. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/take.h"

/* === Data ================================================================================= */

enum { BATCH = 1024, WANTED_MAX = 4, FIELD_MAX = 32 };

struct labelling {
	struct ks_snapshot *snapshot;
	bool number; /* behind the text there is one */
	bool failed;
};

/* === Internals ============================================================================ */

static u32 find_type(const struct ks_snapshot *s, const char *name)
{
	u32 i;

	for (i = 1; i < s->types.len; i++)
		if (!strcmp(s->types.items[i].name, name))
			return i;
	return 0;
}

static void add_label(void *arg, u32 object, const u8 *const *fields)
{
	struct labelling *l = arg;
	struct ks_heap_label *label = ks_vec_push(&l->snapshot->labels);
	char text[FIELD_MAX + 1] = "", name[FIELD_MAX + 16];

	memcpy(text, fields[0], FIELD_MAX);
	if (l->number)
		snprintf(name, sizeof(name), "%s/%u", text, ks_u32_at(fields[1], 0));
	else
		snprintf(name, sizeof(name), "%s", text);
	if (label)
		*label = (struct ks_heap_label){
			.object = object,
			.name = ks_arena_strndup(&l->snapshot->arena, name, strlen(name)),
		};
	if (!label || !label->name)
		l->failed = true;
}

static int by_object(const void *a, const void *b)
{
	const struct ks_heap_label *x = a, *y = b;

	return x->object < y->object ? -1 : x->object > y->object;
}

/* === Public =============================================================================== */

int ks_take_read_fields(struct ks_taking *t, const char *type, const struct ks_wanted *wanted,
			size_t count, ks_fields_fn *fn, void *arg, struct ks_diag *diag)
{
	struct ks_snapshot *s = t->snapshot;
	u32 number = find_type(s, type), offsets[WANTED_MAX], objects[BATCH], i, k, n;
	const u8 *fields[WANTED_MAX];
	struct ks_piece *pieces;
	u8 *raw;
	size_t f;
	int err = 0;

	for (f = 0; number && f < count; f++) {
		offsets[f] =
			ks_types_member(t->typing->types, t->type_of[number], wanted[f].member);
		if (offsets[f] == KS_NONE)
			return 0; /* a kernel that has no such field */
	}
	if (!number)
		return 0;
	pieces = calloc(BATCH * count, sizeof(*pieces));
	raw = calloc(BATCH * count, FIELD_MAX);
	if (!pieces || !raw)
		err = -ENOMEM;
	for (i = 0; !err && i < s->count;) {
		for (n = 0; i < s->count && n < BATCH; i++) {
			if (s->type[i] != number)
				continue;
			for (f = 0; f < count; f++)
				pieces[n * count + f] = (struct ks_piece){
					.addr = s->addr[i] + offsets[f],
					.buf = raw + (n * count + f) * FIELD_MAX,
					.len = ks_min(wanted[f].len, (u32)FIELD_MAX),
				};
			objects[n++] = i;
		}
		err = ks_memory_read(t->kernel->memory, pieces, n * count, diag);
		for (k = 0; !err && k < n; k++) {
			for (f = 0; f < count; f++)
				fields[f] = pieces[k * count + f].buf;
			fn(arg, objects[k], fields);
		}
	}
	free(pieces);
	free(raw);
	return err;
}

int ks_take_labels(struct ks_taking *t, struct ks_diag *diag)
{
	struct labelling l = { .snapshot = t->snapshot };
	const struct ks_wanted task[] = { { "comm", 15 }, { "pid", 4 } },
			       block[] = { { "s_id", 31 } };
	int err;

	l.number = true;
	err = ks_take_read_fields(t, "task_struct", task, 2, add_label, &l, diag);
	l.number = false;
	if (!err)
		err = ks_take_read_fields(t, "super_block", block, 1, add_label, &l, diag);
	if (!err && l.failed)
		err = -ENOMEM;
	if (!err && t->snapshot->labels.len)
		qsort(t->snapshot->labels.items, t->snapshot->labels.len,
		      sizeof(*t->snapshot->labels.items), by_object);
	return err;
}
