/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose allocations are recorded: the mode, and the marks on processes. */
#ifndef MEMORIZER_MODE_H
#define MEMORIZER_MODE_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "../include/uapi/memorizer.h"

struct pid;
struct task_struct;

enum mz_mode {
	MZ_OFF = 0,
	MZ_SYSTEM = 1,
	MZ_TASKS_AND_IRQS = 2,
	MZ_TASKS = 3,
};

struct mz_request {
	enum mz_mode mode;
	int pid; /* 0: the writing process */
};

int mz_request_parse(int value, struct mz_request *ret_request);
int mz_mode_set(int value);
int mz_mode_show(char *buf, size_t size);
bool mz_wants(enum memorizer_context context);
bool mz_marked(const struct task_struct *task);
int mz_mark(const struct task_struct *task);
int mz_process_mark(struct pid *pid, bool mark);
void mz_unmark(const struct task_struct *task);
void mz_marks_exit(void);

/* Changes whenever the answer of mz_wants() may have changed. */
extern atomic_t mz_wants_changes;

#endif /* MEMORIZER_MODE_H */
