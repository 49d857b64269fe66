// SPDX-License-Identifier: LGPL-2.1-only
/* Snapshots: cells by what they are of, and how each compares with the one before. */
#include "live/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "live/build.h"

/* === Data ================================================================================= */

static const char *const levels[KS_LIVE_LEVELS] = {
	[KS_LIVE_CENSUS] = "census",
	[KS_LIVE_GROWTH] = "growth",
	[KS_LIVE_SAMPLED] = "sampled",
	[KS_LIVE_EXACT] = "exact",
};

static const char *const bys[KS_LIVE_BYS] = {
	[KS_LIVE_BY_CACHE] = "cache",	  [KS_LIVE_BY_TYPE] = "type",
	[KS_LIVE_BY_SITE] = "site",	  [KS_LIVE_BY_STACK] = "stack",
	[KS_LIVE_BY_PROCESS] = "process", [KS_LIVE_BY_CGROUP] = "cgroup",
};

/* === Internals ============================================================================ */

static void snapshot_free(struct ks_live_snapshot *s)
{
	unsigned int by;

	for (by = 0; by < KS_LIVE_BYS; by++)
		ks_intern_deinit(&s->names[by]);
	ks_map64_deinit(&s->index);
	ks_vec_free(&s->cells);
	ks_vec_free(&s->typed);
	ks_vec_free(&s->unseen);
	ks_vec_free(&s->frames);
	ks_vec_free(&s->stacks);
	free(s);
}

static const char *name_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
			   unsigned int by)
{
	return cell->key[by] == KS_NONE ? NULL : ks_intern_get(&s->names[by], cell->key[by]).s;
}

/* What a cell is of, the same in every snapshot. Names may have any bytes but NUL. */
static u64 hash_of(const struct ks_live_snapshot *s, enum ks_live_part part,
		   const char *const names[KS_LIVE_BYS])
{
	u64 hash = s->seed + part;
	unsigned int by;

	for (by = 0; by < KS_LIVE_BYS; by++)
		hash = names[by] ? ks_hash_bytes(names[by], strlen(names[by]), hash + by + 1)
				 : ks_hash_u64(by, hash);
	return hash;
}

static void names_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
		     const char *ret_names[KS_LIVE_BYS])
{
	unsigned int by;

	for (by = 0; by < KS_LIVE_BYS; by++)
		ret_names[by] = name_of(s, cell, by);
}

static void stack_of(const struct ks_live_snapshot *s, const struct ks_live_cell *cell,
		     const u64 **ret_frames, u32 *ret_len)
{
	u32 number = cell->key[KS_LIVE_BY_STACK];

	*ret_frames = NULL;
	*ret_len = 0;
	if (number >= s->stacks.len || !s->stacks.items[number].len)
		return;
	*ret_frames = &s->frames.items[s->stacks.items[number].first];
	*ret_len = s->stacks.items[number].len;
}

static int add_stack(struct ks_live_snapshot *s, u32 number, const u64 *frames, u32 len)
{
	struct ks_live_stack *stack;

	while (s->stacks.len <= number)
		if (!ks_vec_push(&s->stacks))
			return -ENOMEM;
	stack = &s->stacks.items[number];
	if (stack->len || !len)
		return 0;
	if (ks_vec_reserve(&s->frames, s->frames.len + len))
		return -ENOMEM;
	stack->first = (u32)s->frames.len;
	stack->len = len;
	memcpy(s->frames.items + s->frames.len, frames, len * sizeof(*frames));
	s->frames.len += len;
	return 0;
}

/* The cell of the other snapshot that is of the same, or NULL. */
static const struct ks_live_cell *same_cell(const struct ks_live_snapshot *s, size_t cell,
					    const struct ks_live_snapshot *other)
{
	u32 number = other ? ks_map64_find(&other->index, s->index.keys.items[cell]) : KS_NONE;

	return number == KS_NONE ? NULL : &other->cells.items[number];
}

