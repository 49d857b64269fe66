/* SPDX-License-Identifier: LGPL-2.1-only */
/* Which cgroup each task of a recording was in, as the recorder saw it. kmemscope-captures(5) has the layout. */
#ifndef KS_TRACE_TASK_CGROUPS_H
#define KS_TRACE_TASK_CGROUPS_H

#include "base/bytes.h"
#include "base/intern.h"
#include "base/map64.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct ks_task_cgroups {
	struct ks_intern paths; /* "/system.slice/sshd.service" */
	struct ks_map64 tids;
	KS_VEC(u32) of; /* by number in tids: the number of its path */
};

struct ks_task_cgroups *ks_task_cgroups_new(void);
void ks_task_cgroups_free(struct ks_task_cgroups *tasks); /* accepts NULL */

/* The number of the task's cgroup; KS_NONE where it is not known. Accepts NULL. */
u32 ks_task_cgroup_of(const struct ks_task_cgroups *tasks, u32 tid);

/* The task is in this cgroup, whatever was said of it before. 0 or -ENOMEM. */
int ks_task_cgroups_put(struct ks_task_cgroups *tasks, u32 tid, const char *path, size_t len);

/* It is where its parent is, unless one of the two says otherwise. 0 or -ENOMEM. */
int ks_task_cgroups_inherit(struct ks_task_cgroups *tasks, u32 tid, u32 parent);

/*
 * Whether @name is the cgroup or one that it is in: "/system.slice", "/system.slice/sshd.service", or some of its
 * parts, such as "sshd.service". False for KS_NONE.
 */
bool ks_task_cgroup_is_in(const struct ks_task_cgroups *tasks, u32 cgroup, const char *name);

void ks_task_cgroups_pack(const struct ks_task_cgroups *tasks, struct ks_strbuf *sb);
/* 0 or -ENOMEM; what makes no sense is an overrun of @b. */
int ks_task_cgroups_unpack(struct ks_bytes *b, struct ks_task_cgroups *tasks);

#endif
