/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/* What the program that copies kernel memory and its caller agree on. */
#ifndef KS_BPF_HEAP_READ_H
#define KS_BPF_HEAP_READ_H

/*
 * A call copies at most KS_COPY_BYTES: a few milliseconds, as long as the program can keep a kernel
 * without full preemption from scheduling.
 */
#define KS_COPY_REQUESTS 4096u
#define KS_COPY_BYTES	 (4u << 20)
#define KS_COPY_MOST	 (1u << 20) /* of one request */
#define KS_COPY_CPUS	 8192u

struct ks_copy_request {
	unsigned long long addr;
	unsigned int len;
	unsigned int at; /* where it goes in the data */
};

#endif
