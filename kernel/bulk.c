// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations and frees in bulk, among them the batches of kfree_rcu(): the kernel raises no
 * tracepoint for them, so where it has kprobes these watch the functions themselves.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "bulk.h"
#include "memorizer.h"

/* === Data ================================================================================= */

/* What the entry of kmem_cache_alloc_bulk() leaves for its return. */
struct bulk_alloc {
	struct kmem_cache *cache;
	void **objects;
	gfp_t gfp;
};

/* The function got another name when allocation profiling came; the first that exists is used. */
static const char *const alloc_names[] = { "kmem_cache_alloc_bulk_noprof",
					   "kmem_cache_alloc_bulk" };
static const char *const free_names[] = { "kmem_cache_free_bulk" };

static bool bulk = true;
module_param(bulk, bool, 0444);
MODULE_PARM_DESC(bulk, "watch allocations and frees in bulk through kprobes");

static bool alloc_attached, free_attached;

/* === Probes =============================================================================== */

/* At the entry of a function nothing is on its stack yet but where it returns to. */
static unsigned long caller_at_entry(struct pt_regs *regs)
{
#if defined(CONFIG_X86)
	return regs_get_kernel_stack_nth(regs, 0);
#elif defined(CONFIG_S390)
	return regs->gprs[14];
#else
	return procedure_link_pointer(regs);
#endif
}

static unsigned long argument(struct pt_regs *regs, unsigned int nr)
{
#ifdef CONFIG_S390 /* where modules may not call regs_get_kernel_argument() */
	return regs->gprs[2 + nr];
#else
	return regs_get_kernel_argument(regs, nr);
#endif
}

/* void kmem_cache_free_bulk(struct kmem_cache *s, size_t size, void **p) */
static int enter_free_bulk(struct kprobe *probe, struct pt_regs *regs)
{
	size_t i, nr = argument(regs, 1);
	void **objects = (void **)argument(regs, 2);
	enum memorizer_kind kind = argument(regs, 0) ? MEMORIZER_CACHE : MEMORIZER_KMALLOC;
	unsigned long caller = caller_at_entry(regs);

	for (i = 0; i < nr; i++)
		mz_free(kind, caller, (unsigned long)objects[i], 0);
	return 0;
}
NOKPROBE_SYMBOL(enter_free_bulk);

/* int kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t size, void **p) */
static int enter_alloc_bulk(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct bulk_alloc *bulk = (struct bulk_alloc *)instance->data;

	bulk->cache = (struct kmem_cache *)argument(regs, 0);
	bulk->gfp = (__force gfp_t)argument(regs, 1);
	bulk->objects = (void **)argument(regs, 3);
	return 0;
}
NOKPROBE_SYMBOL(enter_alloc_bulk);

static int leave_alloc_bulk(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct bulk_alloc *bulk = (struct bulk_alloc *)instance->data;
	int i, nr = regs_return_value(regs);

	for (i = 0; i < nr; i++) {
		mz_alloc(&(struct mz_alloc){
			.kind = MEMORIZER_CACHE,
			.ip = get_kretprobe_retaddr(instance),
			.addr = (unsigned long)bulk->objects[i],
			.cache = bulk->cache,
			.gfp = bulk->gfp,
			.node = NUMA_NO_NODE,
		});
	}
	return 0;
}
NOKPROBE_SYMBOL(leave_alloc_bulk);

static struct kprobe free_probe;
static struct kretprobe alloc_probe;

/* === Internals ============================================================================ */

static bool attach_free(const char *name)
{
	free_probe = (struct kprobe){ .symbol_name = name, .pre_handler = enter_free_bulk };
	if (register_kprobe(&free_probe))
		return false;
	/* A probe by breakpoint runs in a context like an NMI, where nothing is recorded. */
	if (kprobe_ftrace(&free_probe))
		return true;
	unregister_kprobe(&free_probe);
	return false;
}

static bool attach_alloc(const char *name)
{
	alloc_probe = (struct kretprobe){
		.kp.symbol_name = name,
		.entry_handler = enter_alloc_bulk,
		.handler = leave_alloc_bulk,
		.data_size = sizeof(struct bulk_alloc),
		.maxactive = 64,
	};
	return !register_kretprobe(&alloc_probe);
}

/* === Public =============================================================================== */

/* Allocations are watched only if their frees are; otherwise all of them would look leaked. */
void mz_bulk_attach(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(free_names) && bulk && !free_attached; i++)
		free_attached = attach_free(free_names[i]);
	for (i = 0; i < ARRAY_SIZE(alloc_names) && free_attached && !alloc_attached; i++)
		alloc_attached = attach_alloc(alloc_names[i]);
}

void mz_bulk_detach(void)
{
	if (free_attached)
		unregister_kprobe(&free_probe);
	if (alloc_attached)
		unregister_kretprobe(&alloc_probe);
	free_attached = false;
	alloc_attached = false;
}

void mz_bulk_show(struct seq_file *m)
{
	seq_printf(m, "event bulk_alloc: %s\n", alloc_attached ? "attached" : "detached");
	seq_printf(m, "event bulk_free: %s\n", free_attached ? "attached" : "detached");
	if (alloc_attached)
		seq_printf(m, "bulk_alloc_missed: %d\n", alloc_probe.nmissed);
}
