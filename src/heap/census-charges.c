// SPDX-License-Identifier: LGPL-2.1-only
/* Who pays for how many objects of which cache, of a snapshot or of a census. */
#include <errno.h>
#include <string.h>

#include "base/map64.h"
#include "heap/census-doc.h"
#include "heap/charges.h"

/* === Public =============================================================================== */

int ks_heap_charges_of(const struct ks_snapshot *s, struct ks_heap_charges *charges)
{
	struct ks_map64 keys;
	int err = ks_map64_init(&keys);
	struct ks_charge *row;
	u32 i, number, cache;

	for (i = 0; i < s->count && !err; i++) {
		if (!s->cgroup[i])
			continue;
		cache = s->caches.items[s->cache[i]].large ? KS_NONE : s->cache[i];
		number = ks_map64_add(&keys, (u64)s->cgroup[i] << 32 | cache);
		if (number == KS_NONE ||
		    (number == charges->rows.len && !ks_vec_push(&charges->rows))) {
			err = -ENOMEM;
			break;
		}
		row = &charges->rows.items[number];
		row->cgroup = s->cgroup[i];
		row->cache = cache;
		row->objects++;
		row->bytes += s->caches.items[s->cache[i]].size;
	}
	ks_map64_deinit(&keys);
	return err;
}

int ks_heap_charges_of_census(struct ks_snapshot *snapshot, const struct ks_charges *from,
			      struct ks_heap_charges *charges)
{
	const char **path = ks_vec_push(&snapshot->cgroups);
	struct ks_charge *row;
	size_t i;

	if (!path)
		return -ENOMEM;
	*path = ""; /* "nobody": cgroups of a census have other numbers */
	for (i = 0; i < from->paths.len; i++) {
		path = ks_vec_push(&snapshot->cgroups);
		if (path)
			*path = ks_arena_strndup(&snapshot->arena, from->paths.items[i],
						 strlen(from->paths.items[i]));
		if (!path || !*path)
			return -ENOMEM;
	}
	for (i = 0; i < from->rows.len; i++) {
		row = ks_vec_push(&charges->rows);
		if (!row)
			return -ENOMEM;
		*row = from->rows.items[i];
		row->cgroup++;
	}
	return 0;
}
