/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/* What the programs of the live levels and their caller agree on. */
#ifndef KS_BPF_LIVE_H
#define KS_BPF_LIVE_H

#define KS_LIVE_FRAMES 32 /* of a stack */
#define KS_LIVE_COMM   16
#define KS_BPF_CACHES  32     /* that can be chosen */
#define KS_LIVE_GAPS   16384  /* level 2: to draw from */
#define KS_LIVE_MARKS  262144 /* level 2: hashes of addresses */
#define KS_LIVE_CELLS  16384  /* level 3: rows */
#define KS_LIVE_OTHERS 12288  /* level 3: from here on, for processes that have none of their own */
#define KS_LIVE_WAYS   4      /* level 3: objects in a cache line */

/* What is looked at. 0 = all. */
struct ks_bpf_filter {
	unsigned long long cgroup;
	unsigned long long caches[KS_BPF_CACHES]; /* addresses */
	unsigned int sizes[KS_BPF_CACHES];	  /* of kmalloc's: their objects; 0 = another */
	unsigned int nr_caches;
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

/* Level 3: what objects of a row have in common. */
struct ks_bpf_cell {
	unsigned long long tag; /* a hash of all of it; 0 = there is none */
	unsigned long long site;
	unsigned long long cache;   /* 0 = of kmalloc */
	unsigned long long example; /* an object */
	struct ks_bpf_task task;
	unsigned int size;
};

/* And what one CPU adds to it, or takes away. */
struct ks_bpf_sum {
	long long objects, ticks;
	unsigned long long made;
	unsigned long long pad;
};

/* An object: its address, its birth in ticks, and its row in the low bits. */
#define KS_LIVE_CELL_BITS 16

struct ks_bpf_object {
	unsigned long long addr;
	unsigned long long what;
};

struct ks_bpf_bucket {
	struct ks_bpf_object objects[KS_LIVE_WAYS];
};

/* What all levels count, one for each CPU. */
struct ks_bpf_counts {
	unsigned long long events, stacks, no_room, no_stack, unknown_frees, replaced;
	long long left; /* level 2: bytes until the next sample */
	unsigned long long scratch;
};

#endif
