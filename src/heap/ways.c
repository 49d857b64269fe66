// SPDX-License-Identifier: LGPL-2.1-only
/* Breadth-first searches. A queue has each object at most once, so cycles end. */
#include "heap/ways.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/field-index.h"

/* === Data ================================================================================= */

enum { AHEAD = 8 }; /* objects in the queue whose references are brought into the cache */

/* Roots that are of one worth, as bits. */
static const u32 phases[] = {
	1 << KS_ROOT_DATA | 1 << KS_ROOT_PERCPU,
	1 << KS_ROOT_VMALLOC | 1 << KS_ROOT_PAGES,
	1 << KS_ROOT_STACK,
	1 << KS_ROOT_STRUCTS,
};

struct search {
	const struct ks_snapshot *snapshot;
	struct ks_field_index *fields;
	u8 *kinds; /* by field: KIND_* */
	u8 follow; /* kinds of fields that are followed */
	u32 *from;
	u32 *queue;
	u32 head, tail;
};

/* Fields by what they are good for, as bits. */
enum { KIND_POINTER = 1, KIND_LINK = 2, KIND_DOUBTFUL = 4 };

/* === Internals ============================================================================ */

static void visit(struct search *s, u32 object, u32 from)
{
	if (s->from[object] != KS_NONE)
		return;
	s->from[object] = from;
	s->queue[s->tail++] = object;
}

static void add_roots(struct search *s, u32 kinds)
{
	const struct ks_snapshot *n = s->snapshot;
	u32 root, ref;

	for (root = 0; root < n->roots.len; root++) {
		if (!(kinds >> n->roots.items[root].kind & 1))
			continue;
		for (ref = n->root_first[root]; ref < n->root_first[root + 1]; ref++)
			visit(s, n->root_refs.items[ref].to, KS_FROM_ROOT | root);
	}
}

static bool followed(const struct search *s, u32 object, u32 word)
{
	u32 field = ks_field_at(s->fields, s->snapshot->type[object], word);

	return field == KS_NONE || s->kinds[field] & s->follow;
}

static void run(struct search *s)
{
	const struct ks_snapshot *n = s->snapshot;
	u32 object, ref, end, ahead;

	while (s->head < s->tail) {
		if (s->head + 2 * AHEAD < s->tail)
			__builtin_prefetch(&n->ref_first[s->queue[s->head + 2 * AHEAD]]);
		if (s->head + AHEAD < s->tail)
			__builtin_prefetch(&n->refs.items[n->ref_first[s->queue[s->head + AHEAD]]]);
		object = s->queue[s->head++];
		end = n->ref_first[object + 1];
		for (ref = n->ref_first[object]; ref < end; ref++) {
			ahead = ref + AHEAD < n->refs.len ? ref + AHEAD : ref;
			__builtin_prefetch(&s->from[n->refs.items[ahead].to]);
			if (followed(s, object, n->refs.items[ref].at))
				visit(s, n->refs.items[ref].to, object);
		}
	}
}

/* As run(); and what is reached is the task's that its holder is. */
static void run_from_tasks(struct search *s)
{
	const struct ks_snapshot *n = s->snapshot;
	u32 object, ref;

	while (s->head < s->tail) {
		object = s->queue[s->head++];
		for (ref = n->ref_first[object]; ref < n->ref_first[object + 1]; ref++)
			if (followed(s, object, n->refs.items[ref].at))
				visit(s, n->refs.items[ref].to, s->from[object]);
	}
}

/*
 * Only lists lead to a task's timers, but each of them points to the task's signals. So what nothing has led to is the
 * task's that it names itself.
 */
static void add_owned(struct search *s, const bool *owners)
{
	const struct ks_snapshot *n = s->snapshot;
	u32 object, ref, to;

	for (object = 0; object < n->count; object++) {
		for (ref = n->ref_first[object];
		     s->from[object] == KS_NONE && ref < n->ref_first[object + 1]; ref++) {
			to = n->refs.items[ref].to;
			if (owners[n->type[to]] && s->from[to] != KS_NONE &&
			    followed(s, object, n->refs.items[ref].at))
				visit(s, object, s->from[to]);
		}
	}
}

