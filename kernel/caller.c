// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller of the page allocator. The page tracepoints do not report it, so it is read off the
 * stack: the first return address outside the allocators is the caller.
 */
#include <linux/module.h>
#include <linux/stacktrace.h>

#include "events.h"
#include "table.h"

/* === Data ================================================================================= */

#define FRAMES_MAX 24

/* Off by default: walking the stack costs more than everything else together. */
static bool page_callers;
module_param(page_callers, bool, 0644);
MODULE_PARM_DESC(page_callers, "find out who allocates and frees pages, by walking the stack");

/*
 * Functions between here and the caller begin with one of these: those that walk the stack, where
 * the architecture does not leave them out, the probe, and the allocators. Slab functions are
 * among them: pages that a slab grows by belong to who asked it for an object.
 */
/* clang-format off */
static const char *const allocator_prefixes[] = {
	"___kmalloc", "___slab_alloc", "__alloc_", "__do_kmalloc", "__folio_alloc",
	"__folio_batch_release", "__folio_put", "__free_", "__get_free_page", "__kasan_",
	"__kmalloc", "__kmem_cache_", "__pagevec_release", "__pcs_", "__put_page",
	"__rcu_free_sheaf", "__refill_objects", "__save_stack_trace", "__slab_", "__traceiter_",
	"__unfreeze_partials", "alloc_empty_sheaf", "alloc_from_new_slab", "alloc_from_pcs",
	"alloc_frozen_pages", "alloc_full_sheaf", "alloc_page", "alloc_single_from_",
	"alloc_slab_page", "allocate_slab", "destroy_compound_page", "destroy_large_folio",
	"discard_slab", "do_slab_free", "folio_alloc", "folios_put", "free_compound_page",
	"free_frozen_page", "free_large_kmalloc", "free_page", "free_partial", "free_pcp",
	"free_slab", "free_the_page", "free_to_partial_list", "free_to_pcs", "free_unref_",
	"get_free_pages", "get_zeroed_page", "kasan_", "kfree", "kmalloc_", "kmem_cache_", "kvfree",
	"mz_", "new_slab", "pcs_flush", "probe_page_", "put_partials", "rcu_free_sheaf",
	"rcu_free_slab", "refill_objects", "refill_sheaf", "release_pages", "save_stack_trace",
	"sheaf_flush", "slab_", "stack_trace_save", "trace_mm_page_", "vma_alloc_folio",
};
/* clang-format on */

/* Whether a return address is in an allocator. kallsyms is slow, so each is looked up once. */
struct frame {
	u64 ip;
	u64 is_allocator;
};

#define FRAMES_KNOWN 8192

static struct mz_table frames;

/* === Internals ============================================================================ */

static bool has_allocator_name(unsigned long ip)
{
	char name[64];
	unsigned int i;

	/* One back: a call that is the last instruction returns to the next function. */
	scnprintf(name, sizeof(name), "%ps", (void *)(ip - 1));
	for (i = 0; i < ARRAY_SIZE(allocator_prefixes); i++) {
		if (!strncmp(name, allocator_prefixes[i], strlen(allocator_prefixes[i])))
			return true;
	}
	return false;
}

static bool is_allocator(unsigned long ip)
{
	struct frame frame = { .ip = ip };
	u32 id;

	if (mz_table_find(&frames, &frame, &id))
		return ((const struct frame *)mz_table_entry(&frames, id))->is_allocator;
	frame.is_allocator = has_allocator_name(ip);
	/* If the table is full, the next lookup is slow again, and right. */
	mz_table_add(&frames, &frame, &id);
	return frame.is_allocator;
}

/* === Public =============================================================================== */

int mz_caller_init(void)
{
	return mz_table_init(&frames, FRAMES_KNOWN, sizeof(u64), sizeof(struct frame));
}

void mz_caller_exit(void)
{
	mz_table_deinit(&frames);
}

size_t mz_caller_bytes(void)
{
	return mz_table_bytes(&frames);
}

/* The return address in the caller; 0 if page_callers is off or no caller was found. */
unsigned long mz_page_caller(void)
{
	unsigned long stack[FRAMES_MAX];
	unsigned int i = 0, nr, depth;

	if (!READ_ONCE(page_callers))
		return 0;

	/* Walking costs by the frame, and most callers are near. */
	for (depth = FRAMES_MAX / 3; depth <= FRAMES_MAX; depth *= 3) {
		nr = stack_trace_save(stack, depth, 0);
		for (; i < nr; i++) {
			if (!is_allocator(stack[i]))
				return stack[i];
		}
	}
	return 0;
}
