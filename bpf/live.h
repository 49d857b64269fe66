/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/* What the programs of the live levels and their caller agree on. */
#ifndef KS_BPF_LIVE_H
#define KS_BPF_LIVE_H

#define KS_LIVE_FRAMES 32 /* of a stack */
#define KS_LIVE_COMM   16
#define KS_BPF_CACHES  32 /* that can be chosen */
#define KS_BPF_SITES   16
#define KS_LIVE_GAPS   16384  /* level 2: to draw from */
#define KS_LIVE_MARKS  262144 /* level 2: of addresses; several share one */
#define KS_LIVE_CELLS  16384  /* level 3: rows */
#define KS_LIVE_OTHERS 12288  /* level 3: from here on, for processes that have none of their own */
#define KS_LIVE_WAYS   4      /* level 3: objects in a cache line */

/* Code from an address up to another one, which is not part of it. */
struct ks_bpf_code {
	unsigned long long from, to;
};

/* What is looked at. 0 = all. */
struct ks_bpf_filter {
	unsigned long long cgroup; /* and all below it */
	struct ks_bpf_code sites[KS_BPF_SITES];
	unsigned long long caches[KS_BPF_CACHES]; /* addresses */
	unsigned int sizes[KS_BPF_CACHES];	  /* of kmalloc's: their objects; 0 = another */
	unsigned int nr_caches, nr_sites;
	unsigned int cgroup_depth; /* below the root */
	unsigned int pid;
};

/* Who allocated. Instead of the name of a process, where these share rows: */
#define KS_LIVE_OTHERS_COMM "(others)"

struct ks_bpf_task {
	unsigned long long cgroup;
	unsigned int pid; /* of the process, not of the thread */
	char comm[KS_LIVE_COMM];
	int stack; /* in the map of stacks; negative = none */
};

/* Level 1: a slab, by the address of its struct page. */
struct ks_bpf_slab {
	unsigned long long birth_ns; /* CLOCK_BOOTTIME */
	struct ks_bpf_task task;
	unsigned int order;
	unsigned int sure; /* it is a slab: its cache's own function made it */
};

/* Level 2: an object, by its address. */
struct ks_bpf_sample {
	unsigned long long birth_ns; /* CLOCK_BOOTTIME */
	unsigned long long site;
	unsigned long long cache; /* 0 = of kmalloc */
	struct ks_bpf_task task;
	unsigned int size;
};

/*
 * Level 2: which addresses have a mark, that is, may be of an object that is followed. A word is for what is in one page, so
 * that objects that the kernel has in one place have their marks in one place, too. All words fit into the cache that a
 * processor is nearest to. How many objects share a mark is only looked at when one begins or ends.
 */
struct ks_bpf_marks {
	unsigned long long words[KS_LIVE_MARKS / 64];
	unsigned int shared[KS_LIVE_MARKS / 4]; /* 8 bits for each mark */
};

enum { KS_LIVE_SHARED_MOST = 200 };

static inline unsigned int ks_live_mark_of(unsigned long long ptr)
{
	unsigned long long page = (ptr >> 12) * 0x9e3779b97f4a7c15ull >> 32;

	return (unsigned int)(page << 6 | (ptr >> 6 & 63)) & (KS_LIVE_MARKS - 1);
}

static inline int ks_live_is_marked(const struct ks_bpf_marks *marks, unsigned long long ptr)
{
	unsigned int mark = ks_live_mark_of(ptr);

	return (int)(marks->words[mark / 64] >> (mark % 64) & 1);
}

static inline unsigned int ks_live_shared(const struct ks_bpf_marks *marks, unsigned int mark)
{
	return marks->shared[mark / 4] >> (mark % 4 * 8) & 0xff;
}

static inline int ks_live_can_mark(const struct ks_bpf_marks *marks, unsigned long long ptr)
{
	return ks_live_shared(marks, ks_live_mark_of(ptr)) < KS_LIVE_SHARED_MOST;
}

