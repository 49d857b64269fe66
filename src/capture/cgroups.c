// SPDX-License-Identifier: LGPL-2.1-only
/* Which cgroup the tasks of a recording are in. */
#include "capture/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* === Internals ============================================================================ */

/* Where a task is that lives; nothing where it does not. */
static int look_at(struct ks_cgroup_watch *watch, u32 tid)
{
	struct ks_strbuf text;
	char path[64];
	const char *cgroup;
	size_t len;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", tid);
	ks_strbuf_init(&text);
	if (!ks_slurp(path, &text)) {
		cgroup = ks_cgroup_path(ks_strbuf_str(&text), &len, &watch->hierarchy);
		/* A task that ends is in the root of old hierarchies; one that was moved there was seen to be. */
		if (cgroup && (len > 1 || ks_task_cgroup_of(watch->tasks, tid) == KS_NONE))
			err = ks_task_cgroups_put(watch->tasks, tid, cgroup, len);
	}
	if (text.failed)
		err = -ENOMEM;
	ks_strbuf_deinit(&text);
	return err;
}

/* The threads of a process are where it is, but for threaded cgroups, which are rare. */
static int look_at_threads(struct ks_cgroup_watch *watch, u32 pid)
{
	struct dirent *entry;
	char path[64];
	int err = look_at(watch, pid);
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		u32 tid = (u32)strtoul(entry->d_name, NULL, 10);

		if (tid && tid != pid)
			err = ks_task_cgroups_inherit(watch->tasks, tid, pid);
	}
	if (dir)
		closedir(dir);
	return err;
}

static int look_at_all(struct ks_cgroup_watch *watch)
{
	/* Idle tasks, in whose name interrupts allocate, are in no list. */
	int err = ks_task_cgroups_put(watch->tasks, 0, "/", 1);
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && !err && (entry = readdir(dir))) {
		u32 pid = (u32)strtoul(entry->d_name, NULL, 10);

		if (pid)
			err = look_at_threads(watch, pid);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* To have none is no error. */
static void trace_forks(struct ks_cgroup_watch *watch)
{
	struct ks_tracefs *tfs = &watch->tfs;
	char *path;

	if (ks_tracefs_open(tfs, NULL) || ks_tracefs_make_instance(tfs, "-forks", NULL) ||
	    ks_tracefs_write(tfs, "buffer_size_kb", "512", NULL) ||
	    ks_tracefs_write(tfs, "events/sched/sched_process_fork/enable", "1", NULL) ||
	    ks_tracefs_write(tfs, "events/cgroup/cgroup_attach_task/enable", "1", NULL) ||
	    ks_tracefs_write(tfs, "tracing_on", "1", NULL) ||
	    asprintf(&path, "%s/trace_pipe", tfs->instance) < 0)
		return;
	watch->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	free(path);
}

/* "dst_root=4 dst_id=2 dst_level=1 dst_path=/a/b pid=17 comm=sh": a path may have words in it, a name follows. */
static int take_move(struct ks_task_cgroups *tasks, u32 hierarchy, const char *fields)
{
	const char *path = strstr(fields, " dst_path="), *end = NULL, *p;
	u32 root, tid;

	if (!path || sscanf(fields, "dst_root=%u", &root) != 1 || root != hierarchy)
		return 0;
	path += strlen(" dst_path=");
	for (p = path; (p = strstr(p, " pid=")); p++)
		if (!end && sscanf(p, " pid=%u comm=", &tid) == 1)
			end = p;
	return end ? ks_task_cgroups_put(tasks, tid, path, (size_t)(end - path)) : 0;
}

static int take_lines(struct ks_cgroup_watch *watch)
{
	char *line = watch->rest.s, *end;
	int err = 0;

	while (line && !err && (end = strchr(line, '\n'))) {
		*end = '\0';
		err = ks_cgroup_watch_line(watch->tasks, watch->hierarchy, line);
		line = end + 1;
	}
	if (line && line != watch->rest.s) {
		watch->rest.len = strlen(line);
		memmove(watch->rest.s, line, watch->rest.len + 1);
	}
	return err;
}

/* === Public =============================================================================== */

const char *ks_cgroup_path(const char *text, size_t *ret_len, u32 *ret_hierarchy)
{
	const char *found = NULL, *line, *names, *path;
	size_t len;

	/* "4:memory:/a/b" of the old hierarchies, "0::/a/b" of the new one: memory is what this is about. */
	for (line = text; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		names = memchr(line, ':', len);
		path = names ? memchr(names + 1, ':', len - (size_t)(names + 1 - line)) : NULL;
		if (!path)
			continue;
		if (!strncmp(line, "0::", 3) ? !found : !strncmp(names, ":memory:", 8)) {
			found = path + 1;
			*ret_len = len - (size_t)(found - line);
			*ret_hierarchy = (u32)strtoul(line, NULL, 10);
		}
	}
	return found;
}

int ks_cgroup_watch_line(struct ks_task_cgroups *tasks, u32 hierarchy, const char *line)
{
	static const char moved[] = " cgroup_attach_task: ";
	const char *event = strstr(line, " sched_process_fork: comm="), *at = NULL, *p;
	u32 parent, child;

	p = strstr(line, moved);
	if (p && !event)
		return take_move(tasks, hierarchy, p + strlen(moved));
	/* A name may have any words in it, but is in front of the number. */
	for (p = event; p && (p = strstr(p, " child_pid=")); p++)
		at = p;
	if (!at || sscanf(at, " child_pid=%u", &child) != 1)
		return 0;
	for (p = event, at = NULL; (p = strstr(p, " child_comm=")); p++)
		at = p;
	while (at && at > event && strncmp(at, " pid=", 5))
		at--;
	if (!at || sscanf(at, " pid=%u", &parent) != 1)
		return 0;
	return ks_task_cgroups_inherit(tasks, child, parent);
}

int ks_cgroup_watch_start(struct ks_cgroup_watch *watch)
{
	*watch = (struct ks_cgroup_watch){ .tfs = { .dir_fd = -1, .free_fd = -1 }, .pipe = -1 };
	watch->tasks = ks_task_cgroups_new();
	if (!watch->tasks)
		return -ENOMEM;
	ks_strbuf_init(&watch->rest);
	trace_forks(watch);
	return look_at_all(watch);
}

void ks_cgroup_watch_stop(struct ks_cgroup_watch *watch)
{
	if (!watch->tasks)
		return;
	if (watch->pipe >= 0)
		close(watch->pipe);
	ks_tracefs_close(&watch->tfs);
	ks_strbuf_deinit(&watch->rest);
	ks_task_cgroups_free(watch->tasks);
	watch->tasks = NULL;
}

int ks_cgroup_watch_look(struct ks_cgroup_watch *watch, const struct ks_cmdlines *names)
{
	char buf[4096];
	ssize_t n = 0;
	int err = 0;

	while (!err && watch->pipe >= 0 && (n = read(watch->pipe, buf, sizeof(buf))) > 0) {
		ks_strbuf_add(&watch->rest, buf, (size_t)n);
		err = watch->rest.failed ? -ENOMEM : take_lines(watch);
	}
	/* A task that lives may have been moved since it was forked. */
	for (; !err && watch->looked < names->pids.keys.len; watch->looked++)
		err = look_at(watch, (u32)names->pids.keys.items[watch->looked]);
	return err;
}
