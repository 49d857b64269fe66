/* SPDX-License-Identifier: GPL-2.0-only */
/* The queue of objects that have ended and wait for a reader. */
#ifndef MEMORIZER_DEAD_H
#define MEMORIZER_DEAD_H

#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "index.h"

struct mz_dead {
	struct mutex lock; /* guards chain, taken, printed and gen */
	struct mz_chain chain;
	u64 taken;    /* objects that have left the front of the chain, ever */
	u64 printed;  /* up to this position readers of kmap have seen them */
	u8 gen;	      /* number of the last snapshot, see mz_object::gen */
	bool waiting; /* a reader sleeps until an object ends */
	wait_queue_head_t wait;
	struct irq_work wake;
};

void mz_dead_init(void);
void mz_dead_exit(void);
void mz_dead_announce(void);
bool mz_dead_ready(void);
void mz_dead_collect(struct mz_chain *to);
struct mz_object *mz_dead_pop(void);
void mz_dead_unpop(struct mz_object *obj);
void mz_dead_release(struct mz_object *obj);
void mz_dead_printed(u64 position);
int mz_clear_dead(void);
int mz_clear_printed(void);
int mz_clear_live(void);

#endif /* MEMORIZER_DEAD_H */
