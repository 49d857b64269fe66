// SPDX-License-Identifier: GPL-2.0-only
/*
 * The object index: a hash table by address, split into shards with a lock each.
 *
 * Each shard is a linear hash table: it grows by one bucket at a time, so that no insertion ever
 * pays for a rehash with interrupts off. Objects are carved from single pages that belong to one
 * shard; a page whose last object is released goes back to the system. All memory comes from one
 * budget, mz_index::max_pages.
 */
#include "index.h"
#include "pages.h"

/* === Data ================================================================================= */

#define HEADS_PER_PAGE	   (PAGE_SIZE / sizeof(struct mz_object *))
#define SEGMENTS_PER_SHARD (PAGE_SIZE / sizeof(struct mz_object **))
#define OBJECTS_PER_BUCKET 2

/* A chain as long as this is a cycle: with a seeded hash it can't come from bad luck. */
#define CHAIN_LIMIT 65536

/*
 * How often an insertion takes pages, which it does without the lock: meanwhile others may use up
 * what is there, or mz_index_shrink() give it back.
 */
#define TRIES 16

/* The key of an object that is not in use: no address has all bits set. */
#define KEY_UNUSED (~0ULL)

/* How far an object's accesses are searched for the right one before a further one is made. */
#define ACCESS_STEPS 24

/* Accesses that are released while interrupts are off. */
#define ACCESS_BATCH 256

/* === Internals: hashing =================================================================== */

