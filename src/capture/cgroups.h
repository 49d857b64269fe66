/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Which cgroup the tasks of a recording are in. Those that are there when they are looked for say so in /proc; one that has
 * ended by then was where the task was that made it, or where it was moved to, which a tracing instance of its own tells.
 */
#ifndef KS_CAPTURE_CGROUPS_H
#define KS_CAPTURE_CGROUPS_H

#include "capture/machine.h"
#include "capture/tracefs.h"
#include "trace/task-cgroups.h"

struct ks_cgroup_watch {
	struct ks_tracefs tfs; /* of forks and moves; without an instance where there is none */
	u32 hierarchy;	       /* the one that is looked at: that of memory */
	int pipe;	       /* its trace_pipe, or -1 */
	size_t looked;	       /* how many of the tasks that are known by name were looked at */
	struct ks_strbuf rest; /* of a line */
	struct ks_task_cgroups *tasks;
};

/* All tasks that there are, and from now on what is forked. 0 or -ENOMEM; without tracing it knows fewer. */
int ks_cgroup_watch_start(struct ks_cgroup_watch *watch);
void ks_cgroup_watch_stop(struct ks_cgroup_watch *watch);

/* What was forked since, and tasks that have got a name. 0 or -ENOMEM. */
int ks_cgroup_watch_look(struct ks_cgroup_watch *watch, const struct ks_cmdlines *names);

/* Parts of it, for tests: a line of trace_pipe, and the path in what /proc/TID/cgroup says; NULL = none. */
int ks_cgroup_watch_line(struct ks_task_cgroups *tasks, u32 hierarchy, const char *line);
const char *ks_cgroup_path(const char *text, size_t *ret_len, u32 *ret_hierarchy);

#endif
