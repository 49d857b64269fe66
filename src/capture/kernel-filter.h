/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Filters of trace events, which the kernel applies before an event goes into the ring: allocations of one cache, size, site or
 * command. Frees are never filtered, since they name neither: an object ends whoever frees it.
 */
#ifndef KS_CAPTURE_KERNEL_FILTER_H
#define KS_CAPTURE_KERNEL_FILTER_H

#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* What is asked for. */
struct ks_record_filter {
	const char *cache, *site, *comm; /* NULL = any */
	bool by_size;
	u64 size_min, size_max; /* bytes as allocated, both included */
};

static inline bool ks_record_filter_is_set(const struct ks_record_filter *filter)
{
	return filter->cache || filter->site || filter->comm || filter->by_size;
}

/* Where the two differ: events that the kernel raises, and the probe on bulk allocations. */
enum ks_filter_event {
	KS_FILTER_KMALLOC,
	KS_FILTER_CACHE,
	KS_FILTER_PAGE,
	KS_FILTER_BULK,
};

struct ks_site_range {
	u64 from, to; /* to is not part of it */
};

/* The same, in words that the kernel knows. Zeroed, it lets everything pass. */
struct ks_kernel_filter {
	struct ks_record_filter asked;
	char cache
		[128];	/* the name in events: of the cache that the one asked for is merged into */
	u64 cache_size; /* its bytes, where events name no cache; 0 = they do */
	u64 kmalloc_size;      /* of a kmalloc cache; 0 = it is none */
	struct ks_strbuf note; /* what the user should know, a line; may be empty */
	KS_VEC(struct ks_site_range) sites;
};

/*
 * Finds out what the kernel calls it. @kallsyms is the text of that file, @events_name: its events of caches have a name.
 * -EINVAL with advice where there is no such cache or function.
 */
int ks_kernel_filter_init(struct ks_kernel_filter *filter, const struct ks_record_filter *asked,
			  const char *kallsyms, bool events_name, const char *slab_dir,
			  const char *slabinfo, struct ks_diag *diag);
void ks_kernel_filter_deinit(struct ks_kernel_filter *filter);

/* The expression for an event, "" for any. False: no such event can pass. @page_size of the machine. */
bool ks_kernel_filter_print(const struct ks_kernel_filter *filter, enum ks_filter_event event,
			    u32 page_size, struct ks_strbuf *sb);

/* As options: "--cache dentry --size 192". */
void ks_record_filter_print(const struct ks_record_filter *filter, struct ks_strbuf *sb);

#endif
