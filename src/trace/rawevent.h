/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * From the kernel's binary records to neutral events: shared by the trace.dat and perf.data
 * readers. All that a capture says beside its events (formats, symbols, task names) goes in here.
 */
#ifndef KS_TRACE_RAWEVENT_H
#define KS_TRACE_RAWEVENT_H

#include "base/bytes.h"
#include "base/diag.h"
#include "base/map64.h"
#include "trace/evformat.h"
#include "trace/event.h"
#include "trace/names.h"
#include "trace/ksyms.h"

/*
 * Where a field of a record is; size 0 = the event has no such field. A field of any size is loaded with
 * one load of eight bytes that ends where the field ends, so no field may end before byte 8. The first
 * eight bytes are the header that all events share.
 */
struct ks_raw_field {
	u16 offset; /* of the eight bytes */
	u8 size;    /* of the field */
	u8 shift;   /* bits of the eight bytes that are not of the field */
};

/* What the recorder's own probes see, where the kernel has no event. */
enum ks_raw_hook {
	KS_HOOK_NONE,
	KS_HOOK_RCU,	   /* kfree_rcu() */
	KS_HOOK_BULK_FREE, /* many objects in one call */
	KS_HOOK_BULK_ALLOC,
	KS_HOOKS,
};

/* The names of these probes. */
#define KS_HOOK_RCU_NAME	"kfree_rcu"
#define KS_HOOK_BULK_FREE_NAME	"kmem_cache_free_bulk"
#define KS_HOOK_BULK_ALLOC_NAME "kmem_cache_alloc_bulk"

enum { KS_HOOK_OBJECTS = 64 }; /* in one record, at most */

/* How the records of one event id look, where it is a kmem event, a hook or a stack. */
struct ks_rawlayout {
	u8 kind;      /* KS_KINDS = not a kmem event */
	u8 hook;      /* enum ks_raw_hook */
	bool stack;   /* a kernel_stack record */
	bool single;  /* a page event without an order */
	bool by_page; /* a page event of an old kernel: the address of struct page is its identity */
	u16 min_size; /* a shorter record is damaged */
	struct ks_raw_field
		frames; /* of a kernel_stack record: their number; they begin at stack_offset */
	u16 stack_offset;
	struct ks_raw_field pid, site, ptr, name, req, alloc, gfp, node, order;
	struct ks_evformat *format; /* for the names of the gfp flags */

	/* Of a hook. */
	struct ks_raw_field head, count, made;
	u16 list_offset, list_len; /* of addresses */
};

enum ks_raw_class {
	KS_RAW_EVENT,
	KS_RAW_OTHER, /* not a kmem event */
	KS_RAW_STACK,
	KS_RAW_HOOK, /* none, one or many events: ks_rawdec_hook() */
	KS_RAW_BAD,
};

enum { KS_GFP_BITS = 8, KS_PID_CACHE = 256, KS_SITE_BITS = 11, KS_MEMO_NAME = 44 };

/* What is known of a call site, in one line of the processor's cache. */
struct ks_site_memo {
	u64 addr;
	u32 site;	/* KS_NONE: an empty place */
	u32 cache;	/* the cache that was named here last */
	u32 cache_size; /* of its name with the NUL; 0 = none yet, or it is too long */
	char cache_name[KS_MEMO_NAME];
} __attribute__((aligned(64)));

struct ks_rawdec {
	struct ks_names *names;
	bool swap; /* the capture's byte order is not this machine's */
	bool big_endian;
	u8 page_shift;
	u8 word_size;		      /* of the traced kernel */
	bool nomem;		      /* a table could not grow */
	u32 hooks;		      /* a bit for each ks_raw_hook that the capture describes */
	struct ks_rawlayout *layouts; /* [event id] */
	u32 layouts_len;
	struct ks_ksyms ksyms;
	KS_VEC(struct ks_evformat *) formats;

	struct ks_map64 sites; /* addresses, numbered as site_ids */
	KS_VEC(u32) site_ids;
	struct ks_site_memo *site_memo; /* [1 << KS_SITE_BITS], by hash of the address */
	struct ks_map64 frames;		/* addresses, numbered as frame_ids */
	KS_VEC(u32) frame_ids;
	struct ks_map64 gfps; /* masks, numbered as gfp_ids */
	KS_VEC(u32) gfp_ids;
	struct ks_map64 pids; /* numbered as pid_comms */
	KS_VEC(u32) pid_comms;
	struct {
		u64 mask;
		const struct ks_evformat *format;
		u32 id;
	} gfp_cache[1 << KS_GFP_BITS];
	struct {
		u32 pid, id;
	} pid_cache[KS_PID_CACHE];
};

int ks_rawdec_init(struct ks_rawdec *dec, struct ks_names *names, bool big_endian, u32 page_size);
void ks_rawdec_deinit(struct ks_rawdec *dec);

/* Learns one format file; those of other events are left out. 0 or -ENOMEM. */
int ks_rawdec_add_format(struct ks_rawdec *dec, const char *text, size_t len);

/* The text of kallsyms: see ks_ksyms_parse(). */
int ks_rawdec_set_symbols(struct ks_rawdec *dec, char *memory, size_t start, size_t len);

/* "pid comm" lines of saved_cmdlines. */
int ks_rawdec_add_cmdlines(struct ks_rawdec *dec, const char *text, size_t len);
int ks_rawdec_set_comm(struct ks_rawdec *dec, u32 pid, const char *comm, size_t len);

/* The comm of a task, KS_NONE where it was not saved. */
u32 ks_rawdec_comm(struct ks_rawdec *dec, u32 pid);

/* The id of a call site, by address; KS_NONE for lack of memory. */
u32 ks_rawdec_site(struct ks_rawdec *dec, u64 addr);

/* The id of a gfp mask, by the flag names of @fmt; without one, in hex. */
u32 ks_rawdec_gfp(struct ks_rawdec *dec, const struct ks_evformat *fmt, u64 mask);

/* The id of the stack in a kernel_stack record; KS_NONE where it is damaged or there is no memory. */
u32 ks_rawdec_stack(struct ks_rawdec *dec, const u8 *data, size_t len);

/* The same for a list of @count addresses in the capture's byte order, @size bytes each. */
u32 ks_rawdec_add_stack(struct ks_rawdec *dec, const u8 *addresses, size_t count,
			unsigned int size);

/* True when at least one kmem event is described. */
bool ks_rawdec_has_events(const struct ks_rawdec *dec);

/*
 * The events of a record of class KS_RAW_HOOK, at most KS_HOOK_OBJECTS; all but ts and cpu. *ret_missed: objects that
 * the record had no room for. KS_NONE: it is damaged.
 */
u32 ks_rawdec_hook(struct ks_rawdec *dec, const u8 *data, size_t len, struct ks_event *ret_events,
		   u64 *ret_missed);

/* In ret_event: all but ts and cpu, which are the caller's. */
enum ks_raw_class ks_rawdec_decode(struct ks_rawdec *dec, const u8 *data, size_t len,
				   struct ks_event *ret_event);

#endif
