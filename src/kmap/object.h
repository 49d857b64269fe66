/* SPDX-License-Identifier: LGPL-2.1-only */
/* One kernel object of an access map, with everything that touched it; the same for all dialects. */
#ifndef KS_KMAP_OBJECT_H
#define KS_KMAP_OBJECT_H

#include "base/types.h"

struct ks_slice {
	const char *s; /* not terminated */
	size_t len;
};

/* The allocation types by the numbers of the kernel side; names not among them get later numbers. */
enum ks_kmap_type {
	KS_KMAP_STACK_PAGE = 3,
	KS_KMAP_GLOBAL = 6,
	KS_KMAP_KMALLOC = 7,
	KS_KMAP_KMEM_CACHE = 9,
	KS_KMAP_VMALLOC = 12,
	KS_KMAP_ALLOC_PAGES = 13,
	KS_KMAP_ALLOC_PAGES_FOLIO = 16,
	KS_KMAP_MEMBLOCK = 19,
	KS_KMAP_UFO_MEMBLOCK = 20,
	KS_KMAP_UFO_GLOBAL = 24,
	KS_KMAP_UFO_NONE = 25,
	KS_KMAP_NONE = 26,
	/* Of our own kernel side alone: */
	KS_KMAP_SLAB_PAGES = 27, /* a second time the memory of slab objects */
	KS_KMAP_PERCPU = 28,
	KS_KMAP_MODULE_DATA = 29, /* a module's data */
	KS_KMAP_PAGE_TABLE = 30,
	KS_KMAP_TYPES /* how many there are; also "the dialect does not say" */
};

/* "KMALLOC", ...; NULL behind the last. */
const char *ks_kmap_type_name(u32 type);

/* The name of @type, which is below KS_KMAP_TYPES. */
struct ks_slice ks_kmap_type_slice(u32 type);

/* KS_KMAP_TYPES if there is no such type. */
u32 ks_kmap_type_parse(const char *name, size_t len);

/* Addresses that are no addresses. */
#define KS_KMAP_IP_IMPLIED \
	0xdeadbeefull /* free_ip: the address was allocated again, no free seen */
#define KS_KMAP_IP_NESTED    0xfedbeefull /* free_ip: likewise, by an allocator inside an allocator */
#define KS_KMAP_IP_UNUSED    0xfeedbeefull /* alloc_ip: a slot of a slab that was never handed out */
#define KS_KMAP_IP_TYPES_END 0x400ull /* alloc_ip below: a type, of a record made up at an access */

/* A pid that the dialect does not have; -1 is "not in a task". */
#define KS_KMAP_NO_PID INT32_MIN

enum ks_kmap_context {
	KS_KMAP_IN_ANY, /* not recorded: a task, or, with a pid of -1, an interrupt of either kind */
	KS_KMAP_IN_SOFTIRQ,
	KS_KMAP_IN_HARDIRQ,
};

/* Where in its object an access was; 0 = not recorded. */
enum ks_kmap_spot_flag {
	KS_KMAP_HAS_SPOT = 1,
	KS_KMAP_OFFSET_VARIES = 2, /* the offset is the first of several */
	KS_KMAP_LENGTH_VARIES = 4,
};

struct ks_kmap_access {
	u64 ip;
	u64 caller; /* 0 = not recorded */
	u64 writes, reads;
	u64 bytes_written, bytes_read; /* of an object with has_bytes */
	s32 pid;
	u8 context; /* enum ks_kmap_context */
	u8 spot;    /* enum ks_kmap_spot_flag; with it: */
	u16 cpu;
	u32 offset;
};

/*
 * How often a function was called from one place, and returned to there; in the stream of a map, but without
 * an object.
 */
struct ks_kmap_call {
	u64 from, to, count;
	u64 returns;
	bool has_returns; /* the map says how often; else it can be taken for once a call */
};

struct ks_kmap_object {
	u64 alloc_ip, addr;
	u64 size; /* that was asked for, where the map says so */
	u64 slot; /* that the allocator gave; 0 = not recorded */
	u64 alloc_time, free_time, free_ip;
	s32 pid;
	u32 type;	       /* KS_KMAP_TYPES = see type_name */
	unsigned int fields;   /* of the text line: 8 to 11; 0 = binary, which alone has ... */
	u32 gfp;	       /* ... these: */
	s32 tgid;	       /* of the process */
	u16 cpu;	       /* that allocated it */
	u8 context;	       /* enum ks_kmap_context */
	bool has_bytes;	       /* accesses tell how many bytes they moved */
	struct ks_slice comm;  /* or "hardirq", "softirq" */
	struct ks_slice cache; /* "" = not recorded; "no-slab" = in none */
	struct ks_slice type_name, new_type;
	const struct ks_kmap_access *accesses;
	size_t nr_accesses;
};

/* Whether the object lives at the end of the map. */
static inline bool ks_kmap_is_live(const struct ks_kmap_object *object)
{
	return !object->free_time && !object->free_ip;
}

/* Whether it ended without its free being seen. */
static inline bool ks_kmap_is_implied(const struct ks_kmap_object *object)
{
	return object->free_ip == KS_KMAP_IP_IMPLIED || object->free_ip == KS_KMAP_IP_NESTED;
}

/* The bytes that belong to it, whether its owner asked for them or not. */
static inline u64 ks_kmap_extent(const struct ks_kmap_object *object)
{
	return object->slot ? object->slot : object->size;
}

/* Whether it is a variable, which has a name and no code that allocates it. */
static inline bool ks_kmap_is_variable(u32 type)
{
	return type == KS_KMAP_GLOBAL || type == KS_KMAP_UFO_GLOBAL || type == KS_KMAP_PERCPU ||
	       type == KS_KMAP_MODULE_DATA;
}

/*
 * Whether its contents belong to user space, or may: then nobody counts what is done to them. Pages for user space are
 * movable and may be in high memory; no other pages are both.
 */
bool ks_kmap_may_be_users(const struct ks_kmap_object *object);

/*
 * Whether it is no object but the place of a function, whose name is the command's: by such a line
 * the kernel side says in text what the header of a binary stream says.
 */
static inline bool ks_kmap_is_anchor(const struct ks_kmap_object *object)
{
	return object->addr && !object->alloc_ip && !object->size && !object->alloc_time &&
	       !object->free_time && !object->free_ip && !object->pid && object->fields == 8;
}

/* Whether alloc_ip is the address of code. */
static inline bool ks_kmap_is_code(u64 ip)
{
	return ip >= KS_KMAP_IP_TYPES_END && ip != KS_KMAP_IP_UNUSED && ip != KS_KMAP_IP_IMPLIED &&
	       ip != KS_KMAP_IP_NESTED;
}

#endif
