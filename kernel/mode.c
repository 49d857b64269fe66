// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose allocations are recorded: the mode, and the marks on tasks that modes 2, 3 and a pid set.
 *
 * A stock kernel has no room for a mark in its task_struct, so marks are in a hash table by task.
 * Children inherit a mark at fork, and it ends when the kernel frees the task.
 */
#include <linux/hashtable.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <trace/events/sched.h>

#include "access.h"
#include "calls.h"
#include "events.h"
#include "memorizer.h"

/* === Data ================================================================================= */

struct mark {
	struct hlist_node node;
	const struct task_struct *task;
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(marks, 8);
static DEFINE_RAW_SPINLOCK(marks_lock); /* for changes; readers use RCU */
atomic_t mz_wants_changes = ATOMIC_INIT(0);

/* === Internals ============================================================================ */

/* Makes cached answers of mz_wants() outdated. */
static void wants_changed(void)
{
	/* A full barrier, as it returns a value: what has changed comes before it. */
	atomic_inc_return(&mz_wants_changes);
	mz_access_forget_tasks();
}

static void set_mode(enum mz_mode mode)
{
	WRITE_ONCE(mz.mode, mode);
	wants_changed();
}

static struct mark *find_mark(const struct task_struct *task)
{
	struct mark *mark;

	hash_for_each_possible_rcu(marks, mark, node, (unsigned long)task) {
		if (mark->task == task)
			return mark;
	}
	return NULL;
}

static void probe_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (mz_marked(parent))
		mz_mark(child);
}

/* Not at exit: a dying task still frees and allocates. */
static void probe_task_free(void *data, struct task_struct *task)
{
	if (mz_marked(task))
		mz_unmark(task);
}

static struct mz_probe task_probes[] = {
	{ .name = "sched_process_fork", .func = probe_fork },
	{ .name = "sched_process_free", .func = probe_task_free },
};

static int follow_tasks(void)
{
	check_trace_callback_type_sched_process_fork(probe_fork);
	check_trace_callback_type_sched_process_free(probe_task_free);
	mz_probes_find(task_probes, ARRAY_SIZE(task_probes));
	return mz_probes_attach(task_probes, ARRAY_SIZE(task_probes));
}

/*
 * Marks all threads of a process. The RCU section of the caller, who found the task in it, keeps
 * the kernel from freeing the task, and so from having ended its mark, before the mark is there.
 */
static int mark_threads(struct task_struct *task)
{
	struct task_struct *thread;
	int err = -EINVAL;

	for_each_thread(task, thread) {
		if (thread->flags & PF_EXITING)
			continue;
		err = mz_mark(thread);
		if (err)
			break;
	}
	return err;
}

static int mark_process(int pid)
{
	struct task_struct *task;
	int err;

	rcu_read_lock();
	task = pid ? pid_task(find_vpid(pid), PIDTYPE_PID) : current;
	err = task ? mark_threads(task) : -EINVAL;
	rcu_read_unlock();
	return err;
}

static int apply(const struct mz_request *request)
{
	enum mz_mode old = mz.mode;
	int err = 0;

	if (mz.failed)
		return -EIO;
	if (request->mode >= MZ_TASKS_AND_IRQS) {
		err = follow_tasks();
		if (!err)
			err = mark_process(request->pid);
		if (err)
			return err;
	}
	set_mode(request->mode);
	/* What counting has made ends with it, and then need not be followed. */
	if (request->mode == MZ_OFF)
		mz_access_update();
	mz_calls_update();
	err = mz_events_update();
	if (err) {
		set_mode(old);
		mz_calls_update();
		return err;
	}
	mz_access_update();
	mz.mode_is_pid = request->pid != 0;
	mz.mode_pid = request->pid ? request->pid : task_tgid_vnr(current);
	return 0;
}

/* === Public =============================================================================== */

/* What a number written to memorizer_enabled means. */
int mz_request_parse(int value, struct mz_request *ret_request)
{
	if (value < 0)
		return -EINVAL;
	if (value <= MZ_TASKS)
		*ret_request = (struct mz_request){ .mode = value };
	else
		*ret_request = (struct mz_request){ .mode = MZ_TASKS, .pid = value };
	return 0;
}

/**
 * mz_mode_set() - a write to memorizer_enabled
 * @value: the number
 *
 * Return: 0; -EINVAL if the number means nothing or the process is dead, and nothing has changed.
 */
