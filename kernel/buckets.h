/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the index: the buckets of a shard, a linear hash table of its live objects. It grows
 * by one bucket at a time, so that no insertion ever pays for a rehash with interrupts off. All of
 * it needs the lock of the shard.
 */
#ifndef MEMORIZER_BUCKETS_H
#define MEMORIZER_BUCKETS_H

#include "index.h"

#define MZ_HEADS_PER_PAGE (PAGE_SIZE / sizeof(struct mz_object *))

/* The key of an object that is not in use: no address has all bits set. */
#define MZ_KEY_UNUSED (~0ULL)

static inline u64 mz_hash_key(const struct mz_index *idx, u64 key)
{
	u64 h = (key ^ idx->seed) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

static inline struct mz_shard *mz_shard_of(const struct mz_index *idx, u64 hash)
{
	return &idx->shards[hash >> (64 - idx->shard_bits)];
}

static inline struct mz_object **mz_bucket_head(const struct mz_shard *shard, u32 bucket)
{
	return &shard->segments[bucket / MZ_HEADS_PER_PAGE][bucket % MZ_HEADS_PER_PAGE];
}

struct mz_object **mz_bucket_find(struct mz_index *idx, struct mz_shard *shard, u64 hash, u64 key);
void mz_bucket_insert(struct mz_index *idx, struct mz_shard *shard, u64 hash,
		      struct mz_object *obj);
unsigned int mz_buckets_need(const struct mz_shard *shard);
bool mz_buckets_begin(struct mz_shard *shard);
bool mz_buckets_idle(const struct mz_shard *shard);
void mz_bucket_remove(struct mz_shard *shard);

#endif /* MEMORIZER_BUCKETS_H */
