// SPDX-License-Identifier: LGPL-2.1-only
/* Which cgroup each task of a recording was in. */
#include "trace/task-cgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"

/* === Internals ============================================================================ */

static int put_number(struct ks_task_cgroups *tasks, u32 tid, u32 path)
{
	u32 at, *slot;

	if (path == KS_NONE || ks_vec_reserve(&tasks->of, tasks->of.len + 1))
		return -ENOMEM;
	at = ks_map64_add(&tasks->tids, tid);
	if (at == KS_NONE)
		return -ENOMEM;
	slot = at == tasks->of.len ? ks_vec_push(&tasks->of) : &tasks->of.items[at];
	*slot = path;
	return 0;
}

/* === Public =============================================================================== */

struct ks_task_cgroups *ks_task_cgroups_new(void)
{
	struct ks_task_cgroups *tasks = calloc(1, sizeof(*tasks));

	if (tasks && (ks_intern_init(&tasks->paths) || ks_map64_init(&tasks->tids))) {
		ks_task_cgroups_free(tasks);
		return NULL;
	}
	return tasks;
}

void ks_task_cgroups_free(struct ks_task_cgroups *tasks)
{
	if (!tasks)
		return;
	ks_intern_deinit(&tasks->paths);
	ks_map64_deinit(&tasks->tids);
	ks_vec_free(&tasks->of);
	free(tasks);
}

u32 ks_task_cgroup_of(const struct ks_task_cgroups *tasks, u32 tid)
{
	u32 at = tasks ? ks_map64_find(&tasks->tids, tid) : KS_NONE;

	return at == KS_NONE ? KS_NONE : tasks->of.items[at];
}

int ks_task_cgroups_put(struct ks_task_cgroups *tasks, u32 tid, const char *path, size_t len)
{
	return put_number(tasks, tid, ks_intern_add(&tasks->paths, path, len));
}

int ks_task_cgroups_inherit(struct ks_task_cgroups *tasks, u32 tid, u32 parent)
{
	u32 path = ks_task_cgroup_of(tasks, parent);

	return path == KS_NONE ? 0 : put_number(tasks, tid, path);
}

bool ks_task_cgroup_is_in(const struct ks_task_cgroups *tasks, u32 cgroup, const char *name)
{
	const char *path = cgroup == KS_NONE ? "" : ks_intern_get(&tasks->paths, cgroup).s, *at;
	size_t len = strlen(name);

	while (len > 1 && name[len - 1] == '/')
		len--;
	if (*name == '/')
		return len == 1 ? *path == '/'
				: !strncmp(path, name, len) && (!path[len] || path[len] == '/');
	for (at = path; len && (at = strchr(at, '/')); at++)
		if (!strncmp(at + 1, name, len) && (!at[1 + len] || at[1 + len] == '/'))
			return true;
	return false;
}

void ks_task_cgroups_pack(const struct ks_task_cgroups *tasks, struct ks_strbuf *sb)
{
	size_t i;

	ks_pack_varint(sb, tasks->paths.strs.len);
	for (i = 0; i < tasks->paths.strs.len; i++) {
		struct ks_str path = ks_intern_get(&tasks->paths, (u32)i);

		ks_pack_string(sb, path.s, path.len);
	}
	ks_pack_varint(sb, tasks->of.len);
	for (i = 0; i < tasks->of.len; i++) {
		ks_pack_varint(sb, tasks->tids.keys.items[i]);
		ks_pack_varint(sb, tasks->of.items[i]);
	}
}

int ks_task_cgroups_unpack(struct ks_bytes *b, struct ks_task_cgroups *tasks)
{
	u64 paths = ks_bytes_varint(b), count, i;

	for (i = 0; i < paths && !b->overrun; i++) {
		size_t len = 0;
		const char *s = ks_bytes_string(b, &len);
		u32 id = s ? ks_intern_add(&tasks->paths, s, len) : 0;

		if (id == KS_NONE)
			return -ENOMEM;
		b->overrun |= s && id != i; /* twice the same */
	}
	count = ks_bytes_varint(b);
	for (i = 0; i < count && !b->overrun; i++) {
		u64 tid = ks_bytes_varint(b), path = ks_bytes_varint(b);

		b->overrun |= tid > UINT32_MAX || path >= paths;
		if (!b->overrun && put_number(tasks, (u32)tid, (u32)path))
			return -ENOMEM;
	}
	return 0;
}