int mz_mode_set(int value)
{
	struct mz_request request;
	int err;

	err = mz_request_parse(value, &request);
	if (err)
		return err;
	mutex_lock(&mz.control);
	err = apply(&request);
	mutex_unlock(&mz.control);
	return err;
}

int mz_mode_show(char *buf, size_t size)
{
	int len;

	mutex_lock(&mz.control);
	switch (mz.mode) {
	case MZ_OFF:
		len = scnprintf(buf, size, "0 - off\n");
		break;
	case MZ_SYSTEM:
		len = scnprintf(buf, size, "1 - the whole system\n");
		break;
	case MZ_TASKS_AND_IRQS:
		len = scnprintf(buf, size,
				"2 - process %d, its later children, and interrupt contexts\n",
				mz.mode_pid);
		break;
	default:
		len = scnprintf(buf, size, "%d - process %d and its later children\n",
				mz.mode_is_pid ? mz.mode_pid : MZ_TASKS, mz.mode_pid);
		break;
	}
	mutex_unlock(&mz.control);
	return len;
}

/* Whether an allocation in this context is to be tracked. */
bool mz_wants(enum memorizer_context context)
{
	switch (READ_ONCE(mz.mode)) {
	case MZ_SYSTEM:
		return true;
	case MZ_TASKS_AND_IRQS:
		return context != MEMORIZER_IN_TASK || mz_marked(current);
	case MZ_TASKS:
		return context == MEMORIZER_IN_TASK && mz_marked(current);
	default:
		return false;
	}
}

bool mz_marked(const struct task_struct *task)
{
	bool marked;

	/* Idle tasks are never marked, and RCU may not protect anything where one runs. */
	if (is_idle_task(task))
		return false;
	rcu_read_lock();
	marked = find_mark(task);
	rcu_read_unlock();
	return marked;
}

int mz_mark(const struct task_struct *task)
{
	struct mark *mark;
	unsigned long flags;
	int level;

	if (mz_marked(task))
		return 0;
	/* The memory of the memorizer itself is not recorded. */
	level = mz_guard_enter();
	mark = kmalloc(sizeof(*mark), GFP_ATOMIC | __GFP_NOWARN);
	if (level >= 0)
		mz_guard_leave(level);
	if (!mark) {
		mz_count(MZ_MARKS_LOST);
		return -ENOMEM;
	}
	mark->task = task;
	raw_spin_lock_irqsave(&marks_lock, flags);
	if (!find_mark(task)) {
		hash_add_rcu(marks, &mark->node, (unsigned long)task);
		wants_changed();
		mark = NULL;
	}
	raw_spin_unlock_irqrestore(&marks_lock, flags);
	kfree(mark);
	return 0;
}

void mz_unmark(const struct task_struct *task)
{
	struct mark *mark;
	unsigned long flags;

	raw_spin_lock_irqsave(&marks_lock, flags);
	mark = find_mark(task);
	if (mark) {
		hash_del_rcu(&mark->node);
		wants_changed();
	}
	raw_spin_unlock_irqrestore(&marks_lock, flags);
	if (mark)
		kfree_rcu(mark, rcu);
}

/**
 * mz_process_mark() - a write to a process' memorizer_enabled
 * @pid: of any of its threads
 * @mark: whether the process is to be marked, or no more; what it forks inherits that
 *
 * Return: 0; -ESRCH if the process is dead.
 */
int mz_process_mark(struct pid *pid, bool mark)
{
	struct task_struct *task, *thread;
	int err = 0;

	mutex_lock(&mz.control);
	if (mark)
		err = follow_tasks();
	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_PID);
	if (!err && !task)
		err = -ESRCH;
	if (!err && mark) {
		err = mark_threads(task);
		if (err == -EINVAL)
			err = -ESRCH;
	} else if (!err) {
		for_each_thread(task, thread)
			mz_unmark(thread);
	}
	rcu_read_unlock();
	mutex_unlock(&mz.control);
	return err;
}

void mz_marks_exit(void)
{
	struct hlist_node *next;
	struct mark *mark;
	int bucket;

	mz_probes_detach(task_probes, ARRAY_SIZE(task_probes));
	hash_for_each_safe(marks, bucket, next, mark, node) {
		hash_del_rcu(&mark->node);
		kfree_rcu(mark, rcu);
	}
}
