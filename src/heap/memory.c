// SPDX-License-Identifier: LGPL-2.1-only
/* What all back ends share: counting, single reads, strings. */
#include "heap/memory.h"

#include <errno.h>
#include <string.h>

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
