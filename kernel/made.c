// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that no allocator handed out: variables, stacks, page tables, memory from boot. Such an
 * object is made for the first access to it, and lives until its memory is given to somebody else
 * or counting ends. A stack or page table that the page allocator was seen to hand out is an object
 * already; that becomes one of the right kind here.
 *
 * The stacks of all tasks are noted when counting starts, and those of new tasks at fork: other
 * tasks use them as well, so the first access need not come from the owner.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <trace/events/sched.h>
#include <asm/sections.h>

#include "access.h"
#include "events.h"
#include "made.h"
#include "memorizer.h"

/* === Data ================================================================================= */

static const u8 text_types[] = {
	[MEMORIZER_GLOBAL] = MEMORIZER_TEXT_GLOBAL,
	[MEMORIZER_PERCPU] = MEMORIZER_TEXT_PERCPU,
	[MEMORIZER_STACK] = MEMORIZER_TEXT_STACK,
	[MEMORIZER_BOOT] = MEMORIZER_TEXT_BOOT,
	[MEMORIZER_MODULE] = MEMORIZER_TEXT_MODULE,
	[MEMORIZER_PAGE_TABLE] = MEMORIZER_TEXT_PAGE_TABLE,
	[MEMORIZER_OTHER] = MEMORIZER_TEXT_OTHER,
};

static atomic64_t nr_made;

/* Where modules are. */
#ifdef MODULES_VADDR
#define MODULES_FIRST MODULES_VADDR
#define MODULES_LAST  (MODULES_END - 1)
#else
#define MODULES_FIRST VMALLOC_START
#define MODULES_LAST  (VMALLOC_END - 1)
#endif

/* === Internals: objects =================================================================== */

static u32 site_id(const struct mz_site *site)
{
	u32 id;

	if (!mz_table_find(&mz.names.sites, site, &id) && !mz_table_add(&mz.names.sites, site, &id))
		mz_count(MZ_NAMELESS_SITES);
	return id;
}

/* Whose stack it is. The name may be cut while the task changes it. */
static void set_owner(struct mz_object *obj, const struct task_struct *task)
{
	struct mz_comm comm = { .name = "" };
	char name[TASK_COMM_LEN];
	u32 id;

	memcpy(name, task->comm, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	strscpy_pad(comm.name, name, sizeof(comm.name));
	obj->pid = task->pid;
	obj->tgid = task->tgid;
	if (!mz_table_add(&mz.names.comms, &comm, &id))
		mz_count(MZ_NAMELESS_COMMS);
	obj->comm = id;
}

/* An object that an allocator handed out turned out to be of another kind. */
static void retype(const struct mz_object *obj, enum memorizer_kind kind,
		   const struct task_struct *owner)
{
	const struct mz_site *known = mz_table_entry(&mz.names.sites, READ_ONCE(obj->alloc_site));
	struct mz_object values = { 0 };
	struct mz_site site = *known;

	if (site.kind != MEMORIZER_PAGES && site.kind != MEMORIZER_VMALLOC)
		return;
	site.kind = kind;
	if (owner)
		set_owner(&values, owner);
	mz_index_retype(&mz.index, obj, site_id(&site), owner ? &values : NULL);
}

static struct mz_object *make(const struct mz_place *place, const struct task_struct *owner)
{
	struct mz_site site = {
		.ip = place->ip ?: text_types[place->kind],
		.kind = place->kind,
	};
	struct mz_object values = {
		.key = mz_made_key(place->base),
		.alloc_ns = mz_now(),
		.size = min_t(unsigned long, place->size, U32_MAX),
		.cpu = raw_smp_processor_id(),
	};
	struct mz_object *obj;

	values.alloc_site = site_id(&site);
	if (owner)
		set_owner(&values, owner);
	obj = mz_index_make(&mz.index, &values);
	if (READ_ONCE(mz.index.hungry))
		mz_access_refill();
	if (!obj)
		return NULL;
	atomic64_inc(&nr_made);
	if (virt_addr_valid((void *)place->base))
		mz_locate_flag(place->base, MZ_FRAME_MADE);
	return obj;
}

static bool end_made(unsigned long addr)
{
	return mz_index_end(&mz.index, mz_made_key(addr), mz_now(), MZ_ID_NONE, false);
}

/* === Internals: stacks ==================================================================== */

static struct mz_object *tracked_stack(unsigned long stack)
{
	struct mz_object *obj = mz_index_find(&mz.index, mz_key(stack, true));

	return obj ?: mz_index_find(&mz.index, mz_key(stack, false));
}

/* Called with preemption off, and with something that keeps the stack. */
static void note_stack(const struct task_struct *task)
{
	unsigned long stack = (unsigned long)task_stack_page(task), i;
	struct mz_object *obj = tracked_stack(stack);
	struct mz_place place;

	if (obj)
		retype(obj, MEMORIZER_STACK, task);
	/* Areas of vmalloc() that are not tracked have no table of their own. */
	if (obj || !virt_addr_valid((void *)stack) ||
	    (stack >= (unsigned long)_stext && stack < (unsigned long)_end))
		return;
	for (i = 0; i < THREAD_SIZE; i += PAGE_SIZE)
		mz_locate_flag(stack + i, MZ_FRAME_STACK);
	place = (struct mz_place){ .base = stack, .size = THREAD_SIZE, .kind = MEMORIZER_STACK };
	make(&place, task);
	for (i = 0; i < THREAD_SIZE; i += PAGE_SIZE)
		mz_access_object_changed(stack + i);
}

static void note_guarded(struct task_struct *task)
{
	int level = mz_guard_enter();

	if (level < 0)
		return;
	if (try_get_task_stack(task)) {
		note_stack(task);
		put_task_stack(task);
	}
	mz_guard_leave(level);
}

static void probe_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	note_guarded(child);
}

