// SPDX-License-Identifier: LGPL-2.1-only
/* What all back ends share: counting, single reads, strings, and where the running kernel's RAM is. */
#include "heap/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

void ks_memory_free(struct ks_memory *memory)
{
	if (!memory)
		return;
	ks_vec_free(&memory->facts.ram);
	ks_vec_free(&memory->facts.percpu);
	memory->ops->free(memory);
}

int ks_memory_dup(struct ks_memory *memory, struct ks_memory **ret_memory, struct ks_diag *diag)
{
	return memory->ops->dup(memory, ret_memory, diag);
}

int ks_memory_read(struct ks_memory *memory, struct ks_piece *pieces, size_t count,
		   struct ks_diag *diag)
{
	size_t i;
	int err;

	if (!count)
		return 0;
	err = memory->ops->read(memory, pieces, count, diag);
	if (err)
		return err;
	for (i = 0; i < count; i++) {
		memory->bytes += pieces[i].len;
		memory->failed += pieces[i].failed;
	}
	return 0;
}

int ks_memory_get(struct ks_memory *memory, u64 addr, void *buf, u32 len)
{
	struct ks_piece piece = { .addr = addr, .buf = buf, .len = len };
	int err = ks_memory_read(memory, &piece, 1, NULL);

	return err ? err : piece.failed ? -EFAULT : 0;
}

int ks_memory_string(struct ks_memory *memory, u64 addr, char *buf, size_t size)
{
	size_t done = 0, part;

	/* Not across the end of a page before the string is known to go on there. */
	while (done < size - 1) {
		part = ks_min(size - 1 - done, (size_t)(64 - (addr + done) % 64));
		if (ks_memory_get(memory, addr + done, buf + done, (u32)part)) {
			buf[done] = '\0';
			return done ? 0 : -EFAULT;
		}
		if (memchr(buf + done, '\0', part))
			return 0;
		done += part;
	}
	buf[done] = '\0';
	return 0;
}

int ks_memory_copy_facts(const struct ks_memory_facts *from, struct ks_memory_facts *to)
{
	*to = *from;
	memset(&to->ram, 0, sizeof(to->ram));
	memset(&to->percpu, 0, sizeof(to->percpu));
	if (ks_vec_reserve(&to->ram, from->ram.len) ||
	    ks_vec_reserve(&to->percpu, from->percpu.len)) {
		ks_vec_free(&to->ram);
		return -ENOMEM;
	}
	if (from->ram.len)
		memcpy(to->ram.items, from->ram.items, from->ram.len * sizeof(*from->ram.items));
	if (from->percpu.len)
		memcpy(to->percpu.items, from->percpu.items,
		       from->percpu.len * sizeof(*from->percpu.items));
	to->ram.len = from->ram.len;
	to->percpu.len = from->percpu.len;
	return 0;
}

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
