// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memorizer: turns the events of the kernel's allocators into objects with a life time.
 *
 * Locking
 * -------
 * Mutexes, in the order in which they are taken:
 *
 * - struct stream::lock (stream.c), one for each open stream file, guards what the file has in
 *   hand: the object that is being delivered and the bytes of it that were not yet read.
 * - mz.control serialises changes of what is recorded: the mode and log_access, which probes are
 *   attached, the channel of kmemtrace, and whether accesses are counted. The fields are read
 *   without it, by READ_ONCE().
 * - mz.dead.lock guards the queue of ended objects, and with it the right to collect, release and
 *   shrink: an object that was found in the index or in the queue under this lock stays what it
 *   is until the lock is dropped. An object that mz_dead_pop() returned belongs to the caller
 *   alone.
 *
 * A stream file takes mz.dead.lock, and never mz.control. So does what is called when a module
 * comes or goes (made.c). mz_clear_live() and mz_access_update() take mz.dead.lock inside of
 * mz.control. Attaching a probe and making lanes take the kernel's own cpu_hotplug_lock inside of
 * mz.control. So code that runs under cpu_hotplug_lock, the hotplug callback in lane.c, takes none
 * of these mutexes.
 *
 * Raw spinlocks, taken with interrupts off (all but the last by mz_lock()):
 *
 * - mz_shard::lock guards the buckets, the freed list, the pages and the spare pages of one shard
 *   of the index, and the objects in the buckets and in the freed list.
 * - mz_table::lock serialises additions to a table of names; readers take no lock (table.c).
 * - mz_spans::lock serialises changes of the list of vmalloc areas; readers take no lock
 *   (spans.c).
 * - marks_lock (mode.c) serialises changes of the marks on tasks; readers use RCU.
 *
 * All four are leaves: whoever holds one takes no other lock, allocates nothing and prints
 * nothing. Events come from inside the allocators, so the caller may hold any lock of the kernel.
 * For the same reason the event path never sleeps, never takes a mutex, and leaves waking a
 * reader and writing to the log to an irq_work.
 *
 * The guard
 * ---------
 * mz_guard has a bit for each context level (task, softirq, hardirq) of a processor, set from
 * mz_guard_enter() to mz_guard_leave(), with preemption off. An event whose bit is set was caused
 * by the memorizer itself and is dropped. Bit 31 is set while mz_lock() holds a lock: then
 * accesses of all levels are dropped, because the locking functions are instrumented.
 *
 * Life of an object, and RCU
 * --------------------------
 * mz_index_add() makes an object live, in a bucket of its shard. mz_index_end() moves it to the
 * freed list of the shard. mz_dead_collect() moves it to the queue, mz_dead_pop() or a clear file
 * takes it from there, and mz_index_release() gives back its memory.
 *
 * The counting of accesses uses objects and records that it has found without keeping a lock:
 * they are protected by preemption being off, which is an RCU read-side section.
 * mz_dead_collect() waits for these users before it lets go of what it has collected, in
 * mz_access_settle(), with two grace periods:
 *
 * 1. Ending an object and changing its stamp are two steps, under one mz_guard_enter(). After the
 *    first grace period all objects that were collected also have their stamps changed.
 * 2. From then on a lane does not accept what its caches say about these objects. After the
 *    second grace period everyone has finished who had accepted it before.
 *
 * The idle tasks are no RCU readers, so they never touch an object: their accesses count by kind.
 *
 * Lanes and stamps
 * ----------------
 * Each processor has a lane for each context level (lane.h). Only code of that level on that
 * processor uses it, with preemption off, so a lane needs neither locks nor atomic operations. An
 * access that comes while its own lane is busy is dropped, and counted as nested.
 *
 * A stamp (stamps.h) is a number that changes whenever an object starts or ends at an address
 * that shares the stamp. The writer changes the index first and the stamp after it, by a fully
 * ordered atomic operation. The reader reads the stamp first and the index after it, with
 * smp_rmb() between them. So a cached answer whose stamps are unchanged is still right, and a
 * lookup that raced with a change is stored with a stamp that is already outdated.
 *
 * A record has one writer: the context level on the processor that it was made for. Readers of a
 * live object may see a count that is a moment old; after the grace periods the counts are final.
 */
#define pr_fmt(fmt) "memorizer: " fmt

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "access.h"
#include "calls.h"
#include "events.h"
#include "files.h"
#include "kmemtrace.h"
#include "memorizer.h"

/* === Data ================================================================================= */

struct memorizer mz = {
	.control = __MUTEX_INITIALIZER(mz.control),
	.print_live = true,
};

static unsigned int max_mb;
module_param(max_mb, uint, 0444);
MODULE_PARM_DESC(max_mb, "bound of all memory that grows, in MiB (0: a quarter of the machine's)");

/* Which contexts of this processor are inside the memorizer: a bit for each level. */
DEFINE_PER_CPU(unsigned int, mz_guard);

