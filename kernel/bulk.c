// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations and frees in bulk, among them the batches and sheaves of kfree_rcu(): the kernel
 * raises no tracepoint for them, so where it has kprobes these watch the functions themselves.
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
	size_t nr;
	gfp_t gfp;
};

/* Likewise of __kfree_rcu_sheaf(). */
struct rcu_free {
	void *object;
	unsigned long caller;
};

/* The function got another name when allocation profiling came; the first that exists is used. */
static const char *const alloc_names[] = { "kmem_cache_alloc_bulk_noprof",
					   "kmem_cache_alloc_bulk" };
static const char *const free_names[] = { "kmem_cache_free_bulk" };
/* Kernels whose caches have sheaves put objects of kfree_rcu() there; see leave_rcu_free(). */
static const char *const rcu_names[] = { "__kfree_rcu_sheaf" };

static bool bulk = true;
module_param(bulk, bool, 0444);
MODULE_PARM_DESC(bulk, "watch allocations and frees in bulk through kprobes");

static bool alloc_attached, free_attached, rcu_attached;

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

/* int|bool kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t size, void **p) */
static int enter_alloc_bulk(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct bulk_alloc *bulk = (struct bulk_alloc *)instance->data;

	bulk->cache = (struct kmem_cache *)argument(regs, 0);
	bulk->gfp = (__force gfp_t)argument(regs, 1);
	bulk->nr = argument(regs, 2);
	bulk->objects = (void **)argument(regs, 3);
	return 0;
}
NOKPROBE_SYMBOL(enter_alloc_bulk);

/* All were allocated or none. The function says it since 7.2, and before it said how many. */
static bool made_all(struct pt_regs *regs)
{
	unsigned long value = regs_return_value(regs);

	if (sizeof(MZ_ALLOC_BULK(NULL, 0, 0, NULL)) == sizeof(bool))
		return (u8)value;
	return (int)value > 0;
}

static int leave_alloc_bulk(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct bulk_alloc *bulk = (struct bulk_alloc *)instance->data;
	size_t i, nr = made_all(regs) ? bulk->nr : 0;

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

/* bool __kfree_rcu_sheaf(struct kmem_cache *s, void *obj, ...) */
static int enter_rcu_free(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct rcu_free *free = (struct rcu_free *)instance->data;

	free->object = (void *)argument(regs, 1);
	free->caller = caller_at_entry(regs);
	return 0;
}
NOKPROBE_SYMBOL(enter_rcu_free);

/*
 * True: the object is in a sheaf, which is handed out again after a grace period, and nothing more
 * is heard of it. False: it goes to a batch, and so to kmem_cache_free_bulk().
 */
static int leave_rcu_free(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct rcu_free *free = (struct rcu_free *)instance->data;

	if ((u8)regs_return_value(regs))
		mz_free(MEMORIZER_KMALLOC, free->caller, (unsigned long)free->object, 0);
	return 0;
}
NOKPROBE_SYMBOL(leave_rcu_free);

static struct kprobe free_probe;
static struct kretprobe alloc_probe, rcu_probe;

/* === Internals ============================================================================ */

static bool attach_free(const char *name)
{
	free_probe = (struct kprobe){ .symbol_name = name, .pre_handler = enter_free_bulk };
	if (register_kprobe(&free_probe))
		return false;
	/*
	 * A probe by breakpoint runs in a context like an NMI, where nothing is recorded. On arm64
	 * it runs in that of the function, and there is no other kind.
	 */
	if (kprobe_ftrace(&free_probe) || IS_ENABLED(CONFIG_ARM64))
		return true;
	unregister_kprobe(&free_probe);
	return false;
}

/* A function's beginning and its end, in up to 64 tasks at a time. */
static bool attach_both(struct kretprobe *probe, const char *name, kretprobe_handler_t entry,
			kretprobe_handler_t handler, size_t data_size)
{
	*probe = (struct kretprobe){
		.kp.symbol_name = name,
		.entry_handler = entry,
		.handler = handler,
		.data_size = data_size,
		.maxactive = 64,
	};
	return !register_kretprobe(probe);
}

/* === Public =============================================================================== */

/* Allocations are watched only if their frees are; otherwise all of them would look leaked. */
void mz_bulk_attach(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(free_names) && bulk && !free_attached; i++)
		free_attached = attach_free(free_names[i]);
	for (i = 0; i < ARRAY_SIZE(alloc_names) && free_attached && !alloc_attached; i++)
		alloc_attached = attach_both(&alloc_probe, alloc_names[i], enter_alloc_bulk,
					     leave_alloc_bulk, sizeof(struct bulk_alloc));
	for (i = 0; i < ARRAY_SIZE(rcu_names) && free_attached && !rcu_attached; i++)
		rcu_attached = attach_both(&rcu_probe, rcu_names[i], enter_rcu_free, leave_rcu_free,
					   sizeof(struct rcu_free));
}

void mz_bulk_detach(void)
{
	if (free_attached)
		unregister_kprobe(&free_probe);
	if (alloc_attached)
		unregister_kretprobe(&alloc_probe);
	if (rcu_attached)
		unregister_kretprobe(&rcu_probe);
	free_attached = false;
	alloc_attached = false;
	rcu_attached = false;
}

void mz_bulk_show(struct seq_file *m)
{
	seq_printf(m, "event bulk_alloc: %s\n", alloc_attached ? "attached" : "detached");
	seq_printf(m, "event bulk_free: %s\n", free_attached ? "attached" : "detached");
	if (alloc_attached)
		seq_printf(m, "bulk_alloc_missed: %d\n", alloc_probe.nmissed);
	if (rcu_attached)
		seq_printf(m, "event rcu_free: attached\nrcu_free_missed: %d\n", rcu_probe.nmissed);
}
