// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies kernel memory to user space, and nothing else: what the bytes mean, user space knows. The
 * program is run on request and is attached to nothing.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "heap-read.h"

char LICENSE[] SEC("license") = "GPL";

/* === Data: shared with the caller by mmap ================================================= */

struct ks_copy_request requests[KS_COPY_REQUESTS];
int results[KS_COPY_REQUESTS];
unsigned int request_count;

/* Any place below KS_COPY_BYTES has room for the largest request: the verifier sees that it fits. */
char data[KS_COPY_BYTES + KS_COPY_MOST];

/*
 * Where per-CPU memory lies, by a map of ours: its address is that of its struct bpf_array, which holds the
 * per-CPU pointer that belongs to these addresses.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, unsigned int);
	__type(value, unsigned long long);
} probe SEC(".maps");

unsigned long long probe_map;
unsigned long long probe_at[KS_COPY_CPUS];
unsigned long long current_task;
unsigned long long requests_at; /* where the kernel has all this */
unsigned int cpu_count;

/* === Internals ============================================================================ */

static long copy_one(unsigned int i, void *context)
{
	unsigned int at, len;

	if (i >= KS_COPY_REQUESTS)
		return 1;
	at = requests[i].at & (KS_COPY_BYTES - 1);
	len = requests[i].len;
	if (len > KS_COPY_MOST)
		len = KS_COPY_MOST;
	results[i] = (int)bpf_probe_read_kernel(&data[at], len, (const void *)requests[i].addr);
	return 0;
}

static long find_cpu(unsigned int cpu, void *context)
{
	unsigned int zero = 0;

	if (cpu >= KS_COPY_CPUS)
		return 1;
	probe_at[cpu] = (unsigned long long)bpf_map_lookup_percpu_elem(&probe, &zero, cpu);
	return 0;
}

/* === Public =============================================================================== */

/* The count of bpf_loop() must be of 64 bits, and its context on the stack. */
SEC("syscall")
int copy(void *context)
{
	unsigned long long count = request_count;

	if (count > KS_COPY_REQUESTS)
		count = KS_COPY_REQUESTS;
	bpf_loop(count, copy_one, &count, 0);
	return 0;
}

SEC("syscall")
int locate(void *context)
{
	unsigned long long count = cpu_count;

	if (count > KS_COPY_CPUS)
		count = KS_COPY_CPUS;
	probe_map = (unsigned long long)&probe;
	current_task = bpf_get_current_task();
	requests_at = (unsigned long long)&requests;
	bpf_loop(count, find_cpu, &count, 0);
	return 0;
}
