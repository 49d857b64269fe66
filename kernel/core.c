// SPDX-License-Identifier: GPL-2.0-only
/* The memorizer: turns the events of the kernel's allocators into objects with a life time. */
#define pr_fmt(fmt) "memorizer: " fmt

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "memorizer.h"

/* === Data ================================================================================= */

struct memorizer mz = {
	.control = __MUTEX_INITIALIZER(mz.control),
	.print_live = true,
};

static unsigned int max_mb;
module_param(max_mb, uint, 0444);
MODULE_PARM_DESC(max_mb, "bound of the memory for tracked objects, in MiB (0: an eighth of all)");

/* Which contexts of this processor are inside the memorizer: a bit for each level. */
DEFINE_PER_CPU(unsigned int, mz_guard);

/* Only task context uses it, with preemption off. */
struct last_comm {
	char raw[TASK_COMM_LEN]; /* as it was, whatever is behind its end */
	u32 id;
};

static DEFINE_PER_CPU(struct last_comm, last_comm);

/* === Internals ============================================================================ */

static bool is_slab(enum memorizer_kind kind)
{
	return kind == MEMORIZER_KMALLOC || kind == MEMORIZER_CACHE;
}

static u32 free_site_id(unsigned long ip)
{
	struct mz_site site = { .ip = ip };
	u32 id;

	if (!mz_table_find(&mz.names.sites, &site, &id) &&
	    !mz_table_add(&mz.names.sites, &site, &id))
		mz_count(MZ_NAMELESS_SITES);
	return id;
}

/* Finds the site, and fills in the sizes of an object from a cache. */
static u32 alloc_site_id(struct mz_alloc *alloc)
{
	bool is_cache = alloc->kind == MEMORIZER_CACHE;
	struct mz_site site = {
		.ip = alloc->ip,
		.what = is_cache ? (unsigned long)alloc->cache : alloc->bytes_alloc,
		.gfp = (__force u32)alloc->gfp,
		.kind = alloc->kind,
	};
	const struct mz_site *known;
	u32 id;

	if (!mz_table_find(&mz.names.sites, &site, &id)) {
		site.bytes_alloc = alloc->bytes_alloc;
		if (is_cache)
			mz_cache_describe(alloc->cache, (void *)alloc->addr, &site);
		if (!mz_table_add(&mz.names.sites, &site, &id))
			mz_count(MZ_NAMELESS_SITES);
	}
	if (is_cache) {
		known = mz_table_entry(&mz.names.sites, id);
		alloc->bytes_req = known->bytes_req;
		alloc->bytes_alloc = known->bytes_alloc;
	}
	return id;
}

static u32 add_comm(const struct mz_comm *comm)
{
	u32 id;

	if (!mz_table_add(&mz.names.comms, comm, &id))
		mz_count(MZ_NAMELESS_COMMS);
	return id;
}

/* Most objects of a processor come from the same thread as the one before. */
static u32 task_comm_id(void)
{
	struct last_comm *last = this_cpu_ptr(&last_comm);
	struct mz_comm comm;

	if (!memcmp(last->raw, current->comm, sizeof(last->raw)))
		return last->id;
	memcpy(last->raw, current->comm, sizeof(last->raw));
	strscpy_pad(comm.name, last->raw, sizeof(comm.name));
	last->id = add_comm(&comm);
	return last->id;
}

static u32 comm_id(enum memorizer_context context)
{
	switch (context) {
	case MEMORIZER_IN_TASK:
		return task_comm_id();
	case MEMORIZER_IN_SOFTIRQ:
		return add_comm(&(struct mz_comm){ "softirq" });
	default:
		return add_comm(&(struct mz_comm){ "hardirq" });
	}
}

/*
 * Pages for our own use: what the traced caller may do we may do too, but never sleep, never dig
 * into the reserves, and wake kswapd only where the caller could have done it.
 */
static gfp_t own_gfp(gfp_t gfp)
{
	return (gfp & __GFP_KSWAPD_RECLAIM) | __GFP_NOWARN | __GFP_NOMEMALLOC;
}

static void add_object(struct mz_alloc *alloc, enum memorizer_context context)
{
	bool in_task = context == MEMORIZER_IN_TASK;
	u32 site = alloc_site_id(alloc);
	struct mz_object obj = {
		.key = mz_key(alloc->addr, alloc->kind == MEMORIZER_PAGES),
		.alloc_ns = mz_now(),
		.alloc_site = site,
		.size = min_t(size_t, alloc->bytes_req, U32_MAX),
		.pid = in_task ? current->pid : 0,
		.tgid = in_task ? current->tgid : 0,
		.context = context,
		.comm = comm_id(context),
		.cpu = raw_smp_processor_id(),
	};
	bool implied;
	int err;

	/*
	 * Some kernels report an allocation of whole pages by kmalloc() twice, from the inside out:
	 * the second time tells the caller. Their frees are never missed, so it is the same object.
	 */
	if (alloc->kind == MEMORIZER_KMALLOC && alloc->bytes_alloc > KMALLOC_MAX_CACHE_SIZE &&
	    mz_index_reassign(&mz.index, obj.key, site))
		return;

	err = mz_index_add(&mz.index, &obj, mz.implied_site, own_gfp(alloc->gfp), &implied);
	mz_count(err ? MZ_DROPPED_FULL : MZ_ALLOCS);
	if (implied) {
		mz_count(MZ_FREES_IMPLIED);
		mz_dead_announce();
	}
}

