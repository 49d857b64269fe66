// SPDX-License-Identifier: GPL-2.0-only
/*
 * The access records in the index. They are carved from pages of the object's shard, as the
 * object is. But no page can be allocated where an access is counted, so each shard has a
 * reserve.
 */
#include "buckets.h"
#include "index.h"
#include "pages.h"

/* === Data ================================================================================= */

/*
 * How many records of an object are searched for the right one before another one is made. What no
 * allocator handed out lives long, and everybody uses it.
 */
#define ACCESS_STEPS	  12
#define ACCESS_STEPS_MADE 256

/* Records that are released at once, with interrupts off. */
#define ACCESS_BATCH 256

/* === Internals ============================================================================ */

/* Two offsets that are a width apart, as of a loop over bytes or words. */
static bool is_next_to(u64 sums, u32 spot)
{
	s32 distance = (s32)spot - (s32)(mz_sums_spot(sums) & MZ_SPOT_FAR);
	u32 count = mz_sums_count(sums);

	return count && mz_sums_bytes(sums) == (distance < 0 ? -distance : distance) * count;
}

/*
 * The record of that spot, or the one of many spots. A loop over the bytes of an object does not
 * get a record for each: where the second of them is next to the first, the record varies.
 */
static struct mz_access *find_access(const struct mz_object *obj, u32 ip, u32 who, u32 *spot)
{
	struct mz_access *access = mz_object_accesses(obj), *varying = NULL, *beside = NULL;
	unsigned int most = mz_key_is_made(obj->key) ? ACCESS_STEPS_MADE : ACCESS_STEPS;
	unsigned int steps, spots = 0;

	for (steps = 0; access && steps < most; access = access->next, steps++) {
		u64 sums = READ_ONCE(access->sums);

		if (access->ip != ip || access->who != who)
			continue;
		if ((mz_sums_spot(sums) & ~MZ_SPOT_LENGTHS) == *spot)
			return access;
		if (mz_sums_spot(sums) & MZ_SPOT_VARIES) {
			varying = varying ?: access;
			continue;
		}
		spots++;
		if (is_next_to(sums, *spot))
			beside = access;
	}
	if (!varying && beside) {
		mz_access_vary(beside, MZ_SPOT_VARIES);
		return beside;
	}
	if (spots >= MZ_SPOTS_MAX)
		*spot |= MZ_SPOT_VARIES;
	return varying;
}

/* Less than half of the reserve is left, and the budget has more. */
static bool is_hungry(const struct mz_index *idx, const struct mz_shard *shard)
{
	return shard->nr_spares < DIV_ROUND_UP(READ_ONCE(idx->reserve), 2) &&
	       !mz_budget_used_up(idx);
}

/* === Public =============================================================================== */

/**
 * mz_index_make() - the live object of a key, made where there is none
 * @idx: the index
 * @values: what to store
 *
 * For memory that no allocator handed out. As an access is being counted, the memory for the object
 * comes from the reserve.
 *
 * Return: the object, or NULL if there is no memory for one; the reserve should then be refilled.
 */
