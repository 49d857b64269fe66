/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The object index: every tracked object, from its allocation until someone has read it.
 *
 * An object is first *live*: found by its address. Its end moves it to the *freed* list of its
 * shard; mz_index_collect() gathers those lists in the order of their frees. The owner of a
 * collected object gives its memory back with mz_index_release().
 */
#ifndef MEMORIZER_INDEX_H
#define MEMORIZER_INDEX_H

#include "port.h"

/*
 * One tracked object: 56 bytes, so that with its share of the buckets and of the page header it
 * stays below 64; 64 bytes where accesses are counted. What repeats is a number into a table (see
 * table.h).
 */
struct mz_object {
	struct mz_object *next; /* in its bucket, then in a chain of freed objects */
	u64 key;		/* address, and of what: see mz_key() and mz_made_key() */
	u64 alloc_ns;
	u64 free_ns; /* 0 while live */
#ifdef MZ_ACCESS
	struct mz_access *accesses;
#endif
	u16 alloc_site; /* of the table of sites, as free_site */
	u16 free_site;
	u32 size;	 /* as requested */
	u32 pid : 22;	 /* the kernel's limit is 2^22 */
	u32 gen : 8;	 /* last snapshot that has seen the object live */
	u32 context : 2; /* enum memorizer_context */
	u32 tgid : 22;
	u32 implied : 1; /* ended by a new object at its address */
	u16 comm;	 /* of the table of comms */
	u16 cpu;
};

#define MZ_ACCESS_CPU_BITS 7 /* 32 less MZ_WHO_CPU_SHIFT */

/*
 * What one instruction did to one spot of an object on one processor, in one thread or kind of
 * interrupt: 24 bytes. Only that processor in that context counts here, so no atomic operation is
 * needed. Readers add up the records that belong together. When a count is full, a further record
 * is made.
 */
struct mz_access {
	struct mz_access *next; /* of the same object */
	u32 ip;			/* distance from the start of the kernel's text, signed */
	u32 who;		/* see mz_who() */
	u64 sums;		/* see mz_sums() */
};

/*
 * mz_access::sums has, from the lowest bit on, how often the spot was accessed, how many bytes
 * that were, and the spot: one addition and one comparison each serve all of them.
 */
#define MZ_COUNT_BITS 19
#define MZ_BYTES_BITS 28
#define MZ_SPOT_BITS  17

/*
 * A spot: the offset in the object, and what varied since. An offset that is too large is
 * MZ_SPOT_FAR, whose record always is one that varies.
 */
#define MZ_SPOT_FAR	0x7fff
#define MZ_SPOT_VARIES	0x8000	/* it is the first of several offsets */
#define MZ_SPOT_LENGTHS 0x10000 /* the accesses were of several lengths */

/* An instruction that is seen at more offsets of an object than this varies. */
#define MZ_SPOTS_MAX 8

static inline u64 mz_sums(u32 count, u64 bytes, u32 spot)
{
	return count | bytes << MZ_COUNT_BITS | (u64)spot << (MZ_COUNT_BITS + MZ_BYTES_BITS);
}

static inline u32 mz_sums_count(u64 sums)
{
	return sums & ((1U << MZ_COUNT_BITS) - 1);
}

static inline u32 mz_sums_bytes(u64 sums)
{
	return sums >> MZ_COUNT_BITS & ((1U << MZ_BYTES_BITS) - 1);
}

static inline u32 mz_sums_spot(u64 sums)
{
	return sums >> (MZ_COUNT_BITS + MZ_BYTES_BITS);
}

/*
 * A record is full long before a sum overflows: no operation adds more than a page at once, and
 * where two processors share a record, both may find room in it at the same time.
 */
static inline bool mz_sums_have_room(u64 sums)
{
	return !(sums & mz_sums(1U << (MZ_COUNT_BITS - 1), 1U << (MZ_BYTES_BITS - 1), 0));
}

static inline u32 mz_access_spot(const struct mz_access *access)
{
	return mz_sums_spot(READ_ONCE(access->sums));
}