/* An allocation that nobody wants to track still ends what was at its address. */
static void end_stale(const struct mz_alloc *alloc)
{
	u64 key = mz_key(alloc->addr, alloc->kind == MEMORIZER_PAGES);

	if (mz_index_end(&mz.index, key, mz_now(), mz.implied_site, true)) {
		mz_count(MZ_FREES_IMPLIED);
		mz_dead_announce();
	}
}

static bool end_object(enum memorizer_kind kind, unsigned long ip, unsigned long addr)
{
	u64 key = mz_key(addr, kind == MEMORIZER_PAGES);

	if (kind == MEMORIZER_PAGES) {
		/* The caller is dear to find, and many pages are none of ours. */
		if (!mz_index_has(&mz.index, key))
			return false;
		ip = mz_page_caller();
	}
	return mz_index_end(&mz.index, key, mz_now(), free_site_id(ip), false);
}

/* For those who count accesses: other objects are there now, or none. */
static void memory_changed(enum memorizer_kind kind, unsigned long addr, size_t bytes, bool tracked)
{
	switch (kind) {
	case MEMORIZER_PAGES:
		mz_access_pages_changed(addr, bytes, tracked);
		break;
	case MEMORIZER_VMALLOC:
		mz_access_area_changed(addr, bytes, tracked);
		break;
	default:
		mz_access_object_changed(addr);
		break;
	}
}

static void check_index(void)
{
	const char *broken = READ_ONCE(mz.index.broken);

	if (unlikely(broken))
		mz_fail(broken);
}

/* === Interface to the probes ============================================================== */

/**
 * mz_guard_enter() - keeps the memorizer from tracing itself
 *
 * An event of our own making comes in the same context on the same processor, as preemption is off
 * until mz_guard_leave(); an interrupt is another context and is let through.
 *
 * Return: what mz_guard_leave() needs; negative if the event must be left alone.
 */
int mz_guard_enter(void)
{
	int level = interrupt_context_level();
	enum mz_counter reason = MZ_DROPPED_NMI;

	preempt_disable_notrace();
	if (likely(level <= MEMORIZER_IN_HARDIRQ)) {
		if (likely(!(this_cpu_read(mz_guard) & BIT(level)))) {
			this_cpu_or(mz_guard, BIT(level));
			barrier();
			return level;
		}
		reason = MZ_DROPPED_RECURSION;
	}
	mz_count(reason);
	preempt_enable_notrace();
	return -1;
}

void mz_guard_leave(int level)
{
	barrier();
	this_cpu_and(mz_guard, ~BIT(level));
	preempt_enable_notrace();
}

void mz_alloc(struct mz_alloc *alloc)
{
	int level = mz_guard_enter();
	bool wanted;

	if (level < 0)
		return;
	if (kmemtrace_is_on() && is_slab(alloc->kind)) {
		if (alloc->addr)
			alloc_site_id(alloc);
		kmemtrace_log_alloc(alloc);
	}
	if (unlikely(READ_ONCE(mz.failed)))
		goto leave;
	if (!alloc->addr) {
		mz_count(MZ_ALLOCS_FAILED);
		goto leave;
	}
	wanted = mz_wants(level);
	if (wanted) {
		if (alloc->kind == MEMORIZER_PAGES)
			alloc->ip = mz_page_caller();
		add_object(alloc, level);
	} else {
		end_stale(alloc);
	}
	memory_changed(alloc->kind, alloc->addr, alloc->bytes_alloc, wanted);
	check_index();
leave:
	mz_guard_leave(level);
}

void mz_free(enum memorizer_kind kind, unsigned long ip, unsigned long addr, size_t bytes)
{
	int level = mz_guard_enter();

	if (level < 0)
		return;
	if (kmemtrace_is_on() && is_slab(kind))
		kmemtrace_log_free(kind, ip, addr);
	if (unlikely(READ_ONCE(mz.failed)))
		goto leave;
	if (!addr) {
		mz_count(MZ_FREES_NULL);
		goto leave;
	}
	if (end_object(kind, ip, addr)) {
		mz_count(MZ_FREES);
		mz_dead_announce();
		memory_changed(kind, addr, bytes, false);
	} else {
		mz_count(MZ_FREES_UNKNOWN);
		/* Pages may be cut into other objects; an area may be noted without its object. */
		if (!is_slab(kind))
			memory_changed(kind, addr, bytes, false);
	}
	check_index();
leave:
	mz_guard_leave(level);
}

