// SPDX-License-Identifier: GPL-2.0-only
/* The buckets of a shard of the index: finding in them, growing and shrinking. */
#include "buckets.h"
#include "pages.h"

/* === Data ================================================================================= */

#define SEGMENTS_PER_SHARD (PAGE_SIZE / sizeof(struct mz_object **))
#define OBJECTS_PER_BUCKET 2

/* A chain as long as this is a cycle: with a seeded hash it can't come from bad luck. */
#define CHAIN_LIMIT 65536

/* === Internals ============================================================================ */

/* Buckets from nr_buckets on do not exist yet: their objects are still in the one half as far. */
static u32 bucket_of(const struct mz_shard *shard, u64 hash)
{
	u32 bucket = (u32)hash & shard->mask;

	return bucket < shard->nr_buckets ? bucket : bucket & (shard->mask >> 1);
}

/* Whether the bucket numbered @bucket has memory for its head. */
static bool have_segment(struct mz_shard *shard, u32 bucket)
{
	u32 i = bucket / MZ_HEADS_PER_PAGE;
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

	from = mz_bucket_head(shard, added & (shard->mask >> 1));
	to = mz_bucket_head(shard, added);
	while (*from) {
		struct mz_object *obj = *from;

		if (((u32)mz_hash_key(idx, obj->key) & shard->mask) == added) {
			*from = obj->next;
			obj->next = *to;
			*to = obj;
		} else {
			from = &obj->next;
		}
	}
}

/* === Public =============================================================================== */

/* Where the link to a live object is, or NULL. */
struct mz_object **mz_bucket_find(struct mz_index *idx, struct mz_shard *shard, u64 hash, u64 key)
{
	struct mz_object **link;
	unsigned int steps = 0;

	if (!shard->nr_live)
		return NULL;
	for (link = mz_bucket_head(shard, bucket_of(shard, hash)); *link; link = &(*link)->next) {
		if ((*link)->key == key)
			return link;
		if (unlikely((*link)->key == MZ_KEY_UNUSED || ++steps > CHAIN_LIMIT)) {
			WRITE_ONCE(idx->broken, "bucket in disorder");
			return NULL;
		}
	}
	return NULL;
}

void mz_bucket_insert(struct mz_index *idx, struct mz_shard *shard, u64 hash, struct mz_object *obj)
{
	struct mz_object **head = mz_bucket_head(shard, bucket_of(shard, hash));

	obj->next = *head;
	*head = obj;
	shard->nr_live++;
	grow(idx, shard);
}

/* How many blank pages the next insertion needs, not counting one for the object itself. */
unsigned int mz_buckets_need(const struct mz_shard *shard)
{
	if (!shard->segments)
		return 2;
	return shard->nr_live >= (unsigned long)shard->nr_buckets * OBJECTS_PER_BUCKET &&
	       shard->nr_buckets % MZ_HEADS_PER_PAGE == 0 &&
	       shard->nr_buckets / MZ_HEADS_PER_PAGE < SEGMENTS_PER_SHARD;
}

/* Whether there is a first bucket, if need be made of spare pages. */
bool mz_buckets_begin(struct mz_shard *shard)
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

/* Half of what makes the table grow: it does not swing between the two. */
bool mz_buckets_idle(const struct mz_shard *shard)
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
void mz_bucket_remove(struct mz_shard *shard)
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
	from = mz_bucket_head(shard, last);
	to = mz_bucket_head(shard, last & (shard->mask >> 1));
	while (*to)
		to = &(*to)->next;
	*to = *from;
	*from = NULL;
	shard->nr_buckets = last;
	if (last == (shard->mask >> 1) + 1)
		shard->mask >>= 1;
	if (last % MZ_HEADS_PER_PAGE == 0) {
		mz_push_spare(shard, shard->segments[last / MZ_HEADS_PER_PAGE]);
		shard->segments[last / MZ_HEADS_PER_PAGE] = NULL;
	}
}
