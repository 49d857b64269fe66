/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/* What the programs of the live levels share: counters, stacks, who runs. */
#ifndef KS_BPF_LIVE_COMMON_H
#define KS_BPF_LIVE_COMMON_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "live.h"

typedef unsigned long long u64;
typedef unsigned int u32;

struct kmem_cache {
	unsigned int size;
} __attribute__((preserve_access_index));

char LICENSE[] SEC("license") = "GPL";

/* How many stacks there is room for, the caller says. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, KS_LIVE_FRAMES * sizeof(u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ks_bpf_counts);
} counts SEC(".maps");

static __always_inline struct ks_bpf_counts *my_counts(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline void who(void *ctx, struct ks_bpf_task *task, struct ks_bpf_counts *c)
{
	task->pid = bpf_get_current_pid_tgid() >> 32;
	task->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(task->comm, sizeof(task->comm));
	/* Two stacks of one hash: the second has no room. */
	task->stack = (int)bpf_get_stackid(ctx, &stacks, 0);
	c->stacks++;
	c->no_stack += task->stack < 0;
}

#endif
