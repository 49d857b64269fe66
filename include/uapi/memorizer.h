/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-only */
/*
 * Record layouts that the kernel side writes and user space reads: memorizer/kmap_bin and
 * kmap_stream_bin, and kmemtrace/cpuN, each with its version. All fields are in the byte order of
 * the traced machine, which a reader recognises by the magic number.
 */
#ifndef _UAPI_MEMORIZER_H
#define _UAPI_MEMORIZER_H

#include <linux/types.h>

/*
 * === memorizer: each open file delivers one header, then, in version 2, calls, then objects: a
 * record each, directly followed by the accesses to that object ===
 */

#define MEMORIZER_MAGIC	      0x4d5a4b31 /* "MZK1" */
#define MEMORIZER_ABI_VERSION 1
#define MEMORIZER_ABI_CALLS   2 /* of a file with calls; the others keep version 1 */

#define MEMORIZER_COMM_LEN    16
#define MEMORIZER_CACHE_LEN   32

/* free_ip of an object whose address was allocated again before any free of it was seen. */
#define MEMORIZER_IP_IMPLIED 0xdeadbeefULL

/* Which allocator the object came from. */
enum memorizer_kind {
	MEMORIZER_KMALLOC = 1,
	MEMORIZER_CACHE = 2, /* kmem_cache_alloc(), one by one or in bulk */
	MEMORIZER_PAGES = 3, /* the page allocator */
	/* From here on by kernels that count accesses. */
	MEMORIZER_VMALLOC = 4,
	MEMORIZER_SLAB_PAGES = 5, /* that a slab is made of, whose objects are recorded as well */
	/*
	 * What no allocator handed out: from the first access on, until counting ends. alloc_ip is
	 * an enum memorizer_text_type; of a processor's variables, the address of their declaration.
	 * Stacks and page tables that the page allocator was seen to hand out have its caller.
	 */
	MEMORIZER_GLOBAL = 6,	   /* a variable of the kernel, as large as to the next symbol */
	MEMORIZER_PERCPU = 7,	   /* 64 bytes of a processor's variables, if there are several */
	MEMORIZER_STACK = 8,	   /* of the task that pid, tgid and comm name */
	MEMORIZER_BOOT = 9,	   /* allocated at boot: the array of page structs, or a page */
	MEMORIZER_MODULE = 10,	   /* a module's data or code, by symbol */
	MEMORIZER_PAGE_TABLE = 11, /* a page of a page table */
	MEMORIZER_OTHER = 12,	   /* a page of anything else */
};

/* What Memorizer's text has as the alloc_ip of objects that no allocator handed out: their type. */
enum memorizer_text_type {
	MEMORIZER_TEXT_STACK = 3,
	MEMORIZER_TEXT_GLOBAL = 6,
	MEMORIZER_TEXT_BOOT = 19,
	MEMORIZER_TEXT_OTHER = 25,
	MEMORIZER_TEXT_PERCPU = 28,
	MEMORIZER_TEXT_MODULE = 29,
	MEMORIZER_TEXT_PAGE_TABLE = 30,
};

/* What an allocation or an access ran in. */
enum memorizer_context {
	MEMORIZER_IN_TASK = 0,
	MEMORIZER_IN_SOFTIRQ = 1,
	MEMORIZER_IN_HARDIRQ = 2,
};

/*
 * pid and tgid of everything that ran outside of MEMORIZER_IN_TASK. Files from before this constant
 * have 0 there, so a reader must decide by the context, not by the pid.
 */
#define MEMORIZER_PID_NONE (-1)

#define MEMORIZER_FREED	   (1U << 0) /* free_ip and free_ns are set */
#define MEMORIZER_IMPLIED  (1U << 1) /* the free was not seen, only that the address was reused */

/**
 * struct memorizer_header - the first bytes that each open of a binary file delivers
 * @magic: MEMORIZER_MAGIC
 * @version: MEMORIZER_ABI_VERSION or MEMORIZER_ABI_CALLS; a reader refuses what it does not know
 * @header_size: bytes of this header; calls or records start behind it
 * @record_size: bytes of each record; later versions add fields at the end only
 * @tick_ns: length of a jiffy in nanoseconds
 * @base_ns: time at which the header was made, in the clock of alloc_ns and free_ns
 * @base_jiffies: value of jiffies at @base_ns
 * @anchor: address of the function @anchor_name in the running kernel. The difference to its
 *          address in System.map is the displacement of the kernel image (KASLR).
 * @anchor_name: name of an exported function, zero-terminated
 * @access_size: bytes of each access; later versions add fields at the end only
 * @calls: how many struct memorizer_call follow; 0 in version 1
 */
struct memorizer_header {
	__u32 magic;
	__u16 version;
	__u16 header_size;
	__u32 record_size;
	__u32 tick_ns;
	__u64 base_ns;
	__u64 base_jiffies;
	__u64 anchor;
	char anchor_name[24];
	__u32 access_size;
	__u32 calls;
};

/**
 * struct memorizer_call - how often a function was called from one place
 * @site: where the call returns to
 * @function: the function
 * @calls: how often it was called from there
 * @returns: how often it returned to there. It differs from @calls by what was under way when
 *           counting began and ended, and by functions that do not return.
 */
struct memorizer_call {
	__u64 site;
	__u64 function;
	__u64 calls;
	__u64 returns;
};