/* The spot of an access that is so far into its object. */
static inline u32 mz_spot_of(unsigned long offset)
{
	return offset < MZ_SPOT_FAR ? (u32)offset : MZ_SPOT_FAR | MZ_SPOT_VARIES;
}

#define MZ_WHO_CONTEXT_SHIFT 22 /* the kernel's limit of pids is 2^22 */
#define MZ_WHO_WRITE_SHIFT   24
#define MZ_WHO_CPU_SHIFT     25

/**
 * mz_who() - packs what distinguishes the records of one object and one instruction
 * @pid: of the thread; 0 in interrupts
 * @context: enum memorizer_context
 * @write: whether it is writes that are counted
 * @cpu: processor, of which the lowest MZ_ACCESS_CPU_BITS bits are kept
 */
static inline u32 mz_who(u32 pid, u32 context, bool write, u32 cpu)
{
	return pid | context << MZ_WHO_CONTEXT_SHIFT | (u32)write << MZ_WHO_WRITE_SHIFT |
	       cpu << MZ_WHO_CPU_SHIFT;
}

static inline u32 mz_access_pid(const struct mz_access *access)
{
	return access->who & ((1U << MZ_WHO_CONTEXT_SHIFT) - 1);
}

static inline u32 mz_access_context(const struct mz_access *access)
{
	return access->who >> MZ_WHO_CONTEXT_SHIFT & 3;
}

static inline bool mz_access_is_write(const struct mz_access *access)
{
	return access->who >> MZ_WHO_WRITE_SHIFT & 1;
}

static inline u32 mz_access_cpu(const struct mz_access *access)
{
	return access->who >> MZ_WHO_CPU_SHIFT;
}

/* Freed objects in the order of their frees. */
struct mz_chain {
	struct mz_object *first, *last;
	unsigned long nr;
};

struct mz_shard {
	raw_spinlock_t lock; /* guards all below, and the objects in the buckets and in freed */
	u32 mask;	     /* buckets are numbered modulo mask + 1, see bucket_of() */
	u32 nr_buckets;
	u32 nr_spares;
	unsigned long nr_live;
	struct mz_object ***segments; /* pages of pages of bucket heads */
	struct mz_chain freed;
	struct list_head pages;	       /* pages with room for an object */
	struct list_head access_pages; /* pages with room for an access record */
	unsigned long nr_accesses;
	void *spares; /* blank pages, linked through their first word */
} ____cacheline_aligned_in_smp;

struct mz_index {
	struct mz_shard *shards;
	unsigned int shard_bits;
	u64 seed;
	atomic_long_t nr_pages; /* in use, at most max_pages */
	long max_pages;
	long nr_aside;	    /* pages that mz_index_set_aside() has taken out of max_pages */
	u32 reserve;	    /* blank pages that each shard should have for access records */
	bool hungry;	    /* some shard has less than half of them */
	const char *broken; /* what is inconsistent; the owner must stop using the index */
};

/**
 * mz_key() - the name of an object in the index
 * @addr: its address
 * @is_page: whether it came from the page allocator
 *
 * A slab page and the first object in it have the same address, and both are tracked.
 */
static inline u64 mz_key(u64 addr, bool is_page)
{
	return addr | is_page;
}

/*
 * The name of an object that no allocator handed out: it was made for an access, see made.c. It may
 * start anywhere, so the mark is at the other end: no kernel's addresses differ in the two bits.
 */
#define MZ_KEY_MADE BIT_ULL(62)

static inline u64 mz_made_key(u64 addr)
{
	return addr ^ MZ_KEY_MADE;
}

static inline bool mz_key_is_made(u64 key)
{
	return (key ^ key << 1) >> 63;
}

static inline struct mz_access *mz_object_accesses(const struct mz_object *obj)
{
#ifdef MZ_ACCESS
	return obj->accesses;
#else
	return NULL;
#endif
}

static inline void mz_object_set_accesses(struct mz_object *obj, struct mz_access *accesses)
{
#ifdef MZ_ACCESS
	obj->accesses = accesses;
#endif
}

static inline u64 mz_object_addr(const struct mz_object *obj)
{
	return mz_key_is_made(obj->key) ? obj->key ^ MZ_KEY_MADE : obj->key & ~1ULL;
}