static u64 hash_key(const struct mz_index *idx, u64 key)
{
	u64 h = (key ^ idx->seed) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

static struct mz_shard *shard_of(const struct mz_index *idx, u64 hash)
{
	return &idx->shards[hash >> (64 - idx->shard_bits)];
}

/* Buckets from nr_buckets on do not exist yet: their objects are still in the one half as far. */
static u32 bucket_of(const struct mz_shard *shard, u64 hash)
{
	u32 bucket = (u32)hash & shard->mask;

	return bucket < shard->nr_buckets ? bucket : bucket & (shard->mask >> 1);
}

static struct mz_object **bucket_head(const struct mz_shard *shard, u32 bucket)
{
	return &shard->segments[bucket / HEADS_PER_PAGE][bucket % HEADS_PER_PAGE];
}

static struct mz_object **find(struct mz_index *idx, struct mz_shard *shard, u64 hash, u64 key)
{
	struct mz_object **link;
	unsigned int steps = 0;

	if (!shard->nr_live)
		return NULL;
	for (link = bucket_head(shard, bucket_of(shard, hash)); *link; link = &(*link)->next) {
		if ((*link)->key == key)
			return link;
		if (unlikely((*link)->key == KEY_UNUSED || ++steps > CHAIN_LIMIT)) {
			WRITE_ONCE(idx->broken, "bucket in disorder");
			return NULL;
		}
	}
	return NULL;
}

static struct mz_object *take_object(struct mz_shard *shard)
{
	return mz_take_item(shard, &shard->pages, sizeof(struct mz_object));
}

/* === Internals: growing and shrinking ===================================================== */

/* How many blank pages the next insertion needs, the growth of the table included. */
static unsigned int pages_needed(const struct mz_shard *shard)
{
	unsigned int nr = list_empty(&shard->pages);

	if (!shard->segments)
		return nr + 2;
	if (shard->nr_live >= (unsigned long)shard->nr_buckets * OBJECTS_PER_BUCKET &&
	    shard->nr_buckets % HEADS_PER_PAGE == 0 &&
	    shard->nr_buckets / HEADS_PER_PAGE < SEGMENTS_PER_SHARD)
		nr++;
	return nr;
}

/* Whether the bucket numbered @bucket has memory for its head. */
static bool have_segment(struct mz_shard *shard, u32 bucket)
{
	u32 i = bucket / HEADS_PER_PAGE;
	void *page;

	if (i >= SEGMENTS_PER_SHARD)
		return false;
	if (!shard->segments[i]) {
		page = mz_pop_spare(shard);
		if (!page)
			return false;
		memset(page, 0, PAGE_SIZE);
		shard->segments[i] = page;
	}
	return true;
}

static bool have_buckets(struct mz_shard *shard)
{
	void *page;

	if (shard->segments)
		return true;
	page = mz_pop_spare(shard);
	if (!page)
		return false;
	memset(page, 0, PAGE_SIZE);
	shard->segments = page;
	if (!have_segment(shard, 0)) {
		shard->segments = NULL;
		mz_push_spare(shard, page);
		return false;
	}
	shard->nr_buckets = 1;
	shard->mask = 0;
	return true;
}

/* Adds one bucket and moves to it what now belongs there. */
static void grow(struct mz_index *idx, struct mz_shard *shard)
{
	u32 added = shard->nr_buckets;
	struct mz_object **from, **to;

	if (shard->nr_live <= (unsigned long)added * OBJECTS_PER_BUCKET ||
	    !have_segment(shard, added))
		return;
	if (added > shard->mask)
		shard->mask = shard->mask << 1 | 1;
	shard->nr_buckets++;

	from = bucket_head(shard, added & (shard->mask >> 1));
	to = bucket_head(shard, added);
	while (*from) {
		struct mz_object *obj = *from;

		if (((u32)hash_key(idx, obj->key) & shard->mask) == added) {
			*from = obj->next;
			obj->next = *to;
			*to = obj;
		} else {
			from = &obj->next;
		}
	}
}

/* Half of what makes the table grow: it does not swing between the two. */
static bool has_idle_buckets(const struct mz_shard *shard)
{
	return shard->segments &&
	       (!shard->nr_live ||
		(shard->nr_buckets > 1 &&
		 shard->nr_live < (unsigned long)shard->nr_buckets * OBJECTS_PER_BUCKET / 2));
}

/*
 * The reverse of grow(): empties the last bucket into the one it was split from. What memory that
 * frees becomes spare.
 */
static void remove_bucket(struct mz_shard *shard)
{
	struct mz_object **from, **to;
	u32 last = shard->nr_buckets - 1;

	if (!last) {
		mz_push_spare(shard, shard->segments[0]);
		mz_push_spare(shard, shard->segments);
		shard->segments = NULL;
		shard->nr_buckets = 0;
		return;
	}
	from = bucket_head(shard, last);
	to = bucket_head(shard, last & (shard->mask >> 1));
	while (*to)
		to = &(*to)->next;
	*to = *from;
	*from = NULL;
	shard->nr_buckets = last;
	if (last == (shard->mask >> 1) + 1)
		shard->mask >>= 1;
	if (last % HEADS_PER_PAGE == 0) {
		mz_push_spare(shard, shard->segments[last / HEADS_PER_PAGE]);
		shard->segments[last / HEADS_PER_PAGE] = NULL;
	}
}

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
	mz_index_shrink(idx);
	vfree(idx->shards);
	idx->shards = NULL;
}

/**
 * mz_index_add() - a new live object
 * @idx: the index
 * @values: what to store
 * @implied_site: free_site for an object still live at the same address, whose free was missed
 * @gfp: how pages may be had
 * @ret_implied: whether there was such an object
 *
 * Return: 0, or -ENOMEM if the object had to be dropped. The one before it has ended all the same.
 */