static u8 *find_kinds(const struct ks_snapshot *s)
{
	u8 *kinds = calloc(s->fields.len + 1, 1);
	size_t i;

	for (i = 0; kinds && i < s->fields.len; i++)
		kinds[i] = ks_field_is_link(s->fields.items[i].name)	   ? KIND_LINK
			   : ks_field_is_doubtful(s->fields.items[i].name) ? KIND_DOUBTFUL
									   : KIND_POINTER;
	return kinds;
}

static void stop(struct search *s)
{
	ks_field_index_free(s->fields);
	free(s->kinds);
	free(s->queue);
}

static int start(struct search *s, const struct ks_snapshot *snapshot, struct ks_diag *diag)
{
	*s = (struct search){ .snapshot = snapshot };
	if (!snapshot->ref_first)
		return ks_diag_set(diag, KS_EBADINPUT, "this snapshot has no references");
	s->from = malloc((snapshot->count + 1ul) * sizeof(*s->from));
	s->queue = malloc((snapshot->count + 1ul) * sizeof(*s->queue));
	s->kinds = find_kinds(snapshot);
	if (!s->from || !s->queue || !s->kinds || ks_field_index_new(snapshot, &s->fields)) {
		free(s->from);
		stop(s);
		return ks_diag_nomem(diag, "following references");
	}
	memset(s->from, 0xff, (snapshot->count + 1ul) * sizeof(*s->from));
	return 0;
}

/* === Public =============================================================================== */

int ks_ways_find(const struct ks_snapshot *snapshot, struct ks_ways **ret_ways,
		 struct ks_diag *diag)
{
	struct ks_ways *ways = calloc(1, sizeof(*ways));
	struct search s;
	size_t i;
	int err = ways ? start(&s, snapshot, diag) : ks_diag_nomem(diag, "following references");

	if (err) {
		free(ways);
		return err;
	}
	s.follow = KIND_POINTER | KIND_LINK;
	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		add_roots(&s, phases[i]);
		run(&s);
	}
	/* Once more from all that was reached, now also by fields that are no pointers. */
	s.follow |= KIND_DOUBTFUL;
	s.head = 0;
	run(&s);
	stop(&s);
	ways->from = s.from;
	ways->reached = s.tail;
	*ret_ways = ways;
	return 0;
}

void ks_ways_free(struct ks_ways *ways)
{
	if (!ways)
		return;
	free(ways->from);
	free(ways);
}

const struct ks_heap_ref *ks_ways_ref(const struct ks_snapshot *s, u32 from, u32 to)
{
	bool root = from & KS_FROM_ROOT;
	const struct ks_heap_ref *refs = root ? s->root_refs.items : s->refs.items;
	const u32 *first = root ? s->root_first : s->ref_first;
	u32 i, number = from & ~KS_FROM_ROOT;

	if (from == KS_NONE)
		return NULL;
	for (i = first[number]; i < first[number + 1]; i++)
		if (refs[i].to == to)
			return &refs[i];
	return NULL;
}

int ks_ways_from_tasks(const struct ks_snapshot *snapshot, u32 **ret_task, struct ks_diag *diag)
{
	bool *owners = calloc(snapshot->types.len + 1, sizeof(*owners));
	struct search s;
	u32 i;
	int err = owners ? start(&s, snapshot, diag) : ks_diag_nomem(diag, "following references");

	if (err) {
		free(owners);
		return err;
	}
	for (i = 0; i < snapshot->types.len; i++)
		owners[i] = !strcmp(snapshot->types.items[i].name, "task_struct");
	for (i = 0; i < snapshot->count; i++)
		if (owners[snapshot->type[i]])
			visit(&s, i, i);
	s.follow = KIND_POINTER;
	run_from_tasks(&s);
	for (i = 0; i < snapshot->types.len; i++)
		owners[i] |= !strcmp(snapshot->types.items[i].name, "signal_struct");
	add_owned(&s, owners);
	run_from_tasks(&s);
	free(owners);
	stop(&s);
	*ret_task = s.from;
	return 0;
}