/**
 * mz_fail() - switches the memorizer off for good, after an inconsistency
 * @why: shown in show_stats
 *
 * What was recorded so far can still be read. The allocators are never taken down with us.
 */
void mz_fail(const char *why)
{
	WRITE_ONCE(mz.failed, why);
	WRITE_ONCE(mz.mode, MZ_OFF);
	mz_access_stop();
	WARN_ONCE(1, "memorizer: switched off: %s\n", why);
}

u64 mz_anchor(void)
{
	return (unsigned long)kfree;
}

/* What binary files begin with. */
void mz_header_fill(const struct mz_clock *clock, struct memorizer_header *ret_header)
{
	*ret_header = (struct memorizer_header){
		.magic = MEMORIZER_MAGIC,
		.version = MEMORIZER_ABI_VERSION,
		.header_size = sizeof(struct memorizer_header),
		.record_size = sizeof(struct memorizer_record),
		.access_size = sizeof(struct memorizer_access),
		.tick_ns = clock->tick_ns,
		.base_ns = clock->base_ns,
		.base_jiffies = clock->base_jiffies,
		.anchor = mz_anchor(),
		.anchor_name = MZ_ANCHOR_NAME,
	};
}

/* === Start and end ======================================================================== */

/* Enough shards that processors seldom meet in one, few enough to visit them all. */
static unsigned int shard_bits(void)
{
	return clamp(ilog2(roundup_pow_of_two(num_possible_cpus())) + 2, 4, 8);
}

static long max_pages(void)
{
	return max_mb ? (long)max_mb << (20 - PAGE_SHIFT) : totalram_pages() / 8;
}

/* All that recording needs. */
static int __init start(void)
{
	int err;

	mz_dead_init();
	mz_cache_init();
	err = mz_names_init(&mz.names);
	if (err)
		return err;
	mz.implied_site = free_site_id(MEMORIZER_IP_IMPLIED);
	err = mz_caller_init();
	if (err)
		goto free_names;
	err = mz_index_init(&mz.index, shard_bits(), max_pages(), get_random_u64());
	if (err)
		goto free_callers;
	err = mz_access_init();
	if (err)
		goto free_index;
	return 0;

free_index:
	mz_index_deinit(&mz.index);
free_callers:
	mz_caller_exit();
free_names:
	mz_names_deinit(&mz.names);
	return err;
}

#ifdef MODULE

static void stop(void)
{
	mz_marks_exit();
	mz_dead_exit();
	mz_index_deinit(&mz.index);
	mz_caller_exit();
	mz_names_deinit(&mz.names);
}

static int __init memorizer_init(void)
{
	int err;

	err = start();
	if (err)
		return err;
	err = kmemtrace_init();
	if (err) {
		stop();
		return err;
	}
	/* The last step: once there are files, they are used. */
	mz_control_init();
	return 0;
}

/*
 * The files go first: nobody can ask for events any more. Then the probes, and with them the last
 * user of the index; then what sleepers and callbacks may still refer to.
 */
static void __exit memorizer_exit(void)
{
	mz_control_exit();
	mz_events_exit();
	kmemtrace_exit();
	stop();
}

module_init(memorizer_init);
module_exit(memorizer_exit);

#else

/* As its users know it from the ancestor: memorizer_enabled_boot=yes|no, mem_log_boot=yes|no. */
static bool boot_enabled __initdata, boot_log_access __initdata, started __initdata;

static int __init set_boot_enabled(char *value)
{
	return kstrtobool(value, &boot_enabled);
}
early_param("memorizer_enabled_boot", set_boot_enabled);

static int __init set_boot_log_access(char *value)
{
	int err = kstrtobool(value, &boot_log_access);

	if (!err && boot_log_access)
		mz_access_early();
	return err;
}
early_param("mem_log_boot", set_boot_log_access);

/* The earliest that a probe can be attached. What is older than this is told in bulk. */
static int __init memorizer_start(void)
{
	int err;

	err = start();
	if (err) {
		mz_access_stop();
		return err;
	}
	started = true;
	mz.boot_slab_pages = global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B) +
			     global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B);
	mz.boot_pages = totalram_pages() - global_zone_page_state(NR_FREE_PAGES);
	mz.log_access = boot_log_access;
	return mz_mode_set(boot_enabled ? MZ_SYSTEM : MZ_OFF);
}
early_initcall(memorizer_start);

static int __init memorizer_publish(void)
{
	int err;

	if (!started)
		return -ENODEV;
	err = kmemtrace_init();
	if (!err)
		mz_control_init();
	return err;
}
device_initcall(memorizer_publish);

#endif /* MODULE */

MODULE_DESCRIPTION("Life times of kernel objects, and the kmemtrace event log");
MODULE_LICENSE("GPL");
