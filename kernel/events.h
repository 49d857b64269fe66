/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes on tracepoints, and what the tracepoints of the allocators leave out. */
#ifndef MEMORIZER_EVENTS_H
#define MEMORIZER_EVENTS_H

#include <linux/types.h>

struct kmem_cache;
struct mz_site;
struct seq_file;
struct tracepoint;

/* === Probes (events.c) === */

struct mz_probe {
	const char *name;
	void *func;
	struct tracepoint *tp; /* NULL where the kernel has none of this name */
	bool attached;
};

void mz_probes_find(struct mz_probe *probes, unsigned int nr);
int mz_probes_attach(struct mz_probe *probes, unsigned int nr);
void mz_probes_detach(struct mz_probe *probes, unsigned int nr);

int mz_events_update(void);
void mz_events_exit(void);
bool mz_events_attached(void);
void mz_events_show(struct seq_file *m);

/* === The name and the sizes of a slab cache (cache.c) === */

void mz_cache_init(void);
u64 mz_cache_identity(struct kmem_cache *cache);
void mz_cache_describe(struct kmem_cache *cache, const void *object, struct mz_site *site);

/* === The caller of the page allocator (caller.c) === */

int mz_caller_init(void);
void mz_caller_exit(void);
size_t mz_caller_bytes(void);
unsigned long mz_page_caller(void);

#endif /* MEMORIZER_EVENTS_H */
