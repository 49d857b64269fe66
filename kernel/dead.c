// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that have ended and wait for a reader: one queue, oldest first. The stream files take
 * objects from it, kmap shows it, and the clear files empty it.
 *
 * Readers fill the queue from the index, so the free path never takes its lock. The position of an
 * object is the number of objects that went through the queue before it.
 */
#include <linux/poll.h>

#include "access.h"
#include "events.h"
#include "memorizer.h"

/* === Internals ============================================================================ */

/* An irq_work, because the free path may hold any lock of the kernel. */
static void wake_readers(struct irq_work *work)
{
	WRITE_ONCE(mz.dead.waiting, false);
	wake_up_interruptible_poll(&mz.dead.wait, EPOLLIN | EPOLLRDNORM);
}

static struct mz_object *take_first(void)
{
	struct mz_object *obj;

	lockdep_assert_held(&mz.dead.lock);
	obj = mz_chain_pop(&mz.dead.chain);
	if (obj)
		mz.dead.taken++;
	return obj;
}

/* Releases the objects before @position. */
static int clear_up_to(u64 position)
{
	struct mz_object *obj;

	lockdep_assert_held(&mz.dead.lock);
	while (mz.dead.taken < position && (obj = take_first())) {
		mz_index_release(&mz.index, obj);
		mz_count(MZ_CLEARED);
		cond_resched();
	}
	mz_index_shrink(&mz.index);
	return 0;
}

/* === Public =============================================================================== */

void mz_dead_init(void)
{
	mutex_init(&mz.dead.lock);
	init_waitqueue_head(&mz.dead.wait);
	init_irq_work(&mz.dead.wake, wake_readers);
}

void mz_dead_exit(void)
{
	irq_work_sync(&mz.dead.wake);
	mz_clear_dead();
}

/*
 * Called after an object has ended, when its shard is no longer locked. A reader that did not see
 * the object had set "waiting" before it took the lock of that shard, so it is visible here.
 */
void mz_dead_announce(void)
{
	if (READ_ONCE(mz.dead.waiting))
		irq_work_queue(&mz.dead.wake);
}

/* Whether there is something to read; if not, the next end of an object wakes the caller. */
bool mz_dead_ready(void)
{
	if (READ_ONCE(mz.dead.chain.first))
		return true;
	WRITE_ONCE(mz.dead.waiting, true);
	return mz_index_has_freed(&mz.index) || READ_ONCE(mz.dead.chain.first);
}

/*
 * Moves all ended objects from the index to a chain. When this returns, nobody counts accesses in
 * them any more, and their memory may be released.
 */
void mz_dead_collect(struct mz_chain *to)
{
	struct mz_chain ended = { 0 };

	lockdep_assert_held(&mz.dead.lock);
	mz_index_collect(&mz.index, &ended);
	if (ended.first)
		mz_access_settle();
	mz_chain_append(to, &ended);
}

/* The oldest object, which then belongs to the caller; NULL if there is none. */
struct mz_object *mz_dead_pop(void)
{
	struct mz_object *obj;

	mutex_lock(&mz.dead.lock);
	if (!mz.dead.chain.first)
		mz_dead_collect(&mz.dead.chain);
	obj = take_first();
	mutex_unlock(&mz.dead.lock);
	return obj;
}

/* Puts back an object that could not be delivered. */
void mz_dead_unpop(struct mz_object *obj)
{
	mutex_lock(&mz.dead.lock);
	mz_chain_push_front(&mz.dead.chain, obj);
	mz.dead.taken--;
	mutex_unlock(&mz.dead.lock);
	wake_up_interruptible_poll(&mz.dead.wait, EPOLLIN | EPOLLRDNORM);
}

/* Releases an object that was delivered. */
void mz_dead_release(struct mz_object *obj)
{
	mz_index_release(&mz.index, obj);
	mz_count(MZ_STREAMED);
}

/* A reader of kmap has seen the object at @position. */
void mz_dead_printed(u64 position)
{
	mutex_lock(&mz.dead.lock);
	mz.dead.printed = max(mz.dead.printed, position + 1);
	mutex_unlock(&mz.dead.lock);
}

int mz_clear_dead(void)
{
	int err;

	mutex_lock(&mz.dead.lock);
	mz_dead_collect(&mz.dead.chain);
	err = clear_up_to(mz.dead.taken + mz.dead.chain.nr);
	mutex_unlock(&mz.dead.lock);
	return err;
}

int mz_clear_printed(void)
{
	int err;

	mutex_lock(&mz.dead.lock);
	err = clear_up_to(mz.dead.printed);
	mutex_unlock(&mz.dead.lock);
	return err;
}

/* Drops the live objects. Their frees will count as frees of unknown objects. */
int mz_clear_live(void)
{
	struct mz_chain live = { 0 };
	struct mz_object *obj;
	int err;

	mutex_lock(&mz.control);
	mutex_lock(&mz.dead.lock);
	/* Objects that have ended by themselves stay; those that end here are released. */
	mz_dead_collect(&mz.dead.chain);
	mz_access_forget_areas();
	mz_index_drop_live(&mz.index, mz_now(), MZ_ID_NONE);
	mz_access_all_changed();
	mz_dead_collect(&live);
	while ((obj = mz_chain_pop(&live))) {
		cond_resched();
		if (obj->free_site != MZ_ID_NONE) {
			mz_chain_push(&mz.dead.chain, obj);
			continue;
		}
		mz_index_release(&mz.index, obj);
		mz_count(MZ_CLEARED);
	}
	mz_index_shrink(&mz.index);
	mutex_unlock(&mz.dead.lock);
	err = mz_events_update();
	mutex_unlock(&mz.control);
	return err;
}