int mz_index_add(struct mz_index *idx, const struct mz_object *values, u32 implied_site, gfp_t gfp,
		 bool *ret_implied)
{
	u64 hash = hash_key(idx, values->key);
	struct mz_shard *shard = shard_of(idx, hash);
	struct mz_object **link, *obj;
	unsigned long flags;
	unsigned int tries;

	*ret_implied = false;
	mz_lock(&shard->lock, flags);
	for (tries = 0; tries < TRIES; tries++) {
		unsigned int needed = pages_needed(shard);
		unsigned int wanted = needed + READ_ONCE(idx->reserve);
		unsigned int nr;
		void *pages;

		if (wanted <= shard->nr_spares)
			break;
		/* All that are needed: what is there may be gone when the lock is held again. */
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

	link = find(idx, shard, hash, values->key);
	if (link) {
		end_object(shard, link, values->alloc_ns, implied_site, true);
		*ret_implied = true;
	}
	obj = have_buckets(shard) ? take_object(shard) : NULL;
	if (obj) {
		*obj = *values;
		link = bucket_head(shard, bucket_of(shard, hash));
		obj->next = *link;
		*link = obj;
		shard->nr_live++;
		grow(idx, shard);
	}
	mz_unlock(&shard->lock, flags);
	return obj ? 0 : -ENOMEM;
}

/**
 * mz_index_end() - the end of the object at an address
 * @idx: the index
 * @key: mz_key() of the object
 * @now: the time
 * @free_site: who frees
 * @implied: no free was seen, only that the address is in use again
 *
 * Return: whether the address was that of a live object.
 */
bool mz_index_end(struct mz_index *idx, u64 key, u64 now, u32 free_site, bool implied)
{
	u64 hash = hash_key(idx, key);
	struct mz_shard *shard = shard_of(idx, hash);
	struct mz_object **link;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = find(idx, shard, hash, key);
	if (link)
		end_object(shard, link, now, free_site, implied);
	mz_unlock(&shard->lock, flags);
	return link;
}

/* Whether there is a live object at an address. */
bool mz_index_has(struct mz_index *idx, u64 key)
{
	u64 hash = hash_key(idx, key);
	struct mz_shard *shard = shard_of(idx, hash);
	unsigned long flags;
	bool has;

	mz_lock(&shard->lock, flags);
	has = find(idx, shard, hash, key);
	mz_unlock(&shard->lock, flags);
	return has;
}

/* The live object at an address, or NULL. */
struct mz_object *mz_index_find(struct mz_index *idx, u64 key)
{
	u64 hash = hash_key(idx, key);
	struct mz_shard *shard = shard_of(idx, hash);
	struct mz_object **link, *obj;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = find(idx, shard, hash, key);
	obj = link ? *link : NULL;
	mz_unlock(&shard->lock, flags);
	return obj;
}

/* Gives the live object at an address, if there is one, another allocation site. */
bool mz_index_reassign(struct mz_index *idx, u64 key, u32 alloc_site)
{
	u64 hash = hash_key(idx, key);
	struct mz_shard *shard = shard_of(idx, hash);
	struct mz_object **link;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	link = find(idx, shard, hash, key);
	if (link)
		(*link)->alloc_site = alloc_site;
	mz_unlock(&shard->lock, flags);
	return link;
}

static struct mz_access *find_access(const struct mz_object *obj, u32 ip, u32 who)
{
	struct mz_access *access = mz_object_accesses(obj);
	unsigned int steps;

	for (steps = 0; access && steps < ACCESS_STEPS; access = access->next, steps++) {
		if (access->ip == ip && access->who == who)
			return access;
	}
	return NULL;
}

/**
 * mz_index_access() - where an access is counted
 * @idx: the index
 * @obj: what mz_index_find() has found
 * @ip: mz_access::ip
 * @who: mz_access::who; its processor is this one
 * @fresh: not a record that exists, which is full
 *
 * The newest records come first, so what is in use is found within a few steps. Who is not found
 * there gets a further record, rather than that a long search is made for each.
 *
 * Return: the record, or NULL if there is no memory for one; the reserve is then to be refilled.
 */
struct mz_access *mz_index_access(struct mz_index *idx, struct mz_object *obj, u32 ip, u32 who,
				  bool fresh)
{
	struct mz_shard *shard = mz_page_of(obj)->shard;
	struct mz_access *access;
	unsigned long flags;

	mz_lock(&shard->lock, flags);
	access = fresh ? NULL : find_access(obj, ip, who);
	if (!access) {
		access = mz_take_item(shard, &shard->access_pages, sizeof(*access));
		if (access) {
			*access = (struct mz_access){
				.next = mz_object_accesses(obj),
				.ip = ip,
				.who = who,
			};
			mz_object_set_accesses(obj, access);
			shard->nr_accesses++;
		}
		if (shard->nr_spares < READ_ONCE(idx->reserve) / 2 && !mz_budget_used_up(idx))
			WRITE_ONCE(idx->hungry, true);
	}
	mz_unlock(&shard->lock, flags);
	return access;
}

/**
 * mz_index_refill() - gives each shard its reserve of blank pages, as far as there is memory
 * @idx: the index
 * @nr: of pages, at most: the caller may keep others waiting
 * @gfp: how pages may be had
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

/*
 * Whether there is anything to collect. Takes each lock, so that a caller who has announced before
 * that it is about to sleep either sees an object here or is seen by the one who ends it.
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

/* Gives back the first accesses of an object that was collected; whether there are more. */
static bool release_accesses(struct mz_index *idx, struct mz_object *obj)
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

/* Gives back the memory of an object that was collected. */
void mz_index_release(struct mz_index *idx, struct mz_object *obj)
{
	struct mz_shard *shard = mz_page_of(obj)->shard;
	struct mz_item_page *empty = NULL;
	unsigned long flags;

	while (mz_object_accesses(obj) && release_accesses(idx, obj))
		cond_resched();
	mz_lock(&shard->lock, flags);
	if (unlikely(obj->key == KEY_UNUSED)) {
		WRITE_ONCE(idx->broken, "object released twice");
	} else {
		obj->key = KEY_UNUSED;
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
			if (has_idle_buckets(shard))
				remove_bucket(shard);
			page = NULL;
			if (shard->nr_spares > READ_ONCE(idx->reserve))
				page = mz_pop_spare(shard);
			more = page || has_idle_buckets(shard);
			mz_unlock(&shard->lock, flags);
			if (page)
				mz_give_page(idx, page);
			cond_resched();
		} while (more);
	}
}

