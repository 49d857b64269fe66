/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting of calls and returns. Without CONFIG_MEMORIZER_CALLS these functions are empty. */
#ifndef MEMORIZER_CALLS_H
#define MEMORIZER_CALLS_H

#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/types.h>

struct dentry;
struct memorizer_call;

/* All calls at a moment, by call site, then by function. */
struct mz_call_list {
	struct memorizer_call *calls;
	size_t nr;
	long pages; /* that it holds of those of snapshots */
};

#ifdef CONFIG_MEMORIZER_CALLS

/* What the compiler calls at the start and at each end of a function. */
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void mz_calls_update(void);
void mz_calls_stop(void);
void mz_calls_show(struct seq_file *m);
int mz_calls_clear(void);
size_t mz_calls_most(void);
void mz_calls_gather(struct memorizer_call *slots, size_t mask);

int mz_call_list_make(struct mz_call_list *list);
void mz_call_list_free(struct mz_call_list *list);
void mz_calls_publish(struct dentry *directory);

#else

static inline void mz_calls_update(void)
{
}

static inline void mz_calls_stop(void)
{
}

static inline void mz_calls_show(struct seq_file *m)
{
}

static inline int mz_call_list_make(struct mz_call_list *list)
{
	*list = (struct mz_call_list){ 0 };
	return 0;
}

static inline void mz_call_list_free(struct mz_call_list *list)
{
}

static inline void mz_calls_publish(struct dentry *directory)
{
}

#endif /* CONFIG_MEMORIZER_CALLS */

#endif /* MEMORIZER_CALLS_H */