int mz_index_init(struct mz_index *idx, unsigned int shard_bits, long max_pages, u64 seed);
void mz_index_deinit(struct mz_index *idx);

bool mz_index_set_aside(struct mz_index *idx, long nr);
void mz_index_put_back(struct mz_index *idx, long nr);

/* Any context but NMI. */
int mz_index_add(struct mz_index *idx, const struct mz_object *values, u32 implied_site, gfp_t gfp,
		 bool *ret_implied);
bool mz_index_end(struct mz_index *idx, u64 key, u64 now, u32 free_site, bool implied);
bool mz_index_has(struct mz_index *idx, u64 key);
bool mz_index_reassign(struct mz_index *idx, u64 key, u32 alloc_site);
bool mz_index_has_freed(struct mz_index *idx);

/* Only in process context, with preemption on. Never shrink the index while it is walked. */
void mz_index_collect(struct mz_index *idx, struct mz_chain *to);
void mz_index_release(struct mz_index *idx, struct mz_object *obj);
void mz_index_shrink(struct mz_index *idx);
void mz_index_drop_live(struct mz_index *idx, u64 now, u32 free_site);
void mz_index_end_made(struct mz_index *idx, u64 start, u64 end, u64 now);

/*
 * Accesses. The caller of mz_index_find() and mz_index_access() has preemption off for as long as
 * it uses the result. The object may end meanwhile, but it is not released: between collecting
 * and releasing an object its owner waits for such users, by mz_access_settle().
 */
struct mz_object *mz_index_find(struct mz_index *idx, u64 key);
struct mz_access *mz_index_access(struct mz_index *idx, struct mz_object *obj, u32 ip, u32 who,
				  u32 spot, bool fresh);
struct mz_object *mz_index_make(struct mz_index *idx, const struct mz_object *values);
bool mz_index_retype(struct mz_index *idx, const struct mz_object *obj, u32 alloc_site,
		     const struct mz_object *owner);
void mz_access_vary(struct mz_access *access, u32 flag);
bool mz_index_refill(struct mz_index *idx, unsigned int nr, gfp_t gfp);
bool mz_index_release_accesses(struct mz_index *idx, struct mz_object *obj);
unsigned long mz_index_nr_accesses(struct mz_index *idx);

/* Receives all live objects from mz_index_walk(). */
struct mz_visitor {
	unsigned int room; /* objects that visit() can take without make_room() */
	/* Called without a lock: raise room to @nr objects. A failure ends the walk. */
	int (*make_room)(struct mz_visitor *visitor, unsigned int nr);
	/*
	 * Called with the lock of the shard held and interrupts off. Copy the object and leave
	 * its access records alone, as their number has no bound. The records are reached from
	 * the head in the copy: new records are only put in front of it, and no record goes away
	 * before the object is released. So the list from that head on can be read later, without
	 * a lock, by who keeps the object from being released. Only mz_access::sums still changes.
	 */
	void (*visit)(struct mz_visitor *visitor, struct mz_object *obj);
};

int mz_index_walk(struct mz_index *idx, struct mz_visitor *visitor);

unsigned long mz_index_nr_live(struct mz_index *idx);
unsigned long mz_index_nr_freed(struct mz_index *idx);

/* Chains: FIFO of objects that belong to the caller. */
void mz_chain_append(struct mz_chain *to, struct mz_chain *from);
void mz_chain_push(struct mz_chain *chain, struct mz_object *obj);
void mz_chain_push_front(struct mz_chain *chain, struct mz_object *obj);
struct mz_object *mz_chain_pop(struct mz_chain *chain);
void mz_chain_sort_by_alloc(struct mz_chain *chain);

/* Merges runs of objects that are each in order. */
struct mz_sorter {
	struct mz_object *bins[BITS_PER_LONG];
	u64 (*time)(const struct mz_object *obj);
};

u64 mz_by_free(const struct mz_object *obj);
void mz_sorter_add(struct mz_sorter *sorter, struct mz_object *run);
void mz_sorter_finish(struct mz_sorter *sorter, struct mz_chain *ret_chain);

#endif /* MEMORIZER_INDEX_H */
