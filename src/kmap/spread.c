// SPDX-License-Identifier: LGPL-2.1-only
/* How the objects of a map are spread over life times, sizes, tasks and processors. */
#include "kmap/spread.h"

#include <errno.h>

#include "base/num.h"

/* === Data ================================================================================= */

#define EXACT	 64u
#define SUB_BITS 5u
#define SUBS	 (1u << SUB_BITS)

/* === Internals ============================================================================ */

static int add_bin(struct ks_kmap_spread *spread, u32 site, enum ks_kmap_spread_of of, u64 value)
{
	u32 bin = ks_kmap_bin_of(value);
	u32 number = ks_map64_add(&spread->bin_index, (u64)site << 32 | (u64)of << 16 | bin);
	struct ks_kmap_bin *slot;

	if (number == KS_NONE)
		return -ENOMEM;
	if (number == spread->bins.len) {
		slot = ks_vec_push(&spread->bins);
		if (!slot)
			return -ENOMEM;
		*slot = (struct ks_kmap_bin){ .site = site, .of = (u16)of, .number = (u16)bin };
	}
	slot = &spread->bins.items[number];
	slot->objects++;
	slot->most = ks_max(slot->most, value);
	return 0;
}

/* The number of a task; of an interrupt that of pid -1. */
static u32 task_of(struct ks_kmap_spread *spread, s32 pid)
{
	u32 number = ks_map64_add(&spread->task_index, (u32)pid);
	struct ks_kmap_task *task;

	if (number == KS_NONE || number < spread->tasks.len)
		return number;
	task = ks_vec_push(&spread->tasks);
	if (!task)
		return KS_NONE;
	*task = (struct ks_kmap_task){ .pid = pid, .tgid = pid, .comm = KS_NONE };
	return number;
}

static u32 owner_of(struct ks_kmap_spread *spread, const struct ks_kmap_object *object)
{
	u32 number = task_of(spread, object->pid);

	if (number == KS_NONE || object->pid < 0)
		return number;
	spread->tasks.items[number].comm =
		ks_intern_add(&spread->comms, object->comm.s, object->comm.len);
	if (spread->tasks.items[number].comm == KS_NONE)
		return KS_NONE;
	if (!object->fields && object->tgid > 0)
		spread->tasks.items[number].tgid = object->tgid;
	return number;
}

/* @users counts those that had not used the object before. The pairs are those of a vector and its index. */
#define add_pair(spread, index, vec, owner_, user_, count, users)                          \
	({                                                                                 \
		u32 pair_ = ks_map64_add((index), (u64)(owner_) << 32 | (user_));          \
		struct ks_kmap_sharing *sharing_ =                                         \
			pair_ == KS_NONE      ? NULL                                       \
			: pair_ == (vec)->len ? (struct ks_kmap_sharing *)ks_vec_push(vec) \
					      : &(vec)->items[pair_];                      \
		if (sharing_) {                                                            \
			sharing_->owner = (owner_);                                        \
			sharing_->user = (user_);                                          \
			sharing_->accesses = ks_add_sat(sharing_->accesses, (count));      \
			if (sharing_->last_object != (spread)->nr_objects) {               \
				sharing_->last_object = (spread)->nr_objects;              \
				sharing_->objects++;                                       \
				*(users) += 1;                                             \
			}                                                                  \
		}                                                                          \
		sharing_ ? 0 : -ENOMEM;                                                    \
	})

static struct ks_kmap_shared *site_of(struct ks_kmap_spread *spread, u32 site)
{
	while (spread->sites.len <= site)
		if (!ks_vec_push(&spread->sites))
			return NULL;
	return &spread->sites.items[site];
}

