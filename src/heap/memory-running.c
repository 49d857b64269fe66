// SPDX-License-Identifier: LGPL-2.1-only
/* The memory of the running kernel: where its RAM is, and the first way of reading it that works. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/memory.h"

/* === Internals ============================================================================ */

/* "00100000-bfffffff : System RAM"; what lies inside of it is indented. */
static bool parse_iomem(const char *line, struct ks_ram *ret_ram)
{
	unsigned long long first, last;
	int at = 0;

	if (line[0] == ' ' || sscanf(line, "%llx-%llx : %n", &first, &last, &at) < 2 || !at)
		return false;
	if (strncmp(line + at, "System RAM", 10) || last <= first)
		return false;
	*ret_ram = (struct ks_ram){ .first = (first + 4095) >> 12, .end = (last + 1) >> 12 };
	return ret_ram->first < ret_ram->end;
}

/* === Public =============================================================================== */

int ks_memory_facts_of_proc(struct ks_memory_facts *facts, struct ks_diag *diag)
{
	FILE *file = fopen("/proc/iomem", "re");
	struct ks_ram ram, *slot;
	char line[256];
	int err = 0;

	snprintf(facts->symbols, sizeof(facts->symbols), "/proc/kallsyms");
	if (!file)
		return ks_diag_set(diag, -errno, "/proc/iomem: %s", strerror(errno));
	while (!err && fgets(line, sizeof(line), file)) {
		if (!parse_iomem(line, &ram))
			continue;
		slot = ks_vec_push(&facts->ram);
		if (slot)
			*slot = ram;
		else
			err = ks_diag_nomem(diag, "reading /proc/iomem");
	}
	fclose(file);
	if (!err && !facts->ram.len)
		err = ks_diag_set(diag, -EPERM,
				  "/proc/iomem names no memory: root alone sees its addresses");
	return err;
}

int ks_memory_open_running(struct ks_memory **ret_memory, struct ks_diag *diag)
{
	struct ks_diag first, other;
	int err = ks_memory_open_bpf(ret_memory, &first);

	if (!err || !ks_memory_open_kcore("/proc/kcore", ret_memory, &other))
		return 0;
	return ks_diag_set(diag, err, "%s; %s", first.text, other.text);
}
