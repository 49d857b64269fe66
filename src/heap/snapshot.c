// SPDX-License-Identifier: LGPL-2.1-only
/* A snapshot as a whole: made empty, freed, searched by address. */
#include "heap/snapshot.h"

#include <stdlib.h>

int ks_snapshot_new(struct ks_snapshot **ret_snapshot, struct ks_diag *diag)
{
	struct ks_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return ks_diag_nomem(diag, "making a snapshot of the heap");
	s->release = s->machine = s->host = s->boot = s->memory_by = "";
	ks_arena_init(&s->arena);
	*ret_snapshot = s;
	return 0;
}

void ks_snapshot_free(struct ks_snapshot *s)
{
	if (!s)
		return;
	ks_vec_free(&s->nodes);
	ks_vec_free(&s->caches);
	ks_vec_free(&s->types);
	ks_vec_free(&s->fields);
	ks_vec_free(&s->cgroups);
	ks_vec_free(&s->labels);
	free(s->addr);
	free(s->cache);
	free(s->type);
	free(s->known_by);
	free(s->cgroup);
	free(s->checksum);
	free(s->ref_first);
	ks_vec_free(&s->refs);
	ks_vec_free(&s->roots);
	free(s->root_first);
	ks_vec_free(&s->root_refs);
	ks_arena_deinit(&s->arena);
	free(s);
}

u32 ks_snapshot_find(const struct ks_snapshot *s, u64 addr)
{
	u32 from = 0, to = s->count, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (s->addr[middle] <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from || addr - s->addr[from - 1] >= s->caches.items[s->cache[from - 1]].size)
		return KS_NONE;
	return from - 1;
}

const char *ks_snapshot_label(const struct ks_snapshot *s, u32 object)
{
	size_t from = 0, to = s->labels.len, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (s->labels.items[middle].object < object)
			from = middle + 1;
		else
			to = middle;
	}
	return from < s->labels.len && s->labels.items[from].object == object
		       ? s->labels.items[from].name
		       : "";
}