/* What a copy of an object takes. */
size_t mz_object_bytes(const struct mz_object *obj)
{
	const struct mz_access *access;
	size_t bytes = sizeof(*obj);

	for (access = mz_object_accesses(obj); access; access = access->next)
		bytes += sizeof(*access);
	return bytes;
}

static size_t bucket_bytes(const struct mz_shard *shard, u32 bucket)
{
	const struct mz_object *obj;
	size_t bytes = 0;

	for (obj = *bucket_head(shard, bucket); obj; obj = obj->next)
		bytes += mz_object_bytes(obj);
	return bytes;
}

static int walk_shard(struct mz_shard *shard, struct mz_visitor *visitor)
{
	unsigned long flags;
	int err = 0;
	u32 bucket;

	mz_lock(&shard->lock, flags);
	for (bucket = 0; bucket < shard->nr_buckets; bucket++) {
		struct mz_object *obj;
		size_t bytes;

		while ((bytes = bucket_bytes(shard, bucket)) > visitor->room) {
			mz_unlock(&shard->lock, flags);
			err = visitor->make_room(visitor, bytes);
			if (err)
				return err;
			mz_lock(&shard->lock, flags);
		}
		for (obj = *bucket_head(shard, bucket); obj; obj = obj->next)
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
 * Objects move only to buckets with a higher number meanwhile, as nobody may shrink the index, so
 * none is missed, but one may be seen twice. Return: 0, or what @visitor->make_room returned.
 */
int mz_index_walk(struct mz_index *idx, struct mz_visitor *visitor)
{
	unsigned long i;
	int err = 0;

	for (i = 0; i < 1UL << idx->shard_bits && !err; i++)
		err = walk_shard(&idx->shards[i], visitor);
	return err;
}

/* Ends all live objects. */
void mz_index_drop_live(struct mz_index *idx, u64 now, u32 free_site)
{
	unsigned long i, flags;
	u32 bucket;

	for (i = 0; i < 1UL << idx->shard_bits; i++) {
		struct mz_shard *shard = &idx->shards[i];

		mz_lock(&shard->lock, flags);
		for (bucket = 0; bucket < shard->nr_buckets; bucket++) {
			struct mz_object **link = bucket_head(shard, bucket);

			while (*link)
				end_object(shard, link, now, free_site, false);
			mz_unlock(&shard->lock, flags);
			cond_resched();
			mz_lock(&shard->lock, flags);
		}
		mz_unlock(&shard->lock, flags);
	}
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
