/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Kernel memory that can be read by virtual address: of the running kernel, of a dump, of an image that a
 * test made up. Nothing here knows what the bytes mean.
 */
#ifndef KS_HEAP_MEMORY_H
#define KS_HEAP_MEMORY_H

#include <sys/types.h>

#include "base/diag.h"
#include "base/vec.h"

struct btf;

/* One piece to read. A piece that can't be read whole is zeroed and says so. */
struct ks_piece {
	u64 addr;
	void *buf;
	u32 len;
	bool failed;
};

/* Physical memory, [first, end) in pages. */
struct ks_ram {
	u64 first, end;
};

/* Addresses from @start on, as many as @size. */
struct ks_span {
	u64 start, size;
};

static inline bool ks_span_has(const struct ks_span *span, u64 addr)
{
	return addr - span->start < span->size;
}

/*
 * What a back end knows of its kernel beyond the bytes. Zero: it does not know; then kernel.c asks the
 * symbols, or works it out.
 */
struct ks_memory_facts {
	KS_VEC(struct ks_ram) ram;
	KS_VEC(u64) percpu; /* what to add to a per-CPU pointer, by CPU */
	u64 page_offset, vmemmap;
	struct ks_span image;	/* the kernel's code and data; on x86-64 modules, too */
	struct ks_span modules; /* where they are elsewhere */
	u64 slab_caches;	/* the head of the list of caches */
	u64 page_table;		/* the top level, as a virtual address */
	u64 task;		/* any task that has a user's address space */
	u64 copies, copies_end; /* where the kernel has what this handle copied last: no root */
	char symbols
		[32]; /* a file with the kernel's symbols, as /proc/kallsyms has them; "" = none */
};

struct ks_memory;

struct ks_memory_ops {
	const char *name;
	bool live; /* of the kernel that runs here: /proc and /sys are its own */

	/* Fails only where nothing can be read any more; a bad address is its piece's affair. */
	int (*read)(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		    struct ks_diag *diag);

	/* Another handle on the same memory, for another thread. */
	int (*dup)(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag);

	/* The kernel's types, where they come with its memory. May be NULL: they are elsewhere. */
	int (*types)(struct ks_memory *memory, struct btf **ret_btf, struct ks_diag *diag);

	/* Adds facts that need the kernel's types. May be NULL. */
	int (*locate)(struct ks_memory *memory, const struct btf *btf, struct ks_diag *diag);

	void (*free)(struct ks_memory *memory);
};

struct ks_memory {
	const struct ks_memory_ops *ops;
	struct ks_memory_facts facts;
	u64 bytes, failed; /* read so far; pieces that could not be */
};

void ks_memory_free(struct ks_memory *memory);

int ks_memory_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag);

/* All pieces, in one go where the back end can. */
int ks_memory_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		   struct ks_diag *diag);

/* One piece; -EFAULT where it can't be read. */
int ks_memory_get(struct ks_memory *memory, u64 addr, void *buf, u32 len);

static inline int ks_memory_word(struct ks_memory *memory, u64 addr, u64 *ret_word)
{
	return ks_memory_get(memory, addr, ret_word, sizeof(*ret_word));
}

/* A string of at most @size - 1 bytes, always terminated. -EFAULT: nothing of it can be read. */
int ks_memory_string(struct ks_memory *memory, u64 addr, char *buf, size_t size);

/* === Back ends ============================================================================ */

/* The running kernel by a BPF program that copies memory. Needs CAP_BPF and CAP_PERFMON. */
int ks_memory_open_bpf(struct ks_memory **ret_memory, struct ks_diag *diag);

/* The running kernel by an ELF core of it, normally /proc/kcore. */
int ks_memory_open_kcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag);

/* The running kernel by whichever of the two works; BPF is the faster. */
int ks_memory_open_running(struct ks_memory **ret_memory, struct ks_diag *diag);

/*
 * A dump that kdump or QEMU has written, ELF or compressed. KS_EBADINPUT: no dump, or one of a kernel that is not
 * known here, by name.
 */
int ks_memory_open_vmcore(const char *path, struct ks_memory **ret_memory, struct ks_diag *diag);

/*
 * A guest, by the process that it runs in: User Mode Linux, or QEMU with x86-64. KS_EBADINPUT: neither of them, or a
 * guest that is not known here, by name.
 */
int ks_memory_open_guest(pid_t pid, struct ks_memory **ret_memory, struct ks_diag *diag);

/* Private: the one of them; -ENOENT: it is no User Mode Linux. */
int ks_memory_open_uml(pid_t pid, struct ks_memory **ret_memory, struct ks_diag *diag);

/* Whether this program was built with what reads dumps. */
bool ks_memory_reads_dumps(void);

/* An image in memory, which must stay: see memory-image.c for its layout. */
int ks_memory_open_image(const void *data, size_t len, struct ks_memory **ret_memory,
			 struct ks_diag *diag);

/* For back ends: takes the facts over where it copies them. */
int ks_memory_copy_facts(const struct ks_memory_facts *from, struct ks_memory_facts *to);

/* For back ends of the running kernel: "System RAM" of /proc/iomem, and its symbols. */
int ks_memory_facts_of_proc(struct ks_memory_facts *facts, struct ks_diag *diag);

#endif
