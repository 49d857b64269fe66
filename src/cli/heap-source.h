/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a heap comes from: the kernel that runs here, or a file. */
#ifndef KS_CLI_HEAP_SOURCE_H
#define KS_CLI_HEAP_SOURCE_H

#include "heap/kernel.h"
#include "heap/snapshot.h"

/* How memory is read. */
enum ks_heap_memory { KS_HEAP_AUTO, KS_HEAP_BPF, KS_HEAP_KCORE, KS_HEAP_MEMORIES };

struct ks_heap_source {
	const char *from;    /* a file; NULL = the kernel that runs here */
	const char *vmcore;  /* a dump; NULL = the kernel that runs here */
	u64 guest;	     /* the process of a guest; 0 = the kernel that runs here */
	const char *btf;     /* a file with the kernel's types; NULL = its own */
	unsigned int memory; /* enum ks_heap_memory */
	bool brief;	     /* a snapshot that is taken now has few types */
};

/* "auto", "bpf", ... */
const char *ks_heap_memory_name(unsigned int memory);

/* A file with the kernel's symbols, or NULL. */
static inline const char *ks_heap_symbols(const struct ks_kernel *kernel)
{
	const char *path = kernel->memory->facts.symbols;

	return *path ? path : NULL;
}

/* Whether the file is a snapshot, and how long it is. A pipe is left alone: what is read from it is gone. */
bool ks_heap_is_snapshot(const char *path, u64 *ret_bytes);

/* The kernel. -EINVAL: the source is a snapshot, which has no memory. */
int ks_heap_source_kernel(const struct ks_heap_source *source, struct ks_kernel **ret_kernel,
			  struct ks_diag *diag);

/* A snapshot: taken now, or read from the file. KS_EBADINPUT: a graph is wanted, and the file has none. */
int ks_heap_source_snapshot(const struct ks_heap_source *source, bool graph,
			    struct ks_snapshot **ret_snapshot, struct ks_diag *diag);

/* As above, and the kernel whose memory goes with it, to be freed; NULL where it is from a file. */
int ks_heap_source_both(const struct ks_heap_source *source, bool graph,
			struct ks_snapshot **ret_snapshot, struct ks_kernel **ret_kernel,
			struct ks_diag *diag);

#endif