static struct ks_live_cell *copy_cell(struct ks_live_snapshot *s,
				      const struct ks_live_snapshot *old,
				      const struct ks_live_cell *cell)
{
	const char *names[KS_LIVE_BYS];
	const u64 *frames;
	u32 len;

	names_of(old, cell, names);
	stack_of(old, cell, &frames, &len);
	return ks_live_cell_stack(s, cell->part, names, frames, len);
}

/* What has gone: only how much it was is of interest, and only for a while. */
static int keep_gone(struct ks_live_snapshot *s, const struct ks_live_snapshot *old, bool rebase,
		     const bool anew[KS_LIVE_PARTS])
{
	size_t i;

	for (i = 0; i < old->cells.len; i++) {
		const struct ks_live_cell *was = &old->cells.items[i];
		struct ks_live_cell *now;

		if (!s->parts[was->part].present || anew[was->part] || same_cell(old, i, s))
			continue;
		if ((rebase || (!was->base_objects && !was->base_bytes)) && !was->bytes &&
		    !was->marks[0] && !was->marks[1])
			continue;
		now = copy_cell(s, old, was);
		if (!now)
			return -ENOMEM;
		now->reclaimable = was->reclaimable;
	}
	return 0;
}

/* When rates of a part are measured from: two marks, of which the older one is at least @rate_ns old. */
/*
 * Counters have objects that are free, and lack others. The first exact count says so, and corrects those that follow: it is
 * no change, and so all begins anew with it.
 */
static bool begins_anew(struct ks_live_snapshot *s, const struct ks_live_snapshot *old,
			enum ks_live_part part)
{
	struct ks_live_part_info *now = &s->parts[part];
	bool before = old && old->parts[part].counted;

	now->counted = now->exact || before;
	return !old || !old->parts[part].present ||
	       (part == KS_LIVE_CACHES && now->exact && !before);
}

static bool move_marks(struct ks_live_snapshot *s, const struct ks_live_snapshot *old,
		       enum ks_live_part part, u64 rate_ns, bool anew)
{
	u64 now = s->parts[part].at_ns;

	if (anew) {
		s->marks_ns[part][0] = s->marks_ns[part][1] = now;
		return true;
	}
	memcpy(s->marks_ns[part], old->marks_ns[part], sizeof(s->marks_ns[part]));
	if (now == old->parts[part].at_ns || now - s->marks_ns[part][1] < rate_ns)
		return false;
	s->marks_ns[part][0] = s->marks_ns[part][1];
	s->marks_ns[part][1] = now;
	return true;
}

/* === Public =============================================================================== */

const char *ks_live_level_name(unsigned int level)
{
	return levels[level];
}

const char *ks_live_by_name(unsigned int by)
{
	return bys[by];
}

struct ks_live_snapshot *ks_live_snapshot_new(u64 seed)
{
	struct ks_live_snapshot *s = calloc(1, sizeof(*s));
	unsigned int by;
	int err;

	if (!s)
		return NULL;
	s->seed = seed;
	s->users = 1;
	err = ks_map64_init(&s->index);
	for (by = 0; !err && by < KS_LIVE_BYS; by++)
		err = ks_intern_init(&s->names[by]);
	if (err) {
		snapshot_free(s);
		return NULL;
	}
	return s;
}

struct ks_live_snapshot *ks_live_snapshot_get(struct ks_live_snapshot *s)
{
	__atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
	return s;
}

void ks_live_snapshot_put(struct ks_live_snapshot *s)
{
	/* Whoever is last sees all that the others did with it. */
	if (s && !__atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL))
		snapshot_free(s);
}

