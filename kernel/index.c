// SPDX-License-Identifier: GPL-2.0-only
/*
 * The object index: a hash table by address, split into shards with a lock each. Objects are
 * carved from single pages that belong to one shard; a page whose last object is released goes
 * back to the system. All these pages come from one budget, mz_index::max_pages.
 */
#include "buckets.h"
#include "index.h"
#include "pages.h"
#include "table.h"

/* === Data ================================================================================= */

/*
 * How often an insertion tries to get pages. It takes them without the lock, and meanwhile others
 * may use them up or mz_index_shrink() give them back.
 */
#define TRIES 16

/* === Internals: the end of an object ====================================================== */

static void end_object(struct mz_shard *shard, struct mz_object **link, u64 now, u32 free_site,
		       bool implied)
{
	struct mz_object *obj = *link;

	*link = obj->next;
	shard->nr_live--;
	/* A free is never older than the allocation, whatever the clocks of two processors say. */
	obj->free_ns = now < obj->alloc_ns ? obj->alloc_ns : now;
	if (shard->freed.last && obj->free_ns < shard->freed.last->free_ns)
		obj->free_ns = shard->freed.last->free_ns;
	obj->free_site = free_site;
	obj->implied = implied;
	mz_chain_push(&shard->freed, obj);
}

/* === Public: the index ==================================================================== */

/**
 * mz_index_init() - an empty index; takes no page before the first object
 * @idx: the index
 * @shard_bits: log2 of the number of shards, at least 1
 * @max_pages: bound of the memory for objects and buckets
 * @seed: random, so that nobody can aim at one bucket
 */
int mz_index_init(struct mz_index *idx, unsigned int shard_bits, long max_pages, u64 seed)
{
	unsigned long i;

	BUILD_BUG_ON(sizeof(void *) == 8 && sizeof(struct mz_object) != (MZ_HAS_ACCESS ? 64 : 56));
	BUILD_BUG_ON(sizeof(void *) == 8 && sizeof(struct mz_access) != 24);
	*idx = (struct mz_index){ .shard_bits = shard_bits, .max_pages = max_pages, .seed = seed };
	idx->shards = vzalloc(sizeof(*idx->shards) << shard_bits);
	if (!idx->shards)
		return -ENOMEM;
	for (i = 0; i < 1UL << shard_bits; i++) {
		raw_spin_lock_init(&idx->shards[i].lock);
		INIT_LIST_HEAD(&idx->shards[i].pages);
		INIT_LIST_HEAD(&idx->shards[i].access_pages);
	}
	return 0;
}

/* Nobody may use the index any more; chains that were collected from it must be empty. */
void mz_index_deinit(struct mz_index *idx)
{
	struct mz_chain freed = { 0 };
	struct mz_object *obj;

	if (!idx->shards)
		return;
	mz_index_drop_live(idx, 0, 0);
	mz_index_collect(idx, &freed);
	while ((obj = mz_chain_pop(&freed)))
		mz_index_release(idx, obj);
	WRITE_ONCE(idx->reserve, 0);
	mz_index_shrink(idx);
	vfree(idx->shards);
	idx->shards = NULL;
}

/**
 * mz_index_set_aside() - takes pages out of the budget
 * @idx: the index
 * @nr: number of pages
 *
 * For tables that are not part of the index, but are to be within the same bound. The caller
 * allocates the memory, and serialises this with all calls of it and of mz_index_put_back().
 *
 * Return: false if fewer pages than @nr are free; then nothing has changed.
 */
bool mz_index_set_aside(struct mz_index *idx, long nr)
{
	bool free = atomic_long_add_return(nr, &idx->nr_pages) <= idx->max_pages;

	if (free) {
		WRITE_ONCE(idx->max_pages, idx->max_pages - nr);
		WRITE_ONCE(idx->nr_aside, idx->nr_aside + nr);
	}
	/*
	 * Until here the pages count twice. That may refuse a page to others, never grant one: this
	 * is a full barrier, as it returns a value, so whoever sees the lower number of pages also
	 * sees the lower bound.
	 */
	atomic_long_sub_return(nr, &idx->nr_pages);
	return free;
}

