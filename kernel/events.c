// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on the tracepoints of the slab and page allocators. The tracepoints are found by name,
 * and the probes are attached only while events are wanted.
 */
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <trace/events/kmem.h>

#include "bulk.h"
#include "events.h"
#include "kmemtrace.h"

/* === Probes =============================================================================== */

static void probe_kmalloc(void *data, unsigned long call_site, const void *ptr, size_t bytes_req,
			  size_t bytes_alloc, gfp_t gfp, int node)
{
	mz_alloc(&(struct mz_alloc){
		.kind = MEMORIZER_KMALLOC,
		.ip = call_site,
		.addr = (unsigned long)ptr,
		.bytes_req = bytes_req,
		.bytes_alloc = bytes_alloc,
		.gfp = gfp,
		.node = node,
	});
}

static void probe_cache_alloc(void *data, unsigned long call_site, const void *ptr,
			      struct kmem_cache *cache, gfp_t gfp, int node)
{
	mz_alloc(&(struct mz_alloc){
		.kind = MEMORIZER_CACHE,
		.ip = call_site,
		.addr = (unsigned long)ptr,
		.cache = cache,
		.gfp = gfp,
		.node = node,
	});
}

static void probe_kfree(void *data, unsigned long call_site, const void *ptr)
{
	mz_free(MEMORIZER_KMALLOC, call_site, (unsigned long)ptr, 0);
}

static void probe_cache_free(void *data, unsigned long call_site, const void *ptr,
			     const struct kmem_cache *cache)
{
	mz_free(MEMORIZER_CACHE, call_site, (unsigned long)ptr, 0);
}

static void probe_page_alloc(void *data, struct page *page, unsigned int order, gfp_t gfp,
			     int migratetype)
{
	mz_alloc(&(struct mz_alloc){
		.kind = MEMORIZER_PAGES,
		.addr = page ? (unsigned long)page_address(page) : 0,
		.bytes_req = PAGE_SIZE << order,
		.bytes_alloc = PAGE_SIZE << order,
		.gfp = gfp,
		.node = NUMA_NO_NODE,
	});
}

static void probe_page_free(void *data, struct page *page, unsigned int order)
{
	mz_free(MEMORIZER_PAGES, 0, (unsigned long)page_address(page), PAGE_SIZE << order);
}

/* === Data ================================================================================= */

static struct mz_probe probes[] = {
	{ .name = "kmalloc", .func = probe_kmalloc },
	{ .name = "kfree", .func = probe_kfree },
	{ .name = "kmem_cache_alloc", .func = probe_cache_alloc },
	{ .name = "kmem_cache_free", .func = probe_cache_free },
	{ .name = "mm_page_alloc", .func = probe_page_alloc },
	{ .name = "mm_page_free", .func = probe_page_free },
};

static bool attached;

/* === Internals ============================================================================ */

struct search {
	struct mz_probe *probes;
	unsigned int nr;
};

static void match_tracepoint(struct tracepoint *tp, void *data)
{
	struct search *search = data;
	unsigned int i;

	for (i = 0; i < search->nr; i++) {
		if (!strcmp(tp->name, search->probes[i].name))
			search->probes[i].tp = tp;
	}
}

static bool wanted(void)
{
	return mz.mode != MZ_OFF || kmemtrace_is_on() || mz_index_nr_live(&mz.index);
}

/* === Public =============================================================================== */

void mz_probes_find(struct mz_probe *list, unsigned int nr)
{
	struct search search = { .probes = list, .nr = nr };

	for_each_kernel_tracepoint(match_tracepoint, &search);
}

/* Attaches all probes of a list. On failure none of them is attached. */
int mz_probes_attach(struct mz_probe *list, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		if (list[i].attached || !list[i].tp)
			continue;
		err = tracepoint_probe_register(list[i].tp, list[i].func, NULL);
		if (err) {
			mz_probes_detach(list, nr);
			return err;
		}
		list[i].attached = true;
	}
	return 0;
}

/* When this returns no probe of the list is running any more. */
void mz_probes_detach(struct mz_probe *list, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!list[i].attached)
			continue;
		tracepoint_probe_unregister(list[i].tp, list[i].func, NULL);
		list[i].attached = false;
	}
	tracepoint_synchronize_unregister();
}

/**
 * mz_events_update() - attaches the probes if events are wanted, detaches them if not
 *
 * With the mode off the probes stay as long as there are live objects, to see them freed.
 */
int mz_events_update(void)
{
	int err;

	lockdep_assert_held(&mz.control);
	check_trace_callback_type_kmalloc(probe_kmalloc);
	check_trace_callback_type_kfree(probe_kfree);
	check_trace_callback_type_kmem_cache_alloc(probe_cache_alloc);
	check_trace_callback_type_kmem_cache_free(probe_cache_free);
	check_trace_callback_type_mm_page_alloc(probe_page_alloc);
	check_trace_callback_type_mm_page_free(probe_page_free);

	if (!wanted()) {
		mz_events_exit();
		return 0;
	}
	mz_probes_find(probes, ARRAY_SIZE(probes));
	err = mz_probes_attach(probes, ARRAY_SIZE(probes));
	if (!err)
		mz_bulk_attach();
	WRITE_ONCE(attached, !err);
	return err;
}

/* Whether events that come without a probe are wanted, too. */
bool mz_events_attached(void)
{
	return READ_ONCE(attached);
}

void mz_events_exit(void)
{
	WRITE_ONCE(attached, false);
	mz_bulk_detach();
	mz_probes_detach(probes, ARRAY_SIZE(probes));
}

/* Which events are seen, for show_stats. */
void mz_events_show(struct seq_file *m)
{
	unsigned int i;

	mutex_lock(&mz.control);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		seq_printf(m, "event %s: %s\n", probes[i].name,
			   probes[i].attached ? "attached" : "detached");
	}
	mz_bulk_show(m);
	mutex_unlock(&mz.control);
}