/**
 * struct memorizer_record - one object
 * @addr: address of the object; of page memory, its address in the direct map
 * @alloc_ip: the caller outside the allocator; 0 if it could not be had; see MEMORIZER_GLOBAL
 * @free_ip: the caller that freed; 0 while the object lives, MEMORIZER_IP_IMPLIED where no free was
 *           seen
 * @alloc_ns: time of the allocation in nanoseconds, in the clock that ftrace calls "local"
 * @free_ns: time of the free, in the same clock; 0 while the object lives
 * @bytes_req: bytes that the caller asked for
 * @bytes_alloc: bytes that the allocator gave
 * @gfp: allocation flags, with the bit numbers of the running kernel
 * @pid: thread that allocated, or MEMORIZER_PID_NONE
 * @tgid: process that allocated, or MEMORIZER_PID_NONE
 * @cpu: processor that allocated
 * @kind: enum memorizer_kind
 * @context: enum memorizer_context
 * @flags: MEMORIZER_FREED and so on
 * @accesses: how many struct memorizer_access follow this record
 * @comm: name of the thread, or "hardirq" or "softirq"; zero-padded
 * @cache: name of the slab cache, empty if unknown; zero-padded, cut to fit
 */
struct memorizer_record {
	__u64 addr;
	__u64 alloc_ip;
	__u64 free_ip;
	__u64 alloc_ns;
	__u64 free_ns;
	__u64 bytes_req;
	__u64 bytes_alloc;
	__u32 gfp;
	__s32 pid;
	__s32 tgid;
	__u16 cpu;
	__u8 kind;
	__u8 context;
	__u32 flags;
	__u32 accesses;
	char comm[MEMORIZER_COMM_LEN];
	char cache[MEMORIZER_CACHE_LEN];
};

/* memorizer_access::flags */
#define MEMORIZER_HAS_SPOT	(1U << 0) /* offset and cpu are set */
#define MEMORIZER_OFFSET_VARIES (1U << 1) /* offset is that of the first of these accesses */
#define MEMORIZER_LENGTH_VARIES (1U << 2) /* not all of them are bytes / count long */

/* memorizer_access::offset of what is too far into its object. */
#define MEMORIZER_OFFSET_FAR 0x7fffU

/* Processors are counted modulo this in memorizer_access::cpu. */
#define MEMORIZER_ACCESS_CPUS 128

/**
 * struct memorizer_access - what one instruction did to the object whose record precedes it
 * @ip: the instruction
 * @writes: how often it wrote to the object
 * @reads: how often it read from it
 * @bytes_written: bytes of all these writes
 * @bytes_read: bytes of all these reads. Maps converted from text have 0 in both byte counts.
 * @pid: thread that ran it, or MEMORIZER_PID_NONE
 * @context: enum memorizer_context
 * @flags: MEMORIZER_HAS_SPOT and so on; 0 in files from before this field
 * @cpu: processor that ran it
 * @offset: where in the object the accesses start. What they reach is as long as their bytes by
 *          their number. An instruction has a record for each offset, up to a few; where there
 *          are more, or one beside the other, a record for all of them.
 * @reserved: 0
 */
struct memorizer_access {
	__u64 ip;
	__u64 writes;
	__u64 reads;
	__u64 bytes_written;
	__u64 bytes_read;
	__s32 pid;
	__u8 context;
	__u8 flags;
	__u16 cpu;
	__u32 offset;
	__u32 reserved;
};

/* === kmemtrace: per-processor streams of records, no header === */

#define KMEMTRACE_ABI_VERSION 1

enum kmemtrace_event_id {
	KMEMTRACE_EVENT_ALLOC = 0,
	KMEMTRACE_EVENT_FREE = 1,
};

enum kmemtrace_type_id {
	KMEMTRACE_TYPE_KMALLOC = 0,
	KMEMTRACE_TYPE_CACHE = 1,
	KMEMTRACE_TYPE_PAGES = 2, /* reserved: never written in version 1 */
};

/**
 * struct kmemtrace_event - what every record starts with
 * @event_id: enum kmemtrace_event_id
 * @type_id: enum kmemtrace_type_id
 * @event_size: bytes of the whole record; a reader skips a tail that it does not know
 * @sequence: counts the records of all processors, from 1, wrapping. It is taken before room in the
 *            buffer is: a number that is in none of the streams belongs to a record that was dropped.
 * @call_site: the caller outside the allocator
 * @ptr: the object; 0 for kfree(NULL) and failed allocations
 */
struct kmemtrace_event {
	__u8 event_id;
	__u8 type_id;
	__u16 event_size;
	__s32 sequence;
	__u64 call_site;
	__u64 ptr;
} __attribute__((packed));

/**
 * struct kmemtrace_alloc - a record with KMEMTRACE_EVENT_ALLOC
 * @event: common part
 * @bytes_req: bytes that the caller asked for
 * @bytes_alloc: bytes that the allocator gave
 * @gfp_flags: allocation flags, with the bit numbers of the running kernel
 * @node: NUMA node that the caller asked for, -1 for any
 */
struct kmemtrace_alloc {
	struct kmemtrace_event event;
	__u64 bytes_req;
	__u64 bytes_alloc;
	__u32 gfp_flags;
	__s32 node;
} __attribute__((packed));

#endif /* _UAPI_MEMORIZER_H */