/* Only task context uses it, with preemption off. */
struct last_comm {
	char raw[TASK_COMM_LEN]; /* the comm with whatever is behind its terminating zero */
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
		.what = is_cache ? mz_cache_identity(alloc->cache) : alloc->bytes_alloc,
		.gfp = (__force u32)alloc->gfp,
		.kind = alloc->kind,
	};
	const struct mz_site *known;
	u32 id;

	if (!mz_table_find(&mz.names.sites, &site, &id)) {
		site.bytes_alloc = alloc->bytes_alloc;
		if (is_cache)
			mz_cache_describe(alloc->cache, (void *)alloc->addr, &site);
		else if (is_slab(alloc->kind))
			mz_access_name_cache(alloc->addr, site.cache, sizeof(site.cache));
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

/* Most objects of a processor come from the same thread as the object before. */
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
 * For pages that the index takes: never sleep, never use the emergency reserves, and wake kswapd
 * only where the traced caller could have done so.
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
	 * Some kernels report an allocation of whole pages by kmalloc() twice, from the inside
	 * out, and the second report has the right caller. Frees of such objects are never
	 * missed, so an object that is still live at this address is the same object.
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

/* An allocation that is not to be tracked still ends the object that was at its address. */
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
		/* Finding the caller is expensive, and most pages are not tracked. */
		if (!mz_index_has(&mz.index, key))
			return false;
		ip = mz_page_caller();
	}
	return mz_index_end(&mz.index, key, mz_now(), free_site_id(ip), false);
}

/* Tells the counting of accesses that another object is at this memory now, or none. */
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

/* Whether the memorizer itself allocates, in a function that may sleep. */
static bool is_own(int level)
{
	return level == MEMORIZER_IN_TASK && READ_ONCE(mz.own_task) == current;
}

static void write_failure(struct irq_work *work)
{
	pr_err("switched off: %s\n", READ_ONCE(mz.failed));
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
 * An event that the memorizer causes comes in the same context on the same processor, as
 * preemption is off until mz_guard_leave(). An interrupt is another context and is let through.
 *
 * Return: what mz_guard_leave() needs; negative if the event must be ignored.
 */
int mz_guard_enter(void)
{
	int level = interrupt_context_level();
	enum mz_counter reason = MZ_DROPPED_NMI;

	preempt_disable_notrace();
	if (likely(level <= MEMORIZER_IN_HARDIRQ)) {
		if (likely(!(this_cpu_read(mz_guard) & BIT(level)))) {
			this_cpu_or(mz_guard, BIT(level));
			mz_access_enter(level);
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
	wanted = mz_wants(level) && !is_own(level);
	if (wanted) {
		if (alloc->kind == MEMORIZER_PAGES)
			alloc->ip = mz_page_caller();
		add_object(alloc, level);
		if (is_slab(alloc->kind) && alloc->bytes_alloc <= KMALLOC_MAX_CACHE_SIZE)
			mz_access_slab_object(alloc->addr);
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
 * What was recorded so far can still be read. Any context but NMI, under any lock: printk() may
 * wake a task or need a lock that the caller holds, so the message comes from an irq_work. It is
 * no WARN(), because a kernel with panic_on_warn must survive a defect of the memorizer.
 */
void mz_fail(const char *why)
{
	if (cmpxchg(&mz.failed, NULL, why))
		return;
	WRITE_ONCE(mz.mode, MZ_OFF);
	mz_access_stop();
	mz_calls_stop();
	irq_work_queue(&mz.failure);
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

/* Enough shards that processors rarely wait for each other, few enough to visit them all. */
static unsigned int shard_bits(void)
{
	return clamp(ilog2(roundup_pow_of_two(num_possible_cpus())) + 2, 4, 8);
}

/*
 * Half of all memory is for objects, their access records and the tables of the lanes, half for
 * the copies that open kmap files hold. So a snapshot fits even when the index is full.
 */
static void memory_bounds(void)
{
	mz.max_pages = max_mb ? (long)max_mb << (20 - PAGE_SHIFT) : totalram_pages() / 4;
	mz.max_snapshot_pages = mz.max_pages / 2;
}

/* Makes everything that recording needs. */
static int __init start(void)
{
	int err;

	init_irq_work(&mz.failure, write_failure);
	memory_bounds();
	mz_dead_init();
	mz_cache_init();
	err = mz_names_init(&mz.names);
	if (err)
		return err;
	mz.implied_site = free_site_id(MEMORIZER_IP_IMPLIED);
	err = mz_caller_init();
	if (err)
		goto free_names;
	err = mz_index_init(&mz.index, shard_bits(), mz.max_pages - mz.max_snapshot_pages,
			    get_random_u64());
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
	irq_work_sync(&mz.failure);
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
	/* The last step: once there are files, they may be used. */
	mz_control_init();
	return 0;
}

/*
 * The files go first, so nobody can ask for events any more. Then the probes go, and with them the
 * last user of the index; then what sleepers and callbacks may still refer to.
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

/*
 * Kernel parameters of the ancestor, yes or no: memorizer_enabled_boot, mem_log_boot, cfg_log_boot.
 */
static bool boot_enabled __initdata, boot_log_access __initdata, boot_log_calls __initdata;
static bool started __initdata;

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

static int __init set_boot_log_calls(char *value)
{
	return kstrtobool(value, &boot_log_calls);
}
early_param("cfg_log_boot", set_boot_log_calls);

/* The earliest moment that a probe can be attached. Of what is older only the sum is known. */
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
	mz.log_calls = boot_log_calls;
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