static int add_users(struct ks_kmap_spread *spread, u32 site, const struct ks_kmap_object *object)
{
	u32 owner = owner_of(spread, object), tasks = 0, cpus = 0;
	struct ks_kmap_shared *shared = site_of(spread, site);
	bool by_owner = false;
	size_t i;

	if (owner == KS_NONE || !shared)
		return -ENOMEM;
	for (i = 0; i < object->nr_accesses; i++) {
		const struct ks_kmap_access *access = &object->accesses[i];
		u64 count = ks_add_sat(access->reads, access->writes);
		u32 user;

		if (!count || access->pid == KS_KMAP_NO_PID)
			continue;
		user = task_of(spread, access->pid);
		by_owner |= user == owner;
		if (user == KS_NONE || add_pair(spread, &spread->task_pairs, &spread->by_task,
						owner, user, count, &tasks))
			return -ENOMEM;
		if (object->fields || !(access->spot & KS_KMAP_HAS_SPOT))
			continue;
		spread->has_cpus = true;
		if (add_pair(spread, &spread->cpu_pairs, &spread->by_cpu, object->cpu, access->cpu,
			     count, &cpus))
			return -ENOMEM;
	}
	shared->used += tasks > 0;
	shared->by_tasks += tasks > 1;
	shared->by_cpus += cpus > 1;
	shared->elsewhere += tasks && !by_owner;
	shared->most_tasks = ks_max(shared->most_tasks, tasks);
	shared->most_cpus = ks_max(shared->most_cpus, cpus);
	return 0;
}

/* === Public =============================================================================== */

int ks_kmap_spread_init(struct ks_kmap_spread *spread)
{
	*spread = (struct ks_kmap_spread){ 0 };
	if (!ks_map64_init(&spread->bin_index) && !ks_map64_init(&spread->task_index) &&
	    !ks_map64_init(&spread->task_pairs) && !ks_map64_init(&spread->cpu_pairs) &&
	    !ks_intern_init(&spread->comms))
		return 0;
	ks_kmap_spread_deinit(spread);
	return -ENOMEM;
}

void ks_kmap_spread_deinit(struct ks_kmap_spread *spread)
{
	ks_map64_deinit(&spread->bin_index);
	ks_map64_deinit(&spread->task_index);
	ks_map64_deinit(&spread->task_pairs);
	ks_map64_deinit(&spread->cpu_pairs);
	ks_intern_deinit(&spread->comms);
	ks_vec_free(&spread->bins);
	ks_vec_free(&spread->tasks);
	ks_vec_free(&spread->by_task);
	ks_vec_free(&spread->by_cpu);
	ks_vec_free(&spread->sites);
}

int ks_kmap_spread_add(struct ks_kmap_spread *spread, u32 site, const struct ks_kmap_object *object)
{
	/* What no code allocated has neither an owner nor a life of its own. */
	bool pages = object->type == KS_KMAP_ALLOC_PAGES && !object->alloc_ip;
	bool allocated =
		(ks_kmap_is_code(object->alloc_ip) && !ks_kmap_is_variable(object->type)) || pages;
	bool ended = !ks_kmap_is_live(object) && object->free_time >= object->alloc_time;

	spread->nr_objects++;
	if (add_bin(spread, site, KS_KMAP_SIZES, object->size) ||
	    (allocated && ended &&
	     add_bin(spread, site, KS_KMAP_LIVES, object->free_time - object->alloc_time)))
		return -ENOMEM;
	return allocated ? add_users(spread, site, object) : 0;
}

u32 ks_kmap_bin_of(u64 value)
{
	u32 power;

	if (value < EXACT)
		return (u32)value;
	power = 63 - (u32)__builtin_clzll(value);
	return EXACT + (power - SUB_BITS - 1) * SUBS +
	       (u32)(value >> (power - SUB_BITS) & (SUBS - 1));
}

u64 ks_kmap_bin_first(u32 bin)
{
	if (bin < EXACT)
		return bin;
	return (u64)(SUBS + (bin - EXACT) % SUBS) << ((bin - EXACT) / SUBS + 1);
}
