// SPDX-License-Identifier: LGPL-2.1-only
/* Reads /proc/slabinfo and /proc/meminfo. */
#include "heap/witness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* === Internals ============================================================================ */

/* Two caches may have one name: their rows are told apart by the order, which is that of the list. */
static u32 find(const struct ks_caches *caches, const struct ks_witness *w, const char *name)
{
	u32 i;

	for (i = 0; i < caches->items.len; i++)
		if (caches->items.items[i].listed && w->active[i] == UINT64_MAX &&
		    !strcmp(caches->items.items[i].name, name))
			return i;
	return KS_NONE;
}

static void read_slabinfo(const struct ks_caches *caches, struct ks_witness *w)
{
	FILE *file = fopen("/proc/slabinfo", "re");
	char line[512], name[128];
	u64 active;
	u32 cache;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%127s %" SCNu64, name, &active) != 2)
			continue;
		cache = find(caches, w, name);
		if (cache != KS_NONE)
			w->active[cache] = active;
	}
	if (file)
		fclose(file);
}

static void read_meminfo(struct ks_witness *w)
{
	const struct {
		const char *name;
		u64 *into;
	} rows[] = {
		{ "MemTotal", &w->total },
		{ "SReclaimable", &w->reclaimable },
		{ "SUnreclaim", &w->unreclaimable },
		{ "KernelStack", &w->stacks },
		{ "Percpu", &w->percpu },
	};
	FILE *file = fopen("/proc/meminfo", "re");
	char line[256], name[64];
	u64 kilobytes;
	size_t i;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63[^:]: %" SCNu64, name, &kilobytes) != 2)
			continue;
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			if (!strcmp(name, rows[i].name))
				*rows[i].into = kilobytes * 1024;
	}
	if (file)
		fclose(file);
}

/* === Public =============================================================================== */

int ks_witness_read(const struct ks_caches *caches, struct ks_witness **ret_witness)
{
	struct ks_witness *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->caches = caches->items.len;
	w->active = malloc((w->caches + 1) * sizeof(*w->active));
	if (!w->active) {
		free(w);
		return -ENOMEM;
	}
	memset(w->active, 0xff, (w->caches + 1) * sizeof(*w->active));
	read_slabinfo(caches, w);
	read_meminfo(w);
	*ret_witness = w;
	return 0;
}

void ks_witness_free(struct ks_witness *witness)
{
	if (!witness)
		return;
	free(witness->active);
	free(witness);
}