struct mz_object *mz_index_make(struct mz_index *idx, const struct mz_object *values)
{
	u64 hash = mz_hash_key(idx, values->key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	struct mz_object **link, *obj;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = mz_bucket_find(idx, shard, hash, values->key);
	obj = link ? *link : NULL;
	if (!obj && mz_buckets_begin(shard)) {
		obj = mz_take_item(shard, &shard->pages, sizeof(*obj));
		if (obj) {
			*obj = *values;
			mz_bucket_insert(idx, shard, hash, obj);
		}
	}
	if (is_hungry(idx, shard))
		WRITE_ONCE(idx->hungry, true);
	mz_unlock(&shard->lock, flags);
	return obj;
}

/**
 * mz_index_retype() - notes what an allocated object turned out to be used for
 * @idx: the index
 * @obj: what mz_index_find() has found
 * @alloc_site: the new number of its site
 * @owner: has the thread that it belongs to; NULL if that remains who allocated it
 *
 * Return: false if the object has ended meanwhile.
 */
bool mz_index_retype(struct mz_index *idx, const struct mz_object *obj, u32 alloc_site,
		     const struct mz_object *owner)
{
	u64 key = READ_ONCE(obj->key), hash = mz_hash_key(idx, key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	struct mz_object **link;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = mz_bucket_find(idx, shard, hash, key);
	if (link && *link != obj)
		link = NULL;
	if (link) {
		(*link)->alloc_site = alloc_site;
		if (owner) {
			(*link)->pid = owner->pid;
			(*link)->tgid = owner->tgid;
			(*link)->comm = owner->comm;
		}
	}
	mz_unlock(&shard->lock, flags);
	return link;
}

/**
 * mz_index_access() - the record that an access is counted in
 * @idx: the index
 * @obj: what mz_index_find() has found
 * @ip: mz_access::ip
 * @who: mz_access::who; its processor is this one
 * @spot: where in the object, as mz_spot_of() has it
 * @fresh: make a new record for exactly that spot, because the one that exists is full
 *
 * The newest records come first, so a record in use is found within a few steps. Where it is not,
 * a further record is made instead of a long search. Readers add up records that belong together.
 *
 * Return: the record, or NULL if there is no memory for one; the reserve should then be refilled.
 */
struct mz_access *mz_index_access(struct mz_index *idx, struct mz_object *obj, u32 ip, u32 who,
				  u32 spot, bool fresh)
{
	struct mz_shard *shard = mz_page_of(obj)->shard;
	struct mz_access *access;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	access = fresh ? NULL : find_access(obj, ip, who, &spot);
	if (!access) {
		access = mz_take_item(shard, &shard->access_pages, sizeof(*access));
		if (access) {
			*access = (struct mz_access){
				.next = mz_object_accesses(obj),
				.ip = ip,
				.who = who,
				.sums = mz_sums(0, 0, spot),
			};
			mz_object_set_accesses(obj, access);
			shard->nr_accesses++;
		}
		if (is_hungry(idx, shard))
			WRITE_ONCE(idx->hungry, true);
	}
	mz_unlock(&shard->lock, flags);
	return access;
}

/*
 * Notes that accesses of a record were at several offsets, or of several lengths. With more
 * processors than a record can tell apart, another one may be counting in it.
 */
void mz_access_vary(struct mz_access *access, u32 flag)
{
	u64 old = READ_ONCE(access->sums);

	while (!try_cmpxchg(&access->sums, &old, old | mz_sums(0, 0, flag)))
		;
}

/**
 * mz_index_refill() - gives each shard its reserve of blank pages, as far as there is memory
 * @idx: the index
 * @nr: most pages to take in this call, because the caller may keep interrupts off
 * @gfp: flags for the pages
 *
 * Return: whether there is more to do.
 */
bool mz_index_refill(struct mz_index *idx, unsigned int nr, gfp_t gfp)
{
	unsigned long i, flags;
	void *page;

	WRITE_ONCE(idx->hungry, false);
	for (i = 0; i < 1UL << idx->shard_bits; i++) {
		struct mz_shard *shard = &idx->shards[i];

		while (READ_ONCE(shard->nr_spares) < READ_ONCE(idx->reserve)) {
			if (!nr--) {
				WRITE_ONCE(idx->hungry, true);
				return true;
			}
			page = mz_take_page(idx, gfp);
			if (!page)
				return false;
			mz_lock(&shard->lock, flags);
			mz_push_spare(shard, page);
			mz_unlock(&shard->lock, flags);
		}
	}
	return false;
}

/* Releases a batch of records of a collected object. Return: whether there are more. */
bool mz_index_release_accesses(struct mz_index *idx, struct mz_object *obj)
{
	struct mz_shard *shard = mz_page_of(obj)->shard;
	struct mz_access *access = mz_object_accesses(obj);
	struct mz_item *empty = NULL;
	unsigned long flags;
	unsigned int i;

	mz_lock(&shard->lock, flags);
	for (i = 0; access && i < ACCESS_BATCH; i++) {
		struct mz_access *next = access->next;
		struct mz_item_page *page = mz_put_item(&shard->access_pages, access);

		if (page) {
			((struct mz_item *)page)->next = empty;
			empty = (struct mz_item *)page;
		}
		shard->nr_accesses--;
		access = next;
	}
	mz_unlock(&shard->lock, flags);
	mz_object_set_accesses(obj, access);
	while (empty) {
		struct mz_item *next = empty->next;

		mz_give_page(idx, empty);
		empty = next;
	}
	return access;
}