static inline void ks_live_mark(struct ks_bpf_marks *marks, unsigned long long ptr)
{
	unsigned int mark = ks_live_mark_of(ptr);

	__sync_fetch_and_add(&marks->shared[mark / 4], 1u << (mark % 4 * 8));
	__sync_fetch_and_or(&marks->words[mark / 64], 1ull << (mark % 64));
}

/* Somebody may set the mark between the two steps: it is looked at again, and set again. */
static inline void ks_live_unmark(struct ks_bpf_marks *marks, unsigned long long ptr)
{
	unsigned int mark = ks_live_mark_of(ptr);

	__sync_fetch_and_add(&marks->shared[mark / 4], -(1u << (mark % 4 * 8)));
	if (ks_live_shared(marks, mark))
		return;
	__sync_fetch_and_and(&marks->words[mark / 64], ~(1ull << (mark % 64)));
	if (ks_live_shared(marks, mark))
		__sync_fetch_and_or(&marks->words[mark / 64], 1ull << (mark % 64));
}

/* Level 3: what objects of a row have in common. */
struct ks_bpf_cell {
	unsigned long long
		tag; /* a hash of all of it; 0 = there is none, others have the highest bit */
	unsigned long long site;
	unsigned long long cache;   /* 0 = of kmalloc */
	unsigned long long example; /* an object */
	struct ks_bpf_task task;
	unsigned int size;
};

/* Who saw the end of an object. */
enum { KS_LIVE_BY_KFREE, KS_LIVE_BY_CACHE_FREE, KS_LIVE_BY_OTHERS };

/*
 * And what one CPU adds to it, in a cache line. No program interrupts itself, but another one: so each word is written by one
 * program only, and nothing is lost.
 */
struct ks_bpf_sum {
	unsigned long long made, born;	      /* objects, and the sum of their births in ticks */
	unsigned long long ended[2], died[2]; /* the same of those that ended, by who saw it */
	unsigned long long pad[2];
};

/* Ends that are seen so rarely that all CPUs share them. */
struct ks_bpf_ended {
	unsigned long long objects, ticks;
};

/*
 * Level 3: the rows that a CPU has used last, one in each place: the tag, and in its low bits the number of the row. One word, so
 * that an interrupt sees all of it or nothing.
 */
#define KS_LIVE_KNOWN 8192

static inline unsigned int ks_live_known_of(unsigned long long tag)
{
	return (unsigned int)(tag >> 16) & (KS_LIVE_KNOWN - 1);
}

/* An object: its address, its birth in ticks, and its row in the low bits. */
#define KS_LIVE_CELL_BITS 16
/* Instead of an address: a program is about to write here; somebody looks whether the object is gone. */
#define KS_LIVE_RESERVED 1
#define KS_LIVE_HELD	 2

struct ks_bpf_object {
	unsigned long long addr;
	unsigned long long what;
};

struct ks_bpf_bucket {
	struct ks_bpf_object objects[KS_LIVE_WAYS];
};

/* Buckets come in groups of 64. The number of buckets that an object may be in: */
#define KS_LIVE_PLACES 17

/*
 * Objects that the kernel has in one page have their first buckets in one group: who works with few pages needs few of
 * ours. The page's own place in it differs from page to page, since large objects all begin where pages do. Where the first
 * one is full, the others are far from it and from each other: full buckets are neighbours.
 */
static inline unsigned int ks_live_bucket_of(unsigned long long ptr, unsigned int place,
					     unsigned int groups)
{
	unsigned long long page = (ptr >> 12) * 0x9e3779b97f4a7c15ull, other;

	if (!place)
		return (unsigned int)((page >> 32) * groups >> 32) << 6 |
		       (((unsigned int)(page >> 20) + (unsigned int)(ptr >> 6)) & 63);
	other = ((ptr >> 3) + place * 0x51ed270b7ull) * 0x9e3779b97f4a7c15ull;
	return (unsigned int)(((other ^ other >> 29) & 0xffffffff) * (groups << 6ull) >> 32);
}

/* What all levels count, one for each CPU. */
struct ks_bpf_counts {
	unsigned long long events, stacks, no_room, no_stack, unknown_frees, replaced;
	long long left;		/* level 2: bytes until the next sample */
	unsigned long long pad; /* a cache line each */
};

#endif
