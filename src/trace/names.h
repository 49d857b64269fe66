/* SPDX-License-Identifier: LGPL-2.1-only */
/* The tables that events point into: call sites, caches, comms, gfp masks, stacks. */
#ifndef KS_TRACE_NAMES_H
#define KS_TRACE_NAMES_H

#include "base/intern.h"
#include "trace/task-cgroups.h"

/* A call site, taken apart once. Strings live in the table's arena; "" where not known. */
struct ks_site {
	const char *text;   /* as the trace names it: "alloc_inode+0x4f/0xb0", "ffffffff8110f8a2" */
	const char *func;   /* "alloc_inode" */
	const char *module; /* "ext4"; "" = the kernel itself */
	u64 addr;	    /* 0 = the trace gives no address */
	u64 offset;	    /* into func */
	u64 extent;	    /* size of func; 0 = not said */
	bool tracer;	    /* a function of the tracing itself, which no stack trace is about */
};

struct ks_sites {
	struct ks_intern texts; /* the id of a site is the id of its text */
	KS_VEC(struct ks_site) sites;
};

struct ks_names {
	struct ks_sites sites;
	struct ks_intern caches;
	struct ks_intern comms;
	struct ks_intern gfps;
	struct ks_sites frames;	 /* of stacks: apart, since most of them allocate nothing */
	struct ks_intern stacks; /* each the u32 ids of its frames, innermost first */
	KS_VEC(u64) gfp_masks;	 /* by id in gfps, where the capture has them as numbers */
	const struct ks_task_cgroups *tasks; /* the source's; NULL = it does not know */
};

int ks_names_init(struct ks_names *names);
void ks_names_deinit(struct ks_names *names);

/*
 * The id of the site that a trace spells @text, KS_NONE for lack of memory. Understood are
 * "func+0xoff/0xsize [module]", parts of that, and a bare or 0x-prefixed address.
 */
u32 ks_sites_add(struct ks_sites *sites, const char *text, size_t len);

/*
 * The id of the site at @addr, which the capture's symbols spell @text. An address is a site of its
 * own even where two functions share a name: the second gets "@address" behind its text.
 */
u32 ks_sites_add_addr(struct ks_sites *sites, u64 addr, const char *text, size_t len);

/* The id of what is no call site, but stands for one where none is known: it has a text and no function. */
u32 ks_sites_add_label(struct ks_sites *sites, const char *text, size_t len);

static inline const struct ks_site *ks_sites_get(const struct ks_sites *sites, u32 id)
{
	static const struct ks_site unknown = { .text = "", .func = "", .module = "" };

	return id < sites->sites.len ? &sites->sites.items[id] : &unknown;
}

/* Of a deeper stack, the innermost frames are kept. */
enum { KS_STACK_MAX = 128 };

/* How many frames of a stack, from the innermost on, are of the tracing itself. Never all of them. */
size_t ks_names_tracer_frames(const struct ks_names *names, const u32 *frames, size_t len);

/* The id of a stack of these frames; KS_NONE for lack of memory. */
u32 ks_names_add_stack(struct ks_names *names, const u32 *frames, size_t len);

/* The frames of a stack, innermost first; none where there is no such stack. */
static inline const u32 *ks_names_stack(const struct ks_names *names, u32 id, size_t *ret_len)
{
	struct ks_str bytes = ks_intern_get(&names->stacks, id);

	*ret_len = bytes.len / sizeof(u32);
	return (const u32 *)(const void *)bytes.s; /* an arena's memory is aligned */
}

#endif
