/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/* What the programs of the live levels and their caller agree on. */
#ifndef KS_BPF_LIVE_H
#define KS_BPF_LIVE_H

#define KS_LIVE_FRAMES 32 /* of a stack */
#define KS_LIVE_COMM   16

/* Who allocated. */
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

/* What all levels count, one for each CPU. */
struct ks_bpf_counts {
	unsigned long long events, stacks, no_room, no_stack, unknown_frees, replaced;
	long long left; /* level 2: bytes until the next sample */
};

#endif