struct ks_live_cell *ks_live_cell(struct ks_live_snapshot *s, enum ks_live_part part,
				  const char *const names[KS_LIVE_BYS])
{
	u32 number = ks_map64_add(&s->index, hash_of(s, part, names));
	struct ks_live_cell *cell;
	unsigned int by;

	if (number == KS_NONE)
		return NULL;
	if (number < s->cells.len)
		return &s->cells.items[number];
	cell = ks_vec_push(&s->cells);
	if (!cell)
		return NULL;
	cell->part = part;
	for (by = 0; by < KS_LIVE_BYS; by++) {
		cell->key[by] = KS_NONE;
		if (!names[by])
			continue;
		cell->key[by] = ks_intern_add(&s->names[by], names[by], strlen(names[by]));
		if (cell->key[by] == KS_NONE)
			return NULL;
	}
	return cell;
}

struct ks_live_cell *ks_live_cell_stack(struct ks_live_snapshot *s, enum ks_live_part part,
					const char *const names[KS_LIVE_BYS], const u64 *frames,
					u32 len)
{
	struct ks_live_cell *cell = ks_live_cell(s, part, names);

	if (cell && cell->key[KS_LIVE_BY_STACK] != KS_NONE &&
	    add_stack(s, cell->key[KS_LIVE_BY_STACK], frames, len))
		return NULL;
	return cell;
}

int ks_live_unseen(struct ks_live_snapshot *s, const char *text)
{
	const char **slot = ks_vec_push(&s->unseen);

	if (!slot)
		return -ENOMEM;
	*slot = ks_arena_strndup(&s->names[0].arena, text, strlen(text));
	if (!*slot)
		s->unseen.len--;
	return *slot ? 0 : -ENOMEM;
}

int ks_live_carry(struct ks_live_snapshot *s, const struct ks_live_snapshot *old,
		  enum ks_live_part part)
{
	size_t i;

	s->parts[part] = old->parts[part];
	for (i = 0; i < old->cells.len; i++) {
		const struct ks_live_cell *was = &old->cells.items[i];
		struct ks_live_cell *now;

		if (was->part != part || !was->objects)
			continue;
		now = copy_cell(s, old, was);
		if (!now)
			return -ENOMEM;
		now->objects = was->objects;
		now->bytes = was->bytes;
		now->slab_bytes = was->slab_bytes;
		now->reclaimable = was->reclaimable;
		now->variance = was->variance;
		now->births_ms = was->births_ms;
	}
	return 0;
}

int ks_live_compare(struct ks_live_snapshot *s, const struct ks_live_snapshot *old, bool rebase,
		    u64 rate_ns)
{
	bool moved[KS_LIVE_PARTS], anew[KS_LIVE_PARTS];
	unsigned int part;
	size_t i;

	rebase |= !old;
	s->base_ns = rebase ? s->at_ns : old->base_ns;
	s->base_memory = rebase ? s->memory : old->base_memory;
	for (part = 0; part < KS_LIVE_PARTS; part++) {
		anew[part] = begins_anew(s, old, part);
		moved[part] = move_marks(s, old, part, rate_ns, anew[part]);
	}
	if (old && keep_gone(s, old, rebase, anew))
		return -ENOMEM;
	for (i = 0; i < s->cells.len; i++) {
		struct ks_live_cell *cell = &s->cells.items[i];
		const struct ks_live_part_info *info = &s->parts[cell->part];
		const struct ks_live_cell *was = same_cell(s, i, old);
		bool first = anew[cell->part];

		/* What is only of objects made since has nothing behind it. */
		if (was && !rebase && !first) {
			cell->base_objects = was->base_objects;
			cell->base_bytes = was->base_bytes;
		} else if (rebase || (first && !info->since_ns)) {
			cell->base_objects = cell->objects;
			cell->base_bytes = cell->bytes;
		}
		cell->marks[0] = was ? was->marks[0] : 0;
		cell->marks[1] = was ? was->marks[1] : 0;
		if (moved[cell->part]) {
			cell->marks[0] = first ? cell->bytes : cell->marks[1];
			cell->marks[1] = cell->bytes;
		}
	}
	return 0;
}