static struct mz_probe fork_probe[] = {
	{ .name = "sched_process_fork", .func = probe_fork },
};

static void note_all_stacks(void)
{
	struct task_struct *process, *task;
	unsigned int cpu;

	rcu_read_lock();
	for_each_process_thread(process, task) note_guarded(task);
	rcu_read_unlock();
	for_each_online_cpu(cpu)
		note_guarded(idle_task(cpu));
}

/* === Internals: modules =================================================================== */

/*
 * What was found out about addresses may no longer hold when a module comes or goes: then all
 * objects in modules end. The lock keeps them from being released before their stamps have changed.
 */
static int module_changed(struct notifier_block *block, unsigned long state, void *data)
{
	if (state != MODULE_STATE_COMING && state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&mz.dead.lock);
	mz_index_end_made(&mz.index, MODULES_FIRST, MODULES_LAST, mz_now());
	mz_access_all_changed();
	mutex_unlock(&mz.dead.lock);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = module_changed };

/* === Public =============================================================================== */

/* The object of a place that has none of an allocator; NULL if there is no memory to make it. */
struct mz_object *mz_made_object(const struct mz_place *place)
{
	struct mz_object *obj = mz_index_find(&mz.index, mz_made_key(place->base));
	bool own_stack = place->kind == MEMORIZER_STACK &&
			 place->base == (unsigned long)task_stack_page(current);

	return obj ?: make(place, own_stack ? current : NULL);
}

/* The first access of an instruction to a tracked page: it may be a page table by now. */
void mz_made_check(const struct mz_object *obj)
{
	u64 key = READ_ONCE(obj->key);

	if (!mz_key_is_made(key) && key & 1 && PageTable(virt_to_page((void *)(long)(key & ~1ULL))))
		retype(obj, MEMORIZER_PAGE_TABLE, NULL);
}

/* A slab object was allocated: the pages that it is in are a slab. */
void mz_access_slab_object(unsigned long addr)
{
	unsigned long pages = mz_locate_tracked_pages(addr);
	struct mz_object *obj;

	if (!pages || !mz_locate_flag(addr, MZ_FRAME_SLAB))
		return;
	obj = mz_index_find(&mz.index, mz_key(pages, true));
	if (obj)
		retype(obj, MEMORIZER_SLAB_PAGES, NULL);
}

/* Pages are allocated or freed, so what was made there has ended. */
void mz_made_end_pages(unsigned long addr, size_t bytes)
{
	unsigned long i;
	bool ended = false;

	for (i = 0; i < bytes; i += PAGE_SIZE) {
		if (mz_locate_take_flags(addr + i) & MZ_FRAME_MADE)
			ended |= end_made(addr + i);
	}
	if (ended)
		mz_dead_announce();
}

/* Likewise for an area of vmalloc(), which may have been the stack of a task. */
void mz_made_end_area(unsigned long addr)
{
	if (end_made(addr))
		mz_dead_announce();
}

/* Counting starts. */
int mz_made_start(void)
{
	int err;

	check_trace_callback_type_sched_process_fork(probe_fork);
	mz_probes_find(fork_probe, ARRAY_SIZE(fork_probe));
	err = mz_probes_attach(fork_probe, ARRAY_SIZE(fork_probe));
	if (!err)
		err = register_module_notifier(&module_notifier);
	if (err)
		mz_probes_detach(fork_probe, ARRAY_SIZE(fork_probe));
	else
		note_all_stacks();
	return err;
}

/* Counting has ended. */
void mz_made_stop(void)
{
	unregister_module_notifier(&module_notifier);
	mz_probes_detach(fork_probe, ARRAY_SIZE(fork_probe));
	mz_access_settle();
	mz_locate_forget_flags();
	mutex_lock(&mz.dead.lock);
	mz_index_end_made(&mz.index, 0, ~0ULL, mz_now());
	mutex_unlock(&mz.dead.lock);
	mz_dead_announce();
}

/* How many there were. */
u64 mz_made_nr(void)
{
	return atomic64_read(&nr_made);
}