/* Puts pages back into the budget. Their memory has been freed. */
void mz_index_put_back(struct mz_index *idx, long nr)
{
	WRITE_ONCE(idx->nr_aside, idx->nr_aside - nr);
	WRITE_ONCE(idx->max_pages, idx->max_pages + nr);
}

/**
 * mz_index_add() - a new live object
 * @idx: the index
 * @values: what to store
 * @implied_site: free_site for an object still live at the same address, whose free was missed
 * @gfp: flags for the pages
 * @ret_implied: whether there was such an object
 *
 * Return: 0, or -ENOMEM if the new object had to be dropped. The old object has ended in any case.
 */
int mz_index_add(struct mz_index *idx, const struct mz_object *values, u32 implied_site, gfp_t gfp,
		 bool *ret_implied)
{
	u64 hash = mz_hash_key(idx, values->key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	struct mz_object **link, *obj;
	unsigned long flags;
	unsigned int tries;

	*ret_implied = false;
	mz_lock(&shard->lock, flags);
	for (tries = 0; tries < TRIES; tries++) {
		unsigned int needed = mz_buckets_need(shard) + list_empty(&shard->pages);
		unsigned int wanted = needed + READ_ONCE(idx->reserve);
		unsigned int nr;
		void *pages;

		if (wanted <= shard->nr_spares)
			break;
		/* Take all that are needed: the spares may be gone when the lock is held again. */
		nr = wanted - shard->nr_spares;
		if (nr < needed)
			nr = needed;
		mz_unlock(&shard->lock, flags);
		pages = mz_take_pages(idx, nr, gfp);
		mz_lock(&shard->lock, flags);
		if (!pages)
			break;
		mz_push_spares(shard, pages);
	}

	link = mz_bucket_find(idx, shard, hash, values->key);
	if (link) {
		end_object(shard, link, values->alloc_ns, implied_site, true);
		*ret_implied = true;
	}
	obj = mz_buckets_begin(shard) ? mz_take_item(shard, &shard->pages, sizeof(*obj)) : NULL;
	if (obj) {
		*obj = *values;
		mz_bucket_insert(idx, shard, hash, obj);
	}
	mz_unlock(&shard->lock, flags);
	return obj ? 0 : -ENOMEM;
}

/**
 * mz_index_end() - the end of the object at an address
 * @idx: the index
 * @key: mz_key() of the object
 * @now: the time
 * @free_site: number of the site that frees
 * @implied: no free was seen, only another allocation at the address
 *
 * Return: whether the address was that of a live object.
 */
bool mz_index_end(struct mz_index *idx, u64 key, u64 now, u32 free_site, bool implied)
{
	u64 hash = mz_hash_key(idx, key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	struct mz_object **link;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = mz_bucket_find(idx, shard, hash, key);
	if (link)
		end_object(shard, link, now, free_site, implied);
	mz_unlock(&shard->lock, flags);
	return link;
}

/* Whether there is a live object at an address. */
bool mz_index_has(struct mz_index *idx, u64 key)
{
	u64 hash = mz_hash_key(idx, key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	unsigned long flags;
	bool has;

	mz_lock(&shard->lock, flags);
	has = mz_bucket_find(idx, shard, hash, key);
	mz_unlock(&shard->lock, flags);
	return has;
}

/* The live object at an address, or NULL. */
struct mz_object *mz_index_find(struct mz_index *idx, u64 key)
{
	u64 hash = mz_hash_key(idx, key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	struct mz_object **link, *obj;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = mz_bucket_find(idx, shard, hash, key);
	obj = link ? *link : NULL;
	mz_unlock(&shard->lock, flags);
	return obj;
}

/* Changes the allocation site of the live object at an address. False: there is none. */
bool mz_index_reassign(struct mz_index *idx, u64 key, u32 alloc_site)
{
	u64 hash = mz_hash_key(idx, key);
	struct mz_shard *shard = mz_shard_of(idx, hash);
	struct mz_object **link;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = mz_bucket_find(idx, shard, hash, key);
	if (link)
		(*link)->alloc_site = alloc_site;
	mz_unlock(&shard->lock, flags);
	return link;
}

/*
 * Whether there is anything to collect. This takes each lock. So a caller that has set a flag
 * before, because it is about to sleep, either sees an object here, or its flag is seen by
 * whoever ends one.
 */
bool mz_index_has_freed(struct mz_index *idx)
{
	return mz_index_nr_freed(idx) > 0;
}

/**
 * mz_index_collect() - appends all freed objects to a chain
 * @idx: the index
 * @to: the chain; the objects now belong to its owner
 */
void mz_index_collect(struct mz_index *idx, struct mz_chain *to)
{
	struct mz_sorter sorter = { .time = mz_by_free };
	struct mz_chain all;
	unsigned long i;

	for (i = 0; i < 1UL << idx->shard_bits; i++) {
		struct mz_shard *shard = &idx->shards[i];
		struct mz_object *run;
		unsigned long flags;

		mz_lock(&shard->lock, flags);
		run = shard->freed.first;
		shard->freed = (struct mz_chain){ 0 };
		mz_unlock(&shard->lock, flags);
		if (run)
			mz_sorter_add(&sorter, run);
	}
	mz_sorter_finish(&sorter, &all);
	mz_chain_append(to, &all);
}

/* Releases the memory of an object that was collected. */
void mz_index_release(struct mz_index *idx, struct mz_object *obj)
{
	struct mz_shard *shard = mz_page_of(obj)->shard;
	struct mz_item_page *empty = NULL;
	unsigned long flags;

	while (mz_object_accesses(obj) && mz_index_release_accesses(idx, obj))
		cond_resched();
	mz_lock(&shard->lock, flags);
	if (unlikely(obj->key == MZ_KEY_UNUSED)) {
		WRITE_ONCE(idx->broken, "object released twice");
	} else {
		obj->key = MZ_KEY_UNUSED;
		empty = mz_put_item(&shard->pages, obj);
	}
	mz_unlock(&shard->lock, flags);
	if (empty)
		mz_give_page(idx, empty);
}

/* Gives back the pages that the live objects do not need. */
void mz_index_shrink(struct mz_index *idx)
{
	unsigned long i, flags;
	bool more;
	void *page;

	for (i = 0; i < 1UL << idx->shard_bits; i++) {
		struct mz_shard *shard = &idx->shards[i];

		do {
			mz_lock(&shard->lock, flags);
			if (mz_buckets_idle(shard))
				mz_bucket_remove(shard);
			page = NULL;
			if (shard->nr_spares > READ_ONCE(idx->reserve))
				page = mz_pop_spare(shard);
			more = page || mz_buckets_idle(shard);
			mz_unlock(&shard->lock, flags);
			if (page)
				mz_give_page(idx, page);
			cond_resched();
		} while (more);
	}
}

static unsigned int bucket_length(const struct mz_shard *shard, u32 bucket)
{
	const struct mz_object *obj;
	unsigned int nr = 0;

	for (obj = *mz_bucket_head(shard, bucket); obj; obj = obj->next)
		nr++;
	return nr;
}

static int walk_shard(struct mz_shard *shard, struct mz_visitor *visitor)
{
	unsigned long flags;
	int err = 0;
	u32 bucket;

	mz_lock(&shard->lock, flags);
	for (bucket = 0; bucket < shard->nr_buckets; bucket++) {
		struct mz_object *obj;
		unsigned int nr;

		while ((nr = bucket_length(shard, bucket)) > visitor->room) {
			mz_unlock(&shard->lock, flags);
			err = visitor->make_room(visitor, nr);
			if (err)
				return err;
			mz_lock(&shard->lock, flags);
		}
		for (obj = *mz_bucket_head(shard, bucket); obj; obj = obj->next)
			visitor->visit(visitor, obj);
		/* Let interrupts in after each bucket. */
		mz_unlock(&shard->lock, flags);
		cond_resched();
		mz_lock(&shard->lock, flags);
	}
	mz_unlock(&shard->lock, flags);
	return 0;
}

/**
 * mz_index_walk() - visits every object that is live during the whole walk
 * @idx: the index
 * @visitor: what to call
 *
 * Interrupts are off for one bucket at a time, which holds two objects on average, and for none of
 * their access records: see mz_visitor::visit.
 *
 * Objects move only to buckets with a higher number meanwhile, as nobody may shrink the index. So
 * no object is missed, but an object may be visited twice.
 *
 * Return: 0, or what @visitor->make_room returned.
 */
int mz_index_walk(struct mz_index *idx, struct mz_visitor *visitor)
{
	unsigned long i;
	int err = 0;

	for (i = 0; i < 1UL << idx->shard_bits && !err; i++)
		err = walk_shard(&idx->shards[i], visitor);
	return err;
}

/* Which live objects are to end. */
struct mz_range {
	u64 start, end; /* their addresses, from the first to the last */
	bool made;	/* only those that no allocator handed out */
};

static bool is_in(const struct mz_object *obj, const struct mz_range *range)
{
	u64 addr = mz_object_addr(obj);

	return addr >= range->start && addr <= range->end &&
	       (!range->made || mz_key_is_made(obj->key));
}

static void end_range(struct mz_index *idx, const struct mz_range *range, u64 now, u32 free_site)
{
	unsigned long i, flags;
	u32 bucket;

	for (i = 0; i < 1UL << idx->shard_bits; i++) {
		struct mz_shard *shard = &idx->shards[i];

		mz_lock(&shard->lock, flags);
		for (bucket = 0; bucket < shard->nr_buckets; bucket++) {
			struct mz_object **link = mz_bucket_head(shard, bucket);

			while (*link) {
				if (is_in(*link, range))
					end_object(shard, link, now, free_site, false);
				else
					link = &(*link)->next;
			}
			mz_unlock(&shard->lock, flags);
			cond_resched();
			mz_lock(&shard->lock, flags);
		}
		mz_unlock(&shard->lock, flags);
	}
}

/* Ends all live objects. */
void mz_index_drop_live(struct mz_index *idx, u64 now, u32 free_site)
{
	end_range(idx, &(struct mz_range){ .end = ~0ULL }, now, free_site);
}

/* Ends all objects that no allocator handed out, from the address @start to @end. */
void mz_index_end_made(struct mz_index *idx, u64 start, u64 end, u64 now)
{
	end_range(idx, &(struct mz_range){ start, end, true }, now, MZ_ID_NONE);
}

static unsigned long sum_shards(struct mz_index *idx, unsigned long (*value)(struct mz_shard *))
{
	unsigned long i, flags, sum = 0;

	for (i = 0; i < 1UL << idx->shard_bits; i++) {
		struct mz_shard *shard = &idx->shards[i];

		mz_lock(&shard->lock, flags);
		sum += value(shard);
		mz_unlock(&shard->lock, flags);
	}
	return sum;
}

static unsigned long shard_nr_live(struct mz_shard *shard)
{
	return shard->nr_live;
}

static unsigned long shard_nr_freed(struct mz_shard *shard)
{
	return shard->freed.nr;
}

static unsigned long shard_nr_accesses(struct mz_shard *shard)
{
	return shard->nr_accesses;
}

unsigned long mz_index_nr_accesses(struct mz_index *idx)
{
	return sum_shards(idx, shard_nr_accesses);
}

unsigned long mz_index_nr_live(struct mz_index *idx)
{
	return sum_shards(idx, shard_nr_live);
}

unsigned long mz_index_nr_freed(struct mz_index *idx)
{
	return sum_shards(idx, shard_nr_freed);
}
